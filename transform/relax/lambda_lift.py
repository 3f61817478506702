"""Local functions move to the module; what they use of their surroundings makes them closures."""

from __future__ import annotations

from typing import Any

from ...ir import Call, FuncType, GlobalVar, IRModule, Op, PrimType, Tuple, Var
from ...ir.relax import Function, ShapeExpr, VarBinding, get_op
from ...ir.relax.rewrite import GraphRewriter, graph_functions
from ...ir.types import AnyType
from ...ir.visitor import free_vars, renew_definitions
from ..registry import register_pass


@register_pass("relax.LambdaLift")
def lambda_lift(mod: IRModule) -> IRModule:
    """No function stands inside of another: each local one is a private function of the module.

    One that uses variables from around it takes them behind its own parameters; where it stood there is
    `R.make_closure`, and it is called by `R.invoke_closure` or `R.invoke_pure_closure`.  Idempotent.

    before:
        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            @R.function
            def inner(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                z = R.add(x, y)
                return z
            a = inner(x)
            return a

    after:
        @I.ir_module
        class Module:
            @R.function(private=True)
            def main_inner(
                y: R.Tensor((2,), "float32"), x: R.Tensor((2,), "float32")
            ) -> R.Tensor((2,), "float32"):
                z = R.add(x, y)
                return z

            @R.function
            def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                cls = Module
                inner = R.make_closure(cls.main_inner, (x,))
                a = R.invoke_pure_closure(inner, (x,), ty_args=(R.Tensor((2,), "float32"),))
                return a
    """
    lifter = _Lifter(mod)
    for gvar, func in graph_functions(mod):
        lifter.scope = gvar.name
        made = lifter(func)
        if made is not func:
            lifter.builder.update_func(gvar, made)
    found = lifter.builder.get()
    return mod if all(found.get(g) is f for g, f in mod.functions.items()) else found


class _Lifter(GraphRewriter):
    """`scope` is the name of the function at hand.

    `own` holds what a local function that is being lifted is called by inside of itself: its name in the
    module, and the parameters for what it captured, which stay the same.
    """

    def __init__(self, mod: IRModule) -> None:
        super().__init__(mod)
        self.scope = ""
        self.own: dict[Var, tuple[GlobalVar, tuple[Var, ...]]] = {}

    def visit_VarBinding(self, binding: VarBinding) -> None:
        """Lift a local function; what stands for its variable is the module's function or a closure."""
        func = binding.value
        if not isinstance(func, Function):
            super().visit_VarBinding(binding)
            return
        captured = [v for v in self.captured(func) if v is not binding.var]
        gvar = self.lift(binding.var, func, captured)
        if not captured:
            self.vars[binding.var] = gvar
            return
        values = [self.visit(v) for v in captured if not isinstance(v.ty, PrimType)]
        sizes = [self.visit(v) for v in captured if isinstance(v.ty, PrimType)]
        held = Tuple([*values, *([ShapeExpr(sizes)] if sizes else [])])
        self.builder.emit_normalized(
            VarBinding(self.renew(binding.var, AnyType()), get_op("relax.make_closure")(gvar, held))
        )

    def captured(self, func: Function) -> list[Var]:
        """The variables around a local function that it uses, unless they are functions of the module."""
        return [v for v in free_vars(func) if not isinstance(self.vars.get(v), GlobalVar)]

    def lift(self, var: Var, func: Function, captured: list[Var]) -> GlobalVar:
        """The name in the module of a local function with parameters for what it captures."""
        table = self.builder.table
        sizes = [v for v in captured if isinstance(v.ty, PrimType)]
        values = [v for v in captured if not isinstance(v.ty, PrimType)]
        params = {v: Var(v.name, self.visit(v.ty)) for v in values}
        if sizes:
            params[Var("sizes")] = Var("sizes", ShapeExpr(sizes).ty)
        whole = func.replace(
            params=[*func.params, *params.values()], attrs=func.attrs.without("global_symbol")
        )
        gvar = GlobalVar(table.names.unique(f"{self.scope}_{var.name}"), whole.ty)
        table.functions[gvar] = whole
        table.by_name[gvar.name] = gvar
        outer = {v: self.vars[v] for v in (*values, var) if v in self.vars}
        self.vars.update(params)
        if captured:
            self.own[var] = gvar, tuple(params.values())
        else:
            self.vars[var] = gvar
        body = self.visit(whole.body)
        for v in (*values, var):
            self.vars.pop(v, None)
        self.vars.update(outer)
        self.own.pop(var, None)
        lifted = renew_definitions(whole.replace(body=body))
        table.update(gvar, lifted)
        return gvar

    def visit_Call(self, call: Call) -> Any:
        """Calls of values are calls of closures; a lifted function calls itself directly."""
        if isinstance(call.op, Var) and call.op in self.own:
            gvar, more = self.own[call.op]
            return Call(gvar, [*self.visit_tuple(call.args), *more], call.ty, span=call.span)
        if isinstance(call.op, Op | GlobalVar) or not isinstance(call.op, Var):
            return super().visit_Call(call)
        callee = self.visit(call.op)
        args = self.visit_tuple(call.args)
        if isinstance(callee, GlobalVar):
            return Call(callee, args, call.ty, span=call.span)
        pure = not isinstance(call.op.ty, FuncType) or call.op.ty.purity
        name = "relax.invoke_pure_closure" if pure else "relax.invoke_closure"
        return get_op(name)(callee, Tuple(args), ty_args=self.visit(call.ty), span=call.span)


__all__ = ["lambda_lift"]
