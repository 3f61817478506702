"""Affine iterator maps: every claim is checked on all points of the iterators."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopwright.errors import ArgumentValueError
from loopwright.ir import (
    GE,
    LT,
    Add,
    And,
    FloorDiv,
    FloorMod,
    IntImm,
    Mul,
    Range,
    Sub,
    Var,
    const,
    index_map,
    structural_equal,
    substitute,
)
from loopwright.ir.arith import (
    Analyzer,
    detect_iter_map,
    inverse_affine_iter_map,
    iter_map_simplify,
    normalize_iter_map_to_expr,
    normalize_to_iter_sum,
    subspace_divide,
)
from loopwright.ir.arith.numeric import evaluate


def c(value):
    return const(value, "int32")


def points(iters):
    """Every assignment of the iterators."""
    spans = [range(dom.min.value, dom.min.value + dom.extent.value) for dom in iters.values()]
    for values in itertools.product(*spans):
        yield dict(zip(iters, values))


def holds(predicate, env):
    return predicate is True or bool(evaluate(predicate, env))


@st.composite
def maps(draw, predicates=True):
    """Iterators, indices built from splits and fusions of them, and a predicate."""
    count = draw(st.integers(1, 3))
    extents = [draw(st.sampled_from([1, 2, 3, 4, 5, 6, 8, 9, 12])) for _ in range(count)]
    names = [Var(n) for n in "xyz"[:count]]
    lows = [draw(st.sampled_from([0, 0, 0, 2, -3])) for _ in range(count)]
    iters = {v: Range(c(low), c(e)) for v, low, e in zip(names, lows, extents)}

    # digits: values with extents, as a scheduler makes them
    pool = [(Sub(v, c(low)) if low else v, e) for v, low, e in zip(names, lows, extents)]
    for _ in range(draw(st.integers(0, 4))):
        action = draw(st.integers(0, 3))
        if action <= 1:
            value, extent = pool.pop(draw(st.integers(0, len(pool) - 1)))
            factor = draw(st.sampled_from([1, 2, 3, 4, 5]))
            pool += [
                (FloorDiv(value, c(factor)), -(-extent // factor)),
                (FloorMod(value, c(factor)), factor),
            ]
        elif len(pool) > 1:
            a, ea = pool.pop(draw(st.integers(0, len(pool) - 1)))
            b, eb = pool.pop(draw(st.integers(0, len(pool) - 1)))
            stride = eb if draw(st.integers(0, 4)) else draw(st.integers(1, 6))
            pool.append((Add(Mul(a, c(stride)), b), ea * eb))
    indices = []
    for value, _ in pool:
        if draw(st.integers(0, 9)) == 0:
            continue
        offset, scale = draw(st.sampled_from([0, 0, 0, 1, 2, 5, -3])), draw(st.sampled_from([1, 1, 1, 2, -1]))
        e = Mul(value, c(scale)) if scale != 1 else value
        e = Add(e, c(offset)) if offset else e
        if draw(st.integers(0, 5)) == 0:
            factor = draw(st.sampled_from([2, 3, 4]))
            indices += [FloorDiv(e, c(factor))] if draw(st.booleans()) else [FloorMod(e, c(factor))]
        else:
            indices.append(e)
    predicate = True
    if predicates and draw(st.booleans()):
        for _ in range(draw(st.integers(1, 2))):
            value, extent = pool[draw(st.integers(0, len(pool) - 1))]
            limit = c(draw(st.integers(0, max(extent, 1))))
            bound = LT(value, limit) if draw(st.booleans()) else GE(value, limit)
            predicate = bound if predicate is True else And(predicate, bound)
    return iters, indices, predicate


def box(result):
    """All tuples of values that the result says the indices take."""
    spans = []
    for total in result.indices:
        base = total.base.value
        span = [base]
        for split in total.args:
            span = [base + split.scale.value * k for k in range(split.extent.value)]
        spans.append(span)
    return spans


@given(maps(), st.sampled_from(["surjective", "bijective", "nocheck"]), st.booleans())
def test_what_is_detected_is_true_of_every_point(case, level, trivial):
    iters, indices, predicate = case
    result = detect_iter_map(indices, iters, predicate, level, trivial)
    assert bool(result.errors) == (len(result.indices) != len(indices)) or not indices
    if not result.indices:
        return
    exprs = [normalize_iter_map_to_expr(e) for e in result.indices]
    seen, count = set(), 0
    for env in points(iters):
        if holds(predicate, env):
            values = [evaluate(e, env) for e in indices]
            assert values == [evaluate(e, env) for e in exprs]
            seen.add(tuple(values))
            count += 1
    if level == "nocheck":
        return
    spans = box(result)
    assert seen == set(itertools.product(*spans))
    if level == "bijective":
        assert count == len(seen)
        outputs = [Var(f"o{i}") for i in range(len(indices))]
        back = inverse_affine_iter_map(result.indices, outputs)
        for env in points(iters):
            if holds(predicate, env):
                given = {o: evaluate(e, env) for o, e in zip(outputs, indices)}
                for var, e in back.items():
                    assert evaluate(e, given) == env[var]


@given(maps(), st.data())
def test_a_division_puts_the_bindings_together_again(case, data):
    iters, indices, predicate = case
    inner = [v for v in iters if data.draw(st.booleans())]
    parts = subspace_divide(indices, iters, inner, predicate)
    if not parts:
        return
    outer_holds, inner_holds = parts[-1][0].extent, parts[-1][1].extent
    others = {v: 0 for v in iters if v not in inner}
    for env in points(iters):
        only = {v: env[v] for v in inner}
        rest = {**env, **{v: iters[v].min.value for v in inner}}
        ok = holds(predicate, env)
        assert ok == (bool(evaluate(outer_holds, rest)) and bool(evaluate(inner_holds, {**others, **only})))
        if not ok:
            continue
        for e, (outside, inside) in zip(indices, parts):
            high = evaluate(normalize_iter_map_to_expr(outside.source), rest)
            low = evaluate(normalize_iter_map_to_expr(inside.source), {**others, **only})
            assert evaluate(e, env) == high * inside.extent.value + low


@given(maps())
def test_simplifying_keeps_the_value(case):
    iters, indices, predicate = case
    new = iter_map_simplify(indices, iters, predicate)
    for env in points(iters):
        if holds(predicate, env):
            assert [evaluate(e, env) for e in indices] == [evaluate(e, env) for e in new]


@given(maps(predicates=False))
def test_a_sum_of_splits_keeps_the_value(case):
    iters, indices, _ = case
    for e in indices:
        total = normalize_iter_map_to_expr(normalize_to_iter_sum(e, iters))
        for env in points(iters):
            assert evaluate(e, env) == evaluate(total, env)


@st.composite
def index_maps(draw):
    rank = draw(st.integers(1, 2))
    shape = [draw(st.integers(1, 14)) for _ in range(rank)]
    names = [Var(n) for n in "ij"[:rank]]
    final = []
    for v in names:
        e = Add(v, c(draw(st.integers(0, 5)))) if draw(st.booleans()) else v
        factor = draw(st.sampled_from([2, 3, 4]))
        if draw(st.booleans()):
            inner = draw(st.sampled_from([2, 3]))
            high = FloorDiv(e, c(factor * inner))
            final += [high, FloorMod(FloorDiv(e, c(inner)), c(factor)), FloorMod(e, c(inner))]
        elif draw(st.booleans()):
            final += [FloorDiv(e, c(factor)), FloorMod(e, c(factor))]
        else:
            final.append(e)
    from loopwright.ir import IndexMap

    return IndexMap(names, draw(st.permutations(final))), shape


@given(index_maps())
def test_inverse_and_padding_of_index_maps(case):
    mapping, shape = case
    new_shape = [e.value for e in mapping.map_shape(shape)]
    back, padding = mapping.non_surjective_inverse(shape)
    taken = {}
    for old in itertools.product(*[range(n) for n in shape]):
        new = tuple([e.value for e in mapping.map_indices(list(old))])
        assert all(0 <= a < n for a, n in zip(new, new_shape))
        assert new not in taken
        taken[new] = old
    for new in itertools.product(*[range(n) for n in new_shape]):
        env = dict(zip(back.initial_indices, new))
        if new in taken:
            assert not evaluate(padding, env)
            assert tuple([evaluate(e, env) for e in back.final_indices]) == taken[new]
    try:
        exact = mapping.inverse(shape)
    except ArgumentValueError:
        return
    assert len(taken) == np.prod(new_shape)
    assert exact.is_equivalent_to(back)


def test_padding_is_where_no_old_index_goes():
    mapping = index_map(lambda i: [(i + 5) // 32, ((i + 5) // 4) % 8, (i + 5) % 4], index_dtype="int32")
    back, padding = mapping.non_surjective_inverse([120])
    names = back.initial_indices
    taken = {tuple([e.value for e in mapping.map_indices([i])]) for i in range(120)}
    for new in itertools.product(range(4), range(8), range(4)):
        assert bool(evaluate(padding, dict(zip(names, new)))) == (new not in taken)


def test_index_maps_follow_the_dtype_and_refuse():
    mapping = index_map(lambda i: [i // 4, i % 4], index_dtype="int32")
    assert [e.dtype for e in mapping.map_indices([IntImm("int64", 42)])] == ["int64", "int64"]
    assert [e.value for e in mapping.map_shape([14])] == [4, 4]
    with pytest.raises(ArgumentValueError, match="bijective"):
        mapping.inverse([14])
    with pytest.raises(ArgumentValueError, match="takes 1"):
        mapping.map_indices([1, 2])
    assert (mapping.map_array(np.arange(6)) == [[0, 1, 2, 3], [4, 5, 0, 0]]).all()


def test_symbolic_sizes():
    x, y, n, m = Var("x"), Var("y"), Var("n"), Var("m")
    whole = {x: Range(c(0), Mul(n, m))}
    found = detect_iter_map([FloorDiv(x, n), FloorMod(x, n)], whole, True, "bijective")
    assert not found.errors and structural_equal(found.indices[0].args[0].extent, m)
    z = Add(Mul(x, c(32)), y)
    both = {x: Range(c(0), n), y: Range(c(0), c(32))}
    assert structural_equal(iter_map_simplify([FloorDiv(z, n) * n + FloorMod(z, n)], both)[0], z)
    # nothing is known of `m`: it may not divide
    assert detect_iter_map([FloorMod(x, m)], {x: Range(c(0), c(16))}).errors
    ana = Analyzer()
    ana.bind(m, c(4))
    assert not detect_iter_map([FloorMod(x, m)], {x: Range(c(0), c(16))}, analyzer=ana).errors
    assert ana.bound(x).max > 16


def test_errors_say_why():
    x, y = Var("x"), Var("y")
    iters = {x: Range(c(0), c(4)), y: Range(c(0), c(4))}
    for indices, why in (
        ([Mul(x, y)], "not an affine"),
        ([Add(Mul(x, c(5)), y)], "gaps"),
        ([Add(Mul(x, c(-4)), y)], "downwards"),
        ([x, x], "overlap"),
    ):
        assert why in detect_iter_map(indices, iters).errors[0]
    assert "not used" in detect_iter_map([x], iters, True, "bijective").errors[0]
    with pytest.raises(ArgumentValueError, match="check level"):
        detect_iter_map([x], iters, True, "often")


def test_overlapping_iterators_stay_together():
    x, y, z = Var("x"), Var("y"), Var("z")
    iters = {x: Range(c(0), c(2)), y: Range(c(0), c(2)), z: Range(c(0), c(4))}
    (outer, inner), _ = subspace_divide([Add(x, y)], iters, [])
    assert structural_equal(normalize_iter_map_to_expr(outer.source), Add(x, y))
    assert inner.extent.value == 1 and outer.extent.value == 3
    assert not subspace_divide([Add(x, y)], iters, [y])
    assert subspace_divide([Add(Mul(x, c(4)), z)], iters, [z])


def test_inverse_is_written_in_the_outputs():
    x = Var("x")
    found = detect_iter_map(
        [FloorMod(x, c(4)), FloorDiv(x, c(4))], {x: Range(c(0), c(16))}, True, "bijective"
    )
    a, b = Var("a"), Var("b")
    back = inverse_affine_iter_map(found.indices, [a, b])
    assert structural_equal(back[x], Add(Mul(b, c(4)), a))
    assert evaluate(substitute(back[x], {a: c(3), b: c(2)}), {}) == 11


def test_the_strategies_meet_maps_of_each_kind():
    found = {"surjective": 0, "bijective": 0, "divided": 0, "limited": 0}

    @settings(max_examples=150, derandomize=True)
    @given(maps())
    def measure(case):
        iters, indices, predicate = case
        for level in ("surjective", "bijective"):
            found[level] += bool(detect_iter_map(indices, iters, predicate, level).indices)
        limited = predicate is not True and detect_iter_map(indices, iters, predicate).indices
        found["limited"] += bool(limited)
        inner = list(iters)[1:]
        found["divided"] += bool(inner and indices and subspace_divide(indices, iters, inner, predicate))

    measure()
    assert min(found.values()) > 8, found


def test_the_low_part_of_an_iterator_of_symbolic_extent_takes_all_its_values():
    """An iterator that runs has an extent that is no less than what divides it."""
    i, n = Var("i", "int32"), Var("n", "int32")
    whole = {i: Range(c(0), n * 32)}
    assert detect_iter_map([FloorMod(i, c(32))], whole).indices
    assert detect_iter_map([FloorMod(i, c(8))], whole).indices
    assert not detect_iter_map([FloorMod(i, c(32))], {i: Range(c(0), n * 24)}).indices
