"""Layout: the text of a tree reads back as the tree, at any width, and parts know their places."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.grammar import read, same_tree
from loopwright.grammar import tree as t
from loopwright.printer.layout import Text, layout
from loopwright.testing.surface import surface_expressions, surface_trees


@given(surface_trees(), st.integers(1, 100))
def test_broken_lines_read_back_and_do_not_change_again(tree: t.ModuleTree, width: int) -> None:
    text = layout(tree, width=width)
    again = read(text)
    assert again.diagnostics == ()
    assert same_tree(again.tree, tree)
    assert layout(again.tree, width=width) == text


@given(surface_trees())
def test_ranges_are_those_of_reading(tree: t.ModuleTree) -> None:
    text = layout(tree)
    assert isinstance(text, Text)
    for node, span, start, end in text.ranges:
        part = text[start:end]
        assert part.count("\n") == span.end_line - span.line
        if isinstance(node, t.Name):
            assert part == node.id
        elif isinstance(node, t.Attribute):
            assert part.endswith(node.attr)
    assert [r.node for r in text.ranges][0] is tree


@given(surface_expressions())
def test_parentheses_are_needed(tree: t.SExpr) -> None:
    """Without any pair of those that were added, another tree (or none) would be read."""
    text = str(layout(tree))
    if text.count("(") > 12:
        return
    depth: list[int] = []
    for at, character in enumerate(text):
        if character == "(":
            depth.append(at)
        elif character == ")" and depth:
            begin = depth.pop()
            inner = read(text[begin + 1 : at], start="expression")
            if inner.ok and isinstance(inner.tree.body[0].value, t.TupleExpr | t.Constant):
                continue  # tuples and numbers before a dot keep theirs, so that no mark is overlooked
            without = f"{text[:begin]} {text[begin + 1 : at]} {text[at + 1 :]}"
            reading = read(without, start="expression")
            if reading.ok and "'" not in text and '"' not in text and "#" not in text:
                assert not same_tree(reading.tree.body[0].value, tree)


UNCHANGED = """\
import numpy as np
from x import a as b


@T.prim_func(private=True)
def f[n, m](A: T.Buffer((n, 4), "float32"), /, b=1, *args, c: int = 2, **kw) -> T.int32:
    A[i, j] = a[i:j] + b[::2, None] - c[x,] * d[()]
    x = y = z
    i, j = k
    (i,) = k
    x: T.int32
    x += -y ** -2 + (-y) ** 2 + ~z
    f(x for x in y)
    f((x for x in y), 1, *a, k=1, **b)
    t = (a + b) * c - (d - e) // f % g @ h
    t = a - (b - c), (a, b), (a,), ()
    u = a << b & c | d ^ e, a < b <= c, not a == b, (not a) == b
    v = a and b or c and not d, a and (b or c), (a and b) and c
    w = (lambda: x)(), lambda x, *y, k=1: (x, y), a if b else c, (a if b else c).d
    s = [x for x, y in z if x if y], {x: y for x in y}, {a, *b}, {a: b, **c}, [*a, b]
    n = (1).real, 1.5.real, x.y.z, "a".b
    with a as b, c:
        pass
    with (a, b) as c:
        pass
    with ((a, b)):
        pass
    while x:
        break
    for i, j in T.grid(2, 3):
        continue
    if a:
        return
    elif b:
        return (a, b)
    else:
        return a
    assert x, "m"
    return A[*x]
"""


def test_usual_text_stays_as_it_is() -> None:
    reading = read(UNCHANGED.replace("1.5.real, ", ""))
    assert reading.ok
    assert layout(reading.tree) == UNCHANGED.replace("1.5.real, ", "")


BROKEN = """\
@T.prim_func(
    private=True, s_tir=True
)
def main(
    A: T.Buffer((128, 128)),
    B: T.Buffer((128, 128)),
):
    for i, j in T.grid(
        128, 128
    ):
        C[i, j] = (
            C[i, j]
            + A[i] * B[j]
        )
        if (
            i < 10000000000
            and j < 10000000
        ):
            x = f(
                {
                    "a": [1],
                    "b": g(3),
                },
            )
        assert (
            i < 1000
        ), "a long message"
"""


def test_long_lines_are_broken_from_the_outside() -> None:
    text = layout(read(BROKEN).tree, width=30)
    wanted = BROKEN.replace("    private=True, s_tir=True\n", "    private=True,\n    s_tir=True,\n")
    assert text == wanted.replace("        128, 128\n", "        128,\n        128,\n")


def test_comments_do_not_count_as_width() -> None:
    assert layout(read("x = f(a, b)  # a long comment here").tree, width=12).count("\n") == 1


def test_pieces_have_a_layout() -> None:
    keyword = t.Keyword("a", t.Constant(1))
    assert layout(t.CallExpr(t.Name("f"), (), (keyword,))) == "f(a=1)"
    assert layout(keyword) == "a=1"
    assert layout(t.Param("x", t.Name("int"), t.Constant(-1))) == "x: int = -1"
    assert layout(t.ReturnStmt()) == "return\n"
    assert layout(t.ForStmt(t.Name("i"), t.Name("x"), ())) == "for i in x:\n    pass\n"
    assert layout(t.ModuleTree(())) == ""


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        (t.BinaryExpr("**", t.Constant(-1), t.Constant(2)), "(-1) ** 2"),
        (t.BinaryExpr("-", t.Constant(1), t.Constant(-1)), "1 - -1"),
        (t.Attribute(t.Constant(1.5), "real"), "(1.5).real"),
        (t.Attribute(t.Constant(-1.5), "real"), "(-1.5).real"),
        (t.UnaryExpr("not", t.CompareExpr(t.Name("a"), ("==",), (t.Name("b"),))), "not a == b"),
    ],
)
def test_constants_with_a_sign_get_parentheses(tree: t.SExpr, text: str) -> None:
    assert layout(tree) == text
    assert [r.node for r in layout(tree).ranges][0] is tree
