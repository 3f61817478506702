"""Faults of text: each is found at its place, several at once, and what is around them is still read."""

from __future__ import annotations

import pytest

from loopwright.errors import Diagnostic
from loopwright.grammar import read
from loopwright.grammar import tree as t


def faults(text: str) -> list[tuple[int, int, str]]:
    found = read(text).diagnostics
    assert all(isinstance(d, Diagnostic) and d.render() for d in found)
    return [(d.span.line, d.span.column, d.message) for d in found]


ONE_FAULT = [
    ("y = = 2", 1, 5, "expected an expression, found `=`"),
    ("z = 3 +", 1, 8, "expected an expression, found the end of the line"),
    ("if x\n    y", 1, 5, "expected `:` at the end of the `if` line"),
    ("for i in x:\ny", 2, 1, "expected an indented block"),
    ("def f():", 1, 9, "expected an indented block"),
    ("x\n    y", 2, 5, "this line is indented, but no block starts here"),
    ("if x:\n        y\n    z", 3, 1, "this indentation matches no block above"),
    ("if x:\n\ty\n        z", 3, 1, "tabs and spaces are mixed in the indentation"),
    ("f(a", 1, 2, "`(` is never closed"),
    ("f(a]", 1, 4, "`]` does not close the `(` of line 1"),
    ("x = )", 1, 5, "`)` closes nothing"),
    ("x = 'abc", 1, 5, "this string is not closed on its line"),
    ("x = '''abc\n\n", 1, 5, "this string is never closed"),
    ("x = $", 1, 5, "the character `$` has no meaning here"),
    ("x = \0", 1, 5, "the character U+0000 has no meaning here"),
    ("x = '\ud800'", 1, 5, "this string holds half of a character, which no file can hold"),
    ("x = '\\x1'", 1, 5, "the escape `\\x` is not complete"),
    ("x = '\\N{no such}'", 1, 5, "`\\N{no such}` names no character"),
    ("x = 'a' b'b'", 1, 5, "strings of text and of bytes cannot be joined"),
    ("x = 012", 1, 5, "`012` is not a number"),
    ("x = 1.real", 1, 5, "`1.real` is not a number"),
    ("x = " + "9" * 5000, 1, 5, "this integer has too many digits"),
    ("f() = 1", 1, 1, "a call cannot be assigned to"),
    ("(a, b) += 1", 1, 1, "only a single name, attribute or element can stand here"),
    ("for f() in x: pass", 1, 5, "a call cannot be assigned to"),
    ("f(a=1, b)", 1, 8, "a positional argument stands behind a keyword argument"),
    ("f(**a, *b)", 1, 8, "this argument stands behind one with `**`"),
    ("def f(a=1, b): pass", 1, 12, "`b` has no default but follows `a`, which has one"),
    ("def f(*): pass", 1, 7, "a parameter must follow `*`"),
    ("def f(**a, b): pass", 1, 12, "nothing can follow a parameter with `**`"),
    ("lambda /: 0", 1, 8, "`/` stands once, after parameters and before `*`"),
    ("@a\nx = 1", 2, 1, "expected `class` or `def`, found `x`"),
    ("@a", 1, 3, "expected a definition after the decorator"),
    ("(*a)", 1, 2, "`*` cannot stand alone in parentheses"),
    ("del x", 1, 1, "`del` is not part of the language"),
    ("if (n := 3): pass", 1, 7, "an assignment inside an expression (`:=`) is not part of the language"),
    ("x = f'{y}'", 1, 5, "formatted strings are not part of the language"),
]


@pytest.mark.parametrize(("text", "line", "column", "message"), ONE_FAULT)
def test_a_fault_is_named_at_its_place(text: str, line: int, column: int, message: str) -> None:
    assert faults(text) == [(line, column, message)]
    moved = message.replace("of line 1", "of line 2")
    assert faults(f"before = 1\n{text}\n")[0] == (line + 1, column, moved)


def test_several_faults_are_found_at_once_and_the_rest_is_read() -> None:
    text = """
for i in range(3:
    x = 1
y = = 2
def f(a):
    b = 2 2
    c = 3
    if a
        d = 4
    else:
        e = 5 5
    return a
z = 3
"""
    assert [line for line, _, _ in faults(text)] == [2, 4, 6, 8, 11]
    tree = read(text).tree
    function = next(s for s in tree.body if isinstance(s, t.FunctionDef))
    kinds = [type(s).__name__ for s in function.body]
    assert kinds[:2] == ["Unsupported", "Assign"]
    assert kinds[-1] == "ReturnStmt"
    assert tree.body[-1].targets[0].id == "z"
    [lost, *_] = [s for s in tree.body if isinstance(s, t.Unsupported)]
    assert (lost.kind, lost.text) == ("Error", "for i in range(3:\n    x = 1")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("fro i in x:\n    y", "did you mean `from` or `for`?"),
        ("whlie x:\n    y", "did you mean `while`?"),
        ("if x = 1:\n    y", "`=` assigns, `==` compares"),
        ("x == 1 = y", "`=` assigns, `==` compares"),
        ("x = 'a", "close it with `'`"),
        ("x = 1 +\n", "an expression goes on behind a line end only inside brackets"),
    ],
)
def test_faults_come_with_a_remedy(text: str, hint: str) -> None:
    assert hint in read(text).diagnostics[0].help


def test_there_are_at_most_a_hundred_diagnostics() -> None:
    assert len(read("x = = 1\n" * 500).diagnostics) == 100
