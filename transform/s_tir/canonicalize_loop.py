"""Loops count from where they begin in steps of one."""

from __future__ import annotations

from typing import Any

from ...ir import Expr, For, IntImm, PrimFunc, Var, const, seq
from ...ir.expr import FloorDiv
from ...ir.visitor import Rewriter
from ..common import cast_to, is_const, minus, named, plus, refuse, times
from ..registry import prim_func_pass


@prim_func_pass("s_tir.CanonicalizeLoop", "tirx.CanonicalizeLoop")
def canonicalize_loop(func: PrimFunc) -> PrimFunc:
    """A loop with a step counts its iterations; the loop variable is computed from the count.

    before:
        @T.prim_func
        def f(A: T.Buffer((16,), "int32")):
            for i in range(1, 16, 4):
                A[i] = i

    after:
        @T.prim_func
        def f(A: T.Buffer((16,), "int32")):
            for i in range(4):
                A[i * 4 + 1] = i * 4 + 1
    """
    return _Loops()(func)


class _Loops(Rewriter):
    def visit_For(self, loop: For) -> Any:
        step = loop.step
        if step is None or is_const(step, 1):
            new = self.visit_fields(loop)
            return new if step is None else new.replace(step=None)
        if not isinstance(step, IntImm):
            # a step known at run time only has to be checked there, so the loop stays
            return self.visit_fields(loop)
        if step.value <= 0:
            raise refuse(
                "loop-step",
                f"the loop over `{loop.loop_var.name}` has step {step.value}; it must be positive",
                loop,
            )
        bound, low = named(self.visit(loop.min), f"{loop.loop_var.name}_start")
        extent = self.visit(loop.extent)
        var = Var(loop.loop_var.name, loop.loop_var.ty, loop.loop_var.span)
        self.vars[loop.loop_var] = plus(times(var, step), low)
        body = self.visit(loop.body)
        zero = const(0, var.dtype)
        new = loop.replace(loop_var=var, min=zero, extent=_count(extent, step), step=None, body=body)
        return seq([*bound, new])


def _count(extent: Expr, step: IntImm) -> Expr:
    """How many steps fit: the extent divided by the step, rounded up."""
    if isinstance(extent, IntImm):
        return const(max(-(-extent.value // step.value), 0), extent.dtype)
    # (extent - 1) // step + 1 cannot overflow, and an extent of 0 or less gives 0 or less
    return plus(
        FloorDiv(minus(extent, const(1, extent.dtype)), cast_to(step, extent.ty)), const(1, extent.dtype)
    )
