from __future__ import annotations

import array
import gc
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.dtype import DType, known_names
from loopwright.errors import ArgumentTypeError, ArgumentValueError, UnsupportedError
from loopwright.runtime import Device, Tensor, dlpack, empty, from_dlpack, tensor
from loopwright.runtime.tensor import pack, packed_bits, unpack

NAMES = [n for n in known_names() if n not in ("handle", "void")]
SHAPES = st.lists(st.integers(0, 5), max_size=3).map(tuple)


class Foreign:
    """Memory that shows itself through DLPack only."""

    def __init__(self, inner: Tensor) -> None:
        self.inner = inner

    def __dlpack__(self, **options: object) -> object:
        return self.inner.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.inner.__dlpack_device__()


def sample(dtype: DType, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Values that every dtype has exactly."""
    bits = np.random.default_rng(seed).integers(0, 2, shape) + (dtype == "float8_e8m0fnu")  # which has no 0
    return (-bits if dtype.is_int else bits).astype(dtype.numpy())


@given(st.sampled_from(NAMES), SHAPES, st.integers(0, 99))
def test_every_dtype_keeps_its_elements(name: str, shape: tuple[int, ...], seed: int) -> None:
    dtype = DType(name)
    source = sample(dtype, shape, seed)
    made = empty(shape, name).copyfrom(source)
    assert (made.shape, made.dtype, made.ndim, made.size) == (shape, dtype, len(shape), math.prod(shape))
    assert (made.size == 0 or made.data_ptr() % 64 == 0) and made.is_contiguous()
    assert made.numpy().dtype == dtype.numpy() and (made.numpy() == source).all()
    assert (made.copy().numpy() == source).all() and (tensor(made).numpy() == source).all()
    assert (tensor(source).numpy() == source).all()


@given(st.sampled_from(NAMES), SHAPES, st.integers(0, 99))
def test_dlpack_there_and_back_is_the_same_memory(name: str, shape: tuple[int, ...], seed: int) -> None:
    dtype = DType(name)
    made = empty(shape, name).copyfrom(sample(dtype, shape, seed))
    if dtype.bits == 6:
        with pytest.raises(ArgumentTypeError, match="6"):
            from_dlpack(Foreign(made))
        return
    back = from_dlpack(Foreign(made))
    assert (back.shape, back.dtype) == (made.shape, made.dtype)
    assert back.size == 0 or (back.data_ptr(), back.strides) == (made.data_ptr(), made.strides)
    assert (back.numpy() == made.numpy()).all()


def test_capsules_are_freed_used_or_not() -> None:
    gc.collect()
    before = len(dlpack._alive)
    made = empty((3,), "bfloat16")
    unused, used = made.__dlpack__(), from_dlpack(Foreign(made))
    assert len(dlpack._alive) == before + 2
    del unused, used
    gc.collect()
    assert len(dlpack._alive) == before


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(-3, 3).filter(bool)), min_size=1, max_size=3))
def test_strides_of_numpy_survive(axes: list[tuple[int, int]]) -> None:
    whole = np.arange(math.prod([n * abs(s) for n, s in axes])).reshape([n * abs(s) for n, s in axes])
    part = whole[tuple([slice(None, None, s) for _, s in axes])]
    made = from_dlpack(part)
    assert made.numpy() is part
    assert made.strides == tuple([s // 8 for s in part.strides])
    assert (np.from_dlpack(made) == part).all() and (made.reshape((-1,)).numpy() == part.reshape(-1)).all()
    foreign = from_dlpack(Foreign(made))
    assert foreign.strides == made.strides and (foreign.numpy() == part).all()


@given(
    st.sampled_from(["int1", "uint1", "int2", "uint2", "int4", "uint4", "float4_e2m1fn"]),
    st.binary(max_size=9),
)
def test_packing(name: str, data: bytes) -> None:
    dtype = DType(name)
    count = len(data) * 8 // dtype.bits
    packed = np.frombuffer(data, np.uint8)
    assert (pack(unpack(packed, count, dtype), dtype) == packed).all()


def test_packed_sizes() -> None:
    assert empty((8,), "int4")._array.nbytes == 4
    assert empty((9,), "uint1")._array.nbytes == 2
    assert packed_bits(DType("float6_e2m3fn")) == 0
    made = tensor(np.array([1, -2, 3], "int8"), "int4")
    assert made.numpy().tolist() == [1, -2, 3] and made._array.tolist() == [0xE1, 0x03]


def test_vector_lanes_are_a_last_dimension() -> None:
    made = empty((3,), "float32x4")
    assert made.shape == (3,) and made.numpy().shape == (3, 4) and made.strides == (1,)
    assert from_dlpack(Foreign(made)).dtype == "float32x4"


def test_views_and_copies() -> None:
    made = tensor(np.arange(6, dtype="int32"))
    assert made.view((2, 3)).numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert made.view((-1, 2)).shape == (3, 2)
    assert made.view((24,), "uint8").numpy()[4] == 1
    made.view((2, 3)).numpy()[0, 0] = 7
    assert made.numpy()[0] == 7
    with pytest.raises(ArgumentValueError, match="bits"):
        made.view((4,))
    with pytest.raises(ArgumentValueError, match="gaps"):
        from_dlpack(np.zeros((4, 4))[:, ::2]).view((8,))
    target = empty((6,), "float64")
    assert made.copyto(target) is target and target.numpy().tolist() == [7, 1, 2, 3, 4, 5]
    assert made.copyto("cpu") is not made
    with pytest.raises(ArgumentValueError, match="shape"):
        made.copyfrom(np.zeros(5))


def test_other_sources() -> None:
    buffer = array.array("d", [1.0, 2.0])
    shared = from_dlpack(buffer)
    shared.numpy()[0] = 5.0
    assert buffer[0] == 5.0 and shared.dtype == "float64"
    assert tensor([[1, 2], [3, 4]], "float16").numpy().dtype == np.float16
    assert tensor(3).shape == () and tensor(3).item() == 3
    assert np.asarray(tensor([1, 2])).tolist() == [1, 2]


def test_what_is_refused() -> None:
    with pytest.raises(ArgumentTypeError, match="byte order"):
        from_dlpack(np.zeros(3, ">f4"))
    with pytest.raises(ArgumentTypeError, match="neither"):
        from_dlpack("text")
    with pytest.raises(ArgumentTypeError, match="handle"):
        empty((1,), "handle")
    with pytest.raises(ArgumentValueError, match="negative"):
        empty((2, -1))
    with pytest.raises(UnsupportedError, match="vulkan"):
        empty((1,), "float32", Device("vulkan"))
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    assert from_dlpack(frozen).readonly
    with pytest.raises(ArgumentValueError, match="read-only"):
        from_dlpack(frozen).copyfrom(np.ones(3))
    with pytest.raises(BufferError):
        from_dlpack(frozen).__dlpack__()
