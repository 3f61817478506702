"""Normalisations: data less its mean over its deviation, of batches, layers, groups, instances; dropout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import te
from ..dtype import DType
from ..ir import Call, Expr, Tuple, TupleType, Type, const
from ..ir import operators as arith
from ..ir.arith import Analyzer
from ..ir.relax import OpPattern, TensorType, get_op, relax_op, tensor_constant
from ..ir.relax.op import Ints, Tensor
from . import terms
from .faults import shape_fault, type_fault
from .infer import axes_of, axis_of, common_vdevice, float_only, like, same_type, show, tensor_type
from .nn_layouts import along_axes, twice

_FLOAT = DType("float32")


def _parameters(
    op: str, data: TensorType, axes: Sequence[int], given: dict[str, Tensor]
) -> tuple[dict[str, TensorType], bool]:
    """The types of the parameters, and whether they are proven to have the sizes of the data's axes.

    Raises DTypeError for another dtype than the data's, a ValueError where sizes are known to differ.
    """
    types = {name: tensor_type(op, value, name) for name, value in given.items()}
    fits = data.sizes is not None
    for name, ty in types.items():
        if ty.dtype is not None and data.dtype is not None and ty.dtype != data.dtype:
            type_fault(op, f"`data` is of `{data.dtype}`, `{name}` of `{ty.dtype}`", "convert it: `R.astype`")
        if ty.ndim not in (-1, len(axes)):
            shape_fault(op, f"`{name}` must have {len(axes)} dimensions, as many as are named, not {ty.ndim}")
        if data.sizes is None or ty.sizes is None:
            fits = False
            continue
        wanted = [data.sizes[a] for a in axes]
        for x, y in zip(ty.sizes, wanted):
            if Analyzer().can_prove(arith.not_equal(x, y)):
                shape_fault(op, f"`{name}` has the shape {show(ty.sizes)}, the data needs {show(wanted)}")
            fits = fits and Analyzer().can_prove_equal(x, y)
    common_vdevice(op, data, *types.values())
    return types, fits


def _kept(data: TensorType, fits: bool) -> TensorType:
    """The type of the data; of its rank only where the parameters may not fit it."""
    return same_type(data) if fits or data.sizes is None else like(data, ndim=data.ndim)


class _Rows:
    """Data seen as rows along some dimensions, its parts reduced and brought back to its shape."""

    def __init__(self, data: te.Tensor, dims: Sequence[int]) -> None:
        self.data = data
        self.dims = [d % data.ndim for d in dims]
        self.kept = [d for d in range(data.ndim) if d not in self.dims]
        self.kind = data.dtype if data.dtype.bits >= 32 else _FLOAT
        self.name = data.op.name

    def at(self, *indices: Any) -> Any:
        """The element, in the dtype in which it is computed with."""
        return arith.cast(self.data(*indices), self.kind)

    def row(self, indices: Sequence[Any]) -> list[Any]:
        """The indices of the row that an element belongs to."""
        return [indices[d] for d in self.kept]

    def count(self) -> Any:
        """How many elements a row has."""
        total: Any = 1
        for d in self.dims:
            total = total * self.data.shape[d]
        return arith.cast(Analyzer().simplify(arith.cast(total, "int64")), self.kind)

    def sums(self, name: str, element: Any) -> te.Tensor:
        """The sum over each row of `element(indices)`."""

        def total(*indices: Any) -> Any:
            axes = {d: te.reduce_axis((0, self.data.shape[d]), f"k{d}") for d in self.dims}
            at = dict(zip(self.kept, indices))
            places = [axes[d].var if d in axes else at[d] for d in range(self.data.ndim)]
            return terms.total(element(places), list(axes.values()))

        return self.rows(name, total, "comm_reduce")

    def rows(self, name: str, element: Any, tag: str = "injective") -> te.Tensor:
        """A value for each row."""
        shape = [self.data.shape[d] for d in self.kept]
        return _compute(shape, element, name, tag)

    def moments(self) -> tuple[te.Tensor, te.Tensor]:
        """The mean of each row, and the sum of the squares of the distances from it."""
        sums = self.sums(f"{self.name}_sum", lambda i: self.at(*i))
        mean = self.rows(f"{self.name}_mean", lambda *i: sums(*i) / self.count())

        def square(i: Any) -> Any:
            away = self.at(*i) - mean(*self.row(i))
            return away * away

        return mean, self.sums(f"{self.name}_var_sum", square)

    def normal(self, mean: te.Tensor, squares: te.Tensor, epsilon: float, indices: Sequence[Any]) -> Any:
        """An element less its row's mean, over the deviation."""
        row = self.row(indices)
        inverse = te.rsqrt(squares(*row) / self.count() + const(epsilon, self.kind))
        return (self.at(*indices) - mean(*row)) * inverse


def _compute(shape: Sequence[Any], element: Any, name: str, tag: str = "injective") -> te.Tensor:
    made: te.Tensor = te.compute(
        shape, element, name, tag, varargs_names=[f"ax{k}" for k in range(len(shape))]
    )
    return made


def _scaled(value: Any, gamma: te.Tensor | None, beta: te.Tensor | None, places: Sequence[Any]) -> Any:
    """The value times gamma plus beta, those that are there."""
    if gamma is not None:
        value = value * arith.cast(gamma(*places), value.dtype)
    return value if beta is None else value + arith.cast(beta(*places), value.dtype)


def _normalized(
    data: te.Tensor,
    gamma: te.Tensor | None,
    beta: te.Tensor | None,
    over: Sequence[int],
    along: Sequence[int],
    epsilon: float,
    name: str,
) -> te.Tensor:
    """Data normalised over dimensions, then scaled and moved by parameters along dimensions."""
    rows = _Rows(data, over)
    mean, squares = rows.moments()

    def element(*indices: Any) -> Any:
        value = rows.normal(mean, squares, epsilon, indices)
        return arith.cast(_scaled(value, gamma, beta, [indices[d] for d in along]), data.dtype)

    return _compute(data.shape, element, name)


def _standard(x: Any, axes: tuple[int, ...], epsilon: float) -> Any:
    """Numpy: float64 data less its mean, over its deviation along the axes."""
    import numpy as np

    x = x.astype(np.float64)
    mean = x.mean(axis=axes, keepdims=True)
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(axis=axes, keepdims=True) + epsilon)


def _moved(y: Any, gamma: Any, beta: Any, along: Sequence[int], center: bool, scale: bool) -> Any:
    """Numpy: times gamma plus beta, whose dimensions are those of the data in `along`."""
    shape = [n if d in along else 1 for d, n in enumerate(y.shape)]
    order = sorted(range(len(along)), key=lambda k: along[k])
    if scale:
        y = y * gamma.transpose(order).reshape(shape)
    return y + beta.transpose(order).reshape(shape) if center else y


def _layer_norm_te(
    data: te.Tensor,
    gamma: te.Tensor,
    beta: te.Tensor,
    axes: Ints,
    epsilon: float,
    center: bool,
    scale: bool,
) -> te.Tensor:
    dims = [a % data.ndim for a in axes]
    given = (gamma if scale else None, beta if center else None)
    return _normalized(data, *given, dims, dims, epsilon, "T_layer_norm")


def _layer_norm_numpy(
    data: Any, gamma: Any, beta: Any, axes: Ints, epsilon: float, center: bool, scale: bool
) -> Any:
    dims = tuple([a % data.ndim for a in axes])
    return _moved(_standard(data, dims, epsilon), gamma, beta, dims, center, scale).astype(data.dtype)


@relax_op(
    "relax.nn.layer_norm",
    pattern=OpPattern.OUT_FUSIBLE,
    te=_layer_norm_te,
    numpy=_layer_norm_numpy,
    layout=along_axes("axes"),
)
def layer_norm(
    data: Tensor,
    gamma: Tensor,
    beta: Tensor,
    axes: Ints,
    epsilon: float = 1e-05,
    center: bool = True,
    scale: bool = True,
) -> Type:
    """Data less its mean over its deviation along the axes, times gamma (`scale`) plus beta (`center`).

    The deviation is the root of the variance plus `epsilon`.
    """
    op = "nn.layer_norm"
    ty = float_only(op, tensor_type(op, data, "data"), "data")
    dims = axes_of(op, axes, ty.ndim, "axes")
    return _kept(ty, _parameters(op, ty, dims, {"gamma": gamma, "beta": beta})[1])


def _rms_norm_te(data: te.Tensor, weight: te.Tensor, axes: Ints, epsilon: float) -> te.Tensor:
    rows = _Rows(data, axes)
    square = _compute(data.shape, lambda *i: rows.at(*i) * rows.at(*i), "T_multiply", "broadcast")
    squares = rows.sums("T_multiply_red", lambda i: square(*i))
    inverse = rows.rows("rsqrt", lambda *i: te.rsqrt(squares(*i) / rows.count() + const(epsilon, rows.kind)))

    def element(*indices: Any) -> Any:
        own = arith.cast(weight(*[indices[d] for d in rows.dims]), rows.kind)
        return arith.cast(inverse(*rows.row(indices)) * rows.at(*indices) * own, data.dtype)

    return _compute(data.shape, element, "T_rms_norm")


def _rms_norm_numpy(data: Any, weight: Any, axes: Ints, epsilon: float) -> Any:
    import numpy as np

    x = data.astype(np.float64)
    dims = tuple([a % data.ndim for a in axes])
    y = x / np.sqrt((x * x).mean(axis=dims, keepdims=True) + epsilon)
    return _moved(y, weight, None, dims, False, True).astype(data.dtype)


@relax_op(
    "relax.nn.rms_norm",
    pattern=OpPattern.OUT_FUSIBLE,
    te=_rms_norm_te,
    numpy=_rms_norm_numpy,
    layout=along_axes("axes"),
)
def rms_norm(data: Tensor, weight: Tensor, axes: Ints = (-1,), epsilon: float = 1e-05) -> Type:
    """Data over the root of the mean of its squares along the axes, times the weight."""
    op = "nn.rms_norm"
    ty = float_only(op, tensor_type(op, data, "data"), "data")
    dims = axes_of(op, axes, ty.ndim, "axes")
    return _kept(ty, _parameters(op, ty, dims, {"weight": weight})[1])


def _instance_norm_te(
    data: te.Tensor,
    gamma: te.Tensor,
    beta: te.Tensor,
    channel_axis: int,
    axes: Ints,
    epsilon: float,
    center: bool,
    scale: bool,
) -> te.Tensor:
    given = (gamma if scale else None, beta if center else None)
    channel = [channel_axis % data.ndim]
    return _normalized(data, *given, [a % data.ndim for a in axes], channel, epsilon, "T_instance_norm")


def _instance_norm_numpy(
    data: Any,
    gamma: Any,
    beta: Any,
    channel_axis: int,
    axes: Ints,
    epsilon: float,
    center: bool,
    scale: bool,
) -> Any:
    dims = tuple([a % data.ndim for a in axes])
    y = _standard(data, dims, epsilon)
    return _moved(y, gamma, beta, [channel_axis % data.ndim], center, scale).astype(data.dtype)


@relax_op(
    "relax.nn.instance_norm",
    pattern=OpPattern.OUT_FUSIBLE,
    te=_instance_norm_te,
    numpy=_instance_norm_numpy,
    layout=along_axes("channel_axis", "axes"),
)
def instance_norm(
    data: Tensor,
    gamma: Tensor,
    beta: Tensor,
    channel_axis: int,
    axes: Ints,
    epsilon: float = 1e-05,
    center: bool = True,
    scale: bool = True,
) -> Type:
    """Data less its mean over its deviation along the axes, times gamma plus beta of the channel."""
    return _by_channel("nn.instance_norm", data, gamma, beta, channel_axis, axes)


def _by_channel(
    op: str, data: Tensor, gamma: Tensor, beta: Tensor, channel_axis: int, axes: Ints, groups: int = 1
) -> Type:
    ty = float_only(op, tensor_type(op, data, "data"), "data")
    channel = axis_of(op, channel_axis, ty.ndim, "channel_axis")
    if groups < 1:
        shape_fault(op, f"`num_groups` must be positive, not {groups}")
    if channel in axes_of(op, axes, ty.ndim, "axes"):
        shape_fault(op, f"`axes` {list(axes)} must not have the channel axis {channel_axis}")
    if ty.sizes is not None and getattr(ty.sizes[channel], "value", 0) % groups:
        shape_fault(op, f"the {show([ty.sizes[channel]])[1:-2]} channels make no {groups} groups")
    return _kept(ty, _parameters(op, ty, [channel], {"gamma": gamma, "beta": beta})[1])


def _group_norm_te(
    data: te.Tensor,
    gamma: te.Tensor,
    beta: te.Tensor,
    num_groups: int,
    channel_axis: int,
    axes: Ints,
    epsilon: float,
    center: bool,
    scale: bool,
) -> te.Tensor:
    """Channels as groups and members, normalised over the members and the axes, and back."""
    at = channel_axis % data.ndim
    shape, members = list(data.shape), data.shape[at] // num_groups
    groups = arith.cast(num_groups, members.dtype)

    def grouped(tensor: te.Tensor, where: int) -> te.Tensor:
        wide = [*tensor.shape[:where], groups, members, *tensor.shape[where + 1 :]]

        def element(*i: Any) -> Any:
            return tensor(*i[:where], i[where] * members + i[where + 1], *i[where + 2 :])

        return _compute(wide, element, "T_reshape")

    parted = grouped(data, at)
    over = [at + 1, *[a % data.ndim + (a % data.ndim > at) for a in axes]]
    given = (grouped(gamma, 0) if scale else None, grouped(beta, 0) if center else None)
    normal = _normalized(parted, *given, sorted(over), [at, at + 1], epsilon, "T_group_norm")

    def element(*i: Any) -> Any:
        return normal(*i[:at], i[at] // members, i[at] % members, *i[at + 1 :])

    return _compute(shape, element, "T_reshape")


def _group_norm_numpy(
    data: Any,
    gamma: Any,
    beta: Any,
    num_groups: int,
    channel_axis: int,
    axes: Ints,
    epsilon: float,
    center: bool,
    scale: bool,
) -> Any:
    at = channel_axis % data.ndim
    members = data.shape[at] // num_groups
    parted = data.reshape([*data.shape[:at], num_groups, members, *data.shape[at + 1 :]])
    dims = (at + 1, *[a % data.ndim + (a % data.ndim > at) for a in axes])
    y = _standard(parted, dims, epsilon).reshape(data.shape)
    return _moved(y, gamma, beta, [at], center, scale).astype(data.dtype)


@relax_op(
    "relax.nn.group_norm",
    pattern=OpPattern.OUT_FUSIBLE,
    te=_group_norm_te,
    numpy=_group_norm_numpy,
    layout=along_axes("channel_axis", "axes"),
)
def group_norm(
    data: Tensor,
    gamma: Tensor,
    beta: Tensor,
    num_groups: int,
    channel_axis: int,
    axes: Ints,
    epsilon: float = 1e-05,
    center: bool = True,
    scale: bool = True,
) -> Type:
    """Data less its mean over its deviation along the axes and the channels of a group.

    Then times gamma plus beta of the channel.  Neighbouring channels make a group.
    """
    return _by_channel("nn.group_norm", data, gamma, beta, channel_axis, axes, num_groups)


def _batch_norm_te(
    data: te.Tensor,
    gamma: te.Tensor,
    beta: te.Tensor,
    moving_mean: te.Tensor,
    moving_var: te.Tensor,
    axis: int,
    epsilon: float,
    center: bool,
    scale: bool,
    momentum: float,
    training: bool,
) -> list[te.Tensor]:
    at = axis % data.ndim
    rows = _Rows(data, [d for d in range(data.ndim) if d != at])
    mean, var = moving_mean, moving_var
    if training:
        mean, squares = rows.moments()
        var = rows.rows(f"{rows.name}_var", lambda c: squares(c) / rows.count())

    def factor(c: Any) -> Any:
        inverse = te.rsqrt(arith.cast(var(c), rows.kind) + const(epsilon, rows.kind))
        return inverse * arith.cast(gamma(c), rows.kind) if scale else inverse

    factors = rows.rows("T_scale", factor)

    def element(*i: Any) -> Any:
        value = (rows.at(*i) - arith.cast(mean(i[at]), rows.kind)) * factors(i[at])
        return arith.cast(_scaled(value, None, beta if center else None, [i[at]]), data.dtype)

    def moved(old: te.Tensor, new: te.Tensor) -> te.Tensor:
        if not training:
            return _compute(old.shape, lambda c: old(c), "T_identity")
        keep, take = const(1 - momentum, rows.kind), const(momentum, rows.kind)
        mixed = lambda c: arith.cast(keep * arith.cast(old(c), rows.kind) + take * new(c), old.dtype)  # noqa: E731
        return _compute(old.shape, mixed, "T_add")

    out = _compute(data.shape, element, "T_batch_norm")
    return [out, moved(moving_mean, mean), moved(moving_var, var)]


def _batch_norm_numpy(
    data: Any,
    gamma: Any,
    beta: Any,
    moving_mean: Any,
    moving_var: Any,
    axis: int,
    epsilon: float,
    center: bool,
    scale: bool,
    momentum: float,
    training: bool,
) -> Any:
    import numpy as np

    at = axis % data.ndim
    others = tuple([d for d in range(data.ndim) if d != at])
    x = data.astype(np.float64)
    mean, var = (moving_mean, moving_var) if not training else (x.mean(axis=others), x.var(axis=others))
    shape = [n if d == at else 1 for d, n in enumerate(x.shape)]
    y = (x - mean.reshape(shape)) / np.sqrt(var.reshape(shape).astype(np.float64) + epsilon)
    y = _moved(y, gamma, beta, [at], center, scale).astype(data.dtype)
    if not training:
        return y, moving_mean, moving_var
    new = [(1 - momentum) * old + momentum * now for old, now in ((moving_mean, mean), (moving_var, var))]
    return y, *[n.astype(moving_mean.dtype) for n in new]


def _batch_norm_legalize(bb: Any, call: Call) -> Expr:
    """A scale and a shift of each channel where the moving statistics are used, so that they fuse with what
    the channels come from; a kernel in training, and for narrow floats, which it computes in wider ones.
    """
    given = batch_norm.values(call)
    data, ty = given["data"], given["data"].ty
    if given["training"] or ty.dtype.bits < 32:
        return bb.call_kernel(call)
    factor: Expr = get_op("relax.rsqrt")(
        _binary("add", given["moving_var"], tensor_constant(given["epsilon"], ty.dtype))
    )
    if given["scale"]:
        factor = _binary("multiply", factor, given["gamma"])
    factor = bb.emit(factor)
    shift: Expr = get_op("relax.negative")(_binary("multiply", given["moving_mean"], factor))
    if given["center"]:
        shift = _binary("add", given["beta"], shift)
    behind = list(range(1, ty.ndim - given["axis"] % ty.ndim))
    if behind:
        factor, shift = (get_op("relax.expand_dims")(bb.emit(part), axis=behind) for part in (factor, shift))
    out = _binary("add", _binary("multiply", data, factor), shift)
    return Tuple([bb.emit(out), given["moving_mean"], given["moving_var"]])


def _binary(name: str, a: Expr, b: Expr) -> Expr:
    return get_op(f"relax.{name}")(a, b)


@relax_op(
    "relax.nn.batch_norm",
    pattern=OpPattern.OUT_FUSIBLE,
    legalize=_batch_norm_legalize,
    te=_batch_norm_te,
    numpy=_batch_norm_numpy,
    layout=along_axes("axis", results=3),
)
def batch_norm(
    data: Tensor,
    gamma: Tensor,
    beta: Tensor,
    moving_mean: Tensor,
    moving_var: Tensor,
    axis: int,
    epsilon: float = 1e-05,
    center: bool = True,
    scale: bool = True,
    momentum: float = 0.1,
    training: bool = True,
) -> Type:
    """Each channel less its mean over its deviation, times gamma plus beta; with new moving statistics.

    In training mean and variance are those of the batch, and a share `momentum` of them goes into the
    moving ones; otherwise the moving ones are used, and handed back.
    """
    op = "nn.batch_norm"
    ty = float_only(op, tensor_type(op, data, "data"), "data")
    at = axis_of(op, axis, ty.ndim)
    given = {"gamma": gamma, "beta": beta, "moving_mean": moving_mean, "moving_var": moving_var}
    types, fits = _parameters(op, ty, [at], given)
    if ty.sizes is not None and not fits:
        return TupleType([like(ty, ndim=ty.ndim), like(ty, ndim=1), like(ty, ndim=1)])
    return TupleType([same_type(ty), same_type(types["moving_mean"]), same_type(types["moving_var"])])


def _dropout_te(data: te.Tensor, rate: float) -> list[te.Tensor]:
    same = _compute(data.shape, lambda *i: data(*i), "T_identity")
    return [same, _compute(data.shape, lambda *i: const(1, data.dtype), "T_ones")]


def _dropout_numpy(data: Any, rate: float) -> Any:
    import numpy as np

    return data.copy(), np.ones_like(data)


@relax_op("relax.nn.dropout", pattern=OpPattern.OPAQUE, te=_dropout_te, numpy=_dropout_numpy, layout=twice)
def dropout(data: Tensor, rate: float = 0.5) -> Type:
    """The data and a mask of ones: programs that run do not drop; training code replaces it.

    `rate` says how many elements training drops.
    """
    ty = tensor_type("nn.dropout", data, "data")
    return TupleType([same_type(ty), same_type(ty)])


__all__ = [
    "batch_norm",
    "dropout",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "rms_norm",
]
