"""The analyzer: what is known of integer variables, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ...node import runs_deep
from ..expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    BufferLoad,
    Call,
    Comparison,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Mod,
    Mul,
    Not,
    Or,
    Range,
    Sub,
    Var,
)
from ..op import Effect, find_record
from ..types import PrimType
from ..visitor import walk
from .bounds import Bound, const_int_bound, dtype_bound, exact_bound
from .keys import Keys
from .linear import Linear, linear
from .modular import ANY, ModularSet, intersection, modular_set
from .modular import normal as modular_normal
from .prove import Limits, never_positive

if TYPE_CHECKING:
    from .intset import IntervalSet


class Analyzer:
    """Knows bounds and facts of variables; answers questions about integer expressions.

    `data` says which class of integer arithmetic (DESIGN, section 4) expressions belong to:
    False for index arithmetic, which does not overflow; True for data arithmetic, which wraps.
    Unsigned arithmetic always counts as wrapping.  With `strict`, simplifying a sum never makes
    an intermediate value overflow that did not before; without, sums take their canonical form.
    A simplification may remove a run-time error, never add one.  Without `spread_casts` a sum that is
    converted to a wider type stays together, so that it is computed in the narrow one.
    """

    def __init__(self, *, data: bool = False, strict: bool = False) -> None:
        self.keys = Keys()
        self.data = data
        self.strict = strict
        self.limits: dict[Var, Limits] = {}
        self.inequalities: list[Linear] = []
        self.facts: dict[int, bool] = {}
        self.unbounded: set[int] = set()
        self.fired: set[str] | None = None
        self.chained = True
        self.spread_casts = True
        self.steps = 0
        self.floored = False
        self._bounds: dict[Var, Bound] = {}
        self._modulars: dict[Var, ModularSet] = {}
        self._forget()

    def clone(self) -> Analyzer:
        """An analyzer that knows the same; what either learns later, the other does not."""
        other = Analyzer(data=self.data, strict=self.strict)
        other.spread_casts = self.spread_casts
        self.copy_to(other)
        return other

    def copy_to(self, other: Analyzer) -> None:
        """Let another analyzer know what this one knows, and nothing else."""
        other.keys = self.keys
        other.limits = dict(self.limits)
        other.inequalities = list(self.inequalities)
        other.facts = dict(self.facts)
        other.unbounded = set(self.unbounded)
        other._bounds = dict(self._bounds)
        other._modulars = dict(self._modulars)
        other._forget()

    def _forget(self) -> None:
        self._bound_memo: dict[tuple[int, bool], tuple[Expr, Bound]] = {}
        self._modular_memo: dict[tuple[int, bool], tuple[Expr, ModularSet]] = {}
        self._exact_memo: dict[tuple[int, bool], tuple[Expr, bool]] = {}
        self.simplify_memo: dict[tuple[int, bool], tuple[Expr, Expr]] = {}

    # knowledge

    def bind(self, var: Var, value: Range | Expr | int) -> None:
        """From now on the variable lies in this range, or has this value."""
        if isinstance(value, Range):
            self._bind_range(var, value)
        else:
            self.bind_value(var, value if isinstance(value, Expr) else IntImm(var.ty, value))
        self._forget()

    def _bind_range(self, var: Var, dom: Range) -> None:
        with self.mode(data=False):
            low, extent = self.bound(dom.min), self.bound(dom.extent)
            last = linear(self, dom.min).add(linear(self, dom.extent))
            last.const -= 1
            self._set_bound(var, low.min, max(min(last.bound(self).max, low.max + extent.max - 1), low.min))
            self._modulars.pop(var, None)
            self.limits.pop(var, None)
            if extent == (1, 1):
                self._modulars[var] = self.modular(dom.min)
            if not reads_memory(dom.min) and not reads_memory(dom.extent):
                self.limits[var] = Limits(linear(self, dom.min), last)

    def bind_value(self, var: Var, value: Expr) -> None:
        """From now on the variable has the value of this expression."""
        for one in (var, value):  # a packed function's result may be bound to a pointer
            if not isinstance(one.ty, PrimType) or not one.dtype.is_integral or one.dtype.is_vector:
                return
        bound = self.bound(value)
        self._set_bound(var, bound.min, bound.max)
        self._modulars[var] = self.modular(value)
        self.limits.pop(var, None)
        if self.keys.pure(value) and not reads_memory(value):
            total = linear(self, value)
            self.limits[var] = Limits(total, total)

    def bind_bound(self, var: Var, low: int | None = None, high: int | None = None) -> None:
        """From now on the variable lies between these integers, both included."""
        own = self.var_bound(var)
        self._set_bound(var, own.min if low is None else low, own.max if high is None else high)
        self._forget()

    def bind_modular(self, var: Var, coeff: int, base: int) -> None:
        """From now on the variable is `coeff * k + base` for an integer k."""
        self._modulars[var] = ModularSet(coeff, base % coeff if coeff else base)
        self._forget()

    def bind_interval(self, var: Var, values: IntervalSet) -> None:
        """From now on the variable lies in this interval."""
        own = dtype_bound(var)
        with self.mode(data=False):
            low = linear(self, values.min) if values.min is not None else Linear({}, own.min)
            high = linear(self, values.max) if values.max is not None else Linear({}, own.max)
            self._set_bound(var, low.bound(self).min, high.bound(self).max)
            self.limits[var] = Limits(low, high)
        self._forget()

    def is_bound(self, var: Var) -> bool:
        """Whether bounds of the variable are known beside those of its type."""
        return var in self._bounds

    def numbers(self) -> dict[Var, int]:
        """The variables that are known to have one value."""
        return {v: b.min for v, b in self._bounds.items() if b.min == b.max}

    def forget_var(self, var: Var) -> None:
        """What was bound of the variable is no longer known; facts of conditions stay."""
        for table in (self._bounds, self._modulars, self.limits):
            table.pop(var, None)
        self._forget()

    def _set_bound(self, var: Var, low: int, high: int) -> None:
        own = dtype_bound(var)
        self._bounds[var] = Bound(max(low, own.min), max(min(high, own.max), max(low, own.min)))

    def var_bound(self, var: Var) -> Bound:
        """The bounds of a variable: those bound, or its type's range."""
        found = self._bounds.get(var)
        return found if found is not None else dtype_bound(var)

    def var_modular(self, var: Var) -> ModularSet:
        """The modular set of a variable."""
        return self._modulars.get(var, ANY)

    @contextmanager
    def mode(self, *, data: bool) -> Iterator[None]:
        """Within, expressions belong to this class of arithmetic."""
        old, self.data = self.data, data
        try:
            yield
        finally:
            self.data = old

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Afterwards, what was learned within by `learn` is forgotten."""
        saved = (
            dict(self._bounds),
            dict(self._modulars),
            list(self.inequalities),
            dict(self.facts),
            self._bound_memo,
            self._modular_memo,
            self._exact_memo,
            self.simplify_memo,
        )
        try:
            yield
        finally:
            (
                self._bounds,
                self._modulars,
                self.inequalities,
                self.facts,
                self._bound_memo,
                self._modular_memo,
                self._exact_memo,
                self.simplify_memo,
            ) = saved

    def learn(self, condition: Expr, truth: bool = True) -> None:
        """From now on the condition is known to hold (or not to, if `truth` is False).

        Nothing is learned from conditions that read memory or have effects.
        """
        if self._learn(condition, truth):
            self._forget()

    @contextmanager
    def assume(self, condition: Expr, truth: bool = True) -> Iterator[None]:
        """As `learn`, within only."""
        with self.scope():
            self.learn(condition, truth)
            yield

    constraint_scope = assume

    def _learn(self, cond: Expr, truth: bool) -> bool:
        if isinstance(cond, Not):
            return self._learn(cond.a, not truth)
        if isinstance(cond, And if truth else Or):
            first = self._learn(cond.a, truth)
            return self._learn(cond.b, truth) or first
        if isinstance(cond, Call) and cond.args and _is_likely(cond):
            return self._learn(cond.args[0], truth)
        if not self.keys.pure(cond) or reads_memory(cond):
            return False
        self.facts[self.keys.key(cond)] = truth
        if isinstance(cond, Comparison) and _is_int(cond.a):
            kind = type(cond) if truth else _NEGATED[type(cond)]
            for same, truth in ((kind, True), (_NEGATED[kind], False)):
                self.facts[self.keys.key(same(cond.a, cond.b))] = truth
                self.facts[self.keys.key(_TURNED[same](cond.b, cond.a))] = truth
            self._learn_comparison(kind, linear(self, cond.a), linear(self, cond.b))
            if kind is EQ:
                self._learn_remainder(cond.a, cond.b)
        return True

    def _learn_remainder(self, a: Expr, b: Expr) -> None:
        """From `x % c == r`, of either kind of remainder, the modular set of x."""
        if not isinstance(a, FloorMod | Mod) or type(a.b) is not IntImm or type(b) is not IntImm:
            return
        form = linear(self, a.a)
        if len(form.terms) != 1 or a.b.value == 0:
            return
        ((coeff, term),) = form.terms.values()
        if isinstance(term, Var) and abs(coeff) == 1:
            known = modular_normal(a.b.value, coeff * (b.value - form.const))
            both = intersection(self.var_modular(term), known)
            if both is not None:
                self._modulars[term] = both

    def _learn_comparison(self, kind: type[Expr], a: Linear, b: Linear) -> None:
        forms = []
        if kind in (LT, LE, EQ):
            forms.append(a.minus(b))
        if kind in (GT, GE, EQ):
            forms.append(b.minus(a))
        for form in forms:
            if kind in (LT, GT):
                form.const += 1
            self.inequalities.append(form)
            self._narrow(form)

    def _narrow(self, form: Linear) -> None:
        """Tighter bounds of variables from `form <= 0`."""
        for coeff, term in list(form.terms.values()):
            if not isinstance(term, Var):
                continue
            own = self.var_bound(term)
            rest = form.bound(self).min - coeff * (own.min if coeff > 0 else own.max)
            if coeff > 0:
                self._set_bound(term, own.min, min(own.max, -rest // coeff))
            else:
                self._set_bound(term, max(own.min, -(-rest // -coeff)), own.max)
            self._bound_memo = {}

    # questions

    def wraps(self, e: Expr) -> bool:
        """Whether arithmetic of this expression's type wraps here."""
        return self.data or not e.dtype.is_int

    def bound(self, e: Expr) -> Bound:
        """As `const_int_bound`, without leave for deep recursion."""
        key = (id(e), self.data)
        found = self._bound_memo.get(key)
        if found is None:
            found = self._bound_memo[key] = (e, const_int_bound(self, e))
        return found[1]

    def modular(self, e: Expr) -> ModularSet:
        """As `modular_set`, without leave for deep recursion."""
        key = (id(e), self.data)
        found = self._modular_memo.get(key)
        if found is None:
            found = self._modular_memo[key] = (e, modular_set(self, e))
        return found[1]

    def is_exact(self, e: Expr) -> bool:
        """Whether sums and products in this expression are provably those of the integers."""
        if not self.wraps(e):
            return True
        kind = type(e)
        if kind is not Add and kind is not Sub and kind is not Mul:
            return True
        key = (id(e), self.data)
        found = self._exact_memo.get(key)
        if found is None:
            exact = self.is_exact(e.a) and self.is_exact(e.b)  # type: ignore[attr-defined]
            if exact:
                own, bound = dtype_bound(e), exact_bound(self, e)
                exact = own.min <= bound.min and bound.max <= own.max
            found = self._exact_memo[key] = (e, exact)
        return found[1]

    def linear(self, e: Expr) -> Linear:
        """The expression as a sum over the integers."""
        return linear(self, e)

    @runs_deep
    def const_int_bound(self, e: Expr) -> Bound:
        """The smallest and largest value that the integer expression can have.

        Raises DTypeError for expressions of other types.
        """
        return self.bound(e)

    @runs_deep
    def modular_set(self, e: Expr) -> ModularSet:
        """The set `coeff * k + base` that holds every value of the expression."""
        return self.modular(e)

    def int_set(self, e: Expr, domain: Mapping[Var, IntervalSet] | None = None) -> IntervalSet:
        """A set that holds every value of the index expression while its variables stay in `domain`.

        Without a domain, variables stay within what the analyzer knows of them.
        """
        from .intset import eval_set

        return eval_set(e, self.known_sets(e) if domain is None else domain, self)

    def known_sets(self, e: Expr) -> dict[Var, IntervalSet]:
        """What is known of the variables in an expression, as sets; variables in their ends included."""
        from .intset import IntervalSet
        from .linear import rebuild

        found: dict[Var, IntervalSet] = {}
        waiting = [e]
        while waiting:
            for var in walk(waiting.pop()):
                if not isinstance(var, Var) or var in found or not _is_int(var):
                    continue
                limits, bound = self.limits.get(var), self._bounds.get(var)
                low = high = None
                if limits is not None:
                    low, high = rebuild(limits.min, var.dtype, False), rebuild(limits.max, var.dtype, False)
                elif bound is not None:
                    low = IntImm(var.ty, bound.min) if bound.min > var.dtype.min_value else None
                    high = IntImm(var.ty, bound.max) if bound.max < var.dtype.max_value else None
                if low is not None or high is not None:
                    found[var] = IntervalSet(low, high)
                    waiting += [end for end in (low, high) if end is not None]
        return found

    @runs_deep
    def simplify(self, e: Expr, *, data: bool | None = None) -> Expr:
        """An expression of the same value, simpler where the rules know how; `e` itself where not.

        `data` overrides the analyzer's class of arithmetic for this expression.
        """
        from .simplify import simplify, truncated

        with self.mode(data=self.data if data is None else data):
            self.floored = False
            result = simplify(self, e)
            return truncated(self, e, result) if self.floored else result

    @runs_deep
    def can_prove(self, condition: Expr) -> bool:
        """Whether the condition certainly holds. False says nothing."""
        from .simplify import simplify

        result = simplify(self, condition)
        if isinstance(result, IntImm):
            return bool(result.value)
        if isinstance(result, And):
            return self.can_prove(result.a) and self.can_prove(result.b)
        if isinstance(result, LT) and isinstance(result.a, FloorDiv) and not self.wraps(result.a):
            # x // y < z is x < z * y; of a divisor that is a number the simplifier knows that
            x, y = result.a.a, result.a.b
            if not isinstance(y, IntImm) and self.bound(y).min > 0:
                return self.can_prove(LT(x, Mul(result.b, y)))
        return False

    @runs_deep
    def can_prove_equal(self, a: Expr, b: Expr) -> bool:
        """Whether the two have the same value."""
        if a is b:
            return True
        if not (_is_int(a) and _is_int(b)) or a.ty is not b.ty:
            return self.keys.same(a, b)
        return self.can_prove(EQ(a, b))

    @runs_deep
    def compare(self, a: Expr, b: Expr, *, transitive: bool = True) -> str:
        """How two integers certainly compare: "eq", "lt", "le", "gt", "ge", "ne" or "unknown".

        Without `transitive`, known inequalities are used one at a time.
        """
        if not (_is_int(a) and _is_int(b)) or a.ty is not b.ty:
            return "unknown"
        chained, self.chained = self.chained, self.chained and transitive
        try:
            difference = linear(self, a).minus(linear(self, b))
            below, above = difference.copy(), difference.scaled(-1)
            if difference.is_const and difference.const == 0:
                return "eq"
            for total, strict, weak in ((below, "lt", "le"), (above, "gt", "ge")):
                more = total.copy()
                more.const += 1
                if self.never_positive(more):
                    return strict
                if self.never_positive(total):
                    return "eq" if self.never_positive(total.scaled(-1)) else weak
            self.simplify_memo = {}
            return "ne" if self.can_prove(NE(a, b)) else "unknown"
        finally:
            self.chained = chained
            self.simplify_memo = {}

    def never_positive(self, total: Linear) -> bool:
        """Whether the sum is provably at most 0."""
        return never_positive(self, total)


_NEGATED: dict[type[Expr], type[Comparison]] = {LT: GE, GE: LT, GT: LE, LE: GT, EQ: NE, NE: EQ}
_TURNED: dict[type[Expr], type[Comparison]] = {LT: GT, GT: LT, LE: GE, GE: LE, EQ: EQ, NE: NE}


def _is_int(e: Expr) -> bool:
    return isinstance(e.ty, PrimType) and e.ty.dtype.is_integral and e.ty.dtype.is_scalar


def _is_likely(call: Call) -> bool:
    return getattr(call.op, "name", "") == "prim.likely"


def reads_memory(e: Expr) -> bool:
    """Whether the value of the expression may change while its variables do not."""
    for item in walk(e):
        if isinstance(item, BufferLoad):
            return True
        if isinstance(item, Call):
            rec = find_record(getattr(item.op, "name", ""))
            if rec is None or rec.effect > Effect.PURE:
                return True
    return False
