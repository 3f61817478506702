"""Tensor intrinsics of CUDA: what they do in the simulator is what they describe."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from loopwright import build, te
from loopwright.errors import ArgumentValueError
from loopwright.ir import IRModule, PrimFunc
from loopwright.schedule import Schedule
from loopwright.schedule.intrinsics import fragments, mma_small, wmma
from loopwright.schedule.intrinsics.cuda import has_sum, load_name, makers, sync_name
from loopwright.schedule.intrinsics.fragments import INPUTS, OUTPUTS, Element, columns, result, rows
from loopwright.schedule.tensor_intrin import TensorIntrin

Map = Callable[[Any, Any], tuple[Any, Any]]


class Case(NamedTuple):
    """A product of one tile: types, shape, how the operands are stored, the scopes and intrinsics of its parts."""

    operand: str
    total: str
    shape: tuple[int, int, int]
    across: tuple[bool, bool]
    shared: str
    scopes: tuple[str, str, str]
    names: tuple[str, str, str, str, str]
    layouts: tuple[Map, Map, Map] | None = None


def mma(e: Element, c: Element, a_across: bool, b_across: bool, shared: str) -> Case:
    """A product by `ldmatrix` and `mma.sync`; `b_across` says that columns of the right operand are stored."""
    wide = e.bits == 16
    left: Map = functools.partial(rows, e) if wide or not a_across else lambda i, j: rows(e, j, i)
    right: Map = functools.partial(rows if wide or b_across else columns, e)
    names = (
        load_name(e, False, a_across, shared),
        load_name(e, True, b_across, shared),
        f"mma_fill_16x16_{c.short}",
        sync_name(e, c, a_across, b_across),
        f"mma_store_16x16_{c.short}_global_",
    )
    shape, scopes = (16, 16, e.depth), ("warp", "warp", "warp")
    return Case(e.dtype, c.dtype, shape, (a_across, b_across), shared, scopes, names, (left, right, result))


def by_wmma(e: Element, c: Element, b_across: bool, shared: str) -> Case:
    """A product by WMMA."""
    tail, dyn = "_trans" * b_across, "_dyn" * (shared == "shared.dyn")
    names = (
        f"wmma_load_16x16x16_{e.scalar}_a_shared{dyn}",
        f"wmma_load_16x16x16_{e.scalar}_b{tail}_shared{dyn}",
        f"wmma_fill_16x16x16_{c.scalar}",
        f"wmma_sync_16x16x16_{e.scalar}{e.scalar}{c.scalar}{tail}",
        f"wmma_store_16x16x16_{c.scalar}_global",
    )
    scopes = ("wmma.matrix_a", "wmma.matrix_b", "wmma.accumulator")
    return Case(e.dtype, c.dtype, (16, 16, 16), (False, b_across), shared, scopes, names)


def small(c: Element) -> Case:
    """A product of 16 by 8 by 8."""
    names = (
        "mma_load_m16n8k8_f16_A_shared_dyn",
        "mma_load_m16n8k8_f16_B_shared_dyn",
        f"mma_init_m16n8k8_{c.short}",
        f"mma_sync_m16n8k8_f16f16{c.short}",
        f"mma_store_m16n8k8_{c.short}_global",
    )
    scopes = ("m16n8k8.matrixA", "m16n8k8.matrixB", "m16n8k8.matrixC")
    return Case("float16", c.dtype, (16, 8, 8), (False, False), "shared.dyn", scopes, names)


def cases() -> dict[str, Case]:
    """Each intrinsic in a product."""
    found = {}
    sides = ((False, False), (True, True), (False, True), (True, False))
    for e in INPUTS.values():
        for c in OUTPUTS.values():
            # all ways to load the widest and the narrowest elements, and those that instructions transpose
            every = (e.short, c.short) in (("f16", "f32"), ("tf32", "f32"), ("i8", "i32"))
            for across in sides if every else sides[:2] if has_sum(e, c) else ():
                found[sync_name(e, c, *across)] = mma(e, c, *across, "shared.dyn" if across[0] else "shared")
    for short, out, across in (
        ("f16", "f16", False),
        ("f16", "f32", True),
        ("bf16", "f32", True),
        ("i8", "i32", False),
    ):
        case = by_wmma(INPUTS[short], OUTPUTS[out], across, "shared.dyn" if across else "shared")
        found[case.names[3]] = case
    for out in ("f16", "f32"):
        case = small(OUTPUTS[out])
        found[case.names[3]] = case
    return found


CASES = cases()


def in_parts(case: Case) -> PrimFunc:
    """The product in a kernel of one warp, each part by its intrinsic."""
    m, n, k = case.shape
    a = te.placeholder((k, m) if case.across[0] else (m, k), case.operand, name="A")
    b = te.placeholder((n, k) if case.across[1] else (k, n), case.operand, name="B")
    r = te.reduce_axis((0, k), name="k")

    def term(i: Any, j: Any) -> Any:
        x, y = a[(r, i) if case.across[0] else (i, r)], b[(j, r) if case.across[1] else (r, j)]
        same = case.operand == case.total
        return te.sum(x * y if same else x.astype(case.total) * y.astype(case.total), axis=r)

    sch = Schedule(te.create_prim_func([a, b, te.compute((m, n), term, name="C")]))
    block = sch.get_sblock("C")
    warp, *_ = sch.split(sch.get_loops(block)[0], [1, None])
    sch.bind(warp, "blockIdx.x")
    last = sch.cache_write(block, 0, case.shared) if case.scopes[2] == "m16n8k8.matrixC" else None
    done = sch.cache_write(block, 0, case.scopes[2])
    parts = []
    for number in range(2):
        copy = sch.cache_read(block, number, case.shared)
        parts.append(sch.cache_read(block, number, case.scopes[number]))
        sch.compute_at(parts[-1], warp)
        sch.compute_at(copy, warp)
        sch.bind(sch.split(sch.fuse(*sch.get_loops(copy)[1:]), [None, 32])[1], "threadIdx.x")
    sch.reverse_compute_at(done, warp)
    if last is not None:
        sch.reverse_compute_at(last, warp)
        sch.bind(sch.split(sch.fuse(*sch.get_loops(last)[1:]), [None, 32])[1], "threadIdx.x")
    start = sch.decompose_reduction(block, sch.get_loops(block)[1])
    if case.layouts is not None:
        for part, layout in zip((*parts, block), case.layouts):
            sch.transform_layout(part, ("write", 0), layout)
    for part, name in zip((*parts, start, block, done), case.names):
        sch.tensorize(sch.get_loops(part)[1], name)
    made = sch.mod["main"]
    assert isinstance(made, PrimFunc)
    return made


@functools.cache
def built() -> Any:
    """The kernels of all cases in one source."""
    functions = {name: in_parts(case).with_attr("global_symbol", name) for name, case in CASES.items()}
    return build(IRModule(functions), "cuda-sim -arch=sm_90 -seed=3", schedule=None)


@pytest.mark.skipif(shutil.which("g++") is None, reason="the simulator needs g++")
@pytest.mark.parametrize("name", CASES)
def test_products_of_a_tile_are_exact(name: str) -> None:
    case = CASES[name]
    m, n, k = case.shape
    rng = np.random.default_rng(len(name))
    a, b = (rng.integers(-2, 3, shape) for shape in ((m, k), (k, n)))
    operand, total = (INPUTS_BY_DTYPE[d] for d in (case.operand, case.total))
    c = np.zeros((m, n), total)
    stored = [x.T if across else x for x, across in zip((a, b), case.across)]
    built()[name](*[np.ascontiguousarray(x).astype(operand) for x in stored], c)
    np.testing.assert_array_equal(c.astype("float64"), (a @ b).astype("float64"))


INPUTS_BY_DTYPE = {
    e.dtype: TensorIntrin.get(f"mma_fill_16x16_{e.short}").desc.params[0].dtype.numpy()  # type: ignore[union-attr]
    for e in OUTPUTS.values()
} | {
    e.dtype: TensorIntrin.get(load_name(e, False, False, "shared")).desc.params[0].dtype.numpy()  # type: ignore[union-attr]
    for e in INPUTS.values()
}


def test_every_name_makes_a_pair() -> None:
    """Names stand for a description and an implementation, made when they are asked for."""
    names = makers()
    assert len(names) > 140
    for name in list(names)[::7]:
        found = TensorIntrin.get(name)
        assert found is not None and len(found.desc.params) == len(found.impl.params)


@pytest.mark.parametrize("e", INPUTS.values(), ids=INPUTS)
def test_a_lane_holds_each_element_once(e: Element) -> None:
    """Places and cells are inverse, and each element of a tile has a place of its own."""
    pairs = [
        (rows, fragments.rows_cell, (16, e.depth)),
        (columns, fragments.columns_cell, (e.depth, 16)),
    ]
    for place, cell, (height, width) in pairs:
        seen = set()
        for i in range(height):
            for j in range(width):
                lane, at = place(e, i, j)
                assert 0 <= lane < 32 and 0 <= at < e.held
                assert cell(e, lane, at) == (i, j)
                seen.add((lane, at))
        assert len(seen) == height * width
    for i in range(16):
        for j in range(16):
            assert fragments.result_cell(*result(i, j)) == (i, j)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: fragments.input_of("float64"), "tensor cores do not know the type `float64`"),
        (lambda: fragments.output_of("float16x2"), "known are float16, float32, int32"),
        (lambda: mma_small.load((16, 8, 16), "float16", "shared", False, False), "16 by 8 by 16"),
        (lambda: mma_small.load((16, 8, 8), "int8", "shared", False, False), "16-bit elements, not `int8`"),
        (lambda: TensorIntrin.get("mma_f16f16f33"), "there is no tensor intrinsic `mma_f16f16f33`"),
    ],
)
def test_what_there_is_not_is_refused(make: Callable[[], Any], text: str) -> None:
    with pytest.raises(ArgumentValueError, match=text):
        make()


def test_fragments_are_counted_by_rows() -> None:
    load, _ = wmma.load(wmma.CUBE, "float16", "shared", False, False)
    assert [p.name for p in load.params] == ["A", "C"]
    text = wmma.place("A", 16, 16)
    for row, column, stride in ((0, 0, 64), (16, 32, 64), (48, 16, 128)):
        offset = row * stride + column
        value = eval(text.replace("A.strides[0]", str(stride)).replace("A.elem_offset", str(offset)))
        assert value == row // 16 * (stride // 16) + column // 16
