"""Operators: one rule for each, found by its registry name without the dialect.

The rules stand in the modules `rules_...`; importing those fills the table.
"""

from __future__ import annotations

from collections.abc import Callable

from ...dtype import DType
from ...ir import Call, GlobalVar, Op
from .expr import Expressions

Rule = Callable[[Expressions, Call], str]
RULES: dict[str, Rule] = {}


HINTS = {"tirx.breakpoint": "run the function with `.interpret(...)`, or print with T.print"}
"""What to do instead of an operator that has no rule."""


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a function as the rule for these operators."""

    def add(f: Rule) -> Rule:
        for name in names:
            RULES[name] = f
        return f

    return add


def operator(e: Call) -> str:
    """The name of the operator that a call is of, dialect included."""
    assert isinstance(e.op, Op)
    return e.op.name


def short_name(e: Call) -> str:
    """The same without the dialect."""
    return operator(e).partition(".")[2]


def float_operand(m: Expressions, e: Call) -> DType:
    """The dtype of the first argument. Raises CodegenError unless it is a float."""
    dtype = e.args[0].dtype
    if not dtype.is_float:
        raise m.refuse(f"`{operator(e)}` of `{dtype}`", e, "cast the argument to a float type")
    return dtype


def emit_call(m: Expressions, e: Call) -> str:
    """Emit a call; the register with its result ("0" where it has none)."""
    if isinstance(e.op, GlobalVar):
        return m.call_function(e.op.name, e)
    if not isinstance(e.op, Op):
        raise m.refuse("a call through a function pointer", e)
    found = RULES.get(short_name(e))
    if found is None:
        raise m.refuse(f"the operator `{e.op.name}`", e, HINTS.get(e.op.name, ""))
    return found(m, e)
