"""Selections that must not evaluate what they do not choose."""

from __future__ import annotations

from typing import Any

from ...ir import Call, PrimFunc, Select
from ...ir.visitor import Rewriter
from ..registry import prim_func_pass
from ..speculation import never_fails


@prim_func_pass("s_tir.RewriteUnsafeSelect")
def rewrite_unsafe_select(func: PrimFunc) -> PrimFunc:
    """A selection between values that read memory, or may fail, evaluates the chosen one only.

    Selections by a vector of conditions stay.

    before:
        @T.prim_func
        def f(A: T.Buffer((4,), "int32"), B: T.Buffer((5,), "int32")):
            for i in range(5):
                B[i] = T.Select(i > 0, A[i - 1], 0)

    after:
        @T.prim_func
        def f(A: T.Buffer((4,), "int32"), B: T.Buffer((5,), "int32")):
            for i in range(5):
                B[i] = T.if_then_else(i > 0, A[i - 1], 0)
    """
    return _Lazy()(func)


class _Lazy(Rewriter):
    def visit_Select(self, e: Select) -> Any:
        new = self.visit_fields(e)
        if new.condition.dtype.is_vector or (never_fails(new.true_value) and never_fails(new.false_value)):
            return new
        args = (new.condition, new.true_value, new.false_value)
        return Call("prim.if_then_else", args, new.ty, span=new.span)
