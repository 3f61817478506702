"""Default schedules: the same results, the same decision each time, hands off what is scheduled."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopwright import Schedule, parse, structural_equal
from loopwright.ir import IRModule, PrimFunc
from loopwright.schedule.dlight import Applied, default_schedule, is_scheduled
from loopwright.testing.results import assert_same_results
from loopwright.testing.roundtrip import assert_roundtrip

FAMILIES = {
    "chain": """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({n}, {m})), V: T.Buffer(({m},)), C: T.Buffer(({n}, {m}))):
    B = T.sblock_alloc_buffer(({n}, {m}))
    for i, j in T.grid({n}, {m}):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + V[vj]
    for i, j in T.grid({n}, {m}):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.max(B[vi, vj], 0.0)
""",
    "transpose": """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({n}, {m})), C: T.Buffer(({m}, {n}))):
    for i, j in T.grid({m}, {n}):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vj, vi]
""",
    "rows": """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({n}, {k})), C: T.Buffer(({n}, {k}))):
    S = T.sblock_alloc_buffer(({n},))
    for i, k in T.grid({n}, {k}):
        with T.sblock("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = 0.0
            S[vi] = S[vi] + A[vi, vk]
    for i, k in T.grid({n}, {k}):
        with T.sblock("C"):
            vi, vk = T.axis.remap("SS", [i, k])
            C[vi, vk] = A[vi, vk] - S[vi]
""",
    "columns": """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({k}, {m})), C: T.Buffer(({m},))):
    for k, j in T.grid({k}, {m}):
        with T.sblock("C"):
            vk, vj = T.axis.remap("RS", [k, j])
            with T.init():
                C[vj] = 0.0
            C[vj] = C[vj] + A[vk, vj]
""",
    "product": """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({n}, {k})), B: T.Buffer(({k}, {m})), D: T.Buffer(({n}, {m}))):
    C = T.sblock_alloc_buffer(({n}, {m}))
    for i, j, k in T.grid({n}, {m}, {k}):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid({n}, {m}):
        with T.sblock("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], 0.0)
""",
    "batch of transposed products": """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((2, {n}, {k})), B: T.Buffer((2, {m}, {k})), C: T.Buffer((2, {n}, {m}))):
    for b, i, j, k in T.grid(2, {n}, {m}, {k}):
        with T.sblock("C"):
            vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, k])
            with T.init():
                C[vb, vi, vj] = 0.0
            C[vb, vi, vj] = C[vb, vi, vj] + A[vb, vi, vk] * B[vb, vj, vk]
""",
    "convolution": """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((2, {n} + 2)), W: T.Buffer(({m}, 2, 3)), C: T.Buffer(({m}, {n}))):
    for o, x, c, k in T.grid({m}, {n}, 2, 3):
        with T.sblock("C"):
            vo, vx, vc, vk = T.axis.remap("SSRR", [o, x, c, k])
            with T.init():
                C[vo, vx] = 0.0
            C[vo, vx] = C[vo, vx] + A[vc, vx + vk] * W[vo, vc, vk]
""",
    "first maximum": """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({n}, {k})), P: T.Buffer(({n},), "int32")):
    M = T.sblock_alloc_buffer(({n},))
    for i, k in T.grid({n}, {k}):
        with T.sblock("P"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                P[vi] = 0
                M[vi] = T.min_value("float32")
            more: T.let[T.bool] = A[vi, vk] > M[vi]
            place: T.let[T.int32] = T.Select(more, vk, P[vi])
            value: T.let[T.float32] = T.Select(more, A[vi, vk], M[vi])
            P[vi] = place
            M[vi] = value
""",
}

SIZES = {
    "n": st.sampled_from([1, 3, 8, 14]),
    "m": st.sampled_from([1, 7, 32, 64]),
    "k": st.sampled_from([1, 5, 70]),
}


def program(family: str, **sizes: int) -> PrimFunc:
    made: Any = parse(FAMILIES[family].format(**{"n": 8, "m": 32, "k": 70, **sizes}))
    return made


def scheduled(
    func: PrimFunc, report: list[Applied] | None = None, target: str = "llvm -num-cores=2"
) -> IRModule:
    return default_schedule(IRModule({"main": func}), target, report=report)


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(sizes=st.fixed_dictionaries(SIZES))
def test_results_stay(family: str, sizes: dict[str, int]) -> None:
    func = program(family, **sizes)
    mod = scheduled(func)
    assert_same_results(func, mod["main"])  # type: ignore[arg-type]
    assert_roundtrip(mod)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_decision_depends_on_nothing_else(family: str) -> None:
    first, second = [scheduled(program(family)) for _ in range(2)]
    assert structural_equal(first, second)


@pytest.mark.parametrize(
    ("family", "rule"),
    [
        ("chain", "elementwise"),
        ("rows", "rows"),
        ("columns", "columns"),
        ("product", "matmul"),
        ("batch of transposed products", "matmul"),
        ("convolution", "convolution"),
        ("first maximum", "rows"),
    ],
)
def test_families_are_recognised(family: str, rule: str) -> None:
    report: list[Applied] = []
    scheduled(program(family), report)
    assert rule in [a.rule for a in report]
    assert all(a.why and a.steps for a in report)


def test_hands_off_what_somebody_scheduled() -> None:
    func = program("rows")
    sch = Schedule(func)
    sch.get_sblock("S")
    assert not is_scheduled(sch.mod["main"])  # type: ignore[arg-type]
    sch.reorder(*reversed(sch.get_loops("C")))
    assert is_scheduled(sch.mod["main"])  # type: ignore[arg-type]
    assert default_schedule(sch.mod) is sch.mod
    by_source: Any = parse(FAMILIES["columns"].format(k=8, m=8).replace("T.grid(8, 8)", "T.grid(8, 8)"))
    assert not is_scheduled(by_source)
    parallel: Any = parse(
        "@T.prim_func\ndef main(A: T.Buffer((8,))):\n    for i in T.parallel(8):\n        A[i] = 1.0\n"
    )
    assert is_scheduled(parallel)
