"""Guards of tails become ends of loops."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright import Schedule, parse
from loopwright.ir import For, IfThenElse, PrimFunc, walk
from loopwright.testing.results import assert_same_results
from loopwright.transform import get_pass, lower

COPY = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({n}, {m})), B: T.Buffer(({n}, {m}))):
    for i, j in T.grid({n}, {m}):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + 1.0
"""

SYMBOLIC = """
@T.prim_func(s_tir=True)
def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,))
    B = T.match_buffer(b, (n,))
    for i in range(n):
        with T.sblock("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi] + 1.0
"""


def tightened(sch: Schedule) -> Any:
    opaque = get_pass("s_tir.ConvertBlocksToOpaque")(sch.mod)
    made = get_pass("s_tir.TightenLoops")(opaque)
    assert get_pass("s_tir.TightenLoops")(made) is made
    return made


def asks(mod: Any) -> bool:
    """Whether anything is asked in the loops."""
    return any(isinstance(n, IfThenElse) for n in walk(lower(mod)["main"]))


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 5), st.integers(1, 5), st.booleans())
def test_split_loops_have_no_guard(n: int, m: int, p: int, q: int, exchange: bool) -> None:
    func = parse(COPY.format(n=n, m=m))
    sch = Schedule(func)
    i, j = sch.get_loops("B")
    i0, i1 = sch.split(i, [None, p])
    j0, j1 = sch.split(j, [q, None])
    sch.reorder(*((i0, j0, i1, j1) if exchange else (j0, i0, j1, i1)))
    assert not asks(tightened(sch))
    assert_same_results(func, lower(sch.mod)["main"])


@pytest.mark.parametrize("size", [1, 15, 16, 17, 40])
def test_sizes_known_at_run_time_only(size: int) -> None:
    func = parse(SYMBOLIC)
    sch = Schedule(func)
    sch.split(sch.get_loops("B")[0], [None, 16])
    assert not asks(sch.mod)
    assert isinstance(func, PrimFunc)
    import numpy as np

    from loopwright import build

    a, b = np.arange(size, dtype=np.float32), np.zeros(size, np.float32)
    build(sch.mod)["main"](a, b)
    assert (b == a + 1).all()


def test_a_condition_is_asked_once_where_it_can_be() -> None:
    sch = Schedule(parse(COPY.format(n=30, m=8)))
    i, j = sch.get_loops("B")
    _, i1 = sch.split(i, [None, 8])
    sch.unroll(i1)
    made = tightened(sch)
    guarded = [n for n in walk(made["main"]) if isinstance(n, IfThenElse)]
    assert len(guarded) == 1 and isinstance(guarded[0].then_case, For)
