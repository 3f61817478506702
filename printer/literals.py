"""Constants as text: integers, floats and strings, exact to the last bit."""

from __future__ import annotations

import math

from ..dtype import DType
from ..grammar.tree import CallExpr, Constant, SExpr, UnaryExpr
from ..ir import FloatImm, IntImm, StringImm
from .core import Printer, shows, string


def integer(value: int) -> SExpr:
    """A Python integer; a negative one is a minus and a number, as it is read."""
    return UnaryExpr("-", Constant(-value)) if value < 0 else Constant(value)


def real(value: float, exact_digits: bool = False) -> SExpr:
    """A finite float; `exact_digits` asks for seventeen digits instead of the shortest spelling."""
    if math.copysign(1.0, value) < 0:
        return UnaryExpr("-", real(-value, exact_digits))
    if exact_digits:
        return Constant(value, seventeen_digits(value))
    return Constant(value)


def seventeen_digits(value: float) -> str:
    """The spelling of the reference implementation: up to 17 significant digits."""
    text = f"{value:.17g}"
    if "e" in text and value >= 1.0:
        text = f"{value:.1f}"
    return text if any(c in text for c in ".e") else text + ".0"


def special(value: float) -> SExpr | None:
    """The string that stands for an infinity or NaN, or None for a finite value."""
    if math.isfinite(value):
        return None
    if math.isnan(value):
        return string("nan")
    return string("inf" if value > 0 else "-inf")


def dtype_name(dtype: DType) -> str:
    """How the constructor of a dtype is called."""
    return str(dtype)


@shows(IntImm)
def _show_int(p: Printer, e: IntImm) -> SExpr:
    dtype = e.dtype
    if dtype.is_bool:
        return CallExpr(p.T("bool"), (Constant(bool(e.value)),))
    value = integer(e.value)
    if dtype == p.options.int_dtype and p.graph is None:  # a bare number in a graph is int64
        return value
    return CallExpr(p.T(str(dtype)), (value,))


@shows(FloatImm)
def _show_float(p: Printer, e: FloatImm) -> SExpr:
    value = special(e.value)
    if value is None:
        value = real(e.value, p.options.header == "tvm")
        if e.dtype == p.options.float_dtype:
            return value
    return CallExpr(p.T(str(e.dtype)), (value,))


@shows(StringImm)
def _show_string(p: Printer, e: StringImm) -> SExpr:
    return string(e.value)
