"""How the iterations of a loop are run."""

from __future__ import annotations

from ...ir import ForKind, IterVar, Var
from ..handles import LoopRV
from ..legality import loop_kind_reason
from ..refusal import demand, refuse
from ..registry import primitive
from ..state import State

_TAGS = {f"{base}.{axis}" for base in ("blockIdx", "threadIdx", "vthread") for axis in "xyz"} | {"vthread"}


@primitive()
def parallel(state: State, loop: LoopRV) -> State:
    """Run the iterations of a loop on several threads.

    Every handle is kept.

    before:
        for i in range(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi] + 1.0
    steps:
        (i,) = sch.get_loops("B")
        sch.parallel(i)
    after:
        for i in T.parallel(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi] + 1.0
    """
    return _with_kind(state, loop, ForKind.PARALLEL)


@primitive()
def vectorize(state: State, loop: LoopRV) -> State:
    """Run the iterations of a loop as lanes of vectors.

    Every handle is kept.

    before:
        for i in range(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi] + 1.0
    steps:
        (i,) = sch.get_loops("B")
        sch.vectorize(i)
    after:
        for i in T.vectorized(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi] + 1.0
    """
    return _with_kind(state, loop, ForKind.VECTORIZED)


@primitive()
def unroll(state: State, loop: LoopRV) -> State:
    """Write out the iterations of a loop one after another; always allowed.

    Every handle is kept.

    before:
        for i in range(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi] + 1.0
    steps:
        (i,) = sch.get_loops("B")
        sch.unroll(i)
    after:
        for i in T.unroll(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi] + 1.0
    """
    return _with_kind(state, loop, ForKind.UNROLLED)


@primitive()
def bind(state: State, loop: LoopRV, thread_axis: str) -> State:
    """Run the iterations of a loop on the threads of an axis: blockIdx, threadIdx or vthread.

    Every handle is kept.

    before:
        for i in range(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi] + 1.0
    steps:
        (i,) = sch.get_loops("B")
        sch.bind(i, "threadIdx.x")
    after:
        for i in T.thread_binding(64, thread="threadIdx.x"):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi] + 1.0
    """
    if thread_axis not in _TAGS:
        raise refuse("thread-axis", f"there is no thread axis `{thread_axis}`", note=", ".join(sorted(_TAGS)))
    return _with_kind(state, loop, ForKind.THREAD_BINDING, thread_axis)


def _with_kind(state: State, loop: LoopRV, kind: ForKind, thread_axis: str = "") -> State:
    node = state.loop(loop)
    if kind is not ForKind.UNROLLED:
        demand(loop_kind_reason(state, node, thread_axis))
    axis = (
        IterVar(None, Var("", node.loop_var.ty), IterVar.THREAD_INDEX, thread_axis) if thread_axis else None
    )
    return state.replace(node, node.replace(kind=kind, thread_binding=axis))
