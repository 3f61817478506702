"""What `print` inside a kernel writes, the same from every back end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..dtype import DType
from .tensor import Tensor


def print_values(values: Iterable[tuple[Any, DType | None]]) -> None:
    """Write values on one line, each with its dtype where it is a number or a vector.

    Floats are as short as their type allows, vectors are lists, tensors and arrays print as numpy does.
    """
    print(*[_shown(value, dtype) for value, dtype in values])


def _shown(value: Any, dtype: DType | None) -> Any:
    if isinstance(value, Tensor):
        return value.numpy()
    if dtype is None:
        return value
    if isinstance(value, tuple | list):
        return f"[{', '.join([str(_shown(v, dtype.element)) for v in value])}]"
    if dtype.is_bool:
        return bool(value)
    return str(dtype.numpy().type(value)) if dtype.is_float else value
