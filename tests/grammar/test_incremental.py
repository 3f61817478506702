"""Reading again after an edit gives what reading anew gives."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from loopwright.grammar import Reader, read, same_tree
from loopwright.grammar import tree as t


def function(n: int, indent: str = "", lines: int = 2) -> str:
    rows = [
        f"{indent}# about f{n}",
        f"{indent}@T.prim_func",
        f"{indent}def f{n}(A: T.Buffer((16,), 'float32')):",
    ]
    rows += [
        f"{indent}    for i in range({k}):\n{indent}        A[i] = A[i] + {k}  # step" for k in range(lines)
    ]
    return "\n".join([*rows, f"{indent}    # done", ""])


TEXT = "\n".join(
    [
        "# header\n\nimport x\n\n",
        function(0),
        "@I.ir_module\nclass Module:\n    I.module_attrs({})\n",
        *[function(n, "    ") for n in (1, 2, 3)],
        "\n\nclass Other:\n",
        function(4, "    "),
        function(5),
    ]
)
PIECES = (
    "",
    "\n",
    "x",
    " ",
    "    ",
    "y = 1\n",
    "    y = 1\n",
    "        z\n",
    "# c\n",
    "@a\n",
    "def g():\n    pass\n",
)
PIECES += ("(", ")", '"', "'''", "\\", "else:\n", "1 1", ":", "\t", "class B:\n    a\n", "\n\n", "µ")


def everything(tree: t.Surface) -> list[object]:
    found, work = [], [tree]
    while work:
        part = work.pop()
        if isinstance(part, t.Surface):
            found.append((type(part).__name__, part.span))
            work += [getattr(part, name) for name in type(part).fields if name != "span"]
        elif isinstance(part, tuple):
            work += part
    return found


def assert_like_new(reader: Reader, text: str) -> None:
    reading, new = reader.update(text), read(text)
    assert reading.diagnostics == new.diagnostics
    assert same_tree(reading.tree, new.tree)
    assert everything(reading.tree) == everything(new.tree)
    assert (reading.source, reading.whole) == (new.source, new.whole)


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 12), st.sampled_from(PIECES)), max_size=4))
def test_any_edits_give_what_reading_anew_gives(edits: list[tuple[int, int, str]]) -> None:
    text = TEXT
    reader = Reader(text)
    for place, length, piece in edits:
        at = place % (len(text) + 1)
        text = text[:at] + piece + text[at + length :]
        assert_like_new(reader, text)


def test_only_the_edited_definition_is_read() -> None:
    text = "\n".join(function(n, lines=9) for n in range(10))
    reader = Reader(text)
    edited = text.replace("A[i] = A[i] + 7", "B = 1\n        A[i] = 7", 1)
    assert_like_new(reader, edited)
    first, last = reader.last_read
    assert last - first < 60
    broken = edited.replace("range(3)", "range(3", 1).replace("range(5)", "range(5) 1", 6)
    assert_like_new(reader, broken)
    assert_like_new(reader, edited.replace("range(5)", "range 5", 1))


def test_methods_are_read_alone() -> None:
    text = "class Module:\n" + "\n".join(function(n, "    ") for n in range(10))
    reader = Reader(text)
    assert_like_new(reader, text.replace("f4(", "g4(", 1))
    first, last = reader.last_read
    assert last - first < 15
