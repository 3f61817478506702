"""Single assignment: whether every variable is defined once."""

from __future__ import annotations

from typing import Any

from ...node import Node, runs_deep
from ..equal import structural_equal
from ..expr import Let, Var
from ..function import PrimFunc
from ..visitor import Visitor


@runs_deep
def verify_ssa(func: PrimFunc | Node) -> bool:
    """Whether every variable is defined in one place only.

    Several `Let` of one variable are one definition where they give it the same value: an
    expression that stands twice in the program is defined once.
    """
    check = _Check()
    check.visit(func)
    return check.good


class _Check(Visitor):
    def __init__(self) -> None:
        self.good = True
        self.defined: dict[Var, Node | None] = {}

    def define(self, var: Var) -> Any:
        if var in self.defined:
            self.good = False
        self.defined[var] = None

    def visit_Let(self, e: Let) -> None:
        self.visit(e.value)
        old = self.defined.get(e.var)
        if e.var not in self.defined:
            self.defined[e.var] = e.value
        elif old is None or not structural_equal(old, e.value):
            self.good = False
        self.visit(e.body)


__all__ = ["verify_ssa"]
