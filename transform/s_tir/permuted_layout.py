"""Rows of shared memory whose pieces are exchanged, so that columns lie in different banks."""

from __future__ import annotations

from typing import Any, Final

from ...ir import (
    BufferLoad,
    BufferRegion,
    BufferStore,
    Call,
    Expr,
    FloorDiv,
    FloorMod,
    For,
    IntImm,
    PrimFunc,
    Range,
    SBlock,
    Var,
    const,
)
from ...ir.arith import Analyzer
from ...ir.operators import bitwise_xor
from ...ir.visitor import Rewriter
from ...node import Node
from ..common import buffer_type, operator_name, plus, pointed_buffer, refuse, times
from ..registry import prim_func_pass

PERMUTED: Final = "permuted_layout"
_PIECE: Final = 8
"""Elements that stay together."""


@prim_func_pass("s_tir.InjectPermutedLayout")
def inject_permuted_layout(func: PrimFunc) -> PrimFunc:
    """In blocks annotated `permuted_layout`, accesses of shared buffers go to exchanged pieces of the row.

    In rows of a multiple of 64 elements the number of a piece of 8 is combined, by exclusive or, with
    the row's number modulo 8; in rows of 32 elements with half of that.  So what lies in one column lies
    in different banks.  Raises PassError for rows of other lengths, and where a buffer is used
    outside of such blocks too.

    before:
        @T.prim_func(s_tir=True)
        def f(A: T.Buffer((8, 64), "float16"), C: T.Buffer((8, 64), "float16")):
            B = T.sblock_alloc_buffer((8, 64), "float16", scope="shared")
            for i, j in T.grid(8, 64):
                with T.sblock("load"):
                    T.reads(A[i, j])
                    T.writes(B[i, j])
                    T.sblock_attr({"permuted_layout": 1})
                    B[i, j] = A[i, j]
            for i, j in T.grid(8, 64):
                with T.sblock("use"):
                    T.reads(B[i, j])
                    T.writes(C[i, j])
                    T.sblock_attr({"permuted_layout": 1})
                    C[i, j] = B[i, j]

    after:
        @T.prim_func(s_tir=True)
        def f(A: T.Buffer((8, 64), "float16"), C: T.Buffer((8, 64), "float16")):
            B = T.sblock_alloc_buffer((8, 64), "float16", scope="shared")
            for i, j in T.grid(8, 64):
                with T.sblock("load"):
                    T.reads(A[i, j])
                    T.writes(B[i, j])
                    B[i, (j // 8 ^ i) * 8 + j % 8] = A[i, j]
            for i, j in T.grid(8, 64):
                with T.sblock("use"):
                    T.reads(B[i, j])
                    T.writes(C[i, j])
                    C[i, j] = B[i, (j // 8 ^ i) * 8 + j % 8]
    """
    finder = _Permute()
    new: PrimFunc = finder(func)
    for buffer, node in finder.outside.items():
        if buffer in finder.inside:
            raise refuse(
                "permuted-layout",
                f"`{buffer.name}` has a permuted layout in some blocks, but not here",
                node,
                f"annotate every block that uses the buffer with `{PERMUTED}`",
            )
    return new


class _Permute(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        self.within = False
        self.ana = Analyzer()
        self.inside: set[Var] = set()
        self.outside: dict[Var, Node] = {}

    def visit_For(self, loop: For) -> Any:
        self.ana.bind(loop.loop_var, Range(loop.min, loop.extent))
        return self.visit_fields(loop)

    def visit_SBlock(self, block: SBlock) -> Any:
        marked = bool(block.annotations.get(PERMUTED))
        before, self.within = self.within, self.within or marked
        new = self.visit_fields(block)
        self.within = before
        if not marked:
            return new
        return new.replace(annotations={k: v for k, v in new.annotations.items() if k != PERMUTED})

    def visit_BufferRegion(self, region: BufferRegion) -> Any:
        return region

    def visit_BufferLoad(self, e: BufferLoad) -> Any:
        new = self.visit_fields(e)
        return new.replace(indices=self._moved(e, new.indices)) if self._counts(e.buffer, e) else new

    def visit_BufferStore(self, stmt: BufferStore) -> Any:
        new = self.visit_fields(stmt)
        if not self._counts(stmt.buffer, stmt):
            return new
        return new.replace(indices=self._moved(stmt, new.indices))

    def visit_Call(self, e: Call) -> Any:
        if operator_name(e) == "tirx.ptx_legacy.ldmatrix":
            return self._matrix(e)
        buffer = pointed_buffer(e)
        if buffer is not None and self._counts(buffer, e):
            raise self._fault(f"`{buffer.name}` has a permuted layout, but its pointer is used", e)
        return self.visit_fields(e)

    def _counts(self, buffer: Var, node: Node) -> bool:
        """Whether this access of the buffer is permuted; notes where it is."""
        if buffer_type(buffer).storage_scope not in ("shared", "shared.dyn"):
            return False
        if self.within:
            self.inside.add(buffer)
        else:
            self.outside.setdefault(buffer, node)
        return self.within

    def _moved(self, access: BufferLoad | BufferStore, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        if len(indices) < 2:
            raise self._fault(f"`{access.buffer.name}` has no rows", access)
        *rest, row, column = indices
        return (*rest, row, self._column(access.buffer, row, column, access))

    def _column(self, buffer: Var, row: Expr, column: Expr, node: Node) -> Expr:
        """Where in the row the element of this column lies."""
        width = buffer_type(buffer).shape[-1]
        if not isinstance(width, IntImm) or (width.value != 32 and width.value % 64):
            raise self._fault(
                f"the rows of `{buffer.name}` are not of 32, or a multiple of 64, elements", node
            )
        piece = const(_PIECE, column.dtype)
        turn: Expr = FloorMod(row, const(8, row.dtype))
        if width.value == 32:
            turn = FloorDiv(turn, const(2, row.dtype))
        old, inner = FloorDiv(column, piece), FloorMod(column, piece)
        other = bitwise_xor(self.ana.simplify(old), self.ana.simplify(turn))
        return self.ana.simplify(plus(times(other, piece), inner))

    def _fault(self, text: str, node: Node) -> Exception:
        return refuse("permuted-layout", text, node, "a layout is permuted for elements of rows")

    def _matrix(self, e: Call) -> Expr:
        """`ldmatrix` with one offset to the permuted place, in its shared pointer."""
        pointer, offset = e.args[5], e.args[6]
        if not isinstance(pointer, Call) or operator_name(pointer) != "tirx.tvm_access_ptr":
            return self.visit_fields(e)
        buffer = pointed_buffer(pointer.args[1])
        if buffer is None or not self._counts(buffer, e):
            return e
        width = const(getattr(buffer_type(buffer).shape[-1], "value", 0), offset.dtype)
        place = plus(pointer.args[2], offset)
        row, column = FloorDiv(place, width), FloorMod(place, width)
        moved = self._column(buffer, self.ana.simplify(row), self.ana.simplify(column), e)
        start = self.ana.simplify(plus(times(row, width), moved))
        changed = pointer.replace(args=(*pointer.args[:2], start, *pointer.args[3:]))
        return e.replace(args=(*e.args[:5], changed, const(0, offset.dtype)))
