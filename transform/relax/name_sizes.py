"""Sizes that only run time knows get names, so that kernels can be made for them."""

from __future__ import annotations

from typing import Any

from ...ir import Call, Expr, IRModule, Var
from ...ir.relax import (
    DataflowBlock,
    DataflowVar,
    MatchCast,
    SeqExpr,
    ShapeExpr,
    ShapeType,
    TensorType,
    op_of,
)
from ...ir.relax.rewrite import GraphRewriter
from ...ir.types import INT64
from ..registry import register_pass


@register_pass("relax.NameSizes")
def name_sizes(mod: IRModule) -> IRModule:
    """Operands of operators whose rank is known, but not their sizes, are cast to sizes with names.

    The types behind are derived anew, so that `LegalizeOps` finds no unknown shape where the ranks are known.
    Idempotent.

    before:
        @R.function
        def main(x: R.Tensor(dtype="float32", ndim=1)) -> R.Tensor(dtype="float32", ndim=1):
            y = R.exp(x)
            return y

    after:
        @R.function
        def main(x: R.Tensor(dtype="float32", ndim=1)) -> R.Tensor(dtype="float32", ndim=1):
            size = T.int64()
            x_1 = R.match_cast(x, R.Tensor((size,), "float32"))
            y = R.exp(x_1)
            return y
    """
    made: IRModule = _NameSizes()(mod)
    return made


class _NameSizes(GraphRewriter):
    """`named` holds what stands for a value of unknown sizes, where that is visible."""

    def __init__(self) -> None:
        super().__init__()
        self.named: dict[Var, Expr] = {}

    def visit_SeqExpr(self, seq: SeqExpr) -> Any:
        """A sequence; the casts inside are not visible outside."""
        outer, self.named = self.named, dict(self.named)
        made = super().visit_SeqExpr(seq)
        self.named = outer
        return made

    def visit_DataflowBlock(self, block: DataflowBlock) -> None:
        """A dataflow block; its casts are not visible behind it."""
        outer, self.named = self.named, dict(self.named)
        self.visit_BindingBlock(block)
        self.named = outer

    def visit_Call(self, call: Call) -> Any:
        """The call of an operator with operands of known sizes."""
        call = super().visit_Call(call)
        rec = op_of(call)
        if rec is None or (rec.te is None and rec.legalize is None):
            return call
        args = [self.sized(a) for a in call.args]
        return call if all(a is b for a, b in zip(args, call.args)) else rec.again(call, args)

    def sized(self, e: Expr) -> Expr:
        """The operand, or what stands for it with names for its sizes."""
        if not isinstance(e, Var) or e in self.named:
            return self.named.get(e, e)  # type: ignore[call-overload]
        ty = e.ty
        if isinstance(ty, TensorType) and ty.shape is None and ty.ndim >= 0 and ty.dtype is not None:
            made: Any = TensorType(_names(ty.ndim), ty.dtype, ty.vdevice)
        elif isinstance(ty, ShapeType) and ty.values is None and ty.ndim >= 0:
            made = ShapeType(_names(ty.ndim))
        else:
            return e
        kind = DataflowVar if self.builder.current_block_is_dataflow() else Var
        var = kind(e.name, made)
        self.builder.emit_normalized(MatchCast(var, e, made))
        self.named[e] = ShapeExpr(made.values) if isinstance(made, ShapeType) else var
        return self.named[e]


def _names(count: int) -> list[Var]:
    return [Var("size", INT64) for _ in range(count)]


__all__ = ["name_sizes"]
