"""Blocks lose their axes, then themselves."""

from __future__ import annotations

from typing import Any

from ...ir import AllocBuffer, IfThenElse, PrimFunc, SBlock, SBlockRealize, Stmt, seq
from ...ir.visitor import Rewriter
from ..common import cast_to, is_const, named, refuse
from ..registry import prim_func_pass


@prim_func_pass("s_tir.ConvertBlocksToOpaque")
def convert_blocks_to_opaque(func: PrimFunc) -> PrimFunc:
    """The axes of blocks are replaced by their values.

    before:
        @T.prim_func(s_tir=True)
        def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
            for i, j in T.grid(4, 4):
                with T.sblock("b"):
                    v = T.axis.spatial(16, i * 4 + j)
                    T.reads(A[v])
                    T.writes(B[v])
                    B[v] = A[v]

    after:
        @T.prim_func(s_tir=True)
        def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
            for i, j in T.grid(4, 4):
                with T.sblock("b"):
                    T.reads(A[i * 4 + j])
                    T.writes(B[i * 4 + j])
                    B[i * 4 + j] = A[i * 4 + j]
    """
    return _Opaque()(func)


class _Opaque(Rewriter):
    def visit_SBlockRealize(self, realize: SBlockRealize) -> Any:
        block = realize.block
        values = [
            cast_to(self.visit(v), a.var.ty)
            for a, v in zip(block.iter_vars, realize.iter_values, strict=True)
        ]
        predicate = self.visit(realize.predicate)
        for axis, value in zip(block.iter_vars, values):
            self.vars[axis.var] = value
        reads, writes = self.visit_tuple(block.reads), self.visit_tuple(block.writes)
        bound: list[Stmt] = []
        for axis, value in zip(block.iter_vars, values):
            # a value from memory is read once, before the body may change it
            more, self.vars[axis.var] = named(value, axis.var.name)
            bound += more
        changed = self.visit(block.replace(iter_vars=(), reads=(), writes=()) if block.iter_vars else block)
        if changed is block and predicate is realize.predicate:
            return realize
        if block.iter_vars:
            changed = changed.replace(reads=reads, writes=writes)
        if bound:
            init = None if changed.init is None else seq([*bound, changed.init])
            changed = changed.replace(body=seq([*bound, changed.body]), init=init)
        return realize.replace(iter_values=(), predicate=predicate, block=changed)


@prim_func_pass("s_tir.LowerOpaqueBlock")
def lower_opaque_block(func: PrimFunc) -> PrimFunc:
    """Blocks without axes become their bodies: predicates are `if`s, allocations statements.

    Annotations of blocks are dropped, and with the last block the mark of the function.

    before:
        @T.prim_func(s_tir=True)
        def f(A: T.Buffer((16,), "float32"), n: T.int32):
            for i in range(16):
                with T.sblock("b"):
                    T.where(i < n)
                    T.reads()
                    T.writes(A[i])
                    B = T.sblock_alloc_buffer((1,))
                    B[0] = T.float32(1)
                    A[i] = B[0]

    after:
        @T.prim_func
        def f(A: T.Buffer((16,), "float32"), n: T.int32):
            for i in range(16):
                if i < n:
                    B = T.alloc_buffer((1,))
                    B[0] = T.float32(1)
                    A[i] = B[0]
    """
    new = _Flatten()(func)
    return new.without_attr("s_tir") if "s_tir" in new.attrs else new


class _Flatten(Rewriter):
    def visit_SBlockRealize(self, realize: SBlockRealize) -> Any:
        predicate = self.visit(realize.predicate)
        if realize.block.iter_vars:
            raise refuse(
                "block-axes",
                f"block `{realize.block.name_hint}` still has axes",
                realize,
                "run s_tir.ConvertBlocksToOpaque first",
            )
        body = self.visit(realize.block)
        return body if is_const(predicate, 1) else IfThenElse(predicate, body, None, realize.span)

    def visit_SBlock(self, block: SBlock) -> Any:
        if block.init is not None or block.match_buffers:
            what, name = (
                ("an initialiser", "LowerInitBlock")
                if block.init is not None
                else ("views", "LowerMatchBuffer")
            )
            raise refuse(
                "block-parts", f"block `{block.name_hint}` still has {what}", block, f"run s_tir.{name} first"
            )
        buffers = [self.define(b) for b in block.alloc_buffers]
        return seq([*[AllocBuffer(b) for b in buffers], self.visit(block.body)])
