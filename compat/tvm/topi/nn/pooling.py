"""`tvm.topi.nn.pooling`: the largest or the mean element of windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .....errors import Diagnostic, UnsupportedError
from .....ops import pooling
from .....ops.layout import Layout, find_layout
from .....te import Tensor


def _layout(layout: str, kind: str, letters: str) -> Layout:
    """The layout. Raises UnsupportedError for split dimensions that are pooled, and other kinds."""
    found = find_layout(layout)
    if (
        found is None
        or any((letter, None) not in found.axes for letter in letters)
        or not all(part is None or letter not in letters for letter, part in found.axes)
    ):
        raise UnsupportedError(Diagnostic("unsupported", f"pooling in the layout {layout!r}"))
    if kind not in ("max", "avg"):
        raise UnsupportedError(Diagnostic("unsupported", f"pooling of the kind {kind!r}"))
    return found


def _sizes(value: Any, count: int) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value] * count


def _adaptive(data: Tensor, output_size: Any, kind: str, layout: str, letters: str) -> Any:
    found = _layout(layout, kind, letters)
    return pooling.adaptive_pool(data, kind, _sizes(output_size, len(letters)), found, found, letters)


def adaptive_pool(data: Tensor, output_size: Any, pool_type: str, layout: str = "NCHW") -> Any:
    """Pooling to a given height and width."""
    return _adaptive(data, output_size, pool_type, layout, "HW")


def adaptive_pool1d(data: Tensor, output_size: Any, pool_type: str, layout: str = "NCW") -> Any:
    """Pooling to a given width."""
    return _adaptive(data, output_size, pool_type, layout, "W")


def adaptive_pool3d(data: Tensor, output_size: Any, pool_type: str, layout: str = "NCDHW") -> Any:
    """Pooling to a given depth, height and width."""
    return _adaptive(data, output_size, pool_type, layout, "DHW")


def global_pool(data: Tensor, pool_type: str, layout: str = "NCHW") -> Any:
    """Pooling of the whole height and width to one element."""
    return adaptive_pool(data, [1, 1], pool_type, layout)


def _pool(
    data: Tensor,
    window: Sequence[Any],
    padding: Any,
    kind: str,
    flags: tuple[bool, bool],
    layout: str,
    letters: str,
) -> Any:
    """Windows of a given size; `padding` gives what is added before in each dimension, then what after."""
    found, count = _layout(layout, kind, letters), len(letters)
    sizes, steps, gaps = [_sizes(x, count) for x in window]
    return pooling.pool(data, kind, sizes, steps, gaps, list(padding), *flags, found, found, letters)


def pool1d(
    data: Tensor,
    kernel: Any,
    stride: Any,
    dilation: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCW",
    count_include_pad: bool = True,
) -> Any:
    """Pooling of windows of the width."""
    window = (kernel, stride, dilation)
    return _pool(data, window, padding, pool_type, (ceil_mode, count_include_pad), layout, "W")


def pool2d(
    data: Tensor,
    kernel: Any,
    stride: Any,
    dilation: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCHW",
    count_include_pad: bool = True,
) -> Any:
    """Pooling of windows of height and width; `padding` is (top, left, bottom, right)."""
    window = (kernel, stride, dilation)
    return _pool(data, window, padding, pool_type, (ceil_mode, count_include_pad), layout, "HW")


def pool3d(
    data: Tensor,
    kernel: Any,
    stride: Any,
    dilation: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCDHW",
    count_include_pad: bool = True,
) -> Any:
    """Pooling of windows of depth, height and width."""
    window = (kernel, stride, dilation)
    return _pool(data, window, padding, pool_type, (ceil_mode, count_include_pad), layout, "DHW")


__all__ = [
    "adaptive_pool",
    "adaptive_pool1d",
    "adaptive_pool3d",
    "global_pool",
    "pool1d",
    "pool2d",
    "pool3d",
]
