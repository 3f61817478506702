"""Shapes, strides and offsets as arguments: numbers, expressions, and texts that name symbols."""

from __future__ import annotations

from typing import Any

from ..errors import Diagnostic, DTypeError
from ..ir import INT32, INT64, Expr, IterVar, Var
from .faults import Fault, describe
from .values import MISSING, Symbol, active_builder


def dimensions(shape: Any) -> tuple[Any, ...]:
    """The entries of a shape: a number alone counts as one entry."""
    if isinstance(shape, str) or isinstance(shape, Expr) or not hasattr(shape, "__iter__"):
        shape = (shape,)
    return tuple([dimension(s) for s in shape])


def offset(value: Any) -> Any:
    """An element offset; the constant 0 is the same as none."""
    if value is None or type(value) is int and value == 0:
        return None
    made = dimension(value)
    return made


def dimension(value: Any) -> Any:
    """One entry as a number or expression. Raises DTypeError."""
    if isinstance(value, str):
        return symbol_expression(value)
    if isinstance(value, Symbol):
        builder = active_builder()
        return Var(value.name, INT64) if builder is None else builder.symbol(value.name, INT64)
    if type(value).__name__ == "TypeVar":
        return Var(value.__name__, INT64)
    if isinstance(value, IterVar):
        return value.var
    if isinstance(value, bool) or not isinstance(value, Expr | int):
        if hasattr(value, "__index__") and not isinstance(value, bool):
            return value.__index__()
        raise DTypeError(
            Diagnostic("type-mismatch", f"{describe(value)} is no size", help=("sizes are integers",))
        )
    if isinstance(value, int) and value < 0:
        return value
    return value


def symbol_expression(text: str) -> Any:
    """The expression that a text in a shape spells; unknown names define int32 symbols."""
    builder = active_builder()
    if text.isidentifier():
        if builder is None:
            return Var(text, INT32)
        found = builder.names.get(text, MISSING)
        if isinstance(found, Expr):
            return found
        outer = builder.outer.find(text) if found is MISSING else MISSING
        if isinstance(outer, Symbol):
            return builder.symbol(outer.name, INT64)
        return builder.size_symbol(text)
    return _compound(text)


def _compound(text: str) -> Any:
    from ..grammar import read
    from .expr import evaluate

    builder = active_builder()
    if len(text) > 1_000_000:
        raise DTypeError(Diagnostic("static-limit", "this size is too long"))
    reading = read(text.strip(), start="expression", filename="<size>")
    bad = next((d for d in reading.diagnostics if d.severity == "error"), None)
    if bad is not None or not reading.tree.body:
        raise DTypeError(Diagnostic("syntax", f"the size {text!r} is no expression"))
    node: Any = reading.tree.body[-1]
    if builder is None:
        from .entry import detached_builder

        builder = detached_builder()
    for name in _names(node.value):
        known = builder.names.get(name, MISSING)
        if known is MISSING and name not in builder.symbols and builder.outer.find(name) is MISSING:
            builder.size_symbol(name)
    before = builder.names
    builder.names = {**builder.symbols, **builder.local_symbols, **before}
    try:
        return evaluate(builder, node.value)
    except Fault as err:
        found = err.diagnostic
        raise DTypeError(
            Diagnostic(found.code, f"in the size {text!r}: {found.message}", help=found.help)
        ) from None
    finally:
        builder.names = before


def _names(node: Any) -> list[str]:
    from ..grammar import tree as S

    out, pending = [], [node]
    while pending:
        one = pending.pop()
        if isinstance(one, S.Name):
            out.append(one.id)
        for field in type(one).fields:
            value = getattr(one, field)
            for item in value if isinstance(value, tuple) else (value,):
                if isinstance(item, S.Surface):
                    pending.append(item)
    return out
