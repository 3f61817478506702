"""Writing out the body of a function where it is called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..expr import Expr, Var
from ..visitor import renew_definitions
from .block_builder import BlockBuilder
from .call_type import unify
from .expr import DataflowBlock, DataflowVar, Function, VarBinding
from .rewrite import GraphRewriter


def emit_body(builder: BlockBuilder, func: Function, args: Sequence[Expr]) -> Expr:
    """The value of the function for these arguments, its bindings emitted through the builder.

    All that the body defines is new; types are derived anew from the arguments' types.  In a dataflow block
    the new variables are dataflow variables.
    """
    return _Inliner(builder).run(renew_definitions(func), args)


class _Inliner(GraphRewriter):
    def __init__(self, builder: BlockBuilder) -> None:
        super().__init__()
        self.builder = builder
        self.flow = builder.current_block_is_dataflow()

    def run(self, func: Function, args: Sequence[Expr]) -> Expr:
        """Emit the bindings of the body."""
        solved: dict[Var, Any] = {}
        for param, arg in zip(func.params, args, strict=True):
            unify(param.ty, arg.ty, solved)
        self.vars.update(solved)
        self.vars.update(zip(func.params, args))
        for block in func.body.blocks:
            if not self.flow:
                self.builder.open_block(isinstance(block, DataflowBlock))
            self.visit(block)
        if not self.flow:
            self.builder.open_block(False)
        value: Expr = self.visit(func.body.body)
        return value

    def rebind(self, binding: VarBinding, value: Expr) -> None:
        """Emit the binding; its variable is hidden in a dataflow block."""
        if self.flow and not isinstance(binding.var, DataflowVar):
            value = self.builder.normalize(value)
            var = DataflowVar(binding.var.name, value.ty, binding.var.span)
            self.vars[binding.var] = var
            self.builder.emit_normalized(VarBinding(var, value, binding.span))
        else:
            super().rebind(binding, value)


__all__ = ["emit_body"]
