"""Barriers: none is missing, none is needless, and none stands where only some threads come by."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.errors import PassError
from loopwright.ir import (
    LT,
    Add,
    BitwiseAnd,
    BitwiseXor,
    Cast,
    Evaluate,
    FloorDiv,
    FloorMod,
    IRModule,
    LShift,
    Max,
    Min,
    Mul,
    PrimFunc,
    RShift,
    Select,
    Sub,
    Var,
    check_well_formed,
    const,
    seq,
    structural_equal,
)
from loopwright.ir.arith import Analyzer
from loopwright.ir.visitor import Rewriter, substitute
from loopwright.script import parse
from loopwright.testing.phases import Block, Race, barriers_of
from loopwright.transform import get_pass
from loopwright.transform.s_tir.sync import barrier
from loopwright.transform.s_tir.sync.numbers import Unknown, evaluate
from loopwright.transform.s_tir.sync.threads import Threads

SYNC = get_pass("s_tir.ThreadSync", storage_scope=("shared", "shared.dyn"))
THREADS = 6


def kernel(lines, buffers='S = T.alloc_buffer((24,), "int32", scope="shared")', threads=THREADS):
    """A kernel of one block with these lines as its body."""
    text = [
        "@T.prim_func",
        'def f(A: T.Buffer((64,), "int32"), n: T.int32):',
        f'    t = T.launch_thread("threadIdx.x", {threads})',
        *[f"    {line}" for line in buffers.split("; ")],
        '    x = T.alloc_buffer((1,), "int32", scope="local")',
        "    x[0] = 0",
        *[f"    {line}" for line in lines],
        "    A[t] = x[0]",
    ]
    return parse("\n".join(text))


def synchronised(func):
    return SYNC(IRModule.from_expr(func))["f"]


def run(func, n=3):
    Block(func, {func.params[0]: np.arange(64), func.params[1]: n}).run()


def count(func):
    return len(list(barriers_of(func)))


INDEX = [
    "t",
    "5 - t",
    "(t + 1) % 6",
    "t // 2",
    "0",
    "k",
    "t + k % 2 * 6",
    "t + (k + 1) % 2 * 6",
    "t * 2 + 12",
]
INNER = ["t + j * 6", "(t + j) % 6", "t * 4 + j", "j", "t + (k + j) % 3 * 6"]
GUARDS = ["", "", "", "if t < 3:", "if t == 0:", "if k == 1:", "if t % 2 == k % 2:"]


@st.composite
def statement(draw, nested=True, indices=tuple(INDEX)):
    """Lines of one statement."""
    kinds = ["write", "write", "read", "read", "two", *(["loop"] if nested else [])]
    kind = draw(st.sampled_from(kinds))
    if kind == "loop":
        body = draw(st.lists(statement(nested=False, indices=(*INDEX, *INNER)), min_size=1, max_size=3))
        return [f"for j in range({draw(st.integers(1, 3))}):", *indented(body)]
    guard, index = draw(st.sampled_from(GUARDS)), st.sampled_from(indices)
    lines = [f"S[{draw(index)}] = t", f"x[0] = x[0] + S[{draw(index)}]"]
    lines = lines if kind == "two" else lines[:1] if kind == "write" else lines[1:]
    return [guard, *indented([lines])] if guard else lines


def indented(statements):
    """The lines of the statements as a body."""
    return [f"    {line}" for lines in statements for line in lines]


@st.composite
def kernels(draw):
    """Kernels of loops over `k`, so that every index means something."""
    lines = []
    for _ in range(draw(st.integers(1, 2))):
        body = draw(st.lists(statement(), min_size=1, max_size=3))
        lines += [f"for k in range({draw(st.integers(1, 4))}):", *indented(body)]
    return kernel(lines)


class _Without(Rewriter):
    def __init__(self, gone):
        super().__init__()
        self.gone = gone

    def visit_Evaluate(self, stmt):
        return Evaluate(0) if stmt is self.gone else stmt


def races_within(func: PrimFunc) -> bool:
    """Whether a single statement of the program races with itself, which no barrier can part."""
    try:
        run(saturated(func))
    except Race:
        return True
    return False


def saturated(func):
    """The function with a barrier wherever all threads come by."""

    class Everywhere(Rewriter):
        def visit_SeqStmt(self, stmt):
            new = super().visit_SeqStmt(stmt)
            return seq(
                [s for one in (new.seq if hasattr(new, "seq") else (new,)) for s in (barrier("shared"), one)]
            )

        def visit_For(self, loop):
            new = self.visit_fields(loop)
            return new.replace(body=seq([barrier("shared"), new.body]))

        def visit_IfThenElse(self, stmt):
            return stmt

    return Everywhere()(func)


@given(kernels())
def test_threads_meet_in_no_cell_and_every_barrier_is_needed(func):
    try:
        made = synchronised(func)
    except PassError as err:
        assert err.diagnostics[0].code == "divergent-barrier"
        return
    assert not check_well_formed(IRModule.from_expr(made))
    if races_within(func):
        return
    run(made)
    for one in list(barriers_of(made)):
        with pytest.raises(Race):
            run(_Without(one)(made))


@given(kernels())
def test_a_second_run_changes_nothing(func):
    try:
        made = synchronised(func)
    except PassError:
        return
    assert structural_equal(synchronised(made), made)


DTYPES = ["int8", "uint8", "uint16", "int32", "uint32", "int64", "uint64"]
KINDS = (Add, Sub, Mul, FloorDiv, FloorMod, Min, Max, LShift, RShift, BitwiseXor, BitwiseAnd)


@st.composite
def expressions(draw, var, dtype, depth=2):
    """Integer expressions of a variable, of one type."""
    kind = draw(st.sampled_from(["leaf", "cast", "choice", *["sum"] * 3] if depth else ["leaf"]))
    if kind == "leaf":
        return Cast(dtype, var) if draw(st.booleans()) else const(draw(st.integers(0, 100)), dtype)
    if kind == "cast":
        return Cast(dtype, draw(expressions(var, draw(st.sampled_from(DTYPES)), depth - 1)))
    a, b = draw(expressions(var, dtype, depth - 1)), draw(expressions(var, dtype, depth - 1))
    if kind == "choice":
        return Select(LT(a, b), a, b) + Cast(dtype, LT(b, a))
    op = draw(st.sampled_from(KINDS))
    if op in (FloorDiv, FloorMod, LShift, RShift):
        b = const(draw(st.integers(1, 7)), dtype)
    return op(a, b)


@given(st.data())
def test_indices_are_told_as_they_are_or_not_at_all(data):
    t = Var("t", "int32")
    e = data.draw(expressions(t, data.draw(st.sampled_from(DTYPES))))
    threads = Threads({t: THREADS})
    try:
        got = evaluate(threads.twins.visit(e), {threads.twins.of(t): np.arange(THREADS)})
    except Unknown:
        return
    want = [Analyzer(data=True).simplify(substitute(e, {t: const(k, "int32")})).value for k in range(THREADS)]
    np.testing.assert_array_equal(np.broadcast_to(got, THREADS), want)


def barriers_in(lines, buffers='S = T.alloc_buffer((24,), "int32", scope="shared")'):
    return count(synchronised(kernel(lines, buffers)))


PLAIN = {
    "one buffer by two names": (
        ["S[t] = t", "x[0] = V[5 - t]"],
        'S = T.alloc_buffer((24,), "int32", scope="shared"); '
        'V = T.decl_buffer((24,), "int32", data=S.data, scope="shared")',
        1,
    ),
    "a view of smaller elements": (
        ["S[t] = t", 'x[0] = T.Cast("int32", V[t * 4 + 4])'],
        'S = T.alloc_buffer((24,), "int32", scope="shared"); '
        'V = T.decl_buffer((96,), "int8", data=S.data, scope="shared")',
        1,
    ),
    "a view of the same cells": (
        ["S[t] = t", 'x[0] = T.Cast("int32", V[t * 4 + 3])'],
        'S = T.alloc_buffer((24,), "int32", scope="shared"); '
        'V = T.decl_buffer((96,), "int8", data=S.data, scope="shared")',
        0,
    ),
    "two buffers": (
        ["S[t] = t", "x[0] = V[5 - t]"],
        'S = T.alloc_buffer((24,), "int32", scope="shared"); V = T.alloc_buffer((24,), "int32", scope="shared")',
        0,
    ),
    "a loop of unknown length": (
        ["for k in range(n):", "    S[t + k * 6] = k", "    x[0] = x[0] + S[t + k * 6]"],
        None,
        0,
    ),
    "a loop of unknown length that shifts": (
        ["for k in range(n):", "    S[t] = k", "    x[0] = x[0] + S[5 - t]"],
        None,
        2,
    ),
    "two halves by turns": (
        ["for k in range(n):", "    S[t + k % 2 * 6] = k", "    x[0] = x[0] + S[5 - t + k % 2 * 6]"],
        None,
        1,
    ),
    "a loop that begins elsewhere each time": (
        [
            "for k in range(2):",
            "    for j in T.serial(k, k + 2):",
            "        S[t + j * 6] = j",
            "x[0] = S[5 - t + 12]",
        ],
        None,
        1,
    ),
    "a barrier that is there": (["S[t] = t", 'T.tvm_storage_sync("shared")', "x[0] = S[5 - t]"], None, 1),
    "a uniform condition": (["if n > 1:", "    S[t] = t", "    x[0] = S[5 - t]"], None, 1),
    "a condition read from memory that all share": (
        ["S[t] = t", "if S[0] > 1:", "    S[t] = t + 1"],
        None,
        2,
    ),
    "a name for an index": (["i: T.let = (t + 1) % 6", "S[t] = t", "x[0] = S[i]"], None, 1),
    "an index that wraps": (["S[t] = t", 'x[0] = S[T.Cast("int32", T.Cast("uint8", t * 64))  % 6]'], None, 1),
    "a size that wraps": (
        [
            'S[T.Cast("int32", T.Cast("uint8", n)) + t] = t',
            'x[0] = S[T.Cast("int32", T.Cast("uint8", n)) + t]',
        ],
        'S = T.alloc_buffer((264,), "int32", scope="shared")',
        0,
    ),
    "an index from memory": (["S[t] = t", "x[0] = S[A[t]]"], None, 1),
    "exchange by exclusive or": (["S[t] = t", "x[0] = S[T.bitwise_xor(t, 1)]"], None, 1),
    "both ways of a branch": (
        ["if t < 3:", "    S[t] = t", "else:", "    S[t] = 0", "x[0] = S[5 - t]"],
        None,
        1,
    ),
}


@pytest.mark.parametrize("what", PLAIN)
def test_barriers_stand_where_threads_exchange_values(what):
    lines, buffers, expected = PLAIN[what]
    assert (barriers_in(lines) if buffers is None else barriers_in(lines, buffers)) == expected


def test_a_branch_is_parted_where_threads_exchange_values():
    made = synchronised(kernel(["if t < n:", "    S[t] = t", "    x[0] = S[5 - t]", "else:", "    x[0] = 7"]))
    assert count(made) == 1
    for n in range(7):
        run(made, n)


def test_a_loop_inside_of_a_branch_is_parted_too():
    lines = [
        "if t < n:",
        "    for k in range(3):",
        "        S[t] = k",
        "        x[0] = x[0] + S[(t + 1) % 6]",
    ]
    made = synchronised(kernel(lines))
    assert count(made) == 2
    run(made, 4)


def test_copies_in_flight_land_at_their_wait():
    lines = [
        "for k in range(8):",
        '    T.s_tir.cp_async_raw("int32", S.data, k % 3 * 6 + t, A.data, t, 4)',
        "    T.ptx.cp.async_.commit_group()",
        "    T.ptx.cp.async_.wait_group({waits})",
        "    x[0] = x[0] + S[(k + {ahead}) % 3 * 6 + 5 - t]",
    ]
    for waits, ahead, expected in ((0, 0, 1), (1, 2, 1)):
        text = [line.format(waits=waits, ahead=ahead) for line in lines]
        made = synchronised(kernel(text))
        assert count(made) == expected, made.script()
        script = made.script()
        assert script.index("wait_group") < script.index("tvm_storage_sync") < script.index("x = x + S")


def test_threads_of_a_block_wait_for_each_other_in_global_memory():
    func = parse(
        """
@T.prim_func
def f(A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32")):
    t = T.launch_thread("threadIdx.x", 8)
    A[t] = t
    B[t] = A[7 - t]
"""
    )
    made = get_pass("s_tir.ThreadSync")(IRModule.from_expr(func), storage_scope=("shared", "global"))["f"]
    assert count(made) == 1


def test_a_loop_that_threads_leave_at_different_times_is_refused():
    lines = ["for k in range(t):", "    S[t] = k", "    x[0] = x[0] + S[(t + 1) % 6]"]
    with pytest.raises(PassError, match="does not run equally often"):
        synchronised(kernel(lines))


def test_a_thread_alone_waits_for_nobody():
    lines = ["S[A[t]] = t", "if A[t] > 0:", "    x[0] = S[A[t + 1]]", "    S[A[t]] = 2"]
    assert count(synchronised(kernel(lines, threads=1))) == 0


def test_lanes_of_a_warp_wait_for_each_other():
    func = parse(
        """
@T.prim_func
def f(A: T.Buffer((64,), "int32")):
    y = T.launch_thread("threadIdx.y", 2)
    t = T.launch_thread("threadIdx.x", 32)
    W = T.alloc_buffer((32,), "int32", scope="warp")
    W[t] = A[y * 32 + t]
    A[y * 32 + t] = W[31 - t]
"""
    )
    once = get_pass("s_tir.ThreadSync")(IRModule.from_expr(func), storage_scope="warp")
    assert [s.value.args[0].value for s in barriers_of(once["f"])] == ["warp"]
    assert structural_equal(get_pass("s_tir.ThreadSync")(once, storage_scope="warp"), once)
