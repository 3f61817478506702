"""Rewriting calls of operators by rules, until none applies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...ir import Call, Expr, IRModule, Op, Var
from ...ir.relax import Function, TensorType
from ...ir.relax.analysis import computable_at_compile_time, remove_all_unused
from ...ir.relax.rewrite import GraphRewriter, rewrite_functions
from ..common import refuse

MOST_ROUNDS = 100

Rule = Callable[["CallRules", Call], Expr | None]
"""Gives what takes the place of a call, None to leave it."""


class CallRules(GraphRewriter):
    """One round of rules, by the name of the operator called."""

    def __init__(self, rules: Mapping[str, Rule]) -> None:
        super().__init__()
        self.rules = rules
        self.early: set[Var] = set()

    def visit_Function(self, func: Function) -> Any:
        """A function; notes what can be computed before its inputs are known."""
        self.early.update(computable_at_compile_time(func))
        return super().visit_Function(func)

    def visit_Call(self, call: Call) -> Any:
        """What a rule makes of the call."""
        call = super().visit_Call(call)
        rule = self.rules.get(call.op.name) if isinstance(call.op, Op) else None
        made = None if rule is None else rule(self, call)
        return call if made is None else made

    def called(self, e: Expr, name: str) -> Any:
        """The call of this operator that a variable stands for, or None."""
        found = self.lookup(e) if isinstance(e, Var) else e
        right = isinstance(found, Call) and isinstance(found.op, Op) and found.op.name == name
        return found if right else None

    def is_early(self, e: Expr) -> bool:
        """Whether a value can be computed before the inputs are known: it comes from weights only."""
        return not isinstance(e, Var) or e in self.early


def apply_rules(mod: IRModule, rules: Mapping[str, Rule]) -> IRModule:
    """The module with the rules applied until none does; what is used no more is gone."""
    for _ in range(MOST_ROUNDS):
        made = CallRules(rules)(mod)
        if made is mod:
            return mod
        mod = rewrite_functions(made, remove_all_unused)
    raise refuse("endless-rewriting", f"a rule still applies after {MOST_ROUNDS} rounds", mod)


def sizes_of(e: Expr) -> tuple[Expr, ...] | None:
    """The sizes of a tensor where they are known."""
    return e.ty.sizes if isinstance(e.ty, TensorType) else None


def rank_of(e: Expr) -> int:
    """The rank of a tensor, -1 where it is not known."""
    return e.ty.ndim if isinstance(e.ty, TensorType) else -1


__all__ = ["CallRules", "Rule", "apply_rules", "rank_of", "sizes_of"]
