"""What is computed from weights alone is computed before the inputs are known, by a function of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import Diagnostic, PassError
from ...ir import Call, GlobalVar, IRModule, Op, Tuple, TupleGetItem, TupleType, Var
from ...ir.relax import (
    Binding,
    BindingBlock,
    DataflowBlock,
    DataflowVar,
    Function,
    SeqExpr,
    VarBinding,
    shape_symbols,
)
from ...ir.relax.analysis import computable_at_compile_time
from ...ir.relax.rewrite import graph_functions
from ...ir.relax.variable_kinds import Renaming, hide_inner_variables
from ...ir.visitor import renew_definitions, type_vars, walk
from ..registry import register_pass
from .model_params import weights_of

STOP = "relax.builtin.stop_lift_params"


@register_pass("relax.LiftTransformParams")
def lift_transform_params(mod: IRModule, shared_transform: bool | Sequence[str] = False) -> IRModule:
    """What a function with "num_input" computes from weights alone is done by `<name>_transform_params`.

    That function takes the tuple of weights and gives the tuple of what the other one has for weights then.
    With `shared_transform` one function `transform_params` serves all functions, or those named, which must
    have the same weights.  What depends on `R.builtin.stop_lift_params` stays.  Not idempotent: a second time
    nothing is left to compute, but there is a function for it.

    before:
        @R.function
        def main(
            x: R.Tensor((2,), "float32"), w: R.Tensor((2,), "float32")
        ) -> R.Tensor((2,), "float32"):
            R.func_attr({"num_input": 1})
            with R.dataflow():
                v = R.exp(w)
                y = R.add(x, v)
                R.output(y)
            return y

    after:
        @I.ir_module
        class Module:
            @R.function
            def main_transform_params(
                model_params: R.Tuple(R.Tensor((2,), "float32"))
            ) -> R.Tuple(R.Tensor((2,), "float32")):
                R.func_attr({"num_input": 0})
                with R.dataflow():
                    w = model_params[0]
                    v = R.exp(w)
                    output_tuple = (v,)
                    R.output(output_tuple)
                return output_tuple

            @R.function
            def main(
                x: R.Tensor((2,), "float32"), v: R.Tensor((2,), "float32")
            ) -> R.Tensor((2,), "float32"):
                R.func_attr({"num_input": 1})
                with R.dataflow():
                    y = R.add(x, v)
                    R.output(y)
                return y
    """
    names = None if isinstance(shared_transform, bool) else set(shared_transform)
    chosen = [
        (g, f)
        for g, f in graph_functions(mod)
        if "num_input" in f.attrs and (names is None or g.name in names)
    ]
    if shared_transform:
        return _shared(mod, chosen) if chosen else mod
    for gvar, func in chosen:
        lift = _Lift(func)
        name = f"{gvar.name}_transform_params"
        mod = mod.with_function(gvar, lift.rest(lift.needed))
        mod = mod.with_function(GlobalVar(name, lift.transform(name).ty), lift.transform(name))
    return mod


class _Lift:
    """What of a function can be computed before: `lifted` bindings, and the variables `needed` of them."""

    def __init__(self, func: Function) -> None:
        self.func = func
        self.weights = weights_of(func)
        early = set(computable_at_compile_time(func))
        self.lifted: list[VarBinding] = []
        held: set[Var] = set()
        for block in func.body.blocks:
            for b in block.bindings:
                stopped = any(isinstance(n, Call) and n.op == Op(STOP) for n in walk(b))
                late = stopped or any(isinstance(n, Var) and n in held for n in walk(b))
                if isinstance(b, VarBinding) and b.var in early and not late:
                    self.lifted.append(b)
                else:
                    held.add(b.var)
        self.done = {b.var for b in self.lifted}
        self.needed = self._needed()

    def kept(self) -> list[BindingBlock]:
        """The blocks without the lifted bindings."""
        blocks = []
        for block in self.func.body.blocks:
            bindings: list[Binding] = [b for b in block.bindings if b.var not in self.done]
            if bindings:
                blocks.append(block.replace(bindings=bindings))
        return blocks

    def _needed(self) -> list[Var]:
        """The weights and lifted values that the rest uses, weights first; also what defines its sizes."""
        rest = SeqExpr(self.kept(), self.func.body.body)
        used = {n for n in walk(rest) if isinstance(n, Var)}
        found = [v for v in (*self.weights, *[b.var for b in self.lifted]) if v in used]
        inputs = self.func.params[: len(self.func.params) - len(self.weights)]
        known = {s for p in (*inputs, *found) for s in type_vars(p.ty) if _stands_alone(s, p)}
        wanted = {s for p in (*inputs, *found) for s in type_vars(p.ty)} | used
        for weight in self.weights:
            own = {s for s in type_vars(weight.ty) if _stands_alone(s, weight)}
            if weight not in found and (own - known) & wanted:
                found.insert(0, weight)
                known |= own
        return found

    def rest(self, needed: Sequence[Var]) -> Function:
        """The function with what is needed for its weights."""
        inputs = self.func.params[: len(self.func.params) - len(self.weights)]
        renamed: dict[Var, Any] = {v: Var(v.name, v.ty, v.span) for v in needed if isinstance(v, DataflowVar)}
        params = [*inputs, *[renamed.get(v, v) for v in needed]]
        body = SeqExpr(self.kept(), self.func.body.body)
        made: Function = Renaming(renamed)(self.func.replace(params=params, body=body))
        return hide_inner_variables(made)

    def transform(self, name: str) -> Function:
        """The function from the weights to what is needed."""
        return _transform(name, self.weights, self.lifted, self.needed)


def _stands_alone(symbol: Var, param: Var) -> bool:
    return symbol in shape_symbols(param.ty)


def _transform(
    name: str, weights: Sequence[Var], lifted: Sequence[VarBinding], needed: Sequence[Var]
) -> Function:
    """The function `name`: from the tuple of weights to the tuple of what is needed of the lifted values."""
    whole = Var("model_params", TupleType([w.ty for w in weights]))
    used = {n for b in lifted for n in walk(b.value) if isinstance(n, Var)} | set(needed)
    fields = [VarBinding(w, TupleGetItem(whole, i)) for i, w in enumerate(weights) if w in used]
    out = Var("output_tuple", TupleType([v.ty for v in needed]))
    bindings = [*fields, *lifted, VarBinding(out, Tuple(needed))]
    attrs = {"num_input": 0, "global_symbol": name}
    func = Function([whole], SeqExpr([DataflowBlock(bindings)], out), out.ty, True, attrs)
    return renew_definitions(hide_inner_variables(func))


def _shared(mod: IRModule, chosen: Sequence[tuple[GlobalVar, Function]]) -> IRModule:
    """One function for the weights of all: it gives what any of them needs, and all take all of it."""
    lifts = [_Lift(func) for _, func in chosen]
    first = lifts[0]
    lifted: list[VarBinding] = []
    rows: list[list[Var]] = []
    for (gvar, func), lift in zip(chosen, lifts):
        if [w.ty for w in lift.weights] != [w.ty for w in first.weights]:
            text = f"`{gvar.name}` and `{chosen[0][0].name}` cannot share: their weights differ"
            raise PassError(Diagnostic("invalid-argument", text, func.span))
        renaming = Renaming(dict(zip(lift.weights, first.weights)))
        moved = [renaming(b) for b in lift.lifted] if lift is not first else lift.lifted
        lifted += moved
        needed: list[Any] = [renaming.vars.get(v, v) if lift is not first else v for v in lift.needed]
        rows.append(needed)
    every = list(dict.fromkeys(v for row in rows for v in row))
    name = "transform_params"
    transform = _transform(name, first.weights, lifted, every)
    for (gvar, _), lift, row in zip(chosen, lifts, rows):
        own = dict(zip(row, lift.needed))
        params = [own.get(v, v if v in row else Var(v.name, v.ty)) for v in every]
        mod = mod.with_function(gvar, lift.rest(params))
    return mod.with_function(GlobalVar(name, transform.ty), transform)


__all__ = ["lift_transform_params"]
