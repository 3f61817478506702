"""Memory on the chip lives in the kernels that use it."""

from __future__ import annotations

from typing import Any

from ...ir import AllocBuffer, AttrStmt, For, ForKind, IterVar, PrimFunc, SeqStmt, Stmt, Var, seq
from ...ir.visitor import Rewriter, children, walk
from ...target import Target
from ..common import buffer_type, refuse
from ..registry import prim_func_pass


@prim_func_pass("s_tir.MoveOnChipMemory")
def move_on_chip_memory(func: PrimFunc) -> PrimFunc:
    """What is allocated outside of all kernels in another memory than global is allocated in its kernel.

    It stands below the axes of the kernel's threads.  Raises PassError where several kernels use it: such
    memory does not outlive a kernel.

    before:
        @T.prim_func
        def f(A: T.Buffer((8,), "float32")):
            S = T.alloc_buffer((8,), scope="shared")
            for t in T.thread_binding(8, thread="threadIdx.x"):
                S[t] = A[t]
                A[t] = S[t]

    after:
        @T.prim_func
        def f(A: T.Buffer((8,), "float32")):
            for t in T.thread_binding(8, thread="threadIdx.x"):
                S = T.alloc_buffer((8,), scope="shared")
                S[t] = A[t]
                A[t] = S[t]
    """
    return _Move()(func)


def is_on_chip(buffer: Var) -> bool:
    """Whether the buffer is in memory that belongs to a thread or a block of threads."""
    return (buffer_type(buffer).storage_scope or "global") not in ("global", "texture")


def launches(stmt: Any) -> bool:
    """Whether the statement runs its body on an axis of threads."""
    if isinstance(stmt, For):
        return stmt.kind is ForKind.THREAD_BINDING
    return isinstance(stmt, AttrStmt) and stmt.attr_key == "thread_extent" and isinstance(stmt.node, IterVar)


def is_for_threads(func: PrimFunc) -> bool:
    """Whether the function is private to a device: threads of kernels call it, each for itself."""
    target = func.attrs.get("target")
    if not isinstance(target, Target) or target.host is not None or "gpu" not in target.keys:
        return False
    return "global_symbol" not in func.attrs and not any(launches(n) for n in walk(func.body))


class _Move(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        self.homes: dict[int, list[Stmt]] = {}

    def visit_SeqStmt(self, stmt: SeqStmt) -> Any:
        kept: list[Stmt] = []
        for place, one in enumerate(stmt.seq):
            if isinstance(one, AllocBuffer) and is_on_chip(one.buffer):
                kernels = [k for s in stmt.seq[place + 1 :] for k in _kernels(s) if one.buffer in _used(k)]
                if len(kernels) > 1:
                    raise refuse(
                        "on-chip-memory",
                        f"`{one.buffer.name}` is in `{buffer_type(one.buffer).storage_scope}` memory, "
                        f"which does not outlive a kernel, and {len(kernels)} kernels use it",
                        one,
                        "let it be in global memory, or use it within one kernel",
                    )
                if kernels:
                    self.homes.setdefault(id(kernels[0]), []).append(one)
                    continue
            kept.append(one)
        made = [self.visit(s) for s in kept]
        same = len(made) == len(stmt.seq) and all(a is b for a, b in zip(made, stmt.seq))
        return stmt if same else seq(made)

    def _axis(self, stmt: Any) -> Any:
        if not launches(stmt):
            return self.visit_fields(stmt)
        return _below(stmt, self.homes.pop(id(stmt), []))

    visit_For = visit_AttrStmt = _axis


def _below(stmt: Any, allocations: list[Stmt]) -> Any:
    """The statement with the allocations below all axes that follow each other."""
    if not allocations:
        return stmt
    inner = stmt.body
    if launches(inner):
        return stmt.replace(body=_below(inner, allocations))
    return stmt.replace(body=seq([*allocations, inner]))


def _kernels(stmt: Stmt) -> list[Stmt]:
    """The outermost statements that launch threads."""
    if launches(stmt):
        return [stmt]
    return [k for c in children(stmt) if isinstance(c, Stmt) for k in _kernels(c)]


def _used(stmt: Stmt) -> set[Any]:
    return {n for n in walk(stmt) if isinstance(n, Var)}
