"""Data types: spellings, interning, ranges, numpy."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.dtype import CODES, DType, fits, known_names, storage_bits
from loopwright.errors import DTypeError

SCALARS = st.sampled_from(known_names())
VECTORS = st.builds(
    lambda name, lanes, scalable: f"{name}xvscalex{lanes}" if scalable else f"{name}x{lanes}",
    st.sampled_from([n for n in known_names() if n != "void"]),
    st.integers(2, 65535),
    st.booleans(),
)
FLOATS = [n for n in known_names() if DType(n).is_float]
INTEGERS = [n for n in known_names() if DType(n).is_integral]


@given(SCALARS | VECTORS)
def test_spellings_come_back(text):
    dtype = DType(text)
    assert str(dtype) == text and dtype == text and DType(text) is dtype is DType(dtype)
    assert DType.of(dtype.code, dtype.bits, dtype.lanes, dtype.scalable) is dtype
    assert pickle.loads(pickle.dumps(dtype)) is dtype
    assert hash(dtype) == hash(text) and {text: 1}[dtype] == 1
    assert eval(repr(dtype), {"DType": DType}) is dtype


@given(SCALARS | VECTORS)
def test_every_type_is_of_one_kind(text):
    dtype = DType(text)
    kinds = [dtype.is_int, dtype.is_uint, dtype.is_bool, dtype.is_float, dtype.is_handle, dtype.is_void]
    assert sum(kinds) == 1
    assert dtype.is_integral == (dtype.is_int or dtype.is_uint or dtype.is_bool)
    assert dtype.is_scalar != dtype.is_vector
    assert dtype.element.is_scalar and dtype.kind in CODES
    if dtype.is_vector:
        assert dtype.element.with_lanes(dtype.lanes, dtype.scalable) is dtype


@given(st.text(max_size=20))
def test_other_texts_are_refused(text):
    try:
        dtype = DType(text)
    except DTypeError as err:
        assert err.code in ("unknown-dtype", "lanes")
        assert DType("int32") != text
    else:
        assert DType(str(dtype)) is dtype


BAD = [
    "", "int", "int33", "int032", "float8", "float8_e9m9", "floot32", "int32x0", "int32x", "int32x65536",
    "int32x" + "9" * 5000, "int32x٣", "int" + "9" * 5000, "voidx4", "int32xvscale", "int32 ", "Int32",
]  # fmt: skip


@pytest.mark.parametrize("text", BAD, ids=lambda t: t[:20])
def test_bad_spellings(text):
    with pytest.raises(DTypeError):
        DType(text)
    assert DType("int32") != text


def test_near_names_are_offered():
    with pytest.raises(DTypeError, match="did you mean `float32`"):
        DType("floot32")


def test_other_spellings_compare_equal():
    assert DType("float32") == "float32x1" and DType("float32x1") is DType("float32")
    assert DType("float32") != "int32" and DType("float32") != 3


@pytest.mark.parametrize("parts", [(2, 33), (99, 8), (0, 32, 0), (0, 32, -4), (3, 0, 4), (7, 16)])
def test_impossible_parts_are_refused(parts):
    with pytest.raises(DTypeError):
        DType.of(*parts)


def test_types_are_immutable_and_safe_in_threads():
    with pytest.raises(AttributeError):
        DType("int32").bits = 8
    found = []
    threads = [threading.Thread(target=lambda: found.append(DType("uint16x777"))) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len({id(d) for d in found}) == 1


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_wrap_into_their_range(name):
    dtype = DType(name)
    low, high = dtype.min_value, dtype.max_value
    assert fits(dtype, low) and fits(dtype, high) and not fits(dtype, high + 1) and not fits(dtype, low - 1)
    assert not fits(dtype, 0.5)
    for value in (low, high, 0):
        assert dtype.wrap(value) == value
    if not dtype.is_bool:
        assert dtype.wrap(high + 1) == low and dtype.wrap(low - 1) == high


@given(st.sampled_from([n for n in INTEGERS if n != "bool"]), st.integers(-(1 << 70), 1 << 70))
def test_wrapping_is_modular(name, value):
    dtype = DType(name)
    wrapped = dtype.wrap(value)
    assert fits(dtype, wrapped) and (wrapped - value) % (1 << dtype.bits) == 0


@pytest.mark.parametrize("name", FLOATS)
def test_float_ranges_are_those_of_ml_dtypes(name):
    import ml_dtypes
    import numpy as np

    dtype = DType(name)
    info = np.finfo(name) if dtype.code == 2 else ml_dtypes.finfo(name)
    assert (dtype.min_value, dtype.max_value) == (float(info.min), float(info.max))
    assert fits(dtype, dtype.max_value) and fits(dtype, -dtype.max_value)
    if name != "float64":
        assert not fits(dtype, dtype.max_value * 2)
    with np.errstate(all="ignore"):
        for value, known in ((math.inf, np.isinf), (math.nan, np.isnan)):
            held = np.array(value, dtype=np.float64).astype(dtype.numpy())
            assert fits(dtype, value) == bool(known(held.astype(np.float64)))


@given(st.sampled_from(FLOATS), st.floats())
def test_rounding_is_idempotent_and_agrees_with_numpy(name, value):
    import numpy as np

    dtype = DType(name)
    once = dtype.round(value)
    assert dtype.round(once) == once or math.isnan(once)
    with np.errstate(all="ignore"):
        assert np.array_equal(
            np.float64(value).astype(dtype.numpy()).astype(np.float64), once, equal_nan=True
        )


@pytest.mark.parametrize("name", [n for n in known_names() if n not in ("handle", "void", "int1", "uint1")])
def test_numpy_types_come_back(name):
    dtype = DType(name)
    assert DType(dtype.numpy()) is dtype
    assert dtype.with_lanes(4).numpy() == dtype.numpy()


def test_numpy_spellings():
    import numpy as np

    assert DType(np.float32) is DType("float32") and DType(np.dtype(">i2")) is DType("int16")
    assert DType(bool) is DType("bool") and DType(np.bool_) is DType("bool")
    for bad in (None, object(), "S3", np.dtype("U4"), np.dtype("M8[s]"), complex):
        with pytest.raises(DTypeError):
            DType(bad)
    for name in ("handle", "void"):
        with pytest.raises(DTypeError):
            DType(name).numpy()


def test_sizes():
    sizes = {"bool": 1, "int8": 1, "float32x4": 16, "float4_e2m1fn": 1, "int4x2": 1, "handle": 8}
    assert {name: DType(name).itemsize for name in sizes} == sizes
    assert storage_bits(DType("bool")) == 8 and storage_bits(DType("int4")) == 4
    with pytest.raises(DTypeError):
        _ = DType("float32xvscalex4").itemsize
    with pytest.raises(DTypeError):
        _ = DType("handle").max_value


def test_literals_need_no_numpy():
    code = (
        "import sys; from loopwright.ir import FloatImm, IntImm\n"
        "FloatImm('float16', 1.5); IntImm('int4', 3)\n"
        "print('numpy' in sys.modules or 'ml_dtypes' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
