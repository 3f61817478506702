"""Operators that give the same elements another shape: reshape, flatten, squeeze, expand_dims, permute_dims,
broadcast_to, layout_transform."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import ir, te
from ..ir import IndexMap, Type
from ..ir.relax import OpPattern, ShapeExpr, ShapeType, TensorType, relax_op
from ..ir.relax.op import Ints, Shape, Tensor
from ..ir.types import AnyType
from .axis_layouts import insertion, permutation, removal
from .faults import shape_fault, type_fault
from .infer import Sizes, axes_of, constant, describe, is_one, like, show, sizes_of, tensor_type
from .sizes import analyzer, product, ravel, simplify, size, unravel


def shaped(op: str, ty: TensorType, shape: Any) -> TensorType:
    """The type with the shape that an operand of kind Shape gives. Raises DTypeError for another operand."""
    sizes = sizes_of(shape)
    if sizes is not None:
        return TensorType(sizes, ty.dtype, ty.vdevice)
    if isinstance(shape.ty, ShapeType):
        return TensorType(shape, ty.dtype, ty.vdevice)
    if not isinstance(shape.ty, AnyType):
        type_fault(op, f"`shape` must be a shape, not {describe(shape.ty)}")
    return like(ty)


def _resolve_reshape(values: dict[str, Any]) -> None:
    """-1 becomes what is left of the elements, 0 the size of the input there."""
    shape = values["shape"]
    if not isinstance(shape, ShapeExpr):
        return
    known = [constant(s) for s in shape.values]
    if not any(v is not None and v <= 0 for v in known):
        return
    have = tensor_type("reshape", values["x"]).sizes
    if have is None:
        if any(v is not None and v < 0 for v in known):
            shape_fault("reshape", "a size of -1 needs an input of known shape")
        return
    values["shape"] = ShapeExpr(_resolved(list(shape.values), have))


def _resolved(wanted: list[Any], have: Sizes) -> list[Any]:
    given, elements = list(wanted), product(have)
    for k, s in enumerate(wanted):
        if constant(s) == 0 and constant(elements) != 0:
            if k >= len(have):
                shape_fault("reshape", f"size {k} is 0, but the input of shape {show(have)} has none there")
            wanted[k] = have[k]
        elif (constant(s) or 0) < -1:
            shape_fault("reshape", f"a size is {constant(s)}")
    holes = [k for k, s in enumerate(wanted) if constant(s) == -1]
    if len(holes) > 1:
        shape_fault("reshape", f"more than one size is -1 in {show(wanted)}")
    for k in holes:
        wanted[k] = _left(have, [s for i, s in enumerate(wanted) if i != k])
        if wanted[k] is None:
            shape_fault("reshape", f"the shape {show(have)} cannot become {show(given)}")
    return wanted


def _left(have: Sizes, others: Sequence[Any]) -> Any:
    """What the other sizes leave of the elements, None where that is no number.

    Sizes that both shapes have are left out of the division, which makes it simple and right for 0.
    """
    mine, rest = list(have), []
    for s in others:
        at = next((k for k, m in enumerate(mine) if ir.structural_equal(m, s)), None)
        if at is None:
            rest.append(s)
        else:
            mine.pop(at)
    whole, part = product(mine), product(rest)
    if constant(part) == 0 or (constant(whole) or 0) % (constant(part) or 1):
        return None
    return simplify(ir.floordiv(whole, part))


def _reshape_te(x: te.Tensor, shape: Sequence[Any]) -> te.Tensor:
    def element(*i: Any) -> Any:
        return x(*unravel(ravel(i, tuple(shape)), x.shape))

    return te.compute(shape, element, name="T_reshape")


def _reshape_numpy(x: Any, shape: Sequence[int]) -> Any:
    return x.reshape(tuple(shape))


def _reshape_gradient(var: Any, call: Any, grad: Any, builder: Any) -> list[Any]:
    return [reshape(grad, shape_like(call.args[0])), None]


def shape_like(x: Any) -> Any:
    """The shape of an expression, as an operand."""
    from ..ir.relax import get_op

    sizes = x.ty.sizes
    return ShapeExpr(sizes) if sizes is not None else get_op("relax.shape_of")(x)


def _reshape_kernel(builder: Any, call: Any) -> Any:
    """A kernel where the number of elements is proven; else it stays: the machine compares at run time."""
    have, wanted = call.args[0].ty.sizes, sizes_of(call.args[1])
    if have is None or wanted is None:
        return call
    a, b = product(have), product(wanted)
    return builder.call_kernel(call) if analyzer(a, b).can_prove_equal(a, b) else call


@relax_op(
    "relax.reshape",
    prepare=_resolve_reshape,
    pattern=OpPattern.INJECTIVE,
    te=_reshape_te,
    legalize=_reshape_kernel,
    numpy=_reshape_numpy,
    gradient=_reshape_gradient,
)
def reshape(x: Tensor, shape: Shape) -> Type:
    """The elements in their order in another shape.

    A size of -1 is what the others leave of the elements, 0 is the size of the input at the same place.
    """
    ty = tensor_type("reshape", x)
    have, wanted = ty.sizes, sizes_of(shape)
    if have is not None and wanted is not None:
        a, b = product(have), product(wanted)
        if analyzer(a, b).can_prove(ir.not_equal(a, b)):
            shape_fault("reshape", f"the shape {show(have)} cannot become {show(wanted)}")
    return shaped("reshape", ty, shape)


def _flatten_te(x: te.Tensor) -> te.Tensor:
    return _reshape_te(x, [product(x.shape)])


@relax_op(
    "relax.flatten",
    kernel="reshape",
    pattern=OpPattern.INJECTIVE,
    te=_flatten_te,
    numpy=lambda x: x.reshape(-1),
    gradient=lambda var, call, grad, builder: [reshape(grad, shape_like(call.args[0]))],
)
def flatten(x: Tensor) -> Type:
    """The elements in one dimension."""
    ty = tensor_type("flatten", x)
    if ty.ndim == 1:
        return ty
    sizes = () if ty.ndim == 0 else ty.sizes
    return like(ty, None if sizes is None else (product(sizes),), ndim=1)


def dropped(sizes: Sizes | Sequence[int], axis: Ints | None) -> tuple[int, ...]:
    """The dimensions that a squeeze removes: those of size 1, of those named. A symbol counts as 1."""
    chosen = range(len(sizes)) if axis is None else [a + len(sizes) if a < 0 else a for a in axis]
    found = [s.value if isinstance(s, ir.IntImm) else s for s in sizes]
    return tuple([a for a in chosen if not isinstance(found[a], int) or found[a] == 1])


def _squeeze_te(x: te.Tensor, axis: Ints | None) -> te.Tensor:
    if axis is None and any(constant(s) is None for s in x.shape):
        shape_fault("squeeze", "which dimensions have size 1 is not known", "name them with `axis`")
    gone = dropped(x.shape, axis)
    kept = [k for k in range(x.ndim) if k not in gone]

    def element(*i: Any) -> Any:
        place = dict(zip(kept, i))
        return x(*[place.get(k, size(0)) for k in range(x.ndim)])

    return te.compute([x.shape[k] for k in kept], element, name="T_squeeze")


def _squeeze_numpy(x: Any, axis: Ints | None) -> Any:
    return x.squeeze(dropped(x.shape, axis))


@relax_op(
    "relax.squeeze",
    pattern=OpPattern.INJECTIVE,
    te=_squeeze_te,
    numpy=_squeeze_numpy,
    gradient=lambda var, call, grad, builder: [reshape(grad, shape_like(call.args[0]))],
    layout=removal,
)
def squeeze(x: Tensor, axis: Ints | None = None) -> Type:
    """The tensor without dimensions of size 1: all of them, or those named.

    A dimension that is named and has another known size stays.  Without names the shape is known only where
    all sizes are constants.
    """
    ty = tensor_type("squeeze", x)
    if axis is not None:
        axis = axes_of("squeeze", axis, ty.ndim)
    if ty.sizes is None:
        known = axis is not None and ty.ndim >= 0
        return like(ty, ndim=ty.ndim - len(axis or ()) if known else None)
    if axis is None and any(constant(s) is None for s in ty.sizes):
        return like(ty)
    gone = dropped(ty.sizes, axis)
    if not gone:
        return ty
    return like(ty, tuple([s for k, s in enumerate(ty.sizes) if k not in gone]))


def _expanded(op: str, axis: Ints, ndim: int) -> tuple[int, ...]:
    """Where the new dimensions stand in the result."""
    return axes_of(op, axis, ndim + len(axis) if ndim >= 0 else -1)


def _expand_dims_te(x: te.Tensor, axis: Ints) -> te.Tensor:
    new = _expanded("expand_dims", axis, x.ndim)
    sizes = iter(x.shape)
    shape = [size(1) if k in new else next(sizes) for k in range(x.ndim + len(new))]

    def element(*i: Any) -> Any:
        return x(*[v for k, v in enumerate(i) if k not in new])

    return te.compute(shape, element, name="expand_dims")


def _expand_dims_numpy(x: Any, axis: Ints) -> Any:
    import numpy as np

    return np.expand_dims(x, tuple(axis))


@relax_op(
    "relax.expand_dims",
    pattern=OpPattern.BROADCAST,
    te=_expand_dims_te,
    numpy=_expand_dims_numpy,
    gradient=lambda var, call, grad, builder: [squeeze(grad, call.attrs["axis"])],
    layout=insertion,
)
def expand_dims(x: Tensor, axis: Ints) -> Type:
    """New dimensions of size 1 at these places of the result."""
    ty = tensor_type("expand_dims", x)
    new = _expanded("expand_dims", axis, ty.ndim)
    if ty.sizes is None:
        return like(ty, ndim=ty.ndim + len(new) if ty.ndim >= 0 else None)
    rest = iter(ty.sizes)
    return like(ty, tuple([size(1) if k in new else next(rest) for k in range(ty.ndim + len(new))]))


def _order(axes: Ints | None, ndim: int) -> tuple[int, ...]:
    if axes is None:
        return tuple(range(ndim))[::-1]
    found = axes_of("permute_dims", axes, ndim, "axes")
    if len(found) != ndim:
        shape_fault("permute_dims", f"there are {len(found)} axes for {ndim} dimensions")
    return found


def _permute_dims_te(x: te.Tensor, axes: Ints | None) -> te.Tensor:
    order = _order(axes, x.ndim)

    def element(*i: Any) -> Any:
        return x(*[i[order.index(k)] for k in range(x.ndim)])

    return te.compute([x.shape[k] for k in order], element, name="T_transpose")


def _permute_dims_numpy(x: Any, axes: Ints | None) -> Any:
    return x.transpose(axes)


def _permute_dims_gradient(var: Any, call: Any, grad: Any, builder: Any) -> list[Any]:
    axes = call.attrs["axes"]
    if axes is None:
        return [permute_dims(grad)]
    order = _order(axes, len(axes))
    return [permute_dims(grad, [order.index(k) for k in range(len(order))])]


@relax_op(
    "relax.permute_dims",
    kernel="transpose",
    pattern=OpPattern.INJECTIVE,
    te=_permute_dims_te,
    numpy=_permute_dims_numpy,
    gradient=_permute_dims_gradient,
    layout=permutation,
)
def permute_dims(x: Tensor, axes: Ints | None = None) -> Type:
    """The dimensions in another order: dimension k of the result is `axes[k]`; without axes, reversed."""
    ty = tensor_type("permute_dims", x)
    if ty.ndim < 0:
        return like(ty, ndim=None if axes is None else len(axes))
    order = _order(axes, ty.ndim)
    return like(ty, None if ty.sizes is None else tuple([ty.sizes[k] for k in order]), ndim=ty.ndim)


def broadcast_index(i: Sequence[Any], have: Sizes, wanted: Sequence[Any]) -> list[Any]:
    """The indices of an element in a tensor that is broadcast to a shape."""
    found = []
    for index, mine, whole in zip(i[len(i) - len(have) :], have, wanted[len(wanted) - len(have) :]):
        if analyzer(mine, whole).can_prove_equal(mine, whole):
            found.append(index)
        elif is_one(mine):
            found.append(size(0))
        else:
            found.append(ir.select(ir.equal(mine, size(1)), size(0), index))
    return found


def _broadcast_to_te(x: te.Tensor, shape: Sequence[Any]) -> te.Tensor:
    def element(*i: Any) -> Any:
        return x(*broadcast_index(i, x.shape, shape))

    return te.compute(shape, element, name="T_broadcast_to")


def _broadcast_to_numpy(x: Any, shape: Sequence[int]) -> Any:
    import numpy as np

    return np.broadcast_to(x, tuple(shape)).copy()


def _broadcast_to_gradient(var: Any, call: Any, grad: Any, builder: Any) -> list[Any]:
    from .collapse import collapse_sum_to

    return [collapse_sum_to(grad, shape_like(call.args[0])), None]


@relax_op(
    "relax.broadcast_to",
    pattern=OpPattern.BROADCAST,
    te=_broadcast_to_te,
    numpy=_broadcast_to_numpy,
    gradient=_broadcast_to_gradient,
)
def broadcast_to(x: Tensor, shape: Shape) -> Type:
    """The tensor repeated to this shape, by numpy's rules of broadcasting."""
    ty = tensor_type("broadcast_to", x)
    have, wanted = ty.sizes, sizes_of(shape)
    ndim = shape.ty.ndim if isinstance(shape.ty, ShapeType) else -1
    if 0 <= ndim < ty.ndim:
        shape_fault("broadcast_to", f"a tensor of {ty.ndim} dimensions cannot get only {ndim}")
    if have is not None and wanted is not None:
        for mine, whole in zip(have, wanted[len(wanted) - len(have) :]):
            a, b = constant(mine), constant(whole)
            if a not in (None, 1, b) and b is not None:
                shape_fault("broadcast_to", f"the shape {show(have)} does not broadcast to {show(wanted)}")
    return shaped("broadcast_to", ty, shape)


def _prepare_layout(values: dict[str, Any]) -> None:
    """A Python function becomes a map of indices, the padding a constant of the tensor's dtype."""
    found, pad = values["index_map"], values["pad_value"]
    ty = tensor_type("layout_transform", values["x"])
    if not isinstance(found, IndexMap):
        if not callable(found):
            type_fault("layout_transform", f"`index_map` is a {type(found).__name__}, no map of indices")
        found = ir.index_map(found)
    values["index_map"] = found.with_dtype("int64")
    if isinstance(pad, int | float) and ty.dtype is not None:
        values["pad_value"] = ir.const(pad, ty.dtype)
    elif pad is not None and getattr(pad, "dtype", None) != ty.dtype:
        type_fault("layout_transform", f"`pad_value` must be a scalar of `{ty.dtype}`")


def _layout_transform_te(x: te.Tensor, index_map: IndexMap, pad_value: Any) -> te.Tensor:
    back, padding = index_map.non_surjective_inverse(x.shape)
    shape = index_map.map_shape(x.shape)

    def element(*i: Any) -> Any:
        table = dict(zip(back.initial_indices, i))
        value = x(*[ir.substitute(e, table) for e in back.final_indices])
        outside = ir.substitute(padding, table)
        if isinstance(outside, ir.IntImm) and not outside.value:
            return value
        filling = ir.const(0, x.dtype) if pad_value is None else pad_value
        return te.if_then_else(outside, filling, value)

    return te.compute(shape, element, name="T_layout_transform")


def _layout_transform_numpy(x: Any, index_map: IndexMap, pad_value: Any) -> Any:
    import numpy as np

    ends = [s.value for s in index_map.map_shape([size(s) for s in x.shape])]  # type: ignore[attr-defined]
    out = np.full(ends, 0 if pad_value is None else pad_value.value, x.dtype)
    for place in np.ndindex(*x.shape):
        found = index_map.map_indices([size(p) for p in place])
        out[tuple([f.value for f in found])] = x[place]  # type: ignore[attr-defined]
    return out


@relax_op(
    "relax.layout_transform",
    prepare=_prepare_layout,
    pattern=OpPattern.INJECTIVE,
    te=_layout_transform_te,
    numpy=_layout_transform_numpy,
)
def layout_transform(x: Tensor, index_map: Any, pad_value: Any = None) -> Type:
    """The element at i stands at `index_map(i)` of the result.

    Places that no element comes to hold `pad_value`, by default 0.
    """
    ty = tensor_type("layout_transform", x)
    if 0 <= ty.ndim != len(index_map.initial_indices):
        count = len(index_map.initial_indices)
        shape_fault("layout_transform", f"the map takes {count} indices, the tensor has {ty.ndim}")
    if ty.sizes is None:
        return like(ty, ndim=len(index_map.final_indices))
    return like(ty, tuple(index_map.map_shape(ty.sizes)))


__all__ = [
    "broadcast_index",
    "broadcast_to",
    "dropped",
    "expand_dims",
    "flatten",
    "layout_transform",
    "permute_dims",
    "reshape",
    "shape_like",
    "shaped",
    "squeeze",
]
