"""The statements of a kernel as the flow of control that all threads of a block share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ....ir import (
    GE,
    LT,
    AllocBuffer,
    AttrStmt,
    Bind,
    Break,
    Call,
    Continue,
    DeclBuffer,
    Evaluate,
    Expr,
    For,
    IfThenElse,
    IntImm,
    Not,
    Op,
    PrimType,
    Stmt,
    Var,
    While,
)
from ....ir.visitor import find
from ...common import plus
from ...loops import jumps_out
from ...scopes import statements
from . import DISJOINT
from .access import Access, Accesses, Names, is_plain
from .threads import Threads
from .uniform import Uniform

BARRIERS = ("tirx.tvm_storage_sync", "tirx.cuda.cta_sync", "tirx.cuda.grid_sync", "tirx.cuda.cluster_sync")
_WAIT, _COMMIT = "tirx.ptx.cp_async_wait_group", "tirx.ptx.cp_async_commit_group"


class Item:
    """A statement in the flow, with its accesses, those of what stands in it apart.

    `bodies` are the sequences inside: one for a loop, one or two for a branch.  `apart` says that not all
    threads may come to what is inside at the same time.  An item without a statement ends the body of a
    `while`, where its condition is read again.
    """

    def __init__(self, stmt: Stmt | None, around: tuple[Item, ...]) -> None:
        self.stmt = stmt
        self.accesses: list[Access] = []
        self.bodies: list[list[Item]] = []
        self.loop = self.apart = self.maybe = self.barrier = self.commit = False
        self.exact = False
        """Whether the values of a loop's variable are known one by one."""
        self.var: Var | None = None
        self.step = 1
        self.count: int | None = None
        """How many iterations a loop has, where that is known."""
        self.wait: int | None = None
        self.chain: tuple[Item, ...] = (*around, self)
        """What is around, outermost first, and the item itself."""


class Flow:
    """The flow of a kernel's body."""

    def __init__(self, kernel: Stmt, threads: Threads, scopes: Iterable[str]) -> None:
        self.names = Names(tuple(scopes))
        self.threads = threads
        self.uniform = Uniform(kernel)
        self.apart: set[Var] = set()
        """Allocations whose views have no memory in common."""
        self.loops: list[Item] = []
        self.guards: list[Expr] = []
        self.waits = 0
        """The most groups of copies that a wait leaves in flight."""
        self._landings: dict[tuple[int, int], Access] = {}
        self.items = self.sequence(kernel, ())

    def landings(self, access: Access, item: Item) -> Access:
        """The write of a copy in flight as it happens at a wait."""
        key = (id(access), id(item))
        if key not in self._landings:
            made = Access(access.root, access.index, access.bits, access.guards, write=True)
            made.loops, made.item = access.loops, item
            self._landings[key] = made
        return self._landings[key]

    def sequence(self, body: Stmt, around: tuple[Item, ...]) -> list[Item]:
        """The items of a body."""
        made = []
        for stmt in statements(body):
            item = Item(stmt, around)
            made.append(item)
            self.fill(item, stmt)
        return made

    def fill(self, item: Item, stmt: Stmt) -> None:
        """Accesses and inner sequences of an item."""
        if isinstance(stmt, For):
            self._loop(item, stmt)
        elif isinstance(stmt, While):
            item.loop = item.maybe = True
            item.apart = not self.uniform.same(stmt.condition)
            self.read(item, stmt.condition)
            self.loops.append(item)
            again = Item(None, item.chain)
            item.bodies = [[*self.sequence(stmt.body, item.chain), again]]
            self.read(again, stmt.condition)
            self.loops.pop()
        elif isinstance(stmt, IfThenElse):
            self._branch(item, stmt)
        elif isinstance(stmt, AttrStmt):
            item.bodies = [self.sequence(stmt.body, item.chain)]
        else:
            self._leaf(item, stmt)

    def _loop(self, item: Item, stmt: For) -> None:
        item.loop = True
        item.apart = not (self.uniform.same(stmt.min) and self.uniform.same(stmt.extent))
        item.var = stmt.loop_var
        item.maybe = not (isinstance(stmt.extent, IntImm) and stmt.extent.value > 0)
        if not item.maybe and stmt.step is None and not jumps_out(stmt.body):
            item.count = stmt.extent.value  # type: ignore[attr-defined]
        if isinstance(stmt.step, IntImm):
            item.step = stmt.step.value
        item.exact = item.count is not None and isinstance(stmt.min, IntImm)
        self.read(item, stmt.min, stmt.extent)
        self.threads.declare(stmt)
        guards = self._range(stmt) if item.apart else []
        self.guards += guards
        self.loops.append(item)
        item.bodies = [self.sequence(stmt.body, item.chain)]
        self.loops.pop()
        del self.guards[len(self.guards) - len(guards) :]

    def _range(self, loop: For) -> list[Expr]:
        """What holds of the loop variable, as far as it can be told anywhere."""
        low, extent = self.names.resolve(loop.min), self.names.resolve(loop.extent)
        if not (is_plain(low) and is_plain(extent)):
            return []
        return [GE(loop.loop_var, low), LT(loop.loop_var, plus(low, extent))]

    def _branch(self, item: Item, stmt: IfThenElse) -> None:
        item.maybe = stmt.else_case is None
        item.apart = not self.uniform.same(stmt.condition)
        self.read(item, stmt.condition)
        condition = self.names.resolve(stmt.condition)
        known = is_plain(condition)
        for case, guard in ((stmt.then_case, condition), (stmt.else_case, Not(condition))):
            if case is None:
                continue
            if known:
                self.guards.append(guard)
            item.bodies.append(self.sequence(case, item.chain))
            if known:
                self.guards.pop()

    def _leaf(self, item: Item, stmt: Stmt) -> None:
        if isinstance(stmt, AllocBuffer) and stmt.annotations.get(DISJOINT):
            self.apart.add(stmt.buffer)
        if isinstance(stmt, DeclBuffer):
            source = self.names.pointed(stmt.data)
            if source is not None and source not in self.apart:
                self.names.roots[stmt.buffer] = source
            return
        if isinstance(stmt, Bind):
            if not isinstance(stmt.value.ty, PrimType):
                source = self.names.pointed(stmt.value)
                if source is not None:
                    self.names.roots[stmt.var] = source
                return
            value = self.names.resolve(stmt.value)
            if is_plain(value) and not self.names.opaque & set(find(value, Var)):
                self.names.values[stmt.var] = value
            else:
                self.names.opaque.add(stmt.var)
            self.read(item, stmt.value)
        elif isinstance(stmt, Evaluate):
            self._evaluate(item, stmt)
        elif not isinstance(stmt, AllocBuffer | Break | Continue):
            self.read(item, stmt)

    def _evaluate(self, item: Item, stmt: Evaluate) -> None:
        call = stmt.value
        name = call.op.name if isinstance(call, Call) and isinstance(call.op, Op) else ""
        if name in BARRIERS:
            scope = getattr(call.args[0], "value", "") if name == BARRIERS[0] else "shared"  # type: ignore[attr-defined]
            item.barrier = str(scope) != "warp" or self.names.scopes == ("warp",)
        elif name == _COMMIT:
            item.commit = True
        elif name == _WAIT:
            count = call.args[0]  # type: ignore[attr-defined]
            item.wait = count.value if isinstance(count, IntImm) else 0
            self.waits = max(self.waits, item.wait)
        self.read(item, stmt.value)

    def read(self, item: Item, *nodes: Any) -> None:
        """Note the accesses in these nodes."""
        for node in nodes:
            finder = Accesses(self.names, self.guards)
            finder.visit(node)
            for access in finder.found:
                access.loops, access.item = tuple(self.loops), item
            item.accesses += finder.found
