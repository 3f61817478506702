"""Bindings that only give another name to a value are gone."""

from __future__ import annotations

from typing import Any

from ...ir import Expr, IRModule, Tuple, TupleGetItem, TupleType, Type, Var
from ...ir.relax import (
    DataflowBlock,
    DataflowVar,
    Function,
    MatchCast,
    ShapeType,
    TensorType,
    VarBinding,
)
from ...ir.relax.rewrite import GraphRewriter, rewrite_functions
from ...ir.relax.subtype import is_base_of
from ...ir.relax.variable_kinds import hide_inner_variables, merge_aliases
from ...ir.visitor import type_vars
from ..registry import register_pass


@register_pass("relax.CanonicalizeBindings")
def canonicalize_bindings(mod: IRModule) -> IRModule:
    """A value has one name, and what is known of it is used.

    Second names, fields taken out of a tuple that was just made, tuples of all the fields of one, and casts
    to the type that a value has already are gone.  Symbols of casts whose value's sizes are known are those
    sizes.  What only a dataflow block uses is a dataflow variable. Idempotent.

    before:
        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            with R.dataflow():
                t = (x, x)
                a = t[1]
                b = R.exp(a)
                c = b
                R.output(c)
            return c

    after:
        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            with R.dataflow():
                t = x, x
                c = R.exp(x)
                R.output(c)
            return c
    """

    def tidy(func: Function) -> Function:
        return hide_inner_variables(merge_aliases(func))

    made: IRModule = _Canonical()(mod)
    return rewrite_functions(made, tidy)


class _Canonical(GraphRewriter):
    """`inner` holds the dataflow variables of the block at hand: others may not be named there."""

    def __init__(self) -> None:
        super().__init__()
        self.inner: set[Var] = set()
        self.symbols: set[Var] = set()

    def visit_Function(self, func: Function) -> Any:
        """A function; its parameters define symbols."""
        self.symbols.update(s for p in func.params for s in type_vars(p.ty))
        return super().visit_Function(func)

    def visit_DataflowBlock(self, block: DataflowBlock) -> None:
        """A dataflow block with variables of its own."""
        outer, self.inner = self.inner, set()
        self.visit_BindingBlock(block)
        self.inner = outer

    def visit_VarBinding(self, binding: VarBinding) -> None:
        """Emit the binding unless it only gives a name to what has one."""
        value = self.simpler(self.builder.normalize(self.visit(binding.value)))
        var = binding.var
        known = isinstance(value, Var) and is_base_of(self.visit(var.ty), value.ty)
        if known and isinstance(value, Var) and self.may_replace(var, value):
            self.vars[var] = value
            return
        self.rebind(binding, value)
        self.note(var)

    def visit_MatchCast(self, binding: MatchCast) -> None:
        """Emit the cast unless the value's type is known to be the one asked for."""
        value = self.builder.atom(self.visit(binding.value))
        self.solve(self.visit(binding.ty), value.ty)
        ty = self.visit(binding.ty)
        if isinstance(value, Var) and is_base_of(ty, value.ty) and self.may_replace(binding.var, value):
            self.vars[binding.var] = value
            return
        self.symbols.update(type_vars(binding.ty))
        super().visit_MatchCast(binding)
        self.note(binding.var)

    def note(self, var: Var) -> None:
        """Remember the variable that stands for this one in the block at hand."""
        new = self.vars.get(var, var)
        if isinstance(new, DataflowVar):
            self.inner.add(new)

    def may_replace(self, var: Var, value: Var) -> bool:
        """Whether one may stand wherever the other may."""
        return not isinstance(value, DataflowVar) or isinstance(var, DataflowVar)

    def solve(self, ty: Type, known: Type) -> None:
        """Let new symbols of a cast's type be the sizes that are known."""
        if isinstance(ty, TupleType) and isinstance(known, TupleType):
            for a, b in zip(ty.fields_, known.fields_):
                self.solve(a, b)
        for size, value in zip(_sizes(ty), _sizes(known)):
            if isinstance(size, Var) and size not in self.symbols and size is not value:
                self.vars[size] = value

    def simpler(self, value: Expr) -> Expr:
        """The same value without detour through a tuple."""
        if isinstance(value, TupleGetItem):
            whole = self.lookup(value.tuple_value)
            if isinstance(whole, Tuple):
                return self.seen(whole.fields_[value.index], value)
        if isinstance(value, Tuple) and value.fields_:
            parts = [self.lookup(f) for f in value.fields_]
            first = parts[0]
            if isinstance(first, TupleGetItem) and len(first.tuple_value.ty.fields_) == len(parts):  # type: ignore[attr-defined]
                source = first.tuple_value
                if all(
                    isinstance(p, TupleGetItem) and p.tuple_value is source and p.index == i
                    for i, p in enumerate(parts)
                ):
                    return self.seen(source, value)
        return value

    def seen(self, value: Expr, otherwise: Expr) -> Expr:
        """The value where it may be named here."""
        hidden = isinstance(value, DataflowVar) and value not in self.inner
        return otherwise if hidden else value


def _sizes(ty: Type) -> tuple[Expr, ...]:
    if isinstance(ty, TensorType):
        return ty.sizes or ()
    return (ty.values or ()) if isinstance(ty, ShapeType) else ()


__all__ = ["canonicalize_bindings"]
