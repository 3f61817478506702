"""Stores of values that must not matter."""

from __future__ import annotations

from typing import Any

from ...ir import Bind, BufferLoad, BufferStore, Call, Evaluate, Expr, Op, PrimFunc, SeqStmt, Var, seq
from ...ir.visitor import Rewriter, walk
from ..common import is_nothing, refuse
from ..registry import prim_func_pass


@prim_func_pass("s_tir.RemoveStoreUndef")
def remove_store_undef(func: PrimFunc) -> PrimFunc:
    """A store whose value is computed from `T.undef()` goes, and so does a name for such a value.

    Raises PassError where an undefined value is left over: in an index, or deciding what runs.

    before:
        @T.prim_func
        def f(A: T.Buffer((4,), "int32")):
            for i in range(4):
                A[i] = i
                A[i] = T.undef() + 1

    after:
        @T.prim_func
        def f(A: T.Buffer((4,), "int32")):
            for i in range(4):
                A[i] = i
    """
    remover = _Remove()
    new = remover(func)
    for node in walk(new.body) if remover.removed else ():
        if remover.is_undef(node):
            raise remover.refused(node)
    return new


class _Remove(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        self.names: set[Var] = set()
        self.removed = False

    def is_undef(self, node: Any) -> bool:
        """Whether this is an undefined value, or the name of one."""
        call = isinstance(node, Call) and isinstance(node.op, Op) and node.op.name == "tirx.undef"
        return call or (isinstance(node, Var) and node in self.names)

    def refused(self, node: Any) -> Exception:
        """The error for an undefined value that matters."""
        return refuse(
            "undefined-value", "an undefined value decides where or whether something is computed", node
        )

    def _undefined(self, e: Expr) -> bool:
        """Whether the value is undefined."""
        found = any(self.is_undef(n) for n in walk(e))
        for node in walk(e) if found else ():
            for index in node.indices if isinstance(node, BufferLoad) else ():
                if any(self.is_undef(n) for n in walk(index)):
                    raise self.refused(index)
        return found

    def visit_BufferStore(self, stmt: BufferStore) -> Any:
        for index in stmt.indices:
            if self._undefined(index):
                raise self.refused(index)
        return self._gone() if self._undefined(stmt.value) else stmt

    def visit_Bind(self, stmt: Bind) -> Any:
        if not self._undefined(stmt.value):
            return stmt
        self.names.add(stmt.var)
        return self._gone()

    def visit_SeqStmt(self, stmt: SeqStmt) -> Any:
        made = self.visit_tuple(stmt.seq)
        return stmt if made is stmt.seq else seq([s for s in made if not is_nothing(s)])

    def _gone(self) -> Evaluate:
        self.removed = True
        return Evaluate(0)
