"""Algebra of matrix products."""

from __future__ import annotations

from typing import Any

from ... import te
from ...ir import Call, Expr, IRModule
from ...ir.arith import Analyzer
from ...ir.operators import add, mul
from ...ir.visitor import free_vars
from ...ops.derivatives import R
from ...ops.infer import broadcast, is_one
from ..registry import register_pass
from .call_rules import CallRules, apply_rules, rank_of, sizes_of

MATMUL = "relax.matmul"


@register_pass("relax.ReorderTakeAfterMatmul")
def reorder_take_after_matmul(mod: IRModule) -> IRModule:
    """Columns are taken out of a product, not out of the matrix before it is multiplied.

    Where the matrix has two dimensions; the product of the whole can then be shared.  Idempotent.

    before:
        @R.function
        def main(
            x: R.Tensor((2, 3), "float32"), w: R.Tensor((3, 4), "float32"), i: R.Tensor((2,), "int64")
        ) -> R.Tensor((2, 2), "float32"):
            with R.dataflow():
                a = R.take(w, i, axis=1)
                b = R.matmul(x, a)
                R.output(b)
            return b

    after:
        @R.function
        def main(
            x: R.Tensor((2, 3), "float32"), w: R.Tensor((3, 4), "float32"), i: R.Tensor((2,), "int64")
        ) -> R.Tensor((2, 2), "float32"):
            with R.dataflow():
                lv = R.matmul(x, w)
                b = R.take(lv, i, axis=1, mode="fast")
                R.output(b)
            return b
    """

    def rule(graph: CallRules, call: Call) -> Expr | None:
        x, weight = call.args
        take = graph.called(weight, "relax.take")
        if take is None or rank_of(take.args[0]) != 2 or rank_of(call) < 1:
            return None
        if take.attrs["axis"] not in (1, -1) or rank_of(take.args[1]) != 1:
            return None
        product = R.matmul(x, take.args[0], out_dtype=call.attrs["out_dtype"])
        return R.take(product, take.args[1], axis=rank_of(call) - 1, mode=take.attrs["mode"])

    return apply_rules(mod, {MATMUL: rule})


@register_pass("relax.ReorderPermuteDimsAfterConcat")
def reorder_permute_dims_after_concat(mod: IRModule) -> IRModule:
    """Tensors that are all transposed alike are concatenated first, and the result is transposed.

    Idempotent.

    before:
        @R.function
        def main(
            x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")
        ) -> R.Tensor((3, 4), "float32"):
            with R.dataflow():
                a = R.permute_dims(x)
                b = R.permute_dims(y)
                c = R.concat((a, b), axis=1)
                R.output(c)
            return c

    after:
        @R.function
        def main(
            x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")
        ) -> R.Tensor((3, 4), "float32"):
            with R.dataflow():
                lv = R.concat((x, y), axis=0)
                c = R.permute_dims(lv, axes=[1, 0])
                R.output(c)
            return c
    """

    def rule(graph: CallRules, call: Call) -> Expr | None:
        fields = getattr(graph.lookup(call.args[0]) or call.args[0], "fields_", ())
        inner = [graph.called(f, "relax.permute_dims") for f in fields]
        if len(inner) < 2 or any(i is None for i in inner):
            return None
        order = _order(inner[0])
        if any(_order(i) != order for i in inner):
            return None
        whole = R.concat([i.args[0] for i in inner], axis=order[(call.attrs["axis"] or 0) % len(order)])
        return R.permute_dims(whole, axes=order)

    return apply_rules(mod, {"relax.concat": rule})


def _order(call: Any) -> tuple[int, ...]:
    """The axes of a transposition."""
    axes, ndim = call.attrs["axes"], rank_of(call)
    return tuple(range(ndim))[::-1] if axes is None else tuple([a % ndim for a in axes])


@register_pass("relax.ExpandMatmulOfSum")
def expand_matmul_of_sum(mod: IRModule) -> IRModule:
    """A product with a sum of matrices is the sum of two products, unless the sum is known before the inputs.

    Idempotent.

    before:
        @R.function
        def main(
            x: R.Tensor(
                (2, 3), "float32"), v: R.Tensor((3, 4), "float32"), w: R.Tensor((3, 4), "float32"
            )
        ) -> R.Tensor((2, 4), "float32"):
            with R.dataflow():
                a = R.add(v, w)
                b = R.matmul(x, a)
                R.output(b)
            return b

    after:
        @R.function
        def main(
            x: R.Tensor((2, 3), "float32"),
            v: R.Tensor((3, 4), "float32"),
            w: R.Tensor((3, 4), "float32"),
        ) -> R.Tensor((2, 4), "float32"):
            with R.dataflow():
                lv = R.matmul(x, v)
                lv1 = R.matmul(x, w)
                b = R.add(lv, lv1)
                R.output(b)
            return b
    """

    def rule(graph: CallRules, call: Call) -> Expr | None:
        x, weight = call.args
        total = graph.called(weight, "relax.add")
        if total is None or (graph.is_early(total.args[0]) and graph.is_early(total.args[1])):
            return None
        if rank_of(total.args[0]) != 2 or rank_of(total.args[1]) != 2:
            return None
        out_dtype = call.attrs["out_dtype"]
        parts = [R.matmul(x, part, out_dtype=out_dtype) for part in total.args]
        return R.add(*parts)

    return apply_rules(mod, {MATMUL: rule})


@register_pass("relax.AdjustMatmulOrder")
def adjust_matmul_order(mod: IRModule) -> IRModule:
    """Of three matrices in a product, those two are multiplied first with which it takes fewer operations.

    What is known before the inputs is multiplied before; sizes are compared by proof.  Idempotent.

    before:
        @R.function
        def main(
            x: R.Tensor(
                (1, 64), "float32"), v: R.Tensor((64, 8), "float32"), w: R.Tensor((8, 64), "float32"
            )
        ) -> R.Tensor((1, 64), "float32"):
            with R.dataflow():
                a = R.matmul(v, w)
                b = R.matmul(x, a)
                R.output(b)
            return b

    after:
        @R.function
        def main(
            x: R.Tensor((1, 64), "float32"),
            v: R.Tensor((64, 8), "float32"),
            w: R.Tensor((8, 64), "float32"),
        ) -> R.Tensor((1, 64), "float32"):
            with R.dataflow():
                lv = R.matmul(x, v)
                b = R.matmul(lv, w)
                R.output(b)
            return b
    """
    return apply_rules(mod, {MATMUL: _cheaper})


def _cheaper(graph: CallRules, call: Call) -> Expr | None:
    out_dtype = call.attrs["out_dtype"]
    left, right = call.args
    inner = graph.called(left, MATMUL)
    if inner is not None:
        a, b = inner.args
        if _may_turn(graph, a, b, right) and _is_cheaper(a, b, right, first=False):
            return R.matmul(a, R.matmul(b, right, out_dtype=out_dtype), out_dtype=out_dtype)
    inner = graph.called(right, MATMUL)
    if inner is not None:
        a, b = inner.args
        if _may_turn(graph, b, a, left) and _is_cheaper(left, a, b, first=True):
            return R.matmul(R.matmul(left, a, out_dtype=out_dtype), b, out_dtype=out_dtype)
    turned = graph.called(right, "relax.permute_dims")
    inner = None if turned is None else graph.called(turned.args[0], MATMUL)
    if inner is not None and turned.attrs["axes"] in (None, (1, 0), (-1, -2)):
        b, a = inner.args
        if rank_of(a) == 2 and rank_of(b) == 2 and not (graph.is_early(a) and graph.is_early(b)):
            at, bt = R.permute_dims(a), R.permute_dims(b)
            if _is_cheaper(left, at, bt, first=True):
                return R.matmul(R.matmul(left, at, out_dtype=out_dtype), bt, out_dtype=out_dtype)
    return None


def _may_turn(graph: CallRules, a: Expr, b: Expr, other: Expr) -> bool:
    """Whether the product of a and b may be given up for one with the other, by rank and time."""
    plain = all(rank_of(m) == 2 for m in (a, b, other))
    return plain and not (graph.is_early(a) and graph.is_early(b))


def _is_cheaper(a: Expr, b: Expr, c: Expr, *, first: bool) -> bool:
    """Whether (a b) c takes fewer operations than a (b c); the other way round unless `first`."""
    x, y, z = sizes_of(a), sizes_of(b), sizes_of(c)
    if x is None or y is None or z is None:
        return False
    m, k, n, p = x[-2], y[-2], y[-1], z[-1]
    left = add(mul(mul(m, k), n), mul(mul(m, n), p))
    right = add(mul(mul(k, n), p), mul(mul(m, k), p))
    analyzer = Analyzer()
    for symbol in free_vars(left):
        analyzer.bind_bound(symbol, 1)
    return analyzer.can_prove(left < right if first else right < left)


@register_pass("relax.FuseTransposeMatmul")
def fuse_transpose_matmul(mod: IRModule) -> IRModule:
    """A product with a transposed matrix is one kernel, which reads the matrix as it is.

    Idempotent.

    before:
        @R.function
        def main(
            x: R.Tensor((2, 3), "float32"), w: R.Tensor((4, 3), "float32")
        ) -> R.Tensor((2, 4), "float32"):
            with R.dataflow():
                a = R.permute_dims(w)
                b = R.matmul(x, a)
                R.output(b)
            return b

    after:
        @I.ir_module
        class Module:
            @T.prim_func(private=True, s_tir=True)
            def NT_matmul(
                x: T.Buffer((T.int64(2), T.int64(3)), "float32"),
                w: T.Buffer((T.int64(4), T.int64(3)), "float32"),
                NT_matmul: T.Buffer((T.int64(2), T.int64(4)), "float32"),
            ):
                T.func_attr({"tirx.noalias": True})
                # with T.sblock("root"):
                for i0, i1, k in T.grid(T.int64(2), T.int64(4), T.int64(3)):
                    with T.sblock("NT_matmul"):
                        v_i0, v_i1, v_k = T.axis.remap("SSR", [i0, i1, k])
                        T.reads(x[v_i0, v_k], w[v_i1, v_k])
                        T.writes(NT_matmul[v_i0, v_i1])
                        with T.init():
                            NT_matmul[v_i0, v_i1] = T.float32(0.0)
                        NT_matmul[v_i0, v_i1] = NT_matmul[v_i0, v_i1] + x[v_i0, v_k] * w[v_i1, v_k]

            @R.function
            def main(
                x: R.Tensor((2, 3), "float32"), w: R.Tensor((4, 3), "float32")
            ) -> R.Tensor((2, 4), "float32"):
                cls = Module
                with R.dataflow():
                    b = R.call_tir(cls.NT_matmul, (x, w), out_ty=R.Tensor((2, 4), "float32"))
                    R.output(b)
                return b
    """

    def rule(graph: CallRules, call: Call) -> Expr | None:
        x, weight = call.args
        turned = graph.called(weight, "relax.permute_dims")
        ndim = rank_of(weight)
        if turned is None or ndim < 2 or rank_of(x) < 2 or sizes_of(x) is None or sizes_of(weight) is None:
            return None
        if _order(turned) != (*range(ndim - 2), ndim - 1, ndim - 2) or call.ty.sizes is None:  # type: ignore[attr-defined]
            return None
        dtype = call.ty.dtype  # type: ignore[attr-defined]
        source = turned.args[0]
        return graph.builder.call_te(_product, x, source, dtype=dtype, primfunc_name_hint="NT_matmul")

    return apply_rules(mod, {MATMUL: rule})


def _product(a: Any, b: Any, dtype: Any) -> Any:
    """a times b with its last two dimensions turned; the others broadcast."""
    k = te.reduce_axis((0, a.shape[-1]), name="k")
    batch = broadcast("matmul", a.shape[:-2], b.shape[:-2])
    assert batch is not None

    def place(shape: Any, index: Any) -> list[Any]:
        own = index[len(index) - len(shape) :]
        return [0 if is_one(size) else i for size, i in zip(shape, own)]

    def element(*index: Any) -> Any:
        *outer, i, j = index
        left = a[(*place(a.shape[:-2], outer), i, k)]
        right = b[(*place(b.shape[:-2], outer), j, k)]
        return te.sum(left.astype(dtype) * right.astype(dtype), axis=k)

    return te.compute((*batch, a.shape[-2], b.shape[-2]), element, name="NT_matmul")


__all__ = [
    "adjust_matmul_order",
    "expand_matmul_of_sum",
    "fuse_transpose_matmul",
    "reorder_permute_dims_after_concat",
    "reorder_take_after_matmul",
]
