"""Legality of inlining a block into its consumers or its producer."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import (
    GE,
    LE,
    LT,
    And,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Call,
    Expr,
    IfThenElse,
    Or,
    Range,
    SBlock,
    SBlockRealize,
    Select,
    Stmt,
    Var,
    While,
    call_effect,
    const,
    structural_equal,
    walk,
)
from ..ir.analysis.blocks import BlockScope, ChildBlock, complete_or_reduction_reason, complete_reason
from ..ir.analysis.cover import written_box
from ..ir.analysis.uses import uses_below
from ..ir.arith import Analyzer
from ..ir.arith.iter_map import detect_iter_map
from ..ir.arith.iter_nodes import IterSumExpr
from ..ir.op import Effect, Op
from ..ir.stmt import BlockRef
from ..ir.visitor import Visitor
from .legality_data import conditions_around
from .moves import shared_loops
from .refusal import Reason, refuse
from .rewrite import both, conjuncts, is_const, is_true


def inline_block_reason(scope: BlockScope, ref: BlockRef, *, others_branch: bool = False) -> Reason | None:
    """The block is complete, has no initialiser and no buffers of its own, and its scope only blocks.

    With `others_branch` other blocks of the scope may run under conditions.
    """
    block = scope.children[ref].block
    name = block.name_hint
    if block.init is not None:
        return Reason("block-has-init", f"block `{name}` has an initialiser", block)
    held = conditions_around(scope, in_loops=True) if others_branch else None
    if not scope.only_blocks and (held is None or held[ref]):
        text = f"statements other than loops and blocks stand in the scope of block `{name}`"
        return Reason("bare-statement", text, block)
    why = complete_reason(scope, ref)
    if why is not None:
        return Reason("block-kind", why, block)
    if block.alloc_buffers or block.match_buffers:
        return Reason("own-buffers", f"block `{name}` allocates or matches buffers of its own", block)
    return None


def single_store(block: SBlock) -> BufferStore:
    """The block's body, which must be one store of a pure value. Raises Refused otherwise."""
    body = block.body
    name = block.name_hint
    if not isinstance(body, BufferStore):
        raise refuse("body-not-store", f"the body of block `{name}` is not a single store", block)
    if len(block.writes) != 1:
        raise refuse("several-writes", f"block `{name}` writes more than one region", block)
    for node in uses_below(body):
        if isinstance(node, Call) and call_effect(node) > Effect.READ:
            raise refuse("side-effect", f"block `{name}` does more than compute its value", node)
    for index in body.indices:
        if not index.dtype.is_scalar:
            raise refuse("vector-access", f"block `{name}` stores a vector", body)
    return body


def store_axes_reason(block: SBlock, store: BufferStore) -> Reason | None:
    """The store is indexed by different axes of the block, or by 0 where there is only one element."""
    axes = {a.var for a in block.iter_vars}
    used: set[Var] = set()
    shape = store.buffer.ty.shape  # type: ignore[attr-defined]
    for index, size in zip(store.indices, shape):
        if isinstance(index, Var) and index in axes and index not in used:
            used.add(index)
        elif not (is_const(index, 0) and is_const(size, 1)):
            text = f"`{store.buffer.name}` is not stored at different axes of block `{block.name_hint}`"
            return Reason("store-pattern", text, store)
    lost = [v for v in uses_below(store) if isinstance(v, Var) and v in axes and v not in used]
    if lost:
        text = (
            f"what block `{block.name_hint}` stores depends on axis `{lost[0].name}`, which does not index it"
        )
        return Reason("store-pattern", text, store)
    return None


def _takes_address(e: Call) -> bool:
    """Whether a call's argument stands for a place and not for the value there."""
    return isinstance(e.op, Op) and e.op.name == "tirx.address_of"


class _Accesses(Visitor):
    """Finds uses of a buffer other than loads and stores of single elements."""

    def __init__(self, buffer: Var) -> None:
        self.buffer = buffer
        self.loads: list[BufferLoad] = []
        self.other: list[object] = []

    def visit_BufferLoad(self, e: BufferLoad) -> None:
        if e.buffer is self.buffer:
            self.loads.append(e)
            if any(not i.dtype.is_scalar for i in e.indices):
                self.other.append(e)
        for index in e.indices:
            self.visit(index)

    def visit_BufferStore(self, stmt: BufferStore) -> None:
        for index in stmt.indices:
            self.visit(index)
        self.visit(stmt.value)

    def visit_SBlock(self, block: SBlock) -> None:
        for match in block.match_buffers:
            if match.source.buffer is self.buffer:
                self.other.append(match)
        if block.init is not None:
            self.visit(block.init)
        self.visit(block.body)

    def visit_BufferRegion(self, e: BufferRegion) -> None:
        if e.buffer is self.buffer:
            self.other.append(e)
        for r in e.region:
            self.visit(r)

    def visit_Call(self, e: Call) -> None:
        for arg in e.args:
            if isinstance(arg, BufferLoad) and arg.buffer is self.buffer:
                if call_effect(e) > Effect.READ or _takes_address(e):
                    self.other.append(e)
        self.visit_fields(e)

    def visit_Var(self, var: Var) -> None:
        if var is self.buffer:
            self.other.append(var)


def element_loads(stmt: Stmt, buffer: Var) -> list[BufferLoad]:
    """The loads of a buffer in a statement. Raises Refused for accesses that are not loads of one element."""
    finder = _Accesses(buffer)
    finder(stmt)
    if finder.other:
        text = f"`{buffer.name}` is accessed other than by loads of single elements"
        raise refuse("opaque-access", text, stmt, note="its address is taken, or a region of it is matched")
    return finder.loads


def whole_domain_reason(child: ChildBlock) -> Reason | None:
    """The loops run the block for each value of its axes: no part of a domain is left out."""
    block = child.block
    ana = Analyzer()
    loops = {lp.loop_var: Range(lp.min, lp.extent) for lp in child.loops}
    for var, dom in loops.items():
        ana.bind(var, dom)
    inside: Expr = const(1, "bool")
    for axis, value in zip(block.iter_vars, child.realize.iter_values):
        if axis.dom is not None:
            end = LT(value, axis.dom.min + axis.dom.extent)
            inside = both(both(inside, end), GE(value, axis.dom.min))
    with ana.assume(inside):
        for part in conjuncts(child.realize.predicate):
            if not ana.can_prove(part):
                text = f"block `{block.name_hint}` has a predicate that is more than the domain of its axes"
                return Reason("block-predicate", text, child.realize)
    found = detect_iter_map(child.realize.iter_values, loops, child.realize.predicate)
    for k, axis in enumerate(block.iter_vars):
        if axis.dom is None or not (found.indices and _fills(found.indices[k], axis.dom, ana)):
            text = f"the loops around block `{block.name_hint}` do not run all of its axis `{axis.var.name}`"
            return Reason("part-of-domain", text, child.realize)
    return None


def _fills(total: IterSumExpr, dom: Range, ana: Analyzer) -> bool:
    """Whether the values of a sum are just the domain."""
    extent: Expr = const(1, dom.extent.dtype)
    for part in total.args:
        if not is_const(part.scale, 1):
            return False
        extent = part.extent
    return ana.can_prove_equal(total.base, dom.min) and ana.can_prove_equal(extent, dom.extent)


def independent_inputs_reason(scope: BlockScope, ref: BlockRef, before: BlockRef, but: Var) -> Reason | None:
    """All that a block reads except one buffer has been computed when an earlier block runs.

    And nobody has read or written before what it writes.
    """
    child, early = scope.children[ref], scope.children[before]
    name = child.block.name_hint
    for region in child.block.reads:
        if region.buffer is but:
            continue
        for writer in scope.writers.get(region.buffer, ()):
            other = scope.children[writer]
            if scope.order[writer] >= scope.order[before] or shared_loops(other, early):
                text = (
                    f"block `{name}` also reads `{region.buffer.name}`, which is computed in the same scope"
                )
                return Reason("several-producers", text, other.block)
    for region in child.block.writes:
        for table in (scope.readers, scope.writers):
            for user in table.get(region.buffer, ()):
                if user is not ref and scope.order[user] <= scope.order[ref]:
                    text = (
                        f"block `{scope.children[user].block.name_hint}` uses `{region.buffer.name}` before"
                    )
                    return Reason("order-dependence", text, scope.children[user].block)
    return None


def producer_reason(scope: BlockScope, ref: BlockRef, made: BufferStore) -> Reason | None:
    """A producer can take over what its consumer stores.

    It is complete without initialiser; with one, the consumer only moves the value elsewhere, and the
    producer uses one element of its result at a time.
    """
    block = scope.children[ref].block
    if block.init is None or not isinstance(made.value, BufferLoad):
        return inline_block_reason(scope, ref)
    why = complete_or_reduction_reason(scope, ref)
    if why is not None:
        return Reason("block-kind", why, block)
    body, init = block.body, block.init
    if not (isinstance(body, BufferStore) and isinstance(init, BufferStore)):
        return Reason("body-not-store", f"block `{block.name_hint}` is not a single store", block)
    for load in element_loads(body, body.buffer):
        if not same_indices(load.indices, body.indices):
            return Reason("load-pattern", f"block `{block.name_hint}` reads other elements", load)
    if init.buffer is not body.buffer or not same_indices(init.indices, body.indices):
        return Reason("load-pattern", f"block `{block.name_hint}` initialises other elements", init)
    if block.alloc_buffers or block.match_buffers or made.buffer.dtype != body.buffer.dtype:
        return Reason("body-not-store", f"block `{block.name_hint}` cannot store to another buffer", block)
    return None


def same_indices(a: Sequence[Expr], b: Sequence[Expr]) -> bool:
    """Whether two accesses are written alike."""
    return all(structural_equal(x, y) for x, y in zip(a, b))


def stored_elements_reason(
    child: ChildBlock, producer: ChildBlock, given: BufferStore, read: Sequence[Range]
) -> Reason | None:
    """The producer stores each of the elements, or the consumer reads them without condition.

    `read` is the box of elements that the axes of the consumer lead to.
    """
    if not may_skip_reads(child.block.body):
        return None
    box = written_box(producer, producer.block.writes[0], 0)
    ana = Analyzer()
    for k, dom in enumerate(read):
        inside = box is not None and ana.can_prove(LE(box[k].low, dom.min))
        if box is None or not inside or not ana.can_prove(LE(dom.min + dom.extent, box[k].end)):
            text = (
                f"block `{child.block.name_hint}` also runs where it reads nothing of `{given.buffer.name}`"
            )
            return Reason("region-cover", text, child.block)
    return None


def may_skip_reads(stmt: Stmt) -> bool:
    """Whether a load in the statement may be left out: a condition or a short circuit stands around one."""
    for node in walk(stmt):
        if isinstance(node, Select | And | Or | IfThenElse | While):
            return True
        if isinstance(node, SBlockRealize) and not is_true(node.predicate):
            return True
        if isinstance(node, Call) and isinstance(node.op, Op) and node.op.name == "prim.if_then_else":
            return True
    return False
