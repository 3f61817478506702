"""Functions in packed form compute what they did, called as any other language would call them."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import loopwright
from loopwright.dtype import DType
from loopwright.errors import PassError
from loopwright.ir import BufferType, IRModule, PrimFunc
from loopwright.script import parse
from loopwright.testing.results import copies, sample_arguments
from loopwright.testing.strategies import prim_funcs
from loopwright.transform import get_pass, sequential

PACK = sequential(
    get_pass("tirx.BindTarget", target="llvm"),
    get_pass("tirx.MakePackedAPI"),
    get_pass("tirx.LowerTVMBuiltin"),
)
INT, BOOL, FLOAT, TENSOR = 1, 2, 3, 7


class Descriptor(ctypes.Structure):
    """A DLTensor."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    ]


class Value(ctypes.Union):
    """What a cell holds."""

    _fields_ = [("integer", ctypes.c_int64), ("real", ctypes.c_double), ("pointer", ctypes.c_void_p)]


class Cell(ctypes.Structure):
    """An argument."""

    _fields_ = [("kind", ctypes.c_int32), ("padding", ctypes.c_uint32), ("value", Value)]


class Call:
    """A packed function and the memory of its arguments."""

    def __init__(self, func: PrimFunc, arguments: list[Any]) -> None:
        self.function = loopwright.build(PACK(IRModule.from_expr(func)))[str(func.attrs["global_symbol"])]
        self.kept: list[Any] = []
        self.cells = (Cell * (len(arguments) or 1))()
        self.count = len(arguments)
        self.result = Cell()
        for cell, param, argument in zip(self.cells, func.params, arguments):
            self.fill(cell, param.ty, argument)

    def fill(self, cell: Cell, ty: Any, argument: Any) -> None:
        if not isinstance(ty, BufferType):
            kind = BOOL if isinstance(argument, bool) else FLOAT if isinstance(argument, float) else INT
            cell.kind = kind
            if kind == FLOAT:
                cell.value.real = argument
            else:
                cell.value.integer = int(argument)
            return
        shape = (ctypes.c_int64 * (argument.ndim or 1))(*argument.shape)
        dtype = DType(str(argument.dtype))
        made = Descriptor(argument.ctypes.data, 1, 0, argument.ndim, dtype.code, dtype.bits, 1)
        made.shape = ctypes.addressof(shape)
        self.kept += [argument, shape, made]
        cell.kind, cell.value.pointer = TENSOR, ctypes.addressof(made)

    def __call__(self) -> Any:
        pointers = [ctypes.c_void_p(ctypes.addressof(x)) for x in (self.cells, self.result)]
        status = self.function(ctypes.c_void_p(0), pointers[0], self.count, pointers[1])
        assert status == 0
        kind, value = self.result.kind, self.result.value
        return {0: None, INT: value.integer, BOOL: bool(value.integer), FLOAT: value.real}[kind]


def plain(text: str) -> PrimFunc:
    func = parse(text)
    assert isinstance(func, PrimFunc)
    return func


SCALE = plain(
    """
@T.prim_func
def scale(A: T.Buffer(("n", 3), "float32"), B: T.Buffer(("n", 3), "float32"), k: T.float32) -> T.int32:
    for i, j in T.grid(A.shape[0], 3):
        B[i, j] = A[i, j] * k
    return A.shape[0]
"""
)


def packable(func: PrimFunc) -> bool:
    """Whether this file can fill the cells: whole bytes, compact."""
    for p in func.params:
        if isinstance(p.ty, BufferType) and (
            p.dtype.bits < 8 or p.ty.strides or p.ty.elem_offset is not None
        ):
            return False
    return "global_symbol" in func.attrs


@settings(max_examples=15)
@given(func=prim_funcs(executable=True).filter(packable), seed=st.integers(0, 3))
def test_a_packed_call_computes_the_same(func: PrimFunc, seed: int) -> None:
    arguments = sample_arguments(func, seed)
    expected = copies(arguments)
    func.interpret(*expected)
    Call(func, arguments)()
    for got, want in zip(arguments, expected):
        np.testing.assert_array_equal(np.asarray(got, np.float64), np.asarray(want, np.float64))


def test_results_come_back_in_a_cell() -> None:
    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.zeros((2, 3), np.float32)
    assert Call(SCALE, [a, b, 2.0])() == 2
    np.testing.assert_array_equal(b, a * 2)
    assert Call(SCALE, [a, b, 3])() == 2  # a float parameter takes an integer
    np.testing.assert_array_equal(b, a * 3)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ([np.zeros((2, 3), np.float32), np.zeros((3, 3), np.float32), 1.0], ValueError),
        ([np.zeros((2, 4), np.float32), np.zeros((2, 4), np.float32), 1.0], ValueError),
        ([np.zeros(6, np.float32), np.zeros((2, 3), np.float32), 1.0], ValueError),
        ([np.zeros((2, 3), np.float64), np.zeros((2, 3), np.float32), 1.0], TypeError),
    ],
)
def test_wrong_arguments_are_refused(arguments: list[Any], error: type[Exception]) -> None:
    with pytest.raises(error, match="Mismatched"):
        Call(SCALE, arguments)()


def test_the_number_of_arguments_is_checked() -> None:
    call = Call(SCALE, [np.zeros((2, 3), np.float32), np.zeros((2, 3), np.float32), 1.0])
    call.count = 2
    with pytest.raises(TypeError, match="Expected 3 arguments"):
        call()


def test_a_target_is_needed() -> None:
    with pytest.raises(PassError, match="BindTarget"):
        get_pass("tirx.MakePackedAPI")(IRModule.from_expr(SCALE))
