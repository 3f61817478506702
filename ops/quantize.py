"""Operators between floats and the small integers that stand for them."""

from __future__ import annotations

from typing import Any, Final

from .. import te
from ..dtype import DType
from ..ir import Expr, Type
from ..ir import const as scalar
from ..ir.relax import OpPattern, TensorType, relax_op, same_size
from ..ir.relax.op import Tensor
from .faults import shape_fault, type_fault
from .infer import axis_of, constant, same_type, tensor_type
from .layout_rules import along_axis

_SMALL: Final = ("int8", "uint8", "int16", "uint16", "float8_e4m3fn", "float8_e5m2")
_ZERO_POINTS: Final = ("int8", "uint8", "int16", "uint16", "int32", "float16")
_FLOATS: Final = ("float16", "float32")


ONE: Final = scalar(1, "int64")


def _one_of(op: str, name: str, dtype: DType | None, allowed: tuple[str, ...]) -> None:
    if dtype is not None and str(dtype) not in allowed:
        type_fault(op, f"`{name}` must be of {', '.join(allowed[:-1])} or {allowed[-1]}, not of `{dtype}`")


def _parameters(op: str, data: TensorType, scale: Expr, zero_point: Expr, axis: int) -> None:
    """Check scale and zero point: a number each, or one for each index along the axis."""
    along = axis_of(op, axis, data.ndim) if data.ndim else 0
    _one_of(op, "scale", tensor_type(op, scale, "scale").dtype, _FLOATS)
    _one_of(op, "zero_point", tensor_type(op, zero_point, "zero_point").dtype, _ZERO_POINTS)
    for name, value in (("scale", scale), ("zero_point", zero_point)):
        ty = tensor_type(op, value, name)
        if ty.ndim > 1:
            shape_fault(op, f"`{name}` must be one number or have 1 dimension, not {ty.ndim}")
        if ty.ndim == 1 and ty.sizes is not None and data.sizes is not None:
            own, size = ty.sizes[0], data.sizes[along] if data.ndim else ONE
            if not data.ndim and not same_size(own, size):
                shape_fault(op, f"`{name}` must be a scalar or a singleton, since the data has rank 0")
            found = constant(own), constant(size)
            if not same_size(own, size) and None not in found and found[0] != 1:
                shape_fault(
                    op, f"`{name}` has {found[0]} values, but dimension {along} of the data has {found[1]}"
                )


def _at(parameter: Any, indices: Any, axis: int) -> Expr:
    """The parameter's value for an element."""
    if not isinstance(parameter, te.Tensor):
        found: Expr = parameter
        return found
    if parameter.ndim == 0:
        return parameter()
    return parameter(scalar(0, "int64") if constant(parameter.shape[0]) == 1 else indices[axis])


def _bounds(dtype: DType) -> tuple[float, float]:
    return dtype.min_value, dtype.max_value


def _quantize(data: Any, scale: Any, zero_point: Any, axis: int, out_dtype: DType) -> Any:
    along = axis + data.ndim if axis < 0 else axis

    def value(*i: Any) -> Any:
        s = _at(scale, i, along)
        wide = DType("float32") if "float32" in (str(s.dtype), str(data.dtype)) else data.dtype
        low, high = [scalar(b, wide) for b in _bounds(out_dtype)]
        scaled = data(*i).astype(wide) / s.astype(wide)
        if not out_dtype.is_float:
            scaled = te.round(scaled)
        moved = scaled + _at(zero_point, i, along).astype(wide)
        return te.max(te.min(moved, high), low).astype(out_dtype)

    return te.compute(data.shape, value, name="quantized")


def _spread(parameter: Any, ndim: int, axis: int) -> Any:
    shape = [1] * ndim
    if parameter.ndim:
        shape[axis] = -1
    return parameter.reshape(shape)


def _quantize_numpy(data: Any, scale: Any, zero_point: Any, axis: int, out_dtype: DType) -> Any:
    import numpy as np

    s, z = [_spread(p, data.ndim, axis) for p in (scale, zero_point)]
    wide = np.result_type(data.dtype, s.dtype)
    scaled = data.astype(wide) / s.astype(wide)
    moved = (scaled if out_dtype.is_float else np.rint(scaled)) + z.astype(wide)
    low, high = [np.asarray(b, wide) for b in _bounds(out_dtype)]
    return np.clip(moved, low, high).astype(out_dtype.numpy())


@relax_op(
    "relax.quantize",
    pattern=OpPattern.BROADCAST,
    te=_quantize,
    numbers=True,
    numpy=_quantize_numpy,
    layout=along_axis,
    printed=("out_dtype", "axis"),
)
def quantize(
    data: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    axis: int = -1,
    out_dtype: DType = "int8",  # type: ignore[assignment]
) -> Type:
    """data / scale, rounded, plus `zero_point`, within the bounds of `out_dtype`.

    Scale and zero point are one number, or have one for each index along the axis.
    """
    ty = tensor_type("quantize", data, "data")
    _one_of("quantize", "data", ty.dtype, _FLOATS)
    _one_of("quantize", "out_dtype", out_dtype, _SMALL)
    _parameters("quantize", ty, scale, zero_point, axis)
    return same_type(ty, out_dtype)


def _dequantize(data: Any, scale: Any, zero_point: Any, axis: int, out_dtype: DType) -> Any:
    along = axis + data.ndim if axis < 0 else axis

    def value(*i: Any) -> Any:
        x, zero = data(*i), _at(zero_point, i, along)
        exact = "float32" if x.dtype.is_float or zero.dtype.is_float else "int32"
        found = (x.astype(exact) - zero.astype(exact)).astype("float32")
        found = found * _at(scale, i, along).astype("float32")
        if out_dtype.bits < 32:
            low, high = [scalar(b, "float32") for b in _bounds(out_dtype)]
            found = te.max(te.min(found, high), low)
        return found.astype(out_dtype)

    return te.compute(data.shape, value, name="dequantized")


def _dequantize_numpy(data: Any, scale: Any, zero_point: Any, axis: int, out_dtype: DType) -> Any:
    import numpy as np

    s, z = [_spread(p, data.ndim, axis) for p in (scale, zero_point)]
    moved = (data.astype("float64") - z.astype("float64")).astype("float32") * s.astype("float32")
    low, high = [np.asarray(b, "float32") for b in _bounds(out_dtype)]
    return np.clip(moved, low, high).astype(out_dtype.numpy())


@relax_op(
    "relax.dequantize",
    pattern=OpPattern.BROADCAST,
    te=_dequantize,
    numbers=True,
    numpy=_dequantize_numpy,
    layout=along_axis,
    printed=("out_dtype", "axis"),
)
def dequantize(
    data: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    axis: int = -1,
    out_dtype: DType = "float32",  # type: ignore[assignment]
) -> Type:
    """(data - zero_point) * scale, within the bounds of `out_dtype`; the inverse of `quantize`."""
    ty = tensor_type("dequantize", data, "data")
    _one_of("dequantize", "data", ty.dtype, (*_SMALL, "int32", *_FLOATS))
    _one_of("dequantize", "out_dtype", out_dtype, _FLOATS)
    _parameters("dequantize", ty, scale, zero_point, axis)
    return same_type(ty, out_dtype)


__all__ = ["dequantize", "quantize"]
