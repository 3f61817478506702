"""Operators that write elements at indices: scatter_elements, scatter_nd, index_put.

Where several updates meet one place they come in the order of the updates.
"""

# The programs are read as the language of loops; a type checker takes them for Python.
# mypy: disable-error-code="valid-type, no-untyped-def, no-untyped-call, misc"

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .. import ir, te
from ..dtype import DType
from ..ir import PrimFunc, Type
from ..ir.relax import OpPattern, TensorType, relax_op
from ..ir.relax.op import Tensor, Tensors
from ..script import tirx as T
from .axis_layouts import first_rank, keep_plain, one_axis
from .faults import shape_fault, type_fault
from .indexing import broadcast_all, from_back, index_type
from .infer import axis_of, common_dtype, constant, show, tensor_type, tensor_types
from .programs import run
from .reshape import broadcast_index
from .sizes import product, ravel, size

REDUCTIONS = ("update", "add", "mul", "min", "max", "mean")


def _combination(reduction: str, dtype: DType) -> Callable[[Any, Any], Any]:
    """What becomes of the old value and an update."""
    if reduction == "mean":
        half = 0.5 if dtype.is_float else None
        return lambda old, new: (old + new) * half if half else ir.truncdiv(old + new, ir.const(2, dtype))
    if dtype.is_bool and reduction != "update":
        return ir.logical_or if reduction in ("add", "max") else ir.logical_and
    return {
        "update": lambda old, new: new,
        "add": ir.add,
        "mul": ir.mul,
        "min": ir.min_,
        "max": ir.max_,
    }[reduction]


@functools.cache
def _program(reduction: str, dtype: str) -> PrimFunc:
    """Copies the data, then combines slices of `inner` elements at the places with the updates."""
    combine = _combination(reduction, DType(dtype))

    @T.prim_func(check_well_formed=False)
    def scatter(
        data: T.Buffer(("a",), dtype),
        place: T.Buffer(("b",), "int64"),
        updates: T.Buffer(("c",), dtype),
        out: T.Buffer(("d",), dtype),
        total: T.int64,
        count: T.int64,
        inner: T.int64,
    ):
        for k in range(total):
            out[k] = data[k]
        for j in range(count):
            for i in range(inner):
                at: T.int64 = place[j] * inner + i
                out[at] = combine(out[at], updates[j * inner + i])

    return scatter


def scatter_te(
    data: te.Tensor, place: te.Tensor, updates: te.Tensor, reduction: str, inner: Any, name: str
) -> te.Tensor:
    """The data after the updates at these places, counted in slices of `inner` elements."""
    program = _program(reduction, str(data.dtype))
    scalars = [product(data.shape), product(place.shape), inner]
    return run(program, [data, place, updates], [(data.shape, data.dtype)], scalars, name)[0]


def _check(op: str, data: Any, updates: Any, reduction: str, known: Sequence[str]) -> TensorType:
    ty, new = tensor_type(op, data), tensor_type(op, updates, "updates")
    common_dtype(op, ty, new)
    if reduction not in known:
        shape_fault(op, f'`reduction` is "{reduction}", not one of {", ".join(known)}')
    return ty


def combined(reduction: str, old: Any, new: Any) -> Any:
    """The old value and an update combined, on numpy scalars."""
    import numpy as np

    if reduction == "mean":
        total = old + new
        return total * old.dtype.type(0.5) if old.dtype.kind not in "iu" else np.trunc(total / 2)
    if old.dtype == np.bool_ and reduction in ("add", "mul"):
        return old | new if reduction == "add" else old & new
    functions = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}
    return new if reduction == "update" else functions[reduction](old, new)


def _scatter_elements_te(
    data: te.Tensor, indices: te.Tensor, updates: te.Tensor, axis: int = 0, reduction: str = "update"
) -> te.Tensor:
    at = axis % data.ndim

    def place(*i: Any) -> Any:
        return ravel([*i[:at], from_back(indices(*i), data.shape[at]), *i[at + 1 :]], data.shape)

    places = te.compute(indices.shape, place, name="place")
    return scatter_te(data, places, updates, reduction, size(1), "scatter_elements")


def _scatter_elements_numpy(
    data: Any, indices: Any, updates: Any, axis: int = 0, reduction: str = "update"
) -> Any:
    import numpy as np

    out = data.copy()
    for i in np.ndindex(*indices.shape):
        place = (*i[: axis % data.ndim], int(indices[i]), *i[axis % data.ndim + 1 :])
        out[place] = combined(reduction, out[place], updates[i])
    return out


@relax_op(
    "relax.scatter_elements",
    pattern=OpPattern.OPAQUE,
    te=_scatter_elements_te,
    numpy=_scatter_elements_numpy,
    layout=one_axis,
)
def scatter_elements(
    data: Tensor, indices: Tensor, updates: Tensor, axis: int = 0, reduction: str = "update"
) -> Type:
    """The data with updates: each goes to its own place but for the axis, where it goes to its index.

    The reduction says how an update and what stands there combine: "update" (replace), "add", "mul", "min",
    "max", or "mean" of the two.  Negative indices count from the back; all must be inside.
    """
    ty = _check("scatter_elements", data, updates, reduction, REDUCTIONS)
    places, new = index_type("scatter_elements", indices), tensor_type("scatter_elements", updates)
    axis_of("scatter_elements", axis, ty.ndim)
    ranks = {t.ndim for t in (ty, places, new) if t.ndim >= 0}
    if len(ranks) > 1:
        shape_fault("scatter_elements", "data, indices and updates must have the same number of dimensions")
    _same("scatter_elements", places, new)
    return ty


def _same(op: str, places: TensorType, new: TensorType) -> None:
    if places.sizes is None or new.sizes is None:
        return
    pairs = [(constant(a), constant(b)) for a, b in zip(places.sizes, new.sizes)]
    if any(a is not None and b is not None and a != b for a, b in pairs):
        text = f"the indices have the shape {show(places.sizes)}, the updates {show(new.sizes)}"
        shape_fault(op, text)


def _scatter_nd_te(
    data: te.Tensor, indices: te.Tensor, updates: te.Tensor, reduction: str = "update"
) -> te.Tensor:
    count = constant(indices.shape[-1])
    if count is None:
        shape_fault("scatter_nd", "the last size of the indices must be a constant")

    def place(*i: Any) -> Any:
        found = [from_back(indices(*i, size(k)), data.shape[k]) for k in range(count)]
        return ravel(found, data.shape[:count])

    places = te.compute(indices.shape[:-1], place, name="place")
    return scatter_te(data, places, updates, reduction, product(data.shape[count:]), "scatter_nd")


def _scatter_nd_numpy(data: Any, indices: Any, updates: Any, reduction: str = "update") -> Any:
    import numpy as np

    out = data.copy()
    for i in np.ndindex(*indices.shape[:-1]):
        place = tuple(indices[i].tolist())
        for rest in np.ndindex(*data.shape[indices.shape[-1] :]):
            out[(*place, *rest)] = combined(reduction, out[(*place, *rest)], updates[(*i, *rest)])
    return out


@relax_op(
    "relax.scatter_nd",
    pattern=OpPattern.OPAQUE,
    te=_scatter_nd_te,
    numpy=_scatter_nd_numpy,
    layout=keep_plain(first_rank),
)
def scatter_nd(data: Tensor, indices: Tensor, updates: Tensor, reduction: str = "update") -> Type:
    """The data with updates, elements or slices, at places whose indices are the last dimension of `indices`.

    The reduction says how an update and what stands there combine: "update" (replace), "add", "mul", "min"
    or "max".  Negative indices count from the back; all must be inside.
    """
    ty = _check("scatter_nd", data, updates, reduction, REDUCTIONS[:-1])
    places, new = index_type("scatter_nd", indices), tensor_type("scatter_nd", updates, "updates")
    count = None if places.sizes is None else constant(places.sizes[-1])
    if count is None or ty.ndim < 0:
        return ty
    if count > ty.ndim:
        shape_fault("scatter_nd", f"each place has {count} indices, the data {ty.ndim} dimensions")
    wanted = places.ndim - 1 + ty.ndim - count
    if new.ndim not in (-1, wanted):
        shape_fault("scatter_nd", f"the updates have {new.ndim} dimensions, not {wanted}")
    if ty.sizes is not None and places.sizes is not None:
        shape = TensorType((*places.sizes[:-1], *ty.sizes[count:]), ty.dtype)
        _same("scatter_nd", shape, new)
    return ty


def _index_put_te(
    data: te.Tensor, indices: Sequence[te.Tensor], values: te.Tensor, accumulate: bool = False
) -> te.Tensor:
    common = broadcast_all("index_put", [t.shape for t in indices])
    if common is None:
        shape_fault("index_put", "whether the shapes of the indices broadcast is not known")

    def place(*i: Any) -> Any:
        found = [
            from_back(t(*broadcast_index(i, t.shape, common)), data.shape[k]) for k, t in enumerate(indices)
        ]
        return ravel(found, data.shape)

    places = te.compute(common, place, name="place")
    wide = te.compute(common, lambda *i: values(*broadcast_index(i, values.shape, common)), name="wide")
    return scatter_te(data, places, wide, "add" if accumulate else "update", size(1), "index_put")


def _index_put_numpy(data: Any, indices: Sequence[Any], values: Any, accumulate: bool = False) -> Any:
    import numpy as np

    out = data.copy()
    places = np.broadcast_arrays(*indices)
    wide = np.broadcast_to(values, places[0].shape)
    for i in np.ndindex(*places[0].shape):
        place = tuple([int(p[i]) for p in places])
        out[place] = combined("add" if accumulate else "update", out[place], wide[i])
    return out


@relax_op("relax.index_put", pattern=OpPattern.OPAQUE, te=_index_put_te, numpy=_index_put_numpy)
def index_put(data: Tensor, indices: Tensors, values: Tensor, accumulate: bool = False) -> Type:
    """The data with `values` at the places that tensors of indices name, one for each dimension.

    Indices and values broadcast.  With `accumulate` the values are added.  Negative indices count from the
    back; all must be inside.
    """
    ty = tensor_type("index_put", data)
    types = tensor_types("index_put", indices, "indices")
    common_dtype("index_put", ty, tensor_type("index_put", values, "values"))
    for found in types:
        if found.dtype is not None and (not found.dtype.is_integral or found.dtype.is_bool):
            type_fault("index_put", f"`indices` must be of integers, not of `{found.dtype}`")
    if ty.ndim not in (-1, len(types)):
        shape_fault("index_put", f"there are {len(types)} tensors of indices for {ty.ndim} dimensions")
    return ty


__all__ = ["combined", "index_put", "scatter_elements", "scatter_nd", "scatter_te"]
