"""Private functions take and give no more than is needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...ir import BaseFunc, Call, Expr, GlobalVar, IRModule, Tuple, TupleGetItem, TupleType, Var
from ...ir.relax import BindingBlock, Function, SeqExpr, ShapeType, TensorType, VarBinding
from ...ir.relax.rewrite import GraphRewriter, graph_functions
from ...ir.types import Type
from ...ir.visitor import children, free_vars, type_vars, walk
from ..registry import register_pass
from .common import is_public
from .inline_functions import KEPT


def changeable(mod: IRModule) -> dict[str, Function]:
    """The private graph functions that are only ever called by their name, whose signature may change."""
    found = {g.name: f for g, f in graph_functions(mod) if not is_public(f) and not set(KEPT) & set(f.attrs)}
    for func in mod.functions.values():
        for node in walk(func):
            called = node.op if isinstance(node, Call) else None
            for child in children(node):
                if isinstance(child, GlobalVar) and child is not called:
                    found.pop(child.name, None)
    return found


@register_pass("relax.ExpandTupleArguments")
def expand_tuple_arguments(mod: IRModule) -> IRModule:
    """Private functions take the fields of a tuple one by one.

    Idempotent.

    before:
        @I.ir_module
        class Module:
            @R.function(private=True)
            def f(
                t: R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32"))
            ) -> R.Tensor((2,), "float32"):
                a = t[0]
                return a

            @R.function
            def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                cls = Module
                y = cls.f((x, x))
                return y

    after:
        @I.ir_module
        class Module:
            @R.function(private=True)
            def f(
                t_0: R.Tensor((2,), "float32"), t_1: R.Tensor((2,), "float32")
            ) -> R.Tensor((2,), "float32"):
                t = t_0, t_1
                a = t[0]
                return a

            @R.function
            def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                cls = Module
                y = cls.f(x, x)
                return y
    """
    changed: dict[str, Function] = {}
    for name, func in changeable(mod).items():
        if any(isinstance(p.ty, TupleType) for p in func.params):
            changed[name] = _expanded(func)

    def args_of(name: str, args: Sequence[Expr]) -> list[Expr]:
        return [leaf for arg in args for leaf in _fields(arg)]

    return _with_calls(mod, changed, args_of)


def _fields(arg: Expr) -> list[Expr]:
    if not isinstance(arg.ty, TupleType):
        return [arg]
    parts = (
        arg.fields_ if isinstance(arg, Tuple) else [TupleGetItem(arg, i) for i in range(len(arg.ty.fields_))]
    )
    return [leaf for part in parts for leaf in _fields(part)]


def _expanded(func: Function) -> Function:
    params: list[Var] = []
    bindings: list[VarBinding] = []

    def expand(name: str, ty: Type) -> Expr:
        if isinstance(ty, TupleType):
            return Tuple([expand(f"{name}_{i}", f) for i, f in enumerate(ty.fields_)])
        params.append(Var(name, ty))
        return params[-1]

    for param in func.params:
        if isinstance(param.ty, TupleType):
            bindings.append(VarBinding(param, expand(param.name, param.ty)))
        else:
            params.append(param)
    body = SeqExpr([BindingBlock(bindings), *func.body.blocks], func.body.body)
    return func.replace(params=params, body=body)


@register_pass("relax.RemoveUnusedParameters")
def remove_unused_parameters(mod: IRModule) -> IRModule:
    """Private functions take no parameter that they do not use.

    Sizes that only such a parameter gave are handed over as a shape.  Idempotent.

    before:
        @I.ir_module
        class Module:
            @R.function(private=True)
            def f(
                x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")
            ) -> R.Tensor((2,), "float32"):
                a = R.exp(x)
                return a

            @R.function
            def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                cls = Module
                y = cls.f(x, x)
                return y

    after:
        @I.ir_module
        class Module:
            @R.function(private=True)
            def f(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                a = R.exp(x)
                return a

            @R.function
            def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                cls = Module
                y = cls.f(x)
                return y
    """
    kept: dict[str, list[int]] = {}
    handed: dict[str, list[tuple[Var, int, int]]] = {}
    changed: dict[str, Function] = {}
    for name, func in changeable(mod).items():
        used = {n for n in walk(func.body) if isinstance(n, Var)}
        own = [i for i, p in enumerate(func.params) if p in used]
        if len(own) == len(func.params):
            continue
        known = {s for i in own for s in type_vars(func.params[i].ty)}
        places: list[tuple[Var, int, int]] = []
        for i, param in enumerate(func.params):
            if i not in own:
                for axis, size in enumerate(_sizes(param.ty)):
                    if isinstance(size, Var) and size not in known and _mentions(func, size):
                        known.add(size)
                        places.append((size, i, axis))
        kept[name], handed[name] = own, places
        params = [func.params[i] for i in own]
        if places:
            params.append(Var("sizes", ShapeType([s for s, _, _ in places])))
        changed[name] = func.replace(params=params)

    def args_of(name: str, args: Sequence[Expr]) -> list[Expr]:
        from ...ir.relax import ShapeExpr

        made = [args[i] for i in kept[name]]
        if handed[name]:
            made.append(ShapeExpr([_sizes(args[i].ty)[axis] for _, i, axis in handed[name]]))
        return made

    return _with_calls(mod, changed, args_of)


def _mentions(func: Function, size: Var) -> bool:
    return size in free_vars(func.body) or size in type_vars(func.ret_ty)


def _sizes(ty: Type) -> tuple[Expr, ...]:
    if isinstance(ty, TensorType):
        return ty.sizes or ()
    return (ty.values or ()) if isinstance(ty, ShapeType) else ()


@register_pass("relax.RemoveUnusedOutputs")
def remove_unused_outputs(mod: IRModule) -> IRModule:
    """Private functions that give a tuple give only the fields that some caller takes.

    A single one is given by itself.  Idempotent.

    before:
        @I.ir_module
        class Module:
            @R.function(private=True)
            def f(
                x: R.Tensor((2,), "float32")
            ) -> R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32")):
                a = R.exp(x)
                return (x, a)

            @R.function
            def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                cls = Module
                t = cls.f(x)
                y = t[1]
                return y

    after:
        @I.ir_module
        class Module:
            @R.function(private=True)
            def f(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                a = R.exp(x)
                return a

            @R.function
            def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                cls = Module
                t = cls.f(x)
                y = t
                return y
    """
    functions = {n: f for n, f in changeable(mod).items() if isinstance(f.body.ty, TupleType)}
    taken = _taken_fields(mod, functions)
    kept: dict[str, list[int]] = {}
    changed: dict[str, Function] = {}
    for name, func in functions.items():
        assert isinstance(func.ret_ty, TupleType)
        fields = sorted(taken[name])
        if fields and len(fields) < len(func.ret_ty.fields_):
            kept[name] = fields
            changed[name] = _with_outputs(func, fields)
    if not changed:
        return mod
    rewriter = _Outputs(mod, changed, kept)
    table: dict[GlobalVar, BaseFunc] = {}
    for gvar, old in mod.functions.items():
        new = changed.get(gvar.name, old)
        made = rewriter(new) if isinstance(new, Function) else new
        table[rewriter.names[gvar.name] if gvar.name in changed else gvar] = made
    return mod.replace(functions=table)


def _taken_fields(mod: IRModule, functions: Mapping[str, Function]) -> dict[str, set[int]]:
    """The fields of each function's result that callers take."""
    taken: dict[str, set[int]] = {name: set() for name in functions}
    for func in mod.functions.values():
        calls: dict[Var, str] = {}
        fields: list[tuple[Any, int]] = []
        for node in walk(func):
            if isinstance(node, VarBinding) and isinstance(node.value, Call):
                callee = node.value.op
                if isinstance(callee, GlobalVar) and callee.name in functions:
                    calls[node.var] = callee.name
            if isinstance(node, TupleGetItem):
                fields.append((node.tuple_value, node.index))
        for var, index in fields:
            if var in calls:
                taken[calls[var]].add(index)
        for node in walk(func):
            for child in _whole_uses(node):
                if child in calls:
                    taken[calls[child]].update(range(len(functions[calls[child]].ret_ty.fields_)))  # type: ignore[attr-defined]
    return taken


def _whole_uses(node: Any) -> list[Any]:
    """The variables that a node uses as they are, not by a field."""
    if isinstance(node, Call):
        return list(node.args)
    if isinstance(node, Tuple):
        return list(node.fields_)
    if isinstance(node, SeqExpr):
        return [node.body]
    return [node.value] if isinstance(node, VarBinding) else []


def _with_outputs(func: Function, fields: Sequence[int]) -> Function:
    body = func.body
    result: Any = body.body
    bindings: list[VarBinding] = []
    parts: list[Expr] = []
    for i in fields:
        part = result.fields_[i] if isinstance(result, Tuple) else TupleGetItem(result, i)
        if not isinstance(part, Var):
            var = Var("gv", part.ty)
            bindings.append(VarBinding(var, part))
            part = var
        parts.append(part)
    value: Expr = parts[0]
    if len(parts) > 1:
        value = Var("gv", Tuple(parts).ty)
        bindings.append(VarBinding(value, Tuple(parts)))
    blocks = [*body.blocks, BindingBlock(bindings)] if bindings else body.blocks
    types = [func.ret_ty.fields_[i] for i in fields]  # type: ignore[attr-defined]
    return func.replace(body=SeqExpr(blocks, value), ret_ty=types[0] if len(types) == 1 else TupleType(types))


class _Outputs(GraphRewriter):
    """Calls give fewer fields; fields taken are found by their new number."""

    def __init__(
        self, mod: IRModule, changed: Mapping[str, Function], kept: Mapping[str, Sequence[int]]
    ) -> None:
        super().__init__()
        self.names = {name: GlobalVar(name, func.ty) for name, func in changed.items()}
        self.kept = kept
        self.results: dict[Var, str] = {}

    def visit_GlobalVar(self, gvar: GlobalVar) -> Expr:
        """The function with its new type."""
        return self.names.get(gvar.name, gvar)

    def visit_VarBinding(self, binding: VarBinding) -> None:
        """Note what calls give."""
        value = binding.value
        if isinstance(value, Call) and isinstance(value.op, GlobalVar) and value.op.name in self.names:
            self.results[binding.var] = value.op.name
        super().visit_VarBinding(binding)

    def visit_TupleGetItem(self, e: TupleGetItem) -> Expr:
        """The field by its new number, or the result itself where it is the only one."""
        name = self.results.get(e.tuple_value)  # type: ignore[call-overload]
        if name is None:
            made: Expr = self.visit_fields(e)
            return made
        value = self.visit(e.tuple_value)
        kept = self.kept[name]
        return value if len(kept) == 1 else TupleGetItem(value, list(kept).index(e.index))


def _with_calls(
    mod: IRModule, changed: Mapping[str, Function], args_of: Callable[[str, Sequence[Expr]], list[Expr]]
) -> IRModule:
    """The module with these functions, their calls with other arguments; itself when nothing changes."""
    if not changed:
        return mod
    rewriter = _Calls(changed, args_of)
    table: dict[GlobalVar, BaseFunc] = {}
    for gvar, old in mod.functions.items():
        new = changed.get(gvar.name, old)
        made = rewriter(new) if isinstance(new, Function) else new
        table[rewriter.names[gvar.name] if gvar.name in changed else gvar] = made
    return mod.replace(functions=table)


class _Calls(GraphRewriter):
    def __init__(
        self, changed: Mapping[str, Function], args_of: Callable[[str, Sequence[Expr]], list[Expr]]
    ) -> None:
        super().__init__()
        self.names = {name: GlobalVar(name, func.ty) for name, func in changed.items()}
        self.args_of = args_of

    def visit_Call(self, call: Call) -> Any:
        """A call of a changed function with its new arguments."""
        if not isinstance(call.op, GlobalVar) or call.op.name not in self.names:
            return super().visit_Call(call)
        args = self.args_of(call.op.name, self.visit_tuple(call.args))
        return Call(self.names[call.op.name], args, self.visit(call.ty), span=call.span)


__all__ = ["expand_tuple_arguments", "remove_unused_outputs", "remove_unused_parameters"]
