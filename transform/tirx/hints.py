"""Attributes that mean nothing to the target go."""

from __future__ import annotations

from typing import Any

from ...ir import AttrStmt, PrimFunc
from ...ir.visitor import Rewriter
from ..registry import prim_func_pass

MEANINGFUL = ("thread_extent", "virtual_thread")
LATER = ("pragma_auto_unroll_max_step", "pragma_unroll_explicit")
"""What tirx.UnrollLoop reads."""
FOR_DEVICES = (
    *("reduce_scope", "fragment_shape", "fragment_layout"),
    *("async_scope", "async_commit_queue_scope", "async_wait_queue_scope", "async_wait_inflight_count"),
)
"""What s_tir.LowerThreadAllreduce, s_tir.InjectPTXAsyncCopy and emitters for devices read."""


@prim_func_pass("tirx.RemoveHints")
def remove_hints(func: PrimFunc) -> PrimFunc:
    """Attribute statements are replaced by their bodies, but for those that a later pass reads.

    before:
        @T.prim_func
        def f(A: T.Buffer((4,), "int32")):
            with T.attr({"pragma_hint": 1}):
                A[0] = 1

    after:
        @T.prim_func
        def f(A: T.Buffer((4,), "int32")):
            A[0] = 1
    """
    return _Hints()(func)


class _Hints(Rewriter):
    def visit_AttrStmt(self, stmt: AttrStmt) -> Any:
        return (
            self.visit_fields(stmt)
            if stmt.attr_key in MEANINGFUL + LATER + FOR_DEVICES
            else self.visit(stmt.body)
        )
