"""Computing a block by a tensor intrinsic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...ir import BufferRegion, PrimFunc, Range, SBlock, Var, renew_definitions
from ...ir.operators import add
from ...ir.promote import match
from ...ir.stmt import MatchBufferRegion
from ..handles import LoopRV, SBlockRV
from ..match_desc import DescMatcher, flat_access_reason
from ..refusal import Reason, Refused, demand
from ..registry import primitive
from ..state import State, block_ref
from ..tensor_intrin import TensorIntrin, root_block
from .blockize import blockize


@primitive()
def tensorize(
    state: State, block_or_loop: LoopRV | SBlockRV, tensor_intrin: str, preserve_unit_iters: bool = True
) -> State:
    """Let a registered intrinsic compute what a block, or a loop with all in it, computes.

    A loop is made a block first (as by `blockize`).  Handles of what stands in the block are
    consumed; all others are kept.  Raises a ValueError for an intrinsic that is not registered.

    buffers: A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32"), C: T.Buffer((8,), "float32")
    before:
        for i, k in T.grid(8, 4):
            with T.sblock("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                C[vi] = C[vi] + A[vi, vk] * B[vi, vk]
    steps:
        sch.tensorize(sch.get_loops("C")[1], "dot_4_f32")
    after:
        for i in range(8):
            with T.sblock("C_o"):
                vi_o = T.axis.spatial(8, i)
                vk_o = T.axis.reduce(1, 0)
                T.reads(C[vi_o], A[vi_o, 0:4], B[vi_o, 0:4])
                T.writes(C[vi_o])
                A_1 = T.match_buffer(A[vi_o, 0:4], (4,), offset_factor=1)
                B_1 = T.match_buffer(B[vi_o, 0:4], (4,), offset_factor=1)
                C_1 = T.match_buffer(C[vi_o], (1,), offset_factor=1)
                p: T.let[T.float32x4] = A_1[T.Ramp(0, 1, 4)] * B_1[T.Ramp(0, 1, 4)]
                low: T.let[T.float32] = T.Shuffle([p], [0]) + T.Shuffle([p], [1])
                high: T.let[T.float32] = T.Shuffle([p], [2]) + T.Shuffle([p], [3])
                C_1[0] = C_1[0] + (low + high)
    """
    intrin = TensorIntrin.get(tensor_intrin)
    assert intrin is not None
    if isinstance(block_or_loop, LoopRV):
        state, block_or_loop = blockize(state, block_or_loop, preserve_unit_iters)
    block = state.block(block_or_loop)
    desc = root_block(intrin.desc)
    assert desc is not None
    found = DescMatcher(block, desc).match()
    if isinstance(found, Reason):
        note = (f"the intrinsic is `{tensor_intrin}`",)
        raise Refused(Reason(found.code, found.message, found.at, found.help, note))
    regions = [found.get(p) for p in intrin.desc.params]
    demand(flat_access_reason(intrin.impl, regions, block))
    return state.replace_block(block_ref(block), _implemented(block, intrin.impl, regions))


def _implemented(block: SBlock, impl: PrimFunc, regions: Sequence[BufferRegion | None]) -> SBlock:
    """The block with the implementation as its body, whose buffers are the regions."""
    func = renew_definitions(impl)
    root = root_block(func)
    assert root is not None
    by_buffer: dict[Var, BufferRegion] = {}
    matches: list[MatchBufferRegion] = []
    for param, region in zip(func.params, regions):
        if region is not None:
            by_buffer[param] = region
            matches.append(MatchBufferRegion(param, region))
    return block.replace(
        reads=_moved(root.reads, by_buffer),
        writes=_moved(root.writes, by_buffer),
        body=root.body,
        alloc_buffers=root.alloc_buffers,
        match_buffers=[*matches, *root.match_buffers],
        annotations=root.annotations,
    )


def _moved(parts: Sequence[BufferRegion], by_buffer: Mapping[Var, BufferRegion]) -> list[BufferRegion]:
    """Regions of the implementation's buffers as regions of those that they are parts of."""
    made: list[BufferRegion] = []
    for part in parts:
        whole = by_buffer.get(part.buffer)
        if whole is None:
            made.append(part)
            continue
        lead = len(whole.region) - len(part.region)
        dims = list(whole.region[:lead])
        for base, r in zip(whole.region[lead:], part.region):
            dims.append(Range(*match(add(base.min, r.min), r.extent)))
        made.append(BufferRegion(whole.buffer, dims))
    return made
