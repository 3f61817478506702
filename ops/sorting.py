"""Order along an axis: sort, argsort, topk, median.

Elements are sorted by keys: unsigned integers in the same order, a byte at a time from the lowest (radix
sort, stable, in time linear in the length); short lines by insertion.  NaN counts as the largest value and
0.0 as equal to -0.0.
"""

# The programs are read as the language of loops; a type checker takes them for Python.
# mypy: disable-error-code="valid-type, no-untyped-def, no-untyped-call, no-redef, misc"

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from .. import ir, te
from ..dtype import DType
from ..ir import PrimFunc, TupleType, Type
from ..ir.relax import OpPattern, relax_op
from ..ir.relax.op import Ints, Tensor
from ..script import tirx as T
from ..target import Target
from .faults import shape_fault, type_fault
from .infer import axis_of, constant, like, same_type, tensor_type
from .keys import key_bits, key_of, value_of
from .merge_sort import LANES, merge_sort
from .programs import lines, run
from .sizes import size, unravel
from .statistics import reduced_axes, reduced_sizes, reduced_type

INT32 = DType("int32")
SHORT = 24
"""Lines up to this length are sorted by insertion."""
HEAP = 256
"""So many elements or fewer are chosen with a heap, more of them by sorting."""


@functools.cache
def _sort_program(source: str, target: str, descending: bool, places: bool) -> PrimFunc:
    """Sorts lines: gives the values, or the places of the elements in their order."""
    dtype = DType(source)
    bits = key_bits(dtype)
    unsigned, digits = f"uint{bits}", bits // 8
    kept = target if target in ("int32", "int64") else "int64"

    def digit(key: Any, number: Any) -> Any:
        shift = ir.cast(ir.mul(number, 8), unsigned)
        low = ir.bitwise_and(ir.shift_right(key, shift), ir.const(255, unsigned))
        return ir.add(ir.cast(low, "int64"), ir.mul(ir.cast(number, "int64"), 256))

    def result(key: Any, place: Any) -> Any:
        return ir.cast(place, target) if places else value_of(key, dtype, descending)

    @T.prim_func(check_well_formed=False)
    def sort(
        x: T.Buffer(("a",), source), out: T.Buffer(("b",), target), outer: T.int64, n: T.int64, inner: T.int64
    ):
        keys = T.alloc_buffer((2 * n,), unsigned)
        order = T.alloc_buffer((2 * n if places else 1,), kept)
        count = T.alloc_buffer((digits * 256,), "int64")
        start = T.alloc_buffer((1,), "int64", scope="local")
        total = T.alloc_buffer((1,), "int64", scope="local")
        at = T.alloc_buffer((1,), "int64", scope="local")
        for line in range(outer * inner):
            base: T.int64 = line // inner * n * inner + line % inner
            start[0] = T.int64(0)
            if n <= SHORT:
                for i in range(n):
                    key: T.let = key_of(x[base + i * inner], dtype, descending, not places)
                    at[0] = i
                    while T.if_then_else(at[0] > 0, keys[at[0] - 1] > key, False):
                        keys[at[0]] = keys[at[0] - 1]
                        if places:
                            order[at[0]] = order[at[0] - 1]
                        at[0] = at[0] - 1
                    keys[at[0]] = key
                    if places:
                        order[at[0]] = T.Cast(kept, i)
            else:
                for k in range(digits * 256):
                    count[k] = T.int64(0)
                for i in range(n):
                    key: T.let = key_of(x[base + i * inner], dtype, descending, not places)
                    keys[i] = key
                    if places:
                        order[i] = T.Cast(kept, i)
                    for p in T.unroll(digits):
                        count[digit(key, p)] = count[digit(key, p)] + 1
                for p in range(digits):
                    if count[digit(keys[start[0]], p)] < n:
                        total[0] = T.int64(0)
                        for k in range(256):
                            have: T.let = count[p * 256 + k]
                            count[p * 256 + k] = total[0]
                            total[0] = total[0] + have
                        begin: T.let = start[0]
                        for i in range(n):
                            key: T.let = keys[begin + i]
                            to: T.let = count[digit(key, p)]
                            count[digit(key, p)] = to + 1
                            keys[n - begin + to] = key
                            if places:
                                order[n - begin + to] = order[begin + i]
                        start[0] = n - begin
            for i in range(n):
                out[base + i * inner] = result(keys[start[0] + i], order[start[0] + i if places else 0])

    return sort


def sorted_te(data: te.Tensor, axis: int, descending: bool, places: DType | None, name: str) -> te.Tensor:
    """The elements along the axis in order; their places, of the dtype `places`, where one is given."""
    target = str(places or data.dtype)
    sizes = lines(data.shape, axis % data.ndim)
    length = constant(sizes[1])
    by_vectors = places is None and key_bits(data.dtype) in LANES and not _for_gpu()
    if by_vectors and (length is None or length > SHORT):
        alone = constant(sizes[0]) == constant(sizes[2]) == 1
        program = merge_sort(str(data.dtype), descending, alone)
    else:
        program = _sort_program(str(data.dtype), target, descending, places is not None)
    return run(program, [data], [(data.shape, target)], sizes, name)[0]


def _for_gpu() -> bool:
    """Whether the current target is a device: a thread there has no vectors of so many keys."""
    target = Target.current()
    return target is not None and "gpu" in target.keys


def _scalar_te(data: te.Tensor, places: DType | None) -> te.Tensor:
    return te.compute((), lambda: data() if places is None else ir.const(0, places), name="sorted")


def _sort_te(x: te.Tensor, axis: int = -1, descending: bool = False) -> te.Tensor:
    return sorted_te(x, axis, descending, None, "sort") if x.ndim else _scalar_te(x, None)


def _argsort_te(data: te.Tensor, axis: int = -1, descending: bool = False, dtype: DType = INT32) -> te.Tensor:
    return sorted_te(data, axis, descending, dtype, "argsort") if data.ndim else _scalar_te(data, dtype)


def order_numpy(x: Any, axis: int, descending: bool) -> Any:
    """The places in stable order, descending ones too; NaN is the largest."""
    import numpy as np

    if x.dtype.kind not in "?iuf":
        x = x.astype("float32")
    if not x.ndim:
        return np.zeros((), "int64")
    if not descending:
        return np.argsort(x, axis, kind="stable")
    turned = np.argsort(np.flip(x, axis), axis, kind="stable")
    return np.flip(x.shape[axis] - 1 - turned, axis)


def _sort_numpy(x: Any, axis: int = -1, descending: bool = False) -> Any:
    import numpy as np

    return np.take_along_axis(x, order_numpy(x, axis, descending), axis) if x.ndim else x


def _argsort_numpy(data: Any, axis: int = -1, descending: bool = False, dtype: DType = INT32) -> Any:
    return order_numpy(data, axis, descending).astype(dtype.numpy())


def _sorted_axis(op: str, axis: int, ndim: int) -> None:
    axis_of(op, axis, max(ndim, 1) if ndim >= 0 else -1)


def _place_dtype(op: str, dtype: DType) -> DType:
    if dtype.is_bool:
        type_fault(op, "`dtype` must be one of numbers, not `bool`")
    return dtype


@relax_op("relax.sort", pattern=OpPattern.OPAQUE, te=_sort_te, numpy=_sort_numpy)
def sort(x: Tensor, axis: int = -1, descending: bool = False) -> Type:
    """The elements along the axis in order; NaN is behind all, in descending order before all."""
    ty = tensor_type("sort", x)
    _sorted_axis("sort", axis, ty.ndim)
    return ty


@relax_op("relax.argsort", pattern=OpPattern.OPAQUE, te=_argsort_te, numpy=_argsort_numpy)
def argsort(data: Tensor, axis: int = -1, descending: bool = False, dtype: DType = INT32) -> Type:
    """The places that the elements along the axis have in order; equal ones keep their order."""
    ty = tensor_type("argsort", data)
    _sorted_axis("argsort", axis, ty.ndim)
    return same_type(ty, _place_dtype("argsort", dtype))


@functools.cache
def _choose_program(source: str, target: str, largest: bool) -> PrimFunc:
    """The places of the best k elements of each line, the best first, equal ones in their order.

    A heap holds the best so far, the worst of them on top.
    """
    dtype = DType(source)
    unsigned = f"uint{key_bits(dtype)}"

    @T.prim_func(check_well_formed=False)
    def choose(
        x: T.Buffer(("a",), source),
        out: T.Buffer(("b",), target),
        outer: T.int64,
        n: T.int64,
        inner: T.int64,
        k: T.int64,
    ):
        keys = T.alloc_buffer((k + 1,), unsigned)
        place = T.alloc_buffer((k + 1,), "int64")
        at = T.alloc_buffer((1,), "int64", scope="local")
        moving = T.alloc_buffer((1,), unsigned, scope="local")
        own = T.alloc_buffer((1,), "int64", scope="local")
        size = T.alloc_buffer((1,), "int64", scope="local")
        go = T.alloc_buffer((1,), "bool", scope="local")

        @T.inline
        def sink():
            """Move the element in hand down from the top to where no worse one is below."""
            at[0] = T.int64(0)
            go[0] = True
            while go[0]:
                left: T.let = at[0] * 2 + 1
                right: T.let = T.min(left + 1, size[0])
                second: T.let = T.if_then_else(
                    right < size[0],
                    T.if_then_else(
                        keys[right] == keys[left], place[right] > place[left], keys[right] > keys[left]
                    ),
                    False,
                )
                child: T.let = T.if_then_else(second, right, left)
                go[0] = T.if_then_else(
                    left < size[0],
                    T.if_then_else(keys[child] == moving[0], place[child] > own[0], keys[child] > moving[0]),
                    False,
                )
                if go[0]:
                    keys[at[0]] = keys[child]
                    place[at[0]] = place[child]
                    at[0] = child
            keys[at[0]] = moving[0]
            place[at[0]] = own[0]

        for line in range(outer * inner):
            base: T.int64 = line // inner * n * inner + line % inner
            goal: T.int64 = line // inner * k * inner + line % inner
            size[0] = k
            for i in range(k):
                keys[i] = ~T.Cast(unsigned, 0)
                place[i] = n + i
            for i in range(n):
                key: T.let = key_of(x[base + i * inner], dtype, largest)
                if T.if_then_else(key == keys[0], i < place[0], key < keys[0]):
                    moving[0] = key
                    own[0] = i
                    sink()
            for i in range(k):
                last: T.let = k - 1 - i
                out[goal + last * inner] = T.Cast(target, place[0])
                size[0] = last
                moving[0] = keys[last]
                own[0] = place[last]
                if last > 0:
                    sink()

    return choose


def chosen(k: int, extent: Any) -> Any:
    """How many elements topk gives: all, when k is below 1 or more than there are."""
    known = constant(extent)
    if k < 1:
        return extent
    return size(k if known is None else min(k, known))


def _topk_te(
    data: te.Tensor,
    k: int = 1,
    axis: int = -1,
    ret_type: str = "both",
    largest: bool = True,
    dtype: DType = INT32,
) -> Any:
    at = axis % data.ndim
    count = chosen(k, data.shape[at])
    shape = [count if i == at else s for i, s in enumerate(data.shape)]
    few, extent = constant(count), constant(data.shape[at])
    if few is not None and 0 < few <= HEAP and (extent is None or few * 8 <= extent):
        program = _choose_program(str(data.dtype), str(dtype), largest)
        sizes = [*lines(data.shape, at), count]
        (places,) = run(program, [data], [(shape, dtype)], sizes, "topk")
    else:
        order = sorted_te(data, at, largest, dtype, "topk")
        places = te.compute(shape, lambda *i: order(*i), name="topk_indices")
    if ret_type == "indices":
        return places
    values = te.compute(shape, lambda *i: data(*i[:at], places(*i), *i[at + 1 :]), name="topk_values")
    return [values, places] if ret_type == "both" else values


def _topk_numpy(
    data: Any,
    k: int = 1,
    axis: int = -1,
    ret_type: str = "both",
    largest: bool = True,
    dtype: DType = INT32,
) -> Any:
    import numpy as np

    order = order_numpy(data, axis, largest)
    count = k if k >= 1 else data.shape[axis]
    places = np.take(order, np.arange(min(count, data.shape[axis])), axis)
    values = np.take_along_axis(data, places, axis)
    places = places.astype(dtype.numpy())
    return {"both": (values, places), "values": values, "indices": places}[ret_type]


@relax_op("relax.topk", pattern=OpPattern.OPAQUE, te=_topk_te, numpy=_topk_numpy)
def topk(
    data: Tensor,
    k: int = 1,
    axis: int = -1,
    ret_type: str = "both",
    largest: bool = True,
    dtype: DType = INT32,
) -> Type:
    """The k largest (or smallest) elements along the axis in order, and their places.

    All elements where k is below 1.  Of equal ones the first come first; NaN counts as the largest.  An axis
    of symbolic size must have at least k elements.
    """
    ty = tensor_type("topk", data)
    at = axis_of("topk", axis, ty.ndim)
    if ret_type not in ("both", "values", "indices"):
        shape_fault("topk", f'`ret_type` is "both", "values" or "indices", not "{ret_type}"')
    _place_dtype("topk", dtype)
    sizes = ty.sizes
    if sizes is not None:
        sizes = tuple([chosen(k, s) if i == at else s for i, s in enumerate(sizes)])
    found = [like(ty, sizes, ndim=ty.ndim), like(ty, sizes, dtype, ty.ndim)]
    return {"both": TupleType(found), "values": found[0], "indices": found[1]}[ret_type]


def _median_te(x: te.Tensor, axis: Ints | None = None, keepdims: bool = False) -> Any:
    gone = reduced_axes(axis, x.ndim)
    kept = [k for k in range(x.ndim) if k not in gone]
    along = tuple([x.shape[k] for k in gone])

    def rows(*i: Any) -> Any:
        place = dict(zip([*kept, *gone], [*i[:-1], *unravel(i[-1], along)]))
        return x(*[place[k] for k in range(x.ndim)])

    length: Any = size(1)
    for s in along:
        length = ir.mul(length, s)
    if len(gone) == 1 and gone[0] == x.ndim - 1:
        table = x
    else:
        table = te.compute([*[x.shape[k] for k in kept], length], rows, name="rows")
    order = sorted_te(table, -1, False, DType("int64"), "median_order")
    middle = ir.floordiv(ir.sub(length, 1), 2)
    shape = reduced_sizes(x.shape, gone, keepdims)

    def spot(i: Sequence[Any]) -> list[Any]:
        return [v for k, v in enumerate(i) if not (keepdims and k in gone)]

    places = te.compute(shape, lambda *i: order(*spot(i), middle), name="median_places")
    values = te.compute(shape, lambda *i: table(*spot(i), places(*i)), name="median")
    return [values, places] if axis is not None and len(axis) == 1 else values


def _median_numpy(x: Any, axis: Ints | None = None, keepdims: bool = False) -> Any:
    import numpy as np

    gone = reduced_axes(axis, x.ndim)
    kept = [k for k in range(x.ndim) if k not in gone]
    length = int(np.prod([x.shape[k] for k in gone]))
    table = x.transpose([*kept, *gone]).reshape([*[x.shape[k] for k in kept], length])
    order = order_numpy(table, -1, False)
    middle = (table.shape[-1] - 1) // 2
    shape = [1 if k in gone else s for k, s in enumerate(x.shape) if keepdims or k not in gone]
    places = order[..., middle : middle + 1]
    values = np.take_along_axis(table, places, -1).reshape(shape)
    return (values, places.reshape(shape)) if axis is not None and len(axis) == 1 else values


@relax_op("relax.median", pattern=OpPattern.OPAQUE, te=_median_te, numpy=_median_numpy)
def median(x: Tensor, axis: Ints | None = None, keepdims: bool = False) -> Type:
    """The middle element along axes, the lower one of two; along a single axis its place too.

    NaN counts as the largest value.
    """
    found = reduced_type("median", x, axis, keepdims)
    if axis is None or len(axis) != 1:
        return found
    return TupleType([found, same_type(found, DType("int64"))])


__all__ = ["argsort", "median", "order_numpy", "sort", "sorted_te", "topk"]
