"""`tvm.sym`: the analyzer and the affine maps with the peer's signatures."""

from __future__ import annotations

import importlib
import types
from collections.abc import Iterator

import pytest

import loopwright.compat


@pytest.fixture
def tvm() -> Iterator[types.ModuleType]:
    loopwright.compat.install()
    try:
        yield importlib.import_module("tvm")
    finally:
        loopwright.compat.uninstall()


def test_what_is_told_is_known(tvm):
    sym, tirx = tvm.sym, tvm.tirx
    x, y = tirx.Var("x", "int32"), tirx.Var("y", "int32")
    ana = sym.Analyzer()
    ana.bind(x, tvm.ir.Range(0, 8))
    assert (ana.const_int_bound(x * 2 + 1).min_value, ana.const_int_bound(x * 2 + 1).max_value) == (1, 15)
    assert ana.can_prove(x < 8) and not ana.can_prove(x < 7)
    assert ana.can_prove_equal(x + y, y + x)
    assert str(ana.simplify(x // 8)) == "0"
    with pytest.raises(ValueError, match="different const bound"):
        ana.bind(x, tvm.ir.Range(0, 9))
    other = ana.clone()
    other.bind(x, tvm.ir.Range(0, 9), allow_override=True)
    assert not other.can_prove(x < 8) and ana.can_prove(x < 8)
    ana.update(y, sym.ConstIntBound(2, sym.ConstIntBound.POS_INF))
    assert ana.can_prove(y > 1)
    assert ana.const_int_bound_is_bound(y) and not sym.Analyzer().const_int_bound_is_bound(y)
    ana.update(y, sym.ConstIntBound(0, 1), override=True)
    assert ana.can_prove(y < 2)
    assert ana.try_compare(y, x + 2) == sym.CompareResult.LT
    assert ana.try_compare(y, x) == sym.CompareResult.UNKNOWN
    with ana.constraint_scope(x > 4):
        assert ana.can_prove(x != 0)
    assert not ana.can_prove(x != 0)
    found = sym.Analyzer().modular_set(x * 6 + y * 4)
    assert (found.coeff, found.base) == (2, 0)


def test_sets_have_ends_by_name(tvm):
    sym = tvm.sym
    x = tvm.tirx.Var("x", "int32")
    found = sym.deduce_bound(x, x + 1 > 0, {}, {})
    assert found.min_value.value == 0 and found.max_value.name == "pos_inf"
    assert not found.is_nothing() and not found.is_everything()
    assert sym.deduce_bound(x, x % 16 < 10, {}, {}).is_nothing()
    assert sym.IntervalSet(sym.int_set.neg_inf(), sym.int_set.pos_inf()).is_everything()
    lanes = sym.IntSet.vector(tvm.tirx.Ramp(10, 3, 2))
    assert (lanes.min_value.value, lanes.max_value.value) == (10, 13)
    own = sym.Analyzer().int_set(x * 2, {x: sym.IntervalSet(1, 3)})
    assert (own.min_value.value, own.max_value.value) == (2, 6)
    (box,) = sym.estimate_region_strict_bound(
        [tvm.ir.Range.from_min_extent(x, 4)], {x: tvm.ir.Range(0, 8)}, True
    )
    assert (box.min_value.value, box.max_value.value) == (0, 10)


def test_affine_maps(tvm):
    sym = tvm.sym
    x = tvm.tirx.Var("x", "int32")
    domain = {x: tvm.ir.Range(0, 12)}
    found = sym.detect_iter_map([x // 4, x % 4], domain, check_level="bijective")
    assert len(found.indices) == 2 and not found.errors
    assert str(sym.normalize_iter_map_to_expr(found.indices[0])) == "x // 4"
    y, z = tvm.tirx.Var("y", "int32"), tvm.tirx.Var("z", "int32")
    back = sym.inverse_affine_iter_map(found.indices, [y, z])
    assert sym.Analyzer().can_prove_equal(back[x], y * 4 + z)
    assert sym.detect_iter_map([x * x], domain).errors
    assert [c.value for c in sym.detect_linear_equation(x * 3 + 2, [x])] == [3, 2]


def test_the_older_name_is_the_same(tvm):
    assert importlib.import_module("tvm.arith") is tvm.sym is tvm.arith
