"""Products of a matrix and a vector, or a few, on GPUs: what they compute, and what the rules leave to others."""

from __future__ import annotations

import shutil
from typing import Any, NamedTuple

import pytest

from loopwright import build, te
from loopwright.ir import IRModule, PrimFunc, PrimType, Var, walk
from loopwright.ir.stmt import For
from loopwright.schedule import Schedule
from loopwright.schedule.dlight.cpu.tvm_gemv import tvm_gemv
from loopwright.schedule.dlight.cpu.tvm_reduction import tvm_reduction
from loopwright.schedule.dlight.gpu.apply import schedule_for_gpu
from loopwright.schedule.dlight.gpu.gemv import gemv
from loopwright.schedule.dlight.gpu.low_batch_gemv import low_batch_gemv
from loopwright.target import Target
from loopwright.testing.devices import on_device
from loopwright.testing.results import assert_same_results, sample_arguments

RULES = (gemv, low_batch_gemv(4))
AMPERE = "cuda -arch=sm_80"


class Shape(NamedTuple):
    """A product: sizes (names for those known at run time only), types, how the matrix is stored, what follows."""

    rows: int | str
    terms: int | str
    batch: int | str | None = None
    vectors: int | str | None = None
    operand: str = "float32"
    total: str = "float32"
    across: bool = False
    first: str = "vector"
    packed: int = 0
    after: str = ""


def product(shape: Shape) -> PrimFunc:
    """`C[b, v, i]`, the sum of `A[b, v, k] * M[b, i, k]`; M may be bytes with a scale for so many terms."""
    known: dict[str, Var] = {}

    def size(n: int | str) -> Any:
        return known.setdefault(n, Var(n, PrimType("int32"))) if isinstance(n, str) else n

    rows, terms = size(shape.rows), size(shape.terms)
    batch = () if shape.batch is None else (size(shape.batch),)
    many = () if shape.vectors is None else (size(shape.vectors),)
    v = te.placeholder((*batch, *many, terms), shape.operand, name="V")
    inputs = [v]
    if shape.packed:
        q = te.placeholder((rows, terms), "int8", name="Q")
        scale = te.placeholder((rows, -(-terms // shape.packed)), shape.operand, name="S")
        inputs += [q, scale]
        m = te.compute(
            (rows, terms), lambda i, k: q[i, k].astype(shape.operand) * scale[i, k // shape.packed], "M"
        )
    else:
        m = te.placeholder(
            (*batch, *((terms, rows) if shape.across else (rows, terms))), shape.operand, name="M"
        )
        inputs.append(m)
    r = te.reduce_axis((0, terms), name="k")

    def term(*at: Any) -> Any:
        *lead, i = at
        x = v[(*lead, r)]
        y = m[(*lead[: len(batch)], *((r, i) if shape.across else (i, r)))]
        a, b = (x, y) if shape.first == "vector" else (y, x)
        wide = shape.total
        return te.sum(a * b if wide == shape.operand else a.astype(wide) * b.astype(wide), axis=r)

    c = te.compute((*batch, *many, rows), term, name="C")
    if shape.after == "square":
        d = te.compute(c.shape, lambda *at: c[at] * c[at], name="D")
        c = te.compute(c.shape, lambda *at: d[at].astype("float64"), name="E")
    elif shape.after == "repeat":
        c = te.compute(
            (*c.shape[:-1], 3, rows), lambda *at: c[(*at[:-2], at[-1])] + at[-2].astype("float32"), "E"
        )
    return te.create_prim_func([*inputs, c])


KERNELS = {
    "plain": product(Shape(20, 256)),
    "odd": product(Shape(19, 100)),
    "few_terms": product(Shape(40, 3)),
    "rows_unknown": product(Shape("n", 128, after="square")),
    "terms_unknown": product(Shape(33, "k")),
    "both_unknown": product(Shape("n", "k", first="matrix")),
    "batch": product(Shape(24, 64, batch=3)),
    "batch_unknown": product(Shape("n", 64, batch=3, after="square")),
    "half": product(Shape(33, 256, operand="float16", total="float32")),
    "bytes": product(Shape(17, 512, operand="int8", total="int32", first="matrix")),
    "packed": product(Shape(20, 256, packed=8)),
    "repeated": product(Shape(5, 128, after="repeat")),
}
FEW = {
    "few": product(Shape(40, 256, vectors="m")),
    "few_odd": product(Shape(19, 96, vectors=3, after="square")),
    "few_narrow": product(Shape(8, 64, vectors="m", first="matrix")),
    "few_packed": product(Shape(36, 128, vectors="m", packed=8)),
    "few_repeated": product(Shape(12, 64, vectors="m", after="repeat")),
    "few_exact": product(Shape(20, 64, vectors=4)),
}
SIZES = {"n": 19, "k": 45, "m": 6}


def scheduled(functions: dict[str, PrimFunc], target: str) -> IRModule:
    named = {name: f.with_attr("global_symbol", name) for name, f in functions.items()}
    made = schedule_for_gpu(IRModule(named), Target(target), RULES)
    for name in functions:
        assert made[name].attrs.get("tirx.is_scheduled"), name
    return made


@pytest.fixture(scope="module")
def simulated() -> Any:
    """The kernels in one source."""
    return build(scheduled({**KERNELS, **FEW}, AMPERE), "cuda-sim -arch=sm_80 -seed=3", schedule=None)


@pytest.fixture(scope="module")
def on_opencl() -> Any:
    chosen = {n: {**KERNELS, **FEW}[n] for n in ("odd", "packed", "few_narrow")}
    return build(scheduled(chosen, "opencl"), "opencl", schedule=None)


def compare(name: str, run: Any) -> None:
    """The kernel computes what the function says, exactly: values are small integers."""
    func = {**KERNELS, **FEW}[name]
    assert_same_results(build(func, schedule=None), run, *sample_arguments(func, sizes=SIZES))


@pytest.mark.skipif(shutil.which("g++") is None, reason="the simulator needs g++")
@pytest.mark.parametrize("name", [*KERNELS, *FEW])
def test_kernels_compute_the_same_in_the_simulator(simulated: Any, name: str) -> None:
    compare(name, simulated[name])


@pytest.mark.opencl
@pytest.mark.parametrize("name", ["odd", "packed", "few_narrow"])
def test_kernels_compute_the_same_on_opencl(on_opencl: Any, name: str) -> None:
    compare(name, on_device(on_opencl[name], "opencl"))


@pytest.mark.parametrize("target", ["rocm", "metal", "vulkan"])
def test_schedules_keep_the_meaning_on_every_kind_of_device(target: str) -> None:
    for name in ("few_terms", "few_narrow"):
        func = {**KERNELS, **FEW}[name]
        made = scheduled({name: func}, target)
        assert_same_results(func, made[name], *sample_arguments(func, sizes=SIZES))


def test_what_is_no_product_with_a_vector_is_left() -> None:
    matmul = product(Shape(32, 32, vectors=64))
    across = product(Shape(32, 32, across=True))
    a = te.placeholder((32, 32), name="A")
    r = te.reduce_axis((0, 32), name="k")
    sums = te.create_prim_func([a, te.compute((32,), lambda i: te.sum(a[i, r], axis=r), name="C")])
    for func in (matmul, across, sums):
        made = schedule_for_gpu(IRModule({"main": func}), Target(AMPERE), RULES)
        assert made["main"].attrs.get("tirx.is_scheduled") is None


def test_schedules_of_tvm_for_processors_keep_the_meaning() -> None:
    for name in ("odd", "packed", "rows_unknown", "batch"):
        sch = Schedule(KERNELS[name])
        assert tvm_gemv(sch) is not None
        assert_same_results(
            KERNELS[name], sch.mod, *sample_arguments(KERNELS[name], sizes=SIZES), tolerance=1e-6
        )
    a = te.placeholder((5, 37), name="A")
    r = te.reduce_axis((0, 37), name="k")
    total = te.compute((5,), lambda i: te.sum(a[i, r], axis=r), name="S")
    rest = te.create_prim_func([a, te.compute((5, 37), lambda i, j: a[i, j] - total[i], name="C")])
    sch = Schedule(rest)
    assert tvm_reduction(sch) is not None
    assert_same_results(rest, sch.mod)
    kinds = {n.kind.name for n in walk(sch.mod["main"].body) if isinstance(n, For)}
    assert {"PARALLEL", "VECTORIZED"} <= kinds
