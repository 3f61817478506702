"""Parts of tensors by index: take, strided_slice, dynamic_strided_slice, index_tensor, gather_elements,
gather_nd."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import ir, te
from ..ir import Expr, PrimType, Type
from ..ir.relax import OpPattern, TensorType, get_op, relax_op, tensor_constant
from ..ir.relax.op import Scalars, Tensor, Tensors
from .axis_layouts import first_rank, keep_plain, one_axis
from .faults import shape_fault, type_fault
from .infer import Sizes, axis_of, broadcast, constant, like, show, tensor_type, tensor_types
from .reshape import broadcast_index
from .sizes import size, slice_of


def index_type(op: str, indices: Any, name: str = "indices") -> TensorType:
    """The type of a tensor of indices. Raises DTypeError when it is known and holds no integers."""
    ty = tensor_type(op, indices, name)
    if ty.dtype is not None and (not ty.dtype.is_integral or ty.dtype.is_bool):
        type_fault(op, f"`{name}` must be of integers, not of `{ty.dtype}`")
    return ty


def from_back(index: Any, extent: Any) -> Any:
    """The index as an int64, counted from the front: a negative one counts from the back."""
    wide = ir.cast(index, "int64")
    if index.dtype.is_uint:
        return wide
    return ir.select(ir.less(wide, size(0)), ir.add(wide, extent), wide)


def inside(index: Any, extent: Any) -> Any:
    """Whether an index is one of the dimension."""
    return ir.logical_and(ir.less_equal(size(0), index), ir.less(index, extent))


MODES = ("fast", "nan", "wrap", "clip")


def _placed(index: Any, extent: Any, mode: str) -> Any:
    if mode == "wrap":
        wide = ir.cast(index, "int64")
        return size(0) if constant(extent) == 0 else ir.floormod(wide, extent)
    if mode == "clip":
        return ir.min_(ir.max_(ir.cast(index, "int64"), size(0)), ir.sub(extent, 1))
    return index


def _take_te(x: te.Tensor, indices: Any, axis: int | None = None, mode: str = "fast") -> te.Tensor:
    at = (axis or 0) % x.ndim
    many = isinstance(indices, te.Tensor)
    inner = tuple(indices.shape) if many else ()

    def element(*i: Any) -> Any:
        before, own, after = i[:at], i[at : at + len(inner)], i[at + len(inner) :]
        index = indices(*own) if many else indices
        value = x(*before, _placed(index, x.shape[at], mode), *after)
        if mode != "nan":
            return value
        return te.if_then_else(inside(index, x.shape[at]), value, ir.const(float("nan"), x.dtype))

    return te.compute([*x.shape[:at], *inner, *x.shape[at + 1 :]], element, name="T_take")


def _take_numpy(x: Any, indices: Any, axis: int | None = None, mode: str = "fast") -> Any:
    import numpy as np

    places = np.asarray(indices)
    at = axis or 0
    if mode in ("wrap", "clip"):
        return np.take(x, places, at, mode=mode)  # type: ignore[call-overload]
    if mode == "fast":
        return np.take(x, places, at)
    good = (places >= 0) & (places < x.shape[at])
    whole = np.concatenate([x, np.full_like(x[(slice(None),) * (at % x.ndim) + (slice(0, 1),)], np.nan)], at)
    if not x.shape[at]:
        shape = [*x.shape[: at % x.ndim], *places.shape, *x.shape[at % x.ndim + 1 :]]
        return np.full(shape, np.nan, x.dtype)
    return np.take(whole, np.where(good, places, x.shape[at]), at)


def _take_gradient(var: Any, call: Any, grad: Any, builder: Any) -> list[Any]:
    """Gradients go to the elements that were taken; for NaN outside of the tensor there is none."""
    x, indices = call.args
    axis, mode = call.attrs["axis"], call.attrs["mode"]
    if mode != "fast":
        indices, grad = _brought_inside(x, indices, axis or 0, mode, grad)
    return [get_op("relax.grad.take_backward")(grad, x, indices, axis=axis), None]


def _brought_inside(x: Any, indices: Any, axis: int, mode: str, grad: Any) -> tuple[Any, Any]:
    """The indices as the mode means them, and the gradient that is left."""
    extent = None if x.ty.sizes is None else constant(x.ty.sizes[axis])
    if not extent:
        shape_fault("take", f'the gradient of mode "{mode}" needs a constant size along the axis')
    kind = index_type("take", indices).dtype
    if mode == "wrap":
        return get_op("relax.floor_mod")(indices, tensor_constant(extent, kind)), grad
    near = get_op("relax.clip")(indices, 0, extent - 1)
    if mode == "nan":
        at, rank = axis % x.ty.ndim, indices.ty.ndim
        behind = list(range(rank, rank + x.ty.ndim - 1 - at))
        mask = get_op("relax.equal")(near, indices)
        mask = get_op("relax.expand_dims")(mask, behind) if behind else mask
        none = tensor_constant(0, grad.ty.dtype)
        grad = get_op("relax.where")(mask, grad, none)
    return near, grad


@relax_op("relax.take", pattern=OpPattern.INJECTIVE, te=_take_te, numpy=_take_numpy, gradient=_take_gradient)
def take(x: Tensor, indices: Tensor, axis: int | None = None, mode: str = "fast") -> Type:
    """The elements at these indices along the axis; the dimensions of the indices take its place.

    Indices outside of the dimension: with mode "fast" the caller promises that there are none, "wrap" counts
    them modulo the size, "clip" means the nearest one inside, "nan" gives NaN.  Without an axis the tensor
    must have one dimension.
    """
    ty, places = tensor_type("take", x), index_type("take", indices)
    if axis is None and ty.ndim not in (-1, 1):
        shape_fault("take", f"without an axis the tensor has one dimension, not {ty.ndim}")
    if mode not in MODES:
        shape_fault("take", f'`mode` is "{mode}", not one of {", ".join(MODES)}')
    if mode == "nan" and ty.dtype is not None and not ty.dtype.is_float:
        type_fault("take", f'mode "nan" needs floats, not `{ty.dtype}`')
    at = axis_of("take", axis or 0, ty.ndim)
    if ty.ndim < 0 or places.ndim < 0:
        return like(ty)
    if ty.sizes is None or places.sizes is None:
        return like(ty, ndim=ty.ndim + places.ndim - 1)
    return like(ty, (*ty.sizes[:at], *places.sizes, *ty.sizes[at + 1 :]))


def scalars(value: Any) -> list[Expr] | None:
    """The scalars of an operand, where they are written out."""
    return list(value.fields_) if isinstance(value, ir.Tuple) else None


def _integers(op: str, value: Any, name: str) -> list[Expr] | None:
    found = scalars(value)
    for e in found or ():
        if not isinstance(e.ty, PrimType) or not e.ty.dtype.is_integral:
            type_fault(op, f"`{name}` must be integers")
    return found


def _constants(op: str, value: Any, name: str) -> list[int] | None:
    found = _integers(op, value, name)
    if found is None:
        return None
    numbers = [constant(e) for e in found]
    if any(v is None for v in numbers):
        shape_fault(op, f"`{name}` must be constants")
    return numbers  # type: ignore[return-value]


def _slices(
    sizes: Sizes, axes: Sequence[int], begin: Any, end: Any, strides: Any, assume_inbound: bool
) -> dict[int, tuple[Expr, Expr, int]]:
    """For each dimension that is sliced: first index, length and step."""
    steps = strides or [1] * len(axes)
    found = {}
    for axis, b, e, step in zip(axes, begin, end, steps):
        first, length = slice_of(ir.cast(b, "int64"), ir.cast(e, "int64"), step, sizes[axis], assume_inbound)
        found[axis % len(sizes)] = (first, length, step)
    return found


def _values(scalars: Any) -> list[int] | None:
    return None if scalars is None else [e if isinstance(e, int) else e.value for e in scalars]


def _strided_slice_te(
    x: te.Tensor, axes: Any, begin: Any, end: Any, strides: Any = None, assume_inbound: bool = False
) -> te.Tensor:
    along = [a % x.ndim for a in _values(axes) or ()]
    found = _slices(x.shape, along, begin, end, _values(strides), assume_inbound)

    def element(*i: Any) -> Any:
        place = list(i)
        for axis, (first, _, step) in found.items():
            place[axis] = ir.add(ir.mul(i[axis], step), first)
        return x(*place)

    shape = [found[k][1] if k in found else s for k, s in enumerate(x.shape)]
    return te.compute(shape, element, name="T_strided_slice")


def _strided_slice_numpy(
    x: Any, axes: Any, begin: Any, end: Any, strides: Any = None, assume_inbound: bool = False
) -> Any:
    found: list[Any] = [slice(None)] * x.ndim
    for axis, b, e, step in zip(axes, begin, end, strides or [1] * len(axes)):
        found[axis] = slice(b, None if step < 0 and e < -x.shape[axis] else e, step)
    return x[tuple(found)]


@relax_op(
    "relax.strided_slice",
    pattern=OpPattern.INJECTIVE,
    te=_strided_slice_te,
    numpy=_strided_slice_numpy,
    layout=keep_plain(first_rank),
)
def strided_slice(
    x: Tensor,
    axes: Scalars,
    begin: Scalars,
    end: Scalars,
    strides: Scalars | None = None,
    assume_inbound: bool = False,
) -> Type:
    """The slice `begin:end:stride` of each named axis, as Python slices.

    With `assume_inbound` the ends are taken to be inside of the dimension, which makes symbolic sizes simple.
    """
    ty = tensor_type("strided_slice", x)
    along, steps = _constants("strided_slice", axes, "axes"), _constants("strided_slice", strides, "strides")
    first, last = (_integers("strided_slice", v, n) for v, n in ((begin, "begin"), (end, "end")))
    given = [v for v in (along, first, last, steps) if v is not None]
    if len({len(v) for v in given}) > 1:
        shape_fault("strided_slice", "axes, begin, end and strides must be equally many")
    if along is None or first is None or last is None or (strides is not None and steps is None):
        return like(ty, ndim=ty.ndim)
    places = [axis_of("strided_slice", a, ty.ndim, "axes") for a in along]
    if len(set(places)) != len(places):
        shape_fault("strided_slice", f"`axes` names a dimension twice: {along}")
    if 0 in (steps or ()):
        shape_fault("strided_slice", "a stride is 0")
    if ty.sizes is None:
        return like(ty, ndim=ty.ndim)
    found = _slices(ty.sizes, places, first, last, steps, assume_inbound)
    return like(ty, tuple([found[k][1] if k in found else s for k, s in enumerate(ty.sizes)]))


def _dynamic_slice(extent: Any, begin: Any, end: Any, step: Any) -> tuple[Any, Any]:
    """First index and length of a slice whose ends and step are known when the program runs."""
    back = ir.less(step, size(0))
    low, high = ir.select(back, size(-1), size(0)), ir.select(back, ir.sub(extent, 1), extent)
    first, stop = [ir.min_(ir.max_(from_back(e, extent), low), high) for e in (begin, end)]
    span = ir.select(back, ir.sub(first, stop), ir.sub(stop, first))
    width = ir.max_(ir.absolute(step), size(1))
    length = ir.max_(ir.floordiv(ir.sub(ir.add(span, width), 1), width), size(0))
    return first, length


def _pick(values: Sequence[Any], k: Any) -> Any:
    """The value of this number: a chain of choices."""
    found = values[-1]
    for n in reversed(range(len(values) - 1)):
        found = ir.select(ir.equal(k, size(n)), values[n], found)
    return found


def dynamic_slice_sizes(x: te.Tensor, begin: te.Tensor, end: te.Tensor, strides: te.Tensor) -> te.Tensor:
    """The shape of the dynamic slice, as a tensor."""

    def length(k: Any) -> Any:
        return _dynamic_slice(_pick(x.shape, k), begin(k), end(k), ir.cast(strides(k), "int64"))[1]

    return te.compute([size(x.ndim)], length, name="sizes")


def dynamic_slice_te(
    x: te.Tensor, begin: te.Tensor, end: te.Tensor, strides: te.Tensor, shape: Sequence[Any]
) -> te.Tensor:
    """The dynamic slice, once its shape is known."""

    def element(*i: Any) -> Any:
        place = []
        for k, index in enumerate(i):
            step = ir.cast(strides(size(k)), "int64")
            first, _ = _dynamic_slice(x.shape[k], begin(size(k)), end(size(k)), step)
            place.append(ir.add(first, ir.mul(index, step)))
        return x(*place)

    return te.compute(shape, element, name="T_strided_slice_dynamic")


def runtime_shape(builder: Any, sizes: Expr, ndim: int) -> list[Expr]:
    """Symbols for the sizes that a tensor holds when the program runs, bound by a match_cast."""
    from ..ir.relax import ShapeType

    shape = builder.emit(get_op("relax.tensor_to_shape")(sizes))
    symbols = [ir.Var(f"s{k}", "int64") for k in range(ndim)]
    builder.match_cast(shape, ShapeType(symbols))
    return symbols  # type: ignore[return-value]


def _legalize_dynamic_slice(builder: Any, call: Any) -> Expr:
    x = call.args[0]
    if x.ty.sizes is None:
        return call
    hint = "shape_func_dynamic_strided_slice"
    sizes = builder.emit(builder.call_te(dynamic_slice_sizes, *call.args, primfunc_name_hint=hint))
    shape = runtime_shape(builder, sizes, x.ty.ndim)
    found: Expr = builder.call_te(
        dynamic_slice_te, *call.args, shape, primfunc_name_hint="dynamic_strided_slice"
    )
    return found


def _dynamic_slice_numpy(x: Any, begin: Any, end: Any, strides: Any) -> Any:
    found = []
    for n, b, e, step in zip(x.shape, begin.tolist(), end.tolist(), strides.tolist()):
        found.append(slice(b, None if step < 0 and e < -n else e, step))
    return x[tuple(found)]


@relax_op(
    "relax.dynamic_strided_slice",
    pattern=OpPattern.OPAQUE,
    legalize=_legalize_dynamic_slice,
    numpy=_dynamic_slice_numpy,
    layout=keep_plain(first_rank),
)
def dynamic_strided_slice(x: Tensor, begin: Tensor, end: Tensor, strides: Tensor) -> Type:
    """The slice `begin:end:stride` of each dimension, where tensors hold the ends and strides.

    Only the rank of the result is known before the program runs.  Strides must not be 0.
    """
    ty = tensor_type("dynamic_strided_slice", x)
    if ty.ndim < 0:
        shape_fault("dynamic_strided_slice", "the rank of the tensor must be known")
    for value, name in ((begin, "begin"), (end, "end"), (strides, "strides")):
        found = index_type("dynamic_strided_slice", value, name)
        if found.dtype is not None and str(found.dtype) != "int64":
            type_fault("dynamic_strided_slice", f"`{name}` must be of `int64`, not of `{found.dtype}`")
        if found.ndim not in (-1, 1) or (found.sizes and constant(found.sizes[0]) not in (None, ty.ndim)):
            shape_fault("dynamic_strided_slice", f"`{name}` must hold {ty.ndim} numbers")
    return like(ty, ndim=ty.ndim)


def broadcast_all(op: str, shapes: Sequence[Sizes]) -> Sizes | None:
    """The shape that all of these broadcast to; None where that is not known."""
    found: Sizes | None = ()
    for shape in shapes:
        found = None if found is None else broadcast(op, found, shape)
    return found


def _index_tensor_te(data: te.Tensor, indices: Sequence[te.Tensor]) -> te.Tensor:
    common = broadcast_all("index_tensor", [t.shape for t in indices])
    if common is None:
        shape_fault("index_tensor", "whether the shapes of the indices broadcast is not known")

    def element(*i: Any) -> Any:
        own, rest = i[: len(common)], i[len(common) :]
        places = [
            from_back(t(*broadcast_index(own, t.shape, common)), data.shape[k]) for k, t in enumerate(indices)
        ]
        return data(*places, *rest)

    return te.compute([*common, *data.shape[len(indices) :]], element, name="advanced_index")


def _index_tensor_numpy(data: Any, indices: Sequence[Any]) -> Any:
    return data[tuple(indices)]


@relax_op("relax.index_tensor", pattern=OpPattern.INJECTIVE, te=_index_tensor_te, numpy=_index_tensor_numpy)
def index_tensor(data: Tensor, indices: Tensors) -> Type:
    """`data[i0, i1, ...]` with tensors of indices, which broadcast; dimensions without an index follow.

    Negative indices count from the back.  The caller promises that all are inside.
    """
    ty = tensor_type("index_tensor", data)
    types = tensor_types("index_tensor", indices, "indices")
    for found in types:
        if found.dtype is not None and (not found.dtype.is_integral or found.dtype.is_bool):
            type_fault("index_tensor", f"`indices` must be of integers, not of `{found.dtype}`")
    if 0 <= ty.ndim < len(types):
        shape_fault("index_tensor", f"there are {len(types)} indices for {ty.ndim} dimensions")
    ranks = [found.ndim for found in types]
    if ty.ndim < 0 or -1 in ranks:
        return like(ty)
    ndim = max(ranks) + ty.ndim - len(types)
    if ty.sizes is None or any(found.sizes is None for found in types):
        return like(ty, ndim=ndim)
    common = broadcast_all("index_tensor", [found.sizes for found in types])  # type: ignore[misc]
    return like(ty, None if common is None else (*common, *ty.sizes[len(types) :]), ndim=ndim)


def _gather_elements_te(data: te.Tensor, indices: te.Tensor, axis: int = 0) -> te.Tensor:
    at = axis % data.ndim

    def element(*i: Any) -> Any:
        return data(*i[:at], from_back(indices(*i), data.shape[at]), *i[at + 1 :])

    return te.compute(indices.shape, element, name="T_gather")


def _gather_elements_numpy(data: Any, indices: Any, axis: int = 0) -> Any:
    import numpy as np

    part = tuple([slice(None) if k == axis % data.ndim else slice(0, n) for k, n in enumerate(indices.shape)])
    return np.take_along_axis(data[part], indices.astype("int64"), axis)


@relax_op(
    "relax.gather_elements",
    pattern=OpPattern.INJECTIVE,
    te=_gather_elements_te,
    numpy=_gather_elements_numpy,
    layout=one_axis,
)
def gather_elements(data: Tensor, indices: Tensor, axis: int = 0) -> Type:
    """For each index, the element at its own place but for the axis, where it stands at that index.

    Negative indices count from the back.  The caller promises that all are inside.
    """
    ty, places = tensor_type("gather_elements", data), index_type("gather_elements", indices)
    at = axis_of("gather_elements", axis, ty.ndim)
    if ty.ndim >= 0 and places.ndim >= 0 and ty.ndim != places.ndim:
        shape_fault("gather_elements", f"the data have {ty.ndim} dimensions, the indices {places.ndim}")
    if ty.sizes is not None and places.sizes is not None:
        for k, (whole, part) in enumerate(zip(ty.sizes, places.sizes)):
            a, b = constant(whole), constant(part)
            if k != at and a is not None and b is not None and b > a:
                text = f"the indices have the shape {show(places.sizes)}, the data only {show(ty.sizes)}"
                shape_fault("gather_elements", text)
    return like(ty, places.sizes, ndim=places.ndim)


def _gather_nd_te(data: te.Tensor, indices: te.Tensor, batch_dims: int = 0) -> te.Tensor:
    count = constant(indices.shape[-1])
    if count is None:
        shape_fault("gather_nd", "the last size of the indices must be a constant")
    batch = batch_dims
    outer = len(indices.shape) - 1

    def element(*i: Any) -> Any:
        own, rest = i[:outer], i[outer:]
        places = [from_back(indices(*own, size(k)), data.shape[batch + k]) for k in range(count)]
        return data(*own[:batch], *places, *rest)

    shape = [*indices.shape[:-1], *data.shape[batch + count :]]
    return te.compute(shape, element, name="gather_nd")


def _gather_nd_numpy(data: Any, indices: Any, batch_dims: int = 0) -> Any:
    import numpy as np

    outer = indices.shape[:-1]
    lead = np.ix_(*[np.arange(n) for n in outer])[:batch_dims] if batch_dims else ()
    return data[(*lead, *[indices[..., k] for k in range(indices.shape[-1])])]


@relax_op("relax.gather_nd", pattern=OpPattern.INJECTIVE, te=_gather_nd_te, numpy=_gather_nd_numpy)
def gather_nd(data: Tensor, indices: Tensor, batch_dims: int = 0) -> Type:
    """The elements or slices at places whose indices are the last dimension of `indices`.

    The first `batch_dims` dimensions run along in both.  Negative indices count from the back.  The caller
    promises that all are inside.
    """
    ty, places = tensor_type("gather_nd", data), index_type("gather_nd", indices)
    if batch_dims < 0 or (places.ndim >= 0 and batch_dims >= places.ndim):
        shape_fault("gather_nd", f"`batch_dims` is {batch_dims}, the indices have {places.ndim} dimensions")
    count = None if places.sizes is None else constant(places.sizes[-1])
    if ty.ndim < 0 or places.ndim < 0 or count is None:
        return like(ty)
    if batch_dims + count > ty.ndim:
        text = f"each place has {batch_dims + count} indices, the data {ty.ndim} dimensions"
        shape_fault("gather_nd", text)
    ndim = places.ndim - 1 + ty.ndim - batch_dims - count
    if ty.sizes is None:
        return like(ty, ndim=ndim)
    return like(ty, (*places.sizes[:-1], *ty.sizes[batch_dims + count :]))  # type: ignore[index]


__all__ = [
    "broadcast_all",
    "dynamic_strided_slice",
    "from_back",
    "gather_elements",
    "gather_nd",
    "index_tensor",
    "index_type",
    "runtime_shape",
    "strided_slice",
    "take",
]
