"""Letting a reduction do what follows it: adding a bias, a ReLU, clipping."""

from __future__ import annotations

from collections.abc import Mapping

from ...ir import (
    Add,
    BufferLoad,
    BufferStore,
    Expr,
    Max,
    Min,
    SBlock,
    Var,
    structural_equal,
    substitute,
    walk,
)
from ...ir.analysis.blocks import ChildBlock
from ...ir.analysis.regions import block_access_regions
from ...ir.operators import add
from ...ir.stmt import seq
from ..handles import SBlockRV
from ..legality_inline import (
    element_loads,
    independent_inputs_reason,
    inline_block_reason,
    single_store,
    whole_domain_reason,
)
from ..legality_reduction import idle_loop_reason, outer_steps_reason, reduction_block_reason
from ..moves import own_axes_reason, remove_leaf
from ..reducers import Reduction, reduction_of
from ..refusal import demand, refuse
from ..registry import primitive
from ..rewrite import is_true
from ..state import State, block_ref
from .reverse_compute_inline import axes_by_elements, on_loops, only_producer


@primitive()
def fuse_reduction_epilogue(state: State, reduction_block: SBlockRV, epilogue_block: SBlockRV) -> State:
    """Let a sum store what its consumer computes of it: the sum plus a bias, its ReLU, or clipped.

    A bias becomes the initial value.  What is not linear is stored anew in each step of the
    reduction, from the sum so far, so that the last step leaves the right result.  The handle of
    the epilogue is consumed; all others are kept.

    buffers: A: T.Buffer((8, 16), "float32"), B: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")
    before:
        C = T.sblock_alloc_buffer((8,))
        for i, k in T.grid(8, 16):
            with T.sblock("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = 0.0
                C[vi] = C[vi] + A[vi, vk]
        for i in range(8):
            with T.sblock("D"):
                vi = T.axis.spatial(8, i)
                D[vi] = C[vi] + B[vi]
    steps:
        sch.fuse_reduction_epilogue("C", "D")
    after:
        C = T.sblock_alloc_buffer((8,))
        for i, k in T.grid(8, 16):
            with T.sblock("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    D[vi] = B[vi]
                D[vi] = D[vi] + A[vi, vk]
    """
    ref, before = block_ref(state.block(epilogue_block)), block_ref(state.block(reduction_block))
    root = state.scope_root(ref)
    if state.scope_root(before) is not root:
        raise refuse("other-scope", "the blocks do not stand in one scope", state.realize(ref))
    scope = state.scope(root)
    child, sums = scope.children[ref], scope.children[before]
    demand(reduction_block_reason(scope, before) or inline_block_reason(scope, ref))
    demand(outer_steps_reason(state, sums))
    if only_producer(state, scope, ref) is not before:
        text = f"block `{child.block.name_hint}` does not read the result of `{sums.block.name_hint}`"
        raise refuse("no-producer", text, child.block)
    found = _sum(sums)
    made = single_store(child.block)
    result = found.buffers[0]
    demand(independent_inputs_reason(scope, ref, before, result))
    demand(own_axes_reason(child) or own_axes_reason(sums) or whole_domain_reason(child))
    demand(idle_loop_reason(sums, sums.loops))
    values, condition = axes_by_elements(child, sums, BufferStore(result, found.terms[0], found.indices))
    if not is_true(on_loops(condition, sums)):
        text = f"block `{child.block.name_hint}` does not run for each result of the reduction"
        raise refuse("part-of-domain", text, child.realize)
    if made.buffer.dtype != result.dtype:
        text = f"`{made.buffer.name}` is of another type than `{result.name}`"
        raise refuse("dtype", text, made)
    new = _fused(sums, found, made, values)
    state = remove_leaf(state, ref)
    return state.replace_block(before, new)


def _sum(sums: ChildBlock) -> Reduction:
    found = reduction_of(sums.block)
    if len(found.buffers) != 1 or not isinstance(found.results[0], Add):
        raise refuse("not-a-sum", f"block `{sums.block.name_hint}` is no sum", sums.block)
    return found


def _fused(sums: ChildBlock, found: Reduction, made: BufferStore, values: Mapping[Var, Expr]) -> SBlock:
    """The reduction that stores the epilogue's result."""
    load = element_loads(made, found.buffers[0])[0]
    bias = _bias(made.value, load, sums.block)
    store = substitute(made, values)
    if bias is not None:
        to = BufferLoad(made.buffer, store.indices)
        block = sums.block.replace(
            body=BufferStore(made.buffer, found.combined([to], found.terms)[0], store.indices),
            init=BufferStore(made.buffer, substitute(bias, values), store.indices),
        )
    else:
        so_far = BufferLoad(found.buffers[0], found.indices)
        last = BufferStore(made.buffer, _applied(made.value, load, so_far, values), store.indices)
        block = sums.block.replace(body=seq([sums.block.body, last]))
    reads, writes = block_access_regions(block)
    return block.replace(reads=reads, writes=writes)


def _bias(value: Expr, load: BufferLoad, block: SBlock) -> Expr | None:
    """What is added to the result; None where minima and maxima are applied too. Refused for the rest."""
    rest: Expr | None = None
    linear = True
    e = value
    while not isinstance(e, BufferLoad) or e.buffer is not load.buffer:
        inside = [x for x in (e.a, e.b) if _uses(x, load.buffer)] if isinstance(e, Add | Max | Min) else []
        if len(inside) != 1:
            text = f"what follows block `{block.name_hint}` is neither a bias nor ReLU nor clipping"
            raise refuse(
                "epilogue-pattern", text, value, help="reverse_compute_at keeps it beside the reduction"
            )
        assert isinstance(e, Add | Max | Min)
        other = e.b if inside[0] is e.a else e.a
        if isinstance(e, Add):
            rest = other if rest is None else add(rest, other)
        else:
            linear = False
        e = inside[0]
    return rest if linear else None


def _uses(e: Expr, buffer: Var) -> bool:
    return any(n is buffer for n in walk(e))


def _applied(value: Expr, load: BufferLoad, to: Expr, values: Mapping[Var, Expr]) -> Expr:
    """The epilogue's value for this result."""
    if isinstance(value, BufferLoad) and structural_equal(value, load):
        return to
    assert isinstance(value, Add | Max | Min)
    if _uses(value.a, load.buffer):
        return type(value)(_applied(value.a, load, to, values), substitute(value.b, values))
    return type(value)(substitute(value.a, values), _applied(value.b, load, to, values))
