"""Blocks that rewrite the layout of a weight, taken out before a kernel is measured."""

from __future__ import annotations

from typing import Any, Final

from ...ir import BufferLoad, BufferStore, Evaluate, PrimFunc, SBlock, Var, const
from ...ir.visitor import Rewriter, walk
from ..common import refuse
from ..registry import prim_func_pass

PREPROC: Final = "meta_schedule.layout_rewrite_preproc"
"""The annotation of a block that copies a weight into another layout."""


@prim_func_pass("s_tir.RemoveWeightLayoutRewriteBlock")
def remove_weight_layout_rewrite_block(func: PrimFunc, skip_tensor_rewrite: bool = False) -> PrimFunc:
    """Blocks marked as rewriting a weight's layout do nothing; the parameter has the new layout.

    The function then computes something else of the same arguments, as fast as it will run on
    rewritten weights.  `skip_tensor_rewrite` asks to leave constants that go with the function alone;
    ours has none.

    before:
        @T.prim_func(s_tir=True)
        def f(W: T.Buffer((4, 8), "float32"), C: T.Buffer((8, 4), "float32")):
            V = T.sblock_alloc_buffer((8, 4))
            for i, j in T.grid(4, 8):
                with T.sblock("layout"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    T.reads(W[vi, vj])
                    T.writes(V[vj, vi])
                    T.sblock_attr({"meta_schedule.layout_rewrite_preproc": True})
                    V[vj, vi] = W[vi, vj]
            for i, j in T.grid(8, 4):
                with T.sblock("C"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = V[vi, vj]

    after:
        @T.prim_func(s_tir=True)
        def f(W: T.Buffer((8, 4), "float32"), C: T.Buffer((8, 4), "float32")):
            for i, j in T.grid(4, 8):
                with T.sblock("layout"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    T.reads()
                    T.writes()
                    T.sblock_attr({"meta_schedule.layout_rewrite_preproc": True})
                    T.evaluate(0)
            for i, j in T.grid(8, 4):
                with T.sblock("C"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = W[vi, vj]
    """
    del skip_tensor_rewrite
    copied: dict[Var, Var] = {}
    for block in walk(func.body):
        if isinstance(block, SBlock) and block.annotations.get(PREPROC) and not _is_done(block):
            source, target = _copy_of(block)
            copied[target] = source
    return _Remove(func, copied)(func) if copied else func


def _is_done(block: SBlock) -> bool:
    return isinstance(block.body, Evaluate) and not block.reads and not block.writes


def _copy_of(block: SBlock) -> tuple[Var, Var]:
    """The buffers that the block copies from and to."""
    stmt = block.body
    if not isinstance(stmt, BufferStore) or not isinstance(stmt.value, BufferLoad):
        raise refuse(
            "weight-layout", f"block `{block.name_hint}` is marked `{PREPROC}` but is no copy", block
        )
    return stmt.value.buffer, stmt.buffer


class _Remove(Rewriter):
    def __init__(self, func: PrimFunc, copied: dict[Var, Var]) -> None:
        super().__init__()
        self.copied = copied
        for target, source in copied.items():
            if source not in func.params:
                raise refuse("weight-layout", f"the weight `{source.name}` is no parameter", source)
            self.vars[source] = self.vars[target] = Var(source.name, target.ty, source.span)

    def define(self, var: Var) -> Var:
        new = self.vars.get(var)
        return new if isinstance(new, Var) else super().define(var)

    def visit_SBlock(self, block: SBlock) -> Any:
        if block.annotations.get(PREPROC) and not _is_done(block):
            return block.replace(reads=(), writes=(), body=Evaluate(const(0, "int32")))
        kept = [b for b in block.alloc_buffers if b not in self.copied]
        return self.visit_fields(
            block if len(kept) == len(block.alloc_buffers) else block.replace(alloc_buffers=kept)
        )
