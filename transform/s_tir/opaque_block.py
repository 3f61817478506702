"""Blocks lose their axes, then themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ...ir import (
    AllocBuffer,
    AttrStmt,
    For,
    ForKind,
    IfThenElse,
    IterVar,
    PrimFunc,
    Range,
    SBlock,
    SBlockRealize,
    Stmt,
    Var,
    const,
    seq,
)
from ...ir.visitor import Rewriter, walk
from ..common import buffer_type, cast_to, is_const, is_steady, named, refuse
from ..loops import jumps_out
from ..registry import prim_func_pass
from .init_block import start_condition

PRAGMA: Final = "pragma_"
"""How the names of annotations begin that are attributes of the statement in lowered programs."""


@prim_func_pass("s_tir.ConvertBlocksToOpaque")
def convert_blocks_to_opaque(func: PrimFunc) -> PrimFunc:
    """The axes of blocks are replaced by their values; initialisers of reductions are lowered before.

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
        if block.init is not None and start_condition(block.iter_vars) is not None:
            raise _left_over(block, "an initialiser", "LowerInitBlock")
        own = {a.var for a in block.iter_vars}
        for node in walk(realize.predicate):
            if node in own:
                raise refuse(
                    "undefined-name",
                    f"the predicate of block `{block.name_hint}` uses its axis `{node.name}`",  # type: ignore[attr-defined]
                    realize,
                    "write the predicate with the loop variables",
                )
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

    Loops of one step without annotations and pragmas go, unless they are left early; loops bound to a
    thread axis launch it; annotations `pragma_...` of loops and blocks are attributes.  Other annotations
    of loops stay, those of blocks go.

    before:
        @T.prim_func(s_tir=True)
        def f(A: T.Buffer((16,), "float32"), n: T.int32):
            for i, j in T.grid(16, 1):
                with T.sblock("b"):
                    T.where(i < n)
                    T.reads()
                    T.writes(A[i + j])
                    B = T.sblock_alloc_buffer((1,))
                    B[0] = T.float32(1)
                    A[i + j] = B[0]

    after:
        @T.prim_func(s_tir=True)
        def f(A: T.Buffer((16,), "float32"), n: T.int32):
            for i in range(16):
                if i < n:
                    B = T.alloc_buffer(
                        (1,), annotations={"buffer_allocated_addr": [], "buffer_data_alignment": 64}
                    )
                    B[0] = T.float32(1)
                    A[i + 0] = B[0]
    """
    return _Flatten()(func)


class _Flatten(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        self.marked: For | None = None

    def visit_AttrStmt(self, stmt: AttrStmt) -> Any:
        inner: Stmt = stmt
        while isinstance(inner, AttrStmt) and inner.attr_key.startswith(PRAGMA):
            inner = inner.body
        if isinstance(inner, For) and inner is not stmt:
            self.marked = inner
        return self.visit_fields(stmt)

    def visit_For(self, loop: For) -> Any:
        if loop.kind is ForKind.THREAD_BINDING:
            return self._launched(loop)
        if self._is_trivial(loop):
            self.vars[loop.loop_var] = self.visit(loop.min)
            return self.visit(loop.body)
        new = self.visit_fields(loop)
        kept, pragmas = _sorted_out(new.annotations)
        return _with_pragmas(pragmas, new.replace(annotations=kept)) if pragmas else new

    def _is_trivial(self, loop: For) -> bool:
        one = is_const(loop.extent, 1) and loop.step is None and not loop.annotations
        one = one and loop is not self.marked
        return one and is_steady(loop.min) and not jumps_out(loop.body)

    def _launched(self, loop: For) -> Stmt:
        new = self.visit_fields(loop)
        assert isinstance(new, For) and new.thread_binding is not None
        tag = new.thread_binding.thread_tag
        axis = IterVar(Range(new.min, new.extent), new.loop_var, IterVar.THREAD_INDEX, tag, new.span)
        key = "virtual_thread" if tag.startswith("vthread") or tag == "cthread" else "thread_extent"
        return AttrStmt(axis, key, new.extent, new.body, new.span)

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
        if block.init is not None:
            raise _left_over(block, "an initialiser", "LowerInitBlock")
        if block.match_buffers:
            raise _left_over(block, "views", "LowerMatchBuffer")
        buffers = [self.define(b) for b in block.alloc_buffers]
        body = seq([*[_allocated(b) for b in buffers], self.visit(block.body)])
        return _with_pragmas(_sorted_out(block.annotations)[1], body)


def _left_over(block: SBlock, what: str, name: str) -> Exception:
    """The error for a block with parts that an earlier pass lowers."""
    return refuse(
        "block-parts", f"block `{block.name_hint}` still has {what}", block, f"run s_tir.{name} first"
    )


def _allocated(buffer: Var) -> AllocBuffer:
    """The statement that allocates a block's buffer, which says what its type says of the memory."""
    ty = buffer_type(buffer)
    facts = {"buffer_allocated_addr": ty.allocated_addr, "buffer_data_alignment": ty.data_alignment}
    return AllocBuffer(buffer, facts, buffer.span)


def _sorted_out(annotations: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Annotations that stay with a loop, and the pragmas."""
    kept = {k: v for k, v in annotations.items() if not k.startswith(PRAGMA)}
    return kept, {k: v for k, v in annotations.items() if k.startswith(PRAGMA)}


def _with_pragmas(pragmas: Mapping[str, Any], body: Stmt) -> Stmt:
    """The statement in its attributes, the first one outermost."""
    for key, value in reversed(list(pragmas.items())):
        body = AttrStmt(const(0, "int32"), key, value, body)
    return body
