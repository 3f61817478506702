"""`tvm.s_tir.transform`: passes by the peer's names, refusing with the peer's kind of error."""

from __future__ import annotations

import importlib

import pytest

import loopwright.compat
from loopwright.ir import IRModule, StringImm, find
from loopwright.script import parse

VIEW = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8, 8), "float32"), m: T.int32):
    for i in range(8):
        with T.sblock("b"):
            T.writes(A[i, 0:4])
            B = T.match_buffer(A[i, 0:4], (4,), strides=[m], offset_factor=1)
            B[0] = T.float32(1)
"""

PRAGMA = """
@T.prim_func
def main(A: T.Buffer((8,), "float32")):
    for i in T.serial(8, annotations={"pragma_name": "text"}):
        A[i] = T.float32(1)
"""


@pytest.fixture
def transform():
    loopwright.compat.install()
    try:
        yield importlib.import_module("tvm.s_tir.transform")
    finally:
        loopwright.compat.uninstall()


def test_a_refused_program_raises_a_runtime_error(transform):
    with pytest.raises(RuntimeError, match="has `m` in its type"):
        transform.LowerMatchBuffer()(IRModule.from_expr(parse(VIEW)))


def test_a_string_constant_equals_its_text(transform):
    mod = transform.LowerOpaqueBlock()(IRModule.from_expr(parse(PRAGMA)))
    (attr,) = find(mod["main"], type(mod["main"].body))
    assert isinstance(attr.value, StringImm)
    assert attr.value == "text" and attr.value != "other"


def test_options_go_by_position_and_flags_have_the_peers_numbers(transform):
    assert transform.CompactBufferAllocation(False).options == {"is_strict": False}
    assert transform.HoistIfThenElse("basic").options == {"variant": "basic"}
    assert transform.HoistedConditionals.All.value == 15
    assert transform.HoistedLetBindings.All.value == 7
    assert importlib.import_module("tvm.ir.transform").Sequential is not None


def test_a_pass_for_devices_says_when_it_comes(transform):
    with pytest.raises(AttributeError, match="comes with the targets that need it"):
        transform.LowerAsyncDMA
