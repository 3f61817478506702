"""Which buffers matter where: what is live, from where to where, and which stores nobody reads."""

from __future__ import annotations

from ...node import Node, runs_deep
from ..expr import BufferLoad, BufferRegion, Call, Expr, IntImm, Var
from ..function import PrimFunc
from ..op import Op
from ..stmt import (
    AllocBuffer,
    AttrStmt,
    Break,
    BufferStore,
    Continue,
    DeclBuffer,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    MatchBufferRegion,
    SBlock,
    SBlockRealize,
    SeqStmt,
    Stmt,
    While,
)
from ..types import BufferType
from ..visitor import walk


@runs_deep
def dead_stores(func: PrimFunc) -> list[BufferStore]:
    """The stores that no later read, and no caller, can see; without them the results are the same.

    They are into buffers that the function allocates.  A buffer counts as one thing, except that a
    store to a buffer of one element ends what was stored there before.  Buffers whose pointers are
    handed out, or that have further names, are always read.
    """
    return _Liveness(func).dead


@runs_deep
def live_ranges(func: PrimFunc) -> dict[Var, tuple[int, int]]:
    """For each buffer that the function allocates the first and the last place where it is accessed.

    Places are the statements of the body, counted in the order of the text.  A loop that does not
    hold the allocation keeps what is accessed in it alive to its end, and from its begin.  Buffers
    that are not accessed are left out.
    """
    ranges = _Ranges()
    ranges.visit(func.body, ())
    return {b: r for b, r in ranges.found.items() if b in ranges.home}


def escaping(func: PrimFunc) -> set[Var]:
    """The buffers whose memory may be accessed in other ways than by loads and stores of their names."""
    found: set[Var] = set()
    for node in walk(func.body):
        if isinstance(node, Call):
            for arg in node.args:
                if isinstance(arg, Var) and isinstance(arg.ty, BufferType):
                    found.add(arg)
                elif isinstance(arg, BufferLoad) and _is(node, "tirx.address_of"):
                    found.add(arg.buffer)
                elif isinstance(arg, BufferRegion):
                    found.add(arg.buffer)
        elif isinstance(node, MatchBufferRegion):
            found.update((node.source.buffer, node.buffer))
        elif isinstance(node, DeclBuffer):
            found.add(node.buffer)
            found.update([v for v in walk(node.data) if isinstance(v, Var)])
    return found


def _is(call: Call, name: str) -> bool:
    return isinstance(call.op, Op) and call.op.name == name


def _jumps(value: Expr) -> bool:
    return isinstance(value, Call) and (_is(value, "tirx.break_loop") or _is(value, "tirx.continue_loop"))


class _Liveness:
    """Goes backwards; `live` are the buffers that may be read later."""

    def __init__(self, func: PrimFunc) -> None:
        self.own = allocated(func.body) - escaping(func)
        self.dead: list[BufferStore] = []
        self.marking = True
        self.killing = True
        self.around: frozenset[Var] = frozenset()
        self.stmt(func.body, frozenset())
        self.dead.reverse()

    def stmt(self, stmt: Stmt, live: frozenset[Var]) -> frozenset[Var]:
        """What is live before the statement, given what is live after it."""
        if isinstance(stmt, SeqStmt):
            for s in reversed(stmt.seq):
                live = self.stmt(s, live)
            return live
        if isinstance(stmt, For | While):
            return self.loop(stmt, live)
        if isinstance(stmt, IfThenElse):
            after = self.stmt(stmt.then_case, live)
            other = live if stmt.else_case is None else self.stmt(stmt.else_case, live)
            return after | other | self.reads(stmt.condition)
        if isinstance(stmt, AttrStmt):
            return self.stmt(stmt.body, live)
        if isinstance(stmt, SBlockRealize):
            return self.block(stmt, live)
        if isinstance(stmt, BufferStore):
            return self.store(stmt, live)
        if isinstance(stmt, Break | Continue) or isinstance(stmt, Evaluate) and _jumps(stmt.value):
            return live | self.around
        return live | self.reads(stmt)

    def loop(self, loop: For | While, live: frozenset[Var]) -> frozenset[Var]:
        head = self.reads(loop.condition) if isinstance(loop, While) else frozenset()
        saved = self.marking, self.killing, self.around
        self.marking = False
        if isinstance(loop, For) and loop.kind not in (ForKind.SERIAL, ForKind.UNROLLED):
            self.killing = False  # iterations do not follow each other
        around = live | head
        while True:
            self.around = around
            before = self.stmt(loop.body, around) | head
            if before <= around:
                break
            around |= before
        self.marking = saved[0]
        if self.marking:
            self.stmt(loop.body, around)
        self.marking, self.killing, self.around = saved
        return around | (self.reads(loop.min) | self.reads(loop.extent) if isinstance(loop, For) else head)

    def block(self, stmt: SBlockRealize, live: frozenset[Var]) -> frozenset[Var]:
        block = stmt.block
        # a guarded or first run may not happen: nothing ends by it
        inside = self.stmt(block.body, live)
        if block.init is not None:
            inside |= self.stmt(block.init, inside | live)
        for value in (*stmt.iter_values, stmt.predicate):
            inside |= self.reads(value)
        return inside | live

    def store(self, stmt: BufferStore, live: frozenset[Var]) -> frozenset[Var]:
        buffer = stmt.buffer
        if buffer in self.own:
            if buffer not in live:
                if self.marking:
                    self.dead.append(stmt)
                # its operands are read all the same as long as it stands
            elif self.killing and _one_element(buffer):
                live = live - {buffer}
        found = live | self.reads(stmt.value)
        for index in stmt.indices:
            found |= self.reads(index)
        return found

    def reads(self, node: Node) -> frozenset[Var]:
        return frozenset([n.buffer for n in walk(node) if isinstance(n, BufferLoad)])


def _one_element(buffer: Var) -> bool:
    ty = buffer.ty
    assert isinstance(ty, BufferType)
    for extent in ty.shape:
        if not isinstance(extent, IntImm) or extent.value != 1:
            return False
    return True


def allocated(stmt: Stmt) -> set[Var]:
    """The buffers that are allocated in a statement."""
    found: set[Var] = set()
    for node in walk(stmt):
        if isinstance(node, AllocBuffer):
            found.add(node.buffer)
        elif isinstance(node, SBlock):
            found.update(node.alloc_buffers)
    return found


class _Ranges:
    """Numbers the statements; `loops` are the loops around, by number, with where they begin."""

    def __init__(self) -> None:
        self.place = 0
        self.home: dict[Var, int] = {}
        self.found: dict[Var, tuple[int, int]] = {}

    def visit(self, stmt: Stmt, loops: tuple[int, ...]) -> None:
        """Number a statement and what stands in it."""
        if isinstance(stmt, SeqStmt):
            for s in stmt.seq:
                self.visit(s, loops)
            return
        here = self.place
        self.place += 1
        if isinstance(stmt, AllocBuffer):
            self.home[stmt.buffer] = len(loops)
            return
        touched: dict[Var, None] = {}
        if isinstance(stmt, For | While):
            head = (stmt.min, stmt.extent) if isinstance(stmt, For) else (stmt.condition,)
            self.note(head, touched)
            before = dict(self.found)
            self.visit(stmt.body, (*loops, here))
            self.widen(before, here, len(loops))
        elif isinstance(stmt, IfThenElse):
            self.note((stmt.condition,), touched)
            self.visit(stmt.then_case, loops)
            if stmt.else_case is not None:
                self.visit(stmt.else_case, loops)
        elif isinstance(stmt, AttrStmt):
            self.visit(stmt.body, loops)
        elif isinstance(stmt, SBlockRealize):
            self.block(stmt, loops, touched)
        else:
            self.note((stmt,), touched)
        for buffer in touched:
            self.access(buffer, here)

    def block(self, stmt: SBlockRealize, loops: tuple[int, ...], touched: dict[Var, None]) -> None:
        self.note((*stmt.iter_values, stmt.predicate), touched)
        for match in stmt.block.match_buffers:
            touched[match.source.buffer] = None
        for buffer in stmt.block.alloc_buffers:
            self.home[buffer] = len(loops)
        if stmt.block.init is not None:
            self.visit(stmt.block.init, loops)
        self.visit(stmt.block.body, loops)

    def widen(self, before: dict[Var, tuple[int, int]], start: int, depth: int) -> None:
        """What is accessed in a loop and allocated outside stays from its begin to its end."""
        for buffer, (_, last) in list(self.found.items()):
            if last >= start and self.home.get(buffer, -1) <= depth:
                first = before[buffer][0] if buffer in before else start
                self.found[buffer] = min(first, start), self.place - 1

    def note(self, nodes: tuple[Node, ...], touched: dict[Var, None]) -> None:
        for top in nodes:
            for node in walk(top):
                if isinstance(node, BufferLoad | BufferStore):
                    touched[node.buffer] = None
                elif isinstance(node, Var) and isinstance(node.ty, BufferType):
                    touched[node] = None

    def access(self, buffer: Var, place: int) -> None:
        first, last = self.found.get(buffer, (place, place))
        self.found[buffer] = min(first, place), max(last, place)


__all__ = ["allocated", "dead_stores", "escaping", "live_ranges"]
