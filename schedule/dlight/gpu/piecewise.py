"""The rule for what no other rule knows: each part of the function by itself."""

from __future__ import annotations

from ....ir import Call, ForKind, structural_equal, walk
from ....ir.op import Op
from ...handles import SBlockRV
from ...schedule import Schedule
from ..blocks import BlockInfo, block_info, has_root, inline_all, normalize_block
from ..program import facts
from ..rule import Taken, root_blocks
from .alone import in_one_thread
from .common import attempt_all, bind_alone, bind_flat, function_of
from .fallback import one_thread_each
from .machine import GpuMachine
from .single import place

_HOST_CALLS = tuple([f"tirx.{name}" for name in ("tvm_call_packed", "tvm_call_cpacked")])


def piecewise(sch: Schedule, machine: GpuMachine) -> Taken | None:
    """Each block runs as suits it, or else by a thread for each iteration of its independent loops.

    What has no such loops (a scan, a scatter) is done by one thread.  Functions that call functions of the
    host are left alone.

    before:
        for i, k in T.grid(100, 8):
            with T.sblock("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = 0.0
                B[vi] = B[vi] + A[vi, vk]
    """
    func = function_of(sch)
    if any(
        isinstance(n, Call) and isinstance(n.op, Op) and n.op.name in _HOST_CALLS for n in walk(func.body)
    ):
        return None
    if not has_root(sch) or not root_blocks(sch):
        assert sch.func_working_on is not None
        alone = func.replace(body=in_one_thread(func.body))
        sch.state = sch.state.replace_func(sch.func_working_on.name, alone)
        return Taken((), "it is no program of blocks: one thread does all")
    ready = {
        rv: block_info(sch, rv)
        for rv in root_blocks(sch)
        if sch.get(rv).iter_vars and normalize_block(sch, rv)
    }
    inline_all(sch, list(ready.values()))
    blocks = root_blocks(sch)
    whys = [_placed(sch, rv, ready, machine) for rv in blocks if not _is_bound(sch, rv)]
    return Taken(tuple(blocks), "; ".join(dict.fromkeys(whys)))


def _calls_host(node: object) -> bool:
    return isinstance(node, Call) and isinstance(node.op, Op) and node.op.name in _HOST_CALLS


def _is_bound(sch: Schedule, rv: SBlockRV) -> bool:
    return any(loop.kind is ForKind.THREAD_BINDING for loop in sch.state.loops(rv))


def _placed(sch: Schedule, rv: SBlockRV, ready: dict[SBlockRV, BlockInfo], machine: GpuMachine) -> str:
    """Run the block, or the nest in which it stands with others, on threads; says in a few words how."""
    if rv in ready:
        whys: list[str] = []
        if attempt_all(sch, lambda: whys.append(place(sch, block_info(sch, rv), machine))):
            return whys[0]
        if _keeps_to_itself(sch, rv) and attempt_all(sch, _unchecked, sch, ready[rv], machine):
            return "a thread for each element that changes"
    loops = sch.get_loops(rv)
    for count in range(len(loops), 0, -1):
        if attempt_all(sch, bind_flat, sch, loops[:count], machine.threads):
            return "a thread for each iteration of the independent loops"
    _by_one(sch, rv)
    if not loops and sch.get(rv).iter_vars:
        return f"`{rv.target.name}` is one value: one thread computes it"
    return f"no loops of `{rv.target.name}` are independent: one thread does it"


def _keeps_to_itself(sch: Schedule, rv: SBlockRV) -> bool:
    """Whether the block changes arrays in place: an iteration accesses no element that another one writes."""
    found = facts(sch, rv)
    written = {w.buffer for w in found.block.writes}
    own = [access.indices for access in found.accesses() if access.buffer in written]
    axes = {v.var for v in found.block.iter_vars}
    if not own or found.reduced or len(found.spatial) != len(axes) or found.block.init is not None:
        return False
    return axes <= set(own[0]) and all(structural_equal(indices, own[0]) for indices in own)


def _unchecked(sch: Schedule, info: BlockInfo, machine: GpuMachine) -> None:
    """A thread for each result, of a block that is known to be fit for that."""
    sch.state = sch.state.having(check=False)
    one_thread_each(sch, info, machine)
    sch.state = sch.state.having(check=True)


def _by_one(sch: Schedule, rv: SBlockRV) -> None:
    """Let one thread run the nest of the block; memory that it allocates stays the host's business."""
    loops = sch.get_loops(rv)
    if loops or sch.get(rv).iter_vars:
        if attempt_all(sch, bind_alone, sch, loops[0] if loops else rv):
            return
        nest = sch.get(loops[0]) if loops else sch.state.realize(rv)
        sch.state = sch.state.replace(nest, in_one_thread(nest))
    else:
        block = sch.get(rv)
        sch.state = sch.state.replace_block(rv, block.replace(body=in_one_thread(block.body)))
