"""From where to where allocations are in use, and how far out they may move."""

from __future__ import annotations

from typing import Any

from ...ir import (
    AllocBuffer,
    AttrStmt,
    Bind,
    BufferType,
    Call,
    DeclBuffer,
    For,
    ForKind,
    IfThenElse,
    IntImm,
    Op,
    PrimFunc,
    PrimType,
    SBlock,
    Stmt,
    Var,
    While,
)
from ...ir.visitor import Visitor, type_vars, walk
from ..common import buffer_type
from ..scopes import statements


class Scope:
    """A body: of the function, of a loop, of a branch.

    `open` says that an allocation may move from here to the scope outside, before the statement that
    this scope belongs to.  `team` is the innermost scope around that several threads run.
    """

    def __init__(self, number: int, outside: Scope | None, opened: bool, team: Scope | None) -> None:
        self.number, self.outside, self.open = number, outside, opened
        self.team: Scope = self if team is None else team
        self.defined: set[Var] = set()
        self.index = 0
        self.spans: list[tuple[int, int]] = []
        self.stmts: list[Stmt] = []

    def holds(self, inner: Scope) -> bool:
        """Whether what is allocated here can be used there, by the same thread."""
        at: Scope | None = inner
        while at is not None and at is not self:
            at = at.outside
        return at is self and inner.team is self.team


class Allocation:
    """One allocation: where it stands, and the statements of its scope that use it first and last."""

    def __init__(self, stmt: AllocBuffer, home: Scope) -> None:
        self.stmt, self.home = stmt, home
        self.outer = [(home, home.index)]
        at = home
        while at.outside is not None:
            at = at.outside
            self.outer.append((at, at.index))
        self.place = home
        self.used = self.escapes = False
        self.first_statement = self.last_statement = -1

    @property
    def buffer(self) -> Var:
        """The buffer."""
        return self.stmt.buffer

    @property
    def type(self) -> BufferType:
        """The buffer's type."""
        return buffer_type(self.stmt.buffer)

    @property
    def size(self) -> int | None:
        """How many elements it has; None where that is not constant."""
        count = 1
        for extent in self.type.shape:
            if not isinstance(extent, IntImm):
                return None
            count *= extent.value
        return None if self.type.strides else count

    def bytes_at_least(self, limit: int) -> bool:
        """Whether it takes so many bytes, as far as known."""
        dtype = self.type.dtype
        return self.size is None or self.size * dtype.bits * dtype.lanes >= 8 * limit

    def use(self) -> None:
        """The statement at hand uses the buffer."""
        if not self.used:
            self.used, self.first_statement = True, self.home.index
        self.last_statement = self.home.index

    @property
    def first(self) -> int:
        """When it is first used."""
        return self.home.spans[self.first_statement][0]

    @property
    def last(self) -> int:
        """When it is last used."""
        return self.home.spans[self.last_statement][1]

    @property
    def last_body(self) -> Stmt:
        """The statement of its scope that uses it last."""
        return self.home.stmts[self.last_statement]

    def destination(self) -> tuple[Scope, int]:
        """The outermost scope it may move to, and the statement there that it must stand before."""
        needs = set(type_vars(self.type))
        for scope, index in self.outer:
            if not scope.open or needs & scope.defined:
                return scope, index
        return self.outer[-1]


class Lifetimes(Visitor):
    """All allocations of a function, in the order of the text. Scopes are numbered in that order too."""

    def __init__(self) -> None:
        self.allocations: list[Allocation] = []
        self.names: dict[Var, Var] = {}
        """Declared buffers, and the buffers whose pointer they were given."""
        self._by_buffer: dict[Var, Allocation] = {}
        self._scope: Scope | None = None
        self._count = self._time = 0

    def root(self, buffer: Var) -> Var:
        """The buffer whose memory this one names."""
        while buffer in self.names:
            buffer = self.names[buffer]
        return buffer

    def visit_PrimFunc(self, func: PrimFunc) -> None:
        self.scope(func.body, opened=False, team=True)

    def scope(self, body: Stmt, *, opened: bool, team: bool = False) -> None:
        """Go through a body as a scope of its own."""
        outside = self._scope
        own = Scope(self._count, outside, opened, None if team or outside is None else outside.team)
        self._count += 1
        self._scope = own
        own.stmts = statements(body)
        for index, stmt in enumerate(own.stmts):
            own.index = index
            self._time += 1
            start = self._time
            self.visit(stmt)
            own.spans.append((start, self._time))
        self._scope = outside

    def visit_For(self, loop: For) -> None:
        self.visit(loop.min)
        self.visit(loop.extent)
        serial = loop.kind in (ForKind.SERIAL, ForKind.UNROLLED)
        self.scope(loop.body, opened=serial, team=not serial)

    def visit_While(self, loop: While) -> None:
        self.visit(loop.condition)
        self.scope(loop.body, opened=True)

    def visit_IfThenElse(self, stmt: IfThenElse) -> None:
        self.visit(stmt.condition)
        self.scope(stmt.then_case, opened=False)
        if stmt.else_case is not None:
            self.scope(stmt.else_case, opened=False)

    def visit_AttrStmt(self, stmt: AttrStmt) -> None:
        self.visit_value((stmt.node, stmt.value))
        self.scope(stmt.body, opened=False, team=stmt.attr_key == "thread_extent")

    def visit_SBlock(self, block: SBlock) -> None:
        for region in (*block.reads, *block.writes, *[m.source for m in block.match_buffers]):
            self.visit(region)
        for part in (block.init, block.body):
            if part is not None:
                self.scope(part, opened=False)

    def visit_Bind(self, stmt: Bind) -> None:
        self.visit(stmt.value)
        assert self._scope is not None
        self._scope.defined.add(stmt.var)
        if not isinstance(stmt.value.ty, PrimType):
            self._escape(stmt.value)

    def _escape(self, value: Any) -> None:
        for node in walk(value):
            if isinstance(node, Var) and self.root(node) in self._by_buffer:
                self._by_buffer[self.root(node)].escapes = True

    def visit_AllocBuffer(self, stmt: AllocBuffer) -> None:
        assert self._scope is not None
        self.visit(stmt.buffer.ty)
        one = Allocation(stmt, self._scope)
        self.allocations.append(one)
        self._by_buffer[stmt.buffer] = one
        self._scope.defined.add(stmt.buffer)

    def visit_DeclBuffer(self, stmt: DeclBuffer) -> None:
        assert self._scope is not None
        self.visit(stmt.buffer.ty)
        self._scope.defined.add(stmt.buffer)
        source = named_buffer(stmt.data)
        if source is not None:
            self.names[stmt.buffer] = source
        else:
            self.visit(stmt.data)
            self._escape(stmt.data)

    def visit_Var(self, var: Var) -> None:
        one = self._by_buffer.get(self.root(var))
        if one is not None:
            one.use()


def named_buffer(data: Any) -> Var | None:
    """The buffer of `buffer.data`, or None for other pointers."""
    if isinstance(data, Call) and isinstance(data.op, Op) and data.op.name == "tirx.buffer_data":
        source = data.args[0]
        return source if isinstance(source, Var) else None
    return None
