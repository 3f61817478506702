"""The threads of a block, and what values variables take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ....dtype import DType
from ....ir import (
    BinaryOp,
    Broadcast,
    Call,
    Cast,
    Expr,
    For,
    IntImm,
    Not,
    PrimType,
    Ramp,
    Range,
    Select,
    Var,
    const,
)
from ....ir.arith import Analyzer
from ....ir.arith.bounds import Bound
from ....ir.visitor import Rewriter, find
from .numbers import Unknown

INT64: Final = DType("int64")
MOST_CELLS: Final = 1 << 20
"""How many accesses are looked at one by one."""


class Threads:
    """The axes of a block's threads, and the ranges of variables."""

    def __init__(self, axes: Mapping[Var, int]) -> None:
        self.domains: dict[Var, tuple[int, int]] = {}
        self.ana = Analyzer()
        self.bounds = Analyzer()
        self.twins = Twins(self.bounds)
        for var, n in axes.items():
            self.bounds.bind(var, Range(const(0, var.dtype), const(n, var.dtype)))
        self.axes = {self.twins.vary(v): n for v, n in axes.items()}

    def declare(self, loop: For) -> None:
        """A loop variable takes the values of its loop, or, where its ends vary, some of those noted."""
        self.bounds.bind(loop.loop_var, Range(loop.min, loop.extent))
        twin = self.twins.vary(loop.loop_var)
        low, extent = self.bounds.bound(loop.min).min, self.bounds.bound(loop.extent).max
        high = self.bounds.bound(loop.min).max + extent
        if high - low <= MOST_CELLS:
            self.domains[twin] = (low, max(high - low, 1))


class Twins(Rewriter):
    """Integer expressions with every integer in int64 and without conversions.

    `visit` gives an expression of the same value, or raises Unknown: signed integers of 32 bits and more do
    not overflow in indices and conditions, all others wrap, so that a sum of theirs is told only where it
    fits.  What does not vary between threads or iterations may go by a name that says no more.
    """

    def __init__(self, bounds: Analyzer) -> None:
        super().__init__()
        self.bounds = bounds
        self.known: dict[Var, Var] = {}
        self.varying: set[Var] = set()
        """Axes of threads and variables of loops."""
        self.names: dict[int, Var] = {}

    def of(self, var: Var) -> Var:
        """The int64 variable that stands for this one."""
        if var not in self.known:
            twin = self.known[var] = Var(var.name, PrimType(INT64))
            self.bounds.bind_bound(twin, *self.bounds.var_bound(var))
        return self.known[var]

    def vary(self, var: Var) -> Var:
        """The int64 variable for this axis or variable of a loop, whose bounds are known by now."""
        self.varying.add(var)
        twin = self.of(var)
        self.bounds.bind_bound(twin, *self.bounds.var_bound(var))
        return twin

    def visit(self, node: Any) -> Any:
        """The expression in int64. Raises Unknown."""
        if not isinstance(node, _TOLD) or not node.dtype.is_integral:
            raise Unknown
        if node.dtype.is_vector and not isinstance(node, Ramp | Broadcast | Cast):
            raise Unknown
        return super().visit(node)

    def visit_Var(self, var: Var) -> Var:
        return var if var.dtype.is_bool else self.of(var)

    def visit_IntImm(self, e: IntImm) -> Expr:
        if e.value > _MOST:
            raise Unknown
        return e if e.dtype.is_bool else const(e.value, INT64)

    def visit_Cast(self, e: Cast) -> Expr:
        inside = self.visit(e.value)
        if e.dtype.is_bool or e.value.dtype.is_bool:
            return Cast(e.dtype if e.dtype.is_bool else INT64, inside)
        own, given = (Bound(int(d.min_value), int(d.max_value)) for d in (e.dtype, e.value.dtype))
        return inside if own.min <= given.min and given.max <= own.max else self._kept(e, inside)

    def visit_Call(self, call: Call) -> Call:
        if getattr(call.op, "name", "") not in ("prim.likely", "prim.if_then_else"):
            raise Unknown
        args = [self.visit(a) for a in call.args]
        return call.replace(args=args, ty=args[-1].ty)

    def visit_Ramp(self, e: Ramp) -> Ramp:
        new = e.replace(base=self.visit(e.base), stride=self.visit(e.stride))
        last = new.base + new.stride * (self.visit(e.lanes) - 1)
        if not _is_signed(e.dtype) and self._kept(e.base, last) is not last:
            raise Unknown
        return new

    def visit_Broadcast(self, e: Broadcast) -> Broadcast:
        return e.replace(value=self.visit(e.value))

    def _arithmetic(self, e: Expr) -> Expr:
        new: Expr = self.visit_fields(e)
        return new if _is_signed(e.dtype) else self._kept(e, new)

    visit_Add = visit_Sub = visit_Mul = visit_LShift = _arithmetic

    def _kept(self, e: Expr, wide: Expr) -> Expr:
        """The wide expression where its values are those of the type; else a name, if one value is meant."""
        bound = self.bounds.bound(wide)
        if int(e.dtype.min_value) <= bound.min and bound.max <= min(int(e.dtype.max_value), _MOST - 1):
            return wide
        if not self.varying.isdisjoint(find(e, Var)):
            raise Unknown
        return self.names.setdefault(self.bounds.keys.key(e), Var("wrapped", PrimType(INT64)))


def _is_signed(dtype: DType) -> bool:
    """Whether integers of the type do not overflow where they count cells."""
    return dtype.is_int and dtype.bits >= 32


_MOST: Final = (1 << 63) - 1
_TOLD: Final = (Var, IntImm, Cast, Call, Ramp, Broadcast, Select, Not, BinaryOp)
