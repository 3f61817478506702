"""Operators that a target lacks are computed from those that it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ir import (
    LT,
    NE,
    Add,
    And,
    BitwiseAnd,
    BitwiseXor,
    Call,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    For,
    IntImm,
    Let,
    Mod,
    Op,
    PrimFunc,
    Range,
    RShift,
    Select,
    Sub,
    Var,
    const,
)
from ...ir.arith import Analyzer
from ...ir.visitor import Rewriter
from ...target import Target
from ..common import refuse
from ..registry import prim_func_pass

Rule = Callable[[Call], Expr | None]
_RULES: dict[tuple[str, str], list[tuple[int, Rule]]] = {}


def register_intrin_lowering(op: str, target: str, *, f: Rule | None = None, level: int = 10) -> Any:
    """Register a rule for calls of an operator where code is made for this kind of target.

    The rule gives the expression to take instead, or None to leave the call to the next one; those
    of higher levels are asked first.  `target` may be "default": for every kind.
    """

    def enter(rule: Rule) -> Rule:
        rules = _RULES.setdefault((op, target), [])
        rules.append((level, rule))
        rules.sort(key=_level)
        return rule

    return enter if f is None else enter(f)


def _level(entry: tuple[int, Rule]) -> int:
    return -entry[0]


@prim_func_pass("tirx.LowerIntrin")
def lower_intrin(func: PrimFunc) -> PrimFunc:
    """Floor division becomes division toward zero with a correction, and registered rules are applied.

    Where bounds show that nothing is negative there is no correction; by a power of two it is a shift
    or a mask.  `register_intrin_lowering` adds rules for a kind of target.

    before:
        @T.prim_func
        def f(A: T.Buffer((8,), "int32"), n: T.int32):
            T.func_attr({"target": T.target("llvm")})
            for i in range(8):
                A[i] = i // 3 + n // 4

    after:
        @T.prim_func
        def f(A: T.Buffer((8,), "int32"), n: T.int32):
            T.func_attr({"target": T.target("llvm")})
            for i in range(8):
                A[i] = T.truncdiv(i, 3) + T.shift_right(n, 2)
    """
    target = func.attrs.get("target")
    if not isinstance(target, Target):
        raise refuse(
            "function-without-target",
            f"the function `{func.attrs.get('global_symbol', 'main')}` has no attribute `target`",
            func,
            "run tirx.BindTarget first",
        )
    return _Lower(target.kind)(func)


class _Lower(Rewriter):
    def __init__(self, target: str) -> None:
        super().__init__()
        self.kinds = (target, "default")
        self.ana = Analyzer(data=True)

    def visit_For(self, loop: For) -> Any:
        self.ana.bind(loop.loop_var, Range(loop.min, loop.extent))
        return self.visit_fields(loop)

    def visit_Call(self, call: Call) -> Any:
        call = self.visit_fields(call)
        if not isinstance(call.op, Op):
            return call
        for kind in self.kinds:
            for _, rule in _RULES.get((call.op.name, kind), ()):
                new = rule(call)
                if new is not None:
                    return new
        return call

    def visit_FloorDiv(self, e: FloorDiv) -> Any:
        new = self.visit_fields(e)
        a, b = new.a, new.b
        if not e.dtype.is_integral:
            return new
        shift = _power(b)
        if shift is not None and e.dtype.is_int:
            return RShift(a, _like(b, shift))
        if self._never_negative(e):
            return Div(a, b, e.span)
        quotient, rest = Var("quotient", e.ty), Var("rest", e.ty)
        down = Select(_signs_differ(rest, b), Sub(quotient, _like(b, 1)), quotient)
        return Let(quotient, Div(a, b, e.span), Let(rest, Mod(a, b, e.span), down))

    def visit_FloorMod(self, e: FloorMod) -> Any:
        new = self.visit_fields(e)
        a, b = new.a, new.b
        if not e.dtype.is_integral:
            return new
        shift = _power(b)
        if shift is not None and e.dtype.is_int:
            return BitwiseAnd(a, _like(b, (1 << shift) - 1))
        if self._never_negative(e):
            return Mod(a, b, e.span)
        rest = Var("rest", e.ty)
        return Let(rest, Mod(a, b, e.span), Select(_signs_differ(rest, b), Add(rest, b), rest))

    def _never_negative(self, e: FloorDiv | FloorMod) -> bool:
        """Whether both operands, as they were, are zero or more."""
        if e.dtype.is_uint:
            return True
        return self.ana.bound(e.a).min >= 0 and self.ana.bound(e.b).min >= 0


def _power(e: Expr) -> int | None:
    """The k of the constant 2**k; None for anything else."""
    value = e.value if isinstance(e, IntImm) else 0
    return value.bit_length() - 1 if value > 0 and value & (value - 1) == 0 else None


def _like(e: Expr, value: int) -> Expr:
    return const(value, e.dtype)


def _signs_differ(rest: Expr, divisor: Expr) -> Expr:
    """Whether there is a rest, of another sign than the divisor."""
    zero = _like(divisor, 0)
    return And(NE(rest, zero), LT(BitwiseXor(rest, divisor), zero))
