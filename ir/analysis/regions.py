"""Which parts of which buffers a statement reads and writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from ...node import Node, runs_deep
from ..arith import Analyzer
from ..arith.intset import EVERYTHING, IntervalSet, eval_set, extent_of, union
from ..arith.linear import linear
from ..expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    Add,
    And,
    BufferLoad,
    BufferRegion,
    Call,
    Cast,
    Comparison,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    IterVar,
    Let,
    Not,
    Or,
    Range,
    Var,
    const,
)
from ..op import Op
from ..stmt import (
    AllocBuffer,
    AttrStmt,
    Bind,
    BufferStore,
    DeclBuffer,
    For,
    IfThenElse,
    MatchBufferRegion,
    SBlock,
    SBlockRealize,
    SeqStmt,
    Stmt,
    While,
)
from ..types import BufferType
from ..visitor import Visitor, children, walk
from .uses import uses_below

READ, WRITE = 1, 2
Box = tuple[IntervalSet, ...]


@runs_deep
def block_access_regions(node: Stmt) -> tuple[tuple[BufferRegion, ...], tuple[BufferRegion, ...]]:
    """The regions (reads, writes) that a block, or any statement, accesses of buffers defined outside it.

    Each buffer appears once in each, in the order of the first access, with the smallest boxes
    that the analysis can show to hold every access.  Loops inside are run through, conditions on
    their variables respected; blocks inside count by their own regions; views of a region count as
    the region's buffer.  A buffer whose pointer is handed out counts whole.  What a block with an
    initialiser writes does not count as read: that is the accumulation.
    """
    finder = _Finder(node)
    finder.enter(node)
    return finder.regions(READ), finder.regions(WRITE)


@runs_deep
def touched_buffers(node: Stmt) -> dict[Var, int]:
    """The buffers accessed, each with READ, WRITE or both as bits; declared regions of blocks count too."""
    finder = _Finder(node)
    finder.enter(node)
    found: dict[Var, int] = {}
    for mode, table in finder.found.items():
        for buffer in table:
            found[buffer] = found.get(buffer, 0) | mode
    return found


@runs_deep
def access_boxes(
    node: Stmt, buffers: Iterable[Var], ana: Analyzer | None = None
) -> dict[Var, tuple[Range, ...]]:
    """For each of the buffers the smallest box shown to hold every access of it in the statement.

    Left out are those that are not accessed, or whose accesses have no known ends.  Loops inside
    are run through; what the ends mention is defined outside, where the analyzer may know its ranges.
    Bodies of blocks count, not the regions that they declare.
    """
    finder = _Finder(node, inside_blocks=True)
    if ana is not None:
        finder.ana = ana.clone()
        finder.domain = {v: IntervalSet.point(const(n, v.dtype)) for v, n in ana.numbers().items()}
    finder.visit(node)
    result: dict[Var, tuple[Range, ...]] = {}
    for buffer in buffers:
        boxes = [table[buffer] for table in finder.found.values() if buffer in table]
        box = boxes[0] if boxes else ()
        for other in boxes[1:]:
            box = tuple([union(finder.ana, a, b) for a, b in zip(box, other, strict=True)])
        found = []
        for s in box:
            extent = extent_of(finder.ana, s)
            if extent is not None and s.min is not None:
                found.append(Range(*_one_type(s.min, extent)))
        if boxes and len(found) == len(box):
            result[buffer] = tuple(found)
    return result


def _stored(root: Node) -> set[Var]:
    """The buffers that are stored to; expressions hold no stores and are passed over."""
    found: set[Var] = set()
    stack = [root]
    while stack:
        top = stack.pop()
        if isinstance(top, BufferStore):
            found.add(top.buffer)
        elif not isinstance(top, Expr):
            stack += children(top)
    return found


class _Finder(Visitor):
    def __init__(self, root: Node, inside_blocks: bool = False) -> None:
        self.inside_blocks = inside_blocks
        self.ana = Analyzer()
        self.domain: dict[Var, IntervalSet] = {}
        self.found: dict[int, dict[Var, Box]] = {READ: {}, WRITE: {}}
        self.views: dict[Var, BufferRegion] = {}
        self.inner: set[Var] = set()
        self.changing = _stored(root)
        self.accumulates = False

    # results

    def regions(self, mode: int) -> tuple[BufferRegion, ...]:
        out = []
        skipped = self.found[WRITE] if mode == READ and self.accumulates else {}
        for buffer, box in self.found[mode].items():
            if buffer not in self.inner and buffer not in skipped:
                out.append(BufferRegion(buffer, [self._range(buffer, i, s) for i, s in enumerate(box)]))
        return tuple(out)

    def _range(self, buffer: Var, axis: int, s: IntervalSet) -> Range:
        extent = extent_of(self.ana, s)
        if extent is None or s.min is None:
            size = _shape(buffer)[axis]
            return Range(const(0, size.dtype), size)
        return Range(*_one_type(s.min, extent))

    def record(self, mode: int, buffer: Var, box: Box) -> None:
        view = self.views.get(buffer)
        if view is not None:
            self.record(mode, view.buffer, self._through(buffer, view, box))
            return
        table = self.found[mode]
        old = table.get(buffer)
        if old is None:
            table[buffer] = box
        else:
            table[buffer] = tuple([union(self.ana, a, b) for a, b in zip(old, box, strict=True)])

    def _through(self, buffer: Var, view: BufferRegion, box: Box) -> Box:
        """The box in the source of a view: shifted where the view keeps the extents, else all of it."""
        whole = [self.evaluate_range(r) for r in view.region]
        shape = _shape(buffer)
        lead = len(view.region) - len(shape)
        if lead < 0:
            return tuple(whole)
        for r, size in zip(view.region[lead:], shape, strict=True):
            if not self.ana.can_prove_equal(*_one_type(r.extent, size)):
                return tuple(whole)
        for r in view.region[:lead]:
            if not (type(r.extent) is IntImm and r.extent.value == 1):
                return tuple(whole)
        shifted = []
        for r, s in zip(view.region[lead:], box, strict=True):
            ends = []
            for end in (s.min, s.max):
                ends.append(None if end is None else self.ana.simplify(_sum(r.min, end)))
            moved = IntervalSet(ends[0], ends[0] if s.is_point else ends[1])
            shifted.append(
                self.evaluate_range(r) if moved.min is None or moved.max is None else self._relaxed(moved)
            )
        return (*whole[:lead], *shifted)

    def _relaxed(self, s: IntervalSet) -> IntervalSet:
        if s.is_point and s.min is not None:
            return self.evaluate(s.min)
        low, high = s.min, s.max
        return IntervalSet(
            None if low is None else self.evaluate(low).min, None if high is None else self.evaluate(high).max
        )

    # sets

    def evaluate(self, e: Expr) -> IntervalSet:
        for node in walk(e):
            if isinstance(node, BufferLoad) and (node.buffer in self.inner or node.buffer in self.changing):
                return EVERYTHING
        if self.inside_blocks and any(isinstance(n, FloorDiv | FloorMod) for n in walk(e)):
            e = self.ana.simplify(e)
        return eval_set(e, self.domain, self.ana)

    def evaluate_range(self, dom: Range) -> IntervalSet:
        first = self.evaluate(dom.min)
        if type(dom.extent) is IntImm and dom.extent.value == 1:
            return first
        end = IntervalSet.of_range(dom, self.ana).max
        last = EVERYTHING if end is None else self.evaluate(end)
        return IntervalSet(first.min, last.max)

    @contextmanager
    def condition(self, cond: Expr, truth: bool) -> Iterator[None]:
        """Within, loop variables are cut to where the condition may hold."""
        saved = self.domain
        self.domain = dict(saved)
        self._cut(cond, truth)
        try:
            yield
        finally:
            self.domain = saved

    def _cut(self, cond: Expr, truth: bool) -> None:
        if isinstance(cond, Not):
            self._cut(cond.a, not truth)
        elif isinstance(cond, And if truth else Or):
            self._cut(cond.a, truth)
            self._cut(cond.b, truth)
        elif isinstance(cond, Call) and isinstance(cond.op, Op) and cond.op.name == "prim.likely":
            self._cut(cond.args[0], truth)
        elif isinstance(cond, Comparison) and cond.a.dtype.is_int and cond.a.dtype.is_scalar:
            kind = type(cond)
            if not truth:
                negated = {LT: GE, GE: LT, GT: LE, LE: GT}.get(kind)
                if negated is None:
                    return
                kind = negated
            difference = linear(self.ana, cond.a).minus(linear(self.ana, cond.b))
            if len(difference.terms) != 1:
                return
            ((coeff, var),) = difference.terms.values()
            if isinstance(var, Var) and var in self.domain and abs(coeff) == 1:
                self._cut_variable(var, kind, coeff, difference.const)

    def _cut_variable(self, var: Var, kind: type[Expr], coeff: int, constant: int) -> None:
        low, high = self.domain[var].min, self.domain[var].max
        limit = -constant * coeff
        upper = kind in ((LT, LE, EQ) if coeff > 0 else (GT, GE, EQ))
        lower = kind in ((GT, GE, EQ) if coeff > 0 else (LT, LE, EQ))
        strict = 1 if kind in (LT, GT) else 0
        if upper and type(high) is IntImm and limit - strict < high.value:
            high = const(limit - strict, var.dtype)
        if lower and type(low) is IntImm and limit + strict > low.value:
            low = const(limit + strict, var.dtype)
        if type(low) is IntImm and type(high) is IntImm and low.value > high.value:
            return  # never run; any box will do
        self.domain[var] = IntervalSet(low, high)

    # statements

    def enter(self, node: Stmt) -> None:
        if isinstance(node, SBlockRealize):
            node = node.block
        if isinstance(node, SBlock):
            self.accumulates = node.init is not None
            self._open_block(node)
            if node.init is not None:
                self.visit(node.init)
            self.visit(node.body)
        else:
            self.visit(node)

    def _open_block(self, block: SBlock) -> None:
        self.inner.update(block.alloc_buffers)
        for match in block.match_buffers:
            self.views[match.buffer] = match.source

    def visit_For(self, loop: For) -> None:
        self.visit(loop.min)
        self.visit(loop.extent)
        if self.inside_blocks:
            self.ana.bind(loop.loop_var, Range(*_one_type(loop.min, loop.extent)))
        self.domain[loop.loop_var] = self.evaluate_range(Range(*_one_type(loop.min, loop.extent)))
        self.visit(loop.body)

    def visit_Bind(self, stmt: Bind) -> None:
        self.visit(stmt.value)
        self._name(stmt.var, stmt.value)

    def visit_Let(self, e: Let) -> None:
        self.visit(e.value)
        self._name(e.var, e.value)
        self.visit(e.body)

    def _name(self, var: Var, value: Expr) -> None:
        if isinstance(var.ty, BufferType):
            self.inner.add(var)
        integral = getattr(var.ty, "dtype", None) is not None and var.dtype.is_integral
        self.domain[var] = self.evaluate(value) if integral else EVERYTHING

    def visit_AllocBuffer(self, stmt: AllocBuffer) -> None:
        self.inner.add(stmt.buffer)

    def visit_DeclBuffer(self, stmt: DeclBuffer) -> None:
        self.inner.add(stmt.buffer)
        self.visit(stmt.data)

    def visit_IfThenElse(self, stmt: IfThenElse) -> None:
        self.visit(stmt.condition)
        with self.condition(stmt.condition, True):
            self.visit(stmt.then_case)
        if stmt.else_case is not None:
            with self.condition(stmt.condition, False):
                self.visit(stmt.else_case)

    def visit_While(self, stmt: While) -> None:
        self.visit(stmt.condition)
        self.visit(stmt.body)

    def visit_SeqStmt(self, stmt: SeqStmt) -> None:
        for s in stmt.seq:
            self.visit(s)

    def visit_AttrStmt(self, stmt: AttrStmt) -> None:
        if isinstance(stmt.node, IterVar):
            self.domain[stmt.node.var] = EVERYTHING
            if isinstance(stmt.value, Expr) and stmt.value.dtype.is_integral:
                self.domain[stmt.node.var] = self.evaluate_range(
                    Range(const(0, stmt.value.dtype), stmt.value)
                )
        self.visit_value(stmt.value)
        self.visit(stmt.body)

    def visit_BufferStore(self, stmt: BufferStore) -> None:
        self.record(WRITE, stmt.buffer, tuple([self.evaluate(i) for i in stmt.indices]))
        for index in stmt.indices:
            self.visit(index)
        self._stored_value(stmt.value)

    def _stored_value(self, value: Expr) -> None:
        """Record what a stored value reads: where no loop runs inside, its loads one by one."""
        uses = () if self.domain else uses_below(value)
        if uses and not any(isinstance(n, Call | Let) for n in uses):
            for load in uses:
                if isinstance(load, BufferLoad):
                    self.record(READ, load.buffer, tuple([self.evaluate(i) for i in load.indices]))
        else:
            self.visit(value)

    def visit_SBlockRealize(self, stmt: SBlockRealize) -> None:
        for value in stmt.iter_values:
            self.visit(value)
        self.visit(stmt.predicate)
        with self.condition(stmt.predicate, True):
            for axis, value in zip(stmt.block.iter_vars, stmt.iter_values, strict=True):
                self.domain[axis.var] = self.evaluate(value)
            self.visit(stmt.block)

    def visit_SBlock(self, block: SBlock) -> None:
        if self.inside_blocks:
            self._open_block(block)
            if block.init is not None:
                self.visit(block.init)
            self.visit(block.body)
            return
        for mode, regions in ((READ, block.reads), (WRITE, block.writes)):
            for region in regions:
                self.record(mode, region.buffer, tuple([self.evaluate_range(r) for r in region.region]))

    def visit_MatchBufferRegion(self, match: MatchBufferRegion) -> None:
        self.views[match.buffer] = match.source

    # expressions

    def visit_BufferLoad(self, e: BufferLoad) -> None:
        self.record(READ, e.buffer, tuple([self.evaluate(i) for i in e.indices]))
        for index in e.indices:
            self.visit(index)

    def visit_BufferRegion(self, e: BufferRegion) -> None:
        # a region handed to an operator: what it does with it is not known
        for mode in (READ, WRITE):
            self.record(mode, e.buffer, tuple([self.evaluate_range(r) for r in e.region]))

    def visit_Var(self, var: Var) -> None:
        if isinstance(var.ty, BufferType):
            self.whole(var, READ | WRITE)

    def whole(self, buffer: Var, modes: int) -> None:
        """The buffer may be accessed anywhere."""
        for mode in (READ, WRITE):
            if modes & mode:
                self.record(mode, buffer, tuple([EVERYTHING for _ in _shape(buffer)]))

    def visit_Call(self, e: Call) -> None:
        name = e.op.name if isinstance(e.op, Op) else ""
        if name == "prim.if_then_else":
            self.visit(e.args[0])
            with self.condition(e.args[0], True):
                self.visit(e.args[1])
            with self.condition(e.args[0], False):
                self.visit(e.args[2])
            return
        if name in ("tirx.masked_load", "tirx.masked_store") and isinstance(e.args[0], Var):
            self._masked(e, name)
            return
        if name == "tirx.tvm_access_ptr" and len(e.args) == 5:
            self._access_pointer(e)
            return
        if name == "tirx.address_of" and isinstance(e.args[0], BufferLoad):
            self.whole(e.args[0].buffer, READ | WRITE)
            for index in e.args[0].indices:
                self.visit(index)
            return
        for arg in e.args:
            self.visit(arg)

    def _masked(self, e: Call, name: str) -> None:
        buffer = e.args[0]
        assert isinstance(buffer, Var)
        rank = len(_shape(buffer))
        first = 1 if name == "tirx.masked_load" else 2
        box = tuple([self.evaluate(i) for i in e.args[first : first + rank]])
        self.record(READ if first == 1 else WRITE, buffer, box)
        for arg in e.args[1:]:
            self.visit(arg)

    def _access_pointer(self, e: Call) -> None:
        data, mask = e.args[1], e.args[4]
        modes = mask.value & 3 if isinstance(mask, IntImm) else READ | WRITE
        if isinstance(data, Call) and data.args and isinstance(data.args[0], Var):
            data = data.args[0]
        if isinstance(data, Var) and isinstance(data.ty, BufferType):
            self.whole(data, modes)
        else:
            self.visit(data)
        for arg in (e.args[2], e.args[3]):
            self.visit(arg)


def _shape(buffer: Var) -> tuple[Expr, ...]:
    ty = buffer.ty
    assert isinstance(ty, BufferType)
    return ty.shape


def _one_type(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    if a.ty is b.ty:
        return a, b
    wide = a.ty if a.dtype.bits >= b.dtype.bits else b.ty
    return tuple([x if x.ty is wide else Cast(wide, x) for x in (a, b)])  # type: ignore[return-value]


def _sum(a: Expr, b: Expr) -> Expr:
    return Add(*_one_type(a, b))
