"""Kernels for tensors in other layouts, and the copies into these layouts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...ir import (
    BufferLoad,
    Call,
    Expr,
    GenericConst,
    IndexMap,
    IntImm,
    IRModule,
    PrimFunc,
    Range,
    SBlock,
    SBlockRealize,
    Stmt,
    Tuple,
    TupleGetItem,
    TupleType,
    Var,
    seq,
    walk,
)
from ...ir.arith import Analyzer
from ...ir.relax import Function, TensorType, get_op, same_sizes
from ...ir.relax.rewrite import GraphRewriter
from ...ir.stmt import SeqStmt
from ...ir.visitor import Rewriter, renew_definitions
from ...ops.derivatives import R
from ..common import refuse
from ..registry import register_pass
from ..s_tir.weight_layout import PREPROC
from .call_rules import CallRules, apply_rules, sizes_of
from .common import kernel_of
from .dead_code import remove_unused_functions
from .model_params import weights_of

Transform = IndexMap | Callable[..., Any] | None


@register_pass("relax.AlterOpImpl")
def alter_op_impl(
    mod: IRModule,
    op_impl_map: Mapping[str, PrimFunc],
    op_buffer_transforms: Mapping[str, Sequence[Transform]],
) -> IRModule:
    """Kernels whose attribute "operator_name" is in the map are replaced by those of the map.

    `op_buffer_transforms` gives an index map, or None, for each buffer of the kernel: arguments are brought
    into that layout and results back.  Raises PassError for a map that needs padding.  Idempotent.

    with: op_impl_map={}, op_buffer_transforms={}
    before:
        @I.ir_module
        class Module:
            @T.prim_func(private=True)
            def exp(x: T.Buffer((T.int64(2),), "float32"), y: T.Buffer((T.int64(2),), "float32")):
                for i in range(T.int64(2)):
                    with T.sblock("y"):
                        v = T.axis.spatial(T.int64(2), i)
                        y[v] = T.exp(x[v])

    after:
        @I.ir_module
        class Module:
            @T.prim_func(private=True, s_tir=True)
            def exp(x: T.Buffer((T.int64(2),), "float32"), y: T.Buffer((T.int64(2),), "float32")):
                # with T.sblock("root"):
                for i in range(T.int64(2)):
                    with T.sblock("y"):
                        v = T.axis.spatial(T.int64(2), i)
                        T.reads(x[v])
                        T.writes(y[v])
                        y[v] = T.exp(x[v])
    """
    rewriter = _Alter(mod, op_impl_map, op_buffer_transforms)
    made: IRModule = rewriter(mod)
    return remove_unused_functions(made) if made is not mod else mod


class _Alter(GraphRewriter):
    def __init__(
        self, mod: IRModule, kernels: Mapping[str, PrimFunc], transforms: Mapping[str, Sequence[Transform]]
    ) -> None:
        super().__init__()
        self.old = {g.name: f for g, f in mod.functions.items() if isinstance(f, PrimFunc)}
        self.kernels = kernels
        self.transforms = transforms

    def visit_Call(self, call: Call) -> Any:
        """A call of the other kernel."""
        call = super().visit_Call(call)
        kernel = kernel_of(call)
        func = None if kernel is None else self.old.get(kernel.name)
        kind = "" if func is None else str(func.attrs.get("operator_name", ""))
        if kernel is None or kind not in self.kernels or func is self.kernels[kind]:
            return call
        new = self.kernels[kind]
        gvar = self.builder.add_func(new, kernel.name)
        args: Any = call.args[1]
        out_ty: Any = call.ty_args[0]
        types = out_ty.fields_ if isinstance(out_ty, TupleType) else (out_ty,)
        maps = [*self.transforms.get(kind, ())]
        maps += [None] * (len(args.fields_) + len(types) - len(maps))
        count = len(args.fields_)
        moved = [_moved(a, m) for a, m in zip(args.fields_, maps)]
        kept = [_moved_type(t, m) for t, m in zip(types, maps[count:])]
        several = isinstance(out_ty, TupleType)
        result = get_op("relax.call_tir")(gvar, Tuple(moved), kept if several else kept[0])
        back = [_inverse(t, m) for t, m in zip(types, maps[count:])]
        if not several:
            return _moved(result, back[0])
        whole = self.builder.emit(result)
        return Tuple([_moved(TupleGetItem(whole, i), m) for i, m in enumerate(back)])


def _as_map(transform: Transform, ndim: int) -> IndexMap | None:
    if transform is None or isinstance(transform, IndexMap):
        return transform
    places = [Var(f"i{k}", "int64") for k in range(ndim)]
    return IndexMap(places, transform(*places))


def _moved(value: Expr, transform: Transform) -> Expr:
    found = _as_map(transform, getattr(value.ty, "ndim", 0))
    return value if found is None else R.layout_transform(value, found)


def _moved_type(ty: TensorType, transform: Transform) -> TensorType:
    found = _as_map(transform, ty.ndim)
    return ty if found is None else TensorType(found.map_shape(ty.sizes or ()), ty.dtype, ty.vdevice)


def _inverse(ty: TensorType, transform: Transform) -> IndexMap | None:
    """The map back to the layout of this type. Raises PassError where the map pads."""
    found = _as_map(transform, ty.ndim)
    if found is None:
        return None
    moved = _moved_type(ty, found)
    back = found.inverse(ty.sizes or ())
    if not same_sizes(back.map_shape(moved.sizes or ()), ty.sizes or ()):
        raise refuse("invalid-argument", "the layout of a result pads, so that there is no way back", None)
    return back


@register_pass("relax.OptimizeLayoutTransform")
def optimize_layout_transform(mod: IRModule) -> IRModule:
    """A layout transformation that undoes the one before is gone, and so is that one.

    Idempotent.

    before:
        @R.function
        def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
            with R.dataflow():
                a = R.layout_transform(x, index_map=lambda i, j: (j, i))
                b = R.layout_transform(a, index_map=lambda i, j: (j, i))
                c = R.exp(b)
                R.output(c)
            return c

    after:
        @R.function
        def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
            with R.dataflow():
                b = x
                c = R.exp(b)
                R.output(c)
            return c
    """

    def rule(graph: CallRules, call: Call) -> Expr | None:
        first = graph.called(call.args[0], "relax.layout_transform")
        have, want = (None, None) if first is None else (sizes_of(first.args[0]), sizes_of(call))
        if first is None or have is None or want is None or not same_sizes(have, want):
            return None
        middle = first.attrs["index_map"].map_indices(first.attrs["index_map"].initial_indices)
        places = call.attrs["index_map"].map_indices(middle)
        start = first.attrs["index_map"].initial_indices
        return first.args[0] if _is_identity(places, start, have) else None

    return apply_rules(mod, {"relax.layout_transform": rule})


def _is_identity(places: Sequence[Expr], start: Sequence[Var], sizes: Sequence[Expr]) -> bool:
    analyzer = Analyzer()
    for var, size in zip(start, sizes):
        analyzer.bind(var, Range(IntImm(var.ty, 0), size))
    return len(places) == len(start) and all(analyzer.can_prove_equal(p, v) for p, v in zip(places, start))


@register_pass("relax.AttachAttrLayoutFreeBuffers")
def attach_attr_layout_free_buffers(mod: IRModule) -> IRModule:
    """Kernels list, as "layout_free_buffers", the parameters that callers give weights or constants for.

    Weights are the parameters behind the first "num_input" ones.  Each call gets a kernel of its own.
    Idempotent.

    before:
        @I.ir_module
        class Module:
            @T.prim_func(private=True)
            def exp(x: T.Buffer((T.int64(2),), "float32"), y: T.Buffer((T.int64(2),), "float32")):
                for i in range(T.int64(2)):
                    with T.sblock("y"):
                        v = T.axis.spatial(T.int64(2), i)
                        y[v] = T.exp(x[v])

            @R.function
            def main(w: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                R.func_attr({"num_input": 0})
                cls = Module
                a = R.call_tir(cls.exp, (w,), out_ty=R.Tensor((2,), "float32"))
                return a

    after:
        @I.ir_module
        class Module:
            @T.prim_func(private=True, s_tir=True)
            def exp1(x: T.Buffer((T.int64(2),), "float32"), y: T.Buffer((T.int64(2),), "float32")):
                T.func_attr({"layout_free_buffers": [0]})
                # with T.sblock("root"):
                for i in range(T.int64(2)):
                    with T.sblock("y"):
                        v = T.axis.spatial(T.int64(2), i)
                        T.reads(x[v])
                        T.writes(y[v])
                        y[v] = T.exp(x[v])

            @R.function
            def main(w: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                R.func_attr({"num_input": 0})
                cls = Module
                a = R.call_tir(cls.exp1, (w,), out_ty=R.Tensor((2,), "float32"))
                return a
    """
    rewriter = _LayoutFree(mod)
    made: IRModule = rewriter(mod)
    return remove_unused_functions(made) if made is not mod else mod


class _LayoutFree(GraphRewriter):
    def __init__(self, mod: IRModule) -> None:
        super().__init__()
        self.kernels = {g.name: f for g, f in mod.functions.items() if isinstance(f, PrimFunc)}
        self.weights: set[Var] = set()

    def visit_Function(self, func: Function) -> Any:
        """A function; its weights are noted."""
        self.weights.update(weights_of(func))
        return super().visit_Function(func)

    def visit_Call(self, call: Call) -> Any:
        """The call of a kernel that knows which arguments are weights."""
        call = super().visit_Call(call)
        kernel = kernel_of(call)
        func = None if kernel is None else self.kernels.get(kernel.name)
        if kernel is None or func is None or not isinstance(call.args[1], Tuple):
            return call
        args = call.args[1].fields_
        free = [i for i, a in enumerate(args) if isinstance(a, GenericConst) or a in self.weights]
        if not free or func.attrs.get("layout_free_buffers") == tuple(free):
            return call
        copy = renew_definitions(func.with_attr("layout_free_buffers", tuple(free)))
        gvar = self.builder.add_func(copy, kernel.name)
        return call.replace(args=[gvar, *call.args[1:]])


@register_pass("relax.SplitLayoutRewritePreproc")
def split_layout_rewrite_preproc(mod: IRModule) -> IRModule:
    """Blocks marked as rewriting a weight's layout are a kernel of their own, called before the other.

    `LiftTransformParams` can then move that call to where weights are loaded.  Idempotent.

    before:
        @I.ir_module
        class Module:
            @T.prim_func(private=True)
            def f(w: T.Buffer((T.int64(2),), "float32"), y: T.Buffer((T.int64(2),), "float32")):
                v = T.sblock_alloc_buffer((T.int64(2),))
                for i in range(T.int64(2)):
                    with T.sblock("layout"):
                        vi = T.axis.spatial(T.int64(2), i)
                        T.sblock_attr({"meta_schedule.layout_rewrite_preproc": True})
                        v[T.int64(1) - vi] = w[vi]
                for i in range(T.int64(2)):
                    with T.sblock("y"):
                        vi = T.axis.spatial(T.int64(2), i)
                        y[vi] = T.exp(v[T.int64(1) - vi])

            @R.function
            def main(w: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                cls = Module
                a = R.call_tir(cls.f, (w,), out_ty=R.Tensor((2,), "float32"))
                return a

    after:
        @I.ir_module
        class Module:
            @T.prim_func(private=True, s_tir=True)
            def f_prepacked(
                v: T.Buffer((T.int64(2),), "float32"), y: T.Buffer((T.int64(2),), "float32")
            ):
                # with T.sblock("root"):
                for i in range(T.int64(2)):
                    with T.sblock("y"):
                        vi = T.axis.spatial(T.int64(2), i)
                        T.reads(v[T.int64(1) - vi])
                        T.writes(y[vi])
                        y[vi] = T.exp(v[T.int64(1) - vi])

            @T.prim_func(private=True, s_tir=True)
            def f_weight_prepack(
                w: T.Buffer((T.int64(2),), "float32"), v: T.Buffer((T.int64(2),), "float32")
            ):
                # with T.sblock("root"):
                for i in range(T.int64(2)):
                    with T.sblock("layout"):
                        vi = T.axis.spatial(T.int64(2), i)
                        T.reads(w[vi])
                        T.writes(v[T.int64(1) - vi])
                        v[T.int64(1) - vi] = w[vi]

            @R.function
            def main(w: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                cls = Module
                gv = R.call_tir(cls.f_weight_prepack, (w,), out_ty=R.Tensor((2,), "float32"))
                a = R.call_tir(cls.f_prepacked, (gv,), out_ty=R.Tensor((2,), "float32"))
                return a
    """
    parts: dict[str, _Parts] = {}
    for gvar, func in mod.functions.items():
        if isinstance(func, PrimFunc):
            found = _split(func)
            if found is not None:
                parts[gvar.name] = found
    if not parts:
        return mod
    made: IRModule = _PreprocCalls(parts)(mod)
    return remove_unused_functions(made)


@dataclass(frozen=True, slots=True)
class _Parts:
    """A kernel in two: `before` copies weights into other layouts, `rest` computes with these.

    `sources` are the places of the weights among the arguments; `order` gives for each argument of the rest
    the place of the old one, or None for the next copy.
    """

    before: PrimFunc
    rest: PrimFunc
    sources: tuple[int, ...]
    order: tuple[int | None, ...]
    copies: tuple[TensorType, ...]


def _split(func: PrimFunc) -> _Parts | None:
    root = func.body
    if not isinstance(root, SBlockRealize) or root.block.iter_vars:
        return None
    block = root.block
    stmts = block.body.seq if isinstance(block.body, SeqStmt) else (block.body,)
    marked = [s for s in stmts if _marks(s)]
    if not marked:
        return None
    targets = [b for b in block.alloc_buffers if any(_writes(s, b) for s in marked)]
    sources = [p for p in func.params if any(_loads(s, p) for s in marked)]
    kept = [s for s in stmts if s not in marked]
    if not targets or not sources:
        return None

    def rooted(body: Sequence[Stmt], alloc: Sequence[Var]) -> Stmt:
        return root.replace(block=block.replace(body=seq(body), alloc_buffers=alloc))

    attrs = func.attrs.without("layout_free_buffers")
    before = func.replace(
        params=[*sources, *targets], body=rooted([_Unmarked()(s) for s in marked], ()), attrs=attrs
    )
    params: list[Var] = []
    order: list[int | None] = []
    for i, param in enumerate(func.params):
        if any(_writes(s, param) for s in kept) and None not in order:
            params += targets
            order += [None] * len(targets)
        if param not in sources or any(_loads(s, param) for s in kept):
            params.append(param)
            order.append(i)
    inner = [b for b in block.alloc_buffers if b not in targets]
    rest = func.replace(params=params, body=rooted(kept, inner), attrs=attrs)
    types = [TensorType(b.ty.shape, b.ty.dtype) for b in targets]  # type: ignore[attr-defined]
    return _Parts(
        renew_definitions(before),
        renew_definitions(rest),
        tuple([func.params.index(p) for p in sources]),
        tuple(order),
        tuple(types),
    )


class _Unmarked(Rewriter):
    def visit_SBlock(self, block: SBlock) -> Any:
        """The block without the mark."""
        return self.visit_fields(block).replace(annotations=block.annotations.without(PREPROC))


def _marks(stmt: Stmt) -> bool:
    return any(isinstance(n, SBlock) and n.annotations.get(PREPROC) for n in walk(stmt))


def _loads(stmt: Stmt, buffer: Var) -> bool:
    return any(isinstance(n, BufferLoad) and n.buffer is buffer for n in walk(stmt))


def _writes(stmt: Stmt, buffer: Var) -> bool:
    return any(getattr(n, "buffer", None) is buffer and hasattr(n, "value") for n in walk(stmt))


class _PreprocCalls(GraphRewriter):
    def __init__(self, parts: Mapping[str, _Parts]) -> None:
        super().__init__()
        self.parts = parts

    def visit_Call(self, call: Call) -> Any:
        """The call of the copies, then that of the rest."""
        call = super().visit_Call(call)
        kernel = kernel_of(call)
        parts = None if kernel is None else self.parts.get(kernel.name)
        if kernel is None or parts is None or not isinstance(call.args[1], Tuple):
            return call
        args = call.args[1].fields_
        record = get_op("relax.call_tir")
        before = self.builder.add_func(parts.before, f"{kernel.name}_weight_prepack")
        several = len(parts.copies) > 1
        made = record(
            before,
            Tuple([args[i] for i in parts.sources]),
            list(parts.copies) if several else parts.copies[0],
        )
        whole = self.builder.emit(made)
        copies = iter([TupleGetItem(whole, i) for i in range(len(parts.copies))] if several else [whole])
        given = [next(copies) if i is None else args[i] for i in parts.order if i is None or i < len(args)]
        rest = self.builder.add_func(parts.rest, f"{kernel.name}_prepacked")
        return record(rest, Tuple(given), call.ty_args[0], span=call.span)


__all__ = [
    "alter_op_impl",
    "attach_attr_layout_free_buffers",
    "optimize_layout_transform",
    "split_layout_rewrite_preproc",
]
