"""The different elements of a tensor: unique."""

# The programs are read as the language of loops; a type checker takes them for Python.
# mypy: disable-error-code="valid-type, no-untyped-def, no-untyped-call, misc"

from __future__ import annotations

import functools
from typing import Any

from .. import ir, te
from ..dtype import DType
from ..ir import Expr, IntImm, PrimFunc, PrimType, TupleType, Type
from ..ir.relax import OpPattern, relax_op
from ..ir.relax.op import Scalar, Tensor
from ..script import tirx as T
from .faults import shape_fault
from .indexing import runtime_shape
from .infer import axis_of, like, tensor_type
from .keys import key_bits, key_of
from .programs import run
from .sizes import product, size, unravel


@functools.cache
def _program(dtype: str, sort: bool) -> PrimFunc:
    """Finds equal rows of keys.

    The rows are put in order by merging (stable, by all their elements).  Group g, numbered in that order or,
    without `sort`, by first appearance, has its first row in `first`, so many rows in `counts`; `inverse`
    has the group of each row; `total` holds how many groups there are.
    """
    unsigned = f"uint{key_bits(DType(dtype))}"

    @T.prim_func(check_well_formed=False)
    def unique(
        keys: T.Buffer(("a",), unsigned),
        first: T.Buffer(("b",), "int64"),
        inverse: T.Buffer(("c",), "int64"),
        counts: T.Buffer(("d",), "int64"),
        total: T.Buffer(("e",), "int64"),
        n: T.int64,
        width: T.int64,
    ):
        order = T.alloc_buffer((2 * n,), "int64")
        rank = T.alloc_buffer((n,), "int64")
        run = T.alloc_buffer((1,), "int64", scope="local")
        source = T.alloc_buffer((1,), "int64", scope="local")
        left = T.alloc_buffer((1,), "int64", scope="local")
        right = T.alloc_buffer((1,), "int64", scope="local")
        at = T.alloc_buffer((1,), "int64", scope="local")

        @T.inline
        def find(a, b):
            """Move `at` to where the rows a and b differ first, or to their end."""
            at[0] = T.int64(0)
            while T.if_then_else(at[0] < width, keys[a * width + at[0]] == keys[b * width + at[0]], False):
                at[0] = at[0] + 1

        for i in range(n):
            order[i] = i
        run[0] = T.int64(1)
        source[0] = T.int64(0)
        while run[0] < n:
            here: T.let = source[0]
            for block in range((n + 2 * run[0] - 1) // (2 * run[0])):
                begin: T.let = block * 2 * run[0]
                middle: T.let = T.min(begin + run[0], n)
                end: T.let = T.min(begin + 2 * run[0], n)
                left[0] = begin
                right[0] = middle
                for k in range(end - begin):
                    x: T.let = order[here + T.min(left[0], n - 1)]
                    y: T.let = order[here + T.min(right[0], n - 1)]
                    find(x, y)
                    behind: T.let = T.if_then_else(
                        at[0] < width, keys[x * width + at[0]] > keys[y * width + at[0]], False
                    )
                    if right[0] < end and (left[0] == middle or behind):
                        order[n - here + begin + k] = y
                        right[0] = right[0] + 1
                    else:
                        order[n - here + begin + k] = x
                        left[0] = left[0] + 1
            source[0] = n - here
            run[0] = run[0] * 2
        total[0] = T.int64(0)
        for i in range(n):
            row: T.let = order[source[0] + i]
            if i > 0:
                find(order[source[0] + i - 1], row)
            else:
                at[0] = T.int64(-1)
            if at[0] < width and (i == 0 or width > 0):
                first[total[0]] = row
                counts[total[0]] = T.int64(0)
                total[0] = total[0] + 1
            counts[total[0] - 1] = counts[total[0] - 1] + 1
            inverse[row] = total[0] - 1
        if not sort:
            for g in range(total[0]):
                rank[g] = T.int64(-1)
            at[0] = T.int64(0)
            for i in range(n):
                if rank[inverse[i]] < 0:
                    rank[inverse[i]] = at[0]
                    first[at[0]] = i
                    counts[at[0]] = T.int64(0)
                    at[0] = at[0] + 1
                inverse[i] = rank[inverse[i]]
                counts[inverse[i]] = counts[inverse[i]] + 1

    return unique


def _find_te(x: te.Tensor, axis: int | None, sort: bool) -> list[te.Tensor]:
    n, width = _rows(x.shape, axis)
    at = None if axis is None else axis % x.ndim
    rest = () if at is None else (*x.shape[:at], *x.shape[at + 1 :])

    def key(i: Any, j: Any) -> Any:
        inner = unravel(j, rest)
        place = unravel(i, x.shape) if at is None else [*inner[:at], i, *inner[at:]]
        return key_of(x(*place), x.dtype, False)

    keys = te.compute([n, width], key, name="keys")
    outputs: list[Any] = [([n], "int64")] * 3 + [([size(1)], "int64")]
    return run(_program(str(x.dtype), sort), [keys], outputs, [n, width], "unique")


def _rows(shape: Any, axis: int | None) -> tuple[Any, Any]:
    """How many things are compared, and how many elements each has."""
    if axis is None:
        return product(shape), size(1)
    at = axis % len(shape)
    return shape[at], product([*shape[:at], *shape[at + 1 :]])


def _pick_te(x: te.Tensor, first: te.Tensor, count: Any, axis: int | None) -> te.Tensor:
    if axis is None:
        return te.compute([count], lambda g: x(*unravel(first(g), x.shape)), name="unique_values")
    at = axis % x.ndim
    shape = [count if k == at else s for k, s in enumerate(x.shape)]
    return te.compute(shape, lambda *i: x(*i[:at], first(i[at]), *i[at + 1 :]), name="unique_values")


def _front_te(values: te.Tensor, count: Any) -> te.Tensor:
    return te.compute([count], lambda g: values(g), name="front")


def _options(call_values: dict[str, Any]) -> tuple[bool, list[bool], int | None] | None:
    """Whether to sort, the further results asked for, the axis; None where they are not constants."""
    flags = [call_values[n] for n in ("sorted", "return_index", "return_inverse", "return_counts")]
    axis = call_values["axis"]
    if not all(isinstance(f, IntImm) for f in flags) or not (axis is None or isinstance(axis, IntImm)):
        return None
    found = [bool(f.value) for f in flags]
    return found[0], found[1:], None if axis is None else axis.value


def _legalize(builder: Any, call: Any) -> Expr:
    x = call.args[0]
    options = _options(unique.values(call))
    if x.ty.sizes is None or options is None:
        return call
    sort, wanted, axis = options
    found = builder.emit(builder.call_te(_find_te, x, axis, sort, primfunc_name_hint="unique"))
    first, inverse, counts, total = [builder.emit(ir.TupleGetItem(found, k)) for k in range(4)]
    (count,) = runtime_shape(builder, total, 1)
    results = [builder.call_te(_pick_te, x, first, count, axis, primfunc_name_hint="unique_values")]
    if wanted[0]:
        results.append(builder.call_te(_front_te, first, count, primfunc_name_hint="unique_index"))
    if wanted[1]:
        results.append(inverse)
    if wanted[2]:
        results.append(builder.call_te(_front_te, counts, count, primfunc_name_hint="unique_counts"))
    if len(results) == 1:
        return results[0]
    return ir.Tuple([builder.emit(r) for r in results])


def _numpy(
    x: Any,
    sorted: bool,
    return_index: bool,
    return_inverse: bool,
    return_counts: bool,
    axis: int | None = None,
) -> Any:
    import numpy as np

    wide = x if x.dtype.kind in "?iuf" else x.astype("float32")
    _, first, inverse, counts = np.unique(wide, True, True, True, axis)
    inverse = inverse.reshape(-1)
    if not sorted:
        order = np.argsort(first)
        first, counts = first[order], counts[order]
        inverse = np.argsort(order)[inverse]
    values = x.reshape(-1)[first] if axis is None else np.take(x, first, axis)
    asked = [(True, values), (return_index, first), (return_inverse, inverse), (return_counts, counts)]
    found = [v if v is values else v.astype("int64") for wanted, v in asked if wanted]
    return tuple(found) if len(found) > 1 else found[0]


@relax_op("relax.unique", pattern=OpPattern.OPAQUE, legalize=_legalize, numpy=_numpy)
def unique(
    x: Tensor,
    sorted: Scalar = True,  # type: ignore[assignment]
    return_index: Scalar = False,  # type: ignore[assignment]
    return_inverse: Scalar = False,  # type: ignore[assignment]
    return_counts: Scalar = False,  # type: ignore[assignment]
    axis: Scalar | None = None,
) -> Type:
    """The different elements, or the different slices along the axis, in order or else by first appearance.

    On demand also the place of the first one of each, for each element the place of its value in the result,
    and how often each value is there.  All NaN count as equal.  How many there are is known only when the
    program runs.
    """
    ty = tensor_type("unique", x)
    for flag, name in (
        (sorted, "sorted"),
        (return_index, "return_index"),
        (return_inverse, "return_inverse"),
        (return_counts, "return_counts"),
    ):
        if not isinstance(flag.ty, PrimType):
            shape_fault("unique", f"`{name}` must be a truth value")
    if isinstance(axis, IntImm):
        axis_of("unique", axis.value, ty.ndim)
    flags = [
        bool(f.value) if isinstance(f, IntImm) else True
        for f in (return_index, return_inverse, return_counts)
    ]
    found: list[Type] = [like(ty, ndim=1 if axis is None else ty.ndim)]
    found += [like(ty, dtype=DType("int64"), ndim=1) for flag in flags if flag]
    return TupleType(found) if len(found) > 1 else found[0]


__all__ = ["unique"]
