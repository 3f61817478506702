"""Relations between types, and the types of calls."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.errors import DTypeError
from loopwright.ir import (
    BOOL,
    INT64,
    AnyType,
    ExternFunc,
    FuncType,
    GlobalVar,
    PrimType,
    TupleType,
    Type,
    Var,
)
from loopwright.ir.relax import (
    BaseCheckResult,
    Function,
    ShapeType,
    TensorType,
    call_function,
    is_base_of,
    type_base_check,
    type_lca,
)
from loopwright.ir.relax.analysis import erase_to_well_defined, get_static_type

N, M, K = [Var(name, INT64) for name in "nmk"]
SIZES = st.sampled_from([4, 5, N, M, N + 1])
SHAPES = st.lists(SIZES, max_size=2)
DTYPES = st.sampled_from(["float32", "int32", None])


@st.composite
def leaf_types(draw: Any) -> Type:
    kind = draw(st.sampled_from(["tensor", "rank", "shape", "shape rank", "scalar", "any"]))
    rank = draw(st.integers(-1, 2))
    if kind == "tensor":
        return TensorType(draw(SHAPES), draw(DTYPES))
    if kind == "rank":
        return TensorType(None, draw(DTYPES), None, rank)
    if kind == "shape":
        return ShapeType(draw(SHAPES))
    if kind == "shape rank":
        return ShapeType(None, rank)
    return PrimType(draw(st.sampled_from(["int64", "bool"]))) if kind == "scalar" else AnyType()


def compound(inner: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
    functions = st.builds(FuncType, st.none() | st.lists(inner, max_size=2), inner, st.booleans())
    return st.lists(inner, max_size=2).map(TupleType) | functions


TYPES = st.recursive(leaf_types(), compound, max_leaves=3)
FAIL_L0, FAIL_L1, FAIL_L2, PASS = BaseCheckResult


@given(TYPES, TYPES)
def test_the_least_common_type_is_above_both(a: Type, b: Type) -> None:
    top = type_lca(a, b)
    assert is_base_of(top, a) and is_base_of(top, b)
    assert type_lca(a, a) == a and type_lca(a, b) == type_lca(b, a)
    if is_base_of(a, b):
        assert is_base_of(a, top)


@given(TYPES, TYPES, TYPES)
def test_above_is_an_order(a: Type, b: Type, c: Type) -> None:
    assert is_base_of(a, a) and is_base_of(AnyType(), a)
    if is_base_of(a, b) and is_base_of(b, c):
        assert is_base_of(a, c)


@given(TYPES)
def test_the_static_type_is_above(a: Type) -> None:
    assert is_base_of(get_static_type(a), a) and get_static_type(get_static_type(a)) == get_static_type(a)
    assert is_base_of(erase_to_well_defined(a), a)


@pytest.mark.parametrize(
    ("base", "derived", "want"),
    [
        (TensorType([N]), AnyType(), FAIL_L1),
        (TensorType([N]), PrimType("float32"), FAIL_L0),
        (TensorType(None, "float32", None, 1), TensorType(None, None, None, 2), FAIL_L1),
        (TensorType(None, "float32", None, 1), TensorType(None, "float32", None, 2), FAIL_L0),
        (TensorType([N]), TensorType(None, "float32", None, 1), FAIL_L2),
        (TensorType([N]), TensorType([M]), FAIL_L2),
        (TensorType([N]), TensorType([N + 1]), FAIL_L0),
        (TensorType([4]), TensorType([5]), FAIL_L0),
        (TensorType([4]), TensorType([4], "int32"), FAIL_L0),
        (TensorType([N + M]), TensorType([M + N]), PASS),
        (ShapeType(ndim=1), ShapeType(), FAIL_L1),
        (ShapeType([4]), ShapeType(ndim=1), FAIL_L2),
        (TupleType([TensorType([N])]), TupleType([AnyType()]), FAIL_L1),
        (TupleType([TensorType([N])]), TupleType([]), FAIL_L0),
        (FuncType([TensorType([N])], TensorType([N])), FuncType([TensorType([M])], TensorType([M])), PASS),
        (FuncType([BOOL], BOOL), FuncType([BOOL], BOOL, False), FAIL_L0),
        (FuncType([BOOL], BOOL, False), FuncType(None, AnyType(), False), FAIL_L2),
        (FuncType(None, AnyType(), False), FuncType([BOOL], BOOL), PASS),
        (FuncType([BOOL, BOOL], BOOL), FuncType([BOOL], BOOL), FAIL_L0),
        (FuncType([BOOL], TensorType([4])), FuncType([BOOL], AnyType()), FAIL_L1),
    ],
)
def test_how_types_are_related(base: Type, derived: Type, want: BaseCheckResult) -> None:
    assert type_base_check(base, derived) is want


def test_calls_solve_the_symbols_of_parameters() -> None:
    f = GlobalVar("f", FuncType([TensorType([N, M]), TensorType([M])], TensorType([N + M, M])))
    a, b = Var("a", TensorType([2, K])), Var("b", TensorType([K]))
    assert call_function(f, [a, b]).ty == TensorType([K + 2, K])
    assert call_function(f, [a, Var("c", TensorType([3]))]).ty == TensorType([K + 2, K])
    fixed = [Var("a", TensorType([2, 3])), Var("b", TensorType([3]))]
    assert call_function(f, fixed).ty == TensorType([5, 3])
    unknown = Var("u", TensorType(None, "float32", None, 2))
    assert call_function(f, [unknown, b]).ty == TensorType(None, "float32", None, 2)


def test_calls_that_do_not_fit() -> None:
    f = GlobalVar("f", FuncType([TensorType([N, N])], TensorType([N])))
    with pytest.raises(DTypeError, match="`f` takes 1 arguments, it is called with 2"):
        call_function(f, [Var("a", TensorType([2, 2]))] * 2)
    with pytest.raises(DTypeError, match="argument 0 of `f` must be of type"):
        call_function(f, [Var("a", TensorType([2, 3]))])
    with pytest.raises(DTypeError, match="argument 0 of `f` must be of type"):
        call_function(f, [Var("a", TensorType([2, 2], "int8"))])


def test_calls_of_what_says_little() -> None:
    x = Var("x", TensorType([2]))
    assert call_function(ExternFunc("g"), [x]).ty == AnyType()
    opaque = FuncType(None, TensorType([3]), False)
    assert call_function(Var("h", opaque), [x]).ty == TensorType([3])
    derived = FuncType(None, AnyType(), False, lambda args: args[0].ty)
    assert call_function(Var("h", derived), [x]).ty == x.ty


def test_functions_that_are_given_out_forget_symbols_too() -> None:
    inner = FuncType([TensorType([M])], TensorType([M, N]))
    want = FuncType([TensorType([M])], TensorType(None, "float32", None, 2))
    assert erase_to_well_defined(inner, {M: M}) == want


def test_parameters_are_no_part_of_a_functions_type() -> None:
    count = Var("count", INT64)
    func = Function([count, Var("x", TensorType([N]))], Var("y", TensorType([count])), None)
    assert func.ret_ty == TensorType([count])
    assert func.ty == FuncType([INT64, TensorType([N])], TensorType(None, "float32", None, 1))
