"""What a block accesses, kept apart by how: reads, writes, and accesses whose kind is not known."""

from __future__ import annotations

from collections.abc import Iterable

from ...node import runs_deep
from ..equal import structural_equal
from ..expr import BufferRegion, Call, Expr, Range, Var, const
from ..op import Op
from ..stmt import DeclBuffer, Stmt
from ..types import BufferType
from .regions import READ, WRITE, _Finder

OPAQUE = 4
Regions = tuple[BufferRegion, ...]


@runs_deep
def access_regions(node: Stmt, buffers: Iterable[Var]) -> tuple[Regions, Regions, Regions]:
    """The regions of these buffers that a block, or any statement, reads, writes, accesses through pointers.

    Each buffer appears once in each, in the order of the first access.  What is accessed through
    pointers counts whole.  A buffer that is declared over another's memory with the same
    shape counts as that buffer.
    """
    finder = _ByKind(node)
    finder.enter(node)
    chosen = set(buffers)
    reads, writes, opaque = (
        tuple([r for r in finder.regions(mode) if r.buffer in chosen]) for mode in (READ, WRITE, OPAQUE)
    )
    return reads, writes, opaque


@runs_deep
def read_write_regions(node: Stmt, buffers: Iterable[Var]) -> tuple[Regions, Regions]:
    """The regions of these buffers that are read and written; what pointers may do counts as both."""
    finder = _ByKind(node, apart=False)
    finder.enter(node)
    chosen = set(buffers)
    reads, writes = (tuple([r for r in finder.regions(mode) if r.buffer in chosen]) for mode in (READ, WRITE))
    return reads, writes


class _ByKind(_Finder):
    def __init__(self, root: Stmt, apart: bool = True) -> None:
        super().__init__(root)
        self.apart = apart
        self.found[OPAQUE] = {}

    def whole(self, buffer: Var, modes: int) -> None:
        if self.apart:
            from ..arith.intset import EVERYTHING

            ty = buffer.ty
            assert isinstance(ty, BufferType)
            self.record(OPAQUE, buffer, tuple([EVERYTHING for _ in ty.shape]))
        else:
            super().whole(buffer, modes)

    def visit_DeclBuffer(self, stmt: DeclBuffer) -> None:
        source = _pointed(stmt.data)
        if source is None or not _alike(source.ty, stmt.buffer.ty):
            super().visit_DeclBuffer(stmt)
            return
        ty = source.ty
        assert isinstance(ty, BufferType)
        whole = [Range(const(0, e.dtype), e) for e in ty.shape]
        self.views[stmt.buffer] = BufferRegion(source, whole)


def _pointed(data: Expr) -> Var | None:
    """The buffer whose data pointer this is."""
    if isinstance(data, Call) and isinstance(data.op, Op) and data.op.name == "tirx.buffer_data":
        found = data.args[0]
        return found if isinstance(found, Var) else None
    return None


def _alike(a: object, b: object) -> bool:
    if not isinstance(a, BufferType) or not isinstance(b, BufferType):
        return False
    return a.dtype == b.dtype and structural_equal((a.shape, a.strides), (b.shape, b.strides))


__all__ = ["access_regions", "read_write_regions"]
