from __future__ import annotations

import keyword
import time
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from loopwright.ir import Add, Evaluate, For, PrimFunc, SeqStmt, Var
from loopwright.printer import RESERVED, script
from loopwright.printer.names import Names, identifier

HINTS = st.one_of(
    st.sampled_from(
        ["x", "x_1", "x_1_1", "T", "I", "R", "cls", "metadata", "for", "range", "é", "ﬁ", "", "1a", "a.b"]
    ),
    st.text(max_size=6),
)


@given(st.lists(HINTS, max_size=30))
def test_names_are_legal_unique_and_not_reserved(hints):
    names = Names(("T", "I"))
    made = [names.fresh(h) for h in hints]
    assert len(set(made)) == len(made)
    for name in made:
        assert name.isidentifier() and not keyword.iskeyword(name)
        assert unicodedata.normalize("NFKC", name) == name
        assert name not in RESERVED and name not in ("T", "I")


@given(HINTS)
def test_a_free_legal_hint_comes_back_unchanged(hint):
    legal = hint.isidentifier() and unicodedata.normalize("NFKC", hint) == hint and hint not in RESERVED
    assert (Names().fresh(hint) == hint) == legal


@given(st.lists(st.tuples(st.sampled_from(["x", "x_1", "y", "x_2"]), st.booleans()), max_size=40))
def test_the_lowest_free_number_is_taken(steps):
    names = Names()
    used: list[str] = []
    for hint, release in steps:
        if release and used:
            names.release(used.pop(0))
            continue
        expected = hint
        number = 0
        while expected in used:
            number += 1
            expected = f"{hint}_{number}"
        assert names.fresh(hint) == expected
        used.append(expected)


def test_identifiers():
    assert identifier("a.b-c d") == "a_b_c_d"
    assert identifier("é") == "é"
    assert identifier("ﬁ") == "_"
    assert identifier("") == "v"
    assert identifier("1a") == "_1a"


def test_many_variables_of_one_name_take_linear_time():
    names = Names()
    started = time.perf_counter()
    made = [names.fresh("x") for _ in range(20_000)]
    assert made[-1] == "x_19999"
    assert time.perf_counter() - started < 1


def test_a_variable_named_like_a_prefix_gives_way():
    x, t, mod = Var("x"), Var("T"), Var("for")
    text = script(PrimFunc([x, t, mod], Evaluate(Add(x, Add(t, mod)))))
    assert "def main(x: T.int32, T_1: T.int32, for_1: T.int32)" in text
    assert "T.evaluate(x + (T_1 + for_1))" in text
    assert "def main(x: S.int32, T: S.int32" in script(
        PrimFunc([x, t, mod], Evaluate(Add(x, Add(t, mod)))), extra_config={"tirx.prefix": "S"}
    )


def test_a_name_is_free_again_after_its_scope():
    loops = SeqStmt([For(Var("i"), 0, 8, "serial", Evaluate(0)) for _ in range(2)])
    assert script(loops) == "for i in range(8):\n    T.evaluate(0)\nfor i in range(8):\n    T.evaluate(0)"
