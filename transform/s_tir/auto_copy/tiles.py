"""Copies between shared memory and fragments of matrices, tile by tile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from ....ir import (
    AttrStmt,
    BufferLoad,
    BufferRegion,
    BufferStore,
    BufferType,
    Call,
    Evaluate,
    Expr,
    FloorDiv,
    FloorMod,
    For,
    ForKind,
    IntImm,
    IterVar,
    MatchBufferRegion,
    PrimType,
    Range,
    SBlock,
    SBlockRealize,
    Stmt,
    StringImm,
    Var,
    const,
    seq,
)
from ....ir.arith import Analyzer
from ....ir.buffer import pointer_to
from ....ir.ops.memory import access_ptr
from ....ir.types import VOID
from ....ir.visitor import Rewriter, substitute
from ...common import buffer_type, plus, times
from .nest import WARP, Nest, Threads, extent_of, shared_among, unfused
from .threads import GLOBAL, SHARED, lanes_of

FRAGMENTS: Final = {"wmma.matrix_a": 16, "wmma.matrix_b": 16, "wmma.accumulator": 16, "m16n8k8.matrixC": 8}
"""Scopes of fragments, with the rows and columns of a tile."""
_WIDEST: Final = 256


def load_tiles(nest: Nest) -> SBlock:
    """Shared memory to fragments: one `tvm_load_matrix_sync` a tile."""
    source = nest.store.value
    if not isinstance(source, BufferLoad):
        raise nest.fault("what is computed on the way cannot be loaded to fragments")
    return _tiled(nest, source, _block("wmma_load", nest.store, source, _load_body))


def store_tiles(nest: Nest) -> SBlock:
    """Fragments to shared memory: one `tvm_store_matrix_sync` a tile, or one store a thread."""
    source = nest.store.value
    if not isinstance(source, BufferLoad):
        raise nest.fault("what is computed on the way needs global memory as target")
    return _tiled(nest, source, _store_block(nest.store, source))


def _store_block(store: BufferStore, source: BufferLoad) -> SBlockRealize:
    if buffer_type(source.buffer).storage_scope.startswith("wmma."):
        return _block("wmma_store", store, source, _store_body)
    return _block("mma_store", store, source, _thread_body)


def _tiled(nest: Nest, source: BufferLoad, tile: SBlockRealize) -> SBlock:
    """The loops by tiles around the block of a tile, in which the loops stand for the first element."""
    size = _tile(nest, source)
    body: Stmt = tile
    values: dict[Var, Any] = {}
    made: list[tuple[Var, Expr]] = []
    for depth, loop in enumerate(nest.loops):
        old = loop.loop_var
        var = Var(f"{old.name}_0", old.ty)
        inner = depth >= len(nest.loops) - 2
        extent = extent_of(loop) // size if inner else extent_of(loop)
        values[old] = times(var, const(size, var.dtype)) if inner else var
        made.append((var, const(extent, var.dtype)))
    body = substitute(body, values)
    for var, extent_expr in reversed(made):
        body = For(var, const(0, var.dtype), extent_expr, ForKind.SERIAL, body)
    return nest.block.replace(body=body)


def _tile(nest: Nest, source: BufferLoad) -> int:
    """The rows and columns of a tile. Raises PassError where the loops are not made of whole ones."""
    scopes = [buffer_type(b).storage_scope for b in (nest.target, source.buffer)]
    size = next(FRAGMENTS[s] for s in scopes if s in FRAGMENTS)
    if len(nest.loops) < 2 or any(extent_of(loop) % size for loop in nest.loops[-2:]):
        raise nest.fault(f"its two innermost loops must have multiples of {size} iterations")
    rows, columns = [loop.loop_var for loop in nest.loops[-2:]]
    ana = Analyzer()
    for access in (nest.store, source):
        if isinstance(access, BufferStore) and buffer_type(access.buffer).storage_scope in GLOBAL:
            continue
        for index, var in zip(access.indices[-2:], (rows, columns), strict=True):
            base = substitute(index, {rows: const(0, rows.dtype), columns: const(0, columns.dtype)})
            if not ana.can_prove_equal(index, plus(base, var)):
                raise nest.fault(
                    f"`{access.buffer.name}` must have the innermost loops in its last two indices"
                )
    for buffer in (nest.target, source.buffer):
        width = buffer_type(buffer).shape[-1]
        wide = isinstance(width, IntImm) and width.value > _WIDEST
        if buffer_type(buffer).storage_scope.startswith("wmma.") and wide:
            raise nest.fault(f"fragments in rows of more than {_WIDEST} elements cannot be counted")
    return size


def _block(
    name: str, store: BufferStore, source: BufferLoad, body: Callable[[Var, Var, int], Stmt]
) -> SBlockRealize:
    """The block that copies the tile which starts at these accesses."""
    scopes = [buffer_type(b).storage_scope for b in (store.buffer, source.buffer)]
    size = next(FRAGMENTS[s] for s in scopes if s in FRAGMENTS)
    reads, writes = _region(source, size), _region(store, size)
    src, tgt = _view("src", source.buffer, size), _view("tgt", store.buffer, size)
    matches = (MatchBufferRegion(src, reads), MatchBufferRegion(tgt, writes))
    block = SBlock((), (reads,), (writes,), name, body(src, tgt, size), None, (), matches)
    return SBlockRealize((), const(1, "bool"), block)


def _region(access: BufferLoad | BufferStore, size: int) -> BufferRegion:
    lead = len(access.indices) - 2
    ranges = [Range(i, const(1 if k < lead else size, i.dtype)) for k, i in enumerate(access.indices)]
    return BufferRegion(access.buffer, ranges)


def _view(name: str, buffer: Var, size: int) -> Var:
    """The variable of a tile; in shared memory with strides of its own."""
    old = buffer_type(buffer)
    dims = [const(size, old.shape[-1].dtype)] * 2
    like = dims[0].ty
    strides = (Var("s1", like), Var("s0", like)) if old.storage_scope in SHARED else ()
    ty = BufferType(
        old.dtype,
        dims,
        strides,
        Var("elem_offset", like),
        old.storage_scope,
        old.data_alignment,
        size,
    )
    return Var(name, ty)


def _load_body(src: Var, tgt: Var, size: int) -> Stmt:
    return _synced("tirx.tvm_load_matrix_sync", tgt, src, size, 1)


def _store_body(src: Var, tgt: Var, size: int) -> Stmt:
    return _synced("tirx.tvm_store_matrix_sync", src, tgt, size, 2)


def _synced(name: str, fragment: Var, memory: Var, size: int, mode: int) -> Stmt:
    """The instruction between a fragment and rows of shared memory."""
    offset = buffer_type(fragment).elem_offset
    start, stride = buffer_type(memory).elem_offset, buffer_type(memory).strides[0]
    assert offset is not None and start is not None
    whole, row = const(size * size, offset.dtype), const(size, offset.dtype)
    number = FloorDiv(offset, whole) + FloorDiv(FloorMod(offset, whole), row)
    kind = Call("tirx.type_annotation", (), PrimType(buffer_type(memory).dtype))
    pointer = access_ptr(kind, _data(memory), start, times(stride, row), mode)
    m = const(size, "int32")
    args = (_data(fragment), m, m, m, number, pointer, stride, StringImm("row_major"))
    return Evaluate(Call(name, args, VOID))


def _thread_body(src: Var, tgt: Var, size: int) -> Stmt:
    """Each thread of a warp stores the two elements that it holds of a tile of 8 by 8."""
    tx, vec = Var("tx", const(0, "int32").ty), Var("vec", const(0, "int32").ty)
    four, two = const(4, "int32"), const(2, "int32")
    at = (FloorDiv(tx, four), plus(times(FloorMod(tx, four), two), vec))
    store = BufferStore(tgt, BufferLoad(src, at), at)
    loop = For(vec, const(0, "int32"), two, ForKind.VECTORIZED, store)
    extent = const(WARP, "int32")
    axis = IterVar(Range(const(0, "int32"), extent), tx, IterVar.THREAD_INDEX, "threadIdx.x")
    return AttrStmt(axis, "thread_extent", extent, loop)


def _data(buffer: Var) -> Expr:
    return Call("tirx.buffer_data", (buffer,), pointer_to(buffer))


def through_shared(nest: Nest, threads: Threads, axes: Sequence[tuple[Var, int]]) -> SBlock:
    """Fragments to global memory: row by row tiles go to shared memory, from where all threads copy.

    `axes` are the thread axes around, by which warps differ; each warp has a part of the shared memory.
    """
    fragments = [n for n in nest.sources() if buffer_type(n.buffer).storage_scope in FRAGMENTS]
    source = fragments[0]
    if len(fragments) != 1 or len(nest.loops) != 2:
        raise nest.fault("it must have two loops and read one matrix of fragments")
    size = _tile(nest, source)
    rows, columns = nest.loops
    dtype = rows.loop_var.dtype
    tiles = extent_of(columns) // size
    row, column = [Var(f"{loop.loop_var.name}_0", loop.loop_var.ty) for loop in nest.loops]
    stage = _stage(source.buffer, [n for _, n in axes], tiles, size)
    whole = const(size, dtype)
    start = substitute(source, {rows.loop_var: times(row, whole), columns.loop_var: times(column, whole)})
    zero = const(0, dtype)
    place = (*[var for var, _ in axes], column, zero, zero)
    made = _store_block(BufferStore(stage, start, place), start)
    filled = For(column, zero, const(tiles, dtype), ForKind.SERIAL, made)
    extents = [*[n for _, n in axes], tiles, size, size]
    count = 1
    for extent in extents:
        count *= extent
    among = shared_among(threads, count, lanes_of(nest, size), dtype)
    places = unfused(among.number, extents)
    *warp, tile, tile_row, tile_column = places
    values: dict[Var, Any] = {
        rows.loop_var: plus(times(row, whole), tile_row),
        columns.loop_var: plus(times(tile, whole), tile_column),
    }
    values |= {var: at for (var, _), at in zip(axes, warp, strict=True)}
    replaced = _replaced(nest.store, source, BufferLoad(stage, places), values)
    copied = among.by_rounds(among.by_threads(among.inner(among.guarded(replaced))))
    body = For(row, zero, const(extent_of(rows) // size, dtype), ForKind.SERIAL, seq([filled, copied]))
    return nest.block.replace(body=body, alloc_buffers=(*nest.block.alloc_buffers, stage))


def _replaced(store: BufferStore, old: BufferLoad, new: BufferLoad, values: dict[Var, Any]) -> BufferStore:
    """The store with other values of variables, and the load of the fragment replaced."""
    hole = Var("staged", old.ty)
    marked = _Hole(old, hole)(store)
    filled: BufferStore = substitute(substitute(marked, values), {hole: new})
    return filled


class _Hole(Rewriter):
    """A variable for one load."""

    def __init__(self, load: BufferLoad, hole: Var) -> None:
        super().__init__()
        self.load, self.hole = load, hole

    def visit_BufferLoad(self, e: BufferLoad) -> Any:
        return self.hole if e is self.load else self.visit_fields(e)


def _stage(fragment: Var, warps: Sequence[int], tiles: int, size: int) -> Var:
    """The shared memory for a row of tiles of each warp; tiles of 8 by 8 lie a row apart."""
    old = buffer_type(fragment)
    shape = [*warps, tiles, size, size]
    tile = size * size + (size if size == 8 else 0)
    strides = [tile, size, 1]
    for extent in [*warps, tiles][:0:-1]:
        strides.insert(0, strides[0] * extent)
    ty = BufferType(old.dtype, tuple(shape), tuple(strides), storage_scope="shared.dyn")
    return Var(f"{fragment.name}_shared_dyn", ty)
