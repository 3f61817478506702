"""Modular sets: what an integer is known to leave over, divided by what."""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import TYPE_CHECKING, Any, NamedTuple

from ..expr import (
    Add,
    BinaryOp,
    BitwiseAnd,
    Call,
    Cast,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    LShift,
    Max,
    Min,
    Mod,
    Mul,
    RShift,
    Select,
    Sub,
    Var,
)
from ..op import Op

if TYPE_CHECKING:
    from .analyzer import Analyzer


class ModularSet(NamedTuple):
    """The integers `coeff * k + base`; with coeff 0 the one integer `base`; (1, 0) is all of them."""

    coeff: int
    base: int


ANY = ModularSet(1, 0)


def normal(coeff: int, base: int) -> ModularSet:
    """The set in its one form: coeff not negative, base inside it."""
    coeff = abs(coeff)
    return ModularSet(coeff, base % coeff if coeff else base)


def union(a: ModularSet, b: ModularSet) -> ModularSet:
    """The smallest set that holds both."""
    return normal(gcd(a.coeff, b.coeff, a.base - b.base), a.base)


def intersection(a: ModularSet, b: ModularSet) -> ModularSet | None:
    """The integers in both sets; None where there is none."""
    if a.coeff == 0 or b.coeff == 0:
        one, other = (a, b) if a.coeff == 0 else (b, a)
        inside = (one.base - other.base) % other.coeff == 0 if other.coeff else one.base == other.base
        return one if inside else None
    common = gcd(a.coeff, b.coeff)
    if (b.base - a.base) % common:
        return None
    step = b.coeff // common
    # a.base + a.coeff * k = b.base modulo b.coeff
    k = (b.base - a.base) // common * pow(a.coeff // common, -1, step) % step if step > 1 else 0
    return normal(a.coeff * step, a.base + a.coeff * k)


def modular_set(ana: Analyzer, e: Expr) -> ModularSet:
    """What is known of `e`. Wrapping keeps only what divides a power of two."""
    rule = _RULES.get(type(e))
    if rule is None or not e.dtype.is_integral:
        return ANY
    found = rule(ana, e)
    if isinstance(e, Add | Sub | Mul) and not ana.is_exact(e):
        return normal(gcd(found.coeff, 1 << e.dtype.bits), found.base)
    return found


def _of_var(ana: Analyzer, e: Var) -> ModularSet:
    return ana.var_modular(e)


def _of_int(ana: Analyzer, e: IntImm) -> ModularSet:
    return ModularSet(0, e.value)


def _of_add(ana: Analyzer, e: BinaryOp) -> ModularSet:
    a, b = ana.modular(e.a), ana.modular(e.b)
    return normal(gcd(a.coeff, b.coeff), a.base + b.base)


def _of_sub(ana: Analyzer, e: BinaryOp) -> ModularSet:
    a, b = ana.modular(e.a), ana.modular(e.b)
    return normal(gcd(a.coeff, b.coeff), a.base - b.base)


def _of_mul(ana: Analyzer, e: BinaryOp) -> ModularSet:
    a, b = ana.modular(e.a), ana.modular(e.b)
    return normal(gcd(a.coeff * b.coeff, a.coeff * b.base, a.base * b.coeff), a.base * b.base)


def _of_floordiv(ana: Analyzer, e: BinaryOp) -> ModularSet:
    a, b = ana.modular(e.a), ana.modular(e.b)
    if b.coeff == 0 and b.base and a.coeff % b.base == 0:
        return normal(a.coeff // b.base, a.base // b.base)
    return ANY


def _of_floormod(ana: Analyzer, e: BinaryOp) -> ModularSet:
    a, b = ana.modular(e.a), ana.modular(e.b)
    if b.coeff == 0 and b.base:
        g = gcd(a.coeff, b.base)
        if a.coeff == 0 or g == abs(b.base):
            return ModularSet(0, a.base % b.base)
        return normal(g, a.base)
    return ANY


def _of_div(ana: Analyzer, e: BinaryOp) -> ModularSet:
    a, b = ana.modular(e.a), ana.modular(e.b)
    if b.coeff == 0 and b.base and a.coeff % b.base == 0:
        if a.base % b.base == 0 or (b.base > 0 and ana.bound(e.a).min >= 0):
            return normal(a.coeff // b.base, a.base // b.base)
    return ANY


def _of_mod(ana: Analyzer, e: BinaryOp) -> ModularSet:
    a, b = ana.modular(e.a), ana.modular(e.b)
    if b.coeff == 0 and b.base:
        # a - b * q for some q, whatever the rounding
        return normal(gcd(a.coeff, b.base), a.base)
    return ANY


def _of_shl(ana: Analyzer, e: BinaryOp) -> ModularSet:
    b = ana.bound(e.b)
    if not b.is_const or not 0 <= b.min < e.dtype.bits:
        return ANY
    a, factor = ana.modular(e.a), 1 << b.min
    value, own = ana.bound(e.a), e.dtype
    if own.min_value <= value.min * factor and value.max * factor <= own.max_value:
        return normal(a.coeff * factor, a.base * factor)
    return normal(gcd(a.coeff * factor, 1 << own.bits), a.base * factor)


def _of_shr(ana: Analyzer, e: BinaryOp) -> ModularSet:
    b = ana.bound(e.b)
    if not b.is_const or not 0 <= b.min < e.dtype.bits:
        return ANY
    a, divisor = ana.modular(e.a), 1 << b.min
    return normal(a.coeff // divisor, a.base // divisor) if a.coeff % divisor == 0 else ANY


def _of_mask(ana: Analyzer, e: BinaryOp) -> ModularSet:
    for value, mask in ((e.a, e.b), (e.b, e.a)):
        if type(mask) is IntImm and mask.value > 0 and mask.value & (mask.value + 1) == 0:
            a = ana.modular(value)
            return normal(gcd(a.coeff, mask.value + 1), a.base)
    return ANY


def _of_let(ana: Analyzer, e: Let) -> ModularSet:
    ana.bind_value(e.var, e.value)
    return ana.modular(e.body)


def _of_either(ana: Analyzer, e: BinaryOp) -> ModularSet:
    return union(ana.modular(e.a), ana.modular(e.b))


def _of_select(ana: Analyzer, e: Select) -> ModularSet:
    return union(ana.modular(e.true_value), ana.modular(e.false_value))


def _of_cast(ana: Analyzer, e: Cast) -> ModularSet:
    if not e.value.dtype.is_integral or e.dtype.is_bool:
        return ANY
    inner, bound = ana.modular(e.value), ana.bound(e.value)
    if e.dtype.min_value <= bound.min and bound.max <= e.dtype.max_value:
        return inner
    return normal(gcd(inner.coeff, 1 << e.dtype.bits), inner.base)


def _of_call(ana: Analyzer, e: Call) -> ModularSet:
    if isinstance(e.op, Op) and e.op.name == "prim.if_then_else":
        return union(ana.modular(e.args[1]), ana.modular(e.args[2]))
    return ANY


_RULES: dict[type, Callable[[Analyzer, Any], ModularSet]] = {
    Var: _of_var,
    IntImm: _of_int,
    Add: _of_add,
    Sub: _of_sub,
    Mul: _of_mul,
    FloorDiv: _of_floordiv,
    FloorMod: _of_floormod,
    Div: _of_div,
    Mod: _of_mod,
    LShift: _of_shl,
    RShift: _of_shr,
    BitwiseAnd: _of_mask,
    Let: _of_let,
    Min: _of_either,
    Max: _of_either,
    Select: _of_select,
    Cast: _of_cast,
    Call: _of_call,
}
