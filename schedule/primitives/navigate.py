"""Finding blocks and loops."""

from __future__ import annotations

from ...errors import suggest
from ...ir import PrimFunc
from ...ir.stmt import SBlockRealize
from ..handles import LoopRV, SBlockRV
from ..refusal import Reason, Refused, refuse
from ..registry import primitive
from ..state import State, block_ref, child_realizes


def _prepare_get_sblock(state: State, arguments: dict[str, object]) -> dict[str, object]:
    if arguments["func_name"] is None:
        if state.working_on is None:
            names = [g.name for g, f in state.mod.functions.items() if isinstance(f, PrimFunc)]
            raise refuse(
                "no-function",
                "the schedule does not know which function to be working on",
                note=f"functions of the module: {', '.join(names)}",
                help="call `work_on(name)` or give `func_name`",
            )
        arguments["func_name"] = state.working_on
    return arguments


@primitive(kind="GetSBlock", pure=True, prepare=_prepare_get_sblock)
def get_sblock(state: State, name: str, func_name: str | None = None) -> tuple[State, SBlockRV]:
    """The block of this name in a function (by default the one being worked on)."""
    assert func_name is not None
    if not isinstance(state.mod[func_name], PrimFunc):
        raise refuse("no-function", f"`{func_name}` is not a loop program")
    found = state.blocks_named(name, func_name)
    if len(found) == 1:
        return state, SBlockRV(block_ref(found[0].block))
    names = [
        p.node.block.name_hint
        for p in state.places.values()
        if isinstance(p.node, SBlockRealize) and p.func == func_name
    ]
    known = f"blocks of `{func_name}`: {', '.join(dict.fromkeys(names))}"
    if found:
        text = f"{len(found)} blocks are called `{name}` in `{func_name}`"
        raise Refused(Reason("several-blocks", text, found[1].block, notes=(known,)))
    raise Refused(
        Reason("no-block", f"`{func_name}` has no block `{name}`", help=suggest(name, names), notes=(known,))
    )


@primitive(pure=True)
def get_loops(state: State, block: SBlockRV) -> tuple[State, list[LoopRV]]:
    """The loops around a block, up to the block around it, outer ones first."""
    return state, [LoopRV(lp.loop_var) for lp in state.loops(block)]


def _handles(blocks: list[SBlockRealize]) -> list[SBlockRV]:
    return [SBlockRV(block_ref(b.block)) for b in blocks]


@primitive(pure=True)
def get_child_blocks(state: State, block_or_loop: SBlockRV | LoopRV) -> tuple[State, list[SBlockRV]]:
    """The blocks directly below a block or loop, in program order."""
    return state, _handles(state.child_blocks(block_or_loop))


@primitive(pure=True)
def get_producers(state: State, block: SBlockRV) -> tuple[State, list[SBlockRV]]:
    """The blocks of the same scope that write what this one reads (or writes later)."""
    scope = state.scope_around(block)
    return state, [SBlockRV(r) for r in scope.producers(block.target)]


@primitive(pure=True)
def get_consumers(state: State, block: SBlockRV) -> tuple[State, list[SBlockRV]]:
    """The blocks of the same scope that read (or later write) what this one writes."""
    scope = state.scope_around(block)
    return state, [SBlockRV(r) for r in scope.consumers(block.target)]


@primitive(pure=True)
def get_output_blocks(state: State, scope_block: SBlockRV) -> tuple[State, list[SBlockRV]]:
    """The blocks below, at any depth, that write what the block directly around them does not allocate."""
    found: list[SBlockRealize] = []
    _outputs(state.realize(scope_block), found)
    return state, _handles(found)


def _outputs(above: SBlockRealize, found: list[SBlockRealize]) -> None:
    own = set(above.block.alloc_buffers)
    for child in child_realizes(above):
        if any(w.buffer not in own for w in child.block.writes):
            found.append(child)
        _outputs(child, found)
