"""The pass that lowers blocks marked `auto_copy`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....ir import (
    AttrStmt,
    BufferLoad,
    BufferStore,
    Expr,
    For,
    ForKind,
    IntImm,
    IterVar,
    PrimFunc,
    SBlock,
    Var,
    const,
)
from ....ir.arith import Analyzer
from ....ir.visitor import Rewriter, substitute, walk
from ...common import buffer_type, pointed_buffer
from ...registry import prim_func_pass
from .nest import AUTO, WARP, Nest, extent_of, nest_of
from .padding import Uses, padded
from .threads import GLOBAL, SHARED, by_threads
from .tiles import FRAGMENTS, load_tiles, store_tiles, through_shared


@prim_func_pass("s_tir.LowerAutoCopy")
def lower_auto_copy(func: PrimFunc) -> PrimFunc:
    """A block annotated `auto_copy` becomes a copy that the threads around it make together.

    Between global and shared memory neighbouring threads take neighbouring elements of global memory,
    as many bytes at a time as `vector_bytes` says; with `local_stage` all loads come before all stores.
    Copies to and from fragments of matrices are made of their instructions, on the way to global memory
    by shared memory.  A block annotated `warp_execution` says that each iteration of the thread axes
    in it is for a warp.  Rows of the shared buffers get the padding with the fewest bank conflicts.
    Raises PassError for blocks that are no such copies.

    before:
        @T.prim_func(s_tir=True)
        def f(A: T.Buffer((8, 64), "float32"), C: T.Buffer((8, 64), "float32")):
            for tx in T.thread_binding(32, thread="threadIdx.x"):
                with T.sblock(""):
                    T.reads(A[0:8, 0:64])
                    T.writes(C[0:8, 0:64])
                    B = T.sblock_alloc_buffer((8, 64), scope="shared")
                    with T.sblock("load"):
                        T.reads(A[0:8, 0:64])
                        T.writes(B[0:8, 0:64])
                        T.sblock_attr({"auto_copy": True, "vector_bytes": 16})
                        for i, j in T.grid(8, 64):
                            B[i, j] = A[i, j]
                    for i, j in T.grid(8, 2):
                        C[i, j * 32 + tx] = B[i, j * 32 + tx]

    after:
        @T.prim_func(s_tir=True)
        def f(A: T.Buffer((8, 64), "float32"), C: T.Buffer((8, 64), "float32")):
            for tx in T.thread_binding(32, thread="threadIdx.x"):
                with T.sblock(""):
                    T.reads(A[0:8, 0:64])
                    T.writes(C[0:8, 0:64])
                    B = T.sblock_alloc_buffer((8, 64), strides=(64, 1), scope="shared")
                    with T.sblock("load"):
                        T.reads(A[0:8, 0:64])
                        T.writes(B[0:8, 0:64])
                        T.sblock_attr({"auto_copy": True, "vector_bytes": 16})
                        for o in range(4):
                            for t in T.thread_binding(32, thread="threadIdx.x"):
                                for v in T.vectorized(4):
                                    B[((o * 32 + t) * 4 + v) // 64 % 8, ((o * 32 + t) * 4 + v) % 64] = A[
                                        ((o * 32 + t) * 4 + v) // 64 % 8, ((o * 32 + t) * 4 + v) % 64
                                    ]
                    for i, j in T.grid(8, 2):
                        C[i, j * 32 + tx] = B[i, j * 32 + tx]
    """
    lowering = _Lower()
    new: PrimFunc = lowering(func)
    return _with_padding(new, lowering.uses)


class _Lower(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        self.axes: dict[str, tuple[Var, int | None]] = {}
        self.warps = False
        self.uses: dict[Var, Uses] = {}

    def visit_For(self, loop: For) -> Any:
        if loop.kind is not ForKind.THREAD_BINDING or loop.thread_binding is None:
            return self.visit_fields(loop)
        return self._bound(loop, loop.thread_binding.thread_tag, loop.loop_var, loop.extent)

    def visit_AttrStmt(self, stmt: AttrStmt) -> Any:
        if stmt.attr_key != "thread_extent" or not isinstance(stmt.node, IterVar):
            return self.visit_fields(stmt)
        return self._bound(stmt, stmt.node.thread_tag, stmt.node.var, stmt.value)

    def _bound(self, stmt: For | AttrStmt, tag: str, var: Var, extent: Expr) -> Any:
        before = dict(self.axes)
        if tag.startswith("threadIdx."):
            self.axes[tag] = (var, extent.value if isinstance(extent, IntImm) else None)
        new = self.visit_fields(stmt)
        self.axes = before
        return new

    def visit_SBlock(self, block: SBlock) -> Any:
        before = self.warps
        self.warps = before or bool(block.annotations.get("warp_execution"))
        nest = nest_of(block) if block.annotations.get(AUTO) else None
        new = self.visit_fields(block) if nest is None else self._lowered(nest)
        self.warps = before
        return new

    def _threads(self, nest: Nest) -> dict[str, int]:
        """The threads that copy together."""
        found: dict[str, int] = {}
        for tag, (_, extent) in self.axes.items():
            if extent is None:
                raise nest.fault(f"the extent of `{tag}` must be a constant")
            found[tag] = extent
        if self.warps:
            found["threadIdx.x"] = WARP
        return found

    def _lowered(self, nest: Nest) -> SBlock:
        to = buffer_type(nest.target).storage_scope
        found = [buffer_type(n.buffer).storage_scope for n in nest.sources()]
        sources = set(found)
        threads = self._threads(nest)
        if to in FRAGMENTS and sources and sources <= set(SHARED):
            new = load_tiles(nest)
        elif sources & set(FRAGMENTS) and to in SHARED:
            new = store_tiles(nest)
        elif sources & set(FRAGMENTS) and to in GLOBAL:
            warps = [(v, n or 0) for tag, (v, n) in self.axes.items() if tag != "threadIdx.x"]
            new = through_shared(nest, threads, warps)
        elif {to, *sources} <= {*GLOBAL, *SHARED} and (to in SHARED or sources & set(SHARED)):
            new = by_threads(nest, threads)
        else:
            names = ", ".join(sorted(s or "global" for s in sources)) or "nothing"
            raise nest.fault(f"no copy from `{names}` to `{to or 'global'}` is known")
        self._note(nest, new)
        return new

    def _note(self, nest: Nest, new: SBlock) -> None:
        """How the threads of a warp use the shared buffers of the copy."""
        tiles = any(isinstance(n, SBlock) for n in walk(new.body))
        accesses: list[BufferLoad | BufferStore] = [nest.store, *nest.sources()]
        for access in accesses:
            buffer = access.buffer
            if buffer_type(buffer).storage_scope not in SHARED or len(access.indices) < 2:
                continue
            uses = self.uses.setdefault(buffer, Uses())
            if tiles:
                uses.add([(*[0] * (len(access.indices) - 2), row, 0) for row in range(16)], 8)
            else:
                uses.add(*_by_lanes(new, buffer))


def _by_lanes(block: SBlock, buffer: Var) -> tuple[list[tuple[int, ...]], int]:
    """The indices with which the threads of a warp start, and the elements that each takes in a row."""
    axes: dict[str, tuple[Var, int]] = {}
    lane, lanes = None, 1
    access: BufferLoad | BufferStore | None = None
    for node in walk(block.body):
        if isinstance(node, For) and node.kind is ForKind.THREAD_BINDING:
            assert node.thread_binding is not None
            axes[node.thread_binding.thread_tag] = (node.loop_var, extent_of(node))
        elif isinstance(node, For) and node.kind is ForKind.VECTORIZED:
            lane, lanes = node.loop_var, extent_of(node)
        if isinstance(node, BufferLoad | BufferStore) and node.buffer is buffer:
            access = node
    assert access is not None
    indices = access.indices
    found = []
    for number in range(WARP):
        values = {}
        for _, (var, extent) in sorted(axes.items()):
            values[var] = number % extent
            number //= extent
        found.append(_evaluated(indices, values))
    if lane is None or lanes == 1:
        return found, 1
    here, after = _evaluated(indices, {}), _evaluated(indices, {lane: 1})
    return found, lanes if after == (*here[:-1], here[-1] + 1) else 1


def _evaluated(indices: Sequence[Expr], values: Mapping[Var, int]) -> tuple[int, ...]:
    """The indices for these values of variables, others being 0."""
    found = []
    for index in indices:
        free = {v: const(values.get(v, 0), v.dtype) for v in walk(index) if isinstance(v, Var)}
        result = Analyzer().simplify(substitute(index, free))
        found.append(result.value if isinstance(result, IntImm) else 0)
    return tuple(found)


def _with_padding(func: PrimFunc, uses: Mapping[Var, Uses]) -> PrimFunc:
    """The function with strides for the buffers whose uses are known and that nothing else points to."""
    new: dict[Var, Var] = {}
    pointed = {pointed_buffer(n) for n in walk(func)}
    made = [b for n in walk(func) if isinstance(n, SBlock) for b in n.alloc_buffers]
    for buffer, how in uses.items():
        ty = buffer_type(buffer)
        shape = [e.value for e in ty.shape if isinstance(e, IntImm)]
        if buffer in made and buffer not in pointed and not ty.strides and len(shape) == len(ty.shape):
            strides = padded(shape, max(ty.dtype.bits // 8, 1), how)
            like = ty.shape[0].dtype
            new[buffer] = Var(buffer.name, ty.replace(strides=[const(s, like) for s in strides]), buffer.span)
    return substitute(func, new)
