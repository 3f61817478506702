"""Effects of calls, and which functions call themselves."""

from __future__ import annotations

from typing import Any

from ...expr import Call, Expr, GlobalVar, Var
from ...function import IRModule
from ...op import Op
from ...types import FuncType
from ...visitor import Visitor, find
from ..expr import Function
from ..op import find_op


def is_impure_call(call: Call, own_name: Expr | None = None) -> bool:
    """Whether a call may have an effect besides its result; one of `own_name` counts as pure."""
    op = call.op
    if isinstance(op, Op):
        rec = find_op(op.name) if op.name.startswith("relax.") else None
        return rec is not None and not rec.pure
    if own_name is not None and (op is own_name or _name(op) == _name(own_name) is not None):
        return False
    return not (isinstance(op.ty, FuncType) and op.ty.purity)


def _name(value: Any) -> str | None:
    return value.name if isinstance(value, GlobalVar) else None


def contains_impure_call(expr: Expr, own_name: Var | GlobalVar | None = None) -> bool:
    """Whether evaluating the expression may have an effect; for a function: calling it.

    Calls of `own_name`, the function itself, count as pure.
    """
    search = _Impure(own_name)
    search(expr.body if isinstance(expr, Function) else expr)
    return search.found


class _Impure(Visitor):
    def __init__(self, own_name: Expr | None) -> None:
        self.own_name = own_name
        self.found = False

    def visit_Call(self, call: Call) -> None:
        """A call, and those among its operands."""
        self.found = self.found or is_impure_call(call, self.own_name)
        for arg in call.args:
            self.visit(arg)

    def visit_Function(self, func: Function) -> None:
        """Making a function has no effect."""


def detect_recursion(mod: IRModule) -> list[list[GlobalVar]]:
    """The groups of functions that call each other in a circle, or themselves."""
    names = {g.name: g for g in mod.functions}
    calls = {
        g.name: [c.name for c in find(f, GlobalVar) if c.name in names] for g, f in mod.functions.items()
    }
    reach = {name: _reachable(name, calls) for name in calls}
    groups: list[list[GlobalVar]] = []
    done: set[str] = set()
    for name in calls:
        if name not in done and name in reach[name]:
            group = [n for n in calls if n in reach[name] and name in reach[n]]
            done.update(group)
            groups.append([names[n] for n in group])
    return groups


def _reachable(name: str, calls: dict[str, list[str]]) -> set[str]:
    """The functions that calling this one may call."""
    found: set[str] = set()
    stack = list(calls[name])
    while stack:
        called = stack.pop()
        if called not in found:
            found.add(called)
            stack += calls[called]
    return found


__all__ = ["contains_impure_call", "detect_recursion", "is_impure_call"]
