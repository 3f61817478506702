"""Values that are computed twice are computed once."""

from __future__ import annotations

from typing import Any

from ...ir import Call, Expr, IRModule, Op, Tuple, TupleGetItem, Var, free_vars, structural_hash
from ...ir.relax import DataflowBlock, DataflowVar, Function, MatchCast, SeqExpr, ShapeExpr, VarBinding
from ...ir.relax.rewrite import GraphRewriter
from ..registry import register_pass
from .common import is_pure, purity_of

FRESH = frozenset(
    {
        "relax.builtin.alloc_tensor",
        "relax.memory.alloc_storage",
        "relax.memory.alloc_tensor",
        "relax.vm.alloc_storage",
        "relax.vm.alloc_tensor",
        "relax.call_tir_inplace",
        "relax.call_inplace_packed",
    }
)
"""Operators without effects besides their result, which must be another object each time."""


@register_pass("relax.EliminateCommonSubexpr")
def eliminate_common_subexpr(mod: IRModule, call_only: bool = False) -> IRModule:
    """A value that a variable in scope has already is not computed again.

    The second variable is another name of the first, which is used in its place; `CanonicalizeBindings` takes
    such names away.
    Calls with effects and allocations stay.  With `call_only` tuples, their fields and shapes stay too.
    Idempotent.

    before:
        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            with R.dataflow():
                a = R.exp(x)
                b = R.exp(x)
                c = R.add(a, b)
                R.output(c)
            return c

    after:
        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            with R.dataflow():
                a = R.exp(x)
                b = a
                c = R.add(a, a)
                R.output(c)
            return c
    """
    made: IRModule = _CommonSubexpr(mod, call_only)(mod)
    return made


class _CommonSubexpr(GraphRewriter):
    """`known` holds the variables in scope by what they stand for."""

    def __init__(self, mod: IRModule, call_only: bool) -> None:
        super().__init__()
        self.purity = purity_of(mod)
        self.call_only = call_only
        self.known: dict[Any, Var] = {}
        self.hidden: dict[Var, Any] = {}  # what is seen behind the block, by its key

    def visit_Function(self, func: Function) -> Any:
        """A function sees nothing of what stands around it."""
        outer, self.known = self.known, {}
        made = super().visit_Function(func)
        self.known = outer
        return made

    def visit_SeqExpr(self, seq: SeqExpr) -> Any:
        """What a sequence computes is known in it only."""
        outer, self.known = self.known, dict(self.known)
        made = super().visit_SeqExpr(seq)
        self.known = outer
        return made

    def visit_DataflowBlock(self, block: DataflowBlock) -> None:
        """Dataflow variables are known up to the end of their block."""
        self.visit_BindingBlock(block)
        self.known = {k: v for k, v in self.known.items() if not isinstance(v, DataflowVar)}
        for var, first in self.hidden.items():
            del self.vars[var]
            self.known[first] = var
        self.hidden.clear()

    def visit_VarBinding(self, binding: VarBinding) -> None:
        """Emit the binding; it gives another name where a variable has the value."""
        value = self.builder.normalize(self.visit(binding.value))
        if not self.counts(value):
            self.rebind(binding, value)
            return
        key = structural_hash(value), tuple([id(v) for v in free_vars(value)])
        known = self.known.get(key)
        if known is None:
            self.rebind(binding, value)
            self.known[key] = self.new(binding.var)
        else:
            self.rebind(binding, known)
            self.replace(binding.var, known, key)

    def visit_MatchCast(self, binding: MatchCast) -> None:
        """Emit the cast; it gives another name where the same was checked before."""
        value, ty = self.builder.atom(self.visit(binding.value)), self.visit(binding.ty)
        key = structural_hash(ty), (*[id(v) for v in free_vars(ty)], id(value))
        known = self.known.get(key) if isinstance(value, Var) else None
        if known is None:
            super().visit_MatchCast(binding)
            self.known[key] = self.new(binding.var)
        else:
            self.builder.emit_normalized(VarBinding(binding.var, known, binding.span))
            self.replace(binding.var, known, key)

    def new(self, var: Var) -> Var:
        """What stands for a variable in the new program."""
        made = self.vars.get(var, var)
        assert isinstance(made, Var)
        return made

    def replace(self, var: Var, known: Var, key: Any) -> None:
        """Use the known variable for another one, where it is visible."""
        if isinstance(known, DataflowVar) and not isinstance(var, DataflowVar):
            self.hidden[var] = key
        self.vars[var] = known

    def counts(self, value: Expr) -> bool:
        """Whether a value is looked up among those computed before."""
        if isinstance(value, Call):
            fresh = isinstance(value.op, Op) and value.op.name in FRESH
            return not fresh and is_pure(value, self.purity)
        return not self.call_only and isinstance(value, Tuple | TupleGetItem | ShapeExpr)


__all__ = ["eliminate_common_subexpr"]
