"""Kernels that only give the elements another shape become views."""

from __future__ import annotations

from typing import Any

from ...ir import (
    BufferLoad,
    BufferStore,
    BufferType,
    Call,
    Expr,
    For,
    GlobalVar,
    IntImm,
    IRModule,
    PrimFunc,
    Range,
    SBlock,
    Var,
    structural_equal,
    walk,
)
from ...ir.arith import Analyzer
from ...ir.relax import DataflowBlock, ShapeExpr, TensorType, get_op
from ...ir.relax.rewrite import GraphRewriter
from ...ir.relax.te_call import te_call
from ...ir.stmt import AllocBuffer, DeclBuffer
from ..registry import register_pass
from .vm_calls import called


@register_pass("relax.RewriteDataflowReshape")
def rewrite_dataflow_reshape(mod: IRModule) -> IRModule:
    """In dataflow blocks, calls of kernels that copy their input in order become `R.reshape`: a view.

    Results of a function keep memory of their own.

    before:
        @I.ir_module
        class Module:
            @T.prim_func(private=True)
            def reshape(x: T.Buffer((6,), "float32"), y: T.Buffer((2, 3), "float32")):
                for i, j in T.grid(2, 3):
                    with T.sblock("T_reshape"):
                        vi, vj = T.axis.remap("SS", [i, j])
                        y[vi, vj] = x[vi * 3 + vj]

            @R.function
            def main(x: R.Tensor((6,), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
                cls = Module
                with R.dataflow():
                    y = R.call_tir(cls.reshape, (x,), out_ty=R.Tensor((2, 3), dtype="float32"))
                    z: R.Tensor((2, 3), dtype="float32") = R.add(y, y)
                    R.output(z)
                return z
    after:
        @I.ir_module
        class Module:
            @T.prim_func(private=True)
            def reshape(x: T.Buffer((6,), "float32"), y: T.Buffer((2, 3), "float32")):
                for i, j in T.grid(2, 3):
                    with T.sblock("T_reshape"):
                        vi, vj = T.axis.remap("SS", [i, j])
                        y[vi, vj] = x[vi * 3 + vj]

            @R.function
            def main(x: R.Tensor((6,), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
                with R.dataflow():
                    y: R.Tensor((2, 3), dtype="float32") = R.reshape(x, R.shape([2, 3]))
                    z: R.Tensor((2, 3), dtype="float32") = R.add(y, y)
                    R.output(z)
                return z
    """
    return _Views(mod)(mod)


class _Views(GraphRewriter):
    def __init__(self, mod: IRModule) -> None:
        super().__init__(mod)
        self.mod = mod
        self.known: dict[str, bool] = {}
        self.inner: set[Var] = set()
        self.dataflow = False

    def visit_DataflowBlock(self, block: DataflowBlock) -> None:
        from ...ir.relax import DataflowVar

        for binding in block.bindings:
            self.dataflow = isinstance(getattr(binding, "var", None), DataflowVar)
            self.visit(binding)
        self.dataflow = False

    def visit_Call(self, call: Call) -> Any:
        call = super().visit_Call(call)
        if not self.dataflow or called(call) != "relax.call_tir":
            return call
        gvar, args = call.args
        ty = call.ty_args[0]
        assert isinstance(gvar, GlobalVar)
        tensors = [a for a in args.fields_ if isinstance(a.ty, TensorType)]  # type: ignore[attr-defined]
        if len(tensors) != 1 or not isinstance(ty, TensorType) or tensors[0].ty.dtype != ty.dtype:
            return call
        if not self.copies(gvar):
            return call
        return get_op("relax.reshape")(tensors[0], ty.shape, span=call.span)

    def copies(self, gvar: GlobalVar) -> bool:
        if gvar.name not in self.known:
            func = self.mod.get(gvar)
            self.known[gvar.name] = isinstance(func, PrimFunc) and has_reshape_pattern(func)
        return self.known[gvar.name]


def has_reshape_pattern(func: PrimFunc) -> bool:
    """Whether a kernel writes the elements of its only input, in order, to its only output."""
    buffers = [p for p in func.params if isinstance(p.ty, BufferType)]
    if len(buffers) != 2 or buffers[0].dtype != buffers[1].dtype:
        return False
    source, target = buffers
    return _is_reshape_kernel(func, source, target) or _copies_in_order(func, source, target)


def _is_reshape_kernel(func: PrimFunc, source: Var, target: Var) -> bool:
    """Whether this is the kernel that `R.reshape` itself becomes for these shapes."""
    shapes = [p.ty.shape for p in (source, target)]  # type: ignore[attr-defined]
    x = Var("x", TensorType(shapes[0], source.dtype))
    te = get_op("relax.reshape").te
    assert te is not None
    made = te_call(te, (), {"x": x, "shape": ShapeExpr(shapes[1])}, {})
    return structural_equal(made.func.replace(attrs=func.attrs), func)


def _copies_in_order(func: PrimFunc, source: Var, target: Var) -> bool:
    """Whether each element goes to the place of the same number."""
    stores = []
    ranges: list[tuple[Var, Expr, Expr]] = []
    for node in walk(func.body):
        if isinstance(node, AllocBuffer | DeclBuffer) or (isinstance(node, SBlock) and node.alloc_buffers):
            return False
        if isinstance(node, BufferStore):
            stores.append(node)
        elif isinstance(node, For):
            ranges.append((node.loop_var, node.min, node.extent))
        elif isinstance(node, SBlock):
            if node.init is not None:
                return False
            ranges += [(v.var, v.dom.min, v.dom.extent) for v in node.iter_vars if v.dom is not None]
    if len(stores) != 1:
        return False
    store = stores[0]
    value = store.value
    if store.buffer is not target or not isinstance(value, BufferLoad) or value.buffer is not source:
        return False
    analyzer = Analyzer()
    for var, start, extent in ranges:
        analyzer.bind(var, Range(start, extent))
    return analyzer.can_prove_equal(_flat(value.indices, source), _flat(store.indices, target)) and _covers(
        store, analyzer, ranges
    )


def _covers(store: BufferStore, analyzer: Analyzer, ranges: list[tuple[Var, Expr, Expr]]) -> bool:
    """Whether the indices of a store are variables that run through all of the buffer."""
    extents = {var: extent for var, start, extent in ranges if isinstance(start, IntImm) and start.value == 0}
    shape = store.buffer.ty.shape  # type: ignore[attr-defined]
    seen: set[Var] = set()
    for index, size in zip(store.indices, shape):
        if isinstance(index, IntImm) and index.value == 0 and isinstance(size, IntImm) and size.value == 1:
            continue
        if not isinstance(index, Var) or index in seen or index not in extents:
            return False
        if not analyzer.can_prove_equal(extents[index], size):
            return False
        seen.add(index)
    return True


def _flat(indices: tuple[Expr, ...], buffer: Var) -> Expr:
    """The position of an element in row-major order."""
    total: Expr = IntImm("int64", 0)
    for index, size in zip(indices, buffer.ty.shape):  # type: ignore[attr-defined]
        total = total * size + index
    return total


__all__ = ["has_reshape_pattern"]
