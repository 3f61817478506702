from __future__ import annotations

import textwrap

import pytest

from loopwright.errors import ArgumentValueError
from loopwright.ir import (
    Add,
    BufferLoad,
    BufferStore,
    BufferType,
    For,
    IntImm,
    PrimFunc,
    SBlock,
    SBlockRealize,
    SeqStmt,
    Var,
)
from loopwright.printer import script
from loopwright.printer.paths import parse_path, path_text

A = Var("A", BufferType("int32", (16,)))
i, j = Var("i"), Var("j")
STORE = BufferStore(A, Add(BufferLoad(A, (i,)), Add(i, i)), (i,))
BLOCK = SBlockRealize((), IntImm("bool", 1), SBlock((), (), (), "b", STORE))
FUNC = PrimFunc((A,), For(i, 0, 16, 1, SeqStmt([BLOCK, For(j, 0, 4, 0, STORE)])), None, {"k": 1})


def shown(**options):
    """The printed text without the header lines."""
    text = script(FUNC, **options)
    return "\n".join([row for row in text.split("\n") if not row.lstrip("0123456789 ").startswith("# from")])


def block(text):
    return textwrap.dedent(text).strip("\n")


def test_paths():
    for text in ("<root>", "<root>.body.seq[1].body", '<root>.attrs["a.b"]', "<root>.params[0].ty.shape[1]"):
        assert path_text(parse_path(text)) == text
    assert parse_path(("body", "seq", 1)) == parse_path("<root>.body.seq[1]") == parse_path("body.seq[1]")
    for bad in ("<root>.", "body..x", "a b", "seq[x]"):
        with pytest.raises(ArgumentValueError, match="is not an access path"):
            parse_path(bad)
    with pytest.raises(ArgumentValueError, match="leads nowhere"):
        script(FUNC, path_to_underline=["<root>.body.nothing"])


def test_a_statement_is_underlined_on_each_line():
    assert shown(path_to_underline=["<root>.body.body.seq[0]"]) == block("""
        Access path: <root>.body.body.seq[0]


        @T.prim_func(private=True)
        def main(A: T.Buffer((16,), "int32")):
            T.func_attr({"k": 1})
            for i in T.parallel(16):
                with T.sblock("b"):
                ^^^^^^^^^^^^^^^^^^^
                    T.reads()
                    ^^^^^^^^^
                    T.writes()
                    ^^^^^^^^^^
                    A[i] = A[i] + (i + i)
                    ^^^^^^^^^^^^^^^^^^^^^
                for j in range(4):
                    A[i] = A[i] + (i + i)
    """)


@pytest.mark.parametrize(
    ("path", "row"),
    [
        ("body.body.seq[1].body.value", "       ^^^^^^^^^^^^^^"),
        ("body.body.seq[1].body.value.a", "       ^^^^"),
        ("body.body.seq[1].body.value.b.a", "               ^"),
        ("body.body.seq[1].body.value.b.b", "                   ^"),
        ("body.body.seq[1].body.indices[0]", "  ^"),
        ("body.body.seq[1].body.buffer", "^"),
    ],
)
def test_an_expression_is_underlined_where_it_stands(path, row):
    rows = shown(path_to_underline=[path]).split("\n")
    assert rows[-1].strip() == row.strip()
    assert rows[-1].index("^") - rows[-2].index("A[i]") == row.index("^")
    assert len([r for r in rows if "^" in r]) == 1


def test_the_nearest_visible_parent_stands_for_what_has_no_text():
    rows = shown(path_to_underline=["<root>.body.body.seq[1].kind"]).split("\n")
    assert rows[1] == "Note: The underlined object is the nearest visible parent of this path."
    assert [r for r in rows if "^" in r] == [
        "        " + "^" * len("for j in range(4):"),
        "            " + "^" * len("A[i] = A[i] + (i + i)"),
    ]


def test_context_and_numbers():
    text = shown(path_to_underline=["body.body.seq[1].extent"], num_context_lines=1, print_line_numbers=True)
    assert text == block("""
        Access path: <root>.body.body.seq[1].extent

        (... 9 lines skipped ...)
        10             A[i] = A[i] + (i + i)
        11         for j in range(4):
                                  ^
        12             A[i] = A[i] + (i + i)
    """).replace("(... 9", "(... 9").replace("\n        10", "\n10")


def test_objects():
    rows = shown(obj_to_underline=[STORE]).split("\n")
    assert [r.strip() for r in rows if "^" in r] == ["^" * len("A[i] = A[i] + (i + i)")] * 2
    noted = shown(obj_to_annotate=[(FUNC.body, "the loop")]).split("\n")
    assert noted[noted.index("    # the loop") + 1] == "    for i in T.parallel(16):"
    by_path = shown(path_to_annotate={"<root>.body.body.seq[1]": "inner"}).split("\n")
    assert by_path[by_path.index("        # inner") + 1] == "        for j in range(4):"
