"""Random steps of schedules: functions that look for a place, draw arguments and call one primitive.

`STEPS` is open: `@step` adds a primitive, with a step for each of its options.  Steps aim: they draw among
the places where the primitive may apply, now and then among all.  What is refused raises
ScheduleError as always.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from ...errors import ScheduleError
from ...ir import BufferRegion, For, IntImm, PrimFunc, SBlock, Var
from ...ir.analysis.blocks import ChildBlock
from ...ir.stmt import BlockRef, SBlockRealize
from ...schedule import LoopRV, SBlockRV, Schedule

Draw = Callable[[Any], Any]
Target = tuple[str, ChildBlock]
"""A block with the name by which it is found."""


@dataclass(frozen=True)
class Step:
    """A way to call a primitive; after one that is `last` the laws no longer hold for further steps."""

    primitive: str
    option: str
    function: Callable[..., None]
    last: bool = False

    @property
    def name(self) -> str:
        """The primitive with the option in brackets."""
        return f"{self.primitive}[{self.option}]" if self.option else self.primitive

    def __call__(self, draw: Draw, sch: Schedule) -> None:
        """Call the primitive once. Raises ScheduleError where it is refused or has no place."""
        if self.option:
            self.function(draw, sch, self.option)
        else:
            self.function(draw, sch)


STEPS: dict[str, Step] = {}
"""Steps by name."""


def step(*options: str, last: bool = False) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a step, one for each option, which the function takes as its third argument.

    The function is called as the primitive is, with an underscore in front.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        for option in options or ("",):
            made = Step(function.__name__.removeprefix("_"), option, function, last)
            STEPS[made.name] = made
        return function

    return register


def steps(only: Sequence[str] = ()) -> st.SearchStrategy[Step]:
    """A step of any primitive, or of these."""
    return st.sampled_from([s for _, s in sorted(STEPS.items()) if not only or s.primitive in only])


# blocks


def targets(sch: Schedule) -> list[Target]:
    """The blocks whose name is theirs alone, the root left out."""
    found: dict[str, list[BlockRef]] = {}
    for one, place in sch.state.places.items():
        if isinstance(place.node, SBlockRealize) and isinstance(one, BlockRef) and place.parent is not None:
            found.setdefault(place.node.block.name_hint, []).append(one)
    return [(name, child_of(sch, refs[0])) for name, refs in sorted(found.items()) if len(refs) == 1]


def child_of(sch: Schedule, ref: BlockRef) -> ChildBlock:
    """The block with its loops."""
    return ChildBlock(sch.state.realize(ref), tuple(sch.state.loops(ref)))


def wild(draw: Draw) -> bool:
    """Whether a step should take just any place."""
    return bool(draw(st.integers(0, 7)) == 7)


def pick(draw: Draw, rows: Sequence[Any], what: str) -> Any:
    """One of the rows. Raises ScheduleError where there is none."""
    if not rows:
        raise ScheduleError(f"the program has no {what}")
    return rows[draw(st.integers(0, len(rows) - 1))]


def block_where(draw: Draw, sch: Schedule, test: Callable[[ChildBlock], bool]) -> Target:
    """A block that passes the test, now and then any block."""
    rows = targets(sch)
    if not wild(draw):
        rows = [row for row in rows if test(row[1])]
    found: Target = pick(draw, rows, "block for the step")
    return found


def any_target(draw: Draw, sch: Schedule) -> Target:
    """Any block."""
    return block_where(draw, sch, lambda child: True)


def any_block(draw: Draw, sch: Schedule) -> SBlockRV:
    """A handle of any block, found by name (so that the trace knows it)."""
    return handle(sch, any_target(draw, sch)[0])


def handle(sch: Schedule, name: str) -> SBlockRV:
    """A handle of the block of this name."""
    found = sch.get_sblock(name)
    assert isinstance(found, SBlockRV)
    return found


def block_of(sch: Schedule, block: SBlockRV) -> SBlock:
    """The block itself."""
    found = sch.get(block)
    assert isinstance(found, SBlock)
    return found


# loops


def loop_where(draw: Draw, sch: Schedule, target: Target, test: Callable[[For], bool]) -> LoopRV:
    """A loop around the block that passes the test, now and then any."""
    name, child = target
    rows = list(range(len(child.loops)))
    if not wild(draw):
        rows = [k for k in rows if test(child.loops[k])]
    at = pick(draw, rows, "loop for the step")
    found = sch.get_loops(handle(sch, name))[at]
    assert isinstance(found, LoopRV)
    return found


def any_loop(draw: Draw, sch: Schedule, test: Callable[[For], bool] = lambda loop: True) -> LoopRV:
    """A loop that passes the test around some block."""
    target = block_where(draw, sch, lambda child: any(test(lp) for lp in child.loops))
    return loop_where(draw, sch, target, test)


def any_loops(draw: Draw, sch: Schedule) -> list[LoopRV]:
    """All loops around a block, outer ones first; there is at least one."""
    name, child = block_where(draw, sch, lambda child: bool(child.loops))
    if not child.loops:
        raise ScheduleError("the block stands in no loop")
    found: list[LoopRV] = sch.get_loops(handle(sch, name))
    return found


def plain(loop: For) -> bool:
    """Whether the loop is neither annotated nor bound to threads and starts at 0."""
    starts = isinstance(loop.min, IntImm) and loop.min.value == 0
    return starts and not loop.annotations and loop.thread_binding is None


# buffers


def inside(sch: Schedule, region: BufferRegion) -> bool:
    """Whether the buffer is allocated in the function, so that changing it does not change the parameters."""
    func = sch.mod["main"]
    assert isinstance(func, PrimFunc)
    return region.buffer not in func.params


def region_index(draw: Draw, block: SBlock, mode: str) -> int:
    """The position of a buffer that the block reads or writes."""
    regions = block.reads if mode == "read" else block.writes
    at = pick(draw, list(range(len(regions))), f"buffer that the block {mode}s")
    assert isinstance(at, int)
    return at


def named_as(option: str, block: SBlock, mode: str, index: int) -> int | str | Var:
    """The buffer in one of the forms that primitives take: its index, its name, or the buffer."""
    buffer = (block.reads if mode == "read" else block.writes)[index].buffer
    return buffer.name if option == "name" else buffer if option == "object" else index
