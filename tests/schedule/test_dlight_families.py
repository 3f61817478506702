"""Default schedules of every family: odd, unit, empty and symbolic sizes, several types, compiled too."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopwright import build, structural_equal
from loopwright.ir import IRModule, PrimFunc
from loopwright.schedule import Schedule
from loopwright.schedule.dlight import Applied, default_schedule, machine_of
from loopwright.schedule.dlight.cpu import CPU_RULES, byte_product
from loopwright.schedule.dlight.cpu.tile import tile_of
from loopwright.target import Target
from loopwright.testing.results import assert_same_results, sample_arguments
from loopwright.testing.rule_examples import rule_examples
from loopwright.testing.strategies.kernels import KERNELS, KINDS, kernel
from loopwright.testing.strategies.scheduled import TEMPLATES, program
from loopwright.transform import lower

TOLERANCE = {"float16": 2e-2, "float16 to float32": 2e-2, "float32": 1e-5, "float64": 1e-12}
TARGETS = ("llvm -num-cores=2", "llvm -num-cores=1", "llvm -mcpu=haswell -num-cores=4")
EXACT_ONLY = {"attention": ("float16",)}
"""Kernels whose sums leave what a type holds."""


def scheduled(func: PrimFunc, target: str = TARGETS[0], report: list[Applied] | None = None) -> IRModule:
    return default_schedule(IRModule({"main": func}), target, report=report)


def compare(func: PrimFunc, mod: IRModule, kind: str, sizes: dict[str, int]) -> None:
    """Compiled with its default schedule, the kernel gives what it gives as it is written."""
    args = sample_arguments(func, sizes=sizes)
    tolerance = TOLERANCE.get(kind, 0.0) or (1e-5 if kind.startswith("int") else 0.0)
    plain, fast = build(func, schedule=None)["main"], build(mod)["main"]
    assert_same_results(plain, fast, *args, tolerance=tolerance)


def sizes_of(n: st.SearchStrategy[int]) -> st.SearchStrategy[dict[str, int]]:
    some = st.sampled_from([1, 2, 3, 7, 16, 17, 31, 33, 64, 65])
    return st.fixed_dictionaries({"n": n, "m": some, "k": some, "c": st.sampled_from([1, 2, 3, 8])})


PLAIN = sizes_of(st.sampled_from([1, 2, 5, 8, 13, 16, 17, 33]))


@pytest.mark.parametrize("name", KERNELS)
@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))
@given(sizes=PLAIN, kind=st.sampled_from(sorted(KINDS)), symbolic=st.booleans())
def test_kernels_compute_the_same(name: str, sizes: dict[str, int], kind: str, symbolic: bool) -> None:
    if kind in EXACT_ONLY.get(name, ()):
        kind = "float32"
    func = kernel(name, dict.fromkeys(sizes) if symbolic else sizes, kind)
    compare(func, scheduled(func), kind, sizes)


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    sizes=sizes_of(st.integers(0, 70)),
    kind=st.sampled_from(sorted(KINDS)),
    symbolic=st.booleans(),
    target=st.sampled_from(TARGETS[:2]),
)
def test_kernels_compute_the_same_with_any_sizes(
    name: str, sizes: dict[str, int], kind: str, symbolic: bool, target: str
) -> None:
    if kind in EXACT_ONLY.get(name, ()):
        kind = "float32"
    if name in ("gather", "dependent sums"):
        sizes = {**sizes, "n": max(1, sizes["n"])}  # there is nothing to read, or to add, otherwise
    func = kernel(name, dict.fromkeys(sizes) if symbolic else sizes, kind)
    compare(func, scheduled(func, target), kind, sizes)


@contextlib.contextmanager
def small_counts_as_large() -> Iterator[None]:
    """Results that go past the caches, and sums for several threads, at sizes that the oracle can do."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name in (("stream", "LARGE"), ("total", "SMALL")):
            patch.setattr(sys.modules[f"loopwright.schedule.dlight.cpu.{module}"], name, 1)
        yield


@pytest.mark.parametrize("name", KERNELS)
@settings(max_examples=1, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    sizes=sizes_of(st.sampled_from([7, 32, 48, 64])), kind=st.sampled_from(("float32", "int32", "float16"))
)
def test_large_kernels_compute_the_same(name: str, sizes: dict[str, int], kind: str) -> None:
    if kind in EXACT_ONLY.get(name, ()):
        kind = "float32"
    func = kernel(name, sizes, kind)
    with small_counts_as_large():
        made = scheduled(func)
    compare(func, made, kind, sizes)


@pytest.mark.parametrize(("name", "part"), [("transpose", '"streaming": 1'), ("whole sum", "T.parallel(8)")])
def test_what_only_large_kernels_get(name: str, part: str) -> None:
    with small_counts_as_large():
        made = scheduled(kernel(name, {"n": 64, "m": 64, "k": 64, "c": 64}, "float32"))
    assert part in made.script()


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_programs_for_other_tests(name: str) -> None:
    """In the oracle, lowered too; the decision is the same each time."""
    func = program(name, n=6, m=5, k=4, v=4)
    mod = scheduled(func)
    assert structural_equal(mod, scheduled(func))
    try:
        args = sample_arguments(func)
    except ValueError:
        return  # parameters that are pointers
    assert_same_results(func, mod, *args)
    assert_same_results(func, lower(mod), *args)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["product", "softmax", "convolution", "attention"])
def test_other_machines(name: str, target: str) -> None:
    func = kernel(name, {"n": 6, "m": 8, "k": 35, "c": 2})
    assert_same_results(func, scheduled(func, target), tolerance=1e-5)


@pytest.mark.parametrize(
    ("name", "sizes", "rules"),
    [
        ("product", (37, 33, 5, 1), {"matmul", "elementwise"}),
        ("product", None, {"matmul", "elementwise"}),
        ("product with unit axes", (16, 32, 5, 1), {"matmul"}),
        ("matrix times vector", (8, 8, 512, 1), {"rows"}),
        ("vector times matrix", (8, 64, 64, 1), {"columns"}),
        ("transpose", (64, 128, 1, 1), {"transpose"}),
        ("attention", (64, 64, 8, 2), {"together"}),
        ("depthwise convolution", (14, 1, 1, 4), {"stencil"}),
        ("largest in windows", (14, 1, 1, 4), {"stencil"}),
        ("convolution", (14, 32, 1, 4), {"convolution"}),
        ("scan", (8, 8, 8, 1), set()),
    ],
)
def test_rules_that_are_chosen(name: str, sizes: tuple[int, ...] | None, rules: set[str]) -> None:
    report: list[Applied] = []
    given_sizes = dict(zip("nmkc", sizes or (None,) * 4))
    scheduled(kernel(name, given_sizes), report=report)
    assert {a.rule for a in report} - {"inline_producer"} == rules


@pytest.mark.parametrize("rule", CPU_RULES)
def test_examples_in_the_documentation(rule: object) -> None:
    """What stands under `before:` is taken by the rule, gives what stands under `after:`, and the same."""
    before, after = rule_examples(rule.__doc__ or "")
    if rule is byte_product and "avx512vnni" not in machine_of(Target(TARGETS[0])).features:
        pytest.skip("the processor has no such instructions")
    report: list[Applied] = []
    mod = default_schedule(IRModule({"main": before}), TARGETS[0], rules=[rule], report=report)  # type: ignore[list-item]
    assert [a.rule for a in report] == [rule.__name__]  # type: ignore[attr-defined]
    if after is not None:
        assert structural_equal(mod["main"], after), mod.script()
    args = [np.ones_like(a) for a in sample_arguments(before)]
    small = build(before, schedule=None)["main"], build(mod)["main"]
    assert_same_results(*small, *args, tolerance=1e-5)


def test_tiles_waste_little() -> None:
    machine = machine_of(Target(TARGETS[2]))
    for rows in range(4, 200):
        tile = tile_of(rows, 64, 64, 8, machine)
        assert -(-rows // tile.rows) * tile.rows <= max(1.34 * rows, rows + 2), (rows, tile)
    assert tile_of(None, None, None, 8, machine).padded


def test_a_refused_rule_leaves_no_trace() -> None:
    func = kernel("row sums", {"n": 4, "m": 4, "k": 4, "c": 1})

    def hopeless(sch: Schedule, block: object, machine: object) -> None:
        sch.reorder(*reversed(sch.get_loops(block)))  # type: ignore[arg-type]
        sch.parallel(sch.get_loops(block)[0])  # type: ignore[arg-type]

    assert default_schedule(IRModule({"main": func}), TARGETS[0], rules=[hopeless])["main"] is func  # type: ignore[list-item]


def test_vectors_along_rows_of_symbolic_length() -> None:
    """Indices that are widened after they are added do not keep a loop from becoming vectors."""
    from loopwright import parse

    func = parse("""
@T.prim_func(s_tir=True)
def main(c: T.handle):
    n, m = T.int32(), T.int32()
    C = T.match_buffer(c, (n, m))
    for i, j in T.grid(n, (m + 7) // 8):
        for v in T.vectorized(8):
            if j * 8 + v < m:
                C[i, j * 8 + v] = T.float32(1)
""")
    assert "masked_store" in lower(func).script()  # type: ignore[arg-type]


def test_programs_made_from_tensor_expressions() -> None:
    from loopwright import te

    a, b = te.placeholder((18, 20), name="A"), te.placeholder((20, 33), name="B")
    k = te.reduce_axis((0, 20), name="k")
    c = te.compute((18, 33), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    d = te.compute((33, 18), lambda j, i: c[i, j] + 1.0, name="D")
    func = te.create_prim_func([a, b, d])
    report: list[Applied] = []
    mod = scheduled(func, report=report)
    assert "matmul" in [one.rule for one in report]
    compare(func, mod, "float32", {})
