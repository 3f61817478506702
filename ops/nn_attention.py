"""Attention: each query gets a mean of the values, weighted by how well their keys fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .. import te
from ..dtype import DType
from ..ir import Expr, Type, const
from ..ir import operators as arith
from ..ir.arith import Analyzer
from ..ir.relax import OpPattern, RelaxOp, TensorType, relax_op
from ..ir.relax.op import Tensor
from .faults import shape_fault, type_fault
from .infer import Sizes, common_vdevice, float_only, is_one, like, show, tensor_type
from .terms import over, total

_MASKS = ("TopLeft", "BottomRight")
_FLOAT = DType("float32")
Visible = Callable[[Any, Any, Any], Any]


def _differ(a: Expr, b: Expr) -> bool:
    return Analyzer().can_prove(arith.not_equal(a, b))


def _check(op: str, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None) -> TensorType:
    """The type of the result. Raises DTypeError and ValueError for operands that do not go together."""
    given = {"query": query, "key": key, "value": value, "bias": bias}
    types = {name: tensor_type(op, e, name) for name, e in given.items() if e is not None}
    for name, ty in types.items():
        if ty.ndim not in (-1, 4):
            shape_fault(op, f"`{name}` must have 4 dimensions, not {ty.ndim}")
    q, k, v = [float_only(op, types[n], n) for n in ("query", "key", "value")]
    common_vdevice(op, *types.values())
    _check_sizes(op, {name: ty.sizes for name, ty in types.items()})
    if q.sizes is None or v.sizes is None:
        return like(q, ndim=4)
    return like(q, (*q.sizes[:3], v.sizes[3]))


def _check_sizes(op: str, sizes: Mapping[str, Sizes | None]) -> None:
    """Raise a ValueError where sizes that must be equal are known to differ."""
    q, k, v, bias = [sizes.get(name) for name in ("query", "key", "value", "bias")]

    def same(a: Sizes | None, b: Sizes | None, at: tuple[int, int], names: str, what: str) -> None:
        if a is not None and b is not None and _differ(a[at[0]], b[at[1]]):
            shape_fault(op, f"{names} have different {what}: {show(a)} and {show(b)}")

    same(q, k, (0, 0), "`query` and `key`", "batch sizes")
    same(q, v, (0, 0), "`query` and `value`", "batch sizes")
    same(k, v, (1, 1), "`key` and `value`", "lengths")
    same(k, v, (2, 2), "`key` and `value`", "numbers of heads")
    same(q, k, (3, 3), "`query` and `key`", "dimensions of heads")
    heads = [getattr(s[2], "value", 0) if s is not None else 0 for s in (q, k)]
    if all(heads) and heads[0] % heads[1]:
        shape_fault(op, f"the {heads[0]} heads of `query` are no multiple of the {heads[1]} of `key`")
    if bias is not None:
        same(k, bias, (1, 3), "`key` and `bias`", "lengths")
        for at, of in ((0, 0), (1, 2), (2, 1)):
            if not is_one(bias[at]):
                same(q, bias, (of, at), "`query` and `bias`", "sizes")


def _check_mask(op: str, causal_mask: str | None, window_size: int | None) -> None:
    if causal_mask not in (None, *_MASKS):
        shape_fault(op, f'`causal_mask` is "{causal_mask}", not one of {", ".join(map(repr, _MASKS))}')
    if window_size is not None and window_size < 1:
        shape_fault(op, f"`window_size` must be positive, not {window_size}")


def _visible(
    queries: Any, keys: Any, causal_mask: str | None, window_size: int | None
) -> Callable[[Any, Any], list[Any]] | None:
    """What must hold for the query at a place to see the key at another one, None where all see all.

    `queries` and `keys` say how many there are: with "BottomRight" the last of both are side by side.
    """
    if causal_mask is None and window_size is None:
        return None

    def visible(i: Any, j: Any) -> Any:
        place = i + (keys - queries) if causal_mask == "BottomRight" else i
        seen = []
        if causal_mask is not None:
            seen.append(j <= place)
        if window_size is not None:
            seen.append(place - j < window_size)
            if causal_mask is None:
                seen.append(j - place < window_size)
        return seen

    return visible


def _attend(
    query: te.Tensor,
    key: te.Tensor,
    value: te.Tensor,
    bias: te.Tensor | None,
    scale: float | None,
    visible: Visible | None,
) -> te.Tensor:
    """Scores, their softmax over the keys, and the mean of the values that this weighs.

    Scores are laid out as (batch, head, query, key), so that a row is a query's.
    """
    batch, queries, heads, depth = query.shape
    keys, groups = key.shape[1], key.shape[2]
    kind = query.dtype if query.dtype.bits >= 32 else _FLOAT
    share = Analyzer().simplify(arith.floordiv(heads, arith.max_(groups, 1)))
    shape = (batch, heads, queries, keys)

    def head(h: Any) -> Any:
        return h if is_one(share) else arith.floordiv(h, share)

    def product(b: Any, h: Any, i: Any, j: Any) -> Any:
        k = te.reduce_axis((0, depth), "k")
        pair = arith.cast(query(b, i, h, k), kind), arith.cast(key(b, j, head(h), k), kind)
        return total(pair[0] * pair[1], [k])

    scores = te.compute(shape, product, "T_batch_matmul_NT", "T_batch_matmul_NT")
    factor = te.rsqrt(arith.cast(depth, kind)) if scale is None else const(scale, kind)
    if scale is None and hasattr(depth, "value"):
        factor = const(max(depth.value, 1) ** -0.5, kind)

    def weighed(b: Any, h: Any, i: Any, j: Any) -> Any:
        score = scores(b, h, i, j) * factor
        if bias is not None:
            places = [0 if is_one(n) else at for n, at in zip(bias.shape, (b, h, i, j))]
            score = score + arith.cast(bias(*places), kind)
        return score if visible is None else arith.select(visible(b, i, j), score, te.min_value(kind))

    masked = te.compute(shape, weighed, "T_scores", "broadcast")
    normal = _softmax(masked, visible)

    def mean(b: Any, i: Any, h: Any, d: Any) -> Any:
        j = te.reduce_axis((0, keys), "j")
        return total(normal(b, h, i, j) * arith.cast(value(b, j, head(h), d), kind), [j])

    out = (batch, queries, heads, value.shape[3])
    means: te.Tensor = te.compute(out, mean, "T_batch_matmul_NN", "T_batch_matmul_NN")
    if kind == query.dtype:
        return means
    made: te.Tensor = te.compute(out, lambda *i: arith.cast(means(*i), query.dtype), "T_cast", "elemwise")
    return made


def _softmax(scores: te.Tensor, visible: Visible | None) -> te.Tensor:
    """Of each row; a row in which nothing is visible is all zeros."""
    *rows, keys = scores.shape

    def most(*i: Any) -> Any:
        k = te.reduce_axis((0, keys), "k")
        return over(te.max, scores(*i, k), [k])

    largest = te.compute(rows, most, "T_softmax_maxelem")

    def exponential(b: Any, h: Any, i: Any, j: Any) -> Any:
        value = te.exp(scores(b, h, i, j) - largest(b, h, i))
        return value if visible is None else arith.select(visible(b, i, j), value, const(0, value.dtype))

    powers = te.compute(scores.shape, exponential, "T_softmax_exp")

    def summed(*i: Any) -> Any:
        k = te.reduce_axis((0, keys), "k")
        return total(powers(*i, k), [k])

    sums = te.compute(rows, summed, "T_softmax_expsum")

    def share(*i: Any) -> Any:
        of = sums(*i[:-1])
        if visible is not None:
            of = arith.select(arith.equal(of, const(0, of.dtype)), const(1, of.dtype), of)
        return powers(*i) / of

    made: te.Tensor = te.compute(scores.shape, share, "T_softmax_norm")
    return made


def _attention_te(
    query: te.Tensor,
    key: te.Tensor,
    value: te.Tensor,
    bias: te.Tensor | None,
    scale: float | None,
    causal_mask: str | None,
    window_size: int | None,
) -> te.Tensor:
    seen = _visible(query.shape[1], key.shape[1], causal_mask, window_size)
    visible = None if seen is None else lambda b, i, j: arith.all_(*seen(i, j))
    return _attend(query, key, value, bias, scale, visible)


def _attend_numpy(query: Any, key: Any, value: Any, bias: Any, scale: float | None, visible: Any) -> Any:
    """The same on numpy arrays; `visible` is an array of bools, or None."""
    import numpy as np

    q, k, v = [x.astype(np.float64) for x in (query, key, value)]
    share = q.shape[2] // max(k.shape[2], 1)
    k, v = k.repeat(share, axis=2), v.repeat(share, axis=2)
    scores = np.einsum("bihd,bjhd->bhij", q, k) * (max(q.shape[3], 1) ** -0.5 if scale is None else scale)
    if bias is not None:
        scores = scores + bias
    if visible is not None:
        scores = np.where(visible, scores, -np.inf)
    most = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    powers = np.exp(scores - np.where(np.isfinite(most), most, 0))
    total = powers.sum(axis=-1, keepdims=True)
    weights = powers / np.where(total == 0, 1, total)
    return np.einsum("bhij,bjhd->bihd", weights, v).astype(query.dtype)


def _attention_numpy(
    query: Any,
    key: Any,
    value: Any,
    bias: Any,
    scale: float | None,
    causal_mask: str | None,
    window_size: int | None,
) -> Any:
    import numpy as np

    seen = _visible(query.shape[1], key.shape[1], causal_mask, window_size)
    places = np.arange(query.shape[1])[:, None], np.arange(key.shape[1])[None, :]
    visible = None if seen is None else np.logical_and.reduce(seen(*places))
    return _attend_numpy(query, key, value, bias, scale, visible)


_PARTS: dict[str, Any] = {
    "pattern": OpPattern.OUT_FUSIBLE,
    "te": _attention_te,
    "numpy": _attention_numpy,
    "mixed": "always",
}


@relax_op("relax.nn.attention_bias", **_PARTS)
def attention_bias(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Tensor,
    scale: float | None = None,
    causal_mask: str | None = None,
    window_size: int | None = None,
) -> Type:
    """`attention` with a bias, which is added to the scores: (batch, heads, queries, keys).

    Each of its first three sizes may be 1.
    """
    _check_mask("nn.attention_bias", causal_mask, window_size)
    return _check("nn.attention_bias", query, key, value, bias)


def _with_bias(values: dict[str, Any]) -> RelaxOp | None:
    return attention_bias if values["bias"] is not None else None


@relax_op("relax.nn.attention", prepare=_with_bias, **_PARTS)
def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Tensor | None = None,
    scale: float | None = None,
    causal_mask: str | None = None,
    window_size: int | None = None,
) -> Type:
    """For each query the mean of the values, weighed by the softmax of how well keys fit.

    Operands are laid out as (batch, length, heads, dimension); how well a key fits is its product with
    the query times `scale`, by default one over the root of the dimension.  Query heads may be a multiple
    of the key's: neighbours share one.  `causal_mask` "TopLeft" lets a query see keys up to its own place,
    "BottomRight" up to the place as far from the end.  A query sees keys less than `window_size` places
    away.  One that sees nothing gets zeros.  With a bias the call is one of `attention_bias`.
    """
    _check_mask("nn.attention", causal_mask, window_size)
    return _check("nn.attention", query, key, value, bias)


def _default_lengths(values: dict[str, Any]) -> None:
    """Keys are parted as queries are, where nothing else is said."""
    for name in ("seqstart", "max_seqlen"):
        if values[f"{name}_k"] is None:
            values[f"{name}_k"] = values[f"{name}_q"]


def _sequence_of(starts: te.Tensor, length: Any, name: str) -> te.Tensor:
    """For each place the number of the sequence that it is in, counted from 1; 0 before the first."""

    def number(i: Any) -> Any:
        k = te.reduce_axis((0, starts.shape[0]), "k")
        return total(arith.cast(arith.less_equal(starts(k), arith.cast(i, starts.dtype)), "int32"), [k])

    made: te.Tensor = te.compute((length,), number, name)
    return made


def _var_len_te(
    queries: te.Tensor,
    keys: te.Tensor,
    values: te.Tensor,
    seqstart_q: te.Tensor,
    max_seqlen_q: Any,
    seqstart_k: te.Tensor,
    max_seqlen_k: Any,
    scale: float | None,
    causal_mask: str | None,
    window_size: int | None,
) -> te.Tensor:
    """Attention over all, where only keys of the own sequence are visible."""
    own_q = _sequence_of(seqstart_q, queries.shape[1], "sequence_q")
    own_k = _sequence_of(seqstart_k, keys.shape[1], "sequence_k")
    index = queries.shape[1].dtype
    last = arith.cast(seqstart_q.shape[0], "int32")

    def visible(b: Any, i: Any, j: Any) -> Any:
        own = own_q(i)
        seen = [arith.equal(own, own_k(j)), arith.less(0, own), arith.less(own, last)]
        if causal_mask is not None or window_size is not None:
            first, end = arith.max_(own - 1, 0), arith.min_(own, last - 1)
            begin_q, begin_k = [arith.cast(s(first), index) for s in (seqstart_q, seqstart_k)]
            end_q, end_k = [arith.cast(s(end), index) for s in (seqstart_q, seqstart_k)]
            inside = _visible(end_q - begin_q, end_k - begin_k, causal_mask, window_size)
            assert inside is not None
            seen += inside(i - begin_q, j - begin_k)
        return arith.all_(*seen)

    return _attend(queries, keys, values, None, scale, visible)


def _var_len_numpy(
    queries: Any,
    keys: Any,
    values: Any,
    seqstart_q: Any,
    max_seqlen_q: Any,
    seqstart_k: Any,
    max_seqlen_k: Any,
    scale: float | None,
    causal_mask: str | None,
    window_size: int | None,
) -> Any:
    import numpy as np

    out = np.zeros((*queries.shape[:3], values.shape[3]), queries.dtype)
    for k in range(len(seqstart_q) - 1):
        own, theirs = [slice(int(s[k]), int(s[k + 1])) for s in (seqstart_q, seqstart_k)]
        one = (queries[:, own], keys[:, theirs], values[:, theirs])
        out[:, own] = _attention_numpy(*one, None, scale, causal_mask, window_size)
    return out


@relax_op(
    "relax.nn.attention_var_len",
    prepare=_default_lengths,
    pattern=OpPattern.OUT_FUSIBLE,
    te=_var_len_te,
    numpy=_var_len_numpy,
    mixed="always",
)
def attention_var_len(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    seqstart_q: Tensor,
    max_seqlen_q: Tensor,
    seqstart_k: Tensor | None = None,
    max_seqlen_k: Tensor | None = None,
    scale: float | None = None,
    causal_mask: str | None = None,
    window_size: int | None = None,
) -> Type:
    """`attention` within sequences of different lengths that lie one after the other, in a batch of one.

    `seqstart_q` says where the sequences of queries begin, and at last where they end; `seqstart_k` the
    same for keys and values.  The greatest lengths are given too: some kernels need them.
    """
    op = "nn.attention_var_len"
    for name, operand in (("seqstart_q", seqstart_q), ("seqstart_k", seqstart_k)):
        ty = tensor_type(op, operand, name)  # type: ignore[arg-type]
        if ty.ndim not in (-1, 1) or (ty.dtype is not None and not ty.dtype.is_int):
            type_fault(op, f"`{name}` must be a list of integers: one dimension, a signed dtype")
    _check_mask(op, causal_mask, window_size)
    return _check(op, queries, keys, values, None)


__all__ = ["attention", "attention_bias", "attention_var_len"]
