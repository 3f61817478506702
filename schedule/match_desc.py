"""Matching a block against the description of a tensor intrinsic."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import (
    Add,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Call,
    Cast,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Mul,
    PrimFunc,
    Ramp,
    Range,
    SBlock,
    SBlockRealize,
    SeqStmt,
    Stmt,
    Sub,
    Var,
    structural_equal,
    substitute,
    walk,
)
from ..ir.arith import Analyzer
from ..ir.arith.analyzer import reads_memory
from ..ir.expr import FloatImm
from ..ir.stmt import Evaluate, For, IfThenElse
from ..ir.types import INT64, BufferType, PrimType
from ..ir.visitor import child_fields
from .refusal import Reason
from .rewrite import is_const, is_true

COMMUTATIVE = (Add, Mul)


class Mismatch(Exception):
    """The block is not what the description says; carries the reason."""

    def __init__(self, message: str, at: object = None) -> None:
        super().__init__(message)
        self.message = message
        self.at = at


class DescMatcher:
    """Finds which region of the block's buffers each buffer of the description stands for.

    Loops are compared in order, those of one iteration left out.  Indices are compared by what
    they are relative to the region that the block declares.
    """

    def __init__(self, block: SBlock, desc: SBlock) -> None:
        self.block = block
        self.desc = desc
        self.ana = Analyzer()
        self.mine: dict[Var, Expr] = {}
        self.theirs: dict[Var, Expr] = {}
        self.regions: dict[Var, BufferRegion] = {}
        self.declared: dict[Var, BufferRegion] = {}
        for axis in block.iter_vars:
            wide = self.mine[axis.var] = Var(axis.var.name, INT64)
            if axis.dom is not None:
                self.ana.bind(wide, Range(_wide(axis.dom.min, {}), _wide(axis.dom.extent, {})))
        for region in (*block.reads, *block.writes):
            self.declared.setdefault(region.buffer, region)

    def match(self) -> dict[Var, BufferRegion] | Reason:
        """The regions by the description's buffers, or why the block does not match."""
        try:
            self.stmt(self.block.body, self.desc.body)
        except Mismatch as err:
            at = err.at if isinstance(err.at, Stmt | Expr) else self.block
            text = f"block `{self.block.name_hint}` does not match the description: {err.message}"
            return Reason("no-match", text, at)
        return self.regions

    # statements

    def stmt(self, mine: Stmt, theirs: Stmt) -> None:
        mine, theirs = self.loops_off(mine, self.mine), self.loops_off(theirs, self.theirs)
        if type(mine) is not type(theirs):
            raise Mismatch(f"a {type(theirs).__name__} is expected, not a {type(mine).__name__}", mine)
        if isinstance(mine, For) and isinstance(theirs, For):
            self._loops(mine, theirs)
        elif isinstance(mine, SBlockRealize) and isinstance(theirs, SBlockRealize):
            self._blocks(mine, theirs)
        elif isinstance(mine, SeqStmt) and isinstance(theirs, SeqStmt):
            if len(mine.seq) != len(theirs.seq):
                raise Mismatch(f"{len(theirs.seq)} statements are expected, not {len(mine.seq)}", mine)
            for a, b in zip(mine.seq, theirs.seq):
                self.stmt(a, b)
        elif isinstance(mine, BufferStore) and isinstance(theirs, BufferStore):
            self._access(mine.buffer, mine.indices, theirs.buffer, theirs.indices, mine)
            self.expr(mine.value, theirs.value)
        elif isinstance(mine, IfThenElse) and isinstance(theirs, IfThenElse):
            self._branches(mine, theirs)
        elif isinstance(mine, Evaluate) and isinstance(theirs, Evaluate):
            self.expr(mine.value, theirs.value)
        else:
            raise Mismatch(f"a {type(mine).__name__} is not compared", mine)

    def loops_off(self, stmt: Stmt, known: dict[Var, Expr]) -> Stmt:
        """The statement inside of loops of one iteration."""
        while isinstance(stmt, For) and is_const(stmt.extent, 1):
            known[stmt.loop_var] = _wide(stmt.min, known)
            stmt = stmt.body
        return stmt

    def _loops(self, mine: For, theirs: For) -> None:
        first, second = _wide(mine.extent, self.mine), _wide(theirs.extent, self.theirs)
        if not self.ana.can_prove_equal(first, second):
            raise Mismatch(f"the extent of loop `{mine.loop_var.name}` differs", mine)
        var = Var(mine.loop_var.name, INT64)
        self.ana.bind(var, Range(IntImm(INT64, 0), second))
        self.mine[mine.loop_var] = Add(var, _wide(mine.min, self.mine))
        self.theirs[theirs.loop_var] = Add(var, _wide(theirs.min, self.theirs))
        self.stmt(mine.body, theirs.body)

    def _blocks(self, mine: SBlockRealize, theirs: SBlockRealize) -> None:
        if not (is_true(mine.predicate) and is_true(theirs.predicate)):
            raise Mismatch("the block inside has a predicate", mine)
        for realize, known in ((mine, self.mine), (theirs, self.theirs)):
            for axis, value in zip(realize.block.iter_vars, realize.iter_values):
                known[axis.var] = self.ana.simplify(_wide(value, known))
        a, b = mine.block, theirs.block
        if (a.init is None) != (b.init is None):
            raise Mismatch("one of the blocks has an initialiser", mine)
        if a.alloc_buffers or b.alloc_buffers or a.match_buffers or b.match_buffers:
            raise Mismatch("the block inside has buffers of its own", mine)
        if a.init is not None and b.init is not None:
            self.stmt(a.init, b.init)
        self.stmt(a.body, b.body)

    def _branches(self, mine: IfThenElse, theirs: IfThenElse) -> None:
        self.expr(mine.condition, theirs.condition)
        self.stmt(mine.then_case, theirs.then_case)
        if (mine.else_case is None) != (theirs.else_case is None):
            raise Mismatch("one of the branches is missing", mine)
        if mine.else_case is not None and theirs.else_case is not None:
            self.stmt(mine.else_case, theirs.else_case)

    # expressions

    def expr(self, mine: Expr, theirs: Expr) -> None:
        mine, theirs = _bare(mine), _bare(theirs)
        if isinstance(mine, BufferLoad) and isinstance(theirs, BufferLoad):
            self._access(mine.buffer, mine.indices, theirs.buffer, theirs.indices, mine)
            return
        if self._same_number(mine, theirs):
            return
        if type(mine) is not type(theirs) or mine.ty is not theirs.ty:
            raise Mismatch("an expression differs", mine)
        if isinstance(mine, IntImm | FloatImm):
            if not structural_equal(mine, theirs):
                raise Mismatch("a constant differs", mine)
            return
        if isinstance(mine, Var):
            if mine is not theirs:
                raise Mismatch(f"`{mine.name}` is something else", mine)
            return
        if isinstance(mine, COMMUTATIVE) and isinstance(theirs, COMMUTATIVE):
            self._either_order(mine, theirs)
            return
        if isinstance(mine, Call) and isinstance(theirs, Call) and not structural_equal(mine.op, theirs.op):
            raise Mismatch("another operation is called", mine)
        self._children(mine, theirs)

    def _either_order(self, mine: Add | Mul, theirs: Add | Mul) -> None:
        saved = dict(self.regions)
        try:
            self.expr(mine.a, theirs.a)
            self.expr(mine.b, theirs.b)
        except Mismatch:
            self.regions = saved
            self.expr(mine.a, theirs.b)
            self.expr(mine.b, theirs.a)

    def _children(self, mine: Expr, theirs: Expr) -> None:
        for f in child_fields(type(mine)):
            a, b = getattr(mine, f.name), getattr(theirs, f.name)
            if isinstance(a, Expr) and isinstance(b, Expr):
                self.expr(a, b)
            elif isinstance(a, tuple) and isinstance(b, tuple):
                if len(a) != len(b):
                    raise Mismatch("an expression differs", mine)
                for x, y in zip(a, b):
                    if isinstance(x, Expr) and isinstance(y, Expr):
                        self.expr(x, y)
                    elif not structural_equal(x, y):
                        raise Mismatch("an expression differs", mine)

    def _same_number(self, mine: Expr, theirs: Expr) -> bool:
        if not (isinstance(mine.ty, PrimType) and isinstance(theirs.ty, PrimType)):
            return False
        if not (mine.dtype.is_int and theirs.dtype.is_int and mine.dtype.is_scalar):
            return False
        if reads_memory(mine) or reads_memory(theirs):
            return False
        return self.ana.can_prove_equal(_wide(mine, self.mine), _wide(theirs, self.theirs))

    # buffers

    def _access(
        self, mine: Var, indices: Sequence[Expr], theirs: Var, their_indices: Sequence[Expr], at: object
    ) -> None:
        region = self._region(mine, theirs, at)
        lead = len(region.region) - len(their_indices)
        for k, (index, dim) in enumerate(zip(indices, region.region)):
            relative = Sub(_wide(index, self.mine), _wide(dim.min, self.mine))
            wanted: Expr = IntImm(INT64, 0) if k < lead else _wide(their_indices[k - lead], self.theirs)
            if not self.ana.can_prove_equal(relative, wanted):
                raise Mismatch(f"`{mine.name}` is accessed at another index than `{theirs.name}`", at)

    def _region(self, mine: Var, theirs: Var, at: object) -> BufferRegion:
        known = self.regions.get(theirs)
        if known is not None:
            if known.buffer is not mine:
                raise Mismatch(f"`{mine.name}` and `{known.buffer.name}` are one buffer there", at)
            return known
        region = self.declared.get(mine)
        if region is None:
            raise Mismatch(f"the block does not declare which part of `{mine.name}` it uses", at)
        a, b = mine.ty, theirs.ty
        assert isinstance(a, BufferType) and isinstance(b, BufferType)
        if a.dtype != b.dtype:
            raise Mismatch(f"`{mine.name}` is of {a.dtype}, not {b.dtype}", at)
        if a.storage_scope != b.storage_scope:
            raise Mismatch(f"`{mine.name}` is in {a.storage_scope} memory, not in {b.storage_scope}", at)
        lead = len(region.region) - len(b.shape)
        if lead < 0:
            raise Mismatch(f"`{mine.name}` has fewer dimensions than `{theirs.name}`", at)
        for k, dim in enumerate(region.region):
            size: Expr = IntImm(INT64, 1) if k < lead else _wide(b.shape[k - lead], {})
            if not self.ana.can_prove_equal(_wide(dim.extent, self.mine), size):
                raise Mismatch(f"dimension {k} of the part of `{mine.name}` has another extent", at)
        self.regions[theirs] = region
        return region


def _bare(e: Expr) -> Expr:
    """The expression without casts to the type that it has."""
    while isinstance(e, Cast) and e.value.ty is e.ty:
        e = e.value
    return e


def flat_access_reason(
    impl: PrimFunc, regions: Sequence[BufferRegion | None], block: SBlock
) -> Reason | None:
    """Where the implementation takes several rows of a buffer at once, they lie one after another."""
    parts = dict(zip(impl.params, regions))
    for node in walk(impl.body):
        if not isinstance(node, BufferLoad | BufferStore) or not node.indices:
            continue
        part, last = parts.get(node.buffer), node.indices[-1]
        ty = node.buffer.ty
        if part is None or not isinstance(ty, BufferType) or not isinstance(last, Ramp):
            continue
        row, lanes = ty.shape[-1], last.lanes
        if isinstance(row, IntImm) and isinstance(lanes, IntImm) and lanes.value <= row.value:
            continue
        if not _contiguous(part):
            text = f"the part of `{part.buffer.name}` that block `{block.name_hint}` uses is not contiguous"
            return Reason("not-contiguous", text, block)
    return None


def _contiguous(part: BufferRegion) -> bool:
    ty = part.buffer.ty
    assert isinstance(ty, BufferType)
    if ty.strides:
        return False
    inside = False
    for dim, size in zip(part.region, ty.shape):
        if inside and not structural_equal(dim.extent, size):
            same = (
                isinstance(dim.extent, IntImm) and isinstance(size, IntImm) and dim.extent.value == size.value
            )
            if not same:
                return False
        inside = inside or not is_const(dim.extent, 1)
    return True


def _wide(e: Expr, known: dict[Var, Expr]) -> Expr:
    """An index expression in 64 bits, variables by what they are known to be."""
    if isinstance(e, Var):
        found = known.get(e)
        return found if found is not None else e if e.ty is INT64 else Cast(INT64, e)
    if isinstance(e, IntImm):
        return IntImm(INT64, e.value)
    if isinstance(e, Add | Sub | Mul | FloorDiv | FloorMod) and e.dtype.is_int:
        return type(e)(_wide(e.a, known), _wide(e.b, known))
    if isinstance(e, Cast) and e.value.dtype.is_int and e.dtype.is_int:
        return _wide(e.value, known)
    narrow = {v: Cast(v.ty, x) for v, x in known.items()}
    made = substitute(e, narrow)
    return made if made.ty is INT64 else Cast(INT64, made)
