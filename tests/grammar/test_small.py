"""The small languages: what their grammars generate is read, and faults are errors with a place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lark
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.lark import from_lark

import loopwright.grammar
from loopwright import DType, Target
from loopwright.errors import LoopwrightError, ScriptError, TargetError
from loopwright.grammar import (
    Step,
    read_index_map,
    read_pipeline,
    read_shape_symbol,
    read_target_string,
    same_tree,
)
from loopwright.grammar import tree as t
from loopwright.printer.layout import layout
from loopwright.testing.surface import surface_expressions

FOLDER = Path(loopwright.grammar.__file__).parent
WORDS = ("and", "or", "not", "if", "else", "for", "in", "is", "lambda", "None", "True", "False")


def texts(name: str, **explicit: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Texts of a grammar; words stand between spaces, since `from_lark` knows of no lexer."""
    grammar = lark.Lark.open(str(FOLDER / f"{name}.lark"), start=name, parser="lalr", lexer="basic")
    known = {term.name for term in grammar.terminals}
    given_terms = {key: value for key, value in explicit.items() if key in known}
    for term in grammar.terminals:
        if isinstance(term.pattern, lark.lexer.PatternStr) and term.pattern.value in WORDS:
            given_terms[term.name] = st.just(f" {term.pattern.value} ")
    for prefix in ("", "expr__"):
        if f"{prefix}NAME" in known:
            given_terms[f"{prefix}NAME"] = st.sampled_from((" n ", " m ", " T "))
            given_terms[f"{prefix}NUMBER"] = st.sampled_from((" 0 ", " 12 ", " 0x1F "))
            given_terms[f"{prefix}STRING"] = st.sampled_from((" 'a' ", ' "b" '))
    given_terms = {key: value for key, value in given_terms.items() if key in known}
    return from_lark(grammar, start=name, explicit=given_terms)


@given(texts("dtype"))
def test_dtypes_of_the_grammar_are_dtypes(text: str) -> None:
    dtype = DType(text)
    assert DType(str(dtype)) is dtype


OPTIONS = st.sampled_from((" -mcpu", " -mtriple", " -mabi", " -jit"))
VALUES = st.sampled_from((" znver3", " x86_64-linux", ' "a"', " 'b c'"))


@given(texts("target", HEAD=st.sampled_from(("llvm", "c")), OPTION=OPTIONS, VALUE=VALUES))
def test_target_strings_are_read_as_targets_read_them(text: str) -> None:
    config = read_target_string(text)
    assert config["kind"] in ("llvm", "c")
    try:
        wanted = Target(text)
    except TargetError:
        return
    assert Target(config) == wanted


@given(surface_expressions(5))
def test_dimensions_are_the_expressions_or_refused(tree: t.SExpr) -> None:
    try:
        made = read_shape_symbol(layout(tree))
    except ScriptError as error:
        assert error.diagnostics[0].span is not None
    else:
        assert same_tree(made, tree)


@given(st.lists(st.sampled_from("ijk"), max_size=3), surface_expressions(5))
def test_index_maps_hold_the_expressions(params: list[str], tree: t.SExpr) -> None:
    made = read_index_map(f"lambda {', '.join(params)}: ({layout(tree)}, 1)")
    assert made.params == tuple(params)
    assert same_tree(made.results[0], tree)


@settings(max_examples=10)
@given(texts("pipeline"))
def test_pipelines_are_read_or_refused(text: str) -> None:
    try:
        steps = read_pipeline(text)
    except ScriptError:
        return
    assert all(isinstance(s, Step) for s in steps)


def test_what_the_small_languages_mean() -> None:
    made = read_index_map("lambda i, j, *k: (i // 4, j)")
    assert (made.params, made.rest, [layout(r) for r in made.results]) == (
        ("i", "j", "k"),
        True,
        ["i // 4", "j"],
    )
    assert read_pipeline("tirx.Simplify, unroll(max_steps=-16, names=['a'],)") == (
        Step("tirx.Simplify", {}),
        Step("unroll", {"max_steps": -16, "names": ["a"]}),
    )
    assert read_target_string("llvm -mcpu=znver3 -num-cores 2 -mattr=-avx,+sse -fast-math -jit='a b'") == {
        "kind": "llvm",
        "mcpu": "znver3",
        "num-cores": "2",
        "mattr": "-avx,+sse",
        "fast-math": True,
        "jit": "a b",
    }
    for text in (
        '{"kind": "llvm", "jit": null, "keys": ["cpu"]}',
        "{'kind': 'llvm', 'jit': None, 'keys': ['cpu']}",
    ):
        assert read_target_string(text) == {"kind": "llvm", "jit": None, "keys": ["cpu"]}


@pytest.mark.parametrize(
    ("reader", "text"),
    [
        (read_shape_symbol, "n if m else 2"),
        (read_shape_symbol, "n + 'a'"),
        (read_shape_symbol, "n +"),
        (read_shape_symbol, ""),
        (read_shape_symbol, "f(x=1)"),
        (read_index_map, "i, j"),
        (read_index_map, "lambda i=1: i"),
        (read_pipeline, "a(1)"),
        (read_pipeline, "a(b=c)"),
        (read_pipeline, "a(b=1, b=2)"),
        (read_pipeline, "a b"),
        (read_target_string, ""),
        (read_target_string, "llvm mcpu"),
        (read_target_string, "llvm -x='a"),
        (read_target_string, "llvm -a!b"),
        (read_target_string, "{'kind': x}"),
        (read_target_string, '{"a": ' * 5000),
    ],
)
def test_faults_are_errors(reader: Any, text: str) -> None:
    with pytest.raises(LoopwrightError):
        reader(text)
