"""Barriers between accesses of shared memory by different threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...ir import (
    AllocBuffer,
    AttrStmt,
    Bind,
    Call,
    DeclBuffer,
    Expr,
    For,
    IfThenElse,
    IntImm,
    IterVar,
    Not,
    PrimFunc,
    PrimType,
    Stmt,
    Var,
    const,
    seq,
)
from ...ir.operators import if_then_else
from ...ir.visitor import Rewriter, find
from ..common import refuse
from ..registry import prim_func_pass
from ..speculation import never_fails
from .sync import barrier
from .sync.access import Access, is_plain
from .sync.conflicts import Conflicts
from .sync.flow import Flow, Item
from .sync.insert import Lack, lack
from .sync.threads import Threads

_MOST_THREADS = 1024
_WARP = 32


@prim_func_pass("s_tir.ThreadSync")
def thread_sync(func: PrimFunc, storage_scope: Any) -> PrimFunc:
    """Barriers stand wherever threads of a block exchange values through memory of the scope, and only there.

    The scope is "shared", "shared.dyn", "global" or several of them; "warp" means the memory of a warp and
    its barrier.  Barriers that are there already count.  A barrier never stands where only some threads
    come by: a branch around it is parted where its condition can be asked twice; else PassError.  In global
    memory only threads of one block can wait for each other, and what cannot be told to meet does not count.

    with: storage_scope="shared"

    before:
        @T.prim_func
        def f(A: T.Buffer((64,), "float32")):
            t = T.launch_thread("threadIdx.x", 64)
            S = T.alloc_buffer((64,), scope="shared")
            S[t] = A[t]
            A[t] = S[63 - t]

    after:
        @T.prim_func
        def f(A: T.Buffer((64,), "float32")):
            t = T.launch_thread("threadIdx.x", 64)
            S = T.alloc_buffer((64,), scope="shared")
            S[t] = A[t]
            T.tvm_storage_sync("shared")
            A[t] = S[63 - t]
    """
    scopes = (storage_scope,) if isinstance(storage_scope, str) else tuple(storage_scope)
    return _Kernels(scopes)(func)


class _Kernels(Rewriter):
    """Finds the kernels: what stands below all axes of threads."""

    def __init__(self, scopes: Sequence[str]) -> None:
        super().__init__()
        self.scopes = scopes

    def visit_AttrStmt(self, stmt: AttrStmt) -> Any:
        if stmt.attr_key == "thread_extent" and isinstance(stmt.node, IterVar):
            return _settle(stmt, self.scopes)
        return self.visit_fields(stmt)


def _settle(kernel: Stmt, scopes: Sequence[str]) -> Stmt:
    """The kernel with its barriers."""
    axes: dict[Var, int] = {}
    for attr in find(kernel, AttrStmt):
        axis = attr.node
        if attr.attr_key == "thread_extent" and isinstance(axis, IterVar):
            extent = attr.value.value if isinstance(attr.value, IntImm) else _MOST_THREADS
            if scopes == ("warp",) and axis.thread_tag == "threadIdx.x":
                axes[axis.var] = min(extent, _WARP)
            elif scopes != ("warp",) and axis.thread_tag.startswith("threadIdx"):
                axes[axis.var] = extent
    while True:
        threads = Threads(axes)
        flow = Flow(kernel, threads, scopes)
        needs = _Needs(threads)
        barriers: set[Item] = set()
        parted = None
        while (missing := lack(flow, barriers, needs)) is not None:
            item = missing.place
            divided = next((i for i in item.chain[:-1] if i.apart), None)
            if divided is not None or item in barriers:
                if needs.give_up(missing):
                    continue
                parted = None if divided is None else _part(divided, item)
                if parted is None:
                    raise _refused(missing, divided)
                assert divided is not None
                kernel = _Replace(divided.stmt, parted)(kernel)
                break
            barriers.add(item)
        if parted is None:
            break
    for item in sorted(barriers, key=lambda i: -len(i.chain)):
        if lack(flow, barriers - {item}, needs) is None:
            barriers.remove(item)
    if not barriers:
        return kernel
    # one of shared memory holds for global memory too
    return _rebuilt(flow.items, barriers, next((s for s in scopes if s != "global"), "shared"))


class _Needs:
    """Decides between which accesses threads wait."""

    def __init__(self, threads: Threads) -> None:
        self.conflicts = Conflicts(threads)
        self.given_up: set[tuple[int, int]] = set()

    def __call__(self, first: Access, second: Access, ages: Mapping[Item, int]) -> bool:
        if (id(first), id(second)) in self.given_up:
            return False
        found = self.conflicts.between(first, second, ages)
        return found is True if _is_global(first.root) else found is not False

    def give_up(self, missing: Lack) -> bool:
        """Whether the pair need not count: global memory may be exchanged between kernels only."""
        if not _is_global(missing.first.root):
            return False
        self.given_up.add((id(missing.first), id(missing.second)))
        return True


def _is_global(root: Var) -> bool:
    return (getattr(root.ty, "storage_scope", "") or "global") == "global"


def _refused(missing: Lack, divided: Item | None) -> Exception:
    name = missing.second.root.name
    place = missing.second.item.stmt
    why = "not all threads of a block come by there"
    if divided is not None and isinstance(divided.stmt, For):
        why = f"the loop over `{divided.stmt.loop_var.name}` does not run equally often in all threads"
    return refuse(
        "divergent-barrier",
        f"threads exchange values through `{name}` and cannot wait for each other: {why}",
        place,
        "let all threads take the branch or the loop, and guard the single statements inside",
    )


def _part(divided: Item, item: Item) -> Stmt | None:
    """The branch as several, so that all threads come by between them; None where that is not possible."""
    stmt = divided.stmt
    if not isinstance(stmt, IfThenElse) or not is_plain(stmt.condition) or not never_fails(stmt.condition):
        return None
    inside = {id(i.stmt) for i in item.chain}
    parts: list[Stmt] = []
    for body, condition in ((stmt.then_case, stmt.condition), (stmt.else_case, Not(stmt.condition))):
        if body is not None:
            made = _guarded(body, condition, inside, item.stmt)
            if made is None:
                return None
            parts += made
    return seq(parts)


def _guarded(body: Stmt, condition: Expr, inside: set[int], target: Stmt | None) -> list[Stmt] | None:
    """The statements under the condition each, loops around the target opened; those in a row together."""
    from ..scopes import statements

    made: list[Stmt] = []
    row: list[Stmt] = []

    def close() -> None:
        if row:
            made.append(IfThenElse(condition, seq(row)))
            row.clear()

    for stmt in statements(body):
        opens = id(stmt) in inside
        if opens or isinstance(stmt, AllocBuffer | DeclBuffer | Bind):
            close()
        if isinstance(stmt, AllocBuffer | DeclBuffer):
            made.append(stmt)
        elif isinstance(stmt, Bind):
            value = _bound(stmt, condition)
            if value is None:
                return None
            made.append(value)
        elif opens and stmt is not target and isinstance(stmt, For):
            inner = _guarded(stmt.body, condition, inside, target)
            if inner is None or not (is_plain(stmt.extent) and never_fails(stmt.extent)):
                return None
            made.append(stmt.replace(body=seq(inner)))
        else:
            row.append(stmt)
    close()
    return made


def _bound(stmt: Bind, condition: Expr) -> Stmt | None:
    if never_fails(stmt.value):
        return stmt
    if not isinstance(stmt.value.ty, PrimType) or find(stmt.value, Call):
        return None
    return stmt.replace(value=if_then_else(condition, stmt.value, const(0, stmt.value.dtype)))


class _Replace(Rewriter):
    """Puts a statement in place of another."""

    def __init__(self, old: Stmt | None, new: Stmt) -> None:
        super().__init__()
        self.old, self.new = old, new

    def visit_IfThenElse(self, stmt: IfThenElse) -> Any:
        return self.new if stmt is self.old else self.visit_fields(stmt)


def _rebuilt(items: Sequence[Item], barriers: set[Item], scope: str) -> Stmt:
    """The statements of the items, with a barrier before each of those."""
    made: list[Stmt] = []
    for item in items:
        if item in barriers:
            made.append(barrier(scope))
        stmt = item.stmt
        if stmt is None:
            continue
        bodies = [_rebuilt(b, barriers, scope) for b in item.bodies]
        if isinstance(stmt, IfThenElse):
            other = bodies[1] if len(bodies) > 1 else None
            stmt = stmt.replace(then_case=bodies[0], else_case=other)
        elif bodies:
            stmt = stmt.replace(body=bodies[0])
        made.append(stmt)
    return seq(made)
