"""`tvm.script.highlight`: printing in colour."""

from __future__ import annotations

import os
from typing import Any

from ....errors import MissingDependencyError
from ....printer.color import highlight
from ...adapters import lacking


def cprint(printable: Any, style: str | None = None, black_format: bool = False) -> None:
    """Print a program; in colour where a style is given (or named by TVM_PYGMENTIZE_STYLE)."""
    text = printable if isinstance(printable, str) else printable.script()
    style = style or os.environ.get("TVM_PYGMENTIZE_STYLE")
    if style is None:
        print(text)
        return
    try:
        print(highlight(text, style))
    except MissingDependencyError:
        print(text)


def _format(code_str: str, formatter: str | None = None) -> str:
    """The text of a program laid out anew, whatever formatter is asked for."""
    from ....grammar import read
    from ....printer import layout

    return str(layout(read(code_str).tree, 100))


__getattr__ = lacking("tvm.script.highlight", "loopwright.command has `format`")

__all__ = ["cprint"]
