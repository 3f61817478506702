from __future__ import annotations

import sys
import time

from loopwright.ir import (
    LT,
    Add,
    And,
    Bind,
    BufferStore,
    BufferType,
    Evaluate,
    For,
    IfThenElse,
    IntImm,
    Let,
    Mul,
    PrimFunc,
    SeqStmt,
    Var,
)
from loopwright.printer import script

x = Var("x")
A = Var("A", BufferType("int32", (16,)))


def shown(body):
    started = time.perf_counter()
    limit = sys.getrecursionlimit()
    text = script(PrimFunc((x, A), body))
    assert sys.getrecursionlimit() == limit
    assert time.perf_counter() - started < 2
    return text


def test_long_chains():
    left = right = x
    for i in range(2, 5002):
        left = Add(left, Mul(x, i))
        right = Add(x, Mul(right, i))
    assert shown(Evaluate(left)).endswith("x * 5000 + x * 5001)")
    assert shown(Evaluate(right)).count("(") > 5000
    logic = LT(x, 2)
    for i in range(5000):
        logic = And(logic, LT(x, i))
    assert shown(Evaluate(logic)).count(" and ") == 5000


def test_many_statements():
    text = shown(SeqStmt([Bind(Var("v"), Add(x, 1)) for _ in range(5000)]))
    assert text.endswith("v_4999: T.let[T.int32] = x + 1")
    text = shown(SeqStmt([Evaluate(Var("u")) for _ in range(3000)]))
    assert "u_2999 = T.int32()" in text


def test_deep_nests():
    loops = grid = branches = BufferStore(A, x, (0,))
    for _ in range(200):
        loops = For(Var("i"), 0, 8, 1, loops)
        grid = For(Var("i"), 0, 8, 0, grid)
    assert "i_199 in T.parallel(8):" in shown(loops)
    assert shown(grid).count("i_") == 199
    for _ in range(1000):
        branches = IfThenElse(LT(x, 3), branches, Evaluate(0))
    assert shown(branches).count("else:") == 1000


def test_nested_lets():
    e = x
    for _ in range(2000):
        v = Var("v")
        e = Let(v, IntImm("int32", 1), Add(v, e))
    text = shown(Evaluate(e))
    assert text.count("where={v: 1}") == 1 and "v_1999 = T.int32()" in text
