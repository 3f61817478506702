"""Changing the bindings of one dataflow block: add, replace, remove."""

from __future__ import annotations

from typing import Any

from ...errors import Diagnostic, IRError
from ..expr import Expr, Var
from ..function import IRModule
from ..visitor import Rewriter, find
from .analysis import all_vars, remove_all_unused, udchain, used_vars
from .expr import Binding, DataflowBlock, DataflowVar, Function, MatchCast, SeqExpr, VarBinding
from .function_table import Names


class RewriteError(IRError, RuntimeError):
    """A change that the block does not allow."""


class DataflowBlockRewrite:
    """A dataflow block that is changed step by step, within its function.

    The block and the function that it is made from stay as they are; `mutated_dfb` and `mutated_root_fn` are
    the new ones.
    """

    def __init__(self, dfb: DataflowBlock, root_fn: Function) -> None:
        """Raises RewriteError where the block is none of the function's."""
        if not any(block is dfb for block in find(root_fn, DataflowBlock)):
            raise RewriteError(Diagnostic("invalid-argument", "the block is no part of the function"))
        self.dfb = self._block = dfb
        self.root_fn = self._func = root_fn
        self._names = Names([v.name for b in find(root_fn, Binding) for v in [b.var]])

    def add(self, expr: Expr | Binding, name: str | None = None, is_dfvar: bool = False) -> None:
        """Put a binding at the end of the block: the one given, or one of the expression to a new variable.

        With `is_dfvar` it is seen in the block only, else behind it, too.
        """
        if isinstance(expr, Binding):
            self.add_binding(expr)
            return
        kind = DataflowVar if is_dfvar else Var
        var = kind(name if name is not None else self._names.unique("tmp"), expr.ty)
        self.add_binding(VarBinding(var, expr))

    def add_binding(self, binding: Binding) -> None:
        """Put this binding at the end of the block."""
        self._become(self._block.replace(bindings=(*self._block.bindings, binding)))

    def replace_all_uses(self, old_var: Var, new_var: Var) -> None:
        """Let what uses one variable use the other one, here and behind the block.

        Raises RewriteError where the function has no such variable.
        """
        if old_var not in all_vars(self._func):
            raise RewriteError(Diagnostic("undefined-name", f"Cannot find `{old_var.name}` in the function"))
        replacement = _Uses(old_var, new_var)
        func = replacement(self._func)
        if func is not self._func:
            self._block = replacement.blocks.get(self._block, self._block)
            self._func = func

    def remove_unused(self, var: Var, allow_undef: bool = False) -> None:
        """Remove the binding of a variable that nobody uses.

        Raises RewriteError where it is used, or where the block does not bind it, unless `allow_undef`.
        """
        if not any(_bound(b) is var for b in self._block.bindings):
            if allow_undef:
                return
            raise RewriteError(Diagnostic("undefined-name", f"the block does not bind `{var.name}`"))
        users = udchain(self._block).get(var, [])
        if users or var in used_vars(self._func):
            names = ", ".join([f"`{v.name}`" for v in users]) or "the function's result"
            wrong = f"`{var.name}` cannot be removed: it is used by {max(1, len(users))} vars, {names}"
            raise RewriteError(Diagnostic("invalid-argument", wrong))
        self._become(
            self._block.replace(bindings=tuple([b for b in self._block.bindings if _bound(b) is not var]))
        )

    def remove_all_unused(self) -> None:
        """Remove the bindings whose value nobody uses, in other blocks of the function, too."""
        func = remove_all_unused(self._func)
        if func is self._func:
            return
        own = {id(b) for b in self._block.bindings}
        blocks = [b for b in find(func, DataflowBlock) if any(id(one) in own for one in b.bindings)]
        self._block = blocks[0] if blocks else DataflowBlock(())
        self._func = func

    def mutated_dfb(self) -> DataflowBlock:
        """The block as it is now."""
        return self._block

    def mutated_root_fn(self) -> Function:
        """The function with the block as it is now."""
        return self._func

    def mutate_irmodule(self, irmodule: IRModule) -> IRModule:
        """The module with the new function in place of the one it was made from."""
        table = {g: self._func if f is self.root_fn else f for g, f in irmodule.functions.items()}
        return irmodule.replace(functions=table)

    def _become(self, block: DataflowBlock) -> None:
        self._func = _Exchange(self._block, block)(self._func)
        self._block = block


def _bound(binding: Any) -> Var:
    var: Var = binding.var
    return var


class _Exchange(Rewriter):
    """One block in place of another."""

    def __init__(self, old: DataflowBlock, new: DataflowBlock) -> None:
        super().__init__()
        self.old = old
        self.new = new

    def visit_DataflowBlock(self, block: DataflowBlock) -> Any:
        """The new block for the old one; others are as they were."""
        return self.new if block is self.old else self.visit_fields(block)

    def visit_SeqExpr(self, seq: SeqExpr) -> Any:
        """The sequence; a block without bindings is gone."""
        made = self.visit_fields(seq)
        return made if made is seq else made.replace(blocks=tuple([b for b in made.blocks if b.bindings]))


class _Uses(Rewriter):
    """One variable in place of another where it is used."""

    def __init__(self, old: Var, new: Var) -> None:
        super().__init__()
        self.vars[old] = new
        self.kept = new
        self.blocks: dict[Any, Any] = {}

    def visit_DataflowBlock(self, block: DataflowBlock) -> Any:
        """The block, and what became of it."""
        made = self.blocks[block] = self.visit_fields(block)
        return made

    def visit_VarBinding(self, binding: VarBinding) -> Any:
        """The binding of the new variable itself keeps its value."""
        return binding if binding.var is self.kept else self.visit_fields(binding)

    def visit_MatchCast(self, binding: MatchCast) -> Any:
        """As for other bindings."""
        return binding if binding.var is self.kept else self.visit_fields(binding)


__all__ = ["DataflowBlockRewrite", "RewriteError"]
