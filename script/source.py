"""Finding the source of decorated functions and classes, and the names around them."""

from __future__ import annotations

import inspect
import linecache
import re
import types
from dataclasses import dataclass
from typing import Any

from ..errors import Diagnostic, ScriptError, Span
from ..grammar import tree as S


@dataclass(frozen=True, slots=True)
class Source:
    """A piece of a file: its text, the file's name and the number of its first line."""

    text: str
    file: str
    line: int


def no_source(name: str, file: str) -> ScriptError:
    """The error for an object whose source is not to be had."""
    return ScriptError(
        Diagnostic(
            "no-source",
            f"the source of `{name}` cannot be found (it was defined in {file})",
            Span(file, 1, 1, 1, 1) if not file.startswith("<") else None,
            notes=("code typed at a prompt or run by `exec` has no source file",),
            help=("put it into a file, or pass its text to `loopwright.parse(text)`",),
        )
    )


_HEADER = re.compile(r"\s*(?:@|def\b|class\b|async\b)")


def block_at(lines: list[str], start: int) -> int:
    """The index after the last line of the definition that begins (with its decorators) at `start`.

    A guess by indentation, good for formatted code; the caller checks that it parses.
    """
    indent = _indent(lines[start])
    i = start
    while i < len(lines) and not re.match(r"\s*(?:def|class)\b", lines[i]):
        i += 1
    i += 1
    end = i
    while i < len(lines):
        line = lines[i]
        text = line.strip()
        if text and not text.startswith("#"):
            if _indent(line) <= indent and not text.startswith((")", "]", "}")):
                break
            end = i + 1
        i += 1
    return end


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def source_of(obj: Any, file: str, first_line: int) -> Source:
    """The source of a function or class whose decorators begin at this line. Raises ScriptError."""
    name = getattr(obj, "__qualname__", str(obj))
    lines = _lines(obj, file)
    if not lines or not 1 <= first_line <= len(lines):
        raise no_source(name, file)
    start = first_line - 1
    while start > 0 and not _HEADER.match(lines[start]):
        start -= 1  # the decorator's call may span lines
    if not _HEADER.match(lines[start]):
        raise no_source(name, file)
    end = block_at(lines, start)
    return Source("".join(lines[start:end]), file, start + 1)


def exact_source(obj: Any, source: Source) -> Source:
    """The same source cut by Python's own tokenizer, for code that the guess cut wrongly."""
    lines = _lines(obj, source.file)
    try:
        block = inspect.getblock(lines[source.line - 1 :])
    except (IndentationError, SyntaxError, EOFError):
        return source
    return Source("".join(block), source.file, source.line)


def _lines(obj: Any, file: str) -> list[str]:
    linecache.checkcache(file)
    module = inspect.getmodule(obj, file)
    lines = linecache.getlines(file, module.__dict__ if module is not None else None)
    return lines


def definition(tree: S.ModuleTree, name: str) -> Any:
    """The function or class of this name in a tree, or None."""
    for stmt in tree.body:
        if isinstance(stmt, S.FunctionDef | S.ClassDef) and stmt.name == name:
            return stmt
    return None


def enclosing_frames(qualname: str, frame: types.FrameType | None, file: str) -> list[types.FrameType]:
    """The frames of the functions (and classes) that lexically enclose an object, innermost first."""
    parts = qualname.split(".")
    wanted = [".".join(parts[:i]).removesuffix(".<locals>") for i in range(len(parts) - 1, 0, -1)]
    found = []
    while frame is not None and wanted:
        code = frame.f_code
        if code.co_filename == file and getattr(code, "co_qualname", code.co_name) in wanted:
            found.append(frame)
            if "<locals>" not in getattr(code, "co_qualname", ""):
                break
        frame = frame.f_back
    return found


def in_class_body(frame: types.FrameType) -> bool:
    """Whether this frame runs the body of a class."""
    names = frame.f_locals
    return "__module__" in names and "__qualname__" in names and names is not frame.f_globals
