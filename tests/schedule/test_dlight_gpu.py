"""Default schedules for GPUs: the same results, all on threads, within the limits, hands off what is scheduled."""

from __future__ import annotations

import os
import shutil
from typing import Any

import pytest

from loopwright import build, parse
from loopwright.ir import For, ForKind, IRModule, PrimFunc, structural_equal, walk
from loopwright.schedule.dlight import Applied, default_schedule, explain
from loopwright.schedule.dlight.gpu import GPU_RULES, GpuRule, fallback, plain_grid, reduction, rms_norm
from loopwright.schedule.dlight.gpu.apply import schedule_for_gpu
from loopwright.target import Target
from loopwright.testing.operators import Case, all_cases
from loopwright.testing.operators.bound import check_bound, unbound_stores
from loopwright.testing.results import assert_same_results, sample_arguments
from loopwright.testing.rule_examples import rule_examples
from loopwright.transform import lower

TARGETS = ("cuda -arch=sm_90", "nvidia/h200", "opencl")

RULES = tuple(
    [r for r in (*GPU_RULES, fallback, plain_grid, reduction, rms_norm) if "before:" in (r.__doc__ or "")]
)
"""The rules by default, and those that stand for what other compilers do, with their examples."""

FAMILIES = {
    "elementwise": """
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
    "general_reduction": """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({n}, {m})), C: T.Buffer(({n}, {m}))):
    M = T.sblock_alloc_buffer(({n},))
    S = T.sblock_alloc_buffer(({n},))
    for i, k in T.grid({n}, {m}):
        with T.sblock("M"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                M[vi] = T.min_value("float32")
            M[vi] = T.max(M[vi], A[vi, vk])
    for i, k in T.grid({n}, {m}):
        with T.sblock("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = 0.0
            S[vi] = S[vi] + (A[vi, vk] - M[vi])
    for i, j in T.grid({n}, {m}):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * S[vi]
""",
    "columns": """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({n}, {m})), C: T.Buffer(({m},))):
    for k, j in T.grid({n}, {m}):
        with T.sblock("C"):
            vk, vj = T.axis.remap("RS", [k, j])
            with T.init():
                C[vj] = 0.0
            C[vj] = C[vj] + A[vk, vj]
""",
    "total": """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({n}, {m})), C: T.Buffer(())):
    for i, j in T.grid({n}, {m}):
        with T.sblock("C"):
            vi, vj = T.axis.remap("RR", [i, j])
            with T.init():
                C[()] = 0.0
            C[()] = C[()] + A[vi, vj]
""",
    "in place": """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({n}, {m})), C: T.Buffer(({m},))):
    for i, j in T.grid({n}, {m}):
        with T.sblock("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = A[vi, vj] * 2.0
    for j in range({m}):
        with T.sblock("C"):
            vj = T.axis.spatial({m}, j)
            C[vj] = A[0, vj]
""",
    "scan": """
@T.prim_func
def main(A: T.Buffer(({n}, {m})), C: T.Buffer(({m},))):
    for j in range({m}):
        C[j] = A[0, j] + T.if_then_else(j > 0, C[T.max(j - 1, 0)], 0.0)
""",
}
"""Programs by what takes care of them, for sizes as numbers (`n`, `m`) or as symbols."""

SIZES = ((3, 64), (33, 36))


def program(family: str, n: int | str, m: int | str) -> PrimFunc:
    """The program for these sizes; names are sizes that are known at run time only."""
    head, body = FAMILIES[family].split("):\n", 1)
    quoted = [f'"{size}"' if isinstance(size, str) else size for size in (n, m)]
    symbols = "".join([f"    {size} = T.int32()\n" for size in (n, m) if isinstance(size, str)])
    text = head.format(n=quoted[0], m=quoted[1]) + "):\n" + symbols + body.format(n=n, m=m)
    made: Any = parse(text)
    return made


def scheduled(func: PrimFunc, target: str = TARGETS[0], report: list[Applied] | None = None) -> PrimFunc:
    """The function with default schedules."""
    made = default_schedule(IRModule({"main": func}), target, report=report)["main"]
    assert isinstance(made, PrimFunc)
    return made


@pytest.mark.parametrize("family", FAMILIES)
def test_results_stay(family: str) -> None:
    for n, m in SIZES:
        func = program(family, n, m)
        made = scheduled(func)
        assert not unbound_stores(made)
        assert_same_results(func, made)


@pytest.mark.parametrize("target", TARGETS)
def test_limits_are_kept(target: str) -> None:
    for family in ("transpose", "general_reduction"):
        lower(IRModule({"main": scheduled(program(family, 40, 2048), target)}), target)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_decision_depends_on_nothing_else(family: str) -> None:
    first, second = [scheduled(program(family, 37, 64)) for _ in range(2)]
    assert structural_equal(first, second)
    assert scheduled(first) is first


@pytest.mark.parametrize("family", ["elementwise", "transpose", "general_reduction"])
def test_families_are_recognised(family: str) -> None:
    report: list[Applied] = []
    scheduled(program(family, 64, 4096), report=report)
    assert [a.rule for a in report] == [family]
    assert all(a.why and a.steps for a in report)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_examples_in_the_documentation(rule: GpuRule) -> None:
    before, after = rule_examples(rule.__doc__ or "")
    report: list[Applied] = []
    made = schedule_for_gpu(IRModule({"main": before}), Target(TARGETS[0]), (rule,), report)["main"]
    assert [a.rule for a in report] == [rule.__name__] and isinstance(made, PrimFunc)
    assert not unbound_stores(made)
    if after is not None:
        assert structural_equal(made, after.with_attr("tirx.is_scheduled", True)), made.script()


def test_threads_read_and_write_vectors() -> None:
    for family in ("elementwise", "general_reduction"):
        made = scheduled(program(family, 64, 4096))
        widths = [n.extent.value for n in walk(made) if isinstance(n, For) and n.kind is ForKind.VECTORIZED]  # type: ignore[attr-defined]
        assert set(widths) == {4}


def test_what_one_thread_does_is_said() -> None:
    text = explain(IRModule({"main": program("scan", 3, 8)}), TARGETS[0])
    assert "main: piecewise" in text and "one thread" in text


def test_functions_for_other_targets_are_left_alone() -> None:
    func = program("elementwise", 8, 8).with_attr("target", Target("llvm"))
    assert scheduled(func) is func


@pytest.mark.skipif(shutil.which("g++") is None, reason="the simulator needs g++")
def test_the_simulator_agrees() -> None:
    kernels = {family: program(family, 40, 132) for family in ("elementwise", "transpose", "columns")}
    kernels["rows"] = program("general_reduction", 5, 2048)
    kernels["unknown_rows"] = program("general_reduction", "n", "m")
    module = build(IRModule({k: f.with_attr("global_symbol", k) for k, f in kernels.items()}), "cuda-sim")
    for name, func in kernels.items():
        given = sample_arguments(func, sizes={"n": 35, "m": 70})
        assert_same_results(func, module[name], *given, tolerance=0.0)


def _sample() -> list[Case]:
    """The first case of every tenth operator, or of each one where the whole set is asked for."""
    first: dict[str, Case] = {}
    for case in all_cases():
        first.setdefault(case.name, case)
    return list(first.values()) if os.environ.get("LOOPWRIGHT_OPERATORS") else list(first.values())[::16]


@pytest.mark.parametrize("case", _sample(), ids=lambda c: c.id)
def test_operators_run_on_threads(case: Case) -> None:
    check_bound(case, TARGETS[0])
