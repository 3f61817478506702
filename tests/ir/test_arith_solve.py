"""Solving for variables, regions and systems: checked by enumerating small domains."""

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
    Add,
    And,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mul,
    Not,
    Range,
    Sub,
    Var,
    const,
    free_vars,
    structural_equal,
)
from loopwright.ir.arith import (
    IntervalSet,
    deduce_bound,
    detect_clip_bound,
    detect_linear_equation,
    estimate_region_lower_bound,
    estimate_region_strict_bound,
    estimate_region_upper_bound,
    solve_linear_equations,
    solve_linear_inequalities,
)
from loopwright.ir.arith.numeric import evaluate

COMPARISONS = (LT, LE, GT, GE, EQ)


def c(value):
    return const(value, "int32")


def inside(values, x, env):
    low = values.min is None or evaluate(values.min, env) <= x
    return low and (values.max is None or x <= evaluate(values.max, env))


@st.composite
def conditions(draw):
    """A comparison in which `a` stands once, within sums, products and quotients."""
    a, b, d = Var("a"), Var("b"), Var("d")
    e = a
    for _ in range(draw(st.integers(0, 3))):
        kind = draw(st.integers(0, 4))
        number = c(draw(st.sampled_from([-4, -3, -1, 1, 2, 3, 5])))
        if kind == 0:
            e = FloorDiv(e, number)
        elif kind == 1:
            e = Mul(e, number if draw(st.booleans()) else b)
        elif kind == 2:
            e = Sub(number, e)
        else:
            e = Add(e, draw(st.sampled_from([number, b, d, Mul(b, c(2))])))
    other = draw(st.sampled_from([c(0), c(7), c(-3), d, Add(b, c(1))]))
    sides = (e, other) if draw(st.booleans()) else (other, e)
    ranges = {v: (lo := draw(st.integers(-3, 4)), lo + draw(st.integers(0, 3))) for v in (b, d)}
    return a, b, d, draw(st.sampled_from(COMPARISONS))(*sides), ranges


DEDUCED = [0]


@given(conditions(), st.data())
def test_deduced_values_fulfil_the_condition(case, data):
    a, b, d, cond, ranges = case
    hints = {v: IntervalSet(c(lo), c(hi)) for v, (lo, hi) in ranges.items()}
    relax = {v: s for v, s in hints.items() if data.draw(st.booleans())}
    found = deduce_bound(a, cond, hints, relax)
    if found is None:
        return
    for x, y, z in itertools.product(range(-25, 26), *[range(lo, hi + 1) for lo, hi in ranges.values()]):
        env = {a: x, b: y, d: z}
        if inside(found, x, env):
            assert evaluate(cond, env), (found, env)
    # a bound by constants is as wide as can be
    if found.max is None and isinstance(found.min, IntImm) and set(free_vars(cond)) == {a}:
        assert not evaluate(cond, {a: found.min.value - 1, b: ranges[b][0], d: ranges[d][0]})


def test_deduction_is_not_always_refused():
    @settings(max_examples=60, derandomize=True)
    @given(conditions())
    def measure(case):
        a, _, _, cond, _ = case
        DEDUCED[0] += deduce_bound(a, cond) is not None

    DEDUCED[0] = 0
    measure()
    assert DEDUCED[0] > 10


def test_linear_parts():
    a, b = Var("a"), Var("b")
    e = Add(Add(Mul(a, c(4)), Mul(b, c(6))), c(7))
    coeff, rest = detect_linear_equation(e, [a])
    assert coeff.value == 4 and structural_equal(rest, Add(Mul(b, c(6)), c(7)))
    assert detect_linear_equation(Mul(a, Add(a, c(1))), [a]) == []
    assert detect_linear_equation(FloorDiv(a, c(2)), [a]) == []
    assert structural_equal(detect_linear_equation(Mul(a, b), [a])[0], b)


@st.composite
def conjunctions(draw):
    a, b = Var("a"), Var("b")
    parts = []
    for _ in range(draw(st.integers(1, 3))):
        v = draw(st.sampled_from([a, b]))
        left = Add(Mul(v, c(draw(st.sampled_from([-3, -2, -1, 1, 2, 3])))), c(draw(st.integers(-4, 4))))
        if draw(st.integers(0, 4)) == 0:
            left = draw(st.sampled_from([Min, Max]))(left, draw(st.sampled_from([a, b])))
        part = draw(st.sampled_from(COMPARISONS))(left, c(draw(st.integers(-9, 9))))
        parts.append(Not(part) if draw(st.integers(0, 3)) == 0 else part)
    whole = parts[0]
    for part in parts[1:]:
        whole = And(whole, part)
    return a, b, whole


@given(conjunctions())
def test_clip_bounds_are_the_condition(case):
    a, b, cond = case
    found = detect_clip_bound(cond, [a, b])
    if not found:
        return
    for x, y in itertools.product(range(-12, 13), repeat=2):
        env = {a: x, b: y}
        ok = inside(IntervalSet(*found[:2]), x, env) and inside(IntervalSet(*found[2:]), y, env)
        assert ok == bool(evaluate(cond, env))


@st.composite
def systems(draw, kinds):
    variables = [Var(n) for n in "xyz"[: draw(st.integers(1, 3))]]
    made = []
    for _ in range(draw(st.integers(1, 3))):
        left = c(draw(st.integers(-5, 5)))
        for v in variables:
            left = Add(left, Mul(v, c(draw(st.integers(-3, 3)))))
        made.append(draw(st.sampled_from(kinds))(left, c(draw(st.integers(-6, 6)))))
    return variables, made


SPAN = range(-5, 6)
RANGE = Range(c(-5), c(11))


@given(systems((LT, LE, GT, GE, EQ)), st.booleans())
def test_solved_inequalities_are_equivalent(case, ranged):
    variables, conds = case
    ranges = dict.fromkeys(variables, RANGE) if ranged else {}
    solved = solve_linear_inequalities(conds, variables, ranges)
    doms = solved.ranges()
    for values in itertools.product(SPAN, repeat=len(variables)):
        env = dict(zip(variables, values))
        want = all(evaluate(e, env) for e in conds)
        assert want == all(evaluate(e, env) for e in solved.conditions())
        if want:
            assert not solved.impossible
            for v, dom in doms.items():
                low = evaluate(dom.min, env)
                assert low <= env[v] < low + evaluate(dom.extent, env)


@given(systems((EQ,)), st.booleans())
def test_solved_equations_give_all_solutions(case, ranged):
    variables, conds = case
    solved = solve_linear_equations(conds, variables, dict.fromkeys(variables, RANGE) if ranged else {})
    solutions = set()
    for values in itertools.product(SPAN, repeat=len(variables)):
        env = dict(zip(variables, values))
        if not all(evaluate(e, env) for e in conds):
            continue
        assert not solved.impossible
        new = {v: evaluate(e, env) for v, e in solved.new_by_old.items()}
        assert tuple([evaluate(solved.old_by_new[v], new) for v in variables]) == values
        assert all(evaluate(e, {**env, **new}) for e in solved.relations)
        for v, dom in solved.ranges.items():
            assert evaluate(dom.min, env) <= new[v] < evaluate(dom.min, env) + evaluate(dom.extent, env)
        solutions.add(values)
    if solved.impossible:
        assert not solutions
        return
    for values in itertools.product(range(-3, 4), repeat=len(solved.variables)):
        new = dict(zip(solved.variables, values))
        if all(evaluate(e, new) for e in solved.relations):
            env = {v: evaluate(solved.old_by_new[v], new) for v in variables}
            assert all(evaluate(e, env) for e in conds)


def test_equations_with_symbols():
    x, y, n = Var("x"), Var("y"), Var("n")
    solved = solve_linear_equations([EQ(Add(Mul(x, c(2)), y), n), EQ(y, c(1))], [x, y])
    assert not solved.variables and len(solved.relations) == 1
    for value in range(-5, 6):
        ok = bool(evaluate(solved.relations[0], {n: value}))
        assert ok == ((value - 1) % 2 == 0)
        if ok:
            assert evaluate(solved.old_by_new[x], {n: value}) == (value - 1) // 2


@st.composite
def regions(draw):
    iters = {Var(n): draw(st.integers(1, 6)) for n in "ij"}
    i, j = iters
    dims = []
    for _ in range(draw(st.integers(1, 2))):
        low = draw(
            st.sampled_from([i, j, Add(Mul(i, c(4)), j), Add(i, j), FloorDiv(i, c(2)), FloorMod(j, c(3))])
        )
        low = Add(Mul(low, c(draw(st.sampled_from([-2, -1, 1, 1, 2, 3])))), c(draw(st.integers(-2, 3))))
        dims.append((low, draw(st.integers(1, 5))))
    predicate = True
    if draw(st.booleans()):
        predicate = draw(st.sampled_from([LT, GE]))(draw(st.sampled_from([i, j])), c(draw(st.integers(0, 5))))
    return iters, dims, predicate


@given(regions())
def test_region_bounds_hold(case):
    iters, dims, predicate = case
    region = [Range(low, c(extent)) for low, extent in dims]
    domain = {v: Range(c(0), c(n)) for v, n in iters.items()}
    touched = set()
    for values in itertools.product(*[range(n) for n in iters.values()]):
        env = dict(zip(iters, values))
        if predicate is True or evaluate(predicate, env):
            starts = [evaluate(low, env) for low, _ in dims]
            touched |= set(itertools.product(*[range(s, s + n) for s, (_, n) in zip(starts, dims)]))

    def elements(sets):
        return set(itertools.product(*[range(s.min.value, s.max.value + 1) for s in sets]))

    exact = estimate_region_strict_bound(region, domain, predicate)
    if exact is not None:
        assert elements(exact) == touched
    lower = estimate_region_lower_bound(region, domain, predicate)
    if lower is not None:
        assert elements(lower) <= touched
    assert elements(estimate_region_upper_bound(region, domain, predicate)) >= touched
