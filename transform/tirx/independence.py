"""Whether the iterations of a loop may run together, statement by statement."""

from __future__ import annotations

from ...ir import (
    AllocBuffer,
    Bind,
    BufferLoad,
    BufferStore,
    BufferType,
    Call,
    Cast,
    DeclBuffer,
    Expr,
    For,
    Let,
    Op,
    PrimType,
    Ramp,
    Range,
    Stmt,
    Var,
)
from ...ir.arith import Analyzer, Linear
from ...ir.arith.keys import is_pure_call
from ...ir.visitor import Visitor, walk


def independent(body: Stmt, var: Var, ana: Analyzer) -> bool:
    """Whether no iteration touches a cell that another one writes.

    For each buffer from outside that is written, every access must have the form `c * var + outer
    + r` with one c and one outer part, and the values of all r must span less than |c|.  Calls
    with effects, and two names for one written memory, count as dependence.
    """
    finder = _Accesses(var, ana)
    finder.visit(body)
    if finder.opaque:
        return False
    written = {finder.root(b) for b, _, store in finder.found if store}
    for root in written:
        group = [(b, index) for b, index, _ in finder.found if finder.root(b) is root]
        if any(b is not group[0][0] for b, _ in group):
            return False
        if not _disjoint([index for _, index in group], var, finder):
            return False
    return True


class _Accesses(Visitor):
    def __init__(self, var: Var, ana: Analyzer) -> None:
        self.var, self.ana = var, ana
        self.found: list[tuple[Var, Expr | None, bool]] = []
        self.private: set[Var] = set()
        self.inner: set[Var] = set()
        self.roots: dict[Var, Var] = {}
        self.opaque = False

    def root(self, buffer: Var) -> Var:
        """The buffer whose memory this one names."""
        while buffer in self.roots:
            buffer = self.roots[buffer]
        return buffer

    def note(self, buffer: Var, indices: tuple[Expr, ...], store: bool) -> None:
        if buffer not in self.private:
            one = indices[0] if len(indices) == 1 else None
            self.found.append((buffer, one, store))

    def visit_AllocBuffer(self, stmt: AllocBuffer) -> None:
        self.private.add(stmt.buffer)

    def visit_DeclBuffer(self, stmt: DeclBuffer) -> None:
        data = stmt.data
        if isinstance(data, Call) and data.args and isinstance(data.args[0], Var):
            self.roots[stmt.buffer] = data.args[0]
            if data.args[0] in self.private:
                self.opaque = True  # a second name for a private buffer would need a lane of its own
        else:
            self.opaque = True

    def visit_For(self, loop: For) -> None:
        self.visit(loop.min)
        self.visit(loop.extent)
        self.inner.add(loop.loop_var)
        self.ana.bind(loop.loop_var, Range(loop.min, loop.extent))
        self.visit(loop.body)

    def visit_Bind(self, stmt: Bind) -> None:
        self.inner.add(stmt.var)
        if isinstance(stmt.value.ty, PrimType):
            self.ana.bind(stmt.var, stmt.value)
        self.visit(stmt.value)

    def visit_Let(self, e: Let) -> None:
        self.inner.add(e.var)
        self.visit(e.value)
        self.visit(e.body)

    def visit_BufferLoad(self, e: BufferLoad) -> None:
        self.note(e.buffer, e.indices, False)
        for index in e.indices:
            self.visit(index)

    def visit_BufferStore(self, stmt: BufferStore) -> None:
        self.note(stmt.buffer, stmt.indices, True)
        for index in stmt.indices:
            self.visit(index)
        self.visit(stmt.value)

    def visit_Call(self, e: Call) -> None:
        if not is_pure_call(e):
            self.opaque = True
        if isinstance(e.op, Op) and e.op.name == "tirx.masked_load":
            buffer = e.args[0]
            assert isinstance(buffer, Var)
            self.note(buffer, e.args[1:-1], False)
            for arg in e.args[1:]:
                self.visit(arg)
            return
        for arg in e.args:
            self.visit(arg)

    def visit_Var(self, var: Var) -> None:
        if isinstance(var.ty, BufferType) and var in self.private:
            self.opaque = True  # its pointer leaves the lane


def _disjoint(indices: list[Expr | None], var: Var, finder: _Accesses) -> bool:
    ana = finder.ana
    low = high = 0
    first: tuple[int, Linear] | None = None
    for k, index in enumerate(indices):
        parts = None if index is None else _parts(index, var, finder)
        if parts is None:
            return False
        coeff, outer, rest = parts
        bound = rest.bound(ana)
        if first is None:
            first = (coeff, outer)
        elif coeff != first[0] or not _equal(outer, first[1]):
            return False
        low, high = (bound.min, bound.max) if k == 0 else (min(low, bound.min), max(high, bound.max))
    return first is not None and high - low < abs(first[0])


def _equal(a: Linear, b: Linear) -> bool:
    difference = a.minus(b)
    return difference.is_const and difference.const == 0


def _parts(index: Expr, var: Var, finder: _Accesses) -> tuple[int, Linear, Linear] | None:
    """The factor of the lane, the part fixed outside the loop, the part that varies inside."""
    stretch = 0
    if isinstance(index, Ramp):
        known = finder.ana.bound(index.stride)
        if index.dtype.scalable or not known.is_const:
            return None
        stretch = known.min * (index.dtype.lanes - 1)
        index = index.base
    if not index.dtype.is_int or index.dtype.is_vector:
        return None
    with finder.ana.mode(data=False):
        total = _through_casts(finder.ana.linear(index), finder.ana)
    coeff, outer, rest = 0, Linear(), Linear({}, total.const)
    for key, (c, term) in total.terms.items():
        if term is var:
            coeff = c
        elif _mentions(term, var, finder):
            if not isinstance(term, Var) or term is var:
                return None
            rest.add_term(key, c, term)
        else:
            outer.add_term(key, c, term)
    if stretch:
        return None if coeff == 0 else _stretched(coeff, outer, rest, stretch, finder)
    return (coeff, outer, rest) if coeff else None


def _through_casts(total: Linear, ana: Analyzer) -> Linear:
    """The sum with those of the sums in it that are widened; indices do not wrap."""
    opened = Linear({}, total.const)
    for key, (c, term) in total.terms.items():
        if isinstance(term, Cast) and term.value.dtype.is_int and term.value.dtype.bits <= term.dtype.bits:
            opened.add(_through_casts(ana.linear(term.value), ana), c)
        else:
            opened.add_term(key, c, term)
    return opened


def _stretched(
    coeff: int, outer: Linear, rest: Linear, stretch: int, finder: _Accesses
) -> tuple[int, Linear, Linear] | None:
    """A vector access covers more cells: allowed where they still fit between lanes."""
    bound = rest.bound(finder.ana)
    return (coeff, outer, rest) if bound.max - bound.min + abs(stretch) < abs(coeff) else None


def _mentions(term: Expr, var: Var, finder: _Accesses) -> bool:
    """Whether the term may change within an iteration or from one to the next."""
    for node in walk(term):
        if node is var or isinstance(node, BufferLoad) or (isinstance(node, Var) and node in finder.inner):
            return True
    return False
