"""Pass contexts: settings, instruments, the registry."""

from __future__ import annotations

import io

import pytest

from loopwright.errors import PassError
from loopwright.ir import IRModule
from loopwright.script import parse
from loopwright.transform import (
    CheckRoundTrip,
    CheckWellFormed,
    Instrument,
    PassContext,
    PassTiming,
    PrintAfter,
    get_pass,
    list_passes,
    lower,
    register_pass,
    sequential,
)

MOD = IRModule.from_expr(
    parse("@T.prim_func\ndef f(A: T.Buffer((4,), 'int32')):\n    for i in range(4):\n        A[i] = i - i")
)


def test_passes_are_found_by_name_and_alias():
    assert "tirx.FlattenBuffer" in list_passes()
    assert get_pass("tirx.Simplify") is get_pass("tirx.StmtSimplify")
    with pytest.raises(PassError, match="FlattenBuffer"):
        get_pass("tirx.FlatenBuffer")


def test_a_sequence_runs_in_order():
    order = []

    def note(name):
        def run(mod):
            order.append(name)
            return mod

        return run

    assert sequential(note("a"), note("b"))(MOD) is MOD
    assert order == ["a", "b"]


def test_settings_are_checked():
    with pytest.raises(PassError, match="disable_vectorize"):
        PassContext(config={"tirx.disable_vectorise": True})
    with pytest.raises(PassError, match="needs a bool"):
        PassContext(config={"tirx.disable_vectorize": "yes"})
    assert "tirx.UnrollLoop" in PassContext.list_configs()


def test_contexts_nest():
    assert PassContext.current().get("tirx.vectorize_max_lanes") == 64
    with PassContext(config={"tirx.vectorize_max_lanes": 8}):
        with PassContext(config={"tirx.vectorize_max_lanes": 4}):
            assert PassContext.current().get("tirx.vectorize_max_lanes") == 4
        assert PassContext.current().get("tirx.vectorize_max_lanes") == 8
    assert PassContext.current().get("tirx.vectorize_max_lanes") == 64


def test_instruments_see_every_pass():
    timing, text = PassTiming(), io.StringIO()
    instruments = [timing, CheckWellFormed(), CheckRoundTrip(), PrintAfter("tirx.StmtSimplify", file=text)]
    with PassContext(instruments=instruments):
        lower(MOD)
    names = [name for name, _ in timing.times]
    assert names[-1] == "tirx.RemoveNoOp"
    assert "tirx.StmtSimplify" in timing.render()
    assert text.getvalue().count("# after tirx.StmtSimplify") == 2


def test_passes_can_be_disabled():
    class Never(Instrument):
        def should_run(self, mod, one):
            return False

    simplify = get_pass("tirx.StmtSimplify")
    with PassContext(disabled_pass=["tirx.StmtSimplify"]):
        assert simplify(MOD) is MOD
    with PassContext(instruments=[Never()]):
        assert simplify(MOD) is MOD
    assert simplify(MOD) is not MOD


def test_a_pass_takes_a_module_only():
    with pytest.raises(TypeError, match="IRModule"):
        get_pass("tirx.StmtSimplify")(MOD["f"])


def test_a_name_is_registered_once():
    with pytest.raises(PassError, match="registered already"):
        register_pass("tirx.StmtSimplify")(lambda mod: mod)
