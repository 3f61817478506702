"""Schedule itself: arguments, handles, refusals, copies, random numbers."""

from __future__ import annotations

import inspect
import pickle

import pytest

from loopwright.errors import ArgumentTypeError, ScheduleError
from loopwright.ir import IRModule, structural_equal
from loopwright.schedule import PRIMITIVES, LoopRV, SBlockRV, Schedule
from loopwright.testing.strategies.scheduled import program


def matmul() -> Schedule:
    return Schedule(program("matmul_relu", n=8, m=8, k=8), seed=7, debug_mask="all")


def test_a_stale_handle_names_the_step_that_consumed_it() -> None:
    sch = matmul()
    i, *_ = sch.get_loops("C")
    sch.split(i, [2, 4])
    with pytest.raises(ScheduleError, match="`i` no longer exists: step 3, `split`, consumed it"):
        sch.parallel(i)
    with pytest.raises(ScheduleError, match="consumed it"):
        sch.get(i)


def test_handles_follow_what_they_name() -> None:
    sch = matmul()
    i, j, k = sch.get_loops("C")
    sch.reorder(k, j, i)
    sch.unroll(i)
    assert [lp.loop_var.name for lp in sch.state.loops(sch.get_sblock("C"))] == ["k", "j", "i"]
    assert sch.get(i).kind.name == "UNROLLED" and sch.get_loops("C") == [k, j, i]


def test_handles_are_good_in_copies_and_copies_are_independent() -> None:
    sch = matmul()
    i, *_ = sch.get_loops("C")
    other = sch.copy()
    other.split(i, [2, 4])
    assert len(sch.trace) == 2 and len(other.trace) == 3
    assert sch.get(i).loop_var.name == "i"
    with pytest.raises(ScheduleError):
        other.get(i)


def test_a_refused_step_changes_nothing_and_shows_the_program() -> None:
    sch = matmul()
    i, *_ = sch.get_loops("C")
    before, count, text = sch.mod, len(sch.trace), str(sch.trace)
    with pytest.raises(ScheduleError) as caught:
        sch.split(i, [3])
    assert sch.mod is before and len(sch.trace) == count and str(sch.trace) == text
    shown = str(caught.value).split("\n")
    assert shown[0] == (
        "error[split-product]: `split`: the product of the factors does not reach the extent of loop `i`"
    )
    assert any("^^^^" in line for line in shown) and any("in T.grid(8, 8, 8)" in line for line in shown)
    assert len(shown) <= 12
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)


def test_a_block_named_in_a_refused_step_leaves_no_trace() -> None:
    sch = matmul()
    with pytest.raises(ScheduleError):
        sch.reorder_block_iter_var("C", [0, 0, 1])
    assert len(sch.trace) == 0


@pytest.mark.parametrize(("level", "lines"), [("fast", 1), ("none", 1)])
def test_error_render_level(level: str, lines: int) -> None:
    sch = Schedule(program("matmul"), error_render_level=level)
    with pytest.raises(ScheduleError) as caught:
        sch.split(sch.get_loops("C")[0], [3])
    assert len(str(caught.value).split("\n")) == lines


def test_wrong_arguments() -> None:
    sch = matmul()
    block = sch.get_sblock("C")
    with pytest.raises(ArgumentTypeError, match="`parallel`: parameter `loop` takes a LoopRV, not a block"):
        sch.parallel(block)
    with pytest.raises(ArgumentTypeError, match="factors"):
        sch.split(sch.get_loops(block)[0])
    with pytest.raises(ArgumentTypeError, match="preserve_unit_iters"):
        sch.split(sch.get_loops(block)[0], [2, 4], preserve_unit_iter=True)
    with pytest.raises(ArgumentTypeError, match="IRModule"):
        Schedule("text")  # type: ignore[arg-type]


def test_a_block_not_there_offers_near_names() -> None:
    sch = Schedule(program("in_place"))
    with pytest.raises(ScheduleError, match="did you mean `B_init`"):
        sch.get_sblock("B_inti")


def test_functions_other_than_main_are_worked_on_by_name() -> None:
    mod = IRModule({"first": program("matmul"), "second": program("row_sum")})
    sch = Schedule(mod)
    with pytest.raises(ScheduleError, match="work_on"):
        sch.get_sblock("C")
    sch.work_on("second")
    assert sch.func_working_on.name == "second"
    assert [sch.get(b).name_hint for b in sch.get_child_blocks("root")] == ["B", "C"]
    assert len(sch.get_loops(sch.get_sblock("C", func_name="first"))) == 3


def test_what_is_scheduled_is_not_changed() -> None:
    func = program("matmul")
    sch = Schedule(func)
    assert structural_equal(sch.mod["main"], func)
    assert sch.get(sch.get_sblock("C")) is not func.body.block.body  # type: ignore[attr-defined]
    Schedule(IRModule({"a": func, "b": func}), debug_mask="all")


def test_producers_consumers_and_outputs() -> None:
    sch = matmul()
    name = lambda blocks: [sch.get(b).name_hint for b in blocks]  # noqa: E731
    assert name(sch.get_producers("D")) == ["C"] and name(sch.get_consumers("C")) == ["D"]
    assert name(sch.get_producers("C")) == [] and name(sch.get_output_blocks("root")) == ["D"]
    assert name(sch.get_child_blocks(sch.get_loops("C")[0])) == ["C"]


def test_sampled_numbers_take_part_in_expressions() -> None:
    sch = matmul()
    i, *_ = sch.get_loops("C")
    a, b = sch.sample_perfect_tile(i, 2, decision=[2, 4])
    assert (sch.get(a), sch.get(b), sch.get(a * b + 1)) == (2, 4, 9)
    sch.split(i, [None, a * 2])
    assert [lp.extent.value for lp in sch.state.loops(sch.get_sblock("C"))] == [2, 4, 8, 8]


def test_seeds_decide_samples() -> None:
    func = program("elementwise", n=8, m=48)

    def draws(seed: int) -> list[int]:
        sch = Schedule(func, seed=seed)
        loop = sch.get_loops("B")[1]
        return [sch.get(v) for _ in range(8) for v in sch.sample_perfect_tile(loop, 3)]

    assert draws(3) == draws(3) != draws(4)
    sch = Schedule(func, seed=3)
    assert sch.fork_seed() != sch.fork_seed()
    for k in range(0, 24, 3):
        assert draws(5)[k] * draws(5)[k + 1] * draws(5)[k + 2] == 48


def test_a_wrong_decision_is_repaired() -> None:
    sch = Schedule(program("elementwise", n=8, m=48))
    loop = sch.get_loops("B")[1]
    made = sch.sample_perfect_tile(loop, 3, decision=[1, 5, 4])
    assert [sch.get(v) for v in made] == [1, 12, 4]
    assert sch.trace.get_decision(sch.trace.insts[-1]) == [1, 12, 4]


def test_methods_show_the_signature_of_their_primitive() -> None:
    assert list(inspect.signature(Schedule.split).parameters) == [
        "self", "loop", "factors", "preserve_unit_iters", "disable_predication",
    ]  # fmt: skip
    assert "before:" in (Schedule.split.__doc__ or "")
    for name in PRIMITIVES:
        assert callable(getattr(Schedule, name))


def test_handles_compare_by_what_they_name() -> None:
    sch = matmul()
    assert sch.get_sblock("C") == sch.get_sblock("C") != sch.get_sblock("D")
    assert len({*sch.get_loops("C"), *sch.get_loops("C")}) == 3
    assert isinstance(sch.handle(sch.get(sch.get_sblock("C"))), SBlockRV)
    assert isinstance(sch.get_loops("C")[0], LoopRV)


def test_show_and_html(capsys: pytest.CaptureFixture[str]) -> None:
    sch = matmul()
    sch.get_loops("C")
    sch.show()
    assert "sch.get_loops(block=b0)" in capsys.readouterr().out
    assert "sblock" in sch._repr_html_()
