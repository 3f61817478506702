"""Kernels bound to the threads of a GPU at random, with copies in shared and local memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from hypothesis import reject
from hypothesis import strategies as st

from ...errors import ScheduleError
from ...ir import PrimFunc
from ...schedule import LoopRV, SBlockRV, Schedule
from ...schedule.dlight.program import Facts, facts
from ...schedule.dlight.rule import root_blocks
from .kernels import KERNELS, KINDS, kernel

Draw = Callable[[Any], Any]

_SIZES = st.sampled_from([1, 2, 3, 4, 5, 8, 9, 16])
_THREADS = st.sampled_from([1, 2, 4, 7, 8, 16, 32])
_FEW = st.sampled_from([1, 2, 4])
_OPAQUE = ("in place", "scan")
"""Families with blocks whose iterations may not run in any order, which no thread axis takes."""
FAMILIES = tuple([name for name in KERNELS if name not in _OPAQUE])
"""The kernels that can be bound."""
_SYMBOLS = st.sampled_from([None, None, None, "n", "m", "k"])


class DeviceKernel(NamedTuple):
    """A function in plain loops, the same bound to threads, and what was drawn, as words."""

    plain: PrimFunc
    bound: PrimFunc
    traits: frozenset[str]


@st.composite
def device_kernels(
    draw: st.DrawFn, names: Sequence[str] = FAMILIES, kinds: Sequence[str] = tuple(KINDS)
) -> DeviceKernel:
    """A kernel of one of the families, each of whose blocks is bound to threads.

    Sizes are small numbers, one of them a symbol at times.
    """
    sizes: dict[str, int | None] = {s: draw(_SIZES) for s in "nmkc"}
    symbol = draw(_SYMBOLS)
    if symbol is not None:
        sizes[symbol] = None
    plain = kernel(draw(st.sampled_from(list(names))), sizes, draw(st.sampled_from(list(kinds))))
    try:
        sch, traits = bind(draw, plain)
    except ScheduleError:
        reject()
    bound: Any = sch.mod["main"]
    return DeviceKernel(plain, bound, frozenset(traits))


def bind(draw: Draw, func: PrimFunc) -> tuple[Schedule, set[str]]:
    """A schedule of the function that binds every block, and what it did, as words.

    Raises ScheduleError where the loops drawn do not go together.
    """
    sch = Schedule(func, seed=1, error_render_level="fast")
    sch.work_on("main")
    traits: set[str] = set()
    for block in root_blocks(sch):
        if draw(st.booleans()) and _tried(sch.compute_inline, block):
            traits.add("inlined")
    for block in root_blocks(sch):
        sch = _Nest(draw, sch, block, traits).bind()
    return sch, traits


def _tried(step: Callable[..., Any], *arguments: Any) -> tuple[Any] | None:
    """What the step gives, in a tuple; None where it is refused, and then it changes nothing."""
    try:
        return (step(*arguments),)
    except ScheduleError:
        return None


class _Nest:
    """Binds the loops of one block that stands in the root block."""

    def __init__(self, draw: Draw, sch: Schedule, block: SBlockRV, traits: set[str]) -> None:
        self.draw, self.sch, self.block, self.traits = draw, sch, block, traits
        self.threads: dict[str, int] = {}

    def bind(self) -> Schedule:
        """Bind the loops; those that it combines over stay serial, are split, or are threads too."""
        found = facts(self.sch, self.block)
        loops = self.sch.get_loops(self.block)
        spatial = [rv for rv, loop in zip(loops, found.loops) if _binds(found, loop, found.spatial)]
        reduced = [rv for rv, loop in zip(loops, found.loops) if _binds(found, loop, found.reduced)]
        ordered = not reduced or not spatial or _tried(self.sch.reorder, *spatial, *reduced)
        if not spatial or not ordered:  # one thread runs them all
            spatial = [self.sch.add_unit_loop(loops[0] if loops else self.block)]
        local = self._local_result() if found.is_reduction and self.draw(st.booleans()) else None
        across = found.is_reduction and self.draw(st.integers(0, 2)) == 0
        inner = self._spatial(spatial, found, across)
        outer = self._reduced(reduced, across) if found.is_reduction else None
        if local:
            _tried(self.sch.reverse_compute_at, local, inner)
        copies = self._stage(outer or inner)
        if copies and outer is not None and self.draw(st.integers(0, 2)) == 0:
            self._pipelined(outer, copies)
        return self.sch

    def _local_result(self) -> SBlockRV | None:
        """The block that copies the result out of local memory."""
        made = _tried(self.sch.cache_write, self.block, 0, "local")
        if made is None:
            return None
        self.traits.add("local")
        result: SBlockRV = made[0]
        return result

    def _spatial(self, loops: list[LoopRV], found: Facts, across: bool) -> LoopRV:
        """Bind the independent loops; the innermost loop that is bound to threads."""
        if len(loops) > 1 and not across and self.draw(st.booleans()):
            return self._grid(loops)
        fused = self.sch.fuse(*loops) if len(loops) > 1 else loops[0]
        axis = "threadIdx.y" if across else "threadIdx.x"
        vector = self.draw(_FEW) if not found.reduced else 1
        virtual = self.draw(st.sampled_from([1, 1, 2]))
        threads = self.draw(_FEW if across else _THREADS)
        made = self._flat(self.sch.copy(), fused, axis, (virtual, threads, vector))
        if made is None:  # the sizes divide in a way that cannot be told apart again
            made = self._flat(self.sch, fused, axis, (1, threads, 1))
        if made is None:
            raise ScheduleError("the loops cannot be fused and split")
        self.sch, thread = made
        self.threads[axis] = threads
        return thread

    def _flat(
        self, sch: Schedule, fused: LoopRV, axis: str, sizes: tuple[int, int, int]
    ) -> tuple[Schedule, LoopRV] | None:
        """The schedule with one loop bound to blocks, threads and lanes, and its loop over threads."""
        virtual, threads, vector = sizes
        block, vthread, thread, lanes = sch.split(fused, [None, virtual, threads, vector])
        try:
            sch.bind(block, "blockIdx.x")
            sch.bind(thread, axis)
            if virtual > 1:
                sch.bind(vthread, "vthread.x")
            if vector > 1:
                sch.vectorize(lanes)
        except ScheduleError:
            return None
        self.traits.update(["vthread"] * (virtual > 1) + ["vector"] * (vector > 1))
        return sch, thread

    def _grid(self, loops: list[LoopRV]) -> LoopRV:
        """Bind the last two loops to tiles of blocks and threads, those before to blocks."""
        sch = self.sch
        *rest, first, second = loops
        sizes = self.draw(_FEW), self.draw(_THREADS)
        by, ty = sch.split(first, [None, sizes[0]])
        bx, tx = sch.split(second, [None, sizes[1]])
        sch.reorder(*rest, by, bx, ty, tx)
        if rest:
            sch.bind(sch.fuse(*rest) if len(rest) > 1 else rest[0], "blockIdx.z")
        sch.bind(by, "blockIdx.y")
        sch.bind(bx, "blockIdx.x")
        sch.bind(ty, "threadIdx.y")
        sch.bind(tx, "threadIdx.x")
        self.threads.update({"threadIdx.y": sizes[0], "threadIdx.x": sizes[1]})
        self.traits.add("grid")
        return tx

    def _reduced(self, loops: list[LoopRV], across: bool) -> LoopRV | None:
        """Bind or split the loops that are combined over; the outer serial one."""
        fused = self.sch.fuse(*loops) if len(loops) > 1 else loops[0]
        if across:
            extent = self.draw(_THREADS)
            outer, inner = self.sch.split(fused, [None, extent])
            if _tried(self.sch.bind, inner, "threadIdx.x"):
                self.threads["threadIdx.x"] = extent
                self.traits.add("across")
            return None
        outer, inner = self.sch.split(fused, [None, self.draw(_FEW)])
        if self.draw(st.booleans()):
            self.sch.unroll(inner)
        return outer

    def _stage(self, at: LoopRV) -> int:
        """Copy some of what the block reads to shared memory, the threads of the block together; how many."""
        copies: list[SBlockRV] = []
        for k in range(len(facts(self.sch, self.block).block.reads)):
            if self.draw(st.booleans()):
                copies += _tried(self._staged, self.sch, k, at) or ()
        return len(copies)

    def _staged(self, sch: Schedule, index: int, at: LoopRV) -> SBlockRV:
        """The block that copies what is read there to shared memory."""
        before = sch.copy()
        scope = self.draw(st.sampled_from(["shared", "shared.dyn"]))
        try:
            copy = sch.cache_read(self.block, index, scope)
            sch.compute_at(copy, at)
            self._together(sch, copy, at)
        except ScheduleError:
            sch.state, sch.trace = before.state, before.trace
            raise
        self.traits.add(scope)
        return copy

    def _together(self, sch: Schedule, copy: SBlockRV, at: LoopRV) -> None:
        """Share the copy's own loops among the threads of the block."""
        loops = sch.get_loops(copy)
        inside = loops[len(loops) - _depth_below(sch, copy, at) :] or [sch.add_unit_loop(copy)]
        fused = sch.fuse(*inside) if len(inside) > 1 else inside[0]
        axes = sorted(self.threads)
        lanes = self.draw(st.sampled_from([1, 1, 2, 4]))
        factors: list[int | None] = [None, *[self.threads[a] for a in axes], lanes]
        _, *threads, vector = sch.split(fused, factors)
        for loop, axis in zip(threads, axes):
            sch.bind(loop, axis)
        if lanes > 1:
            sch.vectorize(vector)

    def _pipelined(self, at: LoopRV, copies: int) -> None:
        """Run the copies ahead of the loop, one stage before their use."""
        stages, order = [0] * copies + [1], list(range(copies + 1))
        tried = self.sch.copy()
        try:
            tried.annotate(at, "software_pipeline_stage", stages)
            tried.annotate(at, "software_pipeline_order", order)
        except ScheduleError:
            return
        self.sch.annotate(at, "software_pipeline_stage", stages)
        self.sch.annotate(at, "software_pipeline_order", order)
        self.traits.add("pipeline")


def _binds(found: Facts, loop: Any, axes: Sequence[Any]) -> bool:
    """Whether the loop binds one of the axes."""
    axis = found.axis_of(loop.loop_var)
    return any(v.var is axis for v in axes)


def _depth_below(sch: Schedule, block: SBlockRV, at: LoopRV) -> int:
    """How many loops stand between a block and the loop that it was put at."""
    loops = sch.state.loops(block)
    outer = [k for k, n in enumerate(loops) if n is sch.get(at)]
    return len(loops) - 1 - outer[0]
