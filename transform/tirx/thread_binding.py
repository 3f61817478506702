"""Thread axes have no meaning on a CPU."""

from __future__ import annotations

from typing import Any

from ...ir import AttrStmt, For, ForKind, IterVar, PrimFunc
from ...ir.visitor import Rewriter
from ..common import refuse
from ..registry import prim_func_pass
from .hints import MEANINGFUL


@prim_func_pass("tirx.LowerVirtualThread")
def lower_virtual_thread(func: PrimFunc) -> PrimFunc:
    """Loops bound to a virtual thread become serial; one bound to a GPU's axis is refused by name.

    before:
        @T.prim_func
        def f(A: T.Buffer((4,), "int32")):
            for i in T.thread_binding(4, thread="vthread"):
                A[i] = i

    after:
        @T.prim_func
        def f(A: T.Buffer((4,), "int32")):
            for i in range(4):
                A[i] = i
    """
    return _Threads()(func)


class _Threads(Rewriter):
    def visit_For(self, loop: For) -> Any:
        loop = self.visit_fields(loop)
        if loop.kind is not ForKind.THREAD_BINDING:
            return loop
        tag = loop.thread_binding.thread_tag if loop.thread_binding is not None else ""
        if not (tag.startswith("vthread") or tag == "cthread"):
            raise refuse(
                "thread-on-cpu",
                f"the loop over `{loop.loop_var.name}` is bound to `{tag}`, which a CPU target does not have",
                loop,
                "build for a GPU target, or use T.parallel or range",
            )
        return loop.replace(kind=ForKind.SERIAL, thread_binding=None)

    def visit_AttrStmt(self, stmt: AttrStmt) -> Any:
        if stmt.attr_key in MEANINGFUL:
            known = isinstance(stmt.node, IterVar)
            tag = stmt.node.thread_tag if known else stmt.attr_key
            name = stmt.node.var.name if known else tag
            raise refuse(
                "thread-on-cpu",
                f"`{name}` runs on the axis `{tag}`, which a CPU target does not have",
                stmt,
                "build for a GPU target, or use T.parallel or range",
            )
        return self.visit_fields(stmt)
