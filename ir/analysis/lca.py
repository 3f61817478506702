"""Where a buffer's accesses meet: the innermost loop or block that holds them all."""

from __future__ import annotations

from collections.abc import Callable

from ...node import Node, runs_deep
from ..expr import BufferLoad, IterVar, Var
from ..function import PrimFunc
from ..stmt import AttrStmt, BufferStore, DeclBuffer, For, ForKind, SBlock, SBlockRealize, Stmt
from ..types import BufferType
from ..visitor import Visitor, walk
from .blocks import is_reduction

Path = tuple[Stmt, ...]
"""Loops and blocks around, outer ones first."""


@runs_deep
def detect_buffer_access_lca(func: PrimFunc) -> dict[Var, Stmt | None]:
    """For each buffer accessed the innermost loop or block that holds all its accesses.

    None stands for the function itself.  What a block accumulates over its reduction axes is accessed
    outside of the loops that run them, and so is all that a block with opaque axes declares to access;
    buffers in global memory are accessed outside of the loops that are bound to thread blocks.  A view
    counts as its source.  Buffers that are declared over other memory are left out.
    """
    finder = _Finder(func)
    finder.visit(func.body)
    return {b: path[-1] if path else None for b, path in finder.found.items()}


_NOWHERE = 1 << 30
"""Deeper than any path."""


class _Finder(Visitor):
    def __init__(self, func: PrimFunc) -> None:
        self.path: Path = ()
        self.found: dict[Var, Path] = {}
        self.views: dict[Var, Var] = {}
        self.declared: set[Var] = set()
        self.outside: list[tuple[frozenset[Var], int]] = []
        self.blocks: int | None = None

    def visit_For(self, loop: For) -> None:
        self.visit(loop.min)
        self.visit(loop.extent)
        kept, self.path = self.path, (*self.path, loop)
        bound = self.blocks
        tag = loop.thread_binding.thread_tag if loop.thread_binding is not None else ""
        if loop.kind is ForKind.THREAD_BINDING and tag.startswith("blockIdx"):
            self.blocks = len(self.path)
        self.visit(loop.body)
        self.path, self.blocks = kept, bound

    def visit_AttrStmt(self, stmt: AttrStmt) -> None:
        self.visit_value(stmt.value)
        self.visit(stmt.body)

    def visit_SBlockRealize(self, stmt: SBlockRealize) -> None:
        for value in stmt.iter_values:
            self.visit(value)
        self.visit(stmt.predicate)
        block = stmt.block
        depth, opaque = self.depth_of(stmt, is_reduction), self.depth_of(stmt, _is_opaque)
        kept, self.path = self.path, (*self.path, block)
        for match in block.match_buffers:
            self.views[match.buffer] = match.source.buffer
            self.access(match.source.buffer)
        written = frozenset([self.root(r.buffer) for r in block.writes])
        accessed = frozenset([self.root(r.buffer) for r in (*block.reads, *block.writes)])
        self.outside += [(written, depth), (accessed, opaque)]
        if block.init is not None:
            self.visit(block.init)
        self.visit(block.body)
        del self.outside[-2:]
        self.path = kept

    def depth_of(self, stmt: SBlockRealize, chosen: Callable[[IterVar], bool]) -> int:
        """How many of the loops and blocks around stand outside of the loops that run the chosen axes."""
        used: set[Node] = set()
        for axis, value in zip(stmt.block.iter_vars, stmt.iter_values, strict=True):
            if chosen(axis):
                used.update([v for v in walk(value) if isinstance(v, Var)])
        for at, around in enumerate(self.path):
            if isinstance(around, For) and around.loop_var in used:
                return at
        return _NOWHERE

    def visit_SBlock(self, block: SBlock) -> None:
        """Blocks are visited with their bindings."""

    def visit_DeclBuffer(self, stmt: DeclBuffer) -> None:
        self.declared.add(stmt.buffer)
        self.visit(stmt.data)

    def visit_BufferLoad(self, e: BufferLoad) -> None:
        self.access(e.buffer)
        for index in e.indices:
            self.visit(index)

    def visit_BufferStore(self, stmt: BufferStore) -> None:
        self.access(stmt.buffer)
        for index in stmt.indices:
            self.visit(index)
        self.visit(stmt.value)

    def visit_Var(self, var: Var) -> None:
        if isinstance(var.ty, BufferType):
            self.access(var)

    def root(self, buffer: Var) -> Var:
        while buffer in self.views:
            buffer = self.views[buffer]
        return buffer

    def access(self, buffer: Var) -> None:
        buffer = self.root(buffer)
        if buffer in self.declared:
            return
        depth = len(self.path)
        for written, outside in self.outside:
            if buffer in written:
                depth = min(depth, outside)
        ty = buffer.ty
        assert isinstance(ty, BufferType)
        if self.blocks is not None and ty.storage_scope == "global":
            depth = min(depth, self.blocks)
        path = self.path[:depth]
        old = self.found.get(buffer)
        self.found[buffer] = path if old is None else _common(old, path)


def _is_opaque(axis: IterVar) -> bool:
    return axis.iter_type == IterVar.OPAQUE


def _common(a: Path, b: Path) -> Path:
    n = 0
    while n < min(len(a), len(b)) and a[n] is b[n]:
        n += 1
    return a[:n]


__all__ = ["detect_buffer_access_lca"]
