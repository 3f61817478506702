"""One variable for each thread axis."""

from __future__ import annotations

from typing import Any

from ...ir import (
    EQ,
    AttrStmt,
    BufferStore,
    Call,
    Evaluate,
    Expr,
    For,
    ForKind,
    IfThenElse,
    IterVar,
    Op,
    PrimFunc,
    PrimType,
    Range,
    Stmt,
    Var,
    const,
)
from ...ir.arith import Analyzer
from ...ir.text import text
from ...ir.visitor import Rewriter, walk
from ..common import both, buffer_type, cast_to, is_const, refuse, widened
from ..registry import prim_func_pass


@prim_func_pass("s_tir.UnifyThreadBinding", "s_tir.LiftThreadBinding")
def unify_thread_binding(func: PrimFunc, guard: bool = False) -> PrimFunc:
    """All loops and launches of one thread axis in a kernel use one variable, launched once on the outside.

    A kernel is what stands below an outermost axis; threads run at the same time, so that only the
    order within a thread counts.  Annotations of an inner loop stay, on a loop of one step.  What stands
    outside of an axis of its kernel is run by all threads of that axis; with `guard`, stores to memory
    that threads share, and calls with effects, are left to the first of them.  Raises
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
    return _Unify(guard)(func)


class _Unify(Rewriter):
    def __init__(self, guard: bool) -> None:
        super().__init__()
        self.ana = Analyzer()
        self.axes: dict[str, IterVar] = {}
        self.guard = guard
        self.inside: list[str] = []
        """The axes of the loops around."""
        self.early: dict[str, Var] = {}
        """The variables of the kernel's axes of threads, for statements that stand outside of their loops."""

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
        if not self.inside:
            self.early = _thread_axes(stmt) if self.guard else {}
        dom = Range(self.visit(dom.min), self.visit(dom.extent))
        if not is_const(dom.min, 0):
            raise refuse("thread-extent", f"the axis `{tag}` starts at another place than 0", stmt)
        known = self.axes.get(tag)
        if known is None:
            own = Var(tag.replace(".", "_"), var.ty, var.span)
            known = self.axes[tag] = IterVar(dom, self.early.get(tag, own), 1, tag, stmt.span)
        else:
            assert known.dom is not None
            if not self.ana.can_prove_equal(*widened(known.dom.extent, dom.extent)):
                raise _different(tag, known.dom.extent, dom.extent, stmt)
        self.vars[var] = cast_to(known.var, var.ty)
        self.inside.append(tag)
        body: Stmt = self.visit(stmt.body)
        self.inside.pop()
        if annotations:
            body = self._annotated(body, annotations)
        return body if self.inside else self._launched(body)

    def _annotated(self, body: Stmt, annotations: Any) -> Stmt:
        one = Var("var", PrimType("int32"))
        return For(one, const(0, "int32"), const(1, "int32"), ForKind.SERIAL, body, annotations=annotations)

    def _launched(self, body: Stmt) -> Stmt:
        """The kernel below the loops over its axes, the one met first outermost."""
        for tag, axis in reversed(self.axes.items()):
            assert axis.dom is not None
            kind = ForKind.THREAD_BINDING
            bound = IterVar(None, Var(tag, axis.var.ty), IterVar.THREAD_INDEX, tag)
            low, extent = axis.dom.min, axis.dom.extent
            body = For(axis.var, low, extent, kind, body, None, bound, span=axis.span)
        self.axes = {}
        return body

    def visit_BufferStore(self, stmt: BufferStore) -> Any:
        return self._left_to_first(stmt, self.visit_fields(stmt))

    def visit_Evaluate(self, stmt: Evaluate) -> Any:
        return self._left_to_first(stmt, self.visit_fields(stmt))

    def _left_to_first(self, old: BufferStore | Evaluate, new: Stmt) -> Stmt:
        """What others can see is done by the first thread of each axis that the statement is outside of."""
        missing = [v for tag, v in self.early.items() if tag not in self.inside] if self.inside else []
        if not missing or not _is_seen(old):
            return new
        condition: Expr | None = None
        for var in missing:
            condition = both(condition, EQ(var, const(0, var.dtype)))
        assert condition is not None
        return IfThenElse(condition, new)


def _different(tag: str, first: Expr, second: Expr, stmt: Any) -> Exception:
    return refuse(
        "thread-extent",
        f"the axis `{tag}` has two different extents in one kernel: {text(first)} and {text(second)}",
        stmt,
        "give all loops that are bound to it one extent, and guard what is not for all threads",
    )


def _thread_axes(kernel: Stmt) -> dict[str, Var]:
    """A variable for each axis of the block's threads in a kernel."""
    found: dict[str, Var] = {}
    for node in walk(kernel, outer_first=True):
        axis = node.thread_binding if isinstance(node, For) else getattr(node, "node", None)
        if isinstance(axis, IterVar) and axis.thread_tag.startswith("threadIdx"):
            var = node.loop_var if isinstance(node, For) else axis.var
            found.setdefault(axis.thread_tag, Var(axis.thread_tag.replace(".", "_"), var.ty, var.span))
    return found


def _is_seen(stmt: BufferStore | Evaluate) -> bool:
    """Whether others see that a thread runs the statement."""
    if isinstance(stmt, BufferStore):
        scope = buffer_type(stmt.buffer).storage_scope or "global"
        return scope == "global" or scope.startswith("shared")
    call = stmt.value
    name = call.op.name if isinstance(call, Call) and isinstance(call.op, Op) else ""
    return name.startswith(("tirx.call_", "tirx.cuda.atomic", "tirx.print"))
