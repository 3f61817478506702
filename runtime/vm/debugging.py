"""Functions that models call to show values while they run."""

from __future__ import annotations

from typing import Any

from ..registry import get_global_func
from .builtins import builtin
from .values import give_out


@builtin("invoke_debug_func")
def invoke_debug_func(io: Any, name: str, place: str, *values: Any) -> Any:
    """Call the registered function with the place in the model and the values; what orders such calls."""
    get_global_func(name)(place, *[give_out(v) for v in values])
    return io


@builtin("debug_print")
def debug_print(place: str, value: Any) -> None:
    """Print a value with the place in the model."""
    print(f"{place}: {value}")


__all__ = ["debug_print", "invoke_debug_func"]
