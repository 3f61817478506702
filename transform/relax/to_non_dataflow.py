"""Blocks of dataflow become plain ones; purity is checked no longer."""

from __future__ import annotations

from typing import Any

from ...ir import IRModule, Var
from ...ir.relax import BindingBlock, DataflowBlock, DataflowVar, Function
from ...ir.relax.rewrite import rewrite_functions
from ...ir.visitor import Rewriter
from ..registry import register_pass


@register_pass("relax.ToNonDataflow")
def to_non_dataflow(mod: IRModule) -> IRModule:
    """Dataflow blocks become plain blocks; their variables are seen everywhere after.

    before:
        @R.function
        def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
            with R.dataflow():
                y = R.exp(x)
                z = R.exp(y)
                R.output(z)
            return z
    after:
        @R.function
        def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
            y = R.exp(x)
            z = R.exp(y)
            return z
    """
    return rewrite_functions(mod, lambda func: _Plain()(func))


class _Plain(Rewriter):
    def visit_DataflowBlock(self, block: DataflowBlock) -> Any:
        return BindingBlock(self.visit_tuple(block.bindings), block.span)

    def define(self, var: Var) -> Var:
        new = super().define(var)
        if isinstance(new, DataflowVar):
            new = self.vars[var] = Var(new.name, new.ty, new.span)
        return new

    def visit_DataflowVar(self, var: DataflowVar) -> Any:
        return self.vars.get(var, var)


@register_pass("relax.RemovePurityChecking")
def remove_purity_checking(mod: IRModule) -> IRModule:
    """Pure functions get the attribute `relax.force_pure`: calls with effects may stand in them from here on.

    before:
        @R.function
        def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
            y = R.exp(x)
            return y
    after:
        @R.function
        def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
            R.func_attr({"relax.force_pure": True})
            y = R.exp(x)
            return y
    """
    return rewrite_functions(mod, lambda func: _Force()(func))


class _Force(Rewriter):
    def visit_Function(self, func: Function) -> Any:
        func = self.visit_fields(func)
        if not func.is_pure or func.attrs.get("relax.force_pure"):
            return func
        return func.with_attr("relax.force_pure", True)
