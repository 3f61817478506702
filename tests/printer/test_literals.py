from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.dtype import DType
from loopwright.grammar import read
from loopwright.grammar import tree as t
from loopwright.ir import FloatImm, IntImm, StringImm
from loopwright.printer import script
from loopwright.printer.literals import seventeen_digits


def evaluate(text):
    """The value of a printed literal, by reading it."""
    expr = read(text, start="expression").tree.body[0].value
    if isinstance(expr, t.CallExpr):
        (expr,) = expr.args
    if isinstance(expr, t.UnaryExpr):
        assert expr.op == "-"
        return -expr.operand.value
    return expr.value


@given(st.floats())
def test_floats_come_back_bit_for_bit(value):
    found = evaluate(script(FloatImm("float64", value)))
    if isinstance(found, str):
        found = float(found)
    if math.isnan(value):
        assert math.isnan(found)
    else:
        assert struct.pack("d", found) == struct.pack("d", value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_other_spelling_is_exact_too(value):
    assert float(seventeen_digits(abs(value))) == abs(value)


@given(st.sampled_from(["int8", "int16", "int32", "int64", "uint8", "uint64"]), st.data())
def test_integers_come_back(dtype, data):
    kind = DType(dtype)
    value = data.draw(st.integers(kind.min_value, kind.max_value))
    text = script(IntImm(dtype, value))
    assert evaluate(text) == value
    assert text.startswith("T.") == (dtype != "int32")


@given(st.text())
def test_strings_come_back(text):
    shown = script(StringImm(text))
    assert "\n" not in shown
    assert evaluate(shown) == text


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (IntImm("int32", -3), "-3"),
        (IntImm("int64", 3), "T.int64(3)"),
        (IntImm("bool", 1), "T.bool(True)"),
        (FloatImm("float32", 1), "T.float32(1.0)"),
        (FloatImm("float32", 0.1), "T.float32(0.1)"),
        (FloatImm("float32", -0.0), "T.float32(-0.0)"),
        (FloatImm("float16", math.inf), 'T.float16("inf")'),
        (FloatImm("bfloat16", -math.inf), 'T.bfloat16("-inf")'),
        (FloatImm("float8_e5m2", math.nan), 'T.float8_e5m2("nan")'),
        (FloatImm("float64", 5e-324), "T.float64(5e-324)"),
    ],
)
def test_spellings(node, text):
    assert script(node) == text


def test_default_dtypes_are_bare():
    assert script(IntImm("int64", 3), int_dtype="int64") == "3"
    assert script(IntImm("int32", 3), int_dtype="int64") == "T.int32(3)"
    assert script(FloatImm("float32", 2), float_dtype="float32") == "2.0"
    assert script(FloatImm("float32", math.inf), float_dtype="float32") == 'T.float32("inf")'


def test_the_other_house_writes_seventeen_digits():
    assert script(FloatImm("float32", 0.1), header="tvm") == "T.float32(0.10000000000000001)"
    largest = FloatImm("float64", -3.4028234663852886e38)
    assert script(largest, header="tvm") == "T.float64(-340282346638528859811704183484516925440.0)"
