"""Elementary functions as polynomials, for any number of lanes: none is left to a library.

Functions of float64 and the less frequent ones of float32 are computed in float64 (`math_exp`,
`math_trig`, `math_power`), the frequent ones of float32 in float32 (`math_single`); smaller formats
go through float32.  `ERRORS` states how far results are from the exact ones.  Zeros, infinities,
NaN, overflow, underflow and subnormal numbers are treated as IEEE arithmetic and C do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from . import math_exp, math_power, math_single, math_trig
from .machine import Machine
from .real import Real
from .text import Unit
from .types import vector

Builder = Callable[..., str]


class Errors(NamedTuple):
    """The largest errors in units of the last place: float32, float32 in the mode `fast`, float64."""

    single: float
    fast: float
    double: float


ERRORS: dict[str, Errors] = {
    "exp": Errors(1.1, 1.1, 1.0),
    "exp2": Errors(1.1, 1.1, 1.0),
    "exp10": Errors(0.51, 0.51, 1.5),
    "log": Errors(1.1, 1.1, 1.0),
    "log2": Errors(1.5, 1.5, 1.0),
    "log10": Errors(1.5, 1.5, 1.0),
    "log1p": Errors(0.51, 0.51, 1.0),
    "sin": Errors(0.51, 0.51, 1.0),
    "cos": Errors(0.51, 0.51, 1.0),
    "tan": Errors(0.51, 0.51, 1.5),
    "asin": Errors(0.51, 0.51, 1.5),
    "acos": Errors(0.51, 0.51, 1.5),
    "atan": Errors(0.51, 0.51, 1.5),
    "atan2": Errors(0.51, 0.51, 1.5),
    "sinh": Errors(0.51, 0.51, 2.0),
    "cosh": Errors(0.51, 0.51, 1.5),
    "tanh": Errors(1.5, 6.0, 1.5),
    "asinh": Errors(0.51, 0.51, 1.5),
    "acosh": Errors(0.51, 0.51, 1.5),
    "atanh": Errors(0.51, 0.51, 1.5),
    "erf": Errors(1.5, 5.0, 1.5),
    "sigmoid": Errors(2.0, 2.0, 1.5),
    "pow": Errors(0.6, 0.6, 1.1),
    "hypot": Errors(0.51, 0.51, 1.0),
    "sqrt": Errors(0.5, 0.5, 0.5),
    "rsqrt": Errors(1.5, 1.5, 1.5),
}

SINGLE: dict[str, Builder] = {
    name: getattr(math_single, name)
    for name in ("exp", "exp2", "log", "log2", "log10", "tanh", "erf", "sigmoid")
}
FAST: dict[str, Builder] = {
    "tanh": math_single.tanh_fast,
    "erf": math_single.erf_fast,
}
WIDE: dict[str, Builder] = {
    **{
        name: getattr(math_exp, name)
        for name in ("exp", "exp2", "exp10", "log", "log2", "log10", "log1p", "sinh", "cosh", "tanh")
    },
    **{name: getattr(math_exp, name) for name in ("asinh", "acosh", "atanh", "sigmoid", "erf")},
    **{name: getattr(math_trig, name) for name in ("asin", "acos", "atan", "atan2")},
    "pow": math_power.pow,
    "hypot": math_power.hypot,
}
TURNING: dict[str, Callable[[Real, Unit, str], str]] = {
    "sin": math_trig.sin,
    "cos": math_trig.cos,
    "tan": math_trig.tan,
}
"""Functions with a rare way for large arguments, which is no straight line."""

KNOWN = frozenset({*SINGLE, *WIDE, *TURNING})
TWO = frozenset({"pow", "atan2", "hypot"})


def function(unit: Unit, machine: Machine, name: str, double: bool, lanes: int) -> tuple[str, str]:
    """The unit's function for this one of KNOWN, and attributes for calls of it."""
    symbol = _symbol(name, double, lanes)
    if symbol not in unit.helpers:
        unit.helper(symbol, _text(unit, machine, name, symbol, double, lanes))
        if name in TURNING and lanes == 1:
            for width in _widths(machine, double):
                function(unit, machine, name, double, width)
                unit.keep(_symbol(name, double, width))
    if name not in TURNING or lanes > 1:
        return f"@{symbol}", ""
    # LLVM's loops over single calls become vectors through these names.
    variants = [f"_ZGV_LLVM_N{n}v_{symbol}({_symbol(name, double, n)})" for n in _widths(machine, double)]
    return f"@{symbol}", f' nounwind memory(none) "vector-function-abi-variant"="{",".join(variants)}"'


def _symbol(name: str, double: bool, lanes: int) -> str:
    return f"lw.{name}.f{64 if double else 32}" + (f".x{lanes}" if lanes > 1 else "")


def _widths(machine: Machine, double: bool) -> tuple[int, ...]:
    """The lanes of vectors that LLVM's loops may have on this machine."""
    most = machine.vector_bits // (64 if double else 32)
    return tuple([n for n in (2, 4, 8, 16) if most // 2 <= n <= most])


def _text(unit: Unit, machine: Machine, name: str, symbol: str, double: bool, lanes: int) -> str:
    native = not double and name in SINGLE
    s = Real(lanes, 32 if native else 64, short=not double, fma=machine.fma)
    outer = vector("double" if double else "float", lanes)
    params = ["%x", "%y"] if name in TWO else ["%x"]
    inner = params
    if not native and not double:
        inner = [s.op(f"fpext {outer} {p} to {s.F}") for p in params]
    if name in TURNING:
        out = TURNING[name](s, unit, *inner)
    else:
        chosen = FAST.get(name) if native and machine.fast else None
        out = (chosen or (SINGLE if native else WIDE)[name])(s, *inner)
    if s.F != outer:
        out = s.op(f"fptrunc {s.F} {out} to {outer}")
    for called, signature in sorted(s.called):
        unit.declare(called, signature)
    inlined = "noinline memory(none)" if name in TURNING and lanes == 1 else "alwaysinline"
    if name in TURNING and lanes > 1:
        inlined = "memory(none)"
    body = "\n".join(s.lines)
    given = ", ".join([f"{outer} {p}" for p in params])
    head = f"define internal {outer} @{symbol}({given}) {inlined} nounwind"
    return f"{head} {{\nstart:\n{body}\n  ret {outer} {out}\n}}"
