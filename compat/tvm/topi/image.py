"""`tvm.topi.image`: pictures in another size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....errors import Diagnostic, UnsupportedError
from ....ir import as_expr, const
from ....ir import operators as op
from ....te import Tensor, compute
from ..tirx.op import find_operator
from .missing import missing

_ROUNDING = ("", "round", "floor", "ceil")
_MODES = ("asymmetric", "align_corners", "half_pixel")


def _unsupported(what: str, given: Any) -> UnsupportedError:
    return UnsupportedError(Diagnostic("unsupported", f"resize2d with {what} {given!r}"))


def _source(at: Any, old: Any, new: Any, mode: str) -> Any:
    """Where the centre of a new pixel lies in the old picture, as float32."""
    place = op.cast(at, "float32")
    if mode == "align_corners":
        return op.mul(op.div(op.cast(op.sub(old, 1), "float32"), op.cast(op.sub(new, 1), "float32")), place)
    scale = op.div(op.cast(old, "float32"), op.cast(new, "float32"))
    if mode == "asymmetric":
        return op.mul(scale, place)
    half = const(0.5, "float32")
    return op.sub(op.mul(scale, op.add(place, half)), half)


def resize2d(
    data: Tensor,
    roi: Sequence[float],
    size: Sequence[Any],
    layout: str = "NCHW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "",
    bicubic_alpha: float = -0.5,
    bicubic_exclude: int = 0,
    extrapolation_value: float = 0.0,
    out_dtype: Any = None,
    output_shape: Any = None,
) -> Any:
    """Pictures of another height and width: the nearest pixel, or a mean of four.

    Raises UnsupportedError for other methods, layouts with split axes and other ways to map coordinates.
    """
    if layout not in ("NCHW", "NHWC", "HWCN"):
        raise _unsupported("the layout", layout)
    if coordinate_transformation_mode not in _MODES:
        raise _unsupported("the coordinates", coordinate_transformation_mode)
    if method not in ("nearest_neighbor", "linear"):
        raise _unsupported("the method", method)
    if rounding_method not in _ROUNDING:
        raise _unsupported("the rounding", rounding_method)
    dims = [layout.index("H"), layout.index("W")]
    wanted = {d: as_expr(n) for d, n in zip(dims, size)}
    dtype = data.dtype if out_dtype is None else out_dtype
    rounding = rounding_method or ("floor" if coordinate_transformation_mode == "asymmetric" else "round")

    def element(*indices: Any) -> Any:
        places = {
            d: _source(indices[d], data.shape[d], n, coordinate_transformation_mode)
            for d, n in wanted.items()
        }
        if method == "nearest_neighbor":
            return op.cast(_nearest(data, indices, places, rounding), dtype)
        return op.cast(_mean(data, indices, places), dtype)

    return compute([wanted.get(d, n) for d, n in enumerate(data.shape)], element, "resize", "injective")


def _rounded(rounding: str, place: Any, dtype: Any) -> Any:
    function = find_operator(rounding)
    assert function is not None
    return op.cast(function(place), dtype)


def _inside(data: Tensor, at: Any, d: int) -> Any:
    return op.max_(op.min_(at, op.sub(data.shape[d], 1)), 0)


def _nearest(data: Tensor, indices: Sequence[Any], places: Mapping[int, Any], rounding: str) -> Any:
    """The pixel whose indices the places round to."""
    at = {d: _inside(data, _rounded(rounding, p, indices[d].dtype), d) for d, p in places.items()}
    return data(*[at.get(d, i) for d, i in enumerate(indices)])


def _mean(data: Tensor, indices: Sequence[Any], places: Mapping[int, Any]) -> Any:
    """The mean of the four pixels around, each by how near it is."""
    one = const(1.0, "float32")
    corners: list[tuple[Any, list[Any]]] = [(one, list(indices))]
    for d, p in places.items():
        low = _rounded("floor", p, indices[d].dtype)
        part = op.sub(p, op.cast(low, "float32"))
        both = ((low, op.sub(one, part)), (op.add(low, 1), part))
        corners = [
            (op.mul(weight, share), [_inside(data, at, d) if k == d else i for k, i in enumerate(where)])
            for weight, where in corners
            for at, share in both
        ]
    total: Any = None
    for weight, where in corners:
        term = op.mul(weight, op.cast(data(*where), "float32"))
        total = term if total is None else op.add(total, term)
    return total


__getattr__ = missing("topi.image")

__all__ = ["resize2d"]
