"""A thread for each result."""

from __future__ import annotations

from ...schedule import Schedule
from ..blocks import BlockInfo, inline_all, normalize
from ..rule import Taken
from .common import bind_flat, loops_of
from .machine import GpuMachine


def fallback(sch: Schedule, machine: GpuMachine) -> Taken | None:
    """Blocks that can be are inlined; each of the others runs with a thread for each of its results.

    A thread combines its values one after the other.

    before:
        for i, k in T.grid(4096, 100):
            with T.sblock("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = 0.0
                B[vi] = B[vi] + A[vi, vk]
    after:
        for ax0_fused_0 in T.thread_binding(4, thread="blockIdx.x"):
            for ax0_fused_1 in T.thread_binding(1024, thread="threadIdx.x"):
                with T.sblock("B_init"):
                    v0 = T.axis.spatial(4096, ax0_fused_0 * 1024 + ax0_fused_1)
                    B[v0] = 0.0
                for ax1 in range(100):
                    with T.sblock("B_update"):
                        v0 = T.axis.spatial(4096, ax0_fused_0 * 1024 + ax0_fused_1)
                        v1 = T.axis.reduce(100, ax1)
                        B[v0] = B[v0] + A[v0, v1]
    """
    blocks = normalize(sch)
    if not blocks:
        return None
    blocks = inline_all(sch, blocks)
    for info in blocks:
        one_thread_each(sch, info, machine)
    return Taken(tuple([b.rv for b in blocks]), "a thread computes each result")


def one_thread_each(sch: Schedule, info: BlockInfo, machine: GpuMachine) -> None:
    """Run a normalised block with a thread for each of its results."""
    spatial, others = loops_of(info)
    sch.reorder(*spatial, *others)
    bind_flat(sch, spatial, machine.threads)
    if others and sch.get(info.rv).init is not None:
        sch.decompose_reduction(info.rv, others[0])
