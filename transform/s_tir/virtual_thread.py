"""Virtual threads become loops."""

from __future__ import annotations

from typing import Any, Final

from ...ir import AttrStmt, For, ForKind, IntImm, IterVar, PrimFunc, Stmt
from ...ir.visitor import Rewriter
from ..registry import prim_func_pass

MAX_UNROLLED: Final = 16
"""More virtual threads than this run in a loop that stays one."""


@prim_func_pass("s_tir.InjectVirtualThread")
def inject_virtual_thread(func: PrimFunc) -> PrimFunc:
    """The threads of a virtual axis are played one after another, each with its own buffers.

    The loop over them is unrolled where they are few.

    before:
        @T.prim_func
        def f(A: T.Buffer((8, 4), "int32")):
            for i in range(8):
                vx = T.launch_thread("vthread", 4)
                A[i, vx] = i

    after:
        @T.prim_func
        def f(A: T.Buffer((8, 4), "int32")):
            for i in range(8):
                for vx in T.unroll(4):
                    A[i, vx] = i
    """
    return _Inject()(func)


class _Inject(Rewriter):
    def visit_AttrStmt(self, stmt: AttrStmt) -> Any:
        new = self.visit_fields(stmt)
        axis = new.node
        if new.attr_key != "virtual_thread" or not isinstance(axis, IterVar) or axis.dom is None:
            return new
        return _played(new, axis)


def _played(stmt: AttrStmt, axis: IterVar) -> Stmt:
    assert axis.dom is not None
    few = isinstance(stmt.value, IntImm) and stmt.value.value <= MAX_UNROLLED
    kind = ForKind.UNROLLED if few else ForKind.SERIAL
    return For(axis.var, axis.dom.min, stmt.value, kind, stmt.body, span=stmt.span)
