"""What a program offers to a schedule: its blocks with their axes, loops, buffers and neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from loopwright.errors import LoopwrightError
from loopwright.ir import BufferRegion, BufferType, Expr, For, IntImm, IRModule, PrimFunc, SBlock, Var
from loopwright.ir.stmt import BlockRef, SBlockRealize
from loopwright.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop: its variable, its extent (None: not constant), whether it is plain, and its notes."""

    var: Var
    extent: int | None
    plain: bool
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Access:
    """A buffer in the signature of a block, and whether a block of the program allocates it."""

    buffer: Var
    shape: tuple[int | None, ...]
    inside: bool
    region: BufferRegion


@dataclass(frozen=True, slots=True)
class Block:
    """A block whose name is its own; extents that are not constant are None."""

    name: str
    node: SBlock
    reduced: tuple[bool, ...]
    extents: tuple[int | None, ...]
    loops: tuple[Loop, ...]
    reads: tuple[Access, ...]
    writes: tuple[Access, ...]
    producers: tuple[str, ...]
    consumers: tuple[str, ...]


def view(mod: IRModule) -> dict[str, Block]:
    """The blocks of `main` by name, the root and those with shared names left out."""
    sch = Schedule(mod, error_render_level="fast")
    found: dict[str, list[BlockRef]] = {}
    for one, place in sch.state.places.items():
        if isinstance(one, BlockRef) and isinstance(place.node, SBlockRealize) and place.parent is not None:
            found.setdefault(place.node.block.name_hint, []).append(one)
    own = {name: refs[0] for name, refs in sorted(found.items()) if len(refs) == 1 and name != "root"}
    func = sch.mod["main"]  # a schedule has definitions of its own
    assert isinstance(func, PrimFunc)
    outside = set(func.params)
    return {name: _block(sch, name, ref, outside, set(own)) for name, ref in own.items()}


def _block(sch: Schedule, name: str, ref: BlockRef, outside: set[Var], own: set[str]) -> Block:
    node = sch.state.block(ref)
    return Block(
        name,
        node,
        tuple([int(a.iter_type) != 0 for a in node.iter_vars]),
        tuple([_number(a.dom.extent) if a.dom is not None else None for a in node.iter_vars]),
        tuple([_loop(lp) for lp in sch.state.loops(ref)]),
        tuple([_access(r, outside) for r in node.reads]),
        tuple([_access(r, outside) for r in node.writes]),
        _neighbours(sch, name, "get_producers", own),
        _neighbours(sch, name, "get_consumers", own),
    )


def _loop(lp: For) -> Loop:
    plain = int(lp.kind) == 0 and not lp.annotations
    return Loop(lp.loop_var, _number(lp.extent), plain, tuple([str(k) for k in lp.annotations]))


def _access(region: BufferRegion, outside: set[Var]) -> Access:
    ty = region.buffer.ty
    assert isinstance(ty, BufferType)
    return Access(region.buffer, tuple([_number(e) for e in ty.shape]), region.buffer not in outside, region)


def _number(e: Expr) -> int | None:
    return int(e.value) if isinstance(e, IntImm) else None


def _neighbours(sch: Schedule, name: str, ask: str, own: set[str]) -> tuple[str, ...]:
    """Producers or consumers by name, as we see them; nothing where the question is refused."""
    try:
        blocks: list[Any] = getattr(sch, ask)(name)
    except LoopwrightError:
        return ()
    names = [sch.get(b).name_hint for b in blocks]
    return tuple(sorted({n for n in names if n in own}))
