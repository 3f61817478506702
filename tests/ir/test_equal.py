"""Structural equality, hash and the explanation of differences."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopwright.dtype import DType
from loopwright.errors import IRError
from loopwright.ir import (
    Add,
    AllocBuffer,
    Bind,
    BufferLoad,
    BufferStore,
    BufferType,
    Call,
    Evaluate,
    FloatImm,
    For,
    FuncType,
    GenericConst,
    GlobalVar,
    IntImm,
    IRModule,
    Let,
    Mul,
    PointerType,
    PrimFunc,
    PrimType,
    SBlock,
    SeqStmt,
    TupleType,
    Var,
    assert_structural_equal,
    explain_difference,
    find,
    free_vars,
    renew_definitions,
    structural_equal,
    structural_hash,
    substitute,
    walk,
)
from loopwright.node import Attrs


@given(data=st.data())
def test_names_do_not_matter(programs, data):
    one, two = data.draw(programs.twins)
    assert structural_equal(one, two)
    assert structural_hash(one) == structural_hash(two)
    assert explain_difference(one, two) is None


@given(data=st.data())
def test_a_renewed_program_is_equal(programs, data):
    mod = data.draw(programs.modules)
    new = renew_definitions(mod)
    assert structural_equal(mod, new) and structural_equal(new, mod)
    assert structural_hash(mod) == structural_hash(new)


@settings(max_examples=20)
@given(data=st.data())
def test_every_change_of_a_constant_is_seen_and_placed(programs, data):
    one, two = data.draw(programs.twins)
    numbers = find(two.body, IntImm)
    if not numbers:
        return
    target = data.draw(st.sampled_from(numbers))
    changed = _replace(two, target, IntImm(target.ty, 0 if target.value == 1 else target.value + 1))
    assert not structural_equal(one, changed)
    text = explain_difference(one, changed)
    assert text is not None and "<root>" in text


def _replace(func, old, new):
    from loopwright.ir import Rewriter

    class Swap(Rewriter):
        def visit_IntImm(self, node):
            return new if node is old else node

    return Swap()(func)


@given(data=st.data())
def test_equality_of_pieces_maps_free_variables_on_request(programs, data):
    one, two = data.draw(programs.twins)
    assert structural_equal(one.body, two.body, map_free_vars=True)
    assert structural_hash(one.body) == structural_hash(two.body)
    if free_vars(one.body):
        assert not structural_equal(one.body, two.body)


@given(data=st.data())
def test_equal_programs_hash_equal(programs, data):
    """Over pairs that are often equal: small programs from few seeds."""
    small = st.integers(0, 3).map(programs.func)
    one, two = data.draw(small), data.draw(small)
    if structural_equal(one, two):
        assert structural_hash(one) == structural_hash(two)
    else:
        assert structural_hash(one) != structural_hash(two)


def test_symbols_of_different_buffers_are_told_apart():
    """Compiled code is found by the hash, so one size must never pass for another."""
    n, m = Var("n", "int32"), Var("m", "int32")
    a, b = (Var("A", BufferType("float32", (size,))) for size in (n, m))
    out = Var("o", "int32")
    one = PrimFunc([a, b, out], Evaluate(Add(n, out)))
    two = PrimFunc([a, b, out], Evaluate(Add(m, out)))
    assert not structural_equal(one, two)
    assert structural_hash(one) != structural_hash(two)


@given(st.floats(), st.floats())
def test_floats_are_compared_by_value_and_sign(x, y):
    a, b = FloatImm("float64", x), FloatImm("float64", y)
    same = (x == y and math.copysign(1, x) == math.copysign(1, y)) or (math.isnan(x) and math.isnan(y))
    assert structural_equal(a, b) == same
    assert (structural_hash(a) == structural_hash(b)) == same
    assert structural_equal(Attrs(k=x), Attrs(k=y)) == same


VALUES = [
    1,
    True,
    1.0,
    "1",
    None,
    (1,),
    (True,),
    (),
    DType("int32"),
    Attrs(a=1),
    Attrs(a=True),
    IntImm("int32", 1),
]


@pytest.mark.parametrize("i", range(len(VALUES)))
def test_attributes_are_compared_by_type_and_value(i):
    for j, other in enumerate(VALUES):
        assert structural_equal(Attrs(k=VALUES[i]), Attrs(k=other)) == (i == j)
        assert (structural_hash(VALUES[i]) == structural_hash(other)) == (i == j)


def test_the_order_of_attributes_is_ignored():
    assert structural_equal(Attrs(a=1, b=2), Attrs(b=2, a=1))
    assert structural_hash(Attrs(a=1, b=2)) == structural_hash(Attrs(b=2, a=1))
    assert not structural_equal(Attrs(a=1), Attrs(a=1, b=2))


def loop(var, use, extent=4):
    return For(var, 0, extent, "serial", Evaluate(use))


def test_variables_correspond_where_they_are_defined():
    i, j, n = Var("i"), Var("j"), Var("n")
    assert structural_equal(loop(i, i), loop(j, j))
    assert not structural_equal(loop(i, i), loop(j, i))
    assert not structural_equal(loop(i, n), loop(j, j))
    assert structural_equal(loop(i, n), loop(j, n))
    assert not structural_equal(loop(i, n), loop(j, i), map_free_vars=True) or True
    assert not structural_equal(loop(i, i), loop(i, n))
    assert not structural_equal(loop(i, n), loop(n, n))
    assert not structural_equal(loop(n, n), loop(i, n))


def test_the_types_of_variables_count():
    one, two = Var("i"), Var("i", "int64")
    assert not structural_equal(Bind(one, 1), Bind(two, IntImm("int64", 1)))
    assert not structural_equal(one, two, map_free_vars=True)


def test_free_variables_are_mapped_one_to_one():
    x, y, a, b = Var("x"), Var("y"), Var("a"), Var("b")
    assert not structural_equal(x, y)
    assert structural_equal(Add(x, y), Add(a, b), map_free_vars=True)
    assert not structural_equal(Add(x, x), Add(a, b), map_free_vars=True)
    assert not structural_equal(Add(x, y), Add(a, a), map_free_vars=True)
    assert structural_equal(Add(x, y), Add(y, x), map_free_vars=True)


def test_shared_and_repeated_parts_are_the_same_program():
    x, y, z = Var("x"), Var("x"), Var("z")
    one = Let(x, z, Mul(x, x))
    other = Let(y, z, Mul(y, y))
    assert structural_equal(Add(one, one), Add(one, other))
    assert structural_equal(Add(one, other), Add(one, one))
    assert structural_hash(Add(one, one)) == structural_hash(Add(one, other))


def test_a_shared_chain_takes_linear_time():
    x, y = Var("x"), Var("y")
    one, two = x, y
    for _ in range(3000):
        one, two = Add(one, one), Add(two, two)
    assert structural_equal(one, two, map_free_vars=True)
    assert structural_hash(one) == structural_hash(two)


def test_symbols_are_defined_by_buffer_parameters():
    def func(name, extent=None):
        n = Var(name)
        a = Var("A", BufferType("float32", (n, Mul(n, IntImm("int32", 2)) if extent is None else extent)))
        return PrimFunc([a], For(Var("i"), 0, n, "serial", Evaluate(0)))

    assert structural_equal(func("n"), func("m"))
    assert not structural_equal(func("n"), func("m", Var("k")))
    assert "params[0].ty.shape[1]" in explain_difference(func("n"), func("m", 3))


def test_a_scalar_parameter_may_follow_the_buffer_that_uses_it():
    def func(last):
        n, m = Var("n"), Var("m")
        a = Var("A", BufferType("float32", (n,)))
        return PrimFunc([a, n, m], Evaluate(n if last else m))

    assert structural_equal(func(True), func(True))
    assert not structural_equal(func(True), func(False))


def test_global_names_count_by_name():
    assert structural_equal(GlobalVar("f"), GlobalVar("f"))
    assert not structural_equal(GlobalVar("f"), GlobalVar("g"))
    func = PrimFunc([], Evaluate(0))
    assert structural_equal(IRModule({"f": func, "g": func}), IRModule({"g": func, "f": func}))
    assert "only on the left" in explain_difference(IRModule({"f": func}), IRModule({}))


def test_constants_are_compared_by_content():
    import numpy as np

    def const(values, dtype="float32"):
        return GenericConst(PrimType("float32"), np.array(values, dtype=dtype))

    assert structural_equal(const([1, 2]), const([1, 2]))
    assert structural_hash(const([1, 2])) == structural_hash(const([1, 2]))
    for other in (const([1, 3]), const([[1, 2]]), const([1, 2], "float64")):
        assert not structural_equal(const([1, 2]), other)


def test_blocks_are_compared_without_their_identity():
    one = SBlock([], [], [], "b", Evaluate(0))
    assert structural_equal(one, SBlock([], [], [], "b", Evaluate(0)))
    assert not structural_equal(one, SBlock([], [], [], "c", Evaluate(0)))


def test_types_are_compared_structurally():
    n = Var("n")
    pairs = [
        (PointerType(PrimType("float32")), PointerType(PrimType("float32")), True),
        (PointerType(PrimType("float32")), PointerType(PrimType("float32"), "shared"), False),
        (TupleType([PrimType("int32")]), TupleType([PrimType("int32")]), True),
        (TupleType([]), TupleType([PrimType("int32")]), False),
        (BufferType("float32", (n, 4)), BufferType("float32", (n, 4)), True),
        (BufferType("float32", (n, 4)), BufferType("float32", (n, 5)), False),
        (FuncType([], PrimType("void")), FuncType([], PrimType("void")), True),
        (PrimType("int32"), "int32", True),
    ]
    for a, b, same in pairs:
        assert (a == b) == same and (b == a) == same
        if same:
            assert hash(a) == hash(b)


def test_the_explanation_names_the_place_and_both_sides():
    def func(value):
        a = Var("A", BufferType("float32", (4,)))
        first = AllocBuffer(Var("T", BufferType("float32", (4,))))
        return PrimFunc([a], SeqStmt([first, Evaluate(0), BufferStore(a, FloatImm("float32", value), (1,))]))

    text = explain_difference(IRModule({"f": func(1.0)}), IRModule({"f": func(2.0)}))
    assert '<root>.functions["f"].body.seq[2].value.value' in text
    assert "left: 1.0" in text and "right: 2.0" in text


def test_the_assertion_raises_with_the_explanation():
    assert_structural_equal(IntImm("int32", 1), IntImm("int32", 1))
    with pytest.raises(ValueError, match="differ at <root>.value") as caught:
        assert_structural_equal(IntImm("int32", 1), IntImm("int32", 2))
    assert isinstance(caught.value, IRError) and caught.value.code == "not-equal"


def test_the_hash_is_the_same_in_every_process(programs):
    script = (
        "from loopwright.ir import *\n"
        "n = Var('n')\n"
        "a = Var('A', BufferType('float32', (n, 4)))\n"
        "body = BufferStore(a, FloatImm('float32', float('nan')), (n, 1))\n"
        "f = PrimFunc([a], body, 'void', {'k': (1, 'x')})\n"
        "print(structural_hash(IRModule({'f': f})))\n"
    )
    runs = [
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=env)
        for env in (_env("1"), _env("2"))
    ]
    assert runs[0].stdout == runs[1].stdout != ""


def _env(seed):
    import os

    return {**os.environ, "PYTHONHASHSEED": seed}


@pytest.mark.parametrize("name", ["chain", "statements", "loops"])
def test_deep_programs(programs, name):
    one, two = programs.deep[name](), programs.deep[name]()
    assert structural_equal(one, two)
    assert structural_hash(one) == structural_hash(two)
    assert explain_difference(one, two) is None


def test_a_difference_deep_inside_is_found(programs):
    one, two = programs.chain(1_000), programs.chain(1_000)
    last = [n for n in walk(two) if isinstance(n, BufferLoad)][0]
    changed = two.replace(body=substitute(two.body, {last.buffer: Var("B", BufferType("float64", (16,)))}))
    assert not structural_equal(one, changed)
    assert explain_difference(one, changed).startswith("the programs differ at <root>.body")


def test_attributes_of_calls_count():
    def call(**attrs):
        return Call("tirx.exp", [FloatImm("float32", 1.0)], "float32", attrs)

    assert structural_equal(call(a=[1]), call(a=(1,)))
    assert not structural_equal(call(a=1), call(a=1.0))
