"""`tvm.sym.analyzer`: the analyzer with the peer's methods."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from enum import IntEnum, IntFlag
from typing import Any

from .... import ir
from ....errors import ArgumentValueError
from ....ir import arith
from ....ir.arith import ModularSet
from ....ir.arith.bounds import Bound
from ...adapters import lacking
from .form import rewritten
from .int_set import IntervalSet, ours, theirs


class ProofStrength(IntEnum):
    """How hard to try. Ours always tries as hard as it can."""

    DEFAULT = 0
    SYMBOLIC_BOUND = 1


class Extension(IntFlag):
    """Rewritings that the peer does on demand."""

    NoExtensions = 0
    TransitivelyProveInequalities = 1
    ConvertBooleanToAndOfOrs = 2
    ApplyConstraintsToBooleanBranches = 4
    ComparisonOfProductAndSum = 8


class CompareResult(IntEnum):
    """What is known of the order of two values."""

    INCONSISTENT = 0
    EQ = 1
    LT = 2
    LE = 3
    GT = 4
    GE = 5
    NE = 6
    UNKNOWN = 7


class ConstIntBound(Bound):
    """The smallest and the largest value; the limits of int64 stand for none."""

    __slots__ = ()
    POS_INF = (1 << 63) - 1
    NEG_INF = -POS_INF

    @property
    def min_value(self) -> int:
        """The smallest value."""
        return max(self.min, self.NEG_INF)

    @property
    def max_value(self) -> int:
        """The largest value."""
        return min(self.max, self.POS_INF)

    def __repr__(self) -> str:
        return f"sym.ConstIntBound(min_value={self.min_value}, max_value={self.max_value})"


class KnownOtherwiseError(ArgumentValueError, RuntimeError):
    """Something else has been told about a variable before."""


class Analyzer:
    """Knows bounds and facts of variables, with the peer's methods; `own` is our analyzer."""

    def __init__(self, own: arith.Analyzer | None = None) -> None:
        self.own = own or arith.Analyzer()
        self.enabled_extensions = Extension.NoExtensions
        self._given: dict[tuple[Any, type], Any] = {}

    def clone(self) -> Analyzer:
        """An analyzer that knows the same."""
        other = Analyzer(self.own.clone())
        other.enabled_extensions = self.enabled_extensions
        other._given = dict(self._given)
        return other

    def bind(self, var: Any, expr: Any, allow_override: bool = False) -> None:
        """The variable lies in this range, or has this value. Raises KnownOtherwiseError on a change."""
        value = expr if isinstance(expr, ir.Range) else ir.as_expr(expr)
        self._once(var, value, allow_override)
        if allow_override:
            self.own.forget_var(var)
        self.own.bind(var, value)

    def update(self, var: Any, info: Any, override: bool = False) -> None:
        """Tell bounds or remainders of a variable. Raises KnownOtherwiseError on a change."""
        self._once(var, info, override)
        if isinstance(info, ModularSet):
            self.own.bind_modular(var, info.coeff, info.base)
            return
        if isinstance(info, IntervalSet):
            known = ours(info)
            low = None if known.min is None else self.own.const_int_bound(known.min).min
            high = None if known.max is None else self.own.const_int_bound(known.max).max
        else:
            low = info.min if info.min > ConstIntBound.NEG_INF else None
            high = info.max if info.max < ConstIntBound.POS_INF else None
        if override:
            self.own.forget_var(var)
        self.own.bind_bound(var, low, high)

    def _once(self, var: Any, value: Any, override: bool) -> None:
        key = (var, ir.Range if isinstance(value, ir.Expr | ir.Range) else type(value))
        old = self._given.get(key)
        if old is not None and not override and not _same(old, value):
            what = "modular set" if isinstance(value, ModularSet) else "const bound"
            text = f"Trying to update var '{var.name}' with a different {what}: {old} is known, not {value}"
            raise KnownOtherwiseError(text)
        self._given[key] = value

    def const_int_bound_is_bound(self, var: Any) -> bool:
        """Whether something has been told about the variable."""
        return any(known is var for known, _ in self._given)

    def const_int_bound(self, expr: Any) -> ConstIntBound:
        """The smallest and largest value of an expression."""
        return ConstIntBound(*self.own.const_int_bound(ir.as_expr(expr)))

    def modular_set(self, expr: Any) -> ModularSet:
        """The set `coeff * k + base` that holds every value of the expression."""
        return self.own.modular_set(ir.as_expr(expr))

    def int_set(self, expr: Any, dom_map: Mapping[Any, Any] | None = None) -> IntervalSet:
        """A set that holds every value of the expression while its variables stay in theirs."""
        domain = {v: ours(s) for v, s in (dom_map or {}).items()}
        e = ir.as_expr(expr)
        if dom_map is None:
            bound = self.own.const_int_bound(e)
            return IntervalSet(ir.const(bound.min, e.dtype), ir.const(bound.max, e.dtype))
        return theirs(self.own.int_set(e, domain))

    def simplify(self, expr: Any, steps: int = 2) -> Any:
        """An expression of the same value, simpler where the rules know how."""
        return self.own.simplify(ir.as_expr(expr))

    def rewrite_simplify(self, expr: Any) -> Any:
        """The same, sums in the peer's form: there is one set of rules."""
        return rewritten(self.own.simplify(ir.as_expr(expr)))

    def canonical_simplify(self, expr: Any) -> Any:
        """The same: there is one set of rules."""
        return self.own.simplify(ir.as_expr(expr))

    def can_prove(self, expr: Any, strength: Any = ProofStrength.DEFAULT) -> bool:
        """Whether the condition certainly holds."""
        return self.own.can_prove(ir.as_expr(expr))

    def can_prove_equal(self, lhs: Any, rhs: Any) -> bool:
        """Whether the two have the same value."""
        a = ir.as_expr(lhs)
        return self.own.can_prove_equal(a, ir.as_expr(rhs, like=a))

    def constraint_scope(self, constraint: Any) -> AbstractContextManager[None]:
        """Within, the condition is known to hold."""
        return self.own.assume(ir.as_expr(constraint))

    def try_compare(self, lhs: Any, rhs: Any, propagate_inequalities: bool = True) -> CompareResult:
        """What is known of the order of two expressions."""
        a, b = ir.as_expr(lhs), ir.as_expr(rhs)
        holds = self.own.can_prove
        for kind, answer in (
            (ir.EQ, CompareResult.EQ),
            (ir.LT, CompareResult.LT),
            (ir.GT, CompareResult.GT),
            (ir.LE, CompareResult.LE),
            (ir.GE, CompareResult.GE),
            (ir.NE, CompareResult.NE),
        ):
            if holds(kind(a, b)):
                return answer
        return CompareResult.UNKNOWN


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, ir.Range) and isinstance(b, ir.Range):
        return ir.structural_equal(a.min, b.min) and ir.structural_equal(a.extent, b.extent)
    if isinstance(a, ir.Expr) and isinstance(b, ir.Expr):
        return ir.structural_equal(a, b)
    if isinstance(a, IntervalSet) and isinstance(b, IntervalSet):
        return _same(a.min_value, b.min_value) and _same(a.max_value, b.max_value)
    return type(a) is type(b) and bool(a == b)


def own(analyzer: Any) -> arith.Analyzer | None:
    """Our analyzer behind one of the peer's."""
    found: arith.Analyzer | None = analyzer.own if isinstance(analyzer, Analyzer) else analyzer
    return found


__getattr__ = lacking("tvm.sym.analyzer")

__all__ = [
    "Analyzer",
    "CompareResult",
    "ConstIntBound",
    "Extension",
    "KnownOtherwiseError",
    "ModularSet",
    "ProofStrength",
    "own",
]
