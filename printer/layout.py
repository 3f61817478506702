"""Surface tree to text.

Without a width every statement is one line. With a width a statement that is too long is laid out by
`wrap`. Parentheses are the fewest that read back as the same tree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..grammar import tree as t
from ..node import runs_deep
from .flat import SIMPLE, header, show
from .text import Text as Text
from .wrap import wrap_expression, wrap_statement


@runs_deep
def layout(tree: t.Surface, width: int | None = None, indent: int = 4) -> Text:
    """The text of a surface tree: of a module, a statement or an expression.

    Text of statements ends with a line end. With a `width`, lines that would be longer are broken
    in brackets where they can be. Reading the text gives the same tree again.
    """
    if isinstance(tree, t.ModuleTree):
        lines: list[str] = []
        _block(tree.body, "", _Style(width, indent), lines)
        text = "\n".join(lines) + "\n" if lines else ""
    elif isinstance(tree, t.SStmt):
        lines = []
        _block((tree,), "", _Style(width, indent), lines)
        text = "\n".join(lines) + "\n"
    else:
        text = _fit_expression(tree, width, indent)
    return Text(text, tree)


class _Style:
    __slots__ = ("step", "width")

    def __init__(self, width: int | None, indent: int) -> None:
        self.width = width
        self.step = " " * indent


def _fit_expression(tree: t.Surface, width: int | None, indent: int) -> str:
    flat = show(tree)
    if width is None or not isinstance(tree, t.SExpr) or len(flat) <= width:
        return flat
    return wrap_expression(tree, width, indent)


# Statements


def _block(body: tuple[t.SStmt, ...], pad: str, style: _Style, out: list[str]) -> None:
    for stmt in body:
        kind = type(stmt)
        simple = SIMPLE.get(kind)
        if simple is not None:
            text = simple(stmt)
            comment = stmt.comment  # type: ignore[attr-defined]
            if style.width is not None and len(pad) + len(text) > style.width:
                text = _wrapped(stmt, pad, style)
            out.append(f"{pad}{text}  {comment}" if comment else pad + text)
        elif kind is t.Comment:
            out.append(pad + stmt.text)  # type: ignore[attr-defined]
        elif kind is t.Blank:
            out.extend([""] * stmt.count)  # type: ignore[attr-defined]
        elif kind is t.Unsupported:
            _unsupported(stmt, pad, out)
        else:
            _COMPOUND[kind](stmt, pad, style, out)


def _wrapped(stmt: t.SStmt, pad: str, style: _Style) -> str:
    assert style.width is not None
    return wrap_statement(stmt, len(pad), style.width, len(style.step))


def _suite(body: tuple[t.SStmt, ...], pad: str, style: _Style, out: list[str]) -> None:
    pad += style.step
    _block(body, pad, style, out)
    for stmt in body:
        if type(stmt) is not t.Comment and type(stmt) is not t.Blank:
            return
    out.append(f"{pad}pass")


def _header(stmt: Any, text: str, pad: str, style: _Style, out: list[str]) -> None:
    if style.width is not None and len(pad) + len(text) > style.width:
        text = _wrapped(stmt, pad, style)
    out.append(f"{pad}{text}  {stmt.comment}" if stmt.comment else pad + text)


def _one_body(s: Any, pad: str, style: _Style, out: list[str]) -> None:
    _header(s, header(s), pad, style, out)
    _suite(s.body, pad, style, out)


def _definition(s: Any, pad: str, style: _Style, out: list[str]) -> None:
    for decorator in s.decorators:
        text = f"@{show(decorator)}"
        if style.width is not None and len(pad) + len(text) > style.width:
            text = "@" + wrap_expression(decorator, style.width, len(style.step), len(pad), 1)
        out.append(pad + text)
    _one_body(s, pad, style, out)


def _if(s: t.IfStmt, pad: str, style: _Style, out: list[str]) -> None:
    while True:
        _one_body(s, pad, style, out)
        orelse = s.orelse
        if not orelse:
            return
        if len(orelse) == 1 and type(orelse[0]) is t.IfStmt and orelse[0].is_elif:
            s = orelse[0]
            continue
        out.append(f"{pad}else:  {s.else_comment}" if s.else_comment else f"{pad}else:")
        _suite(orelse, pad, style, out)
        return


def _unsupported(s: Any, pad: str, out: list[str]) -> None:
    out.extend([pad + line if line else line for line in s.text.split("\n")])
    if s.comment:
        out[-1] = f"{out[-1]}  {s.comment}"


_COMPOUND: dict[type, Callable[[Any, str, _Style, list[str]], None]] = {
    t.ClassDef: _definition,
    t.ForStmt: _one_body,
    t.FunctionDef: _definition,
    t.IfStmt: _if,
    t.WhileStmt: _one_body,
    t.WithStmt: _one_body,
}
