"""Errors of tensor expressions, and the place in the user's program that they point at."""

from __future__ import annotations

import linecache
import sys
import types
from collections.abc import Sequence
from itertools import islice

from ..errors import Diagnostic, LoopwrightError, Span, UnsupportedError

_ROOT = __name__.partition(".")[0]


class TensorExpressionError(LoopwrightError, ValueError, RuntimeError):
    """Tensors, axes or reductions are put together in a way that means nothing."""

    default_code = "tensor-expression"


class TensorTypeError(TensorExpressionError, TypeError):
    """An argument is no tensor, axis, shape, index or value of the kind that is needed."""


class UnsupportedOperation(UnsupportedError, TypeError):
    """An operation that has no loop program; the message names it."""


Place = tuple[str, int, int, int, int]
"""File, first line, first column, last line, end column of a call, as `Span` has them."""


def call_place() -> Place | None:
    """Where the innermost call from outside of this package stands, or None."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if not _is_ours(module):
            return _position(frame)
        frame = frame.f_back
    return None


def _is_ours(module: str) -> bool:
    """Whether calls in this module are not the user's: generated constructors, and ours but for tests."""
    parts = module.split(".")
    return not module or parts[0] == _ROOT and (len(parts) == 1 or parts[1] not in ("tests", "docs"))


def _position(frame: types.FrameType) -> Place:
    code, line = frame.f_code, frame.f_lineno
    found = next(islice(code.co_positions(), frame.f_lasti // 2, None), (line, line, None, None))
    first, last, start, end = found
    if first is None or last is None or start is None or end is None:
        return code.co_filename, line, 1, line, 1
    return (
        code.co_filename,
        first,
        _characters(code.co_filename, first, start) + 1,
        last,
        _characters(code.co_filename, last, end) + 1,
    )


def _characters(file: str, line: int, offset: int) -> int:
    """A column that counts bytes of UTF-8 as one that counts characters."""
    text = linecache.getline(file, line)
    return offset if text.isascii() else len(text.encode()[:offset].decode("utf-8", "ignore"))


def diagnostic(
    message: str,
    *,
    place: Place | None = None,
    notes: Sequence[str] = (),
    help: Sequence[str] = (),
    code: str = TensorExpressionError.default_code,
) -> Diagnostic:
    """A finding at a place: the given one, else that of the user's call."""
    place = call_place() if place is None else place
    span = None if place is None else Span(*place)
    source = None if place is None else "".join(linecache.getlines(place[0])) or None
    return Diagnostic(code, message, span, notes=tuple(notes), help=tuple(help), source=source)


def fault(
    message: str, *, place: Place | None = None, notes: Sequence[str] = (), help: Sequence[str] = ()
) -> TensorExpressionError:
    """The error to raise for tensors, axes or reductions that do not fit."""
    return TensorExpressionError(diagnostic(message, place=place, notes=notes, help=help))


def type_fault(message: str, *, notes: Sequence[str] = (), help: Sequence[str] = ()) -> TensorTypeError:
    """The error to raise for an argument of the wrong kind."""
    return TensorTypeError(diagnostic(message, notes=notes, help=help))


def plural(count: int, what: str, many: str = "") -> str:
    """The count with its noun, as `1 index` or `2 indices`."""
    return f"{count} {what if count == 1 else many or what + 's'}"
