"""The two readers: one tree with one set of spans, from any text, and never an exception."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.grammar import read, read_python, same_tree
from loopwright.grammar import tree as t
from loopwright.grammar.ast_reader import read_ast
from loopwright.grammar.lark_reader import read_lark
from loopwright.printer.layout import layout
from loopwright.testing.surface import surface_expressions, surface_trees


def assert_readers_agree(text: str) -> None:
    """Where Python's parser is used, the lark reader says the same."""
    slow = read_lark(text)
    fast = read_ast(text)
    if fast is not None:
        assert slow.diagnostics == ()
        assert same_tree(fast.tree, slow.tree, spans=True)


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


PIECES = list("()[]{}:,.=+-*/#\"'\\ \n\t@;~!?$0aé_\f\0\ud800") + [
    *("\n    ", "if ", "else", "for ", "in ", "lambda ", "def ", "not ", "**", ":=", "f'", "'''", "  # c\n"),
    *(
        "\\\n",
        "class ",
        "with ",
        "as ",
        "\r\n",
        "\r",
        "\ufeff",
        "0x",
        "1e",
        "yield ",
        "\u3000",
        "𝐢𝐟",
        "async ",
    ),
    *("elif x:", "@a\n", "import x", "...", "[:,1:]", "{**a}", "(x for x in y)", "%=", "return ", "x", "1"),
]
PROGRAM = """# head
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def main(A: T.Buffer((n, 16), "float32"), *rest, key=1):  # note
        for i, j in T.grid(n, 16):
            with T.sblock("B"), T.attr({"a": -1}) as b:
                vi = T.axis.remap("SS", [i, j])

                if i < j <= 3 and not b:
                    A[vi, 0:4] = A[vi, ::2] + (lambda x: x ** -2)(f(*a, **k))
                elif [x for x in y if x]:
                    pass
                else:  # otherwise
                    x: T.int32 = 1 if c else (2,)
        assert A[0] == '''a
b''', "message"
        return A
# end
"""


@given(
    st.lists(st.tuples(st.integers(0, len(PROGRAM)), st.integers(0, 6), st.sampled_from(PIECES)), max_size=4)
)
def test_any_text_is_read_without_an_exception(edits: list[tuple[int, int, str]]) -> None:
    text = PROGRAM
    for place, length, piece in edits:
        text = text[:place] + piece + text[place + length :]
    reading = read(text)
    assert isinstance(reading.tree, t.ModuleTree)
    assert_readers_agree(text)
    if reading.ok:
        again = read(layout(reading.tree))
        assert again.ok
        assert same_tree(again.tree, reading.tree)


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_readers_agree_on_scraps(text: str) -> None:
    assert_readers_agree(text)
    read(text, start="expression")
    read(text, start="statements")


SAME_VERDICT = [
    "try:\n    x\nexcept E:\n    y\n",
    "del x",
    "raise x",
    "global x",
    "(x := 1)",
    "f(x := 1)",
    "x = f'{y}'",
    "x = 'a' f'{y}'",
    "async def f(): pass",
    "await x",
    "yield x",
    "x = yield",
    "match x:\n    case 1:\n        pass\n",
    "for i in x:\n    pass\nelse:\n    pass\n",
    "while x:\n    pass\nelse:\n    pass\n",
    "class A(metaclass=B): pass",
    "def f[*T](): pass",
    "def f[n: str](): pass",
    "def f[n = 1](): pass",
    "type X = int",
    "[x async for x in y]",
    "print x",
    "𝐢𝐟 = 1",
    "x = 1_",
    "with open(x) as f(): pass",
]


@pytest.mark.parametrize("text", SAME_VERDICT)
def test_what_the_language_lacks_is_refused_whoever_reads(text: str) -> None:
    assert read_ast(text) is None
    assert read_lark(text).diagnostics
    assert not read(text).ok


@pytest.mark.parametrize(
    ("text", "symbols"),
    [("def f[n](x): pass\n", ("n",)), ("def f[n, m: int,](x: T.Buffer((n, m))):\n    pass\n", ("n", "m"))],
)
def test_type_parameters_read_on_every_python(text: str, symbols: tuple[str, ...]) -> None:
    reading = read(text)
    assert reading.ok
    assert reading.tree.body[0].type_params == symbols
    assert_readers_agree(text)


@pytest.mark.parametrize(
    "text",
    [
        "x = " + " + ".join(["a"] * 5000),
        "x = (\n" + "\n+ ".join(["a"] * 5000) + "\n)",
        "x = " + "(" * 250 + "1" + ")" * 250,
        "x = " + "-" * 5000 + "1",
        "x = a" + ".b" * 5000,
        "x = " + "f(" * 3000 + "1" + ")" * 3000,
        "x = " + "a if b else " * 3000 + "c",
        "".join(" " * i + "if x:\n" for i in range(200)) + " " * 200 + "y",
        "if x:\n    y\n" + "elif z:\n    w\n" * 2000,
    ],
    ids=["sum", "lines", "brackets", "signs", "dots", "calls", "choices", "indents", "elifs"],
)
def test_deep_programs(text: str) -> None:
    reading = read(text)
    assert reading.ok
    again = read(layout(reading.tree))
    assert same_tree(again.tree, reading.tree)
    if "f(f(" not in text:  # the indentation alone would be millions of characters
        assert same_tree(read(layout(reading.tree, width=80)).tree, reading.tree)


@pytest.mark.parametrize(
    "text",
    [
        "x = f(\n" * 2000,
        "(" * 5000,
        "'" * 5001,
        "\\" * 2000,
        "@a\n" * 2000,
        "for i in x\n" * 1000,
        "x = = 1\n" * 1000,
    ],
    ids=["calls", "brackets", "quotes", "slashes", "decorators", "headers", "faults"],
)
def test_bad_text_is_read_in_linear_time(text: str) -> None:
    start = time.perf_counter()
    assert not read(text).ok
    assert time.perf_counter() - start < 5


def test_line_ends_and_marks_do_not_matter() -> None:
    text = "def f(x):\n    y = '''a\n    b'''\n    return y\n"
    for other in (text.replace("\n", "\r\n"), text.replace("\n", "\r"), "\ufeff" + text):
        for reader in (read_ast, read_lark):
            assert same_tree(reader(other).tree, read(text).tree, spans=True)


def test_columns_count_characters() -> None:
    text = "é = 'ñ𝄞' + x  # ü\n"
    for reader in (read_ast, read_lark):
        span = reader(text).tree.body[0].value.right.span
        assert (span.column, span.end_column) == (12, 13)


def test_a_piece_of_a_python_file_has_the_places_of_the_file() -> None:
    piece = "    @T.prim_func\n    def f(x):  # note\n        del x\n        y = f'{x}' + (n := 1)\n"
    reading = read_python(piece, filename="kernels.py", line=7)
    [function] = reading.tree.body
    assert (function.comment, str(function.span)) == ("# note", "kernels.py:8:5")
    deleted, assigned = function.body
    assert (deleted.kind, deleted.text, str(deleted.span)) == ("Delete", "del x", "kernels.py:9:9")
    assert isinstance(assigned.value.left, t.FString)
    [fault] = reading.diagnostics
    assert (fault.code, str(fault.span)) == ("unsupported-syntax", "kernels.py:10:23")


@pytest.mark.parametrize("start", ["expression", "statements"])
def test_fragments_may_be_indented(start: str) -> None:
    reading = read("   a + b  # c\n", start=start)
    assert reading.ok
    assert reading.tree.body[0].comment == "# c"
    assert not read("   a + b").ok


@pytest.mark.parametrize("text", ["", "a = 1", "a\nb", "pass", "return x"])
def test_only_a_single_expression_is_an_expression(text: str) -> None:
    assert not read(text, start="expression").ok


@pytest.mark.skipif("CORPUS" not in os.environ, reason="CORPUS names no folder of harvested programs")
def test_readers_agree_on_the_corpus() -> None:
    for file in sorted(Path(os.environ["CORPUS"]).glob("*.json")):
        row = json.loads(file.read_text(encoding="utf-8"))
        for text in (row.get("script"), row.get("source")):
            if text:
                assert_readers_agree(text)
                tree = read(text).tree
                assert same_tree(read(layout(tree)).tree, tree)
