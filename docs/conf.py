"""Settings of the documentation: `make docs`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import loopwright

project = "loopwright"
author = "The loopwright developers"
copyright = author
release = version = loopwright.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build", "examples"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "description"
nitpicky = False

html_theme = "furo"
html_title = f"loopwright {release}"
pygments_style = "friendly"


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _operators() -> Iterator[str]:
    """The registered operators, as a table."""
    from loopwright.ir import all_records

    yield _row("Operator", "Spelling", "Effect", "Meaning")
    yield _row("---", "---", "---", "---")
    for rec in sorted(all_records(), key=lambda r: (r.script is None, r.script or r.name)):
        params = f"dtype, {rec.params}".rstrip(", ") if rec.takes_dtype else rec.params
        spelling = f"`T.{rec.script}({params})`" if rec.script else ""
        yield _row(f"`{rec.name}`", spelling, rec.effect.name.lower().replace("_", " "), rec.doc)


def _graph_operators() -> Iterator[str]:
    """The operators of graph functions, as a table."""
    from loopwright.ir.relax import all_ops

    yield _row("Operator", "Fusion", "Parts", "Meaning")
    yield _row("---", "---", "---", "---")
    for rec in all_ops():
        parts = {
            "kernel": rec.te or rec.legalize,
            "numpy": rec.numpy,
            "gradient": rec.gradient,
            "layout": rec.layout,
        }
        fusion = "" if rec.pattern is None else f"`{rec.pattern.name.lower()}`"
        have = ", ".join([name for name, part in parts.items() if part])
        yield _row(f"`R.{rec.script}({rec.signature})`", fusion, have, " ".join(rec.doc.split()))


def _first_line(value: Any) -> str:
    text = (value.__doc__ or "").strip().split("\n\n")[0]
    return " ".join(text.split())


def _nodes() -> Iterator[str]:
    """The classes of the nodes with their fields, as a table."""
    from loopwright import ir
    from loopwright.node import Node

    yield _row("Node", "Fields", "Meaning")
    yield _row("---", "---", "---")
    for name in sorted(set(ir.__all__)):
        found = getattr(ir, name)
        if isinstance(found, type) and issubclass(found, Node):
            fields = [f for f in found.__match_args__ if f != "span"]
            yield _row(f"`{name}`", " ".join(f"`{f}`" for f in fields), _first_line(found))


def _passes() -> Iterator[str]:
    """The registered passes, as a table."""
    from loopwright.transform import get_pass, list_passes

    yield _row("Pass", "What it does")
    yield _row("---", "---")
    for name in list_passes():
        yield _row(f"`{name}`", _first_line(get_pass(name)))


_TABLES = {
    "<!-- operators -->": _operators,
    "<!-- graph operators -->": _graph_operators,
    "<!-- nodes -->": _nodes,
    "<!-- passes -->": _passes,
}


def _fill_tables(app: Any, name: str, source: list[str]) -> None:
    """Put generated tables where a page has their marks."""
    if name in ("operators", "graph_operators", "reference"):
        for mark, make in _TABLES.items():
            if mark in source[0]:
                source[0] = source[0].replace(mark, "\n".join(make()))


def setup(app: Any) -> None:
    """Hook into the build: tables, and the colours of `script` blocks."""
    from pygments.lexers.python import PythonLexer

    app.add_lexer("script", PythonLexer)
    app.connect("source-read", _fill_tables)
