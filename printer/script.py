"""The public way to text: `script` with all options, `show` for programs that look at the text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import ArgumentTypeError, Diagnostic
from ..grammar.tree import Assign, Blank, Comment, ExprStmt, ImportStmt, ModuleTree, Name, SExpr, SStmt
from ..ir import BaseFunc, IRModule, MatchBufferRegion, PrimFunc, Stmt
from ..ir.relax import Function
from ..node import Node, runs_deep
from . import blocks, calls, exprs, functions, literals, relax, stmts, types  # noqa: F401  they fill the tables
from .core import SHOWERS, Printer
from .layout import layout
from .marks import decorate
from .metadata import OMITTED, encode, key
from .options import Options, make_options
from .shown import Shown


@runs_deep
def script(node: Any, **options: Any) -> str:
    """The text of a node: a module, function, statement, expression, type, range, axis or map.

    `Options` describes the options.  Reading the text of a module or function gives it back.
    Raises ArgumentTypeError for something that is no node, ArgumentValueError for a bad option.
    """
    chosen = make_options(options)
    tree, printer = _tree(node, chosen, track=chosen.marks)
    text = layout(tree, chosen.width, chosen.indent_spaces)
    if chosen.marks or chosen.print_line_numbers:
        return decorate(Shown(str(text).rstrip("\n"), tree, node, printer), chosen)
    return str(text).rstrip("\n")


@runs_deep
def show(node: Any, *, width: int | None = None, mark: Sequence[Any] = (), **options: Any) -> Shown:
    """The text of a node, with the place of each of its parts.

    `text.places(part)` gives the ranges of a part, `text.marks` those of the nodes in `mark`.
    """
    chosen = make_options({**options, "width": width})
    tree, printer = _tree(node, chosen, track=True)
    text = layout(tree, chosen.width, chosen.indent_spaces)
    return Shown(str(text).rstrip("\n"), tree, node, printer, tuple(mark))


@runs_deep
def surface(node: Any, **options: Any) -> ModuleTree:
    """The surface tree of a node, as `script` would lay it out."""
    return _tree(node, make_options(options), track=False)[0]


def _tree(node: Any, options: Options, *, track: bool) -> tuple[ModuleTree, Printer]:
    if not isinstance(node, Node) or not (isinstance(node, Stmt) or _has_text(node)):
        raise ArgumentTypeError(
            Diagnostic("argument-type", f"a {type(node).__name__} has no script; give a node of a program")
        )
    p = Printer(options, node, track=track)
    whole = isinstance(node, IRModule | PrimFunc | Function)
    body: list[SStmt]
    if isinstance(node, IRModule):
        body = functions.show_module(p, node)
    elif isinstance(node, PrimFunc | Function):
        body = functions.show_function(p, node)
    elif isinstance(node, Stmt | MatchBufferRegion):
        p.declares = True
        p.stmt(node)  # type: ignore[arg-type]
        body = p.frame.stmts
    elif relax.is_graph(node):
        body = relax.show_piece(p, node)
    else:
        shown = p.expr(node)
        body = [*p.frame.stmts, ExprStmt(shown)]
    head: list[SStmt] = []
    if p.constants.arrays and options.show_meta:
        head.append(Assign((Name("metadata"),), encode(p.constants.arrays, key(options.header))))
    if whole:
        head += _header(p, body)
    elif head:
        head.append(Blank())
    if p.constants.arrays and not options.show_meta:
        body = [*body, *([Blank()] if whole else []), Comment(OMITTED)]
    return ModuleTree((*head, *body)), p


def _has_text(node: Node) -> bool:
    if type(node) in SHOWERS or isinstance(node, IRModule | BaseFunc | MatchBufferRegion):
        return True
    return relax.is_graph(node)


def _header(p: Printer, body: list[SStmt]) -> list[SStmt]:
    """The lines with the imports in use, and an empty line."""
    lines = import_lines(p, p.type_vars_inside or any(_is_type_var(s) for s in body))
    if p.options.pep695 and any(_type_params(s) for s in body):
        return [ImportStmt("from __future__ import annotations"), Blank(), *(lines or [Blank()])]
    return lines


def import_lines(p: Printer, type_vars: bool) -> list[SStmt]:
    """Comments with the imports of the dialects that are in use so far, and an empty line."""
    options = p.options
    house = "tvm" if options.header == "tvm" else "loopwright"
    lines: list[SStmt] = []
    if type_vars:
        lines.append(Comment("# from typing import TypeVar"))
    for dialect, prefix in (
        ("ir", options.ir_prefix),
        ("tirx", options.tir_prefix),
        ("relax", options.relax_prefix),
    ):
        if prefix in p.prefixes:
            lines.append(Comment(f"# from {house}.script import {dialect} as {prefix}"))
            if dialect == "tirx" and house == "tvm":
                lines.append(Comment("# from tvm.tirx.layout import Axis"))
    return [*lines, Blank()] if lines else []


def _is_type_var(s: SStmt) -> bool:
    value: SExpr | None = s.value if isinstance(s, Assign) else None
    func = getattr(value, "func", None)
    return isinstance(func, Name) and func.id == "TypeVar"


def _type_params(s: SStmt) -> bool:
    if getattr(s, "type_params", ()):
        return True
    return any(_type_params(i) for i in getattr(s, "body", ())) if type(s).__name__ == "ClassDef" else False
