"""`tvm.s_tir.dlight.analysis`: what rules see of blocks."""

from __future__ import annotations

from typing import Any, Literal

from .....ir import BufferRegion, Expr, IntImm, Range, SBlock, Var, walk
from .....schedule import LoopRV, SBlockRV, Schedule
from .....schedule.dlight import blocks
from .....schedule.dlight.blocks import is_broadcast_epilogue
from .....schedule.dlight.gpu import gpu_machine
from .....target import Target
from ....adapters import lacking


class IterInfo:
    """An axis of a block, its kind, and the loop that binds it."""

    def __init__(self, kind: Literal["S", "R", "O"], var: Var, dom: Expr, loop_rv: LoopRV) -> None:
        self.kind = kind
        self.var = var
        self._dom = dom
        self.loop_rv = loop_rv

    @property
    def dom(self) -> int | Expr:
        """How far it runs."""
        return self._dom.value if isinstance(self._dom, IntImm) else self._dom

    def __repr__(self) -> str:
        return f'Iter("{self.kind}", {self.dom})'


class SBlockInfo:
    """A block with its axes."""

    def __init__(
        self, name: str, iters: list[IterInfo], block_rv: SBlockRV, reduction_block: bool = False
    ) -> None:
        self.name = name
        self.iters = iters
        self.block_rv = block_rv
        self._reduction_block = bool(reduction_block)

    def dom(self) -> list[int | Expr]:
        """How far each axis runs."""
        return [i.dom for i in self.iters]

    def dom_kind(self) -> str:
        """The kinds of the axes, a letter each."""
        return "".join([i.kind for i in self.iters])

    def get_loops(self) -> list[LoopRV]:
        """The loops that bind the axes."""
        return [i.loop_rv for i in self.iters]

    def is_injective(self) -> bool:
        """Whether all axes are spatial."""
        return set(self.dom_kind()) <= {"S"}

    def is_elementwise(self, sch: Schedule) -> bool:
        """Whether an injective block with one read and one write accesses both at its axes, in order."""
        block = sch.get(self.block_rv)
        if not self.is_injective() or len(block.reads) != 1 or len(block.writes) != 1:
            return False
        axes = [v.var for v in block.iter_vars]
        return all(_at(r, axes) for r in (block.reads[0], block.writes[0]))

    def is_reduction(self) -> bool:
        """Whether it has an initialiser and axes that it combines over."""
        return self._reduction_block

    def __repr__(self) -> str:
        return f'SBlockInfo("{self.name}", "{self.dom_kind()}", {self.dom()})'


def _at(region: BufferRegion, axes: list[Var]) -> bool:
    return len(region.region) == len(axes) and all(r.min is a for r, a in zip(region.region, axes))


def their_info(info: blocks.BlockInfo) -> SBlockInfo:
    """Our record of a block as the peer's."""
    iters = [IterInfo(a.kind, a.var, a.extent, a.loop) for a in info.axes]  # type: ignore[arg-type]
    return SBlockInfo(info.name, iters, info.rv, info.is_reduction)


def our_info(info: SBlockInfo) -> blocks.BlockInfo:
    """The other way round."""
    axes = [blocks.Axis(i.kind, i.var, i._dom, i.loop_rv) for i in info.iters]
    return blocks.BlockInfo(info.block_rv, info.name, tuple(axes), info.is_reduction())


def normalize_prim_func(sch: Schedule) -> list[SBlockInfo] | None:
    """Give each block a loop for each axis that has more than one value; None where that cannot be."""
    made = blocks.normalize(sch)
    return None if made is None else [their_info(b) for b in made]


def get_sblock_info(sch: Schedule, block: SBlockRV) -> SBlockInfo:
    """A block with its axes."""
    return their_info(blocks.block_info(sch, block))


def get_root_block(sch: Schedule, func_name: str = "main") -> SBlockRV:
    """The block around all others of a function."""
    found: SBlockRV = sch.get_sblock("root", func_name)
    return found


def get_max_shared_memory_per_block(target: Target) -> int:
    """Bytes of shared memory that a block of threads has. Raises ValueError for what is no GPU."""
    if "gpu" not in target.keys:
        raise ValueError(f"a GPU has shared memory; {target} is none")
    return gpu_machine(target).shared


def collect_vars_used_in_prim_expr(expr: Expr) -> set[Var]:
    """The variables of an expression."""
    return {n for n in walk(expr) if isinstance(n, Var)}


def collect_block_iter_vars_used_in_access_region(block: SBlock, region: list[Range]) -> set[Var]:
    """The axes of a block that a region depends on."""
    axes = {v.var for v in block.iter_vars}
    return {v for r in region for v in collect_vars_used_in_prim_expr(r.min)} & axes


def detect_dominant_read(block: SBlock) -> Any:
    """The place in memory of what the block reads by the most axes."""
    found = blocks.dominant_read(block)
    return found.buffer.offset_of([r.min for r in found.region])[0]


__getattr__ = lacking("tvm.s_tir.dlight.analysis")

__all__ = [
    "IterInfo",
    "SBlockInfo",
    "collect_block_iter_vars_used_in_access_region",
    "collect_vars_used_in_prim_expr",
    "detect_dominant_read",
    "get_max_shared_memory_per_block",
    "get_root_block",
    "get_sblock_info",
    "is_broadcast_epilogue",
    "normalize_prim_func",
    "our_info",
    "their_info",
]
