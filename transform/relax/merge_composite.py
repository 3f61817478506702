"""Regions of composite functions of one external compiler become one function for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...ir import BaseFunc, Call, Expr, GlobalVar, IRModule, TupleGetItem, Var
from ...ir.relax import Binding, BindingBlock, DataflowBlock, DataflowVar, Function, SeqExpr, VarBinding
from ...ir.relax.function_table import FunctionTable, Names
from ...ir.relax.variable_kinds import Renaming
from ...ir.visitor import Rewriter, find, renew_definitions
from ..registry import register_pass
from .common import map_dataflow
from .contraction import Contraction
from .grouping import regroup


@register_pass("relax.MergeCompositeFunctions")
def merge_composite_functions(mod: IRModule) -> IRModule:
    """Calls of composite functions of one backend that lead to each other are one call of one function.

    The backend is the part of the attribute "Composite" before its first dot; the new function has it as its
    attribute "Codegen", is public, and holds the composite functions inside of it.  Idempotent.

    before:
        @I.ir_module
        class Module:
            @R.function(private=True)
            def fused_relax_exp(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                R.func_attr({"Composite": "ext.exp"})
                with R.dataflow():
                    y = R.exp(x)
                    R.output(y)
                return y

            @R.function
            def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                cls = Module
                with R.dataflow():
                    a = cls.fused_relax_exp(x)
                    b = cls.fused_relax_exp(a)
                    R.output(b)
                return b

    after:
        @I.ir_module
        class Module:
            @R.function
            def fused_relax_exp_relax_exp_ext(
                x: R.Tensor((2,), "float32")
            ) -> R.Tensor((2,), "float32"):
                R.func_attr({"Codegen": "ext"})
                @R.function
                def local_0(x_1: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                    R.func_attr({"Composite": "ext.exp"})
                    with R.dataflow():
                        y = R.exp(x_1)
                        R.output(y)
                    return y

                a = local_0(x)
                b = local_0(a)
                return b

            @R.function
            def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                cls = Module
                with R.dataflow():
                    b = cls.fused_relax_exp_relax_exp_ext(x)
                    R.output(b)
                return b
    """
    composite = composite_functions(mod)
    table = FunctionTable(mod)
    start = set(table.by_name)
    for gvar, func in mod.functions.items():
        if isinstance(func, Function) and not {"Composite", "Codegen"} & set(func.attrs):
            made = map_dataflow(func, lambda block: _merge(block, composite, table))
            if made is not func:
                table.update(gvar, made)
    merged = {name for name in table.by_name if name not in start}
    return _finish(table.module(), merged, composite) if merged else mod


def composite_functions(mod: IRModule) -> dict[str, Function]:
    """The functions of a module that a pattern made."""
    return {g.name: f for g, f in mod.functions.items() if isinstance(f, Function) and "Composite" in f.attrs}


def backend_of(func: Function) -> str:
    """The external compiler that a composite function is meant for."""
    return str(func.attrs["Composite"]).partition(".")[0]


def _merge(block: DataflowBlock, composite: Mapping[str, Function], table: FunctionTable) -> DataflowBlock:
    graph = Contraction(block)
    backends: list[str | None] = []
    for i, binding in enumerate(block.bindings):
        value: Any = getattr(binding, "value", None)
        backend = None
        if isinstance(value, Call) and isinstance(value.op, GlobalVar) and value.op.name in composite:
            backend = backend_of(composite[value.op.name])
        elif isinstance(value, TupleGetItem) and value.tuple_value in graph.place:
            backend = backends[graph.place[value.tuple_value]]
        backends.append(backend)
        if backend is None:
            continue
        members = {i}
        for j in graph.inputs[i]:
            if backends[j] == backend and graph.joinable({*members, j}):
                members.add(j)
        graph.join(members)
    attrs = {key: {"Codegen": backends[key]} for key in graph.members}
    return regroup(block, graph.group_of, attrs, table)


def wrap_composite(mod: IRModule) -> IRModule:
    """The module in which each composite function stands inside of a function of its own for its backend."""
    composite = composite_functions(mod)
    table = FunctionTable(mod)
    start = set(table.by_name)

    def wrap(block: DataflowBlock) -> DataflowBlock:
        group_of: list[int | None] = []
        attrs: dict[int, dict[str, Any]] = {}
        for i, b in enumerate(block.bindings):
            value: Any = getattr(b, "value", None)
            known = isinstance(value, Call) and isinstance(value.op, GlobalVar) and value.op.name in composite
            group_of.append(i if known else None)
            if known:
                attrs[i] = {"Codegen": backend_of(composite[value.op.name])}
        return regroup(block, group_of, attrs, table)

    for gvar, func in mod.functions.items():
        if isinstance(func, Function) and not {"Composite", "Codegen"} & set(func.attrs):
            made = map_dataflow(func, wrap)
            if made is not func:
                table.update(gvar, made)
    return _finish(table.module(), set(table.by_name) - start, composite)


def _finish(mod: IRModule, merged: set[str], composite: Mapping[str, Function]) -> IRModule:
    """The module with composite functions moved into the merged ones, which are public under final names."""
    renamed: dict[str, GlobalVar] = {}
    made: dict[str, Function] = {}
    names = Names(g.name for g in mod.functions)
    for gvar, func in mod.functions.items():
        if gvar.name in merged and isinstance(func, Function):
            name = _region_name(func, names)
            made[gvar.name] = _with_local_functions(func, composite).with_attr("global_symbol", name)
            renamed[gvar.name] = GlobalVar(name, func.ty)
    rename = _Calls(renamed)
    table: dict[GlobalVar, BaseFunc] = {}
    for gvar, func in mod.functions.items():
        if gvar.name in renamed:
            table[renamed[gvar.name]] = made[gvar.name]
        else:
            table[gvar] = rename(func) if isinstance(func, Function) else func
    used = {v.name for f in table.values() for v in find(f, GlobalVar)}
    kept = {g: f for g, f in table.items() if g.name not in composite or g.name in used}
    return mod.replace(functions=kept)


def _region_name(func: Function, names: Names) -> str:
    """A name for a region: what it calls, and its backend."""
    called = [c.op.name.removeprefix("fused_") for c in find(func, Call) if isinstance(c.op, GlobalVar)]
    return names.unique(f"{names.unique('_'.join(['fused', *called]))}_{func.attrs['Codegen']}")


class _Calls(Rewriter):
    def __init__(self, renamed: Mapping[str, GlobalVar]) -> None:
        super().__init__()
        self.renamed = renamed

    def visit_GlobalVar(self, gvar: GlobalVar) -> Expr:
        """The function's final name."""
        return self.renamed.get(gvar.name, gvar)


def _with_local_functions(func: Function, composite: Mapping[str, Function]) -> Function:
    """The function with the composite functions that it calls as local functions."""
    bindings: list[Binding] = []
    local: dict[str, Var] = {}
    for block in func.body.blocks:
        for b in block.bindings:
            assert isinstance(b, VarBinding)
            value = b.value
            if isinstance(value, Call) and isinstance(value.op, GlobalVar) and value.op.name in composite:
                name = value.op.name
                if name not in local:
                    inner = renew_definitions(composite[name].without_attr("Primitive"))
                    local[name] = Var(f"local_{len(local)}", inner.ty)
                    bindings.append(VarBinding(local[name], inner))
                value = value.replace(op=local[name])
            bindings.append(VarBinding(b.var, value, b.span))
    hidden = [b.var for b in bindings if isinstance(b, VarBinding) and isinstance(b.var, DataflowVar)]
    renaming = Renaming({v: Var(v.name, v.ty, v.span) for v in hidden})
    made: Function = func.replace(body=renaming(SeqExpr([BindingBlock(bindings)], func.body.body)))
    return made


__all__ = ["backend_of", "composite_functions", "merge_composite_functions", "wrap_composite"]
