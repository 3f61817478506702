"""Kernels that work element by element write into an operand that nobody needs any more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir import BufferLoad, BufferType, Call, Expr, IRModule, PrimFunc, Tuple, Var, find
from ...ir.relax import DataflowBlock, DataflowVar, OpPattern, TensorType, VarBinding, get_op, op_of
from ...ir.relax.rewrite import GraphRewriter
from ...ir.stmt import BufferStore, SBlock
from ...ir.visitor import substitute
from ..registry import register_pass
from .common import kernel_of, operands

ELEMENTS = (OpPattern.ELEMWISE, OpPattern.BROADCAST)


@register_pass("relax.DataflowUseInplaceCalls")
def dataflow_use_inplace_calls(mod: IRModule) -> IRModule:
    """Elementwise operators in dataflow blocks are `R.call_tir_inplace` where an operand dies.

    The operand must be computed in the block, of the result's shape and dtype, and used by nothing that may
    keep it, such as a tuple or a function.  Idempotent.

    before:
        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            with R.dataflow():
                a = R.exp(x)
                b = R.sin(a)
                R.output(b)
            return b

    after:
        @I.ir_module
        class Module:
            @T.prim_func(private=True, s_tir=True)
            def sin_inplace(a: T.Buffer((T.int64(2),), "float32")):
                T.func_attr({"tirx.noalias": True})
                # with T.sblock("root"):
                for i0 in range(T.int64(2)):
                    with T.sblock("compute"):
                        v_i0 = T.axis.spatial(T.int64(2), i0)
                        T.reads(a[v_i0])
                        T.writes(a[v_i0])
                        a[v_i0] = T.sin(a[v_i0])

            @R.function
            def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                cls = Module
                with R.dataflow():
                    a = R.exp(x)
                    b = R.call_tir_inplace(
                        cls.sin_inplace, (a,), out_ty=R.Tensor((2,), "float32"), inplace_indices=[0]
                    )
                    R.output(b)
                return b
    """
    made: IRModule = _InPlace()(mod)
    return made


class _InPlace(GraphRewriter):
    """`dying` maps a binding's variable to the operands that nothing uses behind it."""

    def __init__(self) -> None:
        super().__init__()
        self.dying: dict[Var, list[Var]] = {}

    def visit_DataflowBlock(self, block: DataflowBlock) -> None:
        """Find what dies where before the bindings are emitted."""
        self.dying = _dying(block)
        self.visit_BindingBlock(block)
        self.dying = {}

    def visit_VarBinding(self, binding: VarBinding) -> None:
        """Emit the binding, in place where that can be."""
        call = binding.value
        rec = op_of(call)
        dead = self.dying.get(binding.var, [])
        if rec is not None and rec.te is not None and rec.pattern in ELEMENTS and dead:
            assert isinstance(call, Call)
            made = self.in_place(call, dead)
            if made is not None:
                self.rebind(binding, made)
                return
        super().visit_VarBinding(binding)

    def in_place(self, call: Call, dead: Sequence[Var]) -> Expr | None:
        """The call with its result in an operand; None where the kernel does not allow it."""
        like = [v for v in dead if v.ty == call.ty and sum(a is v for a in call.args) == 1]
        if not like:
            return None
        place = next(i for i, a in enumerate(call.args) if a is like[0])
        trial = GraphRewriter()
        trial.builder.begin_scope()
        plain = trial.builder.call_kernel(call)
        kernel = trial.builder.get()[plain.args[0]]  # type: ignore[index]
        assert isinstance(kernel, PrimFunc) and isinstance(plain.args[1], Tuple)
        fields = plain.args[1].fields_
        at = next((i for i, a in enumerate(fields) if a is call.args[place]), None)
        changed = None if at is None else writing_into(kernel, at)
        if changed is None:
            return None
        name = f"{plain.args[0].name}_inplace"  # type: ignore[attr-defined]
        gvar = self.builder.add_func(changed, name)
        args = Tuple([self.visit(a) for a in fields])
        return get_op("relax.call_tir_inplace")(gvar, args, inplace_indices=[at], out_ty=call.ty)


def writing_into(kernel: PrimFunc, place: int) -> PrimFunc | None:
    """The kernel with its only result in the parameter at this place; None where others still read that."""
    blocks = [b for b in find(kernel.body, SBlock) if not find(b.body, SBlock)]
    stores = find(kernel.body, BufferStore)
    given, result = kernel.params[place], kernel.params[-1]
    if len(blocks) != 1 or len(stores) != 1 or stores[0].buffer is not result or blocks[0].init is not None:
        return None
    same = isinstance(given.ty, BufferType) and given.ty == result.ty
    loads = [n for n in find(kernel.body, BufferLoad) if n.buffer in (given, result)]
    if not same or not all(_same(n.indices, stores[0].indices) for n in loads):
        return None
    return kernel.replace(params=kernel.params[:-1], body=substitute(kernel.body, {result: given}))


def _same(a: Sequence[Expr], b: Sequence[Expr]) -> bool:
    return len(a) == len(b) and all(x is y for x, y in zip(a, b))


def _dying(block: DataflowBlock) -> dict[Var, list[Var]]:
    """For each variable of the block the ones whose tensors nothing can reach behind it."""
    fresh: set[Any] = set()
    last: dict[Any, Var] = {}
    for b in block.bindings:
        value, var = getattr(b, "value", None), b.var
        own = isinstance(b, VarBinding) and _makes_tensor(value)
        for used in operands(value):  # type: ignore[arg-type]
            last[used] = var
            if not own:
                fresh.discard(used)
        if own and isinstance(var, DataflowVar) and isinstance(var.ty, TensorType):
            fresh.add(var)
    found: dict[Var, list[Var]] = {}
    for var, user in last.items():
        if var in fresh:
            found.setdefault(user, []).append(var)
    return found


def _makes_tensor(value: Any) -> bool:
    """Whether a value is a new tensor that shares no memory with what it is computed from."""
    rec = op_of(value)
    if rec is not None and rec.te is not None:
        return rec.name not in ("relax.reshape", "relax.flatten", "relax.squeeze", "relax.expand_dims")
    return kernel_of(value) is not None and value.op.name == "relax.call_tir"


__all__ = ["dataflow_use_inplace_calls", "writing_into"]
