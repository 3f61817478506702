"""Allocations leave loops and share memory."""

from __future__ import annotations

from typing import Any

from ...ir import (
    AllocBuffer,
    BufferType,
    Call,
    DeclBuffer,
    IfThenElse,
    PointerType,
    PrimFunc,
    PrimType,
    SBlock,
    Stmt,
    Var,
    seq,
)
from ...ir.visitor import Rewriter
from ..context import PassContext
from ..registry import prim_func_pass
from ..scopes import statements
from .elementwise import is_in_place
from .lifetimes import Allocation, Lifetimes

_ALIGNED = 64
"""The bytes that back ends align allocations to."""
_MOST_WASTE = 16
"""How many times larger than needed the memory may be that an allocation takes over."""


@prim_func_pass("tirx.StorageRewrite")
def storage_rewrite(func: PrimFunc, min_bytes: int = 0) -> PrimFunc:
    """Allocations move out of serial loops; one that begins where another ended takes its memory.

    Sharing needs the same element type and scope.  A statement that computes each element of one
    buffer from the element of another at the same place ends the one where the other begins.
    Shared memory of GPUs is left alone, and so are allocations of fewer than `min_bytes` bytes,
    which a back end keeps in registers, and those whose pointer is bound to a name.  What is not
    used is removed.

    before:
        @T.prim_func
        def f(A: T.Buffer((16,), "float32"), D: T.Buffer((16,), "float32")):
            B = T.alloc_buffer((16,))
            C = T.alloc_buffer((16,))
            for i in range(16):
                B[i] = A[i]
            for i in range(16):
                C[i] = B[i] * T.float32(2)
            for i in range(16):
                D[i] = C[15 - i]

    after:
        @T.prim_func
        def f(A: T.Buffer((16,), "float32"), D: T.Buffer((16,), "float32")):
            B = T.alloc_buffer((16,))
            C = T.decl_buffer((16,), data=B.data)
            for i in range(16):
                B[i] = A[i]
            for i in range(16):
                C[i] = B[i] * T.float32(2)
            for i in range(16):
                D[i] = C[15 - i]
    """
    if PassContext.current().get("tirx.disable_storage_rewrite"):
        return func
    found = Lifetimes()
    found(func)
    movable = [a for a in found.allocations if _is_plain(a) and a.bytes_at_least(min_bytes)]
    plan = _Plan(found)
    for one in movable:
        plan.settle(one)
    return _Place(plan)(func) if plan.changes else func


def _is_plain(one: Allocation) -> bool:
    scope = one.type.storage_scope
    simple = scope == "global" or scope.startswith("local")
    return simple and not one.escapes and not any(_demands(k, v) for k, v in one.stmt.annotations.items())


def _demands(key: str, value: Any) -> bool:
    """Whether an annotation of an allocation asks for more than any memory of the back end has."""
    if key == "buffer_data_alignment":
        return int(value) > _ALIGNED
    return key != "buffer_allocated_addr" or len(value) > 0


class _Plan:
    """Where each allocation goes, and whose memory it takes."""

    def __init__(self, found: Lifetimes) -> None:
        self.found = found
        self.owners: list[list[Allocation]] = []
        self.taken: dict[Var, Var] = {}
        self.unused: set[Var] = set()
        self.moved: dict[tuple[int, int], list[Allocation]] = {}

    @property
    def changes(self) -> bool:
        """Whether an allocation goes or moves, or a name is given for a name."""
        names = self.found.names
        chain = any(source in names for source in names.values())
        return chain or bool(self.taken or self.unused or self.moved)

    def root(self, buffer: Var) -> Var:
        """The allocation whose memory the buffer names."""
        own = self.found.root(buffer)
        return self.taken.get(own, own)

    def settle(self, one: Allocation) -> None:
        """Decide over the next allocation, in the order of the text."""
        if not one.used:
            if not any(source is one.buffer for source in self.found.names.values()):
                self.unused.add(one.buffer)
            return
        where, index = one.destination()
        one.place = where
        if where is not one.home:
            self.moved.setdefault((where.number, index), []).append(one)
        for slot in self.owners:
            if self._takes(slot, one):
                slot.append(one)
                self.taken[one.buffer] = slot[0].buffer
                return
        self.owners.append([one])

    def _takes(self, slot: list[Allocation], one: Allocation) -> bool:
        """Whether the memory of the first of these, which the others share, is free for one more."""
        first = slot[0]
        if first.type.dtype is not one.type.dtype or first.type.storage_scope != one.type.storage_scope:
            return False
        need, have = one.size, first.size
        if need is None or have is None or not need <= have <= _MOST_WASTE * need:
            return False
        return first.place.holds(one.place) and all(self._apart(other, one) for other in slot)

    def _apart(self, a: Allocation, b: Allocation) -> bool:
        """Whether one is no longer used when the other is first used."""
        if a.last < b.first or b.last < a.first:
            return True
        early, late = (a, b) if a.first <= b.first else (b, a)
        same = early.home is late.home and early.last_statement == late.first_statement
        return same and is_in_place(early.last_body, early.buffer, late.buffer, self.found.names)


class _Place(Rewriter):
    """Puts the allocations where the plan says, going through scopes in the order of their numbers."""

    def __init__(self, plan: _Plan) -> None:
        super().__init__()
        self.plan = plan
        self.scopes = 0
        self.gone = {one.buffer for group in plan.moved.values() for one in group} | plan.unused

    def visit_PrimFunc(self, func: PrimFunc) -> Any:
        body = self.scope(func.body)
        return func if body is func.body else func.replace(body=body)

    def scope(self, body: Stmt) -> Stmt:
        """The body of a scope with what moved there."""
        number, self.scopes = self.scopes, self.scopes + 1
        old = statements(body)
        made: list[Stmt] = []
        for index, stmt in enumerate(old):
            made += [self.introduce(one.stmt) for one in self.plan.moved.get((number, index), ())]
            if not (isinstance(stmt, AllocBuffer) and stmt.buffer in self.gone):
                made.append(self.visit(stmt))
        same = len(made) == len(old) and all(new is before for new, before in zip(made, old))
        return body if same else seq(made)

    def _body(self, stmt: Any) -> Any:
        body = self.scope(stmt.body)
        return stmt if body is stmt.body else stmt.replace(body=body)

    visit_For = visit_While = visit_AttrStmt = _body

    def visit_IfThenElse(self, stmt: IfThenElse) -> Any:
        then = self.scope(stmt.then_case)
        other = None if stmt.else_case is None else self.scope(stmt.else_case)
        same = then is stmt.then_case and other is stmt.else_case
        return stmt if same else stmt.replace(then_case=then, else_case=other)

    def visit_SBlock(self, block: SBlock) -> Any:
        init = None if block.init is None else self.scope(block.init)
        body = self.scope(block.body)
        return block if init is block.init and body is block.body else block.replace(init=init, body=body)

    def introduce(self, stmt: AllocBuffer) -> Stmt:
        """The allocation, or a name for the memory that it takes."""
        owner = self.plan.taken.get(stmt.buffer)
        return stmt if owner is None else DeclBuffer(stmt.buffer, _pointer(owner), stmt.span)

    def visit_AllocBuffer(self, stmt: AllocBuffer) -> Any:
        return self.introduce(stmt)

    def visit_DeclBuffer(self, stmt: DeclBuffer) -> Any:
        source = self.plan.found.names.get(stmt.buffer)
        root = None if source is None else self.plan.root(source)
        if root is None or root is source:
            return stmt
        assert isinstance(stmt.data, Call)
        return stmt.replace(data=stmt.data.replace(args=(root,)))


def _pointer(buffer: Var) -> Call:
    ty = buffer.ty
    assert isinstance(ty, BufferType)
    return Call("tirx.buffer_data", (buffer,), PointerType(PrimType(ty.dtype), ty.storage_scope))
