"""Operators: one rule for each, found by its registry name without the namespace.

Shared rules stand in the modules `rules_...` here, those of one language in its room.  Importing fills the
tables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...ir import Call, Effect, GlobalVar, Op, PointerType, PrimType, call_effect
from .text import Lanes

if TYPE_CHECKING:
    from .stmt import Statements

Rule = Callable[["Statements", Call], Lanes]
RULES: dict[str, Rule] = {}
"""The rules that all languages share."""

HINTS = {
    "breakpoint": "run the function with `.interpret(...)`, or print with T.print",
    "tvm_call_packed": "devices cannot call Python: call it from the host",
    "tvm_call_cpacked": "devices cannot call Python: call it from the host",
    "call_llvm_intrin": "use T.call_extern with a function of the device's language",
    "call_llvm_pure_intrin": "use T.call_pure_extern with a function of the device's language",
    "tvm_thread_allreduce": "lower it with `tirx.LowerThreadAllreduce` first",
}
"""What to do instead of an operator that has no rule."""


def into(table: dict[str, Rule]) -> Callable[..., Callable[[Rule], Rule]]:
    """The decorator that registers rules in a table: `@rule("exp", "log")`."""

    def rule(*names: str) -> Callable[[Rule], Rule]:
        def add(f: Rule) -> Rule:
            for name in names:
                table[name] = f
            return f

        return add

    return rule


rule = into(RULES)


def operator(e: Call) -> str:
    """The name of the operator that a call is of, namespace included."""
    assert isinstance(e.op, Op)
    return e.op.name


def short_name(e: Call) -> str:
    """The same without the namespace."""
    return operator(e).partition(".")[2]


def emit_call(m: Statements, e: Call) -> Lanes:
    """The lanes of a call's value, none where it has no value; what a call does, it does here and now."""
    if isinstance(e.op, GlobalVar):
        return settled(m, e, m.call_function(e.op.name, e))
    if not isinstance(e.op, Op):
        raise m.refuse("a call through a function pointer", e)
    found = m.dialect.find_rule(short_name(e))
    if found is None:
        raise m.refuse(f"the operator `{e.op.name}`", e, HINTS.get(short_name(e), ""))
    lanes = found(m, e)
    if call_effect(e) is not Effect.UPDATE:
        return lanes
    return settled(m, e, lanes)


def settled(m: Statements, e: Call, lanes: Lanes) -> Lanes:
    """The value of a call that does something, under a name, so that it happens once and in order."""
    if not lanes or (isinstance(e.ty, PrimType) and e.dtype.is_void):
        for lane in lanes:
            m.put(f"{lane.text};")
        return []
    if e is m.unused:
        for lane in lanes:
            m.put(f"{lane.text};")
        return lanes
    if isinstance(e.ty, PointerType):
        return lanes
    kind = m.type(e.dtype)
    return [lane if lane.simple else m.named(kind, "t", lane) for lane in lanes]
