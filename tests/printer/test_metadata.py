from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from loopwright.errors import ScriptError
from loopwright.ir import AnyType, Evaluate, GenericConst, SeqStmt
from loopwright.printer import metadata, script

DTYPES = st.sampled_from(["float32", "float64", "int8", "uint16", "int64", "bool", ">f4", "float16"])


def constant(array):
    return Evaluate(GenericConst(AnyType(), array))


@given(
    DTYPES.flatmap(lambda d: hnp.arrays(d, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)))
)
def test_arrays_come_back_bit_for_bit(array):
    found = metadata.decode(script(constant(array), show_meta=True))
    (again,) = found["constant"]
    assert again.shape == array.shape
    assert again.dtype == array.dtype.newbyteorder("=")
    assert again.tobytes() == array.astype(again.dtype).tobytes()
    assert not again.flags.writeable


def test_small_floats_come_back():
    import ml_dtypes

    array = np.arange(4).astype(ml_dtypes.bfloat16)
    (again,) = metadata.decode(script(constant(array), show_meta=True))["constant"]
    assert again.dtype == array.dtype and again.tobytes() == array.tobytes()


def test_equal_constants_share_a_number():
    a, b = np.zeros((2, 3), "float32"), np.ones(3, "int8")
    body = SeqStmt([constant(a), constant(b), constant(a.copy()), constant(a.reshape(3, 2))])
    text = script(body)
    rows = [f'T.evaluate(metadata["constant"][{i}])' for i in (0, 1, 0, 2)]
    assert text.split("\n") == [*rows, metadata.OMITTED]
    shown = script(body, show_meta=True)
    assert shown.startswith('metadata = {"constant": [{"dtype": "float32", "shape": [2, 3], "data": "')
    assert shown.split("\n")[2:] == rows


def test_text_without_metadata_gives_nothing():
    assert metadata.decode("x = 1\n") == {}
    assert metadata.decode('{"constant": []}') == {"constant": []}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("metadata = 3", "dictionary of lists"),
        ('metadata = {"constant": 3}', "dictionary of lists"),
        ("metadata = {3: []}", "keys of metadata are strings"),
        ('metadata = {"constant": [1]}', "needs `dtype`"),
        ('metadata = {"constant": [{"dtype": "int8", "shape": [], "data": "?"}]}', "cannot be decoded"),
        ('metadata = {"constant": [{"dtype": "int8", "shape": [2], "data": "AA=="}]}', "cannot be decoded"),
        ('metadata = {"constant": [{"dtype": "nope", "shape": [], "data": "AA=="}]}', "cannot be decoded"),
        ('metadata = {"constant": [{"dtype": "int8", "shape": [n], "data": "AA=="}]}', "list of numbers"),
    ],
)
def test_malformed_metadata_is_refused_at_its_place(text, message):
    with pytest.raises(ScriptError, match=message) as found:
        metadata.decode(text + "\n")
    assert found.value.diagnostics[0].span is not None
