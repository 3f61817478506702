"""What all threads of an axis would write alike is written by the first of them."""

from __future__ import annotations

from typing import Any

from ...ir import (
    EQ,
    And,
    Bind,
    Call,
    Expr,
    For,
    ForKind,
    IfThenElse,
    Op,
    PrimFunc,
    SBlock,
    SBlockRealize,
    Var,
    walk,
)
from ...ir.op import Effect, find_record
from ...ir.visitor import Rewriter
from ..common import buffer_type, is_const
from ..registry import prim_func_pass

_SHARED_BY_THREADS = ("global", "shared")


@prim_func_pass("s_tir.GuardRepeatedBlocks")
def guard_repeated_blocks(func: PrimFunc) -> PrimFunc:
    """A block under a thread axis that neither its axes nor its body use runs in the first thread only.

    This is for blocks whose results lie in memory that threads share: run one after the other, the threads
    write the same again; at once, they race, and threads that have no part of their own in private memory
    would write what was never computed.  Blocks with other effects, and those under conditions on the axis,
    stay.

    before:
        @T.prim_func(s_tir=True)
        def f(A: T.Buffer((8,), "int32"), B: T.Buffer((1,), "int32")):
            for i in T.thread_binding(8, thread="threadIdx.x"):
                with T.sblock("A"):
                    v = T.axis.spatial(8, i)
                    A[v] = v
                with T.sblock("B"):
                    v = T.axis.spatial(1, 0)
                    B[v] = 7

    after:
        @T.prim_func(s_tir=True)
        def f(A: T.Buffer((8,), "int32"), B: T.Buffer((1,), "int32")):
            for i in T.thread_binding(8, thread="threadIdx.x"):
                with T.sblock("A"):
                    v = T.axis.spatial(8, i)
                    T.reads()
                    T.writes(A[v])
                    A[v] = v
                with T.sblock("B"):
                    v = T.axis.spatial(1, 0)
                    T.where(i == 0)
                    T.reads()
                    T.writes(B[v])
                    B[v] = 7
    """
    return _Guard()(func)


class _Guard(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        self.axes: dict[str, For] = {}
        """The thread axes around with their outermost loops; loops inside may be bound to the same axis."""
        self.stands_for: dict[Var, frozenset[str]] = {}
        """The axes that a variable's value depends on."""
        self.used: frozenset[str] = frozenset()
        """Those that conditions around depend on."""

    def threads_in(self, *parts: Any) -> frozenset[str]:
        found: set[str] = set()
        for part in parts:
            for node in walk(part):
                if isinstance(node, Var):
                    found |= self.stands_for.get(node, frozenset())
        return frozenset(found)

    def visit_For(self, loop: For) -> Any:
        tag = "" if loop.thread_binding is None else loop.thread_binding.thread_tag
        depends = self.threads_in(loop.min, loop.extent)
        first = False
        if loop.kind is ForKind.THREAD_BINDING and tag.startswith(("threadIdx", "blockIdx")):
            first = self.axes.setdefault(tag, loop) is loop
            depends |= {tag}
        self.stands_for[loop.loop_var] = depends
        made = self.visit_fields(loop)
        if first:
            del self.axes[tag]
        return made

    def visit_Bind(self, stmt: Bind) -> Any:
        self.stands_for[stmt.var] = self.threads_in(stmt.value)
        return self.visit_fields(stmt)

    def visit_IfThenElse(self, stmt: IfThenElse) -> Any:
        before, self.used = self.used, self.used | self.threads_in(stmt.condition)
        made = self.visit_fields(stmt)
        self.used = before
        return made

    def visit_SBlockRealize(self, realize: SBlockRealize) -> Any:
        block = realize.block
        for axis, value in zip(block.iter_vars, realize.iter_values):
            self.stands_for[axis.var] = self.threads_in(value)
        if _is_leaf(block) and _only_stores_for_all(block):
            inits = [] if block.init is None else [block.init]
            used = self.used | self.threads_in(realize.predicate, *realize.iter_values, block.body, *inits)
            for tag, loop in self.axes.items():
                each = tag.startswith("blockIdx") and _in_shared(block)  # a block has its own shared memory
                if tag not in used and not each and not is_const(loop.extent, 1):
                    first = EQ(loop.loop_var, loop.min)
                    realize = realize.replace(predicate=_both(realize.predicate, first))
            return realize
        before, self.used = self.used, self.used | self.threads_in(realize.predicate)
        made = self.visit_fields(realize)
        self.used = before
        return made


def _both(first: Expr, second: Expr) -> Expr:
    return second if is_const(first, 1) else And(first, second)


def _is_leaf(block: SBlock) -> bool:
    return bool(block.iter_vars) and not any(isinstance(n, SBlockRealize) for n in walk(block.body))


def _in_shared(block: SBlock) -> bool:
    return any(buffer_type(r.buffer).storage_scope.startswith("shared") for r in block.writes)


def _only_stores_for_all(block: SBlock) -> bool:
    """Whether the block does nothing but write memory that its threads share."""
    for region in block.writes:
        if not buffer_type(region.buffer).storage_scope.startswith(_SHARED_BY_THREADS):
            return False
    for node in walk(block.body):
        if isinstance(node, Call) and isinstance(node.op, Op):
            record = find_record(node.op.name)
            if record is None or record.effect not in (Effect.PURE, Effect.READ):
                return False
    return bool(block.writes)
