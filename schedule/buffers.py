"""Buffers of a schedule: finding them, making new ones, and standing another in for one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import suggest
from ..ir import (
    BufferLoad,
    BufferRegion,
    BufferStore,
    BufferType,
    Call,
    Cast,
    Expr,
    IntImm,
    MatchBufferRegion,
    Range,
    Rewriter,
    SBlock,
    Var,
    const,
)
from ..ir.arith import Analyzer
from ..ir.op import Op
from ..ir.stmt import BlockRef
from .handles import SBlockRV
from .refusal import Reason, Refused, refuse
from .state import State

Indices = tuple[Expr, ...]
Move = Callable[[Indices], Sequence[Expr]]
MoveRegion = Callable[[tuple[Range, ...]], Sequence[Range]]


# finding


def regions(block: SBlock, mode: str) -> tuple[BufferRegion, ...]:
    """What a block declares to read or to write."""
    return block.reads if mode == "read" else block.writes


def index_of(state: State, block: SBlockRV, given: Any, mode: str) -> Any:
    """The position of a buffer, given by name, variable or position, among what the block accesses.

    Raises Refused for a buffer that is not there, or named by several.
    """
    if not isinstance(given, str | Var) or (isinstance(given, Var) and not isinstance(given.ty, BufferType)):
        return given
    node = state.block(block)
    found = [
        k
        for k, r in enumerate(regions(node, mode))
        if r.buffer is given or (isinstance(given, str) and r.buffer.name == given)
    ]
    if len({regions(node, mode)[k].buffer for k in found}) == 1:
        return found[0]
    name = given if isinstance(given, str) else given.name
    what = "several buffers" if found else "no buffer"
    text = f"block `{node.name_hint}` {mode}s {what} named `{name}`"
    near = suggest(name, [r.buffer.name for r in regions(node, mode)])
    raise Refused(Reason("buffer-index", text, node, () if found else tuple(near)))


def named_buffer(parameter: str, mode: str) -> Callable[[State, dict[str, Any]], dict[str, Any]]:
    """A `prepare` that turns a buffer given by name into its position among what the block accesses."""

    def prepare(state: State, arguments: dict[str, Any]) -> dict[str, Any]:
        index = index_of(state, arguments["block"], arguments[parameter], mode)
        return {**arguments, parameter: index}

    return prepare


def buffer_at(state: State, block: SBlockRV, index: Any, mode: str) -> Var:
    """The buffer at this position among what the block reads or writes. Raises Refused."""
    node = state.block(block)
    found = regions(node, mode)
    if isinstance(index, int) and not isinstance(index, bool) and 0 <= index < len(found):
        return found[index].buffer
    count = f"{len(found)} region" + ("" if len(found) == 1 else "s")
    text = f"block `{node.name_hint}` {mode}s {count}; there is no number {index!r}"
    raise refuse("buffer-index", text, node)


def buffer_type(buffer: Var) -> BufferType:
    """The type of a buffer."""
    assert isinstance(buffer.ty, BufferType)
    return buffer.ty


def allocator(state: State, block: BlockRef, buffer: Var) -> BlockRef | None:
    """The block around this one (or itself) that allocates the buffer; None for a parameter or a view."""
    node = state.block(block)
    if buffer in node.alloc_buffers:
        return block
    for above in state.ancestors(block):
        inner = getattr(above.node, "block", None)
        if isinstance(inner, SBlock) and buffer in inner.alloc_buffers:
            return inner.ref
    return None


# making


def new_buffer(
    like: Var, name: str, *, shape: Sequence[Expr] | None = None, scope: str | None = None, dtype: Any = None
) -> Var:
    """A compact buffer with the dtype, shape and scope of another, or those given."""
    old = buffer_type(like)
    dims = old.shape if shape is None else shape
    return Var(
        name,
        BufferType(
            old.dtype if dtype is None else dtype,
            tuple(dims),
            storage_scope=old.storage_scope if scope is None else scope,
        ),
    )


def allocate(state: State, root: BlockRef, buffers: Sequence[Var]) -> State:
    """The state in which a block allocates these buffers, too."""
    block = state.block(root)
    return state.replace_block(root, block.replace(alloc_buffers=(*block.alloc_buffers, *buffers)))


def one_type(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """Both index expressions in the wider of their types."""
    if a.ty is b.ty:
        return a, b
    wide = a.ty if a.dtype.bits >= b.dtype.bits else b.ty
    return _widened(a, wide), _widened(b, wide)


def _widened(e: Expr, wide: Any) -> Expr:
    if e.ty is wide:
        return e
    return const(e.value, wide) if isinstance(e, IntImm) else Cast(wide, e)


def point(e: Expr) -> Range:
    """The range of one index."""
    return Range(e, const(1, e.dtype))


def region_at(buffer: Var, indices: Sequence[Expr]) -> BufferRegion:
    """The region of one element."""
    return BufferRegion(buffer, [point(i) for i in indices])


# standing in


class Redirect(Rewriter):
    """Makes each access of `old` one of `new`; views of the buffer follow.

    `move` turns indices, `move_region` ranges; without them both buffers have one shape, and
    pointers to the old one become pointers to the new one.  With `reads_only` a store to the old
    buffer is refused; `tidy` simplifies indices.  Raises Refused where an access cannot follow.
    """

    def __init__(
        self,
        old: Var,
        new: Var,
        move: Move | None = None,
        move_region: MoveRegion | None = None,
        *,
        reads_only: bool = False,
        tidy: Analyzer | None = None,
    ) -> None:
        super().__init__()
        self.old = old
        self.new = new
        self.move = move
        self.move_region = move_region
        self.reads_only = reads_only
        self.tidy = tidy

    def moved(self, indices: Indices) -> Sequence[Expr]:
        own = self.visit_tuple(indices)
        if self.move is None:
            return [self.tidied(i) for i in own]
        for index in own:
            if not index.dtype.is_scalar:
                raise self.opaque(index)
        return [self.tidied(i) for i in self.move(own)]

    def tidied(self, index: Expr) -> Expr:
        """The index in its simplest form, where that is asked for."""
        return index if self.tidy is None else self.tidy.simplify(index)

    def visit_BufferLoad(self, e: BufferLoad) -> Any:
        """A load of the old buffer becomes one of the new."""
        if e.buffer is not self.old:
            return self.visit_fields(e)
        return BufferLoad(self.new, self.moved(e.indices), e.span)

    def visit_BufferStore(self, stmt: BufferStore) -> Any:
        """A store to the old buffer becomes one to the new."""
        if stmt.buffer is not self.old:
            return self.visit_fields(stmt)
        if self.reads_only:
            raise refuse(
                "in-place",
                f"`{self.old.name}` is written here, too, so a copy of it would not stay good",
                stmt,
                help="`cache_inplace` copies in and out",
            )
        value = self.visit(stmt.value)
        return BufferStore(self.new, value, self.moved(stmt.indices), stmt.span)

    def visit_BufferRegion(self, region: BufferRegion) -> Any:
        """A region of the old buffer becomes one of the new."""
        if region.buffer is not self.old:
            return self.visit_fields(region)
        ranges = self.visit_tuple(region.region)
        if self.move_region is not None:
            ranges = tuple(self.move_region(ranges))
        elif self.move is not None:
            raise self.opaque(region)
        return BufferRegion(self.new, [Range(self.tidied(r.min), r.extent) for r in ranges])

    def visit_Var(self, var: Var) -> Any:
        """A pointer to the old buffer."""
        if var is not self.old:
            return self.vars.get(var, var)
        old = buffer_type(self.old)
        if self.move is not None or old.strides or old.elem_offset is not None:
            raise self.opaque(var)
        return self.new

    def visit_Call(self, e: Call) -> Any:
        """The data pointer of a buffer has the scope of the buffer."""
        if isinstance(e.op, Op) and e.op.name == "tirx.buffer_data" and isinstance(e.args[0], Var):
            new = self.visit(e.args[0])
            return e if new is e.args[0] else new.data
        return self.visit_fields(e)

    def visit_MatchBufferRegion(self, match: MatchBufferRegion) -> Any:
        """A view of the old buffer: its scope and dtype follow."""
        source = self.visit(match.source)
        if source is match.source:
            return match
        new, ty = buffer_type(source.buffer), buffer_type(match.buffer)
        if self.move is not None and ty.strides and not all(isinstance(s, Var) for s in ty.strides):
            raise self.opaque(match)
        if new.storage_scope == ty.storage_scope and new.dtype is ty.dtype:
            return match.replace(source=source)
        name = match.buffer.name
        if new.storage_scope != ty.storage_scope:
            name = f"{name}_{new.storage_scope}"
        view = Var(name, ty.replace(storage_scope=new.storage_scope, dtype=new.dtype), match.buffer.span)
        self.vars[match.buffer] = view
        return match.replace(buffer=view, source=source)

    def opaque(self, at: Any) -> Refused:
        """The refusal of an access whose indices are not seen."""
        return refuse(
            "opaque-access",
            f"`{self.old.name}` is accessed here through a pointer or view, and cannot take another layout",
            at,
        )
