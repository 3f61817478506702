"""Calls of operators on elements that do not fit are refused, and say what does not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from loopwright.errors import DTypeError
from loopwright.ir import Var
from loopwright.ir.relax import TensorType, get_op


def t(shape: Any, dtype: str = "float32") -> Var:
    return Var("x", TensorType(shape, dtype))


def op(name: str) -> Callable[..., Any]:
    return get_op(f"relax.{name}")


TYPES = [
    (lambda: op("exp")(t((4,), "int32")), "`x` must be of floats, not of `int32`"),
    (lambda: op("negative")(t((4,), "bool")), "bools, which have no arithmetic"),
    (lambda: op("bitwise_not")(t((4,))), "`x` must be of integers or bools, not of `float32`"),
    (lambda: op("logical_not")(t((4,))), "`x` must be of bools"),
    (lambda: op("add")(t((4,)), t((4,), "float16")), "have dtypes `float32` and `float16`"),
    (lambda: op("add")(t((4,), "bool"), t((4,), "bool")), "`x1` is of bools"),
    (lambda: op("logical_and")(t((4,), "bool"), t((4,))), "`x2` must be of bools"),
    (lambda: op("left_shift")(t((4,)), t((4,))), "`x1` must be of integers"),
    (lambda: op("atan2")(t((4,), "int8"), t((4,), "int8")), "`x1` must be of floats"),
    (lambda: op("where")(t((4,)), t((4,)), t((4,))), "`condition` must be of bools"),
    (lambda: op("clip")(t((4,)), t((4,)), 1.0), "`min` must be a scalar"),
    (lambda: op("full")(t((4,)), 1.0), "`shape` must be a shape"),
    (lambda: op("hamming_window")(4, True, 0.5, 0.5, "int32"), "`dtype` must be a float type"),
    (lambda: op("eye")(2.5), "`n` must be an integer"),
    (lambda: op("one_hot")(t((4,)), 1, 0, 3), "`indices` must be of integers"),
    (lambda: op("one_hot")(t((4,), "int32"), 1, 0.0, 3), "scalars of one dtype"),
    (lambda: op("quantize")(t((4,), "int32"), 1.0, t((), "int8")), "`data` must be of float16 or float32"),
    (lambda: op("quantize")(t((4,)), 1.0, t((), "int8"), out_dtype="int64"), "`out_dtype` must be of int8,"),
    (lambda: op("dequantize")(t((4,), "int64"), 1.0, t((), "int8")), "not of `int64`"),
    (lambda: op("nn.softmax")(t((4,), "int32")), "`data` must be of floats"),
]
SHAPES = [
    (lambda: op("add")(t((4,)), t((3,))), r"the shapes \(4,\) and \(3,\) do not broadcast: 4 against 3"),
    (lambda: op("ewise_fma")(t((4,)), t((4,)), t((4, 1))), "have 1 and 2 dimensions"),
    (lambda: op("ewise_fma")(t((4,)), t((1,)), t((4,))), r"the shapes \(4,\) and \(1,\)"),
    (lambda: op("full")((4,), t((1,))), "`fill_value` must be a scalar or a tensor of rank 0"),
    (lambda: op("arange")(0, 4, 0), "`step` is 0"),
    (lambda: op("eye_like")(t((4,))), "must have 2 dimensions, not 1"),
    (lambda: op("tril")(t((4,))), "at least 2 dimensions, not 1"),
    (lambda: op("hamming_window")(0, True, 0.5, 0.5, "float32"), "`window_size` must be positive"),
    (lambda: op("one_hot")(t((4,), "int32"), 1, 0, 3, axis=2), "`axis` is 2, but the result has 2 dim"),
    (lambda: op("one_hot")(t((4,), "int32"), 1, 0, 0), "`depth` must be positive"),
    (lambda: op("quantize")(t((4, 3)), t((4,)), t((), "int8")), "`scale` has 4 values, but dimension 1"),
    (lambda: op("quantize")(t(()), t((4,)), t((), "int8")), "`scale` must be a scalar or a singleton"),
    (lambda: op("nn.softmax")(t((4,)), axis=1), "`axis` is 1, but the tensor has 1 dimensions"),
    (lambda: op("nn.prelu")(t((4, 3)), t((4,))), "`alpha` has 4 values, but dimension 1 of the data has 3"),
    (lambda: op("nn.softplus")(t((4,)), beta=0.0), "`beta` is 0"),
]


@pytest.mark.parametrize(("call", "text"), TYPES, ids=[text for _, text in TYPES])
def test_types(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(DTypeError, match=text) as caught:
        call()
    assert caught.value.code == "operator-types"


@pytest.mark.parametrize(("call", "text"), SHAPES, ids=[text for _, text in SHAPES])
def test_shapes(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(ValueError, match=text) as caught:
        call()
    assert caught.value.code == "operator-shapes"  # type: ignore[attr-defined]
