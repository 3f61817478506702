"""Files, and the decorated objects in them.

A file may be an ordinary Python module. Its kernels are found by their decorators; everything
else is not ours and stays as it is.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import Diagnostic, LoopwrightError, Span

DIALECTS = frozenset({"ir", "tirx", "tir", "relax"})
DECORATORS = frozenset({"ir_module", "prim_func", "function", "macro", "inline", "jit", "rewriter"})
_USUAL = frozenset({"I", "T", "R", "Tx", "ir", "tirx", "tir", "relax"})
_LINE = re.compile(r"(?P<indent>[ \t]*)@(?:\w+\.)*(?P<word>\w+)\b")
_HEADER = re.compile(r"[ \t]*(?:def|class)[ \t]+(?P<name>\w+)")
STDIN = "-"


class FileError(LoopwrightError, OSError):
    """A file cannot be read or written."""

    default_code = "file"

    __str__ = LoopwrightError.__str__


@dataclass(frozen=True, slots=True)
class Segment:
    """The lines `start` to `end` (counted from 0, `end` exclusive) of one decorated object."""

    name: str
    start: int
    end: int
    indent: str


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a file with `\\n` line ends, and what is needed to write it back byte for byte."""

    path: str
    text: str
    encoding: str = "utf-8"
    newline: str = "\n"

    @property
    def lines(self) -> list[str]:
        """The lines, each with its end."""
        return split_lines(self.text)

    def encode(self, text: str) -> bytes:
        """Another text in the form of this file."""
        return text.replace("\n", self.newline).encode(self.encoding)


def split_lines(text: str) -> list[str]:
    """The lines of a text, each with its end; only `\\n` ends one."""
    return [line for line in re.split(r"(?<=\n)", text) if line]


def read_source(path: str) -> Source:
    """The text of a file, or of standard input for `-`. Raises FileError when it cannot be read."""
    try:
        data = sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
    except OSError as err:
        raise FileError(Diagnostic("file", f"`{path}` cannot be read: {err.strerror or err}")) from err
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError) as err:
        raise FileError(Diagnostic("file", f"`{path}` is not text: {err}")) from err
    newline = "\r\n" if "\r\n" in text else "\n"
    if newline == "\r\n" and re.search(r"(?<!\r)\n", text):
        raise FileError(Diagnostic("file", f"`{path}` mixes two kinds of line ends", help=("settle on one",)))
    name = "<stdin>" if path == STDIN else path
    return Source(name, text.replace("\r\n", "\n"), encoding, newline)


def write_source(path: str, source: Source, text: str) -> None:
    """Put another text into the file. Raises FileError when it cannot be written."""
    try:
        Path(path).write_bytes(source.encode(text))
    except OSError as err:
        raise FileError(Diagnostic("file", f"`{path}` cannot be written: {err.strerror or err}")) from err


def python_files(paths: Iterable[str]) -> Iterator[str]:
    """The files that the paths mean: folders stand for the Python files in them, hidden ones left out.

    Raises FileError for a path that does not exist.
    """
    for path in paths:
        here = Path(path)
        if path == STDIN or here.is_file():
            yield path
        elif here.is_dir():
            for found in sorted(here.rglob("*.py")):
                parts = found.relative_to(here).parts
                if not any(p.startswith(".") or p == "__pycache__" for p in parts):
                    yield str(found)
        else:
            raise FileError(Diagnostic("file", f"`{path}` does not exist"))


def parse_python(source: Source) -> ast.Module | None:
    """The file as Python sees it, None where Python does not take it."""
    try:
        return ast.parse(source.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def find_segments(source: Source, tree: ast.Module | None) -> list[Segment]:
    """The outermost decorated objects of the file, from top to bottom."""
    if tree is None:
        return list(_scan(source.lines))
    modules, names = aliases(tree)
    found: list[Segment] = []
    pending: list[ast.AST] = [tree]
    lines = source.lines
    while pending:
        node = pending.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.ClassDef) and any(
                _is_ours(d, modules, names) for d in child.decorator_list
            ):
                start = min(d.lineno for d in child.decorator_list) - 1
                indent = lines[start][: len(lines[start]) - len(lines[start].lstrip())]
                found.append(Segment(child.name, start, int(child.end_lineno or 0), indent))
            elif not isinstance(child, ast.expr):
                pending.append(child)
    return sorted(found, key=lambda s: s.start)


def aliases(tree: ast.Module) -> tuple[set[str], set[str]]:
    """Names that mean a dialect, and names that are decorators themselves."""
    modules: set[str] = set()
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[-1] == "script":
            for alias in node.names:
                own = alias.asname or alias.name
                if alias.name in DIALECTS:
                    modules.add(own)
                elif alias.name in DECORATORS:
                    names.add(own)
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules |= {a.asname or a.name for a in node.names if a.name == "script"}
            if node.module.split(".")[-2:-1] == ["script"]:
                names |= {a.asname or a.name for a in node.names if a.name in DECORATORS}
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] in ("loopwright", "tvm"):
                    modules.add(alias.asname or alias.name.split(".")[0])
    return (modules, names) if modules or names else (set(_USUAL), set())


def _is_ours(decorator: ast.expr, modules: set[str], names: set[str]) -> bool:
    if isinstance(decorator, ast.Call):
        decorator = decorator.func
    if isinstance(decorator, ast.Name):
        return decorator.id in names
    if not isinstance(decorator, ast.Attribute) or decorator.attr not in DECORATORS:
        return False
    root: ast.expr = decorator
    while isinstance(root, ast.Attribute):
        root = root.value
    return isinstance(root, ast.Name) and root.id in modules


def _scan(lines: list[str]) -> Iterator[Segment]:
    """Decorated objects of a text that Python does not take, found by indentation."""
    at = 0
    while at < len(lines):
        match = _LINE.match(lines[at])
        if match is None or match["word"] not in DECORATORS:
            at += 1
            continue
        start, indent = at, match["indent"]
        while at < len(lines) and not _HEADER.match(lines[at]):
            at += 1
        name = _HEADER.match(lines[at])["name"] if at < len(lines) else "?"  # type: ignore[index]
        at += 1
        end, quoted = at, False
        while at < len(lines) and (quoted or not lines[at].strip() or _deeper(lines[at], indent)):
            # An odd number of triple quotes opens or closes a string, whose lines may begin anywhere.
            quoted ^= (lines[at].count('"""') + lines[at].count("'''")) % 2 == 1
            at += 1
            if lines[at - 1].strip():
                end = at
        yield Segment(name, start, end, indent)


def _deeper(line: str, indent: str) -> bool:
    rest = line[len(indent) :]
    return line.startswith(indent) and rest[:1] in (" ", "\t", ")", "]")


def continuations(text: str) -> set[int]:
    """The lines (from 0) that begin inside a string; their leading blanks belong to the string."""
    inside: set[int] = set()
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            kind = tokenize.tok_name[token.type]
            if kind in ("STRING", "FSTRING_MIDDLE"):
                inside |= set(range(token.start[0], token.end[0]))
    except (tokenize.TokenError, SyntaxError):
        pass
    return inside


def cut(source: Source, segment: Segment) -> str:
    """The object's text without its indentation."""
    lines = source.lines[segment.start : segment.end]
    if not segment.indent:
        return "".join(lines)
    plain = [line.removeprefix(segment.indent) for line in lines]
    inside = continuations("".join(plain))
    return "".join([whole if i in inside else part for i, (whole, part) in enumerate(zip(lines, plain))])


def paste(source: Source, segment: Segment, text: str) -> str:
    """The file's text with the object's text replaced, indented as it was."""
    lines = source.lines
    rows = split_lines(text)
    if segment.indent:
        inside = continuations(text)
        rows = [row if i in inside or not row.strip() else segment.indent + row for i, row in enumerate(rows)]
    if rows and lines[segment.end - 1][-1:] != "\n":
        rows[-1] = rows[-1].removesuffix("\n")
    return "".join([*lines[: segment.start], *rows, *lines[segment.end :]])


def moved(diagnostic: Diagnostic, source: Source, segment: Segment) -> Diagnostic:
    """A diagnostic about the cut text, pointing into the file."""
    rows, columns = segment.start, len(segment.indent)

    def shift(span: Span) -> Span:
        return Span(
            source.path,
            span.line + rows,
            span.column + columns,
            span.end_line + rows,
            span.end_column + columns,
        )

    return replace(
        diagnostic,
        span=shift(diagnostic.span) if diagnostic.span is not None else None,
        related=tuple([(shift(span), text) for span, text in diagnostic.related]),
        source=source.text,
    )
