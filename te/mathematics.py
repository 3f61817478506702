"""Functions of values: those of the operator registry by name, and those of arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ..ir import operators as op
from ..ir import script_record
from .faults import type_fault
from .tensor import Tensor, TensorSlice

_RECORDS: Final = (
    "acos acosh asin asinh atan atanh ceil cos cosh erf exp floor fmod isnan log log10 log2 nearbyint "
    "popcount round rsqrt sigmoid sin sinh sqrt tan tanh trunc"
).split()
"""Operators taken from the registry as they are."""


def _by_name(name: str) -> Callable[..., Any]:
    def function(*args: Any, span: Any = None) -> Any:
        for arg in args:
            if isinstance(arg, Tensor | TensorSlice):
                raise type_fault(
                    f"`{name}` takes a value, not the tensor {arg!r}",
                    help=(f"te.compute(shape, lambda *i: te.{name}(A(*i)))",),
                )
        record = script_record(name)
        if record is None:
            raise AttributeError(f"the registry has no operator `{name}`")
        return record.build(*args)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The operator `{name}` of the loop language."
    return function


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    **{name: _by_name(name) for name in _RECORDS},
    "abs": op.absolute,
    "all": op.all_,
    "any": op.any_,
    "div": op.div,
    "floordiv": op.floordiv,
    "floormod": op.floormod,
    "if_then_else": op.if_then_else,
    "indexdiv": op.floordiv,
    "indexmod": op.floormod,
    "power": op.power,
    "select": op.select,
    "truncdiv": op.truncdiv,
    "truncmod": op.truncmod,
}
