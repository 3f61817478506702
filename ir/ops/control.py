"""Choice, hints and jumps."""

from __future__ import annotations

from typing import Any

from ..expr import Expr, IntImm
from ..op import Effect
from ..operators import if_then_else
from ..promote import operand
from ..types import BOOL, INT32, VOID
from . import numerics as num
from .define import define, make, number


def _likely(cond: Any) -> Expr:
    e = number(cond)
    return e if isinstance(e, IntImm) else make("prim.likely", (e,), e.ty)


define(
    "prim.if_then_else",
    "cond, t, f",
    "second",
    "One of two values; only that one is evaluated.",
    rule=if_then_else,
)
define(
    "prim.likely",
    "cond",
    "first",
    "The condition, marked as nearly always true.",
    Effect.ANNOTATION,
    rule=_likely,
    numpy=num.identity,
)
define("tirx.filter", "var, pred", BOOL, "Restricts a variable to where the predicate holds.")
define("tirx.selector", "var, pred", "first", "Chooses the variable's value.", Effect.UPDATE)


def _assume(cond: Any) -> Expr:
    return make("tirx.assume", (operand(True if cond is None else cond),), BOOL)


define(
    "tirx.assume",
    "cond=None",
    BOOL,
    "States that a condition holds; nothing is checked.",
    Effect.EMBED,
    rule=_assume,
)
define("tirx.undef", "", INT32, "A value that must not matter.", Effect.READ)
define(
    "tirx.ignore_loop_partition",
    "predicate",
    BOOL,
    "The predicate, which loop partitioning leaves alone.",
    numpy=num.identity,
)
define("tirx.start_profile_intrinsic", "id", VOID, "The start of a profiled section.")
define("tirx.end_profile_intrinsic", "id", VOID, "The end of a profiled section.")
define("tirx.break_loop", "", VOID, "Leave the innermost loop.", Effect.CONTROL)
define("tirx.continue_loop", "", VOID, "Go on with the next iteration.", Effect.CONTROL)
define("tirx.thread_return", "", VOID, "End this thread.", Effect.CONTROL)
