"""What is live: without dead stores the results are the same; ranges hold every access."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.ir import BufferStore, Evaluate, Rewriter
from loopwright.ir.analysis import dead_stores, live_ranges
from loopwright.script import parse
from loopwright.testing.results import assert_same_results
from loopwright.testing.strategies import prim_funcs

HEAD = '@T.prim_func(s_tir=True)\ndef main(A: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")):\n'


def program(body: str):
    return parse(HEAD + "".join([f"    {line}\n" for line in body.splitlines()]))


class Without(Rewriter):
    def __init__(self, dead):
        super().__init__()
        self.dead = {id(s) for s in dead}

    def visit_BufferStore(self, stmt):
        return Evaluate(0) if id(stmt) in self.dead else self.visit_fields(stmt)


LINES = (
    "x[0] = A[i % 4] + y[1]",
    "y[i % 2] = x[0] + 1",
    "x[0] = 7",
    "y[0] = y[1]",
    "z[0] = x[0]",
    "C[i % 4] = z[0] + x[0]",
    "C[0] = y[0]",
    "x[0] = x[0] + 1",
    "z[0] = z[0] + 1",
)


@st.composite
def programs(draw: st.DrawFn):
    """Stores to small buffers in sequences, loops, branches and blocks."""
    rows = [
        "x = T.alloc_buffer((1,), 'int32')",
        "y = T.alloc_buffer((2,), 'int32')",
        "z = T.alloc_buffer((1,), 'int32')",
    ]
    rows += ["x[0] = 0", "z[0] = 0", "for q in range(2):", "    y[q] = q", "for i in range(3):"]
    for _ in range(draw(st.integers(1, 4))):
        lines = draw(st.lists(st.sampled_from(LINES), min_size=1, max_size=3))
        match draw(st.integers(0, 4)):
            case 0:
                rows += ["    if A[i % 4] > 0:", *[f"        {r}" for r in lines]]
            case 1:
                rows += ["    for j in range(2):", *[f"        {r}" for r in lines]]
                if draw(st.booleans()):
                    rows += [
                        "        if A[0] > 1:",
                        f"            {draw(st.sampled_from(('break', 'continue')))}",
                    ]
                    rows += [f"        {draw(st.sampled_from(LINES))}"]
            case _:
                rows += [f"    {r}" for r in lines]
    if draw(st.booleans()):
        rows += ["C[3] = x[0]"]
    return program("\n".join(rows))


@given(programs())
def test_dead_stores_can_go(func):
    assert_same_results(func, Without(dead_stores(func))(func))


@given(prim_funcs(executable=True))
def test_dead_stores_of_generated_programs_can_go(func):
    dead = dead_stores(func)
    if dead:
        assert_same_results(func, Without(dead)(func))


CASES = {
    "x = T.alloc_buffer((1,), 'int32')\nx[0] = 1\nC[0] = 2": ["x"],
    "x = T.alloc_buffer((1,), 'int32')\nx[0] = 1\nC[0] = x[0]": [],
    "x = T.alloc_buffer((1,), 'int32')\nx[0] = 1\nx[0] = 2\nC[0] = x[0]": ["x"],
    "x = T.alloc_buffer((2,), 'int32')\nx[0] = 1\nx[1] = 2\nC[0] = x[0]": [],
    "x = T.alloc_buffer((1,), 'int32')\nfor i in range(3):\n    C[i] = x[0]\n    x[0] = i": [],
    "x = T.alloc_buffer((1,), 'int32')\nx[0] = 1\nT.evaluate(T.call_extern('int32', 'f', x.data))": [],
    "x = T.alloc_buffer((1,), 'int32')\ny = T.alloc_buffer((1,), 'int32')\nx[0] = 1\ny[0] = x[0]": ["y"],
}


@pytest.mark.parametrize("body", CASES)
def test_examples(body):
    assert [s.buffer.name for s in dead_stores(program(body))] == CASES[body]


def test_ranges_are_places_of_statements():
    func = program("""x = T.alloc_buffer((1,), 'int32')
y = T.alloc_buffer((1,), 'int32')
x[0] = 1
y[0] = x[0]
for i in range(3):
    C[i] = y[0]
    A[i] = 1
C[0] = 1""")
    ranges = {b.name: r for b, r in live_ranges(func).items()}
    assert ranges == {"x": (2, 3), "y": (3, 6)}


@given(programs())
def test_ranges_overlap_where_one_statement_touches_both(func):
    ranges = {b.name: r for b, r in live_ranges(func).items()}
    from loopwright.ir import BufferLoad, walk

    for stmt in walk(func):
        if isinstance(stmt, BufferStore):
            names = {
                stmt.buffer.name,
                *[n.buffer.name for n in walk(stmt.value) if isinstance(n, BufferLoad)],
            }
            touched = [ranges[n] for n in names if n in ranges]
            assert max([r[0] for r in touched], default=0) <= min([r[1] for r in touched], default=0)
