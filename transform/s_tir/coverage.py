"""Whether what a loop's iteration reads of a buffer was written in that same iteration."""

from __future__ import annotations

from ...ir import (
    AllocBuffer,
    Bind,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Call,
    DeclBuffer,
    Evaluate,
    Expr,
    For,
    ForKind,
    IfThenElse,
    IntImm,
    IterVar,
    Let,
    MatchBufferRegion,
    Op,
    PrimType,
    Ramp,
    Range,
    SBlock,
    SBlockRealize,
    SeqStmt,
    Stmt,
    Var,
    While,
    const,
    structural_equal,
)
from ...ir.arith import Analyzer, Linear
from ...ir.arith.intset import IntervalSet, eval_set
from ...ir.visitor import Visitor, substitute, walk
from ..common import minus, plus, times
from ..loops import jumps_out
from .init_block import start_condition

Box = tuple[tuple[Expr, Expr], ...]


class NotCoveredError(Exception):
    """Something is read that this iteration may not have written, or may not be seen to."""


def reads_own_writes(body: Stmt, buffer: Var, ana: Analyzer) -> bool:
    """Whether every read of the buffer in the statement is of cells that it has written before.

    `ana` knows the variables around.  A buffer that is only read, or only written, carries nothing.
    What a block whose statements hand out the buffer's pointer declares to write counts as written.
    False says only that it could not be shown.
    """
    uses = _Uses(buffer)
    uses.visit(body)
    if not uses.other and not (uses.read and uses.written):
        return True
    try:
        _Coverage(buffer, ana, uses.other).run(body)
    except NotCoveredError:
        return False
    return True


class _Uses(Visitor):
    """Whether a buffer is read, written, or handed out (itself, or a view of it)."""

    def __init__(self, buffer: Var) -> None:
        self.names = {buffer}
        self.read = self.written = self.other = False

    def visit_MatchBufferRegion(self, match: MatchBufferRegion) -> None:
        if match.source.buffer in self.names:
            self.names.add(match.buffer)

    def visit_BufferLoad(self, e: BufferLoad) -> None:
        self.read = self.read or e.buffer in self.names
        for index in e.indices:
            self.visit(index)

    def visit_BufferStore(self, stmt: BufferStore) -> None:
        self.written = self.written or stmt.buffer in self.names
        self.visit(stmt.value)
        for index in stmt.indices:
            self.visit(index)

    def visit_SBlock(self, block: SBlock) -> None:
        for match in block.match_buffers:
            self.visit(match)
        if block.init is not None:
            self.visit(block.init)
        self.visit(block.body)

    def visit_Var(self, var: Var) -> None:
        self.other = self.other or var in self.names


class _Coverage(Visitor):
    """Goes through statements in order, keeping boxes of cells that are certainly written.

    `guarded` holds those that are written where a condition on variables around holds.  With `handed` the
    buffer's pointer is used somewhere.
    """

    def __init__(self, buffer: Var, ana: Analyzer, handed: bool) -> None:
        self.buffer, self.ana, self.handed = buffer, ana, handed
        self.collecting = self.repeating = False
        self.block: SBlock | None = None
        self.written: list[Box] = []
        self.guarded: list[tuple[Box, Expr]] = []
        self.axes: dict[Var, Expr] = {}
        self.domain: dict[Var, IntervalSet] = {}

    def run(self, stmt: Stmt) -> None:
        self.visit(stmt)

    def _uncertain(self, *stmts: Stmt | None) -> None:
        """Statements that may not run, or not to their end: what they write does not count."""
        for stmt in stmts:
            if stmt is not None:
                kept, guards = list(self.written), len(self.guarded)
                self.visit(stmt)
                self.written = kept
                del self.guarded[guards:]

    # accesses

    def visit_Var(self, var: Var) -> None:
        if var is self.buffer:
            raise NotCoveredError

    def visit_BufferLoad(self, e: BufferLoad) -> None:
        for index in e.indices:
            self.visit(index)
        if e.buffer is self.buffer:
            self._require([self._ends(i) for i in e.indices])

    def _require(self, ends: list[tuple[Expr, Expr] | None]) -> None:
        if not self.collecting and not self._covered(ends):
            raise NotCoveredError

    def visit_BufferRegion(self, e: BufferRegion) -> None:
        if e.buffer is self.buffer:
            raise NotCoveredError

    def _ends(self, index: Expr) -> tuple[Expr, Expr] | None:
        index = substitute(index, self.axes) if self.axes else index
        if isinstance(index, Ramp):
            if not isinstance(index.lanes, IntImm) or not isinstance(index.stride, IntImm):
                return None
            last = plus(index.base, times(index.stride, const(index.lanes.value - 1, index.stride.dtype)))
            return (index.base, last) if index.stride.value > 0 else (last, index.base)
        return (index, index) if index.dtype.is_scalar else None

    def _covered(self, ends: list[tuple[Expr, Expr] | None]) -> bool:
        known = [e for e in ends if e is not None]
        if len(known) < len(ends):
            return False
        boxes = [*self.written, *[box for box, condition in self.guarded if self.ana.can_prove(condition)]]
        for box in boxes:
            if all(self._within(e, side) for e, side in zip(known, box, strict=True)):
                return True
        return False

    def _within(self, inner: tuple[Expr, Expr], outer: tuple[Expr, Expr]) -> bool:
        low, high = self.ana.linear(inner[0]), self.ana.linear(inner[1])
        first, last = self.ana.linear(outer[0]), self.ana.linear(outer[1])
        return self.ana.never_positive(first.minus(low)) and self.ana.never_positive(high.minus(last))

    def visit_BufferStore(self, stmt: BufferStore) -> None:
        self.visit(stmt.value)
        for index in stmt.indices:
            self.visit(index)
        if stmt.buffer is not self.buffer:
            return
        sides = [self._ends(i) for i in stmt.indices]
        for index, side in zip(stmt.indices, sides):
            if side is None or (isinstance(index, Ramp) and not _is_one(index.stride)):
                return
        self.written.append(tuple([s for s in sides if s is not None]))

    # statements

    def visit_SeqStmt(self, stmt: SeqStmt) -> None:
        for s in stmt.seq:
            self.visit(s)

    def visit_For(self, loop: For) -> None:
        self.visit(loop.min)
        self.visit(loop.extent)
        if loop.step is not None or jumps_out(loop.body):
            self._uncertain(loop.body)
            return
        dom = Range(*[substitute(e, self.axes) for e in (loop.min, loop.extent)])
        self.ana.bind(loop.loop_var, dom)
        first = eval_set(dom.min, self.domain, self.ana)
        end = IntervalSet.of_range(dom, self.ana).max
        last = IntervalSet(None, None) if end is None else eval_set(end, self.domain, self.ana)
        self.domain[loop.loop_var] = IntervalSet(first.min, last.max)
        before, guards = len(self.written), len(self.guarded)
        self._iterations(loop, dom)
        new = self.written[before:]
        del self.written[before:]
        for box in new:
            whole = self._run_through(box, loop.loop_var, dom)
            if whole is not None:
                self.written.append(whole)
        for k in range(len(self.guarded) - 1, guards - 1, -1):
            box, condition = self.guarded[k]
            whole = self._run_through(box, loop.loop_var, dom)
            if whole is None or loop.loop_var in _variables(condition):
                del self.guarded[k]
            else:
                self.guarded[k] = whole, condition

    def _iterations(self, loop: For, dom: Range) -> None:
        """Visit the body; where that is not enough, with what earlier iterations wrote as well."""
        kept = list(self.written)
        try:
            self.visit(loop.body)
        except NotCoveredError:
            if self.repeating or loop.kind not in (ForKind.SERIAL, ForKind.UNROLLED):
                raise
            self.repeating = True
            try:
                self._after_earlier(loop, dom, kept)
            finally:
                self.repeating = False

    def _after_earlier(self, loop: For, dom: Range, kept: list[Box]) -> None:
        """Visit the body knowing what the iterations before wrote."""
        self.written = list(kept)
        self.collecting = True
        self.visit(loop.body)
        self.collecting = False
        earlier = Range(dom.min, self.ana.simplify(minus(loop.loop_var, dom.min)))
        boxes = [self._run_through(box, loop.loop_var, earlier) for box in self.written[len(kept) :]]
        self.written = [*kept, *[box for box in boxes if box is not None]]
        start = len(self.written)
        self.visit(loop.body)
        self.written = [*kept, *self.written[start:]]

    def _run_through(self, box: Box, var: Var, dom: Range) -> Box | None:
        """The box of all iterations, if it has no holes."""
        moving = [k for k, side in enumerate(box) if any(self._factor(e, var) != 0 for e in side)]
        if not moving:
            return box if self.ana.bound(dom.extent).min >= 1 else None
        if len(moving) > 1:
            return None
        k = moving[0]
        low, high = box[k]
        factor, other = self._factor(low, var), self._factor(high, var)
        length = self.ana.linear(high).minus(self.ana.linear(low))
        if (
            factor is None
            or factor != other
            or factor <= 0
            or not length.is_const
            or factor > length.const + 1
        ):
            return None
        last = IntervalSet.of_range(dom, self.ana).max
        if last is None:
            return None
        side = (substitute(low, {var: dom.min}), self.ana.simplify(substitute(high, {var: last})))
        return (*box[:k], side, *box[k + 1 :])

    def _factor(self, e: Expr, var: Var) -> int | None:
        """What the variable is multiplied by in the sum; None where it occurs in another way."""
        total: Linear = self.ana.linear(e)
        factor: int | None = 0
        for coeff, term in total.terms.values():
            if term is var:
                factor = coeff
            elif var in _variables(term):
                return None
        return factor

    def visit_While(self, stmt: While) -> None:
        self.visit(stmt.condition)
        self._uncertain(stmt.body)

    def visit_IfThenElse(self, stmt: IfThenElse) -> None:
        self.visit(stmt.condition)
        if stmt.else_case is None and self._is_start(stmt.condition):
            self.visit(stmt.then_case)
            return
        cond = substitute(stmt.condition, self.axes)
        with self.ana.mode(data=True), self.ana.assume(cond), self.ana.mode(data=False):
            self._uncertain(stmt.then_case)
        self._uncertain(stmt.else_case)

    def visit_Call(self, e: Call) -> None:
        if isinstance(e.op, Op) and e.op.name == "prim.if_then_else":
            self.visit(e.args[0])
            with self.ana.assume(substitute(e.args[0], self.axes)):
                self.visit(e.args[1])
            self.visit(e.args[2])
            return
        for arg in e.args:
            self.visit(arg)

    def visit_Bind(self, stmt: Bind) -> None:
        self.visit(stmt.value)
        if isinstance(stmt.value.ty, PrimType):
            self.ana.bind(stmt.var, substitute(stmt.value, self.axes))

    def visit_Let(self, e: Let) -> None:
        self.visit(e.value)
        self.visit(e.body)

    def visit_AllocBuffer(self, stmt: AllocBuffer) -> None:
        pass

    def visit_DeclBuffer(self, stmt: DeclBuffer) -> None:
        self.visit(stmt.data)

    def visit_SBlockRealize(self, realize: SBlockRealize) -> None:
        for value in realize.iter_values:
            self.visit(value)
        self.visit(realize.predicate)
        for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
            self.axes[axis.var] = substitute(value, self.axes)
        predicate = substitute(realize.predicate, self.axes)
        if isinstance(predicate, IntImm) and predicate.value:
            self.visit(realize.block)
            return
        kept = len(self.written)
        with self.ana.assume(predicate):
            self.visit(realize.block)
        self.guarded += [(box, predicate) for box in self.written[kept:]]
        del self.written[kept:]

    def visit_SBlock(self, block: SBlock) -> None:
        for match in block.match_buffers:
            if match.source.buffer is self.buffer:
                # what is accessed by the other name may be read, and need not be written
                self._require([self._side(r) for r in match.source.region])
        if self.handed and isinstance(block.body, Evaluate) and block.init is None:
            self._by_declaration(block)
            return
        if block.init is not None:
            if self._starts_inside(block):
                self.visit(block.init)
            else:
                self._uncertain(block.init)
        kept, self.block = self.block, block
        self.visit(block.body)
        self.block = kept

    def _by_declaration(self, block: SBlock) -> None:
        """A block that calls something with pointers does to the buffer what it declares."""
        regions = [[r for r in part if r.buffer is self.buffer] for part in (block.reads, block.writes)]
        if not any(regions):
            self.visit(block.body)
        for region in regions[0]:
            self._require([self._side(r) for r in region.region])
        self.written += [tuple([self._side(r) for r in region.region]) for region in regions[1]]

    def _side(self, r: Range) -> tuple[Expr, Expr]:
        low, extent = substitute(r.min, self.axes), substitute(r.extent, self.axes)
        return low, self.ana.simplify(minus(plus(low, extent), const(1, low.dtype)))

    def _is_start(self, condition: Expr) -> bool:
        """Whether this is the lowered form of being in the first iteration of the block around."""
        if self.block is None or not self._starts_inside(self.block):
            return False
        starts = [a for a in self.block.iter_vars if a.iter_type == IterVar.COMM_REDUCE and a.dom is not None]
        wanted = start_condition(starts)
        return wanted is not None and structural_equal(wanted, condition)

    def _starts_inside(self, block: SBlock) -> bool:
        """Whether the loops inside bring every reduction axis to its start."""
        for axis in block.iter_vars:
            if axis.iter_type != IterVar.COMM_REDUCE:
                continue
            value = self.axes.get(axis.var)
            if value is None or axis.dom is None:
                return False
            low = eval_set(value, self.domain, self.ana).min
            if low is None or not self.ana.can_prove_equal(low, substitute(axis.dom.min, self.axes)):
                return False
        return True


def _is_one(e: Expr) -> bool:
    return isinstance(e, IntImm) and e.value == 1


def _variables(e: Expr) -> set[Var]:
    return {n for n in walk(e) if isinstance(n, Var)}
