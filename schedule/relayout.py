"""Giving a buffer another layout: every access of it rewritten."""

from __future__ import annotations

from typing import Any

from ..ir import (
    AttrStmt,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Expr,
    For,
    IndexMap,
    IterVar,
    MatchBufferRegion,
    Range,
    Rewriter,
    SBlock,
    Var,
    const,
)
from ..ir.arith import Analyzer
from ..ir.arith.intset import IntervalSet, eval_set, extent_of
from .buffers import buffer_type, one_type, region_at
from .refusal import refuse
from .rewrite import is_const


class Relayout(Rewriter):
    """Makes each access of `old` one of `new`, at the indices that an index map gives.

    Where `old` is defined it stays; the caller replaces that.  Raises Refused for accesses through
    pointers and views.
    """

    def __init__(self, old: Var, new: Var, index_map: IndexMap, ana: Analyzer) -> None:
        super().__init__()
        self.old = old
        self.new = new
        self.index_map = index_map
        self.ana = ana

    def define(self, var: Var) -> Var:
        """The buffer itself stays where it is defined."""
        return var if var is self.old else super().define(var)

    def moved(self, indices: tuple[Expr, ...]) -> list[Expr]:
        """The new indices."""
        own = self.visit_tuple(indices)
        for index in own:
            if not index.dtype.is_scalar:
                raise refuse(
                    "opaque-access", f"`{self.old.name}` is accessed with a vector of indices", index
                )
        kinds = {i.dtype for i in own}
        if len(kinds) > 1:
            own = tuple([one_type(i, v)[0] for i, v in zip(own, self.index_map.initial_indices)])
        return self.index_map.map_indices(own, self.ana)

    def visit_For(self, loop: For) -> Any:
        """What the loop says of its variable helps to simplify indices."""
        self.ana.bind(loop.loop_var, Range(loop.min, loop.extent))
        return self.visit_fields(loop)

    def visit_SBlock(self, block: SBlock) -> Any:
        """What the axes' domains say helps to simplify indices."""
        for axis in block.iter_vars:
            if axis.dom is not None:
                self.ana.bind(axis.var, axis.dom)
        return self.visit_fields(block)

    def visit_AttrStmt(self, stmt: AttrStmt) -> Any:
        """The extent of a thread helps to simplify indices."""
        if isinstance(stmt.node, IterVar) and isinstance(stmt.value, Expr) and stmt.value.dtype.is_integral:
            self.ana.bind(stmt.node.var, Range(const(0, stmt.value.dtype), stmt.value))
        return self.visit_fields(stmt)

    def visit_BufferLoad(self, e: BufferLoad) -> Any:
        """A load takes the new indices."""
        if e.buffer is not self.old:
            return self.visit_fields(e)
        return BufferLoad(self.new, self.moved(e.indices), e.span)

    def visit_BufferStore(self, stmt: BufferStore) -> Any:
        """A store takes the new indices."""
        if stmt.buffer is not self.old:
            return self.visit_fields(stmt)
        return BufferStore(self.new, self.visit(stmt.value), self.moved(stmt.indices), stmt.span)

    def visit_BufferRegion(self, region: BufferRegion) -> Any:
        """A region becomes the smallest box that is known to hold its new indices."""
        if region.buffer is not self.old:
            return self.visit_fields(region)
        ranges = self.visit_tuple(region.region)
        if all(is_const(r.extent, 1) for r in ranges):
            return region_at(self.new, self.moved(tuple([r.min for r in ranges])))
        return BufferRegion(
            self.new, [self._range(k, ranges) for k in range(len(self.index_map.final_indices))]
        )

    def _range(self, axis: int, ranges: tuple[Range, ...]) -> Range:
        domain = {
            v: IntervalSet.of_range(Range(*_like(r, v)), self.ana)
            for v, r in zip(self.index_map.initial_indices, ranges)
        }
        s = eval_set(self.index_map.final_indices[axis], domain, self.ana)
        extent = extent_of(self.ana, s)
        size = buffer_type(self.new).shape[axis]
        if s.min is None or extent is None:
            return Range(const(0, size.dtype), size)
        return Range(*one_type(one_type(s.min, size)[0], extent))

    def visit_MatchBufferRegion(self, match: MatchBufferRegion) -> Any:
        """A view of the buffer would not be a box any more."""
        if match.source.buffer is self.old:
            text = f"`{match.buffer.name}` is a view of `{self.old.name}`, whose layout would change"
            raise refuse("opaque-access", text, match)
        return self.visit_fields(match)

    def visit_Var(self, var: Var) -> Any:
        """A pointer to the buffer says nothing of indices."""
        if var is self.old:
            text = f"a pointer to `{var.name}` is used, whose layout would change"
            raise refuse("opaque-access", text, var)
        return self.vars.get(var, var)


def _like(r: Range, v: Var) -> tuple[Expr, Expr]:
    low, extent = one_type(r.min, r.extent)
    return one_type(low, v)[0], one_type(extent, v)[0]
