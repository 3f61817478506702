"""Host code does not touch device memory."""

from __future__ import annotations

from ...ir import BufferLoad, BufferStore, PrimFunc
from ..common import refuse
from ..registry import prim_func_pass


@prim_func_pass("tirx.VerifyMemory")
def verify_memory(func: PrimFunc) -> PrimFunc:
    """Refuses a function for a device that accesses its buffers outside of all thread axes.

    Functions for the CPU, those without a target, and private ones that kernels call pass.

    before:
        @T.prim_func
        def f(A: T.Buffer((8,), "float32")):
            T.func_attr({"target": T.target("cuda")})
            for i in T.thread_binding(8, thread="threadIdx.x"):
                A[i] = T.float32(0)

    after:
        @T.prim_func
        def f(A: T.Buffer((8,), "float32")):
            T.func_attr({"target": T.target("cuda")})
            for i in T.thread_binding(8, thread="threadIdx.x"):
                A[i] = T.float32(0)
    """
    from ...ir.analysis.device_code import host_accesses  # loaded when it is needed, as ir.analysis does
    from ..s_tir.on_chip import is_for_threads

    if is_for_threads(func):
        return func
    for node in host_accesses(func):
        assert isinstance(node, BufferLoad | BufferStore)
        raise refuse(
            "host-access",
            f"`{node.buffer.name}` is in the memory of a device, and is accessed outside of all thread axes",
            node,
            "bind a loop around the access to a thread axis, such as threadIdx.x",
        )
    return func
