"""Arithmetic on plain Python values in a script, within bounds.

Text is never executed, and no text may make the reader slow: results are limited in bits, texts
and sequences in length.  Whatever would leave the bounds raises OverflowLimit before it is computed.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from ..dtype import DType
from ..errors import Diagnostic, LoopwrightError, noun, suggest

MAX_BITS = 4096
MAX_LENGTH = 100_000
MAX_ITEMS = 1_000_000
MAX_MACRO_DEPTH = 64


class StaticError(LoopwrightError, ValueError):
    """A constant expression of a script has no value, or one beyond the bounds."""

    default_code = "static-value"


def limit(what: str) -> StaticError:
    """The error for a value beyond the bounds."""
    return StaticError(Diagnostic("static-limit", f"this constant expression is too large: {what}"))


def _bits(value: Any) -> int:
    return value.bit_length() if isinstance(value, int) else 64


def static_binary(op: str, a: Any, b: Any) -> Any:
    """`a op b` of two Python values. Raises StaticError beyond the bounds or where it has no meaning."""
    function = _BINARY.get(op)
    if function is None:
        raise StaticError(Diagnostic("unsupported-operator", f"the language has no operator `{op}`"))
    if isinstance(a, int | float) and isinstance(b, int | float):
        _check_number(op, a, b)
    elif not _combines(op, a, b):
        raise StaticError(Diagnostic("type-mismatch", f"`{op}` cannot combine {noun(a)} and {noun(b)}"))
    try:
        return function(a, b)
    except ZeroDivisionError as err:
        raise StaticError(Diagnostic("division", "division by zero in a constant expression")) from err
    except TypeError as err:
        message = f"`{op}` cannot combine {noun(a)} and {noun(b)}"
        raise StaticError(Diagnostic("type-mismatch", message)) from err
    except (ArithmeticError, ValueError) as err:
        raise StaticError(Diagnostic("static-value", f"`{op}` on constants: {err}")) from err


def _check_number(op: str, a: Any, b: Any) -> None:
    if op == "**" and isinstance(a, int) and isinstance(b, int) and b > 0:
        if _bits(a) * b > MAX_BITS and abs(a) > 1:
            raise limit(f"the power has more than {MAX_BITS} bits")
    elif op == "<<" and isinstance(b, int) and _bits(a) + max(b, 0) > MAX_BITS:
        raise limit(f"the shift gives more than {MAX_BITS} bits")
    elif op == "*" and _bits(a) + _bits(b) > 2 * MAX_BITS:
        raise limit(f"the product has more than {MAX_BITS} bits")


_KNOWN = (int, float, complex, str, bytes, tuple, list, dict, type(None))


def _combines(op: str, a: Any, b: Any) -> bool:
    if isinstance(a, str | tuple | list) and isinstance(b, int) and op == "*":
        _check_length(len(a) * max(b, 0))
        return True
    if isinstance(b, str | tuple | list) and isinstance(a, int) and op == "*":
        _check_length(len(b) * max(a, 0))
        return True
    if op == "+" and type(a) is type(b) and isinstance(a, str | tuple | list):
        _check_length(len(a) + len(b))
        return True
    if op == "|" and isinstance(a, dict) and isinstance(b, dict):
        return True
    return not isinstance(a, _KNOWN) or not isinstance(b, _KNOWN)


def _check_length(length: int) -> None:
    if length > MAX_LENGTH:
        raise limit(f"the sequence has more than {MAX_LENGTH} items")


def static_compare(op: str, a: Any, b: Any) -> bool:
    """`a op b` of two Python values."""
    function = _COMPARE[op]
    try:
        return bool(function(a, b))
    except TypeError as err:
        raise StaticError(Diagnostic("type-mismatch", f"`{op}` on constants: {err}")) from err


def static_unary(op: str, value: Any) -> Any:
    """`op value` of a Python value."""
    try:
        return _UNARY[op](value)
    except TypeError as err:
        raise StaticError(Diagnostic("type-mismatch", f"`{op}` on a {type(value).__name__}: {err}")) from err


_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "@": operator.matmul,
}
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "is": operator.is_,
    "is not": operator.is_not,
    "in": lambda a, b: a in b,
    "not in": lambda a, b: a not in b,
}
_UNARY: dict[str, Callable[[Any], Any]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
    "not": operator.not_,
}


def _sequence(values: Any) -> list[Any]:
    if isinstance(values, range) or hasattr(values, "__len__"):
        _check_length(len(values))
    out = []
    for value in values:
        out.append(value)
        _check_length(len(out))
    return out


def _sum(values: Any, start: Any = 0) -> Any:
    from .arith import binary

    items = _sequence(values)
    if items and isinstance(start, int) and start == 0:
        start = items.pop(0)
    for value in items:
        start = binary("+", start, value)
    return start


def _extreme(name: str, pick: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def run(*values: Any) -> Any:
        items = _sequence(values[0]) if len(values) == 1 else list(values)
        if not items:
            raise StaticError(Diagnostic("static-value", f"`{name}` of nothing"))
        best = items[0]
        for item in items[1:]:
            best = pick(best, item)
        return best

    return run


def _smaller(a: Any, b: Any) -> Any:
    from ..ir import Expr
    from ..ir.operators import min_

    return min_(a, b, None, "constants") if isinstance(a, Expr) or isinstance(b, Expr) else min(a, b)


def _larger(a: Any, b: Any) -> Any:
    from ..ir import Expr
    from ..ir.operators import max_

    return max_(a, b, None, "constants") if isinstance(a, Expr) or isinstance(b, Expr) else max(a, b)


def _int(value: Any = 0) -> int:
    if isinstance(value, str):
        _check_length(len(value) * 100)
    number = int(value)
    if number.bit_length() > MAX_BITS:
        raise limit(f"the integer has more than {MAX_BITS} bits")
    return number


def _text(value: Any = "") -> str:
    if isinstance(value, str | int | float | bool | DType):
        return str(value)
    raise StaticError(Diagnostic("static-value", f"a {type(value).__name__} has no text in a script"))


def _log2(value: Any) -> float:
    return math.log2(value)


TEXT_BUILTINS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "all": lambda values: all(_sequence(values)),
    "any": lambda values: any(_sequence(values)),
    "bool": bool,
    "dict": dict,
    "divmod": lambda a, b: (static_binary("//", a, b), static_binary("%", a, b)),
    "enumerate": lambda values, start=0: list(enumerate(_sequence(values), start)),
    "float": float,
    "int": _int,
    "len": len,
    "list": lambda values=(): _sequence(values),
    "max": _extreme("max", _larger),
    "min": _extreme("min", _smaller),
    "reversed": lambda values: _sequence(values)[::-1],
    "round": round,
    "sorted": lambda values: sorted(_sequence(values)),
    "str": _text,
    "sum": _sum,
    "tuple": lambda values=(): tuple(_sequence(values)),
    "zip": lambda *values: list(zip(*[_sequence(v) for v in values])),
}
"""What the names of Python's own functions mean in text, each with its results bounded."""

_METHODS: dict[type, frozenset[str]] = {
    str: frozenset({"endswith", "lower", "replace", "split", "startswith", "strip", "upper"}),
    tuple: frozenset({"count", "index"}),
    list: frozenset({"count", "index"}),
    dict: frozenset({"get", "items", "keys", "values"}),
    range: frozenset(),
    DType: frozenset(
        {"bits", "lanes", "itemsize", "element", "is_float", "is_int", "is_uint", "is_bool", "with_lanes"}
    ),
}


def static_attribute(value: Any, name: str) -> Any:
    """The attribute of a plain Python value that text may use. Raises StaticError for all others."""
    allowed = _METHODS.get(type(value), frozenset())
    if name in allowed:
        return getattr(value, name)
    raise StaticError(
        Diagnostic(
            "unknown-attribute",
            f"a {type(value).__name__} has no `{name}` in a script",
            help=suggest(name, allowed),
        )
    )
