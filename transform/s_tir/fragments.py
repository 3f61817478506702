"""Fragments of matrices: what each thread of a warp holds, and their shapes for the instructions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ...ir import (
    AllocBuffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    BufferType,
    Call,
    Expr,
    FloorDiv,
    FloorMod,
    For,
    IntImm,
    PrimFunc,
    Range,
    SBlock,
    StringImm,
    Var,
    const,
)
from ...ir.analysis.regions import block_access_regions
from ...ir.arith import Analyzer
from ...ir.buffer import pointer_to
from ...ir.visitor import Rewriter, walk
from ..common import buffer_type, operator_name, plus, pointed_buffer, refuse, times
from ..registry import prim_func_pass

SHAPE: Final = "fragment_shape"
LAYOUT: Final = "fragment_layout"

_TILES: Final[Mapping[str, tuple[int, int, int, int]]] = {
    "m16n8k8.matrixA": (32, 8, 4, 2),
    "m16n8k8.matrixB": (8, 32, 1, 8),
    "m16n8k8.matrixC": (16, 8, 2, 2),
}
"""Rows and columns that a warp holds as one tile, and the extents of what one thread has of it."""


@prim_func_pass("s_tir.TransformMmaBufferLayout")
def transform_mma_buffer_layout(func: PrimFunc) -> PrimFunc:
    """Buffers of the scopes `m16n8k8.matrixA`, `matrixB` and `matrixC` become registers of each thread.

    An element that the thread holds is found by its tile and its place in the tile; that only threads
    which hold an element use it is up to the program.  Raises PassError for buffers that are not
    made of whole rows or columns of tiles.

    before:
        @T.prim_func(s_tir=True)
        def f(C: T.Buffer((16, 8), "float32")):
            for tx in T.thread_binding(32, thread="threadIdx.x"):
                with T.sblock("store"):
                    T.reads()
                    T.writes(C[tx // 4, tx % 4 * 2])
                    M = T.sblock_alloc_buffer((16, 8), scope="m16n8k8.matrixC")
                    C[tx // 4, tx % 4 * 2] = M[tx // 4, tx % 4 * 2]

    after:
        @T.prim_func(s_tir=True)
        def f(C: T.Buffer((16, 8), "float32")):
            for tx in T.thread_binding(32, thread="threadIdx.x"):
                with T.sblock("store"):
                    T.reads()
                    T.writes(C[tx // 4, tx % 4 * 2])
                    M = T.sblock_alloc_buffer((1, 1, 2, 2), scope="local")
                    C[tx // 4, tx % 4 * 2] = M[0, 0, 0, 0]
    """
    return _Registers()(func)


class _Registers(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        self.ana = Analyzer()
        self.new: dict[Var, Var] = {}

    def visit_For(self, loop: For) -> Any:
        self.ana.bind(loop.loop_var, Range(loop.min, loop.extent))
        return self.visit_fields(loop)

    def visit_SBlock(self, block: SBlock) -> Any:
        made = [b for b in block.alloc_buffers if buffer_type(b).storage_scope in _TILES]
        for buffer in made:
            self.new[buffer] = _registers_of(buffer)
        new = self.visit_fields(
            block.replace(alloc_buffers=[self.new.get(b, b) for b in block.alloc_buffers])
        )
        named = {r.buffer for r in (*block.reads, *block.writes)}
        if named & set(self.new):
            reads, writes = block_access_regions(new)
            new = new.replace(reads=reads, writes=writes)
        return new

    def visit_BufferRegion(self, region: BufferRegion) -> Any:
        if region.buffer not in self.new:
            return self.visit_fields(region)
        shape = buffer_type(self.new[region.buffer]).shape
        ranges = [Range(const(0, extent.dtype), extent) for extent in shape]
        return BufferRegion(self.new[region.buffer], ranges, region.span)

    def visit_BufferLoad(self, e: BufferLoad) -> Any:
        new = self.visit_fields(e)
        if e.buffer not in self.new:
            return new
        return BufferLoad(self.new[e.buffer], self._places(e.buffer, new.indices), e.span)

    def visit_BufferStore(self, stmt: BufferStore) -> Any:
        new = self.visit_fields(stmt)
        if stmt.buffer not in self.new:
            return new
        places = self._places(stmt.buffer, new.indices)
        return BufferStore(self.new[stmt.buffer], new.value, places, stmt.span)

    def visit_Call(self, e: Call) -> Any:
        new = self.visit_fields(e)
        buffer = pointed_buffer(e)
        if buffer is None or buffer not in self.new:
            return new
        registers = self.new[buffer]
        return new.replace(args=(registers,), ty=pointer_to(registers))

    def _places(self, buffer: Var, indices: tuple[Expr, ...]) -> list[Expr]:
        *lead, row, column = indices
        found = _PLACES[buffer_type(buffer).storage_scope](row, column)
        tile = _TILES[buffer_type(buffer).storage_scope]
        tiles = [_over(row, tile[0]), _over(column, tile[1])]
        return [*lead, *[self.ana.simplify(e) for e in (*tiles, *found)]]


def _registers_of(buffer: Var) -> Var:
    """What one thread holds of the buffer."""
    ty = buffer_type(buffer)
    rows, columns, *own = _TILES[ty.storage_scope]
    shape: list[Expr] = [*ty.shape[:-2]]
    for extent, size in zip(ty.shape[-2:], (rows, columns), strict=True):
        if not isinstance(extent, IntImm) or (extent.value % size and size % extent.value):
            text = (
                f"`{buffer.name}` of scope `{ty.storage_scope}` is not made of tiles of {rows} by {columns}"
            )
            raise refuse("fragment-shape", text, buffer)
        shape.append(const(max(extent.value // size, 1), extent.dtype))
    shape += [const(n, ty.shape[-1].dtype) for n in own]
    return Var(buffer.name, BufferType(ty.dtype, shape, storage_scope="local"), buffer.span)


def _over(e: Expr, by: int) -> Expr:
    return FloorDiv(e, const(by, e.dtype))


def _rest(e: Expr, by: int) -> Expr:
    return FloorMod(e, const(by, e.dtype))


def _by_rows(height: int) -> Callable[[Expr, Expr], tuple[Expr, Expr]]:
    """Parts of 8 by 8 below each other; two neighbours of a row for each thread."""
    return lambda row, column: (_over(_rest(row, height), 8), _rest(column, 2))


def _by_columns(row: Expr, column: Expr) -> tuple[Expr, Expr]:
    """Parts of 8 by 8 beside each other; two neighbours of a column for each thread."""
    part = times(_over(_rest(column, 32), 8), const(2, column.dtype))
    return const(0, row.dtype), plus(part, _rest(row, 2))


_PLACES: Final[Mapping[str, Callable[[Expr, Expr], tuple[Expr, Expr]]]] = {
    "m16n8k8.matrixA": _by_rows(32),
    "m16n8k8.matrixB": _by_columns,
    "m16n8k8.matrixC": _by_rows(16),
}


@prim_func_pass("s_tir.InferFragment")
def inferpointed_buffer(func: PrimFunc) -> PrimFunc:
    """Allocations of fragments say the shape of their instructions, and in which order they hold rows.

    Raises PassError where a fragment is used with two shapes, or fragments of different shapes are
    multiplied.

    before:
        @T.prim_func
        def f(A: T.Buffer((256,), "float16")):
            for tx in T.thread_binding(32, thread="threadIdx.x"):
                F = T.alloc_buffer((256,), "float16", scope="wmma.matrix_b")
                T.tvm_load_matrix_sync(F.data, 16, 16, 16, 0, T.address_of(A[0]), 16, "col_major")

    after:
        @T.prim_func
        def f(A: T.Buffer((256,), "float16")):
            for tx in T.thread_binding(32, thread="threadIdx.x"):
                F = T.alloc_buffer(
                    (256,),
                    "float16",
                    scope="wmma.matrix_b",
                    annotations={"fragment_shape": "16, 16, 16", "fragment_layout": "col_major"},
                )
                T.tvm_load_matrix_sync(F.data, 16, 16, 16, 0, T.address_of(A[0]), 16, "col_major")
    """
    shapes: dict[Var, str] = {}
    layouts: dict[Var, str] = {}
    products: list[Call] = []
    for node in walk(func):
        name = operator_name(node)
        if not isinstance(node, Call) or name not in _USES:
            continue
        if name in _PRODUCTS:
            products.append(node)
            continue
        buffer = pointed_buffer(node.args[0])
        if buffer is None:
            continue
        shape = ", ".join(str(getattr(n, "value", n)) for n in node.args[1:4])
        if shapes.setdefault(buffer, shape) != shape:
            text = f"the fragment `{buffer.name}` is used with the shapes {shapes[buffer]} and {shape}"
            raise refuse("fragment-shape", text, node)
        if name == "tirx.tvm_load_matrix_sync" and isinstance(node.args[7], StringImm):
            layouts[buffer] = node.args[7].value
    for call in products:
        used = {shapes[b] for a in call.args[::2] if (b := pointed_buffer(a)) in shapes and b is not None}
        if len(used) > 1:
            text = f"fragments of the shapes {' and '.join(sorted(used))} cannot be multiplied"
            raise refuse("fragment-shape", text, call)
    return _Annotate(shapes, layouts)(func)


_PRODUCTS: Final = ("tirx.tvm_mma_sync", "tirx.tvm_bmma_sync")
_USES: Final = (
    *_PRODUCTS,
    "tirx.tvm_load_matrix_sync",
    "tirx.tvm_store_matrix_sync",
    "tirx.tvm_fill_fragment",
)


class _Annotate(Rewriter):
    def __init__(self, shapes: Mapping[Var, str], layouts: Mapping[Var, str]) -> None:
        super().__init__()
        self.shapes, self.layouts = shapes, layouts

    def visit_AllocBuffer(self, stmt: AllocBuffer) -> Any:
        if stmt.buffer not in self.shapes or SHAPE in stmt.annotations:
            return self.visit_fields(stmt)
        layout = self.layouts.get(stmt.buffer, "row_major")
        facts = {SHAPE: self.shapes[stmt.buffer], LAYOUT: layout}
        return stmt.replace(annotations={**stmt.annotations, **facts})
