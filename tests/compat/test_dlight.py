"""`tvm.s_tir.dlight`: rules by TVM's names, and what rules of one's own see."""

from __future__ import annotations

import pytest

from loopwright import compat, te
from loopwright.ir import IRModule
from loopwright.testing.results import assert_same_results


@pytest.fixture(autouse=True)
def tvm():
    compat.install()
    import tvm

    yield tvm
    compat.uninstall()


def product():
    a = te.placeholder((1, 24, 16), name="A")
    v = te.placeholder((16,), name="V")
    k = te.reduce_axis((0, 16), name="k")
    c = te.compute((1, 24), lambda b, i: te.sum(v[k] * a[b, i, k], axis=k), name="C")
    return te.create_prim_func([a, v, te.compute((1, 24), lambda b, i: c[b, i] + 1.0, name="D")])


def test_a_rule_of_ones_own_is_applied_under_the_target_in_effect(tvm):
    from tvm.s_tir import dlight as dl
    from tvm.target import Target

    seen = []

    @dl.ScheduleRule.from_callable("outer")
    def outer(func, target, tunable):
        sch = tvm.s_tir.Schedule(func)
        seen.extend(dl.normalize_prim_func(sch))
        sch.parallel(seen[0].get_loops()[0])
        return sch

    with Target("llvm"):
        made = dl.ApplyDefaultSchedule(outer)(IRModule({"main": product()}))
    assert made["main"].attrs["tirx.is_scheduled"]
    assert_same_results(product(), made)
    assert [(b.name, b.dom_kind(), b.dom()) for b in seen] == [("C", "SR", [24, 16]), ("D", "S", [24])]
    assert [b.is_reduction() for b in seen] == [True, False] and seen[1].is_injective()
    with Target("llvm"):
        assert dl.ApplyDefaultSchedule(outer)(made) is made


@pytest.mark.parametrize("target", ["llvm", "nvidia/geforce-rtx-3090-ti"])
def test_rules_are_for_their_kind_of_target(tvm, target):
    from tvm.s_tir import dlight as dl
    from tvm.target import Target

    with Target(target) as here:
        made = [rule.apply(product(), here, False) for rule in (dl.cpu.GEMV(), dl.gpu.GEMV())]
    assert [m is not None for m in made] == ([True, False] if target == "llvm" else [False, True])
    for m in made:
        if m is not None:
            assert_same_results(product(), m.mod)


def test_threads_are_shared_out(tvm):
    from tvm.s_tir import dlight as dl
    from tvm.target import Target

    sch = tvm.s_tir.Schedule(product())
    loops = [sch.get(loop) for loop in sch.get_loops("C")]
    assert dl.base.suggest_threads_per_block(Target("cuda"), loops) == [1, 16, 16]
    assert dl.base.max_threads_per_block(Target("cuda")) == 1024
    with pytest.raises(ValueError, match="GPU"):
        dl.analysis.get_max_shared_memory_per_block(Target("llvm"))
