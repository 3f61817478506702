"""Showing schedules: in a terminal and in a notebook."""

from __future__ import annotations

import html
import sys


def print_text(text: str, style: str | None = None) -> None:
    """Print a script: coloured on a terminal, or where a style is named; plain otherwise."""
    if style is None and not sys.stdout.isatty():
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
