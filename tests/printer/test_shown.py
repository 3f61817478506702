from __future__ import annotations

import pickle

from hypothesis import given

from loopwright.ir import Add, BufferLoad, BufferStore, BufferType, Expr, Mul, Var
from loopwright.printer import Shown, layout, script, show, surface
from loopwright.testing import strategies

A = Var("A", BufferType("int32", (16,)))
x = Var("x")


def test_places():
    load = BufferLoad(A, (x,))
    text = show(BufferStore(A, Mul(Add(load, x), 2), (x,)), mark=[load])
    assert text == 'A = T.Buffer((16,), "int32")\nx = T.int32()\nA[x] = (A[x] + x) * 2'
    assert isinstance(text, Shown) and isinstance(text, str)
    assert [text[a:b] for a, b in text.places(load)] == ["A[x]"]
    assert [text[a:b] for a, b in text.places(x)] == ["x", "x", "x"]
    assert text.marks == text.places(load)
    span = text.span(*text.marks[0])
    assert (span.line, span.column, span.end_column) == (3, 9, 13)
    assert text.at(text.index("(A[x]") + 1) is A
    assert text.at(text.index("+")) is text.root.value.a
    assert text.places(Var("y")) == []


def test_pickling_keeps_the_text():
    text = show(Add(x, 1))
    assert pickle.loads(pickle.dumps(text)) == "x + 1"


@given(strategies.prim_funcs())
def test_the_text_of_a_part_is_at_its_place(func):
    text = show(func)
    assert text == script(func)
    assert layout(surface(func)) == text + "\n"
    for node, start, end in text.nodes:
        assert 0 <= start < end <= len(text)
        part = text[start:end]
        if isinstance(node, Var) and part.isidentifier():
            assert text.at(start) is not None
        if isinstance(node, Expr) and not part.startswith(("(", "@")):
            assert part.count("(") == part.count(")") or '"' in part
