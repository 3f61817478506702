"""Putting what a block does with its producer's result into the producer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...ir import (
    GE,
    LT,
    And,
    BufferLoad,
    BufferStore,
    Cast,
    Expr,
    IterVar,
    Let,
    Not,
    Or,
    Range,
    SBlock,
    Var,
    const,
    find,
    renew_definitions,
    structural_equal,
    substitute,
)
from ...ir.analysis.blocks import BlockScope, ChildBlock
from ...ir.analysis.cover import bind_sizes
from ...ir.analysis.regions import block_access_regions
from ...ir.arith import Analyzer
from ...ir.arith.iter_build import NotAffine
from ...ir.arith.iter_pad import padded_inverse
from ...ir.operators import add, sub
from ...ir.stmt import BlockRef
from ...ir.visitor import Rewriter
from ..handles import SBlockRV
from ..legality_inline import (
    element_loads,
    independent_inputs_reason,
    inline_block_reason,
    producer_reason,
    single_store,
    stored_elements_reason,
    whole_domain_reason,
)
from ..locate import linear_sum
from ..moves import drop_buffers, mentions, own_axes_reason, remove_leaf
from ..refusal import demand, refuse
from ..registry import primitive
from ..rewrite import bind_loop, both, is_true
from ..state import State


@primitive()
def reverse_compute_inline(state: State, block: SBlockRV) -> State:
    """Let the producer of what a block reads compute the block's result at once.

    The producer keeps its handle and name; the block's handle and those of loops that held only
    it are consumed; all others are kept.

    before:
        C = T.sblock_alloc_buffer((64,))
        for i in range(64):
            with T.sblock("C"):
                vi = T.axis.spatial(64, i)
                C[vi] = A[vi] * 2.0
        for i in range(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = C[vi] + 1.0
    steps:
        sch.reverse_compute_inline("B")
    after:
        for i in range(64):
            with T.sblock("C"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi] * 2.0 + 1.0
    """
    root, scope, child = state.standing(block)
    ref = child.ref
    demand(inline_block_reason(scope, ref))
    before = only_producer(state, scope, ref)
    producer = scope.children[before]
    made = single_store(child.block)
    demand(producer_reason(scope, before, made))
    given = single_store(producer.block)
    demand(independent_inputs_reason(scope, ref, before, given.buffer))
    demand(own_axes_reason(child) or own_axes_reason(producer) or whole_domain_reason(child))
    values, condition = axes_by_elements(child, producer, given)
    new = _joined_block(producer.block, given, made, values)
    state = remove_leaf(state, ref)
    realize = state.realize(before)
    predicate = both(realize.predicate, on_loops(condition, producer))
    state = state.replace(realize, realize.replace(predicate=predicate, block=new))
    return drop_buffers(state, root, [given.buffer])


def only_producer(state: State, scope: BlockScope, ref: BlockRef) -> BlockRef:
    """The one block that computes what the block reads, whose result nobody else needs."""
    child = scope.children[ref]
    name = child.block.name_hint
    found = list(scope.producers(ref))
    if len(found) != 1:
        text = f"block `{name}` has {len(found)} producers in its scope, not one"
        raise refuse("several-producers", text, child.block)
    producer = scope.children[found[0]]
    buffers = [r.buffer for r in producer.block.writes]
    own = set(state.block(state.scope_root(ref)).alloc_buffers)
    for buffer in buffers:
        if buffer not in own:
            text = f"`{buffer.name}`, which block `{name}` reads, is visible outside the scope"
            raise refuse("output-block", text, producer.block)
        for other, user in scope.children.items():
            if other is not ref and other is not found[0] and mentions(user.realize, buffer):
                text = f"block `{user.block.name_hint}` also uses `{buffer.name}`"
                raise refuse("several-consumers", text, user.block)
        for user in scope.children.values():
            for lp in user.loops:
                if mentions_bounds(lp.min, buffer) or mentions_bounds(lp.extent, buffer):
                    text = f"the range of loop `{lp.loop_var.name}` uses `{buffer.name}`"
                    raise refuse("several-consumers", text, lp)
    return found[0]


def mentions_bounds(e: Expr, buffer: Var) -> bool:
    """Whether the bound of a loop uses the buffer."""
    return mentions(e, buffer)  # type: ignore[arg-type]


def axes_by_elements(
    child: ChildBlock, producer: ChildBlock, given: BufferStore
) -> tuple[dict[Var, Expr], Expr]:
    """The axes of the consumer for the element that the producer stores, and when there are such.

    Raises Refused unless the consumer reads each element at most once, by an affine map of all its
    axes, and the producer stores every element that is read.
    """
    block = child.block
    loads = element_loads(child.realize, given.buffer)
    if not loads:
        raise refuse("no-read", f"block `{block.name_hint}` does not read `{given.buffer.name}`", block)
    indices: Sequence[Expr] = loads[0].indices
    for load in loads[1:]:
        if not all(structural_equal(a, b) for a, b in zip(load.indices, indices)):
            text = f"block `{block.name_hint}` reads several elements of `{given.buffer.name}`"
            raise refuse("load-pattern", text, load)
    iters = {a.var: a.dom for a in block.iter_vars if a.dom is not None}
    indices, turned = _upwards(indices, {a.var: a for a in block.iter_vars})
    outputs = [Var(f"e{k}", i.ty) for k, i in enumerate(indices)]
    try:
        inverse = padded_inverse(indices, iters, outputs, padding=True)
    except NotAffine as err:
        text = f"the axes of block `{block.name_hint}` do not follow from the element it reads: {err}"
        raise refuse("load-pattern", text, loads[0]) from None
    read = [
        dom if rest is None else Range(sub(rest, sub(add(dom.min, dom.extent), 1)), dom.extent)
        for dom, rest in zip(inverse.ranges, turned)
    ]
    demand(stored_elements_reason(child, producer, given, read))
    found = dict(inverse.iterators)
    for out, index in zip(outputs, indices):
        if isinstance(index, Var) and index in found:
            found[index] = out
    condition = _inside(found, iters, dict(zip(outputs, inverse.ranges)), inverse.padding)
    ana = Analyzer()
    for axis in producer.block.iter_vars:
        if axis.dom is not None:
            ana.bind(axis.var, axis.dom)
    elements = {
        o: _typed(i, o) if rest is None else sub(rest, _typed(i, o))
        for o, i, rest in zip(outputs, given.indices, turned)
    }
    values = {v: ana.simplify(substitute(e, elements)) for v, e in found.items()}
    return values, substitute(condition, elements)


def _upwards(indices: Sequence[Expr], axes: Mapping[Var, IterVar]) -> tuple[list[Expr], list[Expr | None]]:
    """The indices, those that count downwards as `rest - index`, with the `rest` of each."""
    made: list[Expr] = []
    turned: list[Expr | None] = []
    for index in indices:
        form = linear_sum(index, axes)
        down = form is not None and form.terms and all(t.scale < 0 for t in form.terms)
        rest = form.rest if form is not None and down else None
        made.append(index if rest is None else Analyzer().simplify(sub(rest, index)))
        turned.append(rest)
    return made, turned


def _inside(
    axes: Mapping[Var, Expr], domains: Mapping[Var, Range], elements: Mapping[Var, Range], holes: Expr
) -> Expr:
    """When these elements are ones that the axes, each in its domain, lead to."""
    condition: Expr = const(1, "bool")
    ana = Analyzer()
    for out, dom in elements.items():
        ana.bind(out, dom)
        condition = both(condition, both(GE(out, dom.min), LT(out, dom.min + dom.extent)))
    for var, value in axes.items():
        dom = domains[var]
        for part in (GE(value, dom.min), LT(value, dom.min + dom.extent)):
            if not ana.can_prove(part):
                condition = both(condition, part)
    outside = _negated(holes)
    with ana.assume(condition):
        known = is_true(holes) or ana.can_prove(outside)
    return condition if known else both(condition, outside)


def _typed(index: Expr, like: Expr) -> Expr:
    return index if index.ty is like.ty else Cast(like.ty, index)


def _negated(e: Expr) -> Expr:
    if isinstance(e, Or):
        return And(_negated(e.a), _negated(e.b))
    if isinstance(e, And):
        return Or(_negated(e.a), _negated(e.b))
    return Analyzer().simplify(Not(e))


class _Move(Rewriter):
    """Replaces the loads of a buffer by one value; with `to`, its loads and stores by those of an element."""

    def __init__(self, buffer: Var, value: Expr | None = None, to: BufferLoad | None = None) -> None:
        super().__init__()
        self.buffer = buffer
        self.value = value
        self.to = to

    def visit_BufferLoad(self, e: BufferLoad) -> Expr:
        if e.buffer is self.buffer:
            found = self.value if self.to is None else self.to
            assert found is not None
            return found
        made: Expr = self.visit_fields(e)
        return made

    def visit_BufferStore(self, stmt: BufferStore) -> BufferStore:
        made: BufferStore = self.visit_fields(stmt)
        if stmt.buffer is self.buffer and self.to is not None:
            return made.replace(buffer=self.to.buffer, indices=self.to.indices)
        return made


def _joined_block(block: SBlock, given: BufferStore, made: BufferStore, values: Mapping[Var, Expr]) -> SBlock:
    """The producer's block that stores what the consumer stores, its signature found anew."""
    if block.init is None:
        value = renew_definitions(given.value) if find(given.value, Let) else given.value
        bare = made.replace(value=const(0, made.value.dtype))
        store = substitute(bare, values).replace(
            value=_Move(given.buffer, value)(substitute(made.value, values))
        )
        new = block.replace(body=store)
    else:
        to = BufferLoad(made.buffer, substitute(made, values).indices)
        move = _Move(given.buffer, to=to)
        new = block.replace(body=move(block.body), init=move(block.init))
    reads, writes = block_access_regions(new)
    return new.replace(reads=reads, writes=writes)


def on_loops(condition: Expr, producer: ChildBlock) -> Expr:
    """The condition in terms of the producer's loops, without the parts that always hold."""
    ana = Analyzer()
    bind_sizes(ana, producer.loops)
    for lp in producer.loops:
        bind_loop(ana, lp)
    axes = {a.var: v for a, v in zip(producer.block.iter_vars, producer.realize.iter_values)}
    result: Expr = const(1, "bool")
    with ana.assume(producer.realize.predicate):
        for part in _parts(condition):
            moved = ana.simplify(substitute(part, axes))
            if not ana.can_prove(moved):
                result = both(result, moved)
    return result


def _parts(e: Expr) -> list[Expr]:
    return _parts(e.a) + _parts(e.b) if isinstance(e, And) else [e]
