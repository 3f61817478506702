"""`tvm.script.parser.core.diagnostics`: sources, places in them, and their display."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Sequence
from typing import Any

from .....adapters import lacking
from ....error import DiagnosticError
from ....ir.base import SourceName, Span


class Source:
    """The source of a program: its text, where it begins, and the text around it."""

    def __init__(self, program: Any) -> None:
        if isinstance(program, str):
            self.source_name = "<str>"
            self.start_line, self.start_column = 1, 0
            self.source = self.full_source = program
            return
        self.source_name = str(inspect.getsourcefile(program))
        lines, self.start_line = inspect.getsourcelines(program)
        self.start_column = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
        self.source = "".join([line[self.start_column :] if line.strip() else "\n" for line in lines])
        module = inspect.getmodule(program) or sys.modules.get(getattr(program, "__module__", ""))
        try:
            self.full_source = inspect.getsource(module) if module else self.source
        except (OSError, TypeError):
            self.full_source = self.source

    def as_ast(self) -> ast.Module:
        """The syntax tree of the text."""
        return ast.parse(self.source)

    def location(self, node: Any) -> tuple[int, int, int, int]:
        """Line, column, last line and last column of a tree's node, in the whole file, from 1."""
        first = self.start_line - 1
        column = self.start_column + 1
        return (
            node.lineno + first,
            node.col_offset + column,
            node.end_lineno + first,
            node.end_col_offset + column,
        )

    def to_span(self, node: Any) -> Any:
        """The span of a tree's node."""
        line, column, end_line, end_column = self.location(node)
        return Span(self.source_name, line, end_line, column, end_column)


def _format_source_snippet(
    source_lines: Sequence[str], lineno: int, col_offset: int, end_lineno: int, end_col_offset: int
) -> str:
    """The lines of a span, each with its number and a mark below what belongs to it."""
    width = len(str(end_lineno))
    rows = [f" {'':{width}} |"]
    for number in range(lineno, end_lineno + 1):
        text = source_lines[number - 1].rstrip("\n")
        start = col_offset if number == lineno else len(text) - len(text.lstrip()) + 1
        stop = end_col_offset if number == end_lineno else len(text) + 1
        rows.append(f" {number:{width}} | {text}")
        rows.append(f" {'':{width}} | {' ' * (start - 1)}{'^' * max(1, stop - start)}")
    return "\n".join(rows)


__getattr__ = lacking("tvm.script.parser.core.diagnostics")

__all__ = ["DiagnosticError", "Source", "SourceName", "Span"]
