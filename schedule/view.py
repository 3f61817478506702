"""Showing schedules: in a terminal and in a notebook."""

from __future__ import annotations

import html
import os
import sys

from ..ir import Expr, For, ForKind, IRModule, PrimFunc, SBlockRealize, children
from ..node import Node
from ..printer.script import script


def print_text(text: str, style: str | None = None) -> None:
    """Print a script: coloured where a style is named, or on a terminal unless NO_COLOR is set."""
    if style is None and (os.environ.get("NO_COLOR") or not sys.stdout.isatty()):
        print(text)
        return
    from ..errors import MissingDependencyError
    from ..printer.color import highlight

    try:
        print(highlight(text, style or "light"), end="" if text.endswith("\n") else "\n")
    except MissingDependencyError:
        if style is not None:
            raise
        print(text)


def html_of(text: str) -> str:
    """A script as HTML, highlighted where pygments is installed."""
    try:
        from pygments import highlight  # type: ignore[import-untyped,unused-ignore]
        from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped,unused-ignore]
        from pygments.lexers import PythonLexer  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        return f"<pre>{html.escape(text)}</pre>"
    made: str = highlight(text, PythonLexer(), HtmlFormatter(noclasses=True))
    return made


def loop_tree(mod: IRModule) -> str:
    """The loops and blocks of each function as a tree, a line for each.

    Statements that are neither, and blocks' bodies without loops or blocks, are left out.
    """
    lines: list[str] = []
    for name, func in mod.functions.items():
        if isinstance(func, PrimFunc):
            lines.append(name.name)
            # Each with what stands before it on its line, and before what is below.
            todo = _branches(func.body, "")
            while todo:
                node, here, below = todo.pop()
                lines.append(here + _label(node))
                todo += _branches(node.body if isinstance(node, For) else node.block, below)
    return "\n".join(lines)


def _branches(node: Node, indent: str) -> list[tuple[For | SBlockRealize, str, str]]:
    """The loops and blocks next below, the first one last; a root block is passed over."""
    found: list[For | SBlockRealize] = []
    todo = [node]
    while todo:
        top = todo.pop()
        root = isinstance(top, SBlockRealize) and top.block.name_hint == "root" and not top.iter_values
        if isinstance(top, For | SBlockRealize) and not root:
            found.append(top)
        elif not isinstance(top, Expr):
            todo += reversed(children(top))
    marks = [(indent + "├─ ", indent + "│  ")] * (len(found) - 1) + [(indent + "└─ ", indent + "   ")]
    return [(n, *marks[k]) for k, n in reversed(list(enumerate(found)))]


def _label(node: For | SBlockRealize) -> str:
    if isinstance(node, SBlockRealize):
        axes = ", ".join([a.var.name for a in node.block.iter_vars])
        return f"block {node.block.name_hint}({axes})"
    kind = "" if node.kind is ForKind.SERIAL else f" {node.kind.name.lower()}"
    thread = "" if node.thread_binding is None else f" {node.thread_binding.thread_tag}"
    return f"{node.loop_var.name}: {script(node.extent)}{kind}{thread}"
