"""Products of matrices and convolutions on GPUs: what they compute, on which path, and how they use memory."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from loopwright import build, te
from loopwright.codegen.cuda.compile import compile_cuda, compiler
from loopwright.errors import MissingDependencyError
from loopwright.ir import (
    AttrStmt,
    BufferLoad,
    BufferStore,
    Expr,
    IntImm,
    IRModule,
    PrimFunc,
    PrimType,
    Ramp,
    Var,
    if_then_else,
    substitute,
    walk,
)
from loopwright.ir.arith import Analyzer
from loopwright.schedule.dlight import Applied
from loopwright.schedule.dlight.gpu.apply import schedule_for_gpu
from loopwright.schedule.dlight.gpu.convolution import convolution
from loopwright.schedule.dlight.gpu.matmul import matmul
from loopwright.target import Target
from loopwright.testing.devices import on_device
from loopwright.testing.results import assert_same_results, sample_arguments
from loopwright.transform.device import kernels_of, lower_for_device

RULES = (matmul, convolution)
HOPPER = "cuda -arch=sm_90"
TF32 = Target({"kind": "cuda", "arch": "sm_90", "tf32": True})


class Shape(NamedTuple):
    """A product: sizes (names for those known at run time only), types, and how the operands are stored."""

    rows: int | str = 16
    columns: int | str = 16
    depth: int | str = 16
    batch: int | str | None = None
    operand: str = "float32"
    total: str = "float32"
    left_across: bool = False
    right_across: bool = False
    shared_right: bool = False
    after: str = ""


def product(shape: Shape) -> PrimFunc:
    """The product, perhaps with something computed from its results."""
    known: dict[str, Var] = {}

    def size(n: int | str) -> Any:
        return known.setdefault(n, Var(n, PrimType("int32"))) if isinstance(n, str) else n

    m, n, k = map(size, shape[:3])
    batch = () if shape.batch is None else (size(shape.batch),)
    own = () if shape.shared_right else batch
    a = te.placeholder((*batch, *((k, m) if shape.left_across else (m, k))), shape.operand, name="A")
    b = te.placeholder((*own, *((n, k) if shape.right_across else (k, n))), shape.operand, name="B")
    r = te.reduce_axis((0, k), name="k")

    def term(*at: Any) -> Any:
        *lead, i, j = at
        x = a[(*lead, *((r, i) if shape.left_across else (i, r)))]
        y = b[(*(lead if own else ()), *((j, r) if shape.right_across else (r, j)))]
        wide = shape.total
        return te.sum(x * y if wide == shape.operand else x.astype(wide) * y.astype(wide), axis=r)

    c = te.compute((*batch, m, n), term, name="C")
    if not shape.after:
        return te.create_prim_func([a, b, c])
    bias = te.placeholder((n,), shape.total, name="bias")
    d = te.compute(c.shape, lambda *at: c[at] + bias[at[-1]], name="D")
    e = te.compute(c.shape, lambda *at: (d[at] * d[at]).astype(shape.after), name="E")
    return te.create_prim_func([a, b, bias, e])


def images(layout: str, operand: str, total: str, stride: int = 1, dilation: int = 1) -> PrimFunc:
    """A convolution of 3 by 3 with a border of zeros."""
    n, size, ci, co, kernel = 2, 7, 8, 20, 3
    out = (size + 2 - dilation * (kernel - 1) - 1) // stride + 1
    last = layout == "NHWC"

    def place(b: Any, c: Any, y: Any, x: Any) -> tuple[Any, ...]:
        return (b, y, x, c) if last else (b, c, y, x)

    a = te.placeholder(place(n, ci, size, size), operand, name="A")
    w = te.placeholder((kernel, kernel, ci, co) if last else (co, ci, kernel, kernel), operand, name="W")

    def border(*at: Any) -> Any:
        b, y, x, c = at if last else (at[0], at[2], at[3], at[1])
        inside = te.all(y >= 1, y < size + 1, x >= 1, x < size + 1)
        return if_then_else(inside, a[place(b, c, y - 1, x - 1)], te.const(0, operand))

    p = te.compute(place(n, ci, size + 2, size + 2), border, name="P")
    rc, ry, rx = (te.reduce_axis((0, e)) for e in (ci, kernel, kernel))

    def term(*at: Any) -> Any:
        b, y, x, o = at if last else (at[0], at[2], at[3], at[1])
        value = p[place(b, rc, y * stride + ry * dilation, x * stride + rx * dilation)].astype(total)
        return te.sum(
            value * w[(ry, rx, rc, o) if last else (o, rc, ry, rx)].astype(total), axis=[ry, rx, rc]
        )

    c = te.compute(place(n, co, out, out), term, name="C")
    return te.create_prim_func([a, w, c])


def dequantised() -> PrimFunc:
    """A product with a matrix that is stored as bytes and scales, and a residual."""
    a = te.placeholder((20, 32), "float16", name="A")
    q = te.placeholder((24, 32), "int8", name="Q")
    s = te.placeholder((24, 4), "float16", name="S")
    more = te.placeholder((20, 24), "float32", name="R")
    w = te.compute((24, 32), lambda n, k: q[n, k].astype("float16") * s[n, k // 8], name="W")
    r = te.reduce_axis((0, 32), name="k")
    c = te.compute(
        (20, 24), lambda i, j: te.sum(a[i, r].astype("float32") * w[j, r].astype("float32"), axis=r), name="C"
    )
    e = te.compute((20, 24), lambda i, j: c[i, j] + more[i, j], name="E")
    return te.create_prim_func([a, q, s, more, e])


HALF = {"operand": "float16", "total": "float32"}
KERNELS = {
    "fused": product(Shape("m", 40, 20, after="float32")),
    "transposed": product(
        Shape(20, 40, 20, 2, left_across=True, right_across=True, operand="int64", total="int64")
    ),
    "unknown": product(Shape("m", "n", "k", "b")),
    "half": product(Shape(48, 40, 40, **HALF)),
    "half_transposed": product(
        Shape("m", 24, 24, "b", right_across=True, shared_right=True, after="float16", **HALF)
    ),
    "half_across": product(Shape(33, 17, 13, 2, left_across=True, operand="bfloat16", total="float32")),
    "bytes": product(Shape(33, 40, 72, operand="int8", total="int32")),
    "dequantised": dequantised(),
    "images": images("NHWC", "float16", "float32", stride=2),
    "planes": images("NCHW", "float32", "float32", dilation=2),
}
TENSOR_CORES = {"half", "half_transposed", "half_across", "bytes", "dequantised", "images"}
SIZES = {"m": 19, "n": 34, "k": 40, "b": 2}


def scheduled(
    functions: dict[str, PrimFunc], target: str | Target, report: list[Applied] | None = None
) -> IRModule:
    """The functions with the schedules that the rules choose: each is one of theirs."""
    named = {name: f.with_attr("global_symbol", name) for name, f in functions.items()}
    made = schedule_for_gpu(IRModule(named), Target(target), RULES, report)
    for f in made.functions.values():
        assert f.attrs.get("tirx.is_scheduled"), f.script()
    return made


@functools.cache
def schedules(target: str, *names: str) -> tuple[IRModule, list[Applied]]:
    """Kernels with their schedules, and what was done."""
    report: list[Applied] = []
    return scheduled({n: KERNELS[n] for n in names}, target, report), report


@functools.cache
def built(target: str, scheduled_for: str, *names: str) -> Any:
    """The kernels in one source."""
    return build(schedules(scheduled_for, *names)[0], target, schedule=None)


def compare(func: PrimFunc, run: Any, seed: int = 0) -> None:
    """The function computes what it computes as it is written; exactly, for values are small integers."""
    tolerance = 1e-2 if str(func.params[-1].dtype) == "float16" else 0.0
    arguments = sample_arguments(func, seed, SIZES)
    assert_same_results(build(func, schedule=None), run, *arguments, tolerance=tolerance)


needs_simulator = pytest.mark.skipif(shutil.which("g++") is None, reason="the simulator needs g++")


@needs_simulator
@pytest.mark.parametrize("name", KERNELS)
def test_kernels_compute_the_same_in_the_simulator(name: str) -> None:
    compare(KERNELS[name], built("cuda-sim -arch=sm_90 -seed=7", HOPPER, *KERNELS)[name])


@pytest.mark.opencl
@pytest.mark.parametrize("name", ["fused", "planes"])
def test_kernels_compute_the_same_on_opencl(name: str) -> None:
    compare(KERNELS[name], on_device(built("opencl", "opencl", "fused", "planes")[name], "opencl"))


def test_kernels_compile_for_several_devices() -> None:
    try:
        compiler()
    except MissingDependencyError as err:
        pytest.skip(f"no compiler for CUDA here: {err.diagnostics[0].message}")
    names = ("half_transposed", "bytes", "images")
    source = built("cuda -arch=sm_90", HOPPER, *names).source("cuda")
    assert source.count("__global__") == len(names)
    assert "mma.sync" in source and "ldmatrix" in source and "cp.async" in source
    assert compile_cuda(source, "sm_80")[:4] == b"\x7fELF"


SHAPES = st.builds(
    Shape,
    rows=st.sampled_from([2, 16, 19, 40, "m"]),
    columns=st.sampled_from([2, 16, 24, 33, "n"]),
    depth=st.sampled_from([2, 8, 13, 64, "k"]),
    batch=st.sampled_from([None, None, 2, "b"]),
    left_across=st.booleans(),
    right_across=st.booleans(),
    shared_right=st.booleans(),
    after=st.sampled_from(["", "", "float32"]),
)
TYPES = st.sampled_from(
    [
        ("float32", "float32"),
        ("float16", "float32"),
        ("bfloat16", "float32"),
        ("int8", "int32"),
        ("int32", "int32"),
    ]
)


@needs_simulator
@pytest.mark.slow
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(
    shapes=st.lists(st.tuples(SHAPES, TYPES), min_size=3, max_size=3),
    seed=st.integers(1, 9),
    tf32=st.booleans(),
)
def test_products_compute_the_same(shapes: list[Any], seed: int, tf32: bool) -> None:
    """The law: whatever the sizes, types and storage, and in whatever order threads run."""
    functions = {}
    for n, (shape, (operand, total)) in enumerate(shapes):
        after = total if shape.after else ""
        functions[f"f{n}"] = product(shape._replace(operand=operand, total=total, after=after))
    made = build(
        scheduled(functions, TF32 if tf32 else HOPPER), f"cuda-sim -arch=sm_90 -seed={seed}", schedule=None
    )
    for name, func in functions.items():
        compare(func, made[name], seed)


def test_tensor_cores_are_used_where_they_know_the_types() -> None:
    _, report = schedules(HOPPER, *KERNELS)
    assert {r.func for r in report if "tensor cores" in r.why} == TENSOR_CORES


@pytest.mark.parametrize(
    ("target", "on_cores"),
    [
        (HOPPER, False),
        (TF32, True),
        ("cuda -arch=sm_75", False),
        ("opencl", False),
        ("cuda-sim -arch=sm_80", False),
    ],
)
def test_float32_loses_precision_only_when_asked(target: str | Target, on_cores: bool) -> None:
    report: list[Applied] = []
    scheduled({"f": product(Shape(64, 64, 64))}, target, report)
    assert ("tensor cores" in report[0].why) is on_cores
    assert "mma" in report[0].steps if on_cores else "mma" not in report[0].steps


def test_other_programs_are_left_to_other_rules() -> None:
    a = te.placeholder((32, 32), "float32", name="A")
    x = te.placeholder((32,), "float32", name="x")
    k = te.reduce_axis((0, 32), name="k")
    vector = te.create_prim_func([a, x, te.compute((32,), lambda i: te.sum(a[i, k] * x[k], axis=k))])
    largest = te.create_prim_func([a, te.compute((32,), lambda i: te.max(a[i, k], axis=k))])
    other = product(Shape(32, 1, 32))
    for func in (vector, largest, other):
        made = schedule_for_gpu(IRModule({"f": func}), Target(HOPPER), RULES)
        assert not made["f"].attrs.get("tirx.is_scheduled")


@pytest.mark.parametrize(
    ("shape", "target"),
    [
        (Shape(4096, 4096, 4096, **HALF), HOPPER),
        (Shape(4096, 4096, 4096, operand="int8", total="int32", right_across=True), HOPPER),
    ],
    ids=["half", "bytes"],
)
def test_tensor_cores_wait_for_no_bank(shape: Shape, target: str | Target) -> None:
    """In the largest tiles 32 neighbouring threads access shared memory as fast as its banks can."""
    mod = lower_for_device(scheduled({"f": product(shape)}, target), Target(target))
    (kernel,) = kernels_of(mod).values()
    accesses = list(shared_accesses(kernel))
    assert len(accesses) > 4
    for what, index, item, size in accesses:
        taken = wavefronts([value * item for value in lanes_of(kernel, index)], size)
        assert taken == 32 * size // 128, what


def shared_accesses(kernel: PrimFunc) -> Iterator[tuple[str, Expr, int, int]]:
    """Accesses of shared memory: what, the element, bytes of an element, bytes that a thread moves."""
    for n in walk(kernel.body):
        name = getattr(getattr(n, "op", None), "name", "")
        if isinstance(n, BufferLoad | BufferStore) and n.buffer.ty.storage_scope.startswith("shared"):
            at, item = n.indices[0], n.buffer.dtype.bits // 8
            lanes = at.lanes.value if isinstance(at, Ramp) else 1
            yield n.buffer.name, at.base if isinstance(at, Ramp) else at, item, lanes * item
        elif name.endswith("cp_async_raw"):
            buffer = n.args[0].args[0]
            yield f"copy to {buffer.name}", n.args[1], buffer.dtype.bits // 8, n.args[4].value
        elif name.endswith("ldmatrix"):
            buffer = n.args[5].args[1].args[0]
            yield f"rows of {buffer.name}", n.args[6], buffer.dtype.bits // 8, 16


def lanes_of(kernel: PrimFunc, index: Expr) -> list[int]:
    """The index for each of 32 neighbouring threads, everything else being at its start."""
    lane = next(
        n.node.var
        for n in walk(kernel.body)
        if isinstance(n, AttrStmt) and getattr(n.node, "thread_tag", "") == "threadIdx.x"
    )
    start = {v: IntImm(v.ty, 0) for v in walk(index) if isinstance(v, Var)}
    values = [Analyzer().simplify(substitute(index, {**start, lane: IntImm(lane.ty, t)})) for t in range(32)]
    return [v.value for v in values]


def wavefronts(addresses: list[int], size: int) -> int:
    """How often shared memory answers: each time for as many threads as 128 bytes serve, one line a bank."""
    together = 128 // size
    total = 0
    for first in range(0, len(addresses), together):
        lines: dict[int, set[int]] = {}
        for address in addresses[first : first + together]:
            for word in range(address // 4, (address + size) // 4):
                lines.setdefault(word % 32, set()).add(word)
        total += max(map(len, lines.values()))
    return total
