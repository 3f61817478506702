"""Index arithmetic in narrower integers, where bounds prove that nothing changes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...dtype import DType
from ...ir import Bind, Expr, For, PrimFunc, PrimType, Range, SBlockRealize, Stmt, Var
from ...ir.arith import Analyzer
from ..registry import prim_func_pass
from .narrowing import Narrowing, Uses, fits


@prim_func_pass("tirx.NarrowDataType")
def narrow_data_type(func: PrimFunc, target_bits: int) -> PrimFunc:
    """Loop variables and axes get `target_bits` bits where every expression they occur in fits.

    Bounds decide; arithmetic that could overflow the narrow type keeps its type.  Parameters and what
    is stored keep theirs too.

    with: target_bits=32

    before:
        @T.prim_func
        def f(A: T.Buffer((64,), "int64")):
            for i, j in T.grid(T.int64(8), T.int64(8)):
                A[i * T.int64(8) + j] = i

    after:
        @T.prim_func
        def f(A: T.Buffer((64,), "int64")):
            for i, j in T.grid(8, 8):
                A[i * 8 + j] = T.Cast("int64", i)
    """
    narrow = DType(f"int{target_bits}")
    uses = Uses(narrow, Analyzer(data=True))
    uses(func)
    return _Narrow(narrow, uses.wide)(func)


class _Narrow(Narrowing):
    def __init__(self, narrow: DType, wide: set[Var]) -> None:
        super().__init__(narrow)
        self.wide = wide
        self.ana = Analyzer(data=True)

    def may_narrow(self, e: Expr) -> bool:
        return fits(self.ana, e, self.narrow)

    def narrows_var(self, var: Var) -> bool:
        return var not in self.wide

    @contextmanager
    def indexing(self, yes: bool = True) -> Iterator[None]:
        with self.ana.mode(data=not yes):
            yield

    def visit_Stmt(self, stmt: Stmt) -> Any:
        with self.indexing(False):
            return super().visit_Stmt(stmt)

    def visit_For(self, loop: For) -> Any:
        self.ana.bind(loop.loop_var, Range(loop.min, loop.extent))
        return super().visit_For(loop)

    def visit_Bind(self, stmt: Bind) -> Any:
        if isinstance(stmt.value.ty, PrimType):
            self.ana.bind(stmt.var, stmt.value)
        return super().visit_Bind(stmt)

    def visit_SBlockRealize(self, realize: SBlockRealize) -> Any:
        for axis in realize.block.iter_vars:
            if axis.dom is not None:
                self.ana.bind(axis.var, axis.dom)
        return super().visit_SBlockRealize(realize)
