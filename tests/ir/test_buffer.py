"""Buffer variables: fields, pointers, offsets, indexing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright import ir
from loopwright.errors import DTypeError, UnsupportedError
from loopwright.ir.buffer import NotABufferError, decl_buffer, index_ranges, slice_to_ramp

i, j = ir.Var("i"), ir.Var("j")
k = ir.Var("k", "int64")
f = ir.Var("f", "float32")
v4 = ir.Var("v4", "float32x4")
A = decl_buffer((8, 16), name="A")
B = decl_buffer((i, j), "float16", "B", strides=(j, 1), elem_offset=8, scope="shared")


def test_fields():
    assert [d.value for d in A.shape] == [8, 16] and A.strides == () and A.elem_offset.value == 0
    assert (A.scope(), A.data_alignment, A.offset_factor, A.layout, A.allocated_addr) == (
        "global",
        64,
        1,
        None,
        (),
    )
    assert A.dtype == "float32" and A.name == "A"
    assert B.strides[0] is j and B.elem_offset.value == 8 and B.scope() == "shared"
    assert A.data.op.name == "tirx.buffer_data" and A.data.args == (A,)
    assert (B.data.ty.element_type, B.data.ty.storage_scope) == (ir.PrimType("float16"), "shared")


def test_declaring():
    symbolic = decl_buffer((i, 4), offset_factor=4)
    assert symbolic.elem_offset.name == "buffer_elem_offset" and symbolic.offset_factor == 4
    assert decl_buffer((k,), offset_factor=1).elem_offset.dtype == "int64"
    assert decl_buffer(5).shape[0].value == 5 and decl_buffer(()).shape == ()
    assert decl_buffer((4,), "int8", data=B.data).scope() == "shared"
    assert decl_buffer((4,), elem_offset=0).ty.elem_offset is None
    assert decl_buffer((4,), data_alignment=16).data_alignment == 16
    with pytest.raises(DTypeError):
        decl_buffer((4, 4), strides=(1,))


@given(st.data())
def test_offsets_are_those_of_the_flattened_buffer(data):
    rank = data.draw(st.integers(1, 4))
    shape = data.draw(st.lists(st.integers(1, 6), min_size=rank, max_size=rank))
    place = [data.draw(st.integers(0, n - 1)) for n in shape]
    offset = data.draw(st.sampled_from([None, 0, 7]))
    strides = data.draw(st.one_of(st.none(), st.lists(st.integers(0, 9), min_size=rank, max_size=rank)))
    buffer = decl_buffer(shape, strides=strides, elem_offset=offset)
    steps = strides
    if steps is None:
        steps = [1] * rank
        for n in reversed(range(rank - 1)):
            steps[n] = steps[n + 1] * shape[n + 1]
    expected = sum(p * s for p, s in zip(place, steps, strict=True)) + (offset or 0)
    assert buffer.offset_of(place)[0].value == expected
    flat = buffer.get_flattened_buffer()
    assert len(flat.shape) == 1 and flat.strides == () and flat.name == buffer.name


def test_offsets_as_calls():
    assert A.elem_offset_of((1, 2)).op.name == "tirx.buffer_offset"
    byte = A.byte_offset_of((1, 2))
    assert type(byte) is ir.FloorDiv and byte.a.b.value == 32 and byte.b.value == 8
    assert decl_buffer((4,), "bool").byte_offset_of(1).a.b.value == 8


def test_pointers():
    pointer = A.access_ptr("r")
    assert [a.value for a in pointer.args[2:]] == [0, 128, 1] and pointer.args[0].dtype == "float32"
    assert [a.value for a in A.access_ptr("rw", offset=8, extent=4).args[2:]] == [8, 4, 3]
    wide = A.access_ptr("w", content_lanes=4)
    assert wide.args[0].dtype == "float32x4" and wide.args[3].value == 32
    moved = B.access_ptr("r", offset=4)
    assert moved.args[2].value == 12 and type(moved.args[3]) is ir.Sub and moved.ty.storage_scope == "shared"
    assert A.access_ptr(3, ptr_type="uint8").ty.element_type == "uint8"
    with pytest.raises(DTypeError, match="letters r and w"):
        A.access_ptr("q")
    element = A.ptr_to([1, i])
    assert element.op.name == "tirx.address_of" and type(element.args[0]) is ir.BufferLoad


def test_loads_and_stores():
    assert A.vload((1, 2)).indices[1].value == 2
    vector = A.vload((1, i), "float32x4")
    assert vector.dtype == "float32x4" and type(vector.indices[1]) is ir.Ramp
    assert A.vload((1, ir.Ramp(0, 1, 4))).dtype == "float32x4"
    store = A.vstore((1, 2), v4)
    assert type(store) is ir.BufferStore and store.indices[1].dtype == "int32x4"
    assert A.vstore([0, 0], 1).value.dtype == "float32"
    with pytest.raises(DTypeError, match="does not make up"):
        A.vload((0, 0), "int32x4")


def test_copies():
    assert A.with_dtype("int32").dtype == "int32" and A.with_dtype("int32").name == "A"
    assert A.with_allocated_addr(4).allocated_addr[0].value == 4
    line = decl_buffer((4,))
    assert line.get_flattened_buffer() is line
    assert decl_buffer(()).get_flattened_buffer().shape[0].value == 1


def region(e):
    assert type(e) is ir.BufferRegion
    return [(r.min, r.extent) for r in e.region]


def test_elements():
    load = A[1, i]
    assert type(load) is ir.BufferLoad and load.indices[1] is i
    assert A[[1, 2]].indices[0].value == 1 and type(decl_buffer(())[()]) is ir.BufferLoad
    assert A[k, 0].indices[0] is k and A[ir.IterVar(ir.Range(0, 4), i, 0), 0].indices[0] is i
    assert A[0, ir.Ramp(0, 1, 4)].dtype == "float32x4"


def test_regions():
    (first, one), (zero, rest) = region(A[3])
    assert (first.value, one.value, zero.value, rest.value) == (3, 1, 0, 16)
    assert [(m.value, e.value) for m, e in region(A[:])] == [(0, 8), (0, 16)]
    assert [(m.value, e.value) for m, e in region(A[2:, 1:5])] == [(2, 6), (1, 4)]
    start, extent = region(A[i : i + 4, 0])[0]
    assert start is i and extent.value == 4
    start, extent = region(A[i * 2 : i * 2 + 8, 0])[0]
    assert extent.value == 8
    wide, count = region(decl_buffer((k, 4))[k])[0]
    assert count.dtype == "int64"
    assert len(index_ranges(A, (i,))) == 2


@given(st.integers(0, 8), st.integers(1, 16), st.integers(1, 5))
def test_slices_as_vectors_name_what_python_slices_name(start, count, step):
    index = slice_to_ramp(slice(start, start + count, step), ir.const(99))
    named = list(range(start, start + count, step))
    if len(named) == 1:
        assert index.value == start
    else:
        got = [index.base.value + n * index.stride.value for n in range(index.dtype.lanes)]
        assert got == named


def test_a_slice_with_a_step_reads_a_vector():
    load = A[0, i : i + 8 : 2]
    assert load.dtype == "float32x4" and load.indices[1].base is i
    with pytest.raises(DTypeError, match="constant number"):
        A[0, 0:i:2]
    with pytest.raises(DTypeError, match="step"):
        A[0:8:2, 0]
    assert type(A[0:8:1, 0]) is ir.BufferRegion


def test_wrong_indices():
    with pytest.raises(DTypeError, match="2 dimensions but 3 indices"):
        A[1, 2, 3]
    for place in (1.5, f, ..., None):
        with pytest.raises(DTypeError, match="must be an integer"):
            A[0, place]
    with pytest.raises(TypeError, match="not iterable"):
        list(A)
    with pytest.raises(DTypeError, match="1 indices|dimensions"):
        A.vload((1,))


@pytest.mark.parametrize(
    "name",
    [
        "shape",
        "strides",
        "elem_offset",
        "data",
        "data_alignment",
        "offset_factor",
        "layout",
        "allocated_addr",
    ],
)
def test_other_variables_have_no_such_attribute(name):
    for var in (i, ir.Var("h", ir.HANDLE)):
        assert not hasattr(var, name)
        with pytest.raises(NotABufferError, match=f"`{var.name}`.*`{name}`"):
            getattr(var, name)


def test_other_variables_cannot_be_used_as_buffers():
    for use in (
        lambda: i[0],
        lambda: i.scope(),
        lambda: i.access_ptr("r"),
        lambda: i.vload(0),
        lambda: i.view(4),
    ):
        with pytest.raises(AttributeError, match="`i` of type `int32` is not a buffer"):
            use()
    with pytest.raises(TypeError, match="decl_buffer"):
        ir.Var("h", ir.HANDLE)[0]


@pytest.mark.parametrize("name", ["view", "local", "permute", "rearrange", "sub", "tile", "chunk"])
def test_native_views_wait(name):
    with pytest.raises(UnsupportedError, match=f"A.{name}"):
        getattr(A, name)(4)
