"""Reductions over the threads of a block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import LoopwrightError, PassError
from ...ir import (
    EQ,
    LE,
    LT,
    And,
    AttrStmt,
    Bind,
    BufferLoad,
    BufferRegion,
    BufferStore,
    BufferType,
    Call,
    CommReducer,
    Evaluate,
    Expr,
    For,
    ForKind,
    IterVar,
    PrimFunc,
    Range,
    SBlock,
    SBlockRealize,
    Stmt,
    Var,
    const,
    seq,
)
from ...ir.arith import Analyzer
from ...ir.visitor import Rewriter, find, renew_definitions, substitute, walk
from ..common import both, conjuncts, is_const, plus, refuse
from ..registry import prim_func_pass


@prim_func_pass("s_tir.LowerCrossThreadReduction")
def lower_cross_thread_reduction(func: PrimFunc) -> PrimFunc:
    """A reduction block whose reduction axes run over threads becomes partial results and an all-reduce.

    Each thread reduces its share in a register, `T.tvm_thread_allreduce` combines the registers, and
    thread 0 stores the result; where the result is local, every thread does.  Serial loops of the
    reduction stay around the threads' share.  Raises PassError for a reduction over blocks of threads,
    and for one that no commutative reducer describes.

    before:
        @T.prim_func(s_tir=True)
        def f(A: T.Buffer((32,), "float32"), B: T.Buffer((1,), "float32")):
            for k in T.thread_binding(32, thread="threadIdx.x"):
                with T.sblock("sum"):
                    vk = T.axis.reduce(32, k)
                    T.reads(A[vk])
                    T.writes(B[0])
                    with T.init():
                        B[0] = T.float32(0)
                    B[0] = B[0] + A[vk]

    after:
        @T.prim_func(s_tir=True)
        def f(A: T.Buffer((32,), "float32"), B: T.Buffer((1,), "float32")):
            cross_thread_B = T.sblock_alloc_buffer((1,), scope="local")
            for k in T.thread_binding(32, thread="threadIdx.x"):
                with T.sblock("sum_cross_thread"):
                    vk, t = T.axis.remap("SS", [k, k])
                    T.reads(A[vk])
                    T.writes(cross_thread_B[0])
                    with T.attr(T.comm_reducer(lambda x, y: x + y, [T.float32(0)]), "reduce_scope", 0):
                        T.tvm_thread_allreduce(T.uint32(1), A[vk], T.bool(True), cross_thread_B[0], t)
                with T.sblock("sum_write_back"):
                    T.where(k == 0)
                    T.reads(cross_thread_B[0])
                    T.writes(B[0])
                    B[0] = cross_thread_B[0]
    """
    return _Lower()(func)


class _Lower(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        self.loops: list[For] = []
        self.made: list[Var] = []
        self.pending: dict[For, list[_Parts]] = {}
        self.carried: set[Var] = set()
        self.depth = 0
        """How many loops over threads are around."""

    def visit_SBlock(self, block: SBlock) -> Any:
        loops, made, self.loops, self.made = self.loops, self.made, [], []
        new = self.visit_fields(block)
        if self.made:
            new = new.replace(alloc_buffers=(*new.alloc_buffers, *self.made))
        self.loops, self.made = loops, made
        return new

    def visit_For(self, loop: For) -> Any:
        self.loops.append(loop)
        self.depth += bool(_tag(loop))
        new = self.visit_fields(loop)
        self.depth -= bool(_tag(loop))
        self.loops.pop()
        parts = self.pending.pop(loop, None)
        if parts is None:
            return new
        if self.depth:
            return seq([*[p.init for p in parts], new, *[p.in_threads(p.finish) for p in parts]])
        if len(parts) > 1 or not _is_nest(loop):
            raise refuse(
                "cross-thread-reduction",
                f"the loop `{loop.loop_var.name}` goes on with a reduction over threads that begin inside",
                loop,
                "bind a loop outside of it to an axis of threads, or reorder the loops",
            )
        (only,) = parts
        return only.in_threads([only.init, new, *only.finish])

    def visit_SBlockRealize(self, realize: SBlockRealize) -> Any:
        block = realize.block
        self._note_carried(realize)
        if block.init is None:
            return self.visit_fields(realize)
        over = [lp for lp in self.loops if _feeds(realize, lp, spatial=False)]
        threads = [lp for lp in over if _tag(lp)]
        if not threads:
            return self.visit_fields(realize)
        self._check(realize, threads)
        parts = _Parts(realize, self.loops, threads)
        self.made += parts.buffers
        serial = [lp for lp in over if not _tag(lp)]
        if not serial:
            alone = is_const(realize.predicate, 1)
            if alone:
                return seq([parts.cross(parts.reduction.terms, threads), parts.write_back({})])
            return seq([parts.init, parts.in_thread, *parts.finish])
        self._check_inside(realize, serial[0])
        parts.rebuild(self.loops[self.loops.index(serial[0]) :])
        self.pending.setdefault(serial[0], []).append(parts)
        return parts.in_thread

    def _note_carried(self, realize: SBlockRealize) -> None:
        """Keep the reduction axes that run over threads, with which no block inside can go on."""
        threads = {lp.loop_var for lp in self.loops if _tag(lp)}
        block = realize.block
        for axis, value in zip(block.iter_vars, realize.iter_values):
            if axis.iter_type != IterVar.COMM_REDUCE:
                continue
            used = {n for n in walk(value) if isinstance(n, Var)}
            if used & self.carried and block.init is not None:
                raise refuse(
                    "cross-thread-reduction",
                    f"block `{block.name_hint}` goes on with a reduction over threads outside of it",
                    realize,
                    "bind the threads inside of the outer block",
                )
            if used & (threads | self.carried):
                self.carried.add(axis.var)

    def _check(self, realize: SBlockRealize, threads: Sequence[For]) -> None:
        name = realize.block.name_hint
        for lp in threads:
            if not _tag(lp).startswith("threadIdx"):
                raise refuse(
                    "cross-thread-reduction",
                    f"the reduction of block `{name}` runs over `{_tag(lp)}`, "
                    "and only the threads of one block can reduce together",
                    realize,
                    "bind the loop to a threadIdx axis, or reduce in two steps with `rfactor`",
                )
            if _feeds(realize, lp, spatial=True):
                raise refuse(
                    "cross-thread-reduction",
                    f"the loop `{lp.loop_var.name}` feeds both a result and the reduction of block `{name}`",
                    realize,
                    "split it into one loop for each",
                )

    def _check_inside(self, realize: SBlockRealize, outer: For) -> None:
        """Between the outermost serial loop of the reduction and the block, nothing makes several results."""
        for lp in self.loops[self.loops.index(outer) :]:
            if not _tag(lp) and _feeds(realize, lp, spatial=True) and not is_const(lp.extent, 1):
                raise refuse(
                    "cross-thread-reduction",
                    f"the loop `{lp.loop_var.name}` over results of block `{realize.block.name_hint}` "
                    f"is inside the loop `{outer.loop_var.name}` over its reduction",
                    realize,
                    "reorder the loops: those of the results outside",
                )


class _Parts:
    """The statements that a reduction block becomes."""

    def __init__(self, realize: SBlockRealize, loops: Sequence[For], threads: Sequence[For]) -> None:
        from ...schedule.reducers import reduction_of

        self.realize, self.block, self.loops = realize, realize.block, loops
        try:
            self.reduction = reduction_of(self.block)
        except LoopwrightError as error:
            raise PassError(*error.diagnostics) from error
        self.reduced = [lp for lp in loops if _feeds(realize, lp, spatial=False)]
        self.threads = threads
        names = [b.name for b in self.reduction.buffers]
        self.results = [self._register("cross_thread_", n, t) for n, t in zip(names, self.reduction.terms)]
        self.shares: list[Var] = []
        self.around: list[For] = []
        self.renamed: dict[Var, Expr] = {}

    def _register(self, prefix: str, name: str, value: Expr) -> Var:
        ty = BufferType(value.dtype, (const(1, "int32"),), storage_scope="local")
        return Var(f"{prefix}{name}", ty, self.block.span)

    @property
    def buffers(self) -> list[Var]:
        """The registers to allocate."""
        alone = is_const(self.realize.predicate, 1) and all(_tag(lp) for lp in self.reduced)
        if not alone and not self.shares:
            names = [b.name for b in self.reduction.buffers]
            terms = self.reduction.terms
            self.shares = [self._register("in_thread_", n, t) for n, t in zip(names, terms)]
        return [*self.results, *self.shares]

    def rebuild(self, inside: Sequence[For]) -> None:
        """The loops over threads among these go around what comes after the outermost one, renamed."""
        for lp in inside:
            if _tag(lp):
                var = Var(lp.loop_var.name, lp.loop_var.ty, lp.loop_var.span)
                self.around.append(lp.replace(loop_var=var))
                self.renamed[lp.loop_var] = var
            elif is_const(lp.extent, 1):
                self.renamed[lp.loop_var] = lp.min

    def _plain(self, suffix: str, reads: Sequence[Var], writes: Sequence[Var], body: Stmt) -> SBlockRealize:
        block = SBlock((), _cells(reads), _cells(writes), f"{self.block.name_hint}_{suffix}", body)
        return SBlockRealize((), const(True, "bool"), block, self.realize.span)

    @property
    def init(self) -> Stmt:
        """The neutral values go into the registers of the thread."""
        zero = const(0, "int32")
        stores = [BufferStore(b, e, [zero]) for b, e in zip(self.shares, self.reduction.starts)]
        return self._plain("in_thread_init", (), self.shares, seq(stores))

    @property
    def in_thread(self) -> Stmt:
        """The block, reducing into the registers of the thread."""
        zero = const(0, "int32")
        loads = [BufferLoad(b, [zero]) for b in self.shares]
        values = self.reduction.combined(loads, self.reduction.terms)
        if len(values) == 1:
            body: Stmt = BufferStore(self.shares[0], values[0], [zero])
        else:
            names = [Var(f"v_{b.name}", v.ty) for b, v in zip(self.shares, values)]
            stores = [BufferStore(b, n, [zero]) for b, n in zip(self.shares, names)]
            body = seq([*[Bind(n, v) for n, v in zip(names, values)], *stores])
        own = set(self.reduction.buffers)
        reads = tuple([r for r in self.block.reads if r.buffer not in own])
        name = f"{self.block.name_hint}_in_thread"
        block = self.block.replace(
            name_hint=name, init=None, body=body, reads=reads, writes=_cells(self.shares), ref=None
        )
        return self.realize.replace(block=block)

    def cross(self, values: Sequence[Expr], threads: Sequence[For], *, plain: bool = False) -> Stmt:
        """The all-reduce of the values over the threads, in a block with an axis for each of them."""
        r = self.reduction
        reducer = renew_definitions(CommReducer(r.left, r.right, r.results, r.starts))
        zero = const(0, "int32")
        axes = [
            IterVar(Range(lp.min, lp.extent), Var(lp.loop_var.name, lp.loop_var.ty), IterVar.DATA_PAR)
            for lp in threads
        ]  # each thread has a result of its own
        size, condition = const(len(values), "uint32"), const(True, "bool")
        results = [BufferLoad(b, [zero]) for b in self.results]
        args = (size, *values, condition, *results, *[a.var for a in axes])
        body = AttrStmt(
            reducer, "reduce_scope", zero, Evaluate(Call("tirx.tvm_thread_allreduce", args, "void"))
        )
        own = set(r.buffers)
        old = () if plain else [a.replace(iter_type=IterVar.DATA_PAR) for a in self.block.iter_vars]
        reads = _cells(self.shares) if plain else [b for b in self.block.reads if b.buffer not in own]
        name = f"{self.block.name_hint}_cross_thread"
        block = SBlock((*old, *axes), reads, _cells(self.results), name, body)
        given = () if plain else self.realize.iter_values
        indices = [substitute(lp.loop_var, self.renamed) if plain else lp.loop_var for lp in threads]
        return SBlockRealize((*given, *indices), const(True, "bool"), block, self.realize.span)

    @property
    def finish(self) -> list[Stmt]:
        """The all-reduce of the registers and the store of the result."""
        loads = [BufferLoad(b, [const(0, "int32")]) for b in self.shares]
        return [self.cross(loads, self.threads, plain=True), self.write_back(self.renamed)]

    def in_threads(self, steps: Sequence[Stmt]) -> Stmt:
        """The statements in the loops over threads that are around the block only."""
        body = seq(steps)
        for lp in reversed(self.around):
            body = lp.replace(body=body)
        return body

    def write_back(self, renamed: dict[Var, Expr]) -> Stmt:
        """The store of the result: by thread 0, or by all where each has its own copy."""
        spatial = [
            (a, v)
            for a, v in zip(self.block.iter_vars, self.realize.iter_values)
            if a.iter_type == IterVar.DATA_PAR
        ]
        predicate = Analyzer().simplify(substitute(self._exists(spatial), renamed))
        if not all(_is_private(b) for b in self.reduction.buffers):
            thread0: Expr | None = None
            for lp in self.threads:
                here = substitute(lp.loop_var, renamed)
                thread0 = both(thread0, EQ(here, const(0, here.dtype)))
            assert thread0 is not None
            predicate = thread0 if is_const(predicate, 1) else And(predicate, thread0)
        loads = [BufferLoad(b, [const(0, "int32")]) for b in self.results]
        indices = self.reduction.indices
        stores = [BufferStore(b, v, indices) for b, v in zip(self.reduction.buffers, loads)]
        block = SBlock(
            tuple([a for a, _ in spatial]),
            _cells(self.results),
            self.block.writes,
            f"{self.block.name_hint}_write_back",
            seq(stores),
        )
        values = [substitute(v, renamed) for _, v in spatial]
        return renew_definitions(SBlockRealize(values, predicate, block, self.realize.span))

    def _exists(self, spatial: Sequence[tuple[IterVar, Expr]]) -> Expr:
        """Where there is a result, with terms or without: what the predicate says of terms does not count."""
        reduced = {lp.loop_var for lp in self.reduced}
        ana = Analyzer()
        for lp in self.loops:
            ana.bind(lp.loop_var, Range(lp.min, lp.extent))
        found: Expr = const(True, "bool")
        for condition in conjuncts(self.realize.predicate):
            named = set(find(condition, Var))
            if named.isdisjoint(reduced):
                found = And(found, condition)
                continue
            for axis, value in spatial:
                assert axis.dom is not None
                inside = And(LE(axis.dom.min, value), LT(value, plus(axis.dom.min, axis.dom.extent)))
                if named & set(find(value, Var)) and not ana.can_prove(inside):
                    found = And(found, inside)
        return found


def _is_nest(loop: For) -> bool:
    """Whether there is nothing but one loop in another, and a block."""
    body = loop.body
    while isinstance(body, For):
        body = body.body
    return isinstance(body, SBlockRealize)


def _cells(buffers: Sequence[Var]) -> tuple[BufferRegion, ...]:
    one = Range(const(0, "int32"), const(1, "int32"))
    return tuple([BufferRegion(b, (one,)) for b in buffers])


def _is_private(buffer: Var) -> bool:
    """Whether each thread has its own copy of the buffer."""
    ty = buffer.ty
    assert isinstance(ty, BufferType)
    return ty.storage_scope == "local"


def _tag(loop: For) -> str:
    """The axis of the GPU that the loop is bound to; empty for others."""
    if loop.kind is not ForKind.THREAD_BINDING or loop.thread_binding is None:
        return ""
    tag = loop.thread_binding.thread_tag
    return "" if tag.startswith("vthread") or tag == "cthread" else tag


def _feeds(realize: SBlockRealize, loop: For, *, spatial: bool) -> bool:
    """Whether the loop takes part in a data-parallel axis of the block, or in one of the others."""
    for axis, value in zip(realize.block.iter_vars, realize.iter_values):
        if (axis.iter_type == IterVar.DATA_PAR) == spatial:
            if any(n is loop.loop_var for n in walk(value)):
                return True
    return False
