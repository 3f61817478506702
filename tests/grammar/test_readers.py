"""The two readers: one tree with one set of spans, from any text."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.grammar import read, same_tree
from loopwright.grammar import tree as t
from loopwright.grammar.ast_reader import read_ast
from loopwright.grammar.lark_reader import read_lark
from loopwright.printer.layout import layout
from loopwright.testing.surface import surface_expressions, surface_trees


def spans(tree: t.Surface) -> list[tuple[str, object]]:
    found, work = [], [tree]
    while work:
        part = work.pop()
        if isinstance(part, t.Surface):
            found.append((type(part).__name__, part.span))
            work += [getattr(part, name) for name in type(part).fields if name != "span"]
        elif isinstance(part, tuple):
            work += part
    return found


def assert_readers_agree(text: str) -> None:
    """Where Python's parser is used, the lark reader says the same."""
    fast = read_ast(text)
    slow = read_lark(text)
    if fast is not None:
        assert slow.diagnostics == ()
        assert same_tree(fast.tree, slow.tree)
        assert spans(fast.tree) == spans(slow.tree)


@given(surface_trees())
def test_both_readers_give_the_tree_that_was_laid_out(tree: t.ModuleTree) -> None:
    text = str(layout(tree))
    slow = read_lark(text)
    assert slow.diagnostics == ()
    assert same_tree(slow.tree, tree)
    assert_readers_agree(text)
    assert layout(slow.tree) == text


@given(surface_expressions())
def test_expressions_read_back(tree: t.SExpr) -> None:
    reading = read(layout(tree), start="expression")
    assert reading.diagnostics == ()
    [statement] = reading.tree.body
    assert same_tree(statement.value, tree)
