"""Operators on expressions: what they mean on constants, how operands are promoted, what folds."""

from __future__ import annotations

import math
import warnings

import ml_dtypes
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from loopwright import ir
from loopwright.codegen.python import evaluate
from loopwright.dtype import DType
from loopwright.errors import DivisionError, DTypeError
from loopwright.ir import fold, operators, promote
from loopwright.ir.ops.math import isfinite, isinf

INTS = [f"{k}{b}" for k in ("int", "uint") for b in (8, 16, 32, 64)]
SMALL_INTS = [f"{k}{b}" for k in ("int", "uint") for b in (1, 2, 4)]
FLOATS = ["float16", "float32", "float64", "bfloat16"]
FP8 = ["float8_e4m3fn", "float8_e5m2", "float8_e3m4", "float8_e4m3", "float8_e4m3fnuz", "float8_e5m2fnuz"]

ARITHMETIC = [ir.Add, ir.Sub, ir.Mul, ir.Div, ir.Mod, ir.FloorDiv, ir.FloorMod, ir.Min, ir.Max]
BITS = [ir.BitwiseAnd, ir.BitwiseOr, ir.BitwiseXor]
SHIFTS = [ir.LShift, ir.RShift]
COMPARE = {ir.EQ: "equal", ir.NE: "not_equal", ir.LT: "less", ir.LE: "less_equal", ir.GT: "greater"}
COMPARE[ir.GE] = "greater_equal"
DIVISIONS = (ir.Div, ir.Mod, ir.FloorDiv, ir.FloorMod)


@st.composite
def int_pairs(draw, dtypes=tuple(INTS + SMALL_INTS)):
    dtype = DType(draw(st.sampled_from(dtypes)))
    edge = st.sampled_from(
        [dtype.min_value, dtype.max_value, 0, min(1, dtype.max_value), max(-1, dtype.min_value)]
    )
    one = st.one_of(edge, st.integers(dtype.min_value, dtype.max_value))
    return dtype, draw(one), draw(one)


@st.composite
def float_pairs(draw, dtypes=tuple(FLOATS)):
    dtype = DType(draw(st.sampled_from(dtypes)))
    special = st.sampled_from(
        [0.0, -0.0, 1.0, math.inf, -math.inf, math.nan, dtype.max_value, dtype.min_value]
    )
    one = st.one_of(special, st.floats(width=32), st.integers(-40, 40).map(float))
    return dtype, draw(one), draw(one)


def same(a, b) -> bool:
    a, b = float(a), float(b)
    return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))


def c_division(cls, x: int, y: int) -> int:
    """The four divisions from Python's exact integers, written another way than in fold.py."""
    floor_q, floor_r = divmod(x, y)
    exact = floor_r == 0
    trunc_q = floor_q if exact or (x < 0) == (y < 0) else floor_q + 1
    return {ir.FloorDiv: floor_q, ir.FloorMod: floor_r, ir.Div: trunc_q, ir.Mod: x - trunc_q * y}[cls]


@given(int_pairs(), st.sampled_from(ARITHMETIC + BITS))
def test_integer_results_are_exact_results_wrapped(pair, cls):
    dtype, x, y = pair
    if cls in DIVISIONS:
        if y == 0 or (y == -1 and x == dtype.min_value):
            with pytest.raises(DivisionError):
                fold.eval_binary(cls, dtype, x, y)
            return
        exact = c_division(cls, x, y)
    else:
        exact = {
            ir.Add: x + y, ir.Sub: x - y, ir.Mul: x * y, ir.Min: min(x, y), ir.Max: max(x, y),
            ir.BitwiseAnd: x & y, ir.BitwiseOr: x | y, ir.BitwiseXor: x ^ y,
        }[cls]  # fmt: skip
    got = fold.eval_binary(cls, dtype, x, y)
    assert dtype.min_value <= got <= dtype.max_value
    assert (got - exact) % (1 << dtype.bits) == 0


@given(int_pairs(tuple(INTS)), st.sampled_from([ir.Add, ir.Sub, ir.Mul, ir.FloorDiv, ir.FloorMod, *BITS]))
def test_integers_agree_with_numpy(pair, cls):
    dtype, x, y = pair
    if cls in DIVISIONS and (y == 0 or (y == -1 and x == dtype.min_value)):
        return
    names = {
        ir.Add: "add", ir.Sub: "subtract", ir.Mul: "multiply", ir.FloorDiv: "floor_divide",
        ir.FloorMod: "remainder",
        ir.BitwiseAnd: "bitwise_and", ir.BitwiseOr: "bitwise_or", ir.BitwiseXor: "bitwise_xor",
    }  # fmt: skip
    a, b = np.array([x], dtype.numpy()), np.array([y], dtype.numpy())
    assert fold.eval_binary(cls, dtype, x, y) == getattr(np, names[cls])(a, b)[0]


@given(int_pairs(tuple(INTS)), st.integers(0, 200))
def test_shifts_by_the_width_or_more_leave_nothing_or_the_sign(pair, amount):
    dtype, x, _ = pair
    left = fold.eval_binary(ir.LShift, dtype, x, amount)
    right = fold.eval_binary(ir.RShift, dtype, x, amount)
    assert (left - (x << amount)) % (1 << dtype.bits) == 0
    assert right == x >> amount
    if amount >= dtype.bits:
        assert left == 0 and right == (-1 if x < 0 else 0)
        assert fold.eval_binary(ir.RShift, dtype, x, -1) == right


@given(float_pairs(), st.sampled_from([ir.Add, ir.Sub, ir.Mul, ir.Div, ir.Mod, ir.FloorMod]))
def test_floats_agree_with_numpy(pair, cls):
    dtype, x, y = pair
    names = {
        ir.Add: "add", ir.Sub: "subtract", ir.Mul: "multiply", ir.Div: "divide", ir.Mod: "fmod",
        ir.FloorMod: "remainder",
    }  # fmt: skip
    with np.errstate(all="ignore"):
        a, b = (np.array([v], np.float64).astype(dtype.numpy()) for v in (x, y))
        if dtype.bits < 32:
            a, b = a.astype(np.float32), b.astype(np.float32)
        expected = getattr(np, names[cls])(a, b).astype(dtype.numpy())[0]
    assert same(fold.eval_binary(cls, dtype, x, y), expected)


@given(float_pairs(("float64",)))
def test_float_floor_division_is_pythons(pair):
    _, x, y = pair
    with np.errstate(all="ignore"):
        expected = np.floor_divide(np.float64(x), np.float64(y))
    assert same(fold.eval_binary(ir.FloorDiv, "float64", x, y), expected)


def test_float_floor_division_of_numbers_that_do_not_divide():
    assert fold.eval_binary(ir.FloorDiv, "float64", 1.0, 0.1) == 9.0
    assert fold.eval_binary(ir.FloorMod, "float32", -5.0, 3.0) == 1.0
    assert fold.eval_binary(ir.FloorDiv, "float32", -5.0, 3.0) == -2.0
    assert fold.eval_binary(ir.Mod, "float32", -5.0, 3.0) == -2.0


@given(float_pairs(tuple(FP8)), st.sampled_from([ir.Add, ir.Sub, ir.Mul, ir.Div]))
def test_small_floats_are_computed_in_float32_and_rounded(pair, cls):
    dtype, x, y = pair
    kind = getattr(ml_dtypes, str(dtype))
    with np.errstate(all="ignore"):
        a, b = (np.float32(np.float64(v).astype(kind)) for v in (x, y))
        rule = {ir.Add: np.add, ir.Sub: np.subtract, ir.Mul: np.multiply, ir.Div: np.divide}[cls]
        expected = rule(a, b).astype(kind)
    assert same(fold.eval_binary(cls, dtype, x, y), expected)


@given(float_pairs(), st.sampled_from([ir.Min, ir.Max]))
def test_minimum_and_maximum_compare_and_select(pair, cls):
    dtype, x, y = pair
    x, y = dtype.round(x), dtype.round(y)
    chosen = (x if x < y else y) if cls is ir.Min else (x if x > y else y)
    assert same(fold.eval_binary(cls, dtype, x, y), chosen)


@given(st.one_of(int_pairs(), float_pairs()), st.sampled_from(list(COMPARE)))
def test_comparisons_agree_with_numpy(pair, cls):
    dtype, x, y = pair
    kind = np.float64 if dtype.is_float else object
    if dtype.is_float:
        x, y = dtype.round(x), dtype.round(y)
    got = fold.eval_binary(cls, dtype, x, y)
    assert got is bool(getattr(np, COMPARE[cls])(np.array([x], kind), np.array([y], kind))[0])


NUMBERS = INTS + SMALL_INTS + FLOATS + FP8 + ["bool", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"]


@given(st.sampled_from(NUMBERS), st.sampled_from(NUMBERS), st.data())
def test_casts_agree_with_numpy(src, dst, data):
    src, dst = DType(src), DType(dst)
    if src.is_float:
        value = src.round(data.draw(st.floats(width=32)))
    else:
        value = data.draw(st.integers(src.min_value, src.max_value))
    got = fold.eval_cast(src, dst, value)
    if dst.is_bool:
        assert got == int(value != 0)
    elif dst.is_integral and src.is_float:
        if math.isnan(value):
            assert got == 0
        else:
            clipped = min(max(value, dst.min_value), dst.max_value)
            assert got == (clipped if isinstance(clipped, int) else math.trunc(value))
    elif dst.is_integral:
        assert dst.min_value <= got <= dst.max_value and (got - value) % (1 << dst.bits) == 0
    else:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kind = np.float64 if src.is_float else np.uint64 if value > 2**63 - 1 else np.int64
            start = np.array([value], kind)
            if not src.is_float and dst.bits < 32:
                start = start.astype(np.float32)
            assert same(got, start.astype(dst.numpy())[0])


def test_unary_constants():
    assert fold.eval_unary(ir.Not, "bool", 0) == 1
    assert fold.eval_unary(ir.BitwiseNot, "bool", 1) == 0
    assert fold.eval_unary(ir.BitwiseNot, "int8", 5) == -6
    assert fold.eval_unary(ir.BitwiseNot, "uint8", 5) == 250


def test_no_meaning_is_an_error():
    with pytest.raises(DTypeError):
        fold.eval_binary(ir.LShift, "float32", 1.0, 1.0)
    with pytest.raises(DTypeError):
        fold.eval_cast("handle", "int64", 0)


@given(st.one_of(int_pairs(), float_pairs()), st.sampled_from(ARITHMETIC + list(COMPARE)))
def test_folding_gives_what_evaluation_gives(pair, cls):
    dtype, x, y = pair
    if dtype.is_float:
        x, y = dtype.round(x), dtype.round(y)
    a, b = ir.const(x, dtype), ir.const(y, dtype)
    folded = operators.binary(cls, a, b, "constants")
    if cls in DIVISIONS and (y == 0 or (dtype.is_int and y == -1 and x == dtype.min_value)):
        assert type(folded) is cls and folded.a is a and folded.b is b
        return
    value = fold.eval_binary(cls, dtype, x, y)
    assert isinstance(folded, ir.IntImm | ir.FloatImm)
    assert folded.dtype == ("bool" if isinstance(value, bool) else dtype)
    assert same(folded.value, value) if dtype.is_float else folded.value == value
    assert operators.folds(cls(a, b))
    assert type(operators.binary(cls, a, b, "none")) is cls


i, j = ir.Var("i"), ir.Var("j")
k = ir.Var("k", "int64")
u = ir.Var("u", "uint32")
f, g = ir.Var("f", "float32"), ir.Var("g", "float32")
b, c = ir.Var("b", "bool"), ir.Var("c", "bool")
v4, w4, m4 = ir.Var("v4", "float32x4"), ir.Var("w4", "int32x4"), ir.Var("m4", "boolx4")
handle = ir.Var("h", ir.HANDLE)
buffer = ir.Var("A", ir.BufferType("float32", (8,)))

PROMOTION = [
    ("int32", "int64", "int64"), ("int32", "float32", "float32"), ("int64", "float16", "float16"),
    ("float16", "float32", "float32"), ("float32", "float64", "float64"), ("bfloat16", "float32", "float32"),
    ("bfloat16", "float16", "float16"), ("uint8", "int32", "int32"), ("int8", "uint8", "uint8"),
    ("int8", "uint16", "uint16"), ("int16", "uint8", "int16"), ("int64", "uint32", "int64"),
    ("bool", "int32", "int32"), ("bool", "float32", "float32"), ("bool", "uint8", "uint8"),
    ("float8_e4m3fn", "float32", "float32"), ("float8_e4m3fn", "int32", "float8_e4m3fn"),
    ("float6_e2m3fn", "float8_e4m3fn", "float8_e4m3fn"), ("float32x4", "float32", "float32x4"),
    ("int32x4", "float32", "float32x4"), ("float32x4", "int32", "float32x4"),
    ("float32xvscalex4", "float32", "float32xvscalex4"), ("int32x4", "float32x4", "float32x4"),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right", "result"), PROMOTION)
def test_promotion_table(left, right, result):
    for x, y in ((left, right), (right, left)):
        total = ir.Var("x", x) + ir.Var("y", y)
        assert type(total) is ir.Add and total.dtype == result
        assert total.a.dtype == result and total.b.dtype == result


@given(st.sampled_from(NUMBERS), st.sampled_from(NUMBERS))
def test_promotion_is_symmetric_and_keeps_one_of_the_types(left, right):
    try:
        result = promote.result_dtype(DType(left), DType(right))
    except DTypeError:
        assert DType(left).is_float and DType(right).is_float
        return
    assert result in (DType(left), DType(right))
    assert result is promote.result_dtype(DType(right), DType(left))


@pytest.mark.parametrize(("left", "right"), [("float32x4", "float32x8"), ("float8_e4m3fn", "float8_e5m2")])
def test_types_that_do_not_combine(left, right):
    with pytest.raises(TypeError):
        ir.Var("x", left) + ir.Var("y", right)


@pytest.mark.parametrize(
    ("dtype", "number", "result"),
    [
        ("int8", 1, "int8"), ("int8", 200, "int32"), ("uint32", -1, "uint32"), ("float16", 1, "float16"),
        ("float16", 1.5, "float16"), ("float16", 70000.0, "float32"), ("int32", 1.5, "float32"),
        ("bool", 1, "int32"), ("int32", 2**40, "int64"), ("float64", 0.1, "float64"),
        ("int64", True, "int64"),
    ],
)  # fmt: skip
def test_a_python_number_takes_the_type_of_the_other_operand(dtype, number, result):
    x = ir.Var("x", dtype)
    assert (x + number).dtype == result
    assert (number + x).dtype == result


def test_numbers_of_numpy_keep_their_type():
    total = np.int64(3) + i
    assert type(total) is ir.Add and total.dtype == "int64"
    assert (i * np.float32(2)).dtype == "float32"


def test_reflected_operators_keep_the_order():
    for build, cls in (
        (lambda: 7 - i, ir.Sub), (lambda: 7 // i, ir.FloorDiv), (lambda: 7 % i, ir.FloorMod),
        (lambda: 7 << i, ir.LShift), (lambda: 7 >> i, ir.RShift), (lambda: 7 + i, ir.Add),
        (lambda: 7 * i, ir.Mul), (lambda: 7 & i, ir.BitwiseAnd), (lambda: 7 | i, ir.BitwiseOr),
        (lambda: 7 ^ i, ir.BitwiseXor),
    ):  # fmt: skip
        e = build()
        assert type(e) is cls and e.a.value == 7 and e.b is i
    quotient = 7 / f
    assert type(quotient) is ir.Div and quotient.a.value == 7.0
    assert (2.0**f).op.name == "tirx.pow" and (f**2).args[1].value == 2.0
    assert type(5 < i) is ir.GT


IDENTITIES = {
    "x + 0": i + 0, "0 + x": 0 + i, "x - 0": i - 0, "x * 1": i * 1, "1 * x": 1 * i, "x // 1": i // 1,
    "x << 0": i << 0, "x >> 0": i >> 0, "truncdiv(x, 1)": operators.truncdiv(i, 1),
    "min(x, x)": operators.min_(i, i), "max(x, x)": operators.max_(i, i),
}  # fmt: skip


def test_identities_fold_outside_script_only():
    assert all(e is i for e in IDENTITIES.values()), [n for n, e in IDENTITIES.items() if e is not i]
    assert [(i * 0).value, (i % 1).value, (0 // i).value, (0 * i).value] == [0, 0, 0, 0]
    assert f + 0 is f and f * 1 is f and f / 1 is f
    assert type(f * 0) is ir.Mul and type(i - i) is ir.Sub and type(0 - i) is ir.Sub
    for cls, x in ((ir.Add, 0), (ir.Mul, 1), (ir.Mul, 0), (ir.FloorDiv, 1), (ir.LShift, 0)):
        assert type(operators.binary(cls, i, x, "constants")) is cls
    assert type(operators.min_(i, i, fold="constants")) is ir.Min


def test_logic():
    assert type(operators.logical_and(b, c)) is ir.And
    assert operators.logical_and(b, True) is b and operators.logical_or(True, b).value == 1
    assert operators.logical_and(False, b).value == 0 and operators.logical_or(b, False) is b
    assert type(operators.logical_and(b, True, fold="constants")) is ir.And
    folded = operators.logical_or(False, False, fold="constants")
    assert isinstance(folded, ir.IntImm) and folded.value == 0 and folded.dtype == "bool"
    assert type(operators.logical_and(m4, b)) is ir.BitwiseAnd
    assert type(operators.logical_or(m4, m4)) is ir.BitwiseOr
    assert type(operators.logical_not(b)) is ir.Not
    assert type(operators.all_(b, c, i > 0)) is ir.And and operators.any_(b) is b
    with pytest.raises(DTypeError, match="need bool"):
        operators.logical_and(i, b)


def test_negation_absolute_value_and_complement():
    assert type(-i) is ir.Mul and (-i).b.value == -1
    assert type(-u) is ir.Sub
    assert (-ir.const(5)).value == -5
    assert type(abs(i)) is ir.Select and abs(f).op.name == "tirx.fabs" and abs(u) is u
    assert abs(ir.const(-3)).value == 3
    assert type(~i) is ir.BitwiseNot and type(~ir.const(5)) is ir.BitwiseNot
    assert +i is i
    with pytest.raises(DTypeError):
        ~f
    with pytest.raises(DTypeError):
        -b


def test_division_of_integers_says_what_to_use():
    with pytest.raises(DTypeError, match="truncdiv"):
        i / 2
    with pytest.raises(TypeError):
        2 / i
    with pytest.raises(DTypeError, match="use `/`"):
        operators.truncdiv(f, g)
    assert type(f / 2) is ir.Div and type(i / 2.0) is ir.Div
    assert type(operators.truncdiv(i, 2)) is ir.Div and type(operators.truncmod(i, 2)) is ir.Mod


@given(st.integers(0, 10**6), st.integers(1, 1000))
def test_ceildiv(n, m):
    assert operators.ceildiv(n, m).value == -(-n // m)
    expanded = operators.ceildiv(i, m, fold="constants")
    assert type(expanded) is ir.FloorDiv and type(expanded.a) is ir.Sub and type(expanded.a.a) is ir.Add


@given(st.integers(-(10**6), 10**6), st.integers(-1000, 1000))
def test_ceildiv_by_any_divisor(n, m):
    assume(m != 0)
    x, y = ir.Var("x", "int32"), ir.Var("y", "int32")
    for divisor in (y, ir.const(m)):
        e = ir.substitute(operators.ceildiv(x, divisor, fold="constants"), {x: ir.const(n), y: ir.const(m)})
        assert evaluate(e) == -(-n // m)


def test_an_operand_that_is_used_twice_is_defined_twice():
    x, n = ir.Var("x", "int32"), ir.Var("n", "int32")
    let = ir.Let(x, n, ir.Add(x, 1))
    y, v = ir.Var("y", "float32"), ir.Var("v", "float32")
    real = ir.Let(y, v, ir.Mul(y, y))
    for e in (abs(let), operators.ceildiv(4, ir.Cast("uint32", let)), isinf(real), isfinite(real)):
        ir.assert_well_formed(ir.PrimFunc([n, v], ir.Evaluate(e)))


def test_casts():
    assert i.astype("int32") is i
    assert type(i.astype("float32")) is ir.Cast
    assert operators.cast(2.7, "int32").value == 2
    assert operators.cast(300, "int8").value == 44
    assert operators.cast(ir.const(1e9, "float32"), "int8").value == 127
    assert operators.cast(0.1, "float64").value == 0.1
    assert operators.cast(ir.const(0.1, "float32"), "float64").value == float(np.float32(0.1))
    assert operators.cast(True, "int32").value == 1
    lanes = operators.cast(i, "float32x4")
    assert type(lanes) is ir.Broadcast and type(lanes.value) is ir.Cast
    inner = operators.cast(ir.const(1, "int32x4"), "float32x4")
    assert type(inner) is ir.Broadcast and inner.value.value == 1.0
    scaled = operators.cast(f, "float32xvscalex4")
    assert scaled.dtype == "float32xvscalex4"
    ramp = ir.Ramp(0, 1, 4).astype("int64x4")
    assert type(ramp) is ir.Ramp and ramp.dtype == "int64x4"
    with pytest.raises(DTypeError, match="reinterpret"):
        handle.astype("int64")
    with pytest.raises(DTypeError):
        w4.astype("float32x8")


def test_choice():
    chosen = operators.if_then_else(i > 0, f, 1)
    assert chosen.op.name == "prim.if_then_else" and chosen.dtype == "float32"
    assert (
        operators.if_then_else(True, i, j) is i and operators.if_then_else(ir.const(False, "bool"), i, j) is j
    )
    assert type(operators.select(b, f, 1)) is ir.Select
    pointer = operators.if_then_else(b, handle, handle)
    assert pointer.ty is handle.ty
    with pytest.raises(DTypeError, match="condition must be bool"):
        operators.if_then_else(i, f, 1)
    with pytest.raises(DTypeError, match="pointer"):
        operators.if_then_else(b, handle, i)


def test_equality_builds_a_node_or_is_identity():
    assert type(i == j) is ir.EQ and type(i != 5) is ir.NE
    assert bool(i == i) and not bool(i == j) and bool(i != j)
    assert (ir.const(5) == 5).value == 1 and not bool(ir.const(5) == 6)
    assert (i == None) is False and (i != None) is True  # noqa: E711
    assert (i == "i") is False
    assert (handle == handle) is True and (buffer == buffer) is True and (buffer == i) is False
    assert type(operators.equal(handle, handle)) is ir.EQ
    assert type(i.equal(j)) is ir.EQ
    assert i in [j, i] and i not in [j, k]
    assert len({i, j, i}) == 2 and hash(i) == object.__hash__(i)
    assert {i: 1}[i] == 1


def test_truth_of_an_expression():
    for e in (i, i < 3, f + 1, b):
        with pytest.raises(DTypeError, match="not known while the program is built"):
            bool(e)
    assert bool(ir.const(1)) and not bool(ir.const(0.0)) and bool(buffer) and bool(handle)
    with pytest.raises(DTypeError):
        b and c


def test_operands_that_do_not_fit():
    with pytest.raises(TypeError, match="unsupported operand"):
        i + "text"
    with pytest.raises(DTypeError, match="the pointer `h`"):
        handle + 1
    with pytest.raises(DTypeError, match="index it"):
        buffer + 1
    with pytest.raises(DTypeError, match="slices are regions"):
        f + buffer[0:4]
    for build in (lambda: f << 1, lambda: f & 1, lambda: b << c, lambda: operators.power(i, j)):
        with pytest.raises(DTypeError):
            build()


class Foreign:
    """Something that combines with expressions itself, as a tensor of a tensor expression does."""

    def __radd__(self, other):
        return ("radd", other)

    def __gt__(self, other):
        return ("gt", other)


def test_foreign_objects_get_their_turn():
    assert i + Foreign() == ("radd", i)
    assert (i < Foreign()) == ("gt", i)


def test_what_printing_must_spell_by_name():
    one, two = ir.const(1), ir.const(2)
    assert operators.folds(ir.Add(one, two)) and not operators.folds(ir.Add(i, one))
    assert not operators.folds(ir.Add(i, ir.const(0))) and not operators.folds(ir.FloorDiv(one, ir.const(0)))
    assert operators.folds(ir.And(ir.const(True), ir.const(False))) and not operators.folds(ir.And(b, c))
    assert operators.folds(ir.EQ(handle, handle))
    true = ir.const(True)
    assert not operators.folds(ir.BitwiseAnd(true, true)) and operators.folds(ir.EQ(true, true))


def test_vectors_and_scalars():
    total = v4 + 1
    assert type(total.b) is ir.Broadcast and total.b.value.value == 1.0
    assert (w4 < i).dtype == "boolx4"
    assert (ir.Ramp(0, 1, 4) * 4).dtype == "int32x4"
    assert operators.min_(v4, f).dtype == "float32x4"
    axis = ir.IterVar(ir.Range(0, 4), ir.Var("ax"), 0)
    assert (i + axis).b is axis.var
