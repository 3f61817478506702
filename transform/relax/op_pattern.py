"""How a kernel may be fused, read off its blocks.

Every block stores to one place; comparing the indices of that place with those it reads tells what the
block does: element by element, broadcasting, moving elements, reducing.  The kernel is what its blocks
are together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...ir import (
    Add,
    Bind,
    BufferLoad,
    BufferStore,
    BufferType,
    Call,
    Cast,
    Expr,
    For,
    IfThenElse,
    IntImm,
    IRModule,
    IterVar,
    Mul,
    PrimFunc,
    SBlock,
    SeqStmt,
    Stmt,
    Var,
)
from ...ir.analysis.purity import call_effect
from ...ir.op import Effect
from ...ir.relax import OpPattern
from ...ir.stmt import Evaluate
from ...ir.visitor import find, free_vars, walk
from ..registry import register_pass

ATTR = "op_pattern"


@register_pass("relax.AnnotateTIROpPattern")
def annotate_tir_op_pattern(mod: IRModule) -> IRModule:
    """Each kernel has the attribute "op_pattern": how it may be fused, a number of `OpPattern`.

    Kernels that have one keep it. Idempotent.

    before:
        @I.ir_module
        class Module:
            @T.prim_func(private=True)
            def exp(x: T.Buffer((T.int64(2),), "float32"), y: T.Buffer((T.int64(2),), "float32")):
                for i in range(T.int64(2)):
                    with T.sblock("y"):
                        v = T.axis.spatial(T.int64(2), i)
                        y[v] = T.exp(x[v])

    after:
        @I.ir_module
        class Module:
            @T.prim_func(private=True, s_tir=True)
            def exp(x: T.Buffer((T.int64(2),), "float32"), y: T.Buffer((T.int64(2),), "float32")):
                T.func_attr({"op_pattern": 0})
                # with T.sblock("root"):
                for i in range(T.int64(2)):
                    with T.sblock("y"):
                        v = T.axis.spatial(T.int64(2), i)
                        T.reads(x[v])
                        T.writes(y[v])
                        y[v] = T.exp(x[v])
    """

    def annotate(func: PrimFunc) -> PrimFunc:
        if ATTR in func.attrs:
            return func
        annotated: PrimFunc = func.with_attr(ATTR, int(pattern_of(func)))
        return annotated

    return mod.map_prim_funcs(annotate)


def pattern_of(func: PrimFunc) -> OpPattern:
    """How the kernel may be fused; OPAQUE for all that is not plain blocks with one store each."""
    kind: OpPattern | None = None
    for block in _leaf_blocks(func.body):
        own = OpPattern.OPAQUE if block is None else _block_pattern(block)
        if kind is None:
            kind = own
        elif OpPattern.COMM_REDUCE in (kind, own):
            # what computes before or after a reduction makes it more than a plain one
            kind = max(own, kind, OpPattern.OUT_FUSIBLE)
        else:
            kind = max(kind, own)
    return OpPattern.OPAQUE if kind is None else kind


def _leaf_blocks(stmt: Stmt) -> Iterator[SBlock | None]:
    """The innermost blocks in order; None where a statement outside of them does something."""
    stack: list[Stmt] = [stmt]
    while stack:
        top = stack.pop()
        if isinstance(top, SeqStmt):
            stack += reversed(top.seq)
        elif isinstance(top, For):
            stack.append(top.body)
        elif hasattr(top, "block"):
            block = top.block
            if any(isinstance(n, SBlock) for n in walk(block.body)):
                if block.init is not None:
                    yield None
                stack.append(block.body)
            else:
                yield block
        elif not (isinstance(top, Evaluate) and isinstance(top.value, IntImm)):
            yield None


def _block_pattern(block: SBlock) -> OpPattern:
    stores = _stores(block.body)
    if not stores or block.match_buffers or block.alloc_buffers:
        return OpPattern.OPAQUE
    place = stores[0].indices
    if not _is_place(place) or not all(_same_place(s.indices, place) for s in stores):
        return OpPattern.OPAQUE
    written = {s.buffer for s in stores}
    loads = find(block.body, BufferLoad)
    others = [n for n in loads if n.buffer not in written]
    if block.init is not None:
        return _reduction(block, stores, others)
    if len(others) < len(loads):
        return OpPattern.OPAQUE
    found = [_moves(place, n) for n in loads]
    worst = max(found, default=OpPattern.ELEMWISE)
    # a bias is an operand beside the one that gives the elements
    if worst == OpPattern.BROADCAST and OpPattern.ELEMWISE in found:
        return OpPattern.ELEMWISE
    return worst


def _stores(body: Stmt) -> list[BufferStore] | None:
    """What a body stores, perhaps in the arms of a condition; None where it does something else too."""
    stores: list[BufferStore] = []
    stack = [body]
    while stack:
        top = stack.pop()
        if isinstance(top, BufferStore):
            stores.append(top)
        elif isinstance(top, SeqStmt):
            stack += top.seq
        elif isinstance(top, IfThenElse) and top.else_case is not None:
            stack += [top.then_case, top.else_case]
        elif not isinstance(top, Bind):
            return None
    return stores if all(_is_value(c) for c in find(body, Call)) else None


def _same_place(a: Sequence[Expr], b: Sequence[Expr]) -> bool:
    return len(a) == len(b) and all(map(_same, a, b))


def _is_value(call: Call) -> bool:
    return call_effect(call) <= Effect.READ


def _is_place(indices: Sequence[Expr]) -> bool:
    """Whether each index is an axis of its own, or 0: different iterations store to different places."""
    axes = [i for i in indices if not _is_zero(i)]
    return all(isinstance(i, Var) for i in axes) and len(set(axes)) == len(axes)


def _is_zero(e: Expr) -> bool:
    return isinstance(e, IntImm) and e.value == 0


def _moves(place: Sequence[Expr], load: BufferLoad) -> OpPattern:
    """What a block does with the elements that it reads here."""
    if _same_place(place, load.indices):
        return OpPattern.ELEMWISE
    rest = iter(place)
    if all(_is_zero(i) or any(i is p for p in rest) for i in load.indices):
        return OpPattern.BROADCAST
    known = set(place)
    if all(v in known for i in load.indices for v in free_vars(i) if not _is_buffer(v)):
        return OpPattern.INJECTIVE
    return OpPattern.OPAQUE


def _same(a: Expr, b: Expr) -> bool:
    return a is b or (_is_zero(a) and _is_zero(b))


def _is_buffer(var: Var) -> bool:
    return isinstance(var.ty, BufferType)


def _reduction(block: SBlock, stores: list[BufferStore], loads: list[BufferLoad]) -> OpPattern:
    reduced = {a.var for a in block.iter_vars if a.iter_type == IterVar.COMM_REDUCE}
    if any(i in reduced for i in stores[0].indices):
        return OpPattern.OPAQUE
    windows = any(i not in reduced and _mixes(i, reduced) for n in loads for i in n.indices)
    if windows or any(_multiplies(s) for s in stores):
        return OpPattern.OUT_FUSIBLE
    return OpPattern.COMM_REDUCE


def _mixes(index: Expr, reduced: set[Var]) -> bool:
    return any(v in reduced for v in free_vars(index))


def _multiplies(store: BufferStore) -> bool:
    """Whether a block adds up products: a matrix product or a convolution."""
    value = _without_casts(store.value)
    if not isinstance(value, Add):
        return False
    a, b = _without_casts(value.a), _without_casts(value.b)
    for side, term in ((a, b), (b, a)):
        if isinstance(side, BufferLoad) and side.buffer is store.buffer:
            return isinstance(term, Mul) and _reads(term.a) and _reads(term.b)
    return False


def _without_casts(e: Expr) -> Expr:
    while isinstance(e, Cast):
        e = e.value
    return e


def _reads(e: Expr) -> bool:
    return any(isinstance(n, BufferLoad) for n in walk(e))


__all__ = ["annotate_tir_op_pattern", "pattern_of"]
