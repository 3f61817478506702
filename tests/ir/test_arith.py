"""Bounds, remainders and simplification, checked by evaluating on whole small domains."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.ir import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    BitwiseAnd,
    BitwiseNot,
    BitwiseOr,
    BitwiseXor,
    Broadcast,
    BufferLoad,
    BufferType,
    Call,
    Cast,
    Div,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    LShift,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    PrimType,
    Ramp,
    Range,
    RShift,
    Select,
    Sub,
    Var,
    const,
    structural_equal,
)
from loopwright.ir.arith import Analyzer, all_rules
from loopwright.ir.arith.intset import IntervalSet, eval_set

LIMITS = {"int8": (-128, 127), "uint8": (0, 255)}


# evaluation on arrays of all points at once, independent of the simplifier


@dataclass
class Values:
    """The exact values at every point, and where evaluating raises no error and overflows nothing."""

    value: np.ndarray
    valid: np.ndarray


class Machine:
    """Evaluates expressions on a grid of points: `wraps` as data arithmetic, else as index arithmetic."""

    def __init__(self, env, wraps, check=True):
        self.env, self.wraps, self.check = env, wraps, check

    def fit(self, e, value, valid):
        dtype = e.dtype.element
        low, high = int(dtype.min_value), int(dtype.max_value)
        if self.wraps:
            span = high - low + 1
            return Values((value - low) % span + low, valid)
        if self.check:
            valid = valid & (value >= low) & (value <= high)
        return Values(value, valid)

    def __call__(self, e):
        kind = type(e)
        if kind is IntImm:
            one = next(iter(self.env.values()))
            return Values(np.full_like(one, e.value), np.ones(one.shape, bool))
        if kind is Var:
            return Values(self.env[e], np.ones(self.env[e].shape, bool))
        if kind is Not:
            a = self(e.a)
            return Values(1 - a.value, a.valid)
        if kind is BitwiseNot:
            a = self(e.a)
            return self.fit(e, ~a.value, a.valid)
        if kind is Cast:
            a = self(e.value)
            low, high = int(e.dtype.min_value), int(e.dtype.max_value)
            value = (a.value != 0) * 1 if e.dtype.is_bool else (a.value - low) % (high - low + 1) + low
            return Values(value, a.valid)
        if kind is Select:
            c, a, b = self(e.condition), self(e.true_value), self(e.false_value)
            return Values(np.where(c.value != 0, a.value, b.value), c.valid & a.valid & b.valid)
        if kind is Call:
            c, a, b = [self(x) for x in e.args]
            hit = c.value != 0
            return Values(np.where(hit, a.value, b.value), c.valid & np.where(hit, a.valid, b.valid))
        if kind in (And, Or):
            a, b = self(e.a), self(e.b)
            needs = (a.value != 0) == (kind is And)
            value = np.where(needs, b.value, a.value)
            return Values(value, a.valid & (b.valid | ~needs))
        return self.binary(e, kind, self(e.a), self(e.b))

    def binary(self, e, kind, a, b):
        x, y, valid = a.value, b.value, a.valid & b.valid
        simple = {
            Add: lambda: x + y,
            Sub: lambda: x - y,
            Mul: lambda: x * y,
            Min: lambda: np.minimum(x, y),
            Max: lambda: np.maximum(x, y),
            BitwiseAnd: lambda: x & y,
            BitwiseOr: lambda: x | y,
            BitwiseXor: lambda: x ^ y,
        }
        compare = {
            EQ: np.equal,
            NE: np.not_equal,
            LT: np.less,
            LE: np.less_equal,
            GT: np.greater,
            GE: np.greater_equal,
        }
        if kind in compare:
            return Values(compare[kind](x, y) * 1, valid)
        if kind in simple:
            return self.fit(e, simple[kind](), valid)
        bits = e.dtype.bits
        if kind in (LShift, RShift):
            amount = np.where((y < 0) | (y > bits), bits, y)
            if kind is RShift:
                return Values(x >> amount, valid)
            low, high = int(e.dtype.min_value), int(e.dtype.max_value)
            return Values(((x << amount) - low) % (high - low + 1) + low, valid)
        smallest = int(e.dtype.min_value) if e.dtype.is_int else None
        valid = valid & (y != 0)
        if smallest is not None:
            valid = valid & ~((x == smallest) & (y == -1))
        safe = np.where(y == 0, 1, y)
        quotient = x // safe
        if kind in (Div, Mod):
            quotient = np.sign(x) * np.sign(safe) * (np.abs(x) // np.abs(safe))
        return Values(quotient if kind in (FloorDiv, Div) else x - quotient * safe, valid)


def grid(dtype, x_range=None, y_range=None):
    low, high = LIMITS[dtype]
    xs = np.arange(low, high + 1) if x_range is None else np.arange(*x_range)
    few = [low, low + 1, -9, -8, -3, -2, -1, 0, 1, 2, 3, 4, 7, 8, 15, 16, 64, high - 1, high]
    ys = np.array([v for v in few if low <= v <= high]) if y_range is None else np.arange(*y_range)
    a, b = np.meshgrid(xs.astype(np.int64), ys.astype(np.int64))
    return a.ravel(), b.ravel()


DOMAINS = [(None, None), ((0, 8), (0, 4)), ((-5, 6), (1, 4)), ((0, 100), (0, 8))]


def check(e, x, y, dtype, domain, data, strict=True, fired=None):
    """Simplify `e`, then compare on every point of the domain on which it has a value."""
    ana = Analyzer(data=data, strict=strict)
    ana.fired = fired
    xs, ys = grid(dtype, *domain)
    keep = np.ones(xs.shape, bool)
    low, high = LIMITS[dtype]
    for v, rng in ((x, domain[0]), (y, domain[1])):
        if rng is not None:
            if rng[0] < low:
                return
            ana.bind(v, Range(const(rng[0], dtype), const(rng[1] - rng[0], dtype)))
    env = {x: xs[keep], y: ys[keep]}
    new = ana.simplify(e)
    assert new.ty is e.ty
    wraps = data
    before = Machine(env, wraps)(e)
    after = Machine(env, wraps, check=strict)(new)
    good = before.valid
    if strict:
        assert (after.valid | ~good).all(), f"{e!r}\nbecame\n{new!r}\nwhich has no value where it had one"
    wrong = good & (before.value != after.value)
    assert not wrong.any(), (
        f"{e!r}\nbecame\n{new!r}\nat x={env[x][wrong][0]}, y={env[y][wrong][0]}: "
        f"{before.value[wrong][0]} became {after.value[wrong][0]}"
    )
    bound, known = ana.const_int_bound(e), ana.modular_set(e)
    if good.any():
        assert bound.min <= before.value[good].min() and before.value[good].max() <= bound.max, (e, bound)
        if known.coeff:
            assert ((before.value[good] - known.base) % known.coeff == 0).all(), (e, known)
        else:
            assert (before.value[good] == known.base).all(), (e, known)


@st.composite
def cases(draw, dtype):
    x, y = Var("x", dtype), Var("y", dtype)
    low, high = LIMITS[dtype]
    numbers = st.sampled_from(
        [v for v in (-8, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 8, 12, 16, 100, high, low) if low <= v <= high]
    )

    def integer(depth):
        if depth == 0 or draw(st.integers(0, 5)) == 0:
            return draw(st.sampled_from([x, y])) if draw(st.booleans()) else const(draw(numbers), dtype)
        pick = draw(st.integers(0, 12))
        if pick < 5:
            return draw(st.sampled_from([Add, Sub, Mul]))(integer(depth - 1), integer(depth - 1))
        if pick < 9:
            divisor = const(draw(numbers), dtype) if draw(st.integers(0, 3)) else integer(depth - 1)
            return draw(st.sampled_from([FloorDiv, FloorMod, FloorDiv, FloorMod, Div, Mod]))(
                integer(depth - 1), divisor
            )
        if pick == 9:
            return draw(st.sampled_from([Min, Max]))(integer(depth - 1), integer(depth - 1))
        if pick == 10:
            kind = draw(st.sampled_from([BitwiseAnd, BitwiseOr, BitwiseXor, LShift, RShift]))
            return kind(integer(depth - 1), integer(depth - 1))
        if pick == 11:
            a, b = integer(depth - 1), integer(depth - 1)
            if draw(st.booleans()):
                return Select(condition(depth - 1), a, b)
            return Call("prim.if_then_else", (condition(depth - 1), a, b), PrimType(dtype))
        other = draw(st.sampled_from(["int8", "uint8", "int16", "int32"]))
        return Cast(PrimType(dtype), Cast(PrimType(other), integer(depth - 1)))

    def condition(depth):
        if depth > 0 and draw(st.integers(0, 2)) == 0:
            kind = draw(st.integers(0, 2))
            if kind == 0:
                return Not(condition(depth - 1))
            return (And if kind == 1 else Or)(condition(depth - 1), condition(depth - 1))
        kind = draw(st.sampled_from([EQ, NE, LT, LE, GT, GE]))
        return kind(integer(max(depth - 1, 0)), integer(max(depth - 1, 0)))

    e = integer(3) if draw(st.booleans()) else condition(3)
    return e, x, y, draw(st.sampled_from(DOMAINS))


@given(cases("int8"))
def test_data_arithmetic_keeps_its_value_wrapping_included(case):
    check(*case[:3], "int8", case[3], data=True)


@given(cases("int8"))
def test_index_arithmetic_keeps_its_value_and_gains_no_overflow(case):
    check(*case[:3], "int8", case[3], data=False)


@given(cases("int8"))
def test_canonical_form_keeps_the_value(case):
    check(*case[:3], "int8", case[3], data=False, strict=False)


@given(cases("uint8"))
def test_unsigned_arithmetic_wraps(case):
    e, x, y, domain = case
    if domain[0] is None or domain[0][0] >= 0:
        check(e, x, y, "uint8", domain, data=True)


def templates(dtype):
    """Expressions that bring every rule into play, over constants of both signs."""
    x, y = Var("x", dtype), Var("y", dtype)

    def c(v):
        return const(v, dtype)

    signed = dtype.startswith("int")
    low = LIMITS[dtype][0]
    out = [
        Add(x, c(0)), Sub(Add(x, y), x), Add(Mul(x, c(2)), Mul(x, c(3))), Mul(c(3), Add(x, c(2))),
        Add(Mul(FloorDiv(x, c(4)), c(4)), FloorMod(x, c(4))),
        Add(Mul(FloorDiv(FloorMod(x, c(12)), c(4)), c(4)), FloorMod(x, c(4))),
        Min(x, x), Max(x, x), Min(x, Add(x, c(1))), Max(Min(x, c(3)), c(3)), Min(Min(x, c(5)), c(3)),
        Min(Min(x, y), x), Max(Max(c(5), x), c(3)),
        Select(EQ(x, x), x, y), Select(LT(x, y), x, x), Select(Not(LT(x, y)), x, y),
        Select(LT(x, y), IntImm("bool", 1), IntImm("bool", 0)),
        Select(LT(x, y), IntImm("bool", 0), IntImm("bool", 1)),
        Call("prim.if_then_else", (LE(x, x), x, y), PrimType(dtype)),
        Cast(PrimType(dtype), x), Cast(PrimType(dtype), Cast(PrimType("int16"), x)),
        Cast(PrimType(dtype), IntImm("int32", 300)), Cast(PrimType(dtype), Cast(PrimType("int32"), x)),
        BitwiseAnd(x, c(0)), BitwiseOr(x, c(0)), BitwiseXor(c(5), c(3)), BitwiseAnd(x, c(7)),
        BitwiseAnd(x, c(127)), BitwiseNot(BitwiseNot(x)),
        BitwiseNot(c(5)), LShift(x, c(0)), LShift(c(3), c(5)), RShift(c(100), c(2)),
        LShift(c(3), c(9)), Not(Not(LT(x, y))), Not(EQ(x, y)), Or(LT(x, y), Not(LT(x, y))),
        And(LT(x, c(4)), LT(x, c(3))), And(LT(x, c(3)), LT(x, c(4))), Or(LT(x, c(3)), LT(x, c(4))),
        Or(LT(x, c(4)), LT(x, c(3))), And(LT(x, y), LT(x, y)),
        And(EQ(c(1), c(1)), LT(x, y)), Or(EQ(c(1), c(1)), LT(x, y)),
        Not(EQ(c(1), c(2))), EQ(x, x), LT(x, x), GE(x, x), And(LT(x, y), Or(LT(x, y), EQ(x, c(3)))),
        LT(Add(x, c(3)), Add(y, c(3))), EQ(Mul(x, c(4)), Add(Mul(y, c(2)), c(1))), EQ(Mul(x, c(4)), c(8)),
        LT(Sub(x, y), Sub(c(3), y)), GT(c(3), Add(x, c(1))),
        Not(IntImm("bool", 0)),
    ]  # fmt: skip
    for k in (-4, -3, 1, 2, 4, 6):
        if not signed and k < 0:
            continue
        for n in (1, 2, 3, 4, 8, 12, -1, -5):
            if not signed and n < 0:
                continue
            for op in (FloorDiv, FloorMod, Div, Mod):
                out += [op(Add(Mul(x, c(k)), y), c(n)), op(Add(Mul(x, c(k)), c(5)), c(n)), op(c(17), c(n))]
                out += [op(Add(Add(Mul(x, c(k)), y), c(7)), c(n))]
            out += [
                FloorDiv(FloorDiv(x, c(n)), c(3)),
                FloorMod(FloorMod(x, c(n)), c(3)),
                FloorMod(FloorMod(x, c(12)), c(n)),
            ]
            out += [FloorMod(Add(Mul(FloorMod(y, c(3)), c(k)), x), c(n)), FloorDiv(FloorMod(x, c(12)), c(n))]
            for op in (EQ, NE, LT, LE, GT, GE):
                out.append(op(Mul(x, c(k)), c(n)))
                out.append(op(c(n), Mul(x, c(k))))
            for op in (Min, Max):
                out.append(op(Mul(x, c(k)), c(n)))
    out += [
        FloorDiv(x, c(3)),
        FloorDiv(FloorDiv(x, c(100)), c(100)),
        FloorMod(x, y),
        FloorDiv(Add(Mul(x, y), c(0)), y),
    ]
    out += [FloorDiv(c(low), c(3)), Div(c(low), c(3)), Mod(c(low), c(3))]
    return x, y, out + _more_templates(x, y, c, signed)


def _more_templates(x, y, c, signed):
    """Comparisons of quotients and extremes, sums of all these, division by symbols."""
    xy, yx = Mul(x, y), Mul(y, x)
    a, b, d = LT(x, y), LT(x, c(3)), LT(y, c(5))
    out = [
        GT(x, y), GE(x, y), EQ(c(3), x), NE(c(3), x), EQ(xy, c(0)), NE(xy, c(0)),
        Not(And(a, b)), Not(Or(a, b)), And(a, And(b, d)), Or(a, Or(b, d)), And(a, Or(b, And(d, a))),
        Min(Max(x, y), x), Max(Min(y, x), x), Min(Max(x, y), Min(y, x)), Max(Min(x, y), Max(y, x)),
        Min(Min(Min(x, y), c(3)), y), Max(Max(Max(x, y), c(3)), y), Min(x, Min(x, y)),
        Min(Max(x, y), Max(c(4), x)), Max(Min(x, y), Min(c(4), x)),
        Min(Add(y, x), Add(c(3), x)), Max(Add(x, y), Add(x, c(3))), Min(Sub(x, y), Sub(x, c(2))),
        Min(Add(x, c(3)), Add(y, c(3))), Min(Sub(y, x), Sub(c(2), x)), Max(Add(x, y), x),
        Min(c(3), Sub(c(5), x)), Max(Sub(c(5), x), c(2)), Min(FloorDiv(x, c(3)), FloorDiv(y, c(3))),
        Max(Div(x, c(3)), Div(y, c(3))), FloorDiv(Min(Mul(x, c(6)), y), c(2)),
        Div(Max(Mul(x, c(6)), y), c(3)), Mul(Min(x, y), Max(x, y)), Mul(Max(y, x), Min(x, y)),
        FloorDiv(x, x), FloorMod(y, y), Div(x, x), Mod(y, y), Div(Mul(x, c(6)), c(3)),
        Mod(Mul(x, c(6)), c(3)),
        Div(Mul(x, c(4)), c(6)), Div(Div(x, c(2)), c(3)), Div(Add(Mul(x, c(4)), c(6)), c(4)),
        FloorDiv(Add(FloorDiv(x, c(2)), c(1)), c(3)), FloorDiv(Sub(x, FloorMod(x, c(5))), c(5)),
        FloorMod(Sub(x, FloorMod(x, c(5))), c(5)), FloorMod(Sub(x, FloorMod(x, y)), y),
        FloorDiv(Sub(x, FloorMod(x, y)), y), FloorMod(Add(x, FloorMod(Sub(c(0), x), y)), y),
        FloorMod(FloorDiv(x, c(2)), c(4)), FloorMod(FloorDiv(x, c(3)), c(5)),
        FloorDiv(Add(xy, x), y), FloorMod(Add(xy, c(3)), y), FloorDiv(Mul(y, y), y), FloorMod(Mul(y, y), y),
        FloorDiv(Sub(x, Mul(y, y)), y), FloorMod(Sub(x, Mul(y, y)), y), FloorDiv(Add(x, y), y),
        FloorDiv(Mul(Add(x, c(1)), c(4)), Mul(Add(x, c(1)), c(2))), FloorMod(Mul(Add(x, c(1)), y),
        Add(x, c(1))),
        FloorDiv(Mul(x, Mul(y, y)), Mul(y, x)), FloorDiv(Add(Mul(xy, c(2)), y), Mul(y, c(2))),
        Sub(x, Mul(FloorDiv(x, c(3)), c(3))), Sub(Mul(Div(x, c(3)), c(6)), Mul(x, c(2))),
        Sub(Mul(FloorDiv(Add(y, x), c(3)), c(6)), Mul(y, c(2))), Sub(y, Mul(FloorDiv(Sub(y, c(6)),
        c(5)), c(5))),
        Add(Mul(Div(x, c(4)), c(4)), Mod(x, c(4))), LT(Mul(FloorDiv(x, c(4)), c(4)), Add(x, y)),
        Sub(FloorDiv(Add(x, c(5)), c(3)), FloorDiv(Add(x, c(2)), c(3))),
        Sub(Min(x, y), x), Sub(x, Max(y, x)), Add(Min(x, Sub(y, c(2))), c(2)), Add(Max(x, y), Min(y, x)),
        Sub(Min(Add(x, c(2)), Add(y, c(3))), c(2)), Add(Max(c(0), Sub(c(1), x)), x),
        Add(Select(a, y, c(0)), Select(a, c(1), x)), Sub(Select(a, x, y), y), Sub(y, Select(b, y, x)),
        Sub(Mul(Add(x, c(1)), y), xy), Add(xy, Mul(x, c(10))), Sub(xy, x), Add(yx, Mul(x, Sub(c(3), y))),
        Add(Mul(x, x), x), Sub(Mul(Add(x, y), c(4)), Mul(y, c(4))), Sub(Sub(x, y), c(3)), Sub(c(5),
        Add(x, y)),
        LT(Sub(x, c(1)), y), LT(x, Add(y, c(1))), LE(x, Sub(y, c(1))), LT(x, Sub(y, c(10))),
        LE(Add(x, c(3)), y),
        LE(Add(Mul(x, c(4)), c(1)), Mul(y, c(4))), GE(Sub(x, y), c(3)), GT(c(100), Sub(c(3), x)),
    ]  # fmt: skip
    for k in (-3, -2, -1, 0, 1, 2, 5):
        if k < 0 and not signed:
            continue
        for n in (2, 3, 5):
            for op in (FloorDiv, Div):
                for compare in (LT, LE, GT, GE):
                    out += [compare(op(x, c(n)), c(k)), compare(c(k), op(x, c(n)))]
        for extreme in (Min, Max):
            for compare in (LT, LE):
                out += [compare(extreme(x, c(2)), c(k)), compare(c(k), extreme(y, c(2)))]
                out.append(compare(Add(x, c(1)), extreme(c(4), x)))
            out += [extreme(Mul(x, c(k)), c(6)), extreme(c(-4 if signed else 4), Sub(c(3), x))]
    quotient, rest = FloorDiv(x, c(5)), FloorMod(x, c(5))
    for k in (-2, 0, 3) if signed else (0, 3):
        for r in (0, 2, 4):
            for part in (EQ(rest, c(r)), LT(rest, c(r)), LE(rest, c(r)), LT(c(r), rest), LE(c(r), rest)):
                out += [And(EQ(quotient, c(k)), part), And(part, EQ(quotient, c(k)))]
            for number in range(5 * k, 5 * k + 6) if k >= 0 or signed else ():
                out += [And(LT(x, c(number)), LT(rest, c(r))), And(LT(rest, c(r)), LE(x, c(number)))]
    difference = Sub(x, Mul(y, c(5)))
    out += [And(LE(c(0), difference), LT(difference, c(5))), And(LT(difference, c(5)), LE(c(0), difference))]
    out += [Add(FloorMod(x, c(2)), FloorMod(Add(x, c(1)), c(2))), Sub(FloorDiv(Add(x, c(1)), c(2)), rest)]
    for a, b in itertools.product((-3, 0, 1, 2), repeat=2):
        if signed or min(a, b) >= 0:
            out += [Sub(FloorDiv(Add(x, c(a)), c(2)), FloorDiv(Add(x, c(b)), c(2)))]
            out += [Add(FloorDiv(Add(x, c(a)), c(2)), FloorMod(Add(x, c(b)), c(2)))]
    for k, n in ((7, 5), (9, 4), (-3, 7)) if signed else ((7, 5), (9, 4)):
        for op in (FloorDiv, FloorMod):
            out += [op(Add(Mul(FloorMod(x, c(2)), c(k)), FloorMod(y, c(2))), c(n)), op(Mul(x, c(k)), c(n))]
    flat = Add(Mul(x, c(3)), FloorMod(y, c(3)))
    for n, m in ((12, 4), (6, 2), (6, 3)):
        for high, low in ((FloorDiv, FloorMod), (Div, Mod)):
            for e in (x, flat):
                top, middle = Mul(high(e, c(n)), c(n)), Mul(high(low(e, c(n)), c(m)), c(m))
                out += [Add(Add(top, middle), low(e, c(m))), Add(middle, low(e, c(m)))]
                out += [Add(top, Mul(low(high(e, c(m)), c(n // m)), c(m)))]
        for e in (x, flat):
            out += [LT(Add(Mul(y, c(n)), FloorMod(e, c(n))), c(n)), LE(Mul(y, c(n)), FloorMod(e, c(m)))]
            out += [LT(Add(Mul(y, c(n)), FloorMod(e, c(m))), Add(Mul(x, c(n)), c(n)))]
    for n in (2, 3, 9) if signed else ():
        out += [FloorDiv(x, Mul(y, c(-n))), FloorDiv(Sub(x, c(n)), Sub(c(-n), Mul(y, c(2))))]
        out += [Mod(x, c(-n)), Mod(Add(Mul(x, c(n)), y), c(-n)), FloorMod(Sub(x, FloorMod(x, c(-n))), c(n))]
        out += [Min(FloorDiv(x, c(-n)), FloorDiv(y, c(-n))), Sub(x, Mul(Div(x, c(-n)), c(-n)))]
        out += [Sub(x, Mul(FloorDiv(x, c(-n)), c(-n))), Div(Mul(x, c(-n)), c(n)), Div(Mul(x, c(n)), c(-n))]
    return out


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize(("dtype", "data"), [("int8", True), ("int8", False), ("uint8", True)])
def test_templates_keep_their_value(dtype, data, domain):
    x, y, exprs = templates(dtype)
    for e in exprs:
        check(e, x, y, dtype, domain, data)


def test_every_rule_is_brought_into_play():
    fired: set[str] = set()
    x, y, exprs = templates("int8")
    for low, high in ((-128, 127), (0, 7)):
        ana = Analyzer()
        ana.fired = fired
        ana.bind_bound(x, low, high)
        for e in exprs:
            ana.simplify(e)
    for ana, e in _special_cases():
        ana.fired = fired
        ana.simplify(e)
    missing = {r.name for r in all_rules()} - fired
    assert not missing


def _special_cases():
    i, n, m = Var("i"), Var("n"), Var("m")
    ana = Analyzer()
    ana.bind_bound(n, 1)
    ana.bind(i, Range(const(0, "int32"), n))
    yield ana, FloorDiv(Add(Mul(m, n), i), n)
    yield ana, Let(m, i, Add(m, m))
    lanes = const(4, "int32")
    ramp = Ramp(Mul(m, const(4, "int32")), const(1, "int32"), lanes)
    yield ana, Add(ramp, Broadcast(i, lanes))
    yield ana, FloorDiv(ramp, Broadcast(const(4, "int32"), lanes))
    loaded = LT(BufferLoad(Var("A", BufferType("int32", (4,))), [i]), const(3, "int32"))
    real = LT(Var("a", "float32"), Var("b", "float32"))
    yield ana, Or(loaded, loaded)
    yield ana, Not(Not(real))
    yield ana, Select(Not(real), i, m)
    yield ana, Broadcast(i, const(1, "int32"))
    with ana.assume(LT(m, n)):
        yield ana, LT(m, n)
    half, wide = FloatImm("float16", 0.5), PrimType("int64")
    yield ana, Add(half, half)
    yield ana, Mul(Var("h", "float16"), FloatImm("float16", 1.0))
    yield ana, Cast("float32", half)
    yield ana, Call("prim.clz", (IntImm("int32", 5),), PrimType("int32"))
    yield ana, Cast(wide, Add(i, m))
    two = const(2, "int32")
    pair = Ramp(i, const(1, "int32"), lanes)
    yield ana, Max(Broadcast(i, lanes), Broadcast(two, lanes))
    yield ana, Not(Broadcast(LT(i, m), lanes))
    yield ana, Select(Broadcast(LT(i, m), lanes), Broadcast(i, lanes), Broadcast(m, lanes))
    yield ana, Min(Min(Var("v", "int32x4"), Broadcast(i, lanes)), Broadcast(m, lanes))
    yield ana, Sub(Broadcast(m, lanes), pair)
    block = Ramp(Mul(i, const(4, "int32")), const(1, "int32"), lanes)
    yield ana, FloorDiv(block, Broadcast(const(64, "int32"), lanes))
    yield ana, FloorMod(Ramp(Add(Mul(m, const(8, "int32")), const(7, "int32")), const(1, "int32"), lanes),
                        Broadcast(const(4, "int32"), lanes))  # fmt: skip
    digit = FloorMod(i, const(8, "int32"))
    yield ana, Div(Ramp(digit, two, lanes), Broadcast(const(8, "int32"), lanes))
    yield ana, LT(Ramp(digit, two, lanes), Broadcast(const(20, "int32"), lanes))


@given(st.integers(-6, 6), st.integers(0, 5), st.integers(1, 12), st.integers(-20, 20), st.booleans())
def test_vector_division_is_that_of_each_lane(k, stride, c, base, mod):
    m = Var("m")
    ramp = Ramp(
        Add(Mul(m, const(k, "int32")), const(base, "int32")), const(stride, "int32"), const(4, "int32")
    )
    e = (FloorMod if mod else FloorDiv)(ramp, Broadcast(const(c, "int32"), const(4, "int32")))
    new = Analyzer().simplify(e)
    for value in range(-10, 11):
        want = [
            (value * k + base + stride * lane) % c if mod else (value * k + base + stride * lane) // c
            for lane in range(4)
        ]
        assert _lanes(new, {m: value}) == want


def _lanes(e, env):
    """The four lanes of an integer vector expression."""
    if e.dtype.is_scalar:
        values = {v: np.array([value]) for v, value in env.items()}
        return [int(Machine(values, False)(e).value[0])] * 4
    if isinstance(e, Broadcast):
        return _lanes(e.value, env)
    if isinstance(e, Ramp):
        return [a + k * b for k, (a, b) in enumerate(zip(_lanes(e.base, env), _lanes(e.stride, env)))]
    ops = {Add: lambda a, b: a + b, FloorDiv: lambda a, b: a // b, FloorMod: lambda a, b: a % b}
    return [ops[type(e)](a, b) for a, b in zip(_lanes(e.a, env), _lanes(e.b, env))]


@given(st.integers(-20, 20), st.integers(1, 9), st.integers(-20, 20), st.integers(0, 9), cases("int8"))
def test_interval_sets_hold_every_value(x0, xn, y0, yn, case):
    e, x, y, _ = case
    if e.dtype.is_bool:
        return
    ana = Analyzer()
    domain = {x: IntervalSet(const(x0, "int8"), const(x0 + xn - 1, "int8"))}
    xs, ys = grid("int8", (x0, x0 + xn), (y0, y0 + yn + 1))
    found = eval_set(e, domain, ana)
    values = Machine({x: xs, y: ys}, wraps=False)(e)
    env = {x: xs, y: ys}
    for end, sign in ((found.min, 1), (found.max, -1)):
        if end is not None:
            limit = Machine(env, wraps=False, check=False)(end)
            good = values.valid & limit.valid
            assert (sign * (values.value - limit.value) >= 0)[good].all(), (e, end)


def test_symbolic_bounds_are_proved():
    i, j, n, m = [Var(name) for name in "ijnm"]

    def c(v):
        return const(v, "int32")

    ana = Analyzer(strict=True)
    ana.bind_bound(n, 0, 1 << 20)
    ana.bind_bound(m, 0, 1 << 10)
    ana.bind(i, Range(c(0), FloorDiv(Add(n, c(31)), c(32))))
    ana.bind(j, Range(c(0), c(32)))
    assert ana.can_prove(LT(Add(Mul(i, c(32)), j), Add(n, c(31))))
    assert not ana.can_prove(LT(Add(Mul(i, c(32)), j), n))
    assert ana.can_prove(LE(Mul(FloorDiv(n, c(4)), c(4)), n))
    a, b = Var("a"), Var("b")
    ana.bind(a, Range(c(0), m))
    ana.bind(b, Range(c(0), n))
    assert ana.can_prove(LT(Add(Mul(a, n), b), Mul(m, n)))
    assert ana.can_prove_equal(Add(a, b), Add(b, a))
    assert not ana.can_prove_equal(a, b)


def test_assumptions_end_with_their_scope():
    x, n = Var("x"), Var("n")
    ana = Analyzer()
    with ana.assume(And(LT(x, n), GE(x, const(3, "int32")))):
        assert ana.can_prove(LT(x, n))
        assert ana.can_prove(GT(n, const(3, "int32")))
        assert ana.const_int_bound(x).min == 3
    assert not ana.can_prove(LT(x, n))
    assert ana.const_int_bound(x).min == -(1 << 31)


def test_nothing_is_learned_from_memory():
    A, i = Var("A", BufferType("int32", (4,))), Var("i")
    ana = Analyzer()
    load = BufferLoad(A, [i])
    with ana.assume(EQ(load, const(3, "int32"))):
        assert not ana.can_prove(EQ(BufferLoad(A, [i]), const(3, "int32")))


def test_effects_are_kept():
    call = Call("tirx.call_extern", (IntImm("int32", 1),), PrimType("int32"))
    zero = const(0, "int32")
    assert structural_equal(Analyzer().simplify(Mul(call, zero)), Mul(call, zero))
    difference = Sub(call, call)
    assert structural_equal(Analyzer().simplify(difference), difference)


def test_deep_sums_take_linear_time():
    x = Var("x")
    e = x
    for k in range(5000):
        e = Add(e, const(k % 7, "int32")) if k % 2 else Sub(e, x)
    new = Analyzer().simplify(e)
    assert Analyzer().simplify(new) is new


def test_a_proof_gives_up_in_time(monkeypatch):
    """How many elements a window of 3 has in each of two dimensions with 2 of padding: many terms of `min`."""
    from loopwright.ir.arith import prove

    ana, looked = Analyzer(), []
    bound = prove.Linear.bound
    monkeypatch.setattr(prove.Linear, "bound", lambda self, ana: looked.append(1) or bound(self, ana))
    parts = []
    for name, size in (("y", 6), ("x", 5)):
        v = Var(name, "int64")
        ana.bind(v, Range(const(0, "int64"), const(size + 2, "int64")))
        both = Add(Min(v, const(size - 1, "int64")), Min(v, const(2, "int64")))
        parts.append(Add(both, Sub(const(1, "int64"), v)))
    count = Max(Mul(*parts), const(1, "int64"))
    assert structural_equal(ana.simplify(ana.simplify(count)), ana.simplify(count))
    assert len(looked) < 20_000


def test_an_expression_without_a_rule_is_itself():
    x, y = Var("x"), Var("y")
    for e in (Add(x, y), FloorDiv(x, y), LT(x, y), And(LT(x, y), LT(y, const(3, "int32")))):
        assert Analyzer(strict=True).simplify(e) is e


def test_a_quotient_by_a_symbol_is_below_the_other_factor():
    """x // m < b where x < b * m, for a size m."""
    b, m, x = (Var(name, "int32") for name in "bmx")
    ana = Analyzer()
    ana.bind(x, Range(const(0, "int32"), b * m))
    assert not ana.can_prove(LT(FloorDiv(x, m), b))
    ana.bind_bound(m, low=1)
    assert ana.can_prove(LT(FloorDiv(x, m), b))
    assert not ana.can_prove(LT(FloorDiv(x, m), b - 1))
