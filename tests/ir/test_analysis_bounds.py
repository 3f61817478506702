"""Accesses outside of buffers: all the oracle meets are named, and only those that are certain are errors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.errors import OutOfBoundsError
from loopwright.ir import IRModule
from loopwright.ir.analysis import find_out_of_bounds
from loopwright.script import parse
from loopwright.testing.strategies import prim_funcs


def program(body: str, n: int = 4, m: int = 4):
    params = f'A: T.Buffer(({n},), "int32"), C: T.Buffer(({m},), "int32"), x: T.int32'
    head = f"@T.prim_func(s_tir=True)\ndef main({params}):\n"
    return parse(head + "".join([f"    {line}\n" for line in body.splitlines()]))


@st.composite
def affine(draw: st.DrawFn) -> str:
    """An index over the loops i and j."""
    number = st.integers(-2, 3)
    return f"i * {draw(number)} + j * {draw(number)} + {draw(st.integers(-1, 4))}"


@st.composite
def plain_programs(draw: st.DrawFn):
    """Affine accesses in loops and blocks, all of them reached."""
    index, other = draw(affine()), draw(affine())
    n, m = draw(st.integers(1, 12)), draw(st.integers(1, 12))
    ni, nj = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    line = f"C[{other}] = A[{index}] + 1"
    if draw(st.booleans()):
        body = f"for i, j in T.grid({ni}, {nj}):\n    {line}"
    else:
        line = line.replace("i", "v").replace("j", "w")
        body = f"""for i, j in T.grid({ni}, {nj}):
    with T.sblock("b"):
        v = T.axis.spatial({ni}, i)
        w = T.axis.spatial({nj}, j)
        {line}"""
    return program(body, n, m)


@st.composite
def guarded_programs(draw: st.DrawFn):
    """Accesses under conditions, with quotients and remainders."""
    index, limit = draw(affine()), draw(st.integers(0, 8))
    inner = f"({index}) {draw(st.sampled_from(['// 2', '% 3', '+ 0']))}"
    form = draw(st.integers(0, 4))
    n = draw(st.integers(1, 9))
    if form == 0:
        body = f"if {index} < {limit}:\n        C[0] = A[{inner}]"
    elif form == 1:
        body = f"C[0] = T.if_then_else({inner} >= 0 and {inner} < {limit}, A[{inner}], 0)"
    elif form == 2:
        body = f"C[0] = T.Select({index} < {limit}, A[{inner}], 1)"
    elif form == 3:
        body = f"C[0] = T.Let(A[k], where={{k: {inner}}})"
        body = f"k: T.let = {inner}\n    C[0] = A[k]"
    else:
        body = f"if {inner} < 0 or A[{inner}] > 0:\n        C[0] = 1"
    return program(
        f"for i, j in T.grid({draw(st.integers(1, 4))}, {draw(st.integers(1, 3))}):\n    {body}", n
    )


def leaves_bounds(func) -> bool:
    """Whether a run in the oracle leaves the bounds."""
    sizes = [int(p.shape[0].value) for p in func.params[:2]]
    try:
        func.interpret(*[np.zeros(n, "int32") for n in sizes], 0)
    except OutOfBoundsError:
        return True
    return False


@given(plain_programs())
def test_what_is_reached_and_affine_is_decided(func):
    errors = find_out_of_bounds(func)
    assert bool(errors) == leaves_bounds(func)
    assert all(d.severity == "error" for d in errors)


@given(guarded_programs())
def test_no_fault_is_missed_and_no_error_is_false(func):
    fault = leaves_bounds(func)
    if fault:
        assert find_out_of_bounds(func, possible=True)
    if find_out_of_bounds(func):
        assert fault


@given(prim_funcs(executable=True))
def test_programs_that_run_have_no_errors(func):
    assert not find_out_of_bounds(func)


CASES = {
    "C[0] = A[4]": ("A", "error"),
    "C[4] = A[0]": ("C", "error"),
    "C[-1] = A[0]": ("C", "error"),
    "for i in range(5):\n    C[0] = A[i]": ("A", "error"),
    "for i in range(0):\n    C[0] = A[7]": None,
    "C[0] = A[x]": ("A", "warning"),
    "if x == 2:\n    C[0] = A[9]": ("A", "warning"),
    "C[T.Ramp(0, 1, 8)] = T.Broadcast(1, 8)": ("C", "error"),
    "for i in T.thread_binding(9, 'threadIdx.x'):\n    C[0] = A[i]": ("A", "warning"),
    "for i in range(9):\n    if i < 4:\n        C[i] = A[i]": None,
    "for i in range(9):\n    if i >= 4:\n        break\n    C[0] = A[i]": ("A", "warning"),
    "for i in range(2):\n    with T.sblock('b'):\n        M = T.match_buffer(A[i * 4:i * 4 + 4], (4,))": (
        "A",
        "error",
    ),
    "T.evaluate(T.address_of(A[4]))": None,
}


@pytest.mark.parametrize("body", CASES)
def test_examples(body):
    found = find_out_of_bounds(program(body), possible=True)
    if CASES[body] is None:
        assert not found
        return
    name, severity = CASES[body]
    assert found[0].severity == severity
    assert f"buffer {name} " in found[0].message


def test_a_module_is_looked_at_function_by_function():
    bad = program("C[0] = A[4]")
    assert len(find_out_of_bounds(IRModule({"f": bad, "g": program("C[0] = A[0]")}))) == 1
    assert find_out_of_bounds(bad)[0].span is not None
