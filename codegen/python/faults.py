"""The errors that a running program raises, at the place of the node that caused them."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from ...errors import (
    ArgumentValueError,
    Diagnostic,
    DivisionError,
    ExecutionError,
    IntegerOverflowError,
    LoopwrightError,
    OutOfBoundsError,
    Span,
    UninitializedError,
    UnsupportedError,
)
from ...ir import BufferType, Var
from ...ir.visitor import walk

if TYPE_CHECKING:
    from ...dtype import DType
    from .memory import View
    from .scope import Scope

Values = list[Any]
_SHOWN_VARIABLES = 6


def source_of(span: Span | None) -> str | None:
    """The text of the file that a span points into, where Python can find it."""
    if span is None:
        return None
    return "".join(linecache.getlines(span.file)) or None


def describe(
    code: str,
    message: str,
    node: Any,
    scope: Scope | None = None,
    env: Values | None = None,
    notes: Sequence[str] = (),
    help: Sequence[str] = (),
) -> Diagnostic:
    """A diagnostic at a node, with the values of the variables in it."""
    values = () if scope is None or env is None else _variables(node, scope, env)
    span = getattr(node, "span", None)
    source = source_of(span)
    related: tuple[tuple[Span, str], ...] = ()
    if source is None and scope is not None:
        place, source = _printed(node, scope)
        if place is not None:
            related = ((span, "where it stands"),) if span is not None else ()
            span = place
    notes = (*values, *notes)
    return Diagnostic(code, message, span, notes=notes, help=tuple(help), related=related, source=source)


def _printed(node: Any, scope: Scope) -> tuple[Span | None, str | None]:
    """The node's place in the printed function, for programs that have no text of their own."""
    from ...printer import show

    try:
        shown = show(scope.func)
        places = shown.places(node)
    except Exception:  # a program that cannot be printed must not hide what went wrong in it
        return None, None
    return (shown.span(*places[0]), str(shown)) if places else (None, None)


def _variables(node: Any, scope: Scope, env: Values) -> tuple[str, ...]:
    shown: dict[str, str] = {}
    for part in walk(node):
        if isinstance(part, Var) and not isinstance(part.ty, BufferType):
            value = scope.value_of(part, env)
            if isinstance(value, int | float) and len(shown) < _SHOWN_VARIABLES:
                shown[part.name] = f"{part.name} = {value}"
    return (f"here {', '.join(shown.values())}",) if shown else ()


def out_of_bounds(scope: Scope, env: Values, node: Any, view: View, indices: Sequence[int]) -> NoReturn:
    """Raise for an access outside the buffer's shape."""
    text = ", ".join([str(i) for i in indices])
    shape = ", ".join([str(n) for n in view.shape])
    wrong = [d for d, (i, n) in enumerate(zip(indices, view.shape)) if not 0 <= i < n]
    if wrong:
        d = wrong[0]
        message = f"`{view.name}[{text}]` is outside the buffer's shape ({shape})"
        note = f"index {indices[d]} of dimension {d} is not in 0 .. {view.shape[d] - 1}"
    else:
        message = f"`{view.name}[{text}]` is outside the buffer's memory"
        note = f"the buffer of shape ({shape}) is declared over {view.storage.memory.size} bytes"
    raise OutOfBoundsError(describe("out-of-bounds", message, node, scope, env, (note,)))


def uninitialized(scope: Scope, env: Values, node: Any, view: View, cell: int) -> NoReturn:
    """Raise for reading a cell that nothing was written to."""
    place = ", ".join([str(i) for i in indices_of(view, cell)])
    message = f"`{view.name}[{place}]` is read before anything is written to it"
    raise UninitializedError(describe("uninitialized-read", message, node, scope, env))


def indices_of(view: View, cell: int) -> tuple[int, ...]:
    """The indices that lead to a cell of a buffer (of a compact one; otherwise a guess of the same kind)."""
    rest, indices = (cell - view.origin), []
    for step in view.strides:
        indices.append(rest // step if step else 0)
        rest -= indices[-1] * step
    return tuple(indices)


def read_only(scope: Scope, env: Values, node: Any, view: View) -> NoReturn:
    """Raise for a store to memory that must not be written."""
    raise ArgumentValueError(
        describe(
            "argument-readonly", f"`{view.name}` is written, but its memory is read-only", node, scope, env
        )
    )


def overflow(scope: Scope, env: Values, node: Any, dtype: DType, value: int) -> NoReturn:
    """Raise for index arithmetic that leaves its type."""
    message = f"index arithmetic gives {value}, outside the range of `{dtype}`"
    raise IntegerOverflowError(
        describe("index-overflow", message, node, scope, env, help=("use a wider integer type",))
    )


def division(scope: Scope, env: Values, node: Any, cause: DivisionError) -> NoReturn:
    """Raise a division error again, at the node."""
    message = cause.diagnostics[0].message
    raise DivisionError(describe("division", message, node, scope, env)) from None


def broken(scope: Scope | None, env: Values | None, node: Any, code: str, message: str) -> ExecutionError:
    """The error for another broken rule of the language."""
    return ExecutionError(describe(code, message, node, scope, env))


def unsupported(node: Any, message: str, help: Sequence[str] = ()) -> LoopwrightError:
    """The error for what the oracle cannot run."""
    return UnsupportedError(describe("unsupported", message, node, help=help))
