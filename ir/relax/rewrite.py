"""Rewriting graph functions: the base of graph passes.

    class Legalize(GraphRewriter):
        def visit_Call(self, call):
            call = super().visit_Call(call)             # operands renamed, type derived anew
            rec = op_of(call)
            return self.builder.call_kernel(call) if rec is not None and rec.te else call

    new_mod = Legalize()(mod)

A method `visit_<Node>` gets a node of the old program and gives the expression that takes its place, which
need not be in normal form: what cannot stand where it goes is bound to a new variable before it.  It may put
bindings before the one at hand: `y = self.builder.emit(value)`.  Bindings are visited in order, by
`visit_VarBinding(binding)` and `visit_MatchCast(binding)`, which emit the new ones through the builder and
return nothing; blocks by `visit_DataflowBlock(block)` and `visit_BindingBlock(block)`.  To drop a binding,
do not emit it and say what stands for its variable: `self.vars[binding.var] = value`.

A variable keeps its identity unless the type of its value changes; then it is renewed, its uses follow, and
the types of the calls that use it are derived anew.  Dataflow variables stay dataflow variables.  Where
nothing changes the result is the same object.  `lookup(var)` is the new value of a variable.

Applied to a module, the graph functions for which `wants(func)` holds are rewritten; functions that the
builder got meanwhile (`self.builder.add_func`, `call_te`) are in the resulting module.  Applied to a function
alone, these are in `self.builder.get()`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..expr import Call, Expr, GlobalVar, Var
from ..function import IRModule
from ..types import Type
from .block_builder import BlockBuilder, same_seq
from .call_type import retyped
from .expr import (
    Binding,
    BindingBlock,
    DataflowBlock,
    Function,
    MatchCast,
    SeqExpr,
    VarBinding,
)
from .relations import erase_definitions
from .sizes import SimplifiesSizes


class GraphRewriter(SimplifiesSizes):
    """Makes changed graph functions; see the head of this module."""

    def __init__(self, mod: IRModule | None = None) -> None:
        super().__init__()
        self.builder = BlockBuilder(mod)

    def wants(self, func: Function) -> bool:
        """Whether this function of a module is to be rewritten. The default takes all."""
        return True

    def lookup(self, var: Expr) -> Expr | None:
        """What a variable stands for in the new program, as far as it is made; None for parameters."""
        return self.builder.lookup_binding(var) if isinstance(var, Var) else None

    def visit_IRModule(self, mod: IRModule) -> IRModule:
        """The module with its graph functions rewritten, and with new ones."""
        table = self.builder.start_from(mod)
        for gvar, func in mod.functions.items():
            if isinstance(func, Function) and self.wants(func):
                new = self.visit(func)
                if new is not func:
                    table.update(gvar, new)
        return table.module()

    def visit_Function(self, func: Function) -> Any:
        """The function with its body rewritten; the result's type follows where that changes."""
        params = self.define_all(func.params, True)
        body = self.visit(func.body)
        ret_ty = self.visit(func.ret_ty)
        attrs = self.visit_value(func.attrs)
        if body is func.body and params is func.params and ret_ty is func.ret_ty and attrs is func.attrs:
            return func
        if body.ty != func.body.ty:
            ret_ty = erase_definitions(body)
        return func.replace(params=params, body=body, ret_ty=ret_ty, attrs=attrs)

    def visit_SeqExpr(self, seq: SeqExpr) -> Any:
        """A sequence in a scope of its own."""
        self.builder.begin_scope()
        try:
            for block in seq.blocks:
                self.builder.open_block(isinstance(block, DataflowBlock))
                self.visit(block)
            self.builder.open_block(False)
            body = self.result(seq)
        finally:
            blocks = self.builder.end_scope()
        made = SeqExpr(blocks, body, seq.span)
        return seq if same_seq(made, seq) else made

    def result(self, seq: SeqExpr) -> Expr:
        """The new value of a sequence, whose bindings are emitted."""
        return self.builder.atom(self.visit(seq.body))

    def visit_BindingBlock(self, block: BindingBlock) -> None:
        """Visit the bindings in order; dataflow blocks too, unless `visit_DataflowBlock` is defined."""
        for binding in block.bindings:
            self.visit(binding)

    def visit_VarBinding(self, binding: VarBinding) -> None:
        """Emit the binding with its value rewritten."""
        self.rebind(binding, self.visit(binding.value))

    def rebind(self, binding: VarBinding, value: Expr) -> None:
        """Emit the binding with this value; the variable is renewed where the type of the value changes."""
        value = self.builder.normalize(value)
        if value is binding.value:
            self.builder.emit_normalized(binding)
            return
        var = binding.var
        if value.ty != binding.value.ty:
            var = self.renew(var, value.ty)
        self.builder.emit_normalized(VarBinding(var, value, binding.span))

    def renew(self, var: Var, ty: Type) -> Var:
        """A variable of the same kind and name with this type, which takes the place of the old one."""
        new: Var = type(var)(var.name, ty, var.span)
        self.vars[var] = new
        return new

    def visit_MatchCast(self, binding: MatchCast) -> None:
        """Emit the cast with its value rewritten."""
        value = self.builder.atom(self.visit(binding.value))
        ty = self.visit(binding.ty)
        if value is binding.value and ty is binding.ty:
            self.builder.emit_normalized(binding)
            return
        var = binding.var if ty is binding.ty else self.renew(binding.var, ty)
        self.builder.emit_normalized(MatchCast(var, value, ty, binding.span))

    def visit_Call(self, call: Call) -> Any:
        """The call with its operands rewritten, its type derived anew where theirs changed."""
        op, args = self.visit(call.op), self.visit_tuple(call.args)
        attrs, ty_args = self.visit_value(call.attrs), self.visit_tuple(call.ty_args)
        if op is call.op and args is call.args and attrs is call.attrs and ty_args is call.ty_args:
            return call
        same = op.ty == call.op.ty if isinstance(op, Expr) and isinstance(call.op, Expr) else op is call.op
        same = same and all(a.ty is b.ty or a.ty == b.ty for a, b in zip(args, call.args))
        new = call.replace(op=op, args=args, attrs=attrs, ty_args=ty_args, ty=self.visit(call.ty))
        return new if same else retyped(new)

    def define(self, var: Var) -> Var:
        """A parameter, renewed where its type changes; keeps its kind."""
        new = super().define(var)
        return new if new is var else self.renew(var, new.ty)


def rewrite_functions(mod: IRModule, change: Callable[[Function], Function]) -> IRModule:
    """The module in which each graph function f is `change(f)`; itself when nothing changes."""
    table = {g: change(f) if isinstance(f, Function) else f for g, f in mod.functions.items()}
    return mod if all(table[g] is f for g, f in mod.functions.items()) else mod.replace(functions=table)


def bindings_of(seq: SeqExpr) -> list[Binding]:
    """The bindings of a sequence in order."""
    return [binding for block in seq.blocks for binding in block.bindings]


def graph_functions(mod: IRModule) -> list[tuple[GlobalVar, Function]]:
    """The graph functions of a module with their names."""
    return [(g, f) for g, f in mod.functions.items() if isinstance(f, Function)]


__all__ = ["GraphRewriter", "bindings_of", "graph_functions", "rewrite_functions"]
