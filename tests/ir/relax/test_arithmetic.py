"""Python's operators on tensors of a graph."""

from __future__ import annotations

from typing import Any

import pytest

from loopwright.errors import DTypeError
from loopwright.ir import INT64, IntImm, Tuple, TupleGetItem, TupleType, Var
from loopwright.ir.relax import TensorType

X = Var("x", TensorType([2, 3]))
I = Var("i", TensorType([2, 3], "int32"))
PAIR = Var("t", TupleType([X.ty, I.ty]))
COUNT = Var("n", INT64)


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("add", lambda: X + X),
        ("subtract", lambda: X - X),
        ("multiply", lambda: X * X),
        ("divide", lambda: X / X),
        ("floor_divide", lambda: X // X),
        ("mod", lambda: X % X),
        ("power", lambda: X**X),
        ("less", lambda: X < X),
        ("less_equal", lambda: X <= X),
        ("greater", lambda: X > X),
        ("greater_equal", lambda: X >= X),
        ("negative", lambda: -X),
        ("abs", lambda: abs(X)),
        ("bitwise_not", lambda: ~I),
        ("bitwise_and", lambda: I & I),
        ("bitwise_or", lambda: I | I),
        ("bitwise_xor", lambda: I ^ I),
        ("left_shift", lambda: I << I),
        ("right_shift", lambda: I >> I),
        ("astype", lambda: X.astype("float16")),
        ("add", lambda: X + 1),
        ("subtract", lambda: 1 - X),
        ("divide", lambda: 2.5 / X),
        ("power", lambda: 2**X),
        ("multiply", lambda: I * 3),
    ],
)
def test_operators_are_graph_operators(name: str, made: Any) -> None:
    call = made()
    assert call.op.name == f"relax.{name}"
    assert call.ty.sizes is not None


def test_numbers_take_the_dtype_of_the_tensor() -> None:
    assert str((X + 1).args[1].value.dtype) == "float32" and str((1 + I).args[0].value.dtype) == "int32"
    with pytest.raises(DTypeError, match="`int32` and `float32`"):
        I + 1.5
    with pytest.raises(DTypeError, match="dtypes `float32` and `int64`"):
        X + COUNT


def test_fields_of_tuples() -> None:
    field = PAIR[1]
    assert isinstance(field, TupleGetItem) and field.ty == I.ty
    assert Tuple([X, I])[1] is I
    assert TupleGetItem(Var("u", TupleType([PAIR.ty])), 0)[0].ty == X.ty
    with pytest.raises(DTypeError, match="there is no field 2"):
        PAIR[2]
    with pytest.raises(DTypeError, match="named by an integer"):
        PAIR["a"]
    with pytest.raises(DTypeError, match="has no fields"):
        X[0]
    with pytest.raises(DTypeError, match="is not a buffer"):
        COUNT[0]


def test_other_values_stay_what_they_were() -> None:
    assert (X == X) is True and (X == I) is False
    folded = IntImm(INT64, 2) + 3
    assert isinstance(folded, IntImm) and folded.value == 5
    with pytest.raises(DTypeError, match="cannot stand in arithmetic"):
        PAIR + 1
