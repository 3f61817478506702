"""Diagnostics as text, and errors as data."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

import loopwright.errors as errors
from loopwright.errors import (
    MAX_LINES,
    Diagnostic,
    IRError,
    LoopwrightError,
    ScriptError,
    Span,
    missing_dependency,
    suggest,
)

FAMILIES = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, LoopwrightError)]


def test_the_picture_of_a_diagnostic():
    source = "def f(A):\n    C[i, j] = A[i, j] + 1.0\n"
    found = Diagnostic(
        "undefined-name",
        "`C` is not defined in this function",
        Span("kernels.py", 2, 5, 2, 12),
        notes=("buffers in scope: A, B",),
        help=("declare it with `T.match_buffer`",),
        related=((Span("kernels.py", 1, 1, 1, 9), "in this function"),),
        source=source,
    )
    assert found.render() == (
        "error[undefined-name]: `C` is not defined in this function\n"
        "  --> kernels.py:2:5\n"
        "  |\n"
        "2 |     C[i, j] = A[i, j] + 1.0\n"
        "  |     ^^^^^^^\n"
        "   = see kernels.py:1:1: in this function\n"
        "   = note: buffers in scope: A, B\n"
        "   = help: declare it with `T.match_buffer`"
    )


@given(
    st.text(st.characters(codec="utf-8"), max_size=300),
    st.integers(0, 12),
    st.integers(0, 400),
    st.integers(0, 12),
    st.integers(0, 400),
    st.lists(st.text(max_size=5), max_size=20),
)
def test_rendering_never_fails_and_is_short(source, line, column, end_line, end_column, notes):
    span = Span("f", line, column, end_line, end_column)
    text = Diagnostic("x", "message", span, notes=tuple(notes), source=source).render()
    assert text.startswith("error[x]: message\n  --> f:")
    without_notes = Diagnostic("x", "message", span, source=source).render()
    assert len(without_notes.split("\n")) <= MAX_LINES
    assert max(len(row) for row in without_notes.split("\n")) < 140


def test_a_long_line_is_cut_around_the_mark():
    source = "x" * 500 + "HERE" + "y" * 500
    text = Diagnostic("c", "m", Span("f", 1, 501, 1, 505), source=source).render()
    shown, mark = text.split("\n")[3:5]
    assert "HERE" in shown and len(shown) < 120
    assert shown.index("HERE") == mark.index("^") and mark.count("^") == 4


def test_a_span_of_a_few_lines_marks_each():
    text = Diagnostic("c", "m", Span("f", 1, 2, 2, 3), source="abc\n  def\n").render()
    assert text.endswith(" 1 | abc\n   |  ^^\n 2 |   def\n   |   ^")
    to_line_start = Diagnostic("c", "m", Span("f", 1, 2, 2, 1), source="abc\ndef\n").render()
    assert to_line_start.endswith("1 | abc\n  |  ^^")


def test_a_span_of_many_lines_marks_the_first():
    source = "\n".join(["abc"] * 9)
    text = Diagnostic("c", "m", Span("f", 1, 2, 9, 2), source=source).render()
    assert text.endswith("1 | abc\n  |  ^^")


def test_spans():
    one, two = Span("f", 1, 2, 1, 5), Span("f", 2, 1, 3, 4)
    assert str(one) == "f:1:2" and one.to(two) == Span("f", 1, 2, 3, 4)


def test_what_is_cut_is_counted():
    text = Diagnostic("c", "m", notes=tuple("abcdefghijklmnopqrst")).render().split("\n")
    assert len(text) == MAX_LINES and text[-1] == "   = note: and 10 more lines"
    many = str(IRError(*[Diagnostic("c", f"number {i}") for i in range(50)]))
    assert many.endswith("number 19\n\n... and 30 more")


def test_control_characters_take_one_column():
    text = Diagnostic("c", "m", Span("f", 1, 4, 1, 5), source="\ta\x0bX\u2028").render()
    shown, mark = text.split("\n")[3:5]
    assert shown.index("X") == mark.index("^")


def test_near_names_are_offered():
    assert suggest("floot32", ["float32", "int8"]) == ("did you mean `float32`?",)
    assert suggest("zzz", ["float32"]) == ()


@pytest.mark.parametrize("family", FAMILIES, ids=lambda c: c.__name__)
def test_every_error_is_data_and_can_be_pickled(family):
    found = Diagnostic("some-code", "a message", Span("f", 1, 1, 1, 2), notes=("n",), help=("h",))
    err = family(found, Diagnostic("other", "second"))
    for same in (err, pickle.loads(pickle.dumps(err))):
        assert type(same) is family and same.diagnostics == (found, Diagnostic("other", "second"))
        assert same.code == "some-code"
        assert str(same).startswith("error[some-code]: a message\n  --> f:1:1")
        assert "error[other]: second" in str(same)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda c: c.__name__)
def test_a_plain_message_takes_the_code_of_the_family(family):
    err = family("what happened")
    assert err.code == family.default_code and err.diagnostics[0].message == "what happened"
    assert family().diagnostics[0].message


@pytest.mark.parametrize(
    "family", [c for c in FAMILIES if c is not LoopwrightError], ids=lambda c: c.__name__
)
def test_every_family_is_also_a_built_in_error(family):
    bases = [
        b
        for b in family.__mro__
        if b.__module__ == "builtins" and b not in (Exception, BaseException, object)
    ]
    assert bases


def test_a_script_error_is_a_syntax_error_with_its_place():
    err = ScriptError(Diagnostic("syntax", "bad", Span("f.py", 3, 7, 3, 9)))
    assert (err.filename, err.lineno, err.offset, err.msg) == ("f.py", 3, 7, "bad")
    assert isinstance(err, SyntaxError) and str(err).startswith("error[syntax]: bad")


def test_ir_errors_are_value_errors():
    with pytest.raises(ValueError, match="ill"):
        raise IRError("ill")


def test_a_missing_package_tells_the_command():
    err = missing_dependency("cupy", "cuda")
    assert isinstance(err, ImportError) and "pip install 'loopwright[cuda]'" in str(err)
