"""Copies of constants to other layouts, which kernels make each time they run, are made when building."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from ...ir import (
    BufferLoad,
    BufferStore,
    Call,
    GenericConst,
    GlobalVar,
    IntImm,
    IRModule,
    PrimFunc,
    SBlock,
    SBlockRealize,
    SeqStmt,
    Stmt,
    Tuple,
    Var,
    renew_definitions,
    seq,
    walk,
)
from ...ir.relax import op_of, tensor_constant
from ...ir.relax.rewrite import GraphRewriter
from ...schedule.dlight import default_schedule, is_scheduled
from ...target import Target
from ..registry import register_pass
from .fold_constant import Evaluator, run_kernel


@register_pass("relax.PackConstants")
def pack_constants(
    mod: IRModule, target: Target | str = "llvm", evaluator: Evaluator = run_kernel
) -> IRModule:
    """Kernels get the default schedules of the target, and constants in the layout that these copy them to.

    Only kernels that take constants are looked at; a kernel that copies none stays as it is.  Copies are
    made by `evaluator`.  Idempotent.

    before:
        @I.ir_module
        class Module:
            @T.prim_func(private=True)
            def scale(
                x: T.Buffer((3,), "float32"), w: T.Buffer((3,), "float32"), y: T.Buffer((3,), "float32")
            ):
                T.func_attr({"tirx.is_scheduled": True})
                v = T.sblock_alloc_buffer((3,))
                for i in range(3):
                    with T.sblock("v"):
                        vi = T.axis.spatial(3, i)
                        v[vi] = w[2 - vi]
                for i in range(3):
                    with T.sblock("y"):
                        vi = T.axis.spatial(3, i)
                        y[vi] = x[vi] * v[vi]

            @R.function
            def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
                cls = Module
                y = R.call_tir(cls.scale, (x, R.const([1.0, 2.0, 3.0])), out_ty=R.Tensor((3,), "float32"))
                return y

    after:
        @I.ir_module
        class Module:
            @T.prim_func(private=True)
            def scale(
                x: T.Buffer((3,), "float32"), w: T.Buffer((3,), "float32"), y: T.Buffer((3,), "float32")
            ):
                T.func_attr({"tirx.is_scheduled": True})
                v = T.sblock_alloc_buffer((3,))
                for i in range(3):
                    with T.sblock("v"):
                        vi = T.axis.spatial(3, i)
                        v[vi] = w[2 - vi]
                for i in range(3):
                    with T.sblock("y"):
                        vi = T.axis.spatial(3, i)
                        y[vi] = x[vi] * v[vi]

            @T.prim_func(private=True)
            def scale_packed(
                x: T.Buffer((3,), "float32"), v: T.Buffer((3,), "float32"), y: T.Buffer((3,), "float32")
            ):
                T.func_attr({"tirx.is_scheduled": True})
                for i in range(3):
                    with T.sblock("y"):
                        vi = T.axis.spatial(3, i)
                        y[vi] = x[vi] * v[vi]

            @R.function
            def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
                cls = Module
                y = R.call_tir(
                    cls.scale_packed, (x, R.const([3.0, 2.0, 1.0])), out_ty=R.Tensor((3,), "float32")
                )
                return y
    """
    made: IRModule = _Packer(mod, Target(target), evaluator)(mod)
    return made


class _Packer(GraphRewriter):
    def __init__(self, mod: IRModule, target: Target, evaluator: Evaluator) -> None:
        super().__init__(mod)
        self.mod = mod
        self.target = target
        self.evaluator = evaluator
        self.known: dict[tuple[str, tuple[int, ...]], tuple[GlobalVar, Packing] | None] = {}
        self.arrays: dict[tuple[int, str, int], GenericConst] = {}

    def visit_Call(self, call: Call) -> Any:
        """The call of the kernel that takes packed constants."""
        call = super().visit_Call(call)
        rec = op_of(call)
        if rec is None or rec.name != "relax.call_tir" or not isinstance(call.args[1], Tuple):
            return call
        name, args = call.args[0], list(call.args[1].fields_)
        where = tuple([k for k, a in enumerate(args) if isinstance(a, GenericConst)])
        if not where or not isinstance(name, GlobalVar):
            return call
        key = (name.name, where)
        if key not in self.known:
            self.known[key] = self.split(*key)
        found = self.known[key]
        if found is None:
            return call
        packed, parts = found
        for k, pack in zip(parts.positions, parts.pack):
            args[k] = self.packed(args[k], name.name, k, pack)
        return call.replace(args=(packed, Tuple(args), *call.args[2:]))

    def split(self, name: str, where: tuple[int, ...]) -> tuple[GlobalVar, Packing] | None:
        """The kernel that takes packed constants at these positions, and what packs them."""
        func = self.mod.get(name)
        if not isinstance(func, PrimFunc):
            return None
        made = func if is_scheduled(func) else default_schedule(IRModule({name: func}), self.target)[name]
        assert isinstance(made, PrimFunc)
        parts = split_packing(made, where)
        return None if parts is None else (self.builder.add_func(parts.main, f"{name}_packed"), parts)

    def packed(self, value: Any, name: str, position: int, pack: PrimFunc) -> GenericConst:
        """The constant in the layout of the kernel; each is packed once for a kernel."""
        import numpy as np

        key = (id(value), name, position)
        if key not in self.arrays:
            ty: Any = pack.params[1].ty
            out = np.zeros([_number(n) for n in ty.shape], ty.dtype.numpy())
            self.evaluator(pack, [value.value, out])
            self.arrays[key] = tensor_constant(out, ty.dtype)
        return self.arrays[key]


def _number(extent: Any) -> int:
    assert isinstance(extent, IntImm)
    return extent.value


class Packing(NamedTuple):
    """A kernel without its copies: `main` takes packed arrays in place of those at `positions`, which
    `pack[i]` (parameters: the array, its packed form) makes of the array at `positions[i]`.
    """

    main: PrimFunc
    positions: tuple[int, ...]
    pack: tuple[PrimFunc, ...]


def split_packing(func: PrimFunc, constants: Collection[int]) -> Packing | None:
    """Take the copies of constant parameters, given by their positions, out of a scheduled kernel.

    Such a copy is a statement at the top that reads one constant only, which nothing else reads, and writes
    one buffer of the kernel, which nothing else writes.  None where there is none.
    """
    root = func.body
    if not isinstance(root, SBlockRealize) or not isinstance(root.block.body, SeqStmt):
        return None
    block = root.block
    body: Any = block.body
    statements = list(body.seq)
    uses = [_uses(s) for s in statements]
    params, positions, packs, gone = list(func.params), [], [], []
    for k in sorted(constants):
        source = func.params[k]
        readers = [i for i, (read, written) in enumerate(uses) if source in read | written]
        if len(readers) != 1:
            continue
        read, written = uses[readers[0]]
        others = [w for i, (_, w) in enumerate(uses) if i != readers[0]]
        target = _packed(block, read, written, source, others)
        if target is None:
            continue
        packs.append(_function(func, (source, target), block, statements[readers[0]], ()))
        params[k] = target
        positions.append(k)
        gone.append(readers[0])
    if not positions:
        return None
    rest = seq([s for i, s in enumerate(statements) if i not in gone])
    packed = {params[k] for k in positions}
    kept = tuple([b for b in block.alloc_buffers if b not in packed])
    main = _function(func, tuple(params), block, rest, kept)
    return Packing(main, tuple(positions), tuple(packs))


def _uses(stmt: Stmt) -> tuple[set[Var], set[Var]]:
    """The buffers that a statement reads, and those that it writes."""
    nodes = list(walk(stmt))
    read = {n.buffer for n in nodes if isinstance(n, BufferLoad)}
    return read, {n.buffer for n in nodes if isinstance(n, BufferStore)}


def _packed(
    block: SBlock, read: set[Var], written: set[Var], source: Var, others: list[set[Var]]
) -> Var | None:
    """What a copy of the source fills, where the statement is one."""
    if read != {source} or len(written) != 1:
        return None
    (target,) = written
    local = target in block.alloc_buffers and target.ty.storage_scope == "global"  # type: ignore[attr-defined]
    return target if local and not any(target in w for w in others) else None


def _function(
    func: PrimFunc, params: tuple[Var, ...], root: SBlock, body: Stmt, buffers: tuple[Var, ...]
) -> PrimFunc:
    """A part of a kernel as a kernel of its own."""
    realize = func.body
    assert isinstance(realize, SBlockRealize)
    new = realize.replace(block=root.replace(body=body, alloc_buffers=buffers))
    made: PrimFunc = renew_definitions(func.replace(params=params, body=new, scheduled=True))
    return made
