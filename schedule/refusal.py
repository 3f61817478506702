"""Refusing: a reason as data, and how it becomes the error that the user sees.

Legality checks return a `Reason` or None.  A primitive raises `Refused(reason)`; `Schedule`
turns that into a ScheduleError which shows the program.  A search asks for reasons only, and pays
nothing for text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import Diagnostic, ScheduleError, Span
from ..ir import IRModule
from ..node import Node


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a primitive refuses: a stable code, a sentence, the node to underline."""

    code: str
    message: str
    at: Node | None = None
    help: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Refused(Exception):
    """Raised inside a primitive; carries the reason."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.message)
        self.reason = reason


def refuse(code: str, message: str, at: Node | None = None, *, help: str = "", note: str = "") -> Refused:
    """The exception to raise where a primitive cannot be applied."""
    return Refused(Reason(code, message, at, (help,) if help else (), (note,) if note else ()))


def demand(reason: Reason | None) -> None:
    """Raise Refused unless a check found nothing."""
    if reason is not None:
        raise Refused(reason)


class StaleHandleError(ScheduleError, IndexError):
    """A handle names nothing in the schedule any more."""

    default_code = "stale-handle"

    __str__ = ScheduleError.__str__


def schedule_error(reason: Reason, name: str, mod: IRModule, level: str) -> ScheduleError:
    """The error for a refused primitive `name`.

    Level "detail" underlines the node in the printed program, "fast" is one line, "none" only
    the code.
    """
    error = StaleHandleError if reason.code == StaleHandleError.default_code else ScheduleError
    if level == "none":
        return error(Diagnostic(reason.code, f"`{name}` was refused"))
    message = f"`{name}`: {reason.message}"
    if level == "fast":
        return error(Diagnostic(reason.code, message))
    span, source = _underlined(mod, reason.at)
    return error(Diagnostic(reason.code, message, span, notes=reason.notes, help=reason.help, source=source))


def _underlined(mod: IRModule, at: Any) -> tuple[Span | None, str | None]:
    """Where the node stands in the printed program, and that text."""
    if at is None:
        return None, None
    from ..printer import show

    text = show(mod)
    places = text.places(at)
    if not places and hasattr(at, "block"):
        places = text.places(at.block)
    if not places:
        return None, None
    return text.span(*places[0], file="<schedule>"), str(text)
