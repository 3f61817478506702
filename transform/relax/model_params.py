"""How a model gets its weights: as a tuple, through a function, transformed before its inputs are known.

The attribute "num_input" of a function says how many of its first parameters are inputs; the others are
weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...ir import (
    Call,
    Expr,
    ExternFunc,
    IRModule,
    PrimType,
    StringImm,
    Tuple,
    TupleGetItem,
    TupleType,
    Type,
    Var,
)
from ...ir.relax import Binding, BindingBlock, Function, MatchCast, SeqExpr, VarBinding, erase
from ...ir.relax.op import prim_value
from ...ir.relax.rewrite import graph_functions, rewrite_functions
from ...ir.relax.variable_kinds import hide_inner_variables, without_dataflow
from ...ir.types import UNIT, AnyType, FuncType
from ...ir.visitor import Rewriter, type_vars, walk
from ..registry import register_pass


def weights_of(func: Function) -> tuple[Var, ...]:
    """The parameters that are weights."""
    count = func.attrs.get("num_input")
    return () if count is None else func.params[int(count) :]


@register_pass("relax.BundleModelParams")
def bundle_model_params(mod: IRModule, param_tuple_name: str | None = None) -> IRModule:
    """The weights of a function with the attribute "num_input" are one tuple, `model_params` unless named.

    Not idempotent: a second time the tuple itself is a field of a tuple.

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
        @R.function
        def main(
            x: R.Tensor((2,), "float32"), model_params: R.Tuple(R.Tensor((2,), "float32"))
        ) -> R.Tensor((2,), "float32"):
            R.func_attr({"num_input": 1})
            with R.dataflow():
                w = model_params[0]
                v = R.exp(w)
                y = R.add(x, v)
                R.output(y)
            return y
    """

    def change(func: Function) -> Function:
        weights = weights_of(func)
        if "num_input" not in func.attrs:
            return func
        whole = Var(param_tuple_name or "model_params", TupleType([w.ty for w in weights]))
        fields = {w: [VarBinding(w, TupleGetItem(whole, i))] for i, w in enumerate(weights)}
        inputs = func.params[: len(func.params) - len(weights)]
        made = func.replace(params=[*inputs, whole], body=with_loads(func.body, fields, set()))
        return hide_inner_variables(made)

    return rewrite_functions(mod, change)


@register_pass("relax.LazyGetInput")
def lazy_get_input(mod: IRModule) -> IRModule:
    """Weights are asked for where they are first used: by `fget_param(number, name)`, a new parameter.

    It stands behind the inputs and counts as one.  Functions without "num_input" stay.  Not idempotent.

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
        @R.function
        def main(
            x: R.Tensor((2,), "float32"), fget_param: R.Callable((T.int64, R.Any), R.Any, True)
        ) -> R.Tensor((2,), "float32"):
            R.func_attr({"num_input": 2})
            with R.dataflow():
                w_untyped = fget_param(0, R.str("w"))
                w = R.match_cast(w_untyped, R.Tensor((2,), "float32"))
                v = R.exp(w)
                y = R.add(x, v)
                R.output(y)
            return y
    """

    def change(func: Function) -> Function:
        weights = weights_of(func)
        if "num_input" not in func.attrs:
            return func
        count = len(func.params) - len(weights)
        get = Var("fget_param", FuncType([PrimType("int64"), AnyType()], AnyType(), True))

        def load(i: int, weight: Var) -> Expr:
            return Call(get, [prim_value(i), StringImm(weight.name)], AnyType())

        known = {s for p in func.params[:count] for s in type_vars(p.ty)}
        body = with_loads(func.body, _casts(weights, load), known)
        params = [*func.params[:count], get]
        made = func.replace(params=params, body=body, ret_ty=_known_type(func.ret_ty, params))
        return hide_inner_variables(made.with_attr("num_input", count + 1))

    return rewrite_functions(mod, change)


def _known_type(ty: Type, params: Sequence[Var]) -> Type:
    """The type without sizes that these parameters do not define."""
    known = {s for p in params for s in type_vars(p.ty)}
    return erase(ty, lambda v: v not in known)


def _casts(weights: Sequence[Var], load: Callable[[int, Var], Expr]) -> dict[Var, list[Binding]]:
    """What binds each weight: a load, and the cast to its type."""
    loads: dict[Var, list[Binding]] = {}
    for i, weight in enumerate(weights):
        untyped = Var(f"{weight.name}_untyped", AnyType())
        loads[weight] = [VarBinding(untyped, load(i, weight)), MatchCast(weight, untyped, weight.ty)]
    return loads


def with_loads(seq: SeqExpr, loads: Mapping[Var, Sequence[Binding]], known: set[Var]) -> SeqExpr:
    """The sequence with the bindings of each variable before the first one that needs it, or its symbols."""
    owner = {s: v for v in reversed(list(loads)) for s in type_vars(v.ty) if s not in known}
    done: set[Var] = set()

    def needed(node: Any) -> list[Binding]:
        found: list[Binding] = []
        for n in walk(node, outer_first=True):
            wanted: Any = owner.get(n, n) if isinstance(n, Var) else None
            if wanted in loads and wanted not in done:
                done.add(wanted)
                found += loads[wanted]
        return found

    blocks: list[BindingBlock] = []
    for block in seq.blocks:
        bindings: list[Binding] = []
        for binding in block.bindings:
            bindings += needed(binding)
            bindings.append(binding)
        blocks.append(block if len(bindings) == len(block.bindings) else block.replace(bindings=bindings))
    last = needed(seq.body)
    return SeqExpr([*blocks, BindingBlock(last)] if last else blocks, seq.body, seq.span)


@register_pass("relax.LazySetOutput")
def lazy_set_output(mod: IRModule) -> IRModule:
    """Results are handed out where they are computed: by `fset_output(number, value)`, a new parameter.

    It stands behind the inputs and counts as one; the function gives an empty tuple and is not pure.
    Functions without "num_input" stay.  Not idempotent.

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
        @R.function(pure=False)
        def main(
            x: R.Tensor((2,), "float32"),
            fset_output: R.Callable((T.int64, R.Any), R.Tuple, False),
            w: R.Tensor((2,), "float32"),
        ) -> R.Tuple:
            R.func_attr({"num_input": 2})
            v = R.exp(w)
            y = R.add(x, v)
            fset_output(0, y)
            return R.tuple()
    """

    def change(func: Function) -> Function:
        if "num_input" not in func.attrs:
            return func
        count = int(func.attrs["num_input"])
        put = Var("fset_output", FuncType([PrimType("int64"), AnyType()], UNIT, False))

        def store(i: int, value: Expr) -> Expr:
            return Call(put, [prim_value(i), value], UNIT)

        params = [*func.params[:count], put, *func.params[count:]]
        made = func.replace(params=params, body=with_stores(func.body, store), ret_ty=UNIT, is_pure=False)
        stored: Function = made.with_attr("num_input", count + 1)
        return stored

    return rewrite_functions(mod, change)


def with_stores(seq: SeqExpr, store: Callable[[int, Expr], Expr]) -> SeqExpr:
    """The sequence in plain blocks, each field of its value stored once it is there; the value is ()."""
    seq = without_dataflow(seq)
    values: dict[Any, Expr] = {b.var: b.value for block in seq.blocks for b in block.bindings}
    whole = seq.body
    while isinstance(whole, Var) and isinstance(values.get(whole), Var | Tuple):
        whole = values[whole]
    before: list[Binding] = []
    if isinstance(whole.ty, TupleType) and not isinstance(whole, Tuple):
        names = [Var("gv", f) for f in whole.ty.fields_]
        before = [VarBinding(v, TupleGetItem(whole, i)) for i, v in enumerate(names)]
        whole = Tuple(names)
    results = list(whole.fields_) if isinstance(whole, Tuple) else [whole]
    places: dict[Any, list[int]] = {}
    for i, value in enumerate(results):
        places.setdefault(value if isinstance(value, Var) else i, []).append(i)

    def stores(key: Any) -> list[Binding]:
        made = [store(i, results[i]) for i in places.pop(key, ())]
        return [VarBinding(Var("_", call.ty), call) for call in made]

    bound = {b.var for block in seq.blocks for b in block.bindings} | {b.var for b in before}
    first = [s for key in list(places) if key not in bound for s in stores(key)]
    blocks: list[BindingBlock] = [BindingBlock(first)] if first else []
    for block in seq.blocks:
        bindings: list[Binding] = []
        for b in block.bindings:
            bindings += [b, *stores(b.var)]
        blocks.append(block.replace(bindings=bindings))
    last = before + [s for key in list(places) for s in stores(key)]
    return SeqExpr([*blocks, BindingBlock(last)] if last else blocks, Tuple(()))


@register_pass("relax.LazyTransformParams")
def lazy_transform_params(
    mod: IRModule,
    fget_item: str = "get_item",
    fset_item: str | None = "set_item",
    extra_get_item_params: Sequence[Var] | None = None,
    extra_set_item_params: Sequence[Var] | None = None,
) -> IRModule:
    """Functions named `transform_params`, or so at the end, load and store weights one by one.

    They call `fget_item(*extra, number)` and `fset_item(*extra, number, value)`; extra parameters become
    theirs.  Without `fset_item` they give the tuple of results.  Not idempotent.

    before:
        @R.function
        def transform_params(
            weights: R.Tuple(R.Tensor((2,), "float32"))
        ) -> R.Tuple(R.Tensor((2,), "float32")):
            w = weights[0]
            v = R.exp(w)
            return (v,)

    after:
        @R.function(pure=False)
        def transform_params() -> R.Tuple:
            weights_0_untyped = R.call_packed("get_item", 0, ty_args=(R.Any,))
            weights_0 = R.match_cast(weights_0_untyped, R.Tensor((2,), "float32"))
            w = weights_0
            v = R.exp(w)
            _ = R.call_packed("set_item", 0, v, ty_args=(R.Any,))
            return R.tuple()
    """

    def change(func: Function) -> Function:
        [whole] = func.params[-1:] or [None]
        if whole is None or not isinstance(whole.ty, TupleType):
            return func
        weights = [Var(f"{whole.name}_{i}", f) for i, f in enumerate(whole.ty.fields_)]
        get, put = [tuple(p or ()) for p in (extra_get_item_params, extra_set_item_params)]

        def load(i: int, weight: Var) -> Expr:
            return Call(ExternFunc(fget_item), [*get, prim_value(i)], AnyType(), (), (AnyType(),))

        def store(i: int, value: Expr) -> Expr:
            return Call(ExternFunc(str(fset_item)), [*put, prim_value(i), value], AnyType(), (), (AnyType(),))

        known = {s for p in func.params[:-1] for s in type_vars(p.ty)}
        body = _fields_as(without_dataflow(func.body), whole, weights)
        body = with_loads(body, _casts(weights, load), known)
        ret_ty = _known_type(func.ret_ty, func.params[:-1])
        if fset_item is not None:
            body, ret_ty = with_stores(body, store), UNIT
        extra = dict.fromkeys([*get, *(put if fset_item is not None else ())])
        made: Function = func.replace(
            params=[*func.params[:-1], *extra], body=body, ret_ty=ret_ty, is_pure=False
        )
        return made

    for gvar, func in graph_functions(mod):
        if gvar.name.endswith("transform_params"):
            mod = mod.with_function(gvar, change(func))
    return mod


def _fields_as(seq: SeqExpr, whole: Var, fields: Sequence[Var]) -> SeqExpr:
    """The sequence in which the fields of a tuple are these variables."""

    class Fields(Rewriter):
        def visit_TupleGetItem(self, e: TupleGetItem) -> Expr:
            if e.tuple_value is whole:
                return fields[e.index]
            made: Expr = self.visit_fields(e)
            return made

    made: SeqExpr = Fields()(seq)
    return made


__all__ = [
    "bundle_model_params",
    "lazy_get_input",
    "lazy_set_output",
    "lazy_transform_params",
    "weights_of",
]
