"""Runs of bindings without effects become dataflow blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...ir import IRModule
from ...ir.relax import Binding, BindingBlock, DataflowBlock, Function, If, SeqExpr
from ...ir.relax.rewrite import rewrite_functions
from ...ir.relax.variable_kinds import hide_inner_variables
from ...ir.visitor import Rewriter
from ..registry import register_pass
from .common import is_pure, purity_of


@register_pass("relax.ConvertToDataflow")
def convert_to_dataflow(mod: IRModule, min_size: int = 2) -> IRModule:
    """Bindings without effects or branches that follow each other are a dataflow block.

    Runs of fewer than `min_size` stay as they are; dataflow blocks join those beside them.  What only the
    block uses is a dataflow variable.  Idempotent.

    before:
        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            a = R.exp(x)
            b = R.exp(a)
            return b

    after:
        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            with R.dataflow():
                a = R.exp(x)
                b = R.exp(a)
                R.output(b)
            return b
    """
    purity = purity_of(mod)

    def change(func: Function) -> Function:
        made = _Converter(purity, min_size)(func)
        return func if made is func else hide_inner_variables(made)

    return rewrite_functions(mod, change)


class _Converter(Rewriter):
    def __init__(self, purity: Mapping[str, bool], min_size: int) -> None:
        super().__init__()
        self.purity = purity
        self.min_size = min_size

    def visit_SeqExpr(self, seq: SeqExpr) -> Any:
        """The sequence with its bindings in other blocks."""
        seq = self.visit_fields(seq)
        blocks: list[BindingBlock] = []
        run: list[Binding] = []
        parts: list[BindingBlock] = []

        def close() -> None:
            if not run:
                return
            only_flow = all(isinstance(p, DataflowBlock) for p in parts)
            if len(parts) == 1 and len(run) == len(parts[0].bindings) and only_flow:
                blocks.append(parts[0])
            elif only_flow or len(run) >= self.min_size:
                blocks.append(DataflowBlock(run))
            else:
                _append(blocks, run)
            run.clear()
            parts.clear()

        for block in seq.blocks:
            flow = isinstance(block, DataflowBlock)
            for binding in block.bindings:
                if flow or self.fits(binding):
                    run.append(binding)
                    if not parts or parts[-1] is not block:
                        parts.append(block)
                else:
                    close()
                    _append(blocks, [binding])
        close()
        return seq if _alike(blocks, seq.blocks) else seq.replace(blocks=blocks)

    def fits(self, binding: Any) -> bool:
        """Whether a binding may stand in a dataflow block."""
        return not isinstance(binding.value, If) and is_pure(binding.value, self.purity)


def _append(blocks: list[BindingBlock], bindings: list[Binding]) -> None:
    if blocks and not isinstance(blocks[-1], DataflowBlock):
        blocks[-1] = BindingBlock([*blocks[-1].bindings, *bindings])
    else:
        blocks.append(BindingBlock(bindings))


def _alike(a: Any, b: Any) -> bool:
    return len(a) == len(b) and all(
        type(x) is type(y)
        and len(x.bindings) == len(y.bindings)
        and all(p is q for p, q in zip(x.bindings, y.bindings))
        for x, y in zip(a, b)
    )


__all__ = ["convert_to_dataflow"]
