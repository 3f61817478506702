"""Two accesses by different threads: whether they may meet in a cell."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from math import gcd, lcm, prod
from typing import Any, Final, NamedTuple

from ....ir import Broadcast, Expr, FloorMod, IntImm, Ramp, Var, const
from ....ir.arith import Analyzer
from ....ir.arith.linear import Linear
from ....ir.visitor import children, substitute, walk
from .access import Access
from .numbers import Unknown, evaluate, lanes
from .threads import INT64, MOST_CELLS, Threads

_MOST_CASES: Final = 1 << 10

Ages = Mapping[Any, int]
"""For loops around both accesses: by how many iterations the first is earlier; -n stands for n or more.

For loops around the first only, which have ended since, the number counts from their last iteration.
"""
Side = tuple[Expr, tuple[Expr, ...]]
"""An index, and conditions under which it is accessed."""
Case = Mapping[Var, Any]
"""Values of variables that all threads share."""


class _Part(NamedTuple):
    """One side: the terms of its index that differ between threads or in loops of its own, and the others.

    `size` is how many of the cells that both sides count in an element has; `tile` as in Access.
    """

    at: Expr
    guards: tuple[Expr, ...]
    own: list[Var]
    size: int
    mixed: list[Expr]
    fixed: Linear
    tile: tuple[int, int, int] | None


class Pair:
    """Brings the accesses to the iteration of the second one."""

    def __init__(self, threads: Threads, first: Access, second: Access, ages: Ages) -> None:
        self.threads, self.first, self.second = threads, first, second
        twins = threads.twins
        self.shift: dict[Var, Expr] = {}
        """Loop variables at the first access, in terms of those at the second."""
        self.between: dict[Var, tuple[int, int | None]] = {}
        """Numbers of iterations between the two accesses: the least, and how many values there are."""
        self.later: dict[Var, tuple[int, int]] = {}
        """The values of loop variables at the second access, where the first is at an earlier iteration."""
        self.last: dict[Var, tuple[int, int]] = {}
        """The values of loop variables at the first access, where its loop has ended since."""
        self.pairs: list[tuple[Var, Var, int]] = []
        """Loop variables with their numbers of iterations between, and their steps."""
        self.folded: set[Var] = set()
        """Variables that take only some of their values in a case: those after which the indices repeat."""
        common = 0
        for loop, other in zip(first.loops, second.loops):
            if loop is not other or loop.apart:
                break  # threads may be at different iterations of a loop that they do not run together
            common += 1
            if ages.get(loop):
                self._age(loop, ages[loop])
                break  # the loops inside have begun anew
        self.own_a = [self._ended(lp, ages) for lp in first.loops[common:] if lp.var is not None]
        self.own_b = [twins.of(lp.var) for lp in second.loops[common:] if lp.var is not None]

    def _age(self, loop: Any, age: int) -> None:
        """The loop is around both, and was at an earlier iteration at the first access."""
        if loop.var is None:
            return
        var = self.threads.twins.of(loop.var)
        domain = self.threads.domains.get(var)
        if domain is not None:
            self.later[var] = (domain[0] + abs(age) * loop.step, domain[1] - abs(age) * loop.step)
        if age > 0:
            self.shift[var] = var - const(age * loop.step, INT64)
            return
        between = Var(f"{var.name}_between", var.ty)
        self.shift[var] = var - between * const(loop.step, INT64)
        self.between[between] = (-age, None if domain is None else max(domain[1] + age, 0))
        self.pairs.append((var, between, loop.step))

    def _ended(self, loop: Any, ages: Ages) -> Var:
        """The variable of a loop around the first access only; of one that ended, by its last iterations."""
        var: Var = self.threads.twins.of(loop.var)
        age, domain = ages.get(loop), self.threads.domains.get(var)
        if age is None or domain is None or not loop.exact:
            return var
        low, count = domain
        ended = Var(var.name, var.ty)
        self.shift[var] = ended
        self.last[ended] = (low + count - 1 - age, 1) if age >= 0 else (low, max(count + age, 0))
        return ended

    def meet(self, first: Side, second: Side) -> bool:
        """Whether the cells of different threads meet. Raises Unknown where that cannot be told."""
        unit = gcd(self.first.bits, self.second.bits)
        if unit % 8:
            raise Unknown
        if self.shift:
            first = substitute(first[0], self.shift), tuple([substitute(g, self.shift) for g in first[1]])
        a = self._part(first, self.own_a, self.first.bits // unit, self.first.tile)
        b = self._part(second, self.own_b, self.second.bits // unit, self.second.tile)
        rest = a.fixed.scaled(a.size).minus(b.fixed.scaled(b.size))
        terms = [t for _, t in rest.terms.values()]
        entangled = self._outer([*a.mixed, *b.mixed])
        if not entangled and not self._meet_anyhow(a, b, rest, terms):
            return False
        joint, guards = entangled | self._outer(terms), [*a.guards, *b.guards]
        asked = {v for v in self._outer(guards) if v in self.threads.domains or v in self.between}
        if asked:
            told = self._meet_in_cases(a, b, rest, joint | asked, [*terms, *guards])
            if told is not None:
                return told
        if not entangled:
            return True
        told = self._meet_in_cases(a, b, rest, joint, terms)
        if told is None:
            raise Unknown
        return told

    def _meet_anyhow(self, a: _Part, b: _Part, rest: Linear, terms: Sequence[Expr]) -> bool:
        """Whether they meet where conditions on what threads share are taken to hold."""
        cells_a, cells_b = self._cells(a, {}), self._cells(b, {})
        if not cells_a[0].size or not cells_b[0].size:
            return False
        self._limit(rest, _span(cells_a[0]) + _span(cells_b[0]))
        distances = {_total(rest, case) for case in self._cases(self._outer(terms), terms)}
        return any(_touch(cells_a, cells_b, d, self._together) for d in distances)

    def _meet_in_cases(
        self, a: _Part, b: _Part, rest: Linear, joint: set[Var], terms: Sequence[Expr]
    ) -> bool | None:
        """Whether they meet for some values of these variables; None where those are too many."""
        try:
            cases = self._cases(joint, [*a.mixed, *b.mixed, *terms])
        except Unknown:
            return None
        if joint.issuperset(self._outer([*a.guards, *b.guards])):
            self.folded = set()  # the conditions repeat as well
        if len(cases) * prod(self.threads.axes.values()) > 8 * MOST_CELLS:
            return None
        for case in cases:
            if _touch(self._cells(a, case), self._cells(b, case), _total(rest, case), self._together):
                return True
        return False

    def _limit(self, rest: Linear, span: int) -> None:
        """Let a number of iterations that has no end take the values at which the accesses are near."""
        if len(rest.terms) == 1:
            ((coeff, term),) = rest.terms.values()
            if isinstance(term, Var) and term in self.between and self.between[term][1] is None:
                low = self.between[term][0]
                self.between[term] = (low, max((span + abs(rest.const)) // abs(coeff) + 2 - low, 0))

    @property
    def _together(self) -> bool:
        return self.first.collective or self.second.collective

    def _part(self, side: Side, own: list[Var], size: int, tile: tuple[int, int, int] | None) -> _Part:
        index, guards = side
        base = index.base if isinstance(index, Ramp) else index
        base = base.value if isinstance(base, Broadcast) else base
        form = self.threads.ana.linear(base)
        varying = {*self.threads.axes, *own}
        mixed: list[Expr] = []
        fixed = Linear({}, form.const)
        for key, (coeff, term) in form.terms.items():
            if _vars(term) & varying:
                mixed.append(term * const(coeff, INT64))
            else:
                fixed.add_term(key, coeff, term)
        return _Part(index, guards, own, size, mixed, fixed, tile)

    def _outer(self, terms: Iterable[Expr]) -> set[Var]:
        """The variables of these terms that are the same for all threads."""
        own = {*self.threads.axes, *self.own_a, *self.own_b}
        return {v for t in terms for v in _vars(t)} - own

    def _cases(self, joint: set[Var], terms: Sequence[Expr]) -> list[Case]:
        """All values of these variables together. Raises Unknown where they are too many."""
        import numpy as np

        domains = []
        self.folded = set()
        for var in joint:
            low, count = self._domain(var)
            period = _period(var, terms)
            if period is not None and (count is None or period < count):
                count = period
                self.folded.add(var)
            if count is None:
                raise Unknown
            domains.append(range(low, low + count))
        if prod([len(d) for d in domains]) > _MOST_CASES:
            raise Unknown
        cases = [{v: np.int64(n) for v, n in zip(joint, values)} for values in itertools.product(*domains)]
        return [case for case in cases if self._possible(case)]

    def _domain(self, var: Var) -> tuple[int, int | None]:
        """The first value, and how many there are; None where that is unknown."""
        if var in self.between:
            return self.between[var]
        return self.later.get(var) or self.threads.domains.get(var) or (0, None)

    def _possible(self, case: Case) -> bool:
        """Whether the first access is not before the loop's first iteration."""
        for var, between, step in self.pairs:
            domain = self.threads.domains.get(var)
            told = var in case and between in case and not self.folded & {var, between}
            if told and domain is not None and case[var] - case[between] * step < domain[0]:
                return False
        return True

    def _cells(self, part: _Part, case: Case) -> tuple[Any, Any]:
        """The cells that the access touches, counted without its fixed part, and the threads that do."""
        import numpy as np

        axes = self.threads.axes
        used = [v for v in part.own if any(v in _vars(e) for e in (part.at, *part.guards))]
        spans = [*[(0, n) for n in axes.values()], *[self._own_values(v) for v in used]]
        if prod([n for _, n in spans]) > MOST_CELLS:
            raise Unknown
        values: dict[Var, Any] = dict(case)
        for place, (var, (low, n)) in enumerate(zip([*axes, *used], spans)):
            shape = [n if k == place else 1 for k in range(len(spans))]
            values[var] = np.arange(low, low + n, dtype=np.int64).reshape(shape)
        index = np.zeros([1] * len(spans), dtype=np.int64)
        for term in part.mixed:
            index = index + evaluate(term, values)
        offsets: Any = np.zeros([*[1] * len(spans), 1], dtype=np.int64)
        if isinstance(part.at, Ramp):
            offsets = lanes(Ramp(const(0, INT64), part.at.stride, part.at.lanes), values)
        if part.tile is not None:
            rows, columns, stride = part.tile
            tile = np.add.outer(np.arange(rows) * stride, np.arange(columns)).reshape(-1)
            offsets = (offsets[..., None] + tile).reshape(*offsets.shape[:-1], -1)
        active = np.ones([n for _, n in spans], dtype=bool)
        for guard in part.guards:
            active = active & self._holds(guard, values)
        thread = np.arange(prod(axes.values())).reshape([*axes.values(), *[1] * len(used)])
        cells = (index[..., None] + offsets)[..., None] * part.size + np.arange(part.size)
        cells, thread, active = np.broadcast_arrays(cells, thread[..., None, None], active[..., None, None])
        return cells[active], thread[active]

    def _holds(self, guard: Expr, values: Mapping[Var, Any]) -> Any:
        """Where a condition holds, or may."""
        import numpy as np

        if _vars(guard) & self.folded:
            return True  # it may hold for another value with the same remainder
        try:
            return np.asarray(evaluate(guard, values)).astype(bool)
        except Unknown:
            return True

    def _own_values(self, var: Var) -> tuple[int, int]:
        span = self.last.get(var) or self.threads.domains.get(var)
        if span is None:
            raise Unknown
        return span


def _vars(e: Expr) -> set[Var]:
    return {n for n in walk(e) if isinstance(n, Var)}


def _total(form: Linear, case: Case) -> int:
    total = form.const
    for coeff, term in form.terms.values():
        total += coeff * int(evaluate(term, case))
    return int(total)


def _span(cells: Any) -> int:
    """From the first cell to the last."""
    return int(cells.max() - cells.min()) + 1


def _period(var: Var, terms: Sequence[Expr]) -> int | None:
    """After how many steps of the variable the terms repeat; None where they may not."""
    found = 1
    stack = list(terms)
    while stack:
        e = stack.pop()
        if isinstance(e, FloorMod) and isinstance(e.b, IntImm) and e.b.value > 0 and _is_linear(e.a, var):
            found = lcm(found, e.b.value)
            continue
        if e is var:
            return None
        stack += [c for c in children(e) if isinstance(c, Expr)]
    return found


def _is_linear(e: Expr, var: Var) -> bool:
    """Whether the variable occurs in sums and in products with constants only."""
    for _, term in Analyzer().linear(e).terms.values():
        if term is not var and any(n is var for n in walk(term)):
            return False
    return True


def _touch(a: tuple[Any, Any], b: tuple[Any, Any], distance: int, together: bool) -> bool:
    """Whether a cell of a, moved by the distance, is a cell of b for another thread."""
    import numpy as np

    if not a[0].size or not b[0].size:
        return False
    cells_a, low_a, high_a = _owners(*a)
    cells_b, low_b, high_b = _owners(*b)
    _, i, j = np.intersect1d(cells_a + distance, cells_b, assume_unique=True, return_indices=True)
    if together:
        return bool(i.size)
    alone = (low_a[i] == high_a[i]) & (low_b[j] == high_b[j]) & (low_a[i] == low_b[j])
    return not bool(alone.all())


def _owners(cells: Any, threads: Any) -> tuple[Any, Any, Any]:
    """Each cell once, with the first and the last thread that touches it."""
    import numpy as np

    order = np.argsort(cells, kind="stable")
    cells, threads = cells[order], threads[order]
    starts = np.flatnonzero(np.concatenate([[True], cells[1:] != cells[:-1]]))
    return cells[starts], np.minimum.reduceat(threads, starts), np.maximum.reduceat(threads, starts)
