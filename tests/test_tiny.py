"""One kernel through every room: the first thing to run after a change."""

from __future__ import annotations

import numpy as np

import loopwright
from loopwright import ir
from loopwright.script import tirx as T


@T.prim_func
def scale(a: T.Buffer((6, 4), "float32"), b: T.Buffer((6, 4), "float32"), factor: T.float32):
    for i, j in T.grid(6, 4):
        with T.sblock("scale"):
            vi, vj = T.axis.remap("SS", [i, j])
            b[vi, vj] = a[vi, vj] * factor


def test_one_kernel_through_all_rooms() -> None:
    text = scale.script()
    assert loopwright.check(text) == []
    again = loopwright.parse(text)
    assert loopwright.structural_equal(scale, again)
    assert ir.check_well_formed(again) == []
    assert ir.structural_equal(ir.from_json(ir.to_json(again)), again)
    a = np.arange(24, dtype=np.float32).reshape(6, 4)
    compiled, interpreted = np.zeros_like(a), np.zeros_like(a)
    again(a, compiled, 3.0)
    again.interpret(a, interpreted, 3.0)
    assert (compiled == a * 3).all() and (interpreted == compiled).all()
    assert "define" in loopwright.build(again).source("llvm")
