"""Modular sets: what an integer is known to leave over, divided by what."""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import TYPE_CHECKING, Any, NamedTuple

from ..expr import (
    Add,
    BinaryOp,
    Call,
    Cast,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mul,
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
    Min: _of_either,
    Max: _of_either,
    Select: _of_select,
    Cast: _of_cast,
    Call: _of_call,
}
