"""One variable for each thread axis."""

from __future__ import annotations

from typing import Any

from ...ir import AttrStmt, For, ForKind, IterVar, PrimFunc, PrimType, Range, Stmt, Var, const
from ...ir.arith import Analyzer
from ...ir.visitor import Rewriter
from ..common import cast_to, is_const, refuse, widened
from ..registry import prim_func_pass


@prim_func_pass("s_tir.UnifyThreadBinding", "s_tir.LiftThreadBinding")
def unify_thread_binding(func: PrimFunc) -> PrimFunc:
    """All loops and launches of one thread axis in a kernel use one variable, launched once on the outside.

    A kernel is what stands below an outermost axis; threads run at the same time, so that only the
    order within a thread counts.  Annotations of an inner loop stay, on a loop of one step.  Raises
    PassError where the extents of one axis differ within a kernel, or where an axis does not start at 0.

    before:
        @T.prim_func
        def f(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
            for b in T.thread_binding(2, thread="blockIdx.x"):
                for i in T.thread_binding(4, thread="threadIdx.x"):
                    A[b * 4 + i] = 1
                for j in T.thread_binding(4, thread="threadIdx.x"):
                    B[b * 4 + j] = 2

    after:
        @T.prim_func
        def f(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
            for b in T.thread_binding(2, thread="blockIdx.x"):
                for t in T.thread_binding(4, thread="threadIdx.x"):
                    A[b * 4 + t] = 1
                    B[b * 4 + t] = 2
    """
    return _Unify()(func)


class _Unify(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        self.ana = Analyzer()
        self.axes: dict[str, IterVar] = {}
        self.depth = 0

    def visit_For(self, loop: For) -> Any:
        if loop.kind is not ForKind.THREAD_BINDING or loop.thread_binding is None:
            return self.visit_fields(loop)
        dom = Range(loop.min, loop.extent)
        return self._axis(loop, loop.thread_binding.thread_tag, loop.loop_var, dom, loop.annotations)

    def visit_AttrStmt(self, stmt: AttrStmt) -> Any:
        axis = stmt.node
        if stmt.attr_key not in ("thread_extent", "virtual_thread") or not isinstance(axis, IterVar):
            return self.visit_fields(stmt)
        assert axis.dom is not None
        return self._axis(stmt, axis.thread_tag, axis.var, axis.dom, {})

    def _axis(self, stmt: Any, tag: str, var: Var, dom: Range, annotations: Any) -> Stmt:
        dom = Range(self.visit(dom.min), self.visit(dom.extent))
        if not is_const(dom.min, 0):
            raise refuse("thread-axis", f"the axis `{tag}` starts at another place than 0", stmt)
        known = self.axes.get(tag)
        if known is None:
            known = self.axes[tag] = IterVar(dom, Var(tag.replace(".", "_"), var.ty, var.span), 1, tag)
        else:
            assert known.dom is not None
            if not self.ana.can_prove_equal(*widened(known.dom.extent, dom.extent)):
                raise refuse("thread-axis", f"the axis `{tag}` has two different extents in one kernel", stmt)
        self.vars[var] = cast_to(known.var, var.ty)
        self.depth += 1
        body: Stmt = self.visit(stmt.body)
        self.depth -= 1
        if annotations:
            body = self._annotated(body, annotations)
        return body if self.depth else self._launched(body)

    def _annotated(self, body: Stmt, annotations: Any) -> Stmt:
        one = Var("var", PrimType("int32"))
        return For(one, const(0, "int32"), const(1, "int32"), ForKind.SERIAL, body, annotations=annotations)

    def _launched(self, body: Stmt) -> Stmt:
        """The kernel below the loops over its axes, the one met first outermost."""
        for tag, axis in reversed(self.axes.items()):
            assert axis.dom is not None
            kind = ForKind.THREAD_BINDING
            bound = IterVar(None, Var(tag, axis.var.ty), IterVar.THREAD_INDEX, tag)
            body = For(axis.var, axis.dom.min, axis.dom.extent, kind, body, None, bound)
        self.axes = {}
        return body
