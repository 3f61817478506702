"""Literals: spelled exactly, read exactly."""

from __future__ import annotations

import ast
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.grammar import spelling
from loopwright.grammar.spelling import join_strings, string_value

VALUES = st.one_of(st.text(), st.binary(), st.integers(), st.floats(allow_nan=False, allow_infinity=False))


@given(st.one_of(VALUES, st.text(st.sampled_from("\"'\\\n\ud800\u2028a"))))
def test_a_spelling_has_the_value(value: object) -> None:
    text = spelling(value)
    assert ast.literal_eval(text) == value
    assert type(ast.literal_eval(text)) is type(value)
    if isinstance(value, float):
        assert math.copysign(1, ast.literal_eval(text)) == math.copysign(1, value)
    if isinstance(value, str | bytes):
        assert text.lstrip("b").startswith('"')
        assert string_value(text) == value


@given(st.text(st.sampled_from("\\x41u0N{}'\"abfnrtv\n078 ")), st.sampled_from(("", "r", "b", "Rb", "u")))
def test_escapes_mean_what_they_mean_in_python(body: str, prefix: str) -> None:
    text = f"{prefix}'''{body}'''"
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return
    if join_strings(text) == text and text.count("'''") == 2:
        assert string_value(text) == value


def test_special_values_have_an_expression() -> None:
    assert spelling(float("inf")) == 'float("inf")'
    assert spelling(float("nan")) == 'float("nan")'
    assert spelling(-0.0) == "-0.0"
    assert spelling(10**5000).startswith("0x")
    assert spelling(...) == "..."


@pytest.mark.parametrize(
    ("text", "joined"),
    [("'a'  \"b\"", "'a' \"b\""), ("'a' # c\n 'b'", "'a' 'b'"), ("'a' \\\n 'b'", "'a' 'b'"), ("'a'", "'a'")],
)
def test_adjacent_strings_are_joined_by_a_space(text: str, joined: str) -> None:
    assert join_strings(text) == joined
