"""The state of showing one graph function: what is declared at its top, and how its sizes are written."""

from __future__ import annotations

from ..grammar.tree import AnnAssign, Assign, CallExpr, Name, SExpr, SStmt
from ..ir import PrimType, Var
from ..ir.visitor import Visitor
from ..node import Node
from .core import Frame, Printer


class GraphScope:
    """A graph function, or a piece of one.

    Symbols that nothing in the signature defines, and the name of the module, are declared at the top in the
    order in which the body needs them.  `quotes` says that a size which computes with symbols is written
    as a text, unless all of its symbols are parameters: in a signature they are no values of Python yet.
    """

    __slots__ = ("_used", "alias", "declared", "frame", "given", "node", "outer", "quotes")

    def __init__(self, frame: Frame, node: Node, outer: GraphScope | None = None) -> None:
        self.frame = frame
        self.node = node
        self.outer = outer
        self.given = {id(v) for v in getattr(node, "params", ())}
        self.declared: list[SStmt] = []
        self._used: set[int] | None = None
        self.quotes = False
        self.alias: SExpr | None = None

    def declare(self, p: Printer, var: Var) -> SExpr:
        """Declare a variable that nothing before defines: `n = T.int64()`, or by its type alone."""
        if not isinstance(var.ty, PrimType):
            annotation = p.expr(var.ty)  # first, since it may declare symbols
            shown = p.define(var, self.frame)
            self.declared.append(AnnAssign(shown, annotation, None))
            return shown
        shown = p.define(var, self.frame)
        self.declared.append(Assign((shown,), CallExpr(p.T(str(var.ty.dtype)))))
        return shown

    def module(self, p: Printer) -> SExpr:
        """The name by which the function calls its module; declared when first asked for."""
        own = Name(p.module_name or "Module")
        if not p.options.module_alias:
            return own
        if self.alias is None:
            self.alias = Name(p.options.module_alias)
            self.declared.append(Assign((self.alias,), own))
        return self.alias

    def is_used(self, var: Var) -> bool:
        """Whether the outermost function or piece uses a variable anywhere."""
        if self.outer is not None:
            return self.outer.is_used(var)
        if self._used is None:
            uses = _Uses()
            uses.visit(self.node)
            self._used = uses.found
        return id(var) in self._used


class _Uses(Visitor):
    """Collects the variables that are used."""

    def __init__(self) -> None:
        self.found: set[int] = set()

    def visit_Var(self, var: Var) -> None:
        self.found.add(id(var))
