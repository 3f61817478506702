"""Spans, diagnostics and the errors of every room.

A `Diagnostic` is data; a `LoopwrightError` carries one or more of them and shows them as text.
Every family of errors also derives from the built-in exception that a caller would expect, so
`except ValueError` keeps working.  All of them survive pickling, because tuning workers send
them between processes.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar, Literal

Severity = Literal["error", "warning", "note"]
MAX_LINES = 12
MAX_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Span:
    """A range of source text: lines and columns count from 1, columns in characters, the end is exclusive."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def to(self, other: Span) -> Span:
        """The span from the start of this one to the end of `other`."""
        return Span(self.file, self.line, self.column, other.end_line, other.end_column)


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: what is wrong, where, and how to mend it.

    `code` is a stable word with a page in the documentation.  `source` is the text that `span`
    points into (the whole file or the printed program); without it only the place is shown.
    `related` holds further places, each with a short text.
    """

    code: str
    message: str
    span: Span | None = None
    severity: Severity = "error"
    notes: tuple[str, ...] = ()
    help: tuple[str, ...] = ()
    related: tuple[tuple[Span, str], ...] = ()
    source: str | None = field(default=None, repr=False, compare=False)

    def render(self) -> str:
        """The diagnostic as at most a dozen lines of text, the source underlined."""
        lines = [f"{self.severity}[{self.code}]: {self.message}"]
        if self.span is not None:
            lines += _snippet(self.span, self.source)
        for span, text in self.related:
            lines.append(f"   = see {span}: {text}")
        lines += [f"   = note: {text}" for text in self.notes]
        lines += [f"   = help: {text}" for text in self.help]
        lines = [_ONE_CELL.sub(" ", row) for line in lines for row in line.split("\n")]  # names may be odd
        if len(lines) > MAX_LINES:
            more = len(lines) - MAX_LINES + 1
            lines = [*lines[: MAX_LINES - 1], f"   = note: and {more} more lines"]
        return "\n".join(lines)


_ONE_CELL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""Characters that would move the mark away from what it marks: tabs, other controls, line separators."""


def _snippet(span: Span, source: str | None) -> list[str]:
    head = f"  --> {span}"
    if source is None:
        return [head]
    rows = source.split("\n")
    if not 1 <= span.line <= len(rows):
        return [head]
    if span.end_line > span.line and span.end_column <= 1:  # it ends where that line begins
        before = rows[min(span.end_line - 1, len(rows)) - 1]
        span = Span(span.file, span.line, span.column, span.end_line - 1, len(before) + 1)
    if span.line < span.end_line <= min(span.line + 3, len(rows)):
        return [head, *_several_lines(span, rows)]
    number = str(span.line)
    gutter = " " * len(number)
    text = _ONE_CELL.sub(" ", rows[span.line - 1])
    last = span.end_column if span.end_line == span.line else len(text) + 1
    start = min(max(span.column, 1), len(text) + 1)
    width = max(1, last - start)
    lead, text, start, width = _clip(text, start, width)
    mark = " " * (len(lead) + start - 1) + "^" * width
    return [head, f"{gutter} |", f"{number} | {lead}{text}", f"{gutter} | {mark}"]


def _several_lines(span: Span, rows: list[str]) -> list[str]:
    """The lines of a span that is a few lines long, each with a mark below."""
    width = max(2, len(str(span.end_line)))
    lines = [f"{'':{width}} |"]
    for line in range(span.line, span.end_line + 1):
        text = _ONE_CELL.sub(" ", rows[line - 1])
        indent = len(text) - len(text.lstrip())
        start = min(max(span.column if line == span.line else indent + 1, 1), len(text) + 1)
        stop = span.end_column if line == span.end_line else len(text) + 1
        lead, text, start, count = _clip(text, start, max(1, stop - start))
        mark = " " * (len(lead) + start - 1) + "^" * count
        lines += [f"{line:{width}} | {lead}{text}", f"{'':{width}} | {mark}"]
    return lines


def _clip(text: str, start: int, width: int, limit: int = 100) -> tuple[str, str, int, int]:
    """Show at most `limit` characters of a long line, the marked part among them."""
    if len(text) <= limit:
        return "", text, start, min(width, max(1, len(text) - start + 2))
    first = max(0, min(start - 1 - limit // 4, len(text) - limit))
    lead = "..." if first else ""
    return lead, text[first : first + limit], start - first, min(width, limit - (start - 1 - first))


def suggest(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Help lines that offer the nearest of the `known` names, or none."""
    near = difflib.get_close_matches(name, list(known), n=3, cutoff=0.7)
    return (f"did you mean {', '.join(f'`{n}`' for n in near)}?",) if near else ()


def noun(value: object) -> str:
    """What kind of thing a value is, for messages; a class says so itself in `described`."""
    words = getattr(type(value), "described", None)
    if isinstance(words, str):
        return words
    name = type(value).__name__
    return f"an {name}" if name[0] in "aeiouAEIO" else f"a {name}"


class LoopwrightError(Exception):
    """Base of all errors; `diagnostics` is a tuple, never empty."""

    default_code: ClassVar[str] = "error"
    diagnostics: tuple[Diagnostic, ...]

    def __init__(self, *diagnostics: Diagnostic | str) -> None:
        made = tuple(
            d if isinstance(d, Diagnostic) else Diagnostic(self.default_code, str(d)) for d in diagnostics
        )
        self.diagnostics = made or (Diagnostic(self.default_code, type(self).__doc__ or "unknown error"),)
        Exception.__init__(self, *self.diagnostics)  # SyntaxError's own wants a message and a place

    @property
    def code(self) -> str:
        """The code of the first diagnostic."""
        return self.diagnostics[0].code

    def __str__(self) -> str:
        shown = [d.render() for d in self.diagnostics[:MAX_SHOWN]]
        more = len(self.diagnostics) - len(shown)
        return "\n\n".join([*shown, f"... and {more} more"] if more else shown)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), self.diagnostics


class ScriptError(LoopwrightError, SyntaxError):
    """The script does not say a program."""

    default_code = "syntax"

    def __init__(self, *diagnostics: Diagnostic | str) -> None:
        super().__init__(*diagnostics)
        span = self.diagnostics[0].span
        self.msg = self.diagnostics[0].message
        if span is not None:
            self.filename, self.lineno, self.offset = span.file, span.line, span.column

    __str__ = LoopwrightError.__str__


class IRError(LoopwrightError, ValueError):
    """A node or program is not well formed."""

    default_code = "ill-formed"


class DTypeError(LoopwrightError, TypeError):
    """Types do not fit."""

    default_code = "type-mismatch"


class ScheduleError(LoopwrightError, ValueError, RuntimeError):
    """A schedule primitive refuses. It is a RuntimeError too, as programs written for TVM expect."""

    default_code = "schedule"


class PassError(LoopwrightError, ValueError):
    """A pass refuses the program."""

    default_code = "pass"


class CodegenError(LoopwrightError, ValueError):
    """A back end cannot express the program."""

    default_code = "codegen"


class TargetError(LoopwrightError, ValueError):
    """A target description is wrong."""

    default_code = "target"


class ArgumentTypeError(LoopwrightError, TypeError):
    """An argument of a call has the wrong kind or dtype."""

    default_code = "argument-type"


class ArgumentValueError(LoopwrightError, ValueError):
    """An argument of a call has the wrong rank, shape, stride, device or value."""

    default_code = "argument-value"


class ExecutionError(LoopwrightError, RuntimeError):
    """A running program broke one of the language's rules."""

    default_code = "execution"


class OutOfBoundsError(ExecutionError, IndexError):
    """A buffer was accessed outside its shape."""

    default_code = "out-of-bounds"


class UninitializedError(ExecutionError):
    """A cell was read before anything was written to it."""

    default_code = "uninitialized-read"


class IntegerOverflowError(ExecutionError, OverflowError):
    """Index arithmetic left the range of its type."""

    default_code = "index-overflow"


class DivisionError(ExecutionError, ZeroDivisionError):
    """Division by zero, or of the smallest value by -1."""

    default_code = "division"


class UnsupportedError(LoopwrightError, NotImplementedError):
    """A part of the language that is not supported yet; the message names it."""

    default_code = "unsupported"


class MissingDependencyError(LoopwrightError, ImportError):
    """An optional package is absent; the message holds the install command."""

    default_code = "missing-dependency"


class InternalError(LoopwrightError, RuntimeError):
    """An invariant of loopwright itself broke; please report it with the printed program."""

    default_code = "internal"


def missing_dependency(package: str, extra: str) -> MissingDependencyError:
    """The error to raise where an optional package is needed and absent."""
    command = f"python -m pip install 'loopwright[{extra}]'"
    return MissingDependencyError(
        Diagnostic(
            "missing-dependency", f"the package `{package}` is not installed", help=(f"run: {command}",)
        )
    )
