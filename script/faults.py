"""How the builder reports: one located fault at a time, collected by the statement that it broke."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ..errors import Diagnostic, LoopwrightError, Span, noun


class Fault(Exception):
    """A finding on its way from an expression to the statement that collects it."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


class Poisoned(Exception):
    """A value is used whose own statement was already reported; nothing more need be said."""


def fault(
    code: str,
    message: str,
    span: Span | None,
    *,
    notes: Iterable[str] = (),
    help: Iterable[str] = (),
    related: Iterable[tuple[Span, str]] = (),
) -> Fault:
    """A Fault to raise."""
    return Fault(
        Diagnostic(code, message, span, notes=tuple(notes), help=tuple(help), related=tuple(related))
    )


def located(err: BaseException, span: Span | None, what: str = "") -> Exception:
    """`err` as a Fault at `span`; faults and poison come back unchanged.

    `what` names the call that failed, for exceptions that say little themselves.
    """
    if isinstance(err, Poisoned):
        return err
    if isinstance(err, Fault):
        if err.diagnostic.span is None and span is not None:
            return Fault(replace(err.diagnostic, span=span))
        return err
    if isinstance(err, LoopwrightError):
        found = err.diagnostics[0]
        place = found.span if found.span is not None else span
        return Fault(
            Diagnostic(found.code, found.message, place, "error", found.notes, found.help, found.related)
        )
    if isinstance(err, RecursionError):
        return fault("too-deep", "this program is nested too deeply", span)
    if isinstance(err, MemoryError):
        return fault("too-large", "this value is too large", span)
    text = str(err) or type(err).__name__
    if isinstance(err, KeyError):
        text = f"the key {text} does not exist"
    where = f"in {what}: " if what else ""
    return fault("invalid-argument", f"{where}{type(err).__name__}: {text}" if where else text, span)


def describe(value: Any) -> str:
    """What a value is, in a few words for messages."""
    from ..ir import AnyType, BufferType, Expr, FuncType, PrimType, TupleType, Var
    from ..ir.relax import ShapeType, TensorType
    from ..ir.text import text

    if isinstance(value, Var) and isinstance(value.ty, BufferType):
        return f"the buffer `{value.name}`"
    if isinstance(value, Expr):
        if isinstance(value.ty, PrimType):
            return f"an expression of dtype `{value.ty.dtype}`"
        if not isinstance(value.ty, TensorType | ShapeType | TupleType | FuncType | AnyType):
            return f"a {type(value).__name__} of type {type(value.ty).__name__}"
        what = f"`{value.name}`" if isinstance(value, Var) else "a value"
        return f"{what} of type `{text(value.ty)}`"
    name = getattr(value, "script_name", None)
    if isinstance(name, str):
        return f"`{name}`"
    return noun(value) if hasattr(type(value), "described") else f"a Python {type(value).__name__}"
