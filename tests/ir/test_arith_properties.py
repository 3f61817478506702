"""Whatever the rules do together keeps the value: random expressions on whole small domains."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
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
    BinaryOp,
    Broadcast,
    Call,
    Cast,
    Comparison,
    Div,
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
from loopwright.ir.arith import Analyzer, Bound
from loopwright.ir.arith.intset import IntervalSet
from loopwright.ir.arith.intset import intersection as intersect_intervals
from loopwright.ir.arith.intset import union as union_intervals
from loopwright.ir.arith.modular import intersection, normal
from loopwright.ir.arith.numeric import evaluate

COMPARISONS = (EQ, NE, LT, LE, GT, GE)
LANES = const(3, "int32")


def c(value, dtype="int32"):
    return const(value, dtype)


class Undefined(Exception):
    """The expression has no value at this point."""


def lanes(e, env):
    """The values of all lanes of an index expression; raises where something divides by zero."""
    if e.dtype.is_scalar:
        try:
            return [evaluate(e, env)] * 3
        except ZeroDivisionError:
            raise Undefined from None
    if isinstance(e, Broadcast):
        return lanes(e.value, env)
    if isinstance(e, Ramp):
        return [a + k * b for k, (a, b) in enumerate(zip(lanes(e.base, env), lanes(e.stride, env)))]
    if isinstance(e, Var):
        return env[e]
    if isinstance(e, Not):
        return [int(not a) for a in lanes(e.a, env)]
    if isinstance(e, Cast):
        return [int(e.dtype.element.wrap(a)) for a in lanes(e.value, env)]
    if isinstance(e, Select):
        parts = zip(lanes(e.condition, env), lanes(e.true_value, env), lanes(e.false_value, env))
        return [a if k else b for k, a, b in parts]
    assert isinstance(e, BinaryOp)
    kind, dtype = type(e), e.a.dtype.element
    pairs = zip(lanes(e.a, env), lanes(e.b, env))
    return [lanes(kind(c(a, dtype), c(b, dtype)), {})[0] for a, b in pairs]


@st.composite
def expressions(draw, depth=3, names=None):
    """An index expression over x, y, n with all that the simplifier knows, and its variables."""
    x, y, n = names or [Var(v) for v in "xyn"]

    def number(depth):
        if depth == 0 or draw(st.integers(0, 4)) == 0:
            small = c(draw(st.sampled_from([-5, -3, -2, -1, 0, 1, 2, 3, 4, 6, 8, 12])))
            return draw(st.sampled_from([x, y, n, x, y, small, small]))
        a = number(depth - 1)
        kind = draw(
            st.sampled_from(
                [Add, Add, Sub, Sub, Mul, Mul, FloorDiv, FloorMod, FloorDiv, FloorMod, Div, Mod, Min, Max]
                + [Select, Call, RShift, Let]
            )
        )
        if kind is Select:
            return Select(truth(depth - 1), a, number(depth - 1))
        if kind is Call:
            return Call("prim.if_then_else", (truth(depth - 1), a, number(depth - 1)), PrimType("int32"))
        if kind is RShift:
            return RShift(a, c(draw(st.integers(0, 3))))
        if kind is Let:
            t = Var("t")
            return Let(t, a, Add(t, number(depth - 1)))
        return kind(a, number(depth - 1))

    def truth(depth):
        if depth > 0 and draw(st.integers(0, 2)) == 0:
            kind = draw(st.sampled_from([And, Or, Not]))
            return Not(truth(depth - 1)) if kind is Not else kind(truth(depth - 1), truth(depth - 1))
        return draw(st.sampled_from(COMPARISONS))(number(max(depth - 1, 0)), number(max(depth - 1, 0)))

    e = truth(depth) if draw(st.booleans()) else number(depth)
    return e, truth(1), (x, y, n)


RANGES = [(-3, 4), (0, 5), (1, 4), (-4, 0), (2, 3)]
PROVED = [0]


@given(expressions(), st.data(), st.booleans())
def test_simplifying_bounds_and_remainders_under_assumptions(case, data, assume):
    e, fact, names = case
    spans = [data.draw(st.sampled_from(RANGES)) for _ in names]
    ana = Analyzer(strict=data.draw(st.booleans()))
    for v, (low, high) in zip(names, spans):
        ana.bind(v, Range(c(low), c(high - low)))
    scope = ana.assume(fact) if assume else ana.mode(data=False)
    with scope:
        new, bound, known = ana.simplify(e), ana.const_int_bound(e), ana.modular_set(e)
        proved = ana.can_prove(e) if e.dtype.is_bool else False
        values = ana.int_set(e) if not e.dtype.is_bool else IntervalSet(None, None)
    for point in itertools.product(*[range(low, high) for low, high in spans]):
        env = dict(zip(names, point))
        try:
            if assume and not evaluate(fact, env):
                continue
            value = evaluate(e, env)
        except ZeroDivisionError:
            continue
        assert evaluate(new, env) == value, (e, new, env)
        assert bound.min <= value <= bound.max
        assert (value - known.base) % known.coeff == 0 if known.coeff else value == known.base
        assert value or not proved
        for end, sign in ((values.min, 1), (values.max, -1)):
            if end is not None:
                try:
                    assert sign * (value - evaluate(end, env)) >= 0
                except ZeroDivisionError:
                    pass


def test_proofs_are_not_always_refused():
    @settings(max_examples=120, derandomize=True)
    @given(expressions(depth=2))
    def measure(case):
        e, fact, names = case
        ana = Analyzer()
        for v in names:
            ana.bind(v, Range(c(1), c(3)))
        with ana.assume(fact):
            PROVED[0] += e.dtype.is_bool and not isinstance(e, IntImm) and ana.can_prove(e)

    PROVED[0] = 0
    measure()
    assert PROVED[0] > 3


@given(expressions(depth=2))
def test_simplifying_twice_changes_little(case):
    e, _, _ = case
    ana = Analyzer()
    new = ana.simplify(ana.simplify(e))
    assert structural_equal(Analyzer().simplify(new), new) or e.dtype.is_bool


@given(expressions(depth=2))
def test_simplifying_is_deterministic(case):
    e, _, _ = case
    assert structural_equal(Analyzer().simplify(e), Analyzer().simplify(e))


@st.composite
def vectors(draw):
    x, y, v, b = Var("x"), Var("y"), Var("v", "int32x3"), Var("b")

    def base():
        k = draw(st.sampled_from([1, 2, 4, 6, 8, -2]))
        return Add(Mul(draw(st.sampled_from([x, y])), c(k)), c(draw(st.integers(-2, 9))))

    def vector(depth):
        kind = draw(st.integers(0, 3 if depth else 2))
        if kind == 0:
            return Ramp(base(), c(draw(st.sampled_from([-2, 0, 1, 2, 3, 4, 8]))), LANES)
        if kind == 1:
            return Broadcast(draw(st.sampled_from([x, y, c(2), c(4), c(6), c(8), c(-3), b])), LANES)
        if kind == 2:
            return draw(st.sampled_from([v, Broadcast(c(4), LANES)]))
        op = draw(
            st.sampled_from([Add, Sub, Mul, FloorDiv, FloorMod, FloorDiv, FloorMod, Div, Mod, Min, Max])
        )
        return op(vector(depth - 1), vector(depth - 1))

    def mask(depth):
        kind = draw(st.integers(0, 3 if depth else 0))
        if kind < 2:
            return draw(st.sampled_from(COMPARISONS))(vector(depth), vector(depth))
        return Not(mask(depth - 1)) if kind == 2 else draw(st.sampled_from([And, Or]))(mask(0), mask(0))

    kind = draw(st.integers(0, 5))
    if kind < 3:
        e = vector(2)
    elif kind == 3:
        e = Select(mask(1), vector(1), vector(1))
    else:
        e = mask(2) if kind == 4 else Cast("int64x3", vector(1))
    return e, (x, y, b), v


@given(vectors(), st.data())
def test_vectors_are_computed_lane_by_lane(case, data):
    e, names, v = case
    low = data.draw(st.sampled_from([-4, 0, 1]))
    ana = Analyzer()
    for name in names:
        ana.bind(name, Range(c(low), c(5)))
    new = ana.simplify(e)
    assert new.ty is e.ty
    for point in itertools.product(range(low, low + 5), repeat=3):
        env = {**dict(zip(names, point)), v: [7, -3, 2]}
        try:
            want = lanes(e, env)
        except Undefined:
            continue
        assert lanes(new, env) == want, (e, new, env)


@given(
    st.integers(-6, 6),
    st.integers(-9, 9),
    st.sampled_from([2, 3, 4, 7, -3]),
    st.booleans(),
    st.integers(-3, 3),
)
def test_remainders_that_are_known(sign, offset, by, floor, wanted):
    x = Var("x")
    e = Add(Mul(x, c(1 if sign >= 0 else -1)), c(offset))
    condition = EQ((FloorMod if floor else Mod)(e, c(by)), c(wanted))
    ana = Analyzer()
    with ana.assume(condition):
        known = ana.modular_set(x)
        for value in range(-30, 31):
            if evaluate(condition, {x: value}):
                assert (value - known.base) % known.coeff == 0
    assert ana.modular_set(x) == (1, 0)


@given(st.integers(0, 12), st.integers(-9, 9), st.integers(0, 12), st.integers(-9, 9))
def test_intersections_of_modular_sets(c1, b1, c2, b2):
    a, b = normal(c1, b1), normal(c2, b2)
    both = intersection(a, b)

    def holds(s, v):
        return (v - s.base) % s.coeff == 0 if s.coeff else v == s.base

    for v in range(-150, 151):
        assert (holds(a, v) and holds(b, v)) == (both is not None and holds(both, v))


@given(st.lists(st.sampled_from([None, -3, 0, 2, 5]), min_size=4, max_size=4))
def test_intervals_are_joined_and_cut(ends):
    ana = Analyzer()
    a, b = [IntervalSet(*[None if e is None else c(e) for e in pair]) for pair in (ends[:2], ends[2:])]

    def holds(s, v):
        return (s.min is None or s.min.value <= v) and (s.max is None or v <= s.max.value)

    both, either = intersect_intervals(ana, a, b), union_intervals(ana, a, b)
    for v in range(-9, 10):
        assert holds(both, v) == (holds(a, v) and holds(b, v))
        assert holds(either, v) or not (holds(a, v) or holds(b, v))


@given(st.data())
def test_comparisons_are_chained(data):
    names = [Var(v) for v in "wxyz"]
    facts = []
    for _ in range(data.draw(st.integers(1, 4))):
        a, b = data.draw(st.sampled_from(names)), data.draw(st.sampled_from(names))
        right = Add(b, c(data.draw(st.integers(-1, 1))))
        facts.append(data.draw(st.sampled_from([LT, LE, EQ, GE]))(a, right))
    ana = Analyzer()
    found = {}
    whole = facts[0]
    for fact in facts[1:]:
        whole = And(whole, fact)
    with ana.assume(whole):
        for a, b in itertools.permutations(names, 2):
            found[a, b] = ana.compare(a, b)
    kinds = {"eq": EQ, "lt": LT, "le": LE, "gt": GT, "ge": GE, "ne": NE}
    for point in itertools.product(range(-1, 3), repeat=4):
        env = dict(zip(names, point))
        if evaluate(whole, env):
            for (a, b), kind in found.items():
                assert kind == "unknown" or evaluate(kinds[kind](a, b), env)


def test_comparisons_need_a_chain():
    x, y, z = Var("x"), Var("y"), Var("z")
    ana = Analyzer()
    with ana.assume(LT(x, y)), ana.assume(LT(y, z)):
        assert ana.compare(x, y) == ana.compare(x, z) == "lt"
        assert ana.compare(x, z, transitive=False) == "unknown"
        assert ana.compare(z, x) == "gt"
    assert ana.compare(x, y) == "unknown"
    assert ana.compare(x, x) == "eq"


def test_knowledge_of_a_variable_can_be_replaced_and_copied():
    x = Var("x")
    ana = Analyzer()
    ana.bind(x, Range(c(0), c(8)))
    twin = ana.clone()
    ana.bind(x, c(4))
    assert ana.const_int_bound(x) == Bound(4, 4) and ana.is_bound(x)
    assert twin.const_int_bound(x) == Bound(0, 7)
    twin.bind_interval(x, IntervalSet(c(2), None))
    assert twin.const_int_bound(x).min == 2
    n = Var("n")
    ana.bind_interval(n, IntervalSet(c(0), Mul(x, c(2))))
    found = ana.int_set(n)
    assert structural_equal(found.min, c(0)) and structural_equal(found.max, c(8))


def test_symbolic_proofs_with_extremes_and_symbols():
    i, n, m = Var("i"), Var("n"), Var("m")
    ana = Analyzer()
    ana.bind_bound(n, 1, 1 << 20)
    ana.bind(i, Range(c(0), n))
    assert ana.can_prove(LT(Max(i, c(0)), n))
    assert ana.can_prove(LE(Min(Mul(i, c(4)), m), m))
    assert not ana.can_prove(LT(Max(i, m), n))
    assert ana.can_prove(LT(FloorMod(m, n), n))
    assert ana.can_prove(LE(Mul(FloorDiv(m, n), n), m))
    assert ana.can_prove(LT(Select(LT(m, n), i, c(0)), n))
    assert ana.can_prove_equal(FloorMod(Mul(Add(m, c(1)), c(64)), Mul(Add(m, c(1)), c(32))), c(0))


def test_powers_are_no_multiples_by_one():
    n, d = Var("n"), Var("d")
    ana = Analyzer()
    ana.bind_bound(n, 2, 3)
    ana.bind_bound(d, 0, 1)
    e = FloorDiv(Sub(d, Mul(n, n)), n)
    for x, y in itertools.product((2, 3), (0, 1)):
        assert evaluate(ana.simplify(e), {n: x, d: y}) == (y - x * x) // x


def test_shifts_and_casts_stay_within_their_types():
    x = Var("x")
    ana = Analyzer()
    ana.bind_bound(x, -5, 5)
    assert ana.const_int_bound(LShift(x, c(3))) == Bound(-40, 40)
    assert ana.modular_set(LShift(Add(Mul(x, c(4)), c(2)), c(2))) == (16, 8)
    wide = Cast(PrimType("int64"), Add(Mul(x, c(4)), c(1)))
    assert ana.can_prove_equal(Sub(wide, Cast(PrimType("int64"), Mul(x, c(4)))), c(1, "int64"))
    narrow = Cast(PrimType("int8"), Mul(Var("big"), c(300)))
    assert isinstance(Analyzer().simplify(narrow), Cast)


def test_comparisons_have_one_form():
    x, y, z = Var("x"), Var("y"), Var("z")
    ana = Analyzer()
    for e, want in (
        (GT(x, y), LT(y, x)),
        (LT(Sub(x, c(1)), y), LE(x, y)),
        (LE(x, Sub(y, c(1))), LT(x, y)),
        (LT(x, Sub(y, c(10))), LT(Add(x, c(10)), y)),
        (LT(FloorDiv(x, c(4)), c(3)), LT(x, c(12))),
        (Not(And(LT(x, y), LT(y, z))), Or(LE(y, x), LE(z, y))),
        (And(LT(x, y), And(LT(y, z), LT(z, c(3)))), And(And(LT(x, y), LT(y, z)), LT(z, c(3)))),
    ):
        assert structural_equal(ana.simplify(e), want), e
    assert isinstance(ana.simplify(EQ(c(3), x)), Comparison)


def test_sums_have_one_order():
    x, y, n = Var("x"), Var("y"), Var("n")
    ana = Analyzer()
    for e, want in (
        (Add(Add(y, Mul(x, c(4))), c(3)), Add(Add(Mul(x, c(4)), y), c(3))),
        (Sub(Sub(x, y), c(3)), Sub(Sub(x, y), c(3))),
        (Sub(c(5), Add(x, y)), Sub(Sub(c(5), x), y)),
        (Add(Mul(x, n), n), Mul(Add(x, c(1)), n)),
        (Sub(Mul(Add(x, c(1)), n), Mul(x, n)), n),
        (FloorMod(FloorDiv(x, c(8)), c(4)), FloorDiv(FloorMod(x, c(32)), c(8))),
    ):
        assert structural_equal(ana.simplify(e), want), e
    assert isinstance(ana.simplify(Sub(x, x)), IntImm)
