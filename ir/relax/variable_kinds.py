"""Which variables of a dataflow block are seen outside of it."""

from __future__ import annotations

from typing import Any

from ..expr import Var
from ..visitor import Rewriter, type_vars, walk
from .expr import BindingBlock, DataflowBlock, DataflowVar, Function, SeqExpr, VarBinding


class Renaming(Rewriter):
    """Puts other variables in the place of some, where they are defined and where they are used."""

    def __init__(self, renamed: dict[Var, Any]) -> None:
        super().__init__()
        self.vars = renamed

    def define(self, var: Var) -> Var:
        """The new variable where one is given."""
        return self.vars[var] if var in self.vars else super().define(var)  # type: ignore[return-value]


def hide_inner_variables(func: Function) -> Function:
    """The function in which exactly those variables are dataflow variables that only their block uses."""
    seen = used_outside(func)
    renamed: dict[Var, Any] = {}
    for block in [n for n in walk(func) if isinstance(n, DataflowBlock)]:
        for binding in block.bindings:
            var: Var = binding.var
            if isinstance(var, DataflowVar) == (var in seen):
                kind = Var if var in seen else DataflowVar
                renamed[var] = kind(var.name, var.ty, var.span)
    return Renaming(renamed)(func) if renamed else func


def used_outside(func: Function) -> set[Var]:
    """The variables of dataflow blocks that something outside of their block uses."""
    home: dict[Var, DataflowBlock] = {}
    seen: set[Var] = set()

    def uses(node: Any, block: DataflowBlock | None) -> None:
        for n in walk(node):
            if isinstance(n, Var) and n in home and home[n] is not block:
                seen.add(n)

    def sequence(seq: SeqExpr) -> None:
        for block in seq.blocks:
            inner = block if isinstance(block, DataflowBlock) else None
            for binding in block.bindings:
                if inner is not None:
                    home[binding.var] = inner
                value(binding.value, inner)
        uses(seq.body, None)

    def value(e: Any, block: DataflowBlock | None) -> None:
        if isinstance(e, Function):
            # a local function is a part of the block that holds it
            for n in walk(e):
                if isinstance(n, Var) and home.get(n, block) is not block:
                    seen.add(n)
            sequence(e.body)
        elif hasattr(e, "true_branch"):
            uses(e.cond, block)
            sequence(e.true_branch)
            sequence(e.false_branch)
        else:
            uses(e, block)

    sequence(func.body)
    seen.update(v for v in type_vars(func.ret_ty) if v in home)
    return seen


def without_dataflow(seq: SeqExpr) -> SeqExpr:
    """The sequence in which all blocks are plain and no variable is hidden; branches too."""
    renamed: dict[Var, Any] = {}
    for n in walk(seq):
        var = getattr(n, "var", None)
        if isinstance(var, DataflowVar):
            renamed[var] = Var(var.name, var.ty, var.span)
    made: SeqExpr = _Plain(renamed)(seq)
    return made


class _Plain(Renaming):
    def visit_DataflowBlock(self, block: DataflowBlock) -> BindingBlock:
        """The bindings in a plain block."""
        return BindingBlock(self.visit_tuple(block.bindings), block.span)


def merge_aliases(func: Function) -> Function:
    """The function in which what a block hands out under another name has that name at once.

    `gv = lv` in a dataflow block, where `lv` is a dataflow variable of it, is gone; `lv` is `gv`.
    """
    renamed: dict[Var, Any] = {}
    dropped: set[int] = set()
    for block in [n for n in walk(func) if isinstance(n, DataflowBlock)]:
        own = {b.var for b in block.bindings}
        for b in block.bindings:
            if not isinstance(b, VarBinding) or b.value not in own or isinstance(b.var, DataflowVar):
                continue
            old: Any = b.value
            if not isinstance(old, DataflowVar) or old.ty != b.var.ty:
                continue
            # a second name for it is another name for the first one
            renamed[b.var if old in renamed else old] = renamed.get(old, b.var)
            dropped.add(id(b))
    return _Dropping(renamed, dropped)(func) if dropped else func


class _Dropping(Renaming):
    def __init__(self, renamed: dict[Var, Any], dropped: set[int]) -> None:
        super().__init__(renamed)
        self.dropped = dropped

    def visit_DataflowBlock(self, block: DataflowBlock) -> BindingBlock:
        """The block without the bindings that are gone."""
        kept = [b for b in block.bindings if id(b) not in self.dropped]
        if len(kept) < len(block.bindings):
            block = block.replace(bindings=kept)
        made: BindingBlock = self.visit_fields(block)
        return made


__all__ = ["Renaming", "hide_inner_variables", "merge_aliases", "used_outside", "without_dataflow"]
