"""Operators that put tensors together and take them apart: concat, stack, split, meshgrid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import ir, te
from ..dtype import DType
from ..ir import Expr, TupleGetItem, TupleType, Type
from ..ir.arith import Analyzer
from ..ir.relax import OpPattern, TensorType, relax_op, same_size
from ..ir.relax.op import Tensor, Tensors
from .axis_layouts import concatenation, division, stacking
from .faults import shape_fault, type_fault
from .infer import axis_of, common_vdevice, constant, like, show, tensor_type, tensor_types
from .sizes import simplify, size, slice_of, total


def joined(op: str, tensors: Any) -> tuple[tuple[TensorType, ...], DType | None, int]:
    """The types of tensors that are put together, their dtype and rank.

    Raises DTypeError for different dtypes, a ValueError for different ranks.
    """
    if isinstance(tensors.ty, TupleType) and not tensors.ty.fields_:
        shape_fault(op, "there are no tensors")
    types = tensor_types(op, tensors)
    dtypes = {ty.dtype: None for ty in types if ty.dtype is not None}
    if len(dtypes) > 1:
        names = " and ".join([f"`{d}`" for d in dtypes])
        type_fault(op, f"the tensors have the dtypes {names}", "convert them with `R.astype`")
    ranks = {ty.ndim: None for ty in types if ty.ndim >= 0}
    if len(ranks) > 1:
        shape_fault(op, f"the tensors have {' and '.join([str(r) for r in ranks])} dimensions")
    known = all(ty.dtype is not None for ty in types)
    return types, next(iter(dtypes)) if known and dtypes else None, next(iter(ranks), -1)


def fields(tensors: Any) -> list[Expr]:
    """The tensors of a tuple operand as expressions."""
    if isinstance(tensors, ir.Tuple):
        return list(tensors.fields_)
    return [TupleGetItem(tensors, k) for k in range(len(tensors.ty.fields_))]


def _concat_te(tensors: Sequence[te.Tensor], axis: int | None) -> te.Tensor:
    at = (axis or 0) % tensors[0].ndim
    starts = [total([t.shape[at] for t in tensors[:k]]) for k in range(len(tensors) + 1)]
    shape = [*tensors[0].shape[:at], starts[-1], *tensors[0].shape[at + 1 :]]

    def element(*i: Any) -> Any:
        def within(k: int) -> Any:
            return tensors[k](*i[:at], ir.sub(i[at], starts[k]), *i[at + 1 :])

        value = within(0)
        for k in range(1, len(tensors)):
            value = te.if_then_else(ir.less_equal(starts[k], i[at]), within(k), value)
        return value

    return te.compute(shape, element, name="T_concat")


def _concat_numpy(tensors: Sequence[Any], axis: int | None) -> Any:
    import numpy as np

    return np.concatenate(tensors, axis or 0)


def _concat_gradient(var: Any, call: Any, grad: Any, builder: Any) -> list[Any]:
    parts = fields(call.args[0])
    axis = call.attrs["axis"] or 0
    if len(parts) == 1:
        return [ir.Tuple([grad])]
    sizes = [tensor_type("concat", p).sizes for p in parts]
    if any(s is None for s in sizes):
        shape_fault("concat", "the gradient needs the sizes of the tensors")
    ends = [constant(total([s[axis] for s in sizes[:k]])) for k in range(1, len(sizes))]  # type: ignore[index]
    if any(end is None for end in ends):
        shape_fault("concat", "the gradient needs constant sizes along the axis")
    found = split(grad, tuple(ends), axis)
    return [ir.Tuple([TupleGetItem(found, k) for k in range(len(parts))])]


@relax_op(
    "relax.concat",
    kernel="concatenate",
    pattern=OpPattern.INJECTIVE,
    te=_concat_te,
    numpy=_concat_numpy,
    gradient=_concat_gradient,
    layout=concatenation,
)
def concat(tensors: Tensors, axis: int | None = 0) -> Type:
    """The tensors behind each other along the axis; all other sizes must agree.

    Without an axis the tensors must have one dimension.
    """
    types, dtype, ndim = joined("concat", tensors)
    if axis is None and ndim not in (-1, 1):
        shape_fault("concat", f"without an axis the tensors have one dimension, not {ndim}")
    at = axis_of("concat", axis or 0, ndim)
    if len(types) == 1:
        return types[0]
    device = common_vdevice("concat", *types)
    known = [ty.sizes for ty in types if ty.sizes is not None]
    agree = _agreeing("concat", known, at)
    if not known or len(known) < len(types) or not agree:
        return TensorType(None, dtype, device, ndim)
    sizes = [*known[0]]
    sizes[at] = total([s[at] for s in known])
    return TensorType(tuple(sizes), dtype, device)


def _agreeing(op: str, shapes: Sequence[Any], free: int | None) -> bool:
    """Whether the sizes are proven equal but along one axis. Raises a ValueError for other constants."""
    proven = True
    for other in shapes[1:]:
        for k, (a, b) in enumerate(zip(shapes[0], other)):
            if k == free or same_size(a, b):
                continue
            if Analyzer().can_prove(ir.not_equal(a, b)):
                text = f"the shapes {show(shapes[0])} and {show(other)} differ in dimension {k}"
                shape_fault(op, text if free is None else f"{text}, not only along axis {free}")
            proven = False
    return proven


def _stack_te(tensors: Sequence[te.Tensor], axis: int) -> te.Tensor:
    at = axis % (tensors[0].ndim + 1)
    shape = [*tensors[0].shape[:at], size(len(tensors)), *tensors[0].shape[at:]]

    def element(*i: Any) -> Any:
        rest = [*i[:at], *i[at + 1 :]]
        value = tensors[-1](*rest)
        for k in reversed(range(len(tensors) - 1)):
            value = te.if_then_else(ir.equal(i[at], size(k)), tensors[k](*rest), value)
        return value

    return te.compute(shape, element, name="T_stack")


def _stack_numpy(tensors: Sequence[Any], axis: int) -> Any:
    import numpy as np

    return np.stack(tensors, axis)


@relax_op("relax.stack", pattern=OpPattern.INJECTIVE, te=_stack_te, numpy=_stack_numpy, layout=stacking)
def stack(tensors: Tensors, axis: int = 0) -> Type:
    """Tensors of one shape beside each other along a new axis."""
    types, dtype, ndim = joined("stack", tensors)
    at = axis_of("stack", axis, ndim + 1 if ndim >= 0 else -1)
    device = common_vdevice("stack", *types)
    known = [ty.sizes for ty in types if ty.sizes is not None]
    agree = _agreeing("stack", known, None)
    if not known or len(known) < len(types) or not agree:
        return TensorType(None, dtype, device, ndim + 1 if ndim >= 0 else -1)
    return TensorType((*known[0][:at], size(len(types)), *known[0][at:]), dtype, device)


def _prepare_split(values: dict[str, Any]) -> None:
    found = values["indices_or_sections"]
    if isinstance(found, list | tuple):
        values["indices_or_sections"] = tuple([_integer(v) for v in found])
    else:
        values["indices_or_sections"] = _integer(found)
        if values["indices_or_sections"] < 1:
            shape_fault("split", f"there cannot be {values['indices_or_sections']} sections")


def _integer(value: Any) -> int:
    if isinstance(value, ir.IntImm):
        return value.value
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    type_fault("split", f"`indices_or_sections` has a {type(value).__name__}; it is an integer or several")


def pieces(parts: Any, extent: Any) -> list[tuple[Expr, Expr]]:
    """Start and length of the pieces along the axis.

    A symbolic size is taken to be large enough that only the last section is shorter.
    """
    if not isinstance(parts, int):
        ends: list[Any] = [size(0), *[size(max(v, 0)) for v in parts], extent]
        return [slice_of(a, b, 1, extent) for a, b in zip(ends, ends[1:])]
    each = ir.floordiv(ir.add(extent, parts - 1), parts)
    starts: list[Any] = [ir.mul(each, k) for k in range(parts)]
    if constant(extent) is not None:
        return [slice_of(a, ir.add(a, each), 1, extent) for a in starts]
    found = [(simplify(a), simplify(each)) for a in starts[:-1]]
    return [*found, (simplify(starts[-1]), simplify(ir.sub(extent, starts[-1])))]


def _split_te(x: te.Tensor, indices_or_sections: Any, axis: int) -> Any:
    at = axis % x.ndim

    def piece(begin: Any, length: Any) -> te.Tensor:
        def element(*i: Any) -> Any:
            return x(*i[:at], ir.add(i[at], begin), *i[at + 1 :])

        return te.compute([*x.shape[:at], length, *x.shape[at + 1 :]], element, name="T_split")

    made = [piece(*p) for p in pieces(indices_or_sections, x.shape[at])]
    return made if len(made) > 1 else made[0]


def _split_numpy(x: Any, indices_or_sections: Any, axis: int) -> Any:
    at = axis % x.ndim
    n = x.shape[at]
    parts = indices_or_sections
    if not isinstance(parts, tuple):
        each = -(-n // parts)
        parts = tuple([each * k for k in range(1, parts)])
    ends = [0, *[max(p, 0) for p in parts], n]
    found = [x[(slice(None),) * at + (slice(a, b),)] for a, b in zip(ends, ends[1:])]
    return tuple(found) if len(found) > 1 else found[0]


def _split_gradient(var: Any, call: Any, grad: Any, builder: Any) -> list[Any]:
    several = isinstance(call.ty, ir.TupleType)
    return [concat(grad, call.attrs["axis"]) if several else grad]


@relax_op(
    "relax.split",
    prepare=_prepare_split,
    pattern=OpPattern.INJECTIVE,
    te=_split_te,
    numpy=_split_numpy,
    gradient=_split_gradient,
    layout=division,
)
def split(x: Tensor, indices_or_sections: Any, axis: int = 0) -> Type:
    """The tensor in pieces along the axis: in so many sections, or cut at these indices, negative ones at 0.

    Sections have the same length, rounded up; the last one is what is left.  One piece is no tuple.
    """
    ty = tensor_type("split", x)
    at = axis_of("split", axis, ty.ndim)
    parts = indices_or_sections
    count = len(parts) + 1 if isinstance(parts, tuple) else parts
    if ty.sizes is None:
        found = [like(ty, ndim=ty.ndim)] * count
    else:
        lengths = [length for _, length in pieces(parts, ty.sizes[at])]
        found = [like(ty, (*ty.sizes[:at], length, *ty.sizes[at + 1 :])) for length in lengths]
    return TupleType(found) if count > 1 else found[0]


def _grid_axes(count: int, indexing: str) -> list[int]:
    """Which tensor runs along each dimension of the grid."""
    order = list(range(count))
    if indexing == "xy" and count > 1:
        order[:2] = [1, 0]
    return order


def _meshgrid_te(tensors: Sequence[te.Tensor], indexing: str) -> Any:
    order = _grid_axes(len(tensors), indexing)
    shape = [tensors[k].shape[0] for k in order]

    def grid(k: int) -> te.Tensor:
        at = order.index(k)
        return te.compute(shape, lambda *i: tensors[k](i[at]), name="T_meshgrid")

    return [grid(k) for k in range(len(tensors))]


def _meshgrid_numpy(tensors: Sequence[Any], indexing: str) -> Any:
    import numpy as np

    return tuple(np.meshgrid(*tensors, indexing=indexing))  # type: ignore[call-overload]


@relax_op("relax.meshgrid", pattern=OpPattern.INJECTIVE, te=_meshgrid_te, numpy=_meshgrid_numpy)
def meshgrid(tensors: Tensors, indexing: str = "ij") -> Type:
    """The grid of coordinates that tensors of one dimension span: for each tensor, its value at each place.

    With indexing "ij" the first tensor runs along the first dimension, with "xy" along the second.
    """
    types, dtype, ndim = joined("meshgrid", tensors)
    if ndim not in (-1, 1):
        shape_fault("meshgrid", f"the tensors have one dimension, not {ndim}")
    if indexing not in ("ij", "xy"):
        shape_fault("meshgrid", f'`indexing` is "ij" or "xy", not "{indexing}"')
    device = common_vdevice("meshgrid", *types)
    known = [ty.sizes for ty in types]
    if any(s is None for s in known):
        return TupleType([TensorType(None, dtype, device, len(types))] * len(types))
    shape = tuple([known[k][0] for k in _grid_axes(len(types), indexing)])  # type: ignore[index]
    return TupleType([TensorType(shape, dtype, device)] * len(types))


__all__ = ["concat", "fields", "joined", "meshgrid", "pieces", "split", "stack"]
