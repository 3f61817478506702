"""Fixing parameters of functions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.errors import IRError
from loopwright.ir import (
    Add,
    BufferLoad,
    BufferStore,
    BufferType,
    For,
    IntImm,
    Mul,
    PrimFunc,
    Var,
    check_well_formed,
    find,
    free_vars,
    specialize,
    structural_equal,
)


def kernel():
    m, n, i = Var("m"), Var("n"), Var("i")
    a = Var("A", BufferType("float32", (m, Mul(n, IntImm("int32", 2)))))
    b = Var("B", BufferType("float32", (m,)))
    extent = Add(Mul(m, n), IntImm("int32", 1))
    body = For(i, 0, extent, "serial", BufferStore(a, BufferLoad(b, (i,)), (i, 0)))
    return PrimFunc([a, b, m, n], body)


def names(func):
    return [p.name for p in func.params]


def shape(func, name):
    return func.params[names(func).index(name)].ty.shape


@given(m=st.integers(1, 1000), n=st.integers(1, 1000))
def test_fixing_everything_leaves_constants(m, n):
    func = specialize(kernel(), {"m": m, "n": n})
    assert names(func) == ["A", "B"]
    assert [int(d) for d in shape(func, "A")] == [m, 2 * n] and int(shape(func, "B")[0]) == m
    assert int(find(func, For)[0].extent) == m * n + 1
    assert check_well_formed(func) == []
    assert structural_equal(func, specialize(specialize(kernel(), {"n": n}), {"m": m}))
    assert structural_equal(func, specialize(kernel(), {"B": (m,), "n": n}))
    assert structural_equal(func, specialize(kernel(), {"A": (m, 2 * n), "n": n}))


def test_a_scalar_leaves_the_parameter_list():
    func = kernel()
    new = func.specialize({func.params[3]: 4})
    assert names(new) == ["A", "B", "m"] and int(shape(new, "A")[1]) == 8
    assert new.params[1] is func.params[1]
    assert check_well_formed(new) == [] and names(func) == ["A", "B", "m", "n"]


def test_a_buffer_fixes_its_symbols_everywhere():
    new = kernel().specialize({"B": Var("X", BufferType("float32", (8,)))})
    assert names(new) == ["A", "B", "n"] and int(shape(new, "A")[0]) == 8
    assert free_vars(new) == []


def test_a_buffer_may_get_strides_and_scope():
    wanted = BufferType("float32", (8,), (2,), storage_scope="shared")
    new = kernel().specialize({"B": wanted})
    assert new.params[1].ty == wanted
    assert find(new, BufferLoad)[0].buffer is new.params[1]


def test_symbolic_values():
    k = Var("k")
    new = kernel().specialize({"n": Add(k, IntImm("int32", 0))})
    assert free_vars(new) == [] and names(new) == ["A", "B", "m"]


def test_nothing_to_fix_gives_the_same_function():
    func = kernel()
    assert func.specialize({}) is func


FAULTS = {
    "unknown parameter": ({"q": 1}, "has no parameter `q`"),
    "near name": ({"AA": 1}, "its parameters are A, B, m, n"),
    "wrong kind of number": ({"n": 1.5}, "`n` is `int32`"),
    "out of range": ({"n": 1 << 40}, "outside the range"),
    "wrong dtype": ({"n": IntImm("int64", 3)}, "`n` is `int32`, not `int64`"),
    "no number": ({"n": "three"}, "cannot be 'three'"),
    "no buffer": ({"A": 3}, "takes a shape or a buffer"),
    "wrong rank": ({"B": (8, 8)}, "has 1 dimensions, not 2"),
    "wrong element": ({"B": BufferType("float16", (8,))}, "holds `float32`, not `float16`"),
    "contradiction": ({"B": (4,), "m": 5}, "would be 4 and 5"),
    "two sizes": ({"A": (4, 8), "B": (5,), "n": 4}, "would be 4 and 5"),
    "compound size": ({"A": (8, 7), "n": 4}, "dimension 1 of `A` is 8, not 7"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults(name):
    values, message = FAULTS[name]
    with pytest.raises(IRError) as caught:
        kernel().specialize(values)
    assert message in str(caught.value)
