"""Copies into shared memory that go through registers."""

from __future__ import annotations

from typing import Any, Final

from ...ir import (
    BufferLoad,
    BufferRegion,
    BufferStore,
    BufferType,
    For,
    PrimFunc,
    Range,
    SBlock,
    SBlockRealize,
    SeqStmt,
    Stmt,
    Var,
    const,
    seq,
)
from ...ir.visitor import Rewriter, renew_definitions
from ..common import buffer_type, is_const, minus, refuse
from ..registry import prim_func_pass

STAGE: Final = "tirx.manifest_shared_memory_local_stage"


@prim_func_pass("s_tir.ManifestSharedMemoryLocalStage")
def manifest_local_stage(func: PrimFunc) -> PrimFunc:
    """A copy block annotated `tirx.manifest_shared_memory_local_stage` becomes two.

    The first one, over the same loops, loads into a local buffer as large as the loops; the second
    one stores from there.  Raises PassError where the block is no copy directly below its loops.

    before:
        @T.prim_func(s_tir=True)
        def f(A: T.Buffer((8, 4), "float32"), C: T.Buffer((8, 4), "float32")):
            B = T.sblock_alloc_buffer((8, 4), scope="shared")
            for i, j in T.grid(8, 4):
                with T.sblock("B"):
                    T.reads(A[i, j])
                    T.writes(B[i, j])
                    T.sblock_attr({"tirx.manifest_shared_memory_local_stage": 1})
                    B[i, j] = A[i, j]
            for i, j in T.grid(8, 4):
                with T.sblock("C"):
                    T.reads(B[i, j])
                    T.writes(C[i, j])
                    C[i, j] = B[i, j]

    after:
        @T.prim_func(s_tir=True)
        def f(A: T.Buffer((8, 4), "float32"), C: T.Buffer((8, 4), "float32")):
            B = T.sblock_alloc_buffer((8, 4), scope="shared")
            B_local = T.sblock_alloc_buffer((8, 4), scope="local")
            for i, j in T.grid(8, 4):
                with T.sblock(""):
                    T.reads(A[i, j])
                    T.writes(B_local[i, j])
                    B_local[i, j] = A[i, j]
            for i, j in T.grid(8, 4):
                with T.sblock("B"):
                    T.reads(B_local[i, j])
                    T.writes(B[i, j])
                    B[i, j] = B_local[i, j]
            for i, j in T.grid(8, 4):
                with T.sblock("C"):
                    T.reads(B[i, j])
                    T.writes(C[i, j])
                    C[i, j] = B[i, j]
    """
    return _Manifest()(func)


class _Manifest(Rewriter):
    def visit_SBlock(self, block: SBlock) -> Any:
        new = self.visit_fields(block)
        children = new.body.seq if isinstance(new.body, SeqStmt) else (new.body,)
        made: list[Stmt] = []
        buffers: list[Var] = []
        for child in children:
            loops, inner = _nest(child)
            if inner is None or not inner.block.annotations.get(STAGE):
                made.append(child)
                continue
            local, first, second = _stages(loops, inner)
            buffers.append(local)
            made += [first, second]
        if not buffers:
            return new
        return new.replace(body=seq(made), alloc_buffers=[*new.alloc_buffers, *buffers])


def _nest(stmt: Stmt) -> tuple[list[For], SBlockRealize | None]:
    """The loops around a block, one directly in the other."""
    loops: list[For] = []
    while isinstance(stmt, For):
        loops.append(stmt)
        stmt = stmt.body
    return loops, stmt if isinstance(stmt, SBlockRealize) else None


def _stages(loops: list[For], realize: SBlockRealize) -> tuple[Var, Stmt, Stmt]:
    """The local buffer, what fills it and what empties it."""
    block, store = realize.block, realize.block.body
    if not isinstance(store, BufferStore) or not isinstance(store.value, BufferLoad) or block.iter_vars:
        raise refuse(
            "local-stage",
            f"block `{block.name_hint}` is marked `{STAGE}` but is no copy without axes",
            realize,
            "run s_tir.ConvertBlocksToOpaque first, and mark copies only",
        )
    shape = tuple([loop.extent for loop in loops])
    ty = BufferType(buffer_type(store.buffer).dtype, shape, storage_scope="local")
    local = Var(f"{store.buffer.name}_local", ty)
    indices = [loop.loop_var if is_const(loop.min, 0) else minus(loop.loop_var, loop.min) for loop in loops]
    part = BufferRegion(local, [Range(i, const(1, i.dtype)) for i in indices])
    kept = {k: v for k, v in block.annotations.items() if k != STAGE}
    load = SBlock((), block.reads, (part,), "", BufferStore(local, store.value, indices))
    held = store.replace(value=BufferLoad(local, indices))
    put = block.replace(reads=(part,), body=held, annotations=kept)
    first = renew_definitions(_around(loops, realize.replace(block=load)))
    return local, first, _around(loops, realize.replace(block=put))


def _around(loops: list[For], body: Stmt) -> Stmt:
    for loop in reversed(loops):
        body = loop.replace(body=body)
    return body
