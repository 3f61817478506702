"""Loops that a `break` or `continue` leaves early are marked."""

from __future__ import annotations

from typing import Any, Final

from ...ir import For, PrimFunc
from ...ir.visitor import Rewriter
from ..loops import jumps_out
from ..registry import prim_func_pass

IRREGULAR: Final = "irregular_loop_mark"
"""The annotation of a loop that must stay a loop, since its body breaks or continues it."""


@prim_func_pass("s_tir.AnnotateIrregularLoop")
def annotate_irregular_loop(func: PrimFunc) -> PrimFunc:
    """A loop whose body breaks or continues it is annotated, so that later passes leave it a loop.

    before:
        @T.prim_func
        def f(A: T.Buffer((10,), "int32")):
            for i in range(10):
                if A[i] > 5:
                    break
                A[i] = 0

    after:
        @T.prim_func
        def f(A: T.Buffer((10,), "int32")):
            for i in T.serial(10, annotations={"irregular_loop_mark": 1}):
                if A[i] > 5:
                    break
                A[i] = 0
    """
    return _Annotate()(func)


class _Annotate(Rewriter):
    def visit_For(self, loop: For) -> Any:
        new = self.visit_fields(loop)
        if IRREGULAR in new.annotations or not jumps_out(new.body):
            return new
        return new.replace(annotations={**new.annotations, IRREGULAR: 1})
