"""The initialiser of a reduction becomes an ordinary statement."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...ir import EQ, Expr, IfThenElse, IterVar, PrimFunc, SBlock, seq
from ...ir.visitor import Rewriter
from ..common import both
from ..registry import prim_func_pass


@prim_func_pass("s_tir.LowerInitBlock")
def lower_init_block(func: PrimFunc) -> PrimFunc:
    """`with T.init()` becomes an `if` on all reduction axes being at their start.

    before:
        @T.prim_func(s_tir=True)
        def f(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
            for i, k in T.grid(4, 8):
                with T.sblock("sum"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    T.reads(A[vi, vk])
                    T.writes(B[vi])
                    with T.init():
                        B[vi] = T.float32(0)
                    B[vi] = B[vi] + A[vi, vk]

    after:
        @T.prim_func(s_tir=True)
        def f(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
            for i, k in T.grid(4, 8):
                with T.sblock("sum"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    T.reads(A[vi, vk])
                    T.writes(B[vi])
                    if vk == 0:
                        B[vi] = T.float32(0)
                    B[vi] = B[vi] + A[vi, vk]
    """
    return _Init()(func)


class _Init(Rewriter):
    def visit_SBlock(self, block: SBlock) -> Any:
        block = self.visit_fields(block)
        if block.init is None:
            return block
        start = start_condition(block.iter_vars)
        first = block.init if start is None else IfThenElse(start, block.init)
        return block.replace(init=None, body=seq([first, block.body]))


def start_condition(axes: Iterable[IterVar]) -> Expr | None:
    """The condition that all reduction axes are at their start; None where there are none."""
    start: Expr | None = None
    for axis in axes:
        if axis.iter_type == IterVar.COMM_REDUCE and axis.dom is not None:
            start = both(start, EQ(axis.var, axis.dom.min))
    return start
