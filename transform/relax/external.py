"""Functions for external compilers: compiled by them, given workspaces; modules linked in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import LoopwrightError
from ...ir import BaseFunc, Call, Expr, ExternFunc, GenericConst, GlobalVar, IRModule, Tuple, Var, find
from ...ir.relax import BindingBlock, Function, SeqExpr, ShapeExpr, TensorType, VarBinding, get_op
from ...ir.relax.rewrite import GraphRewriter, graph_functions
from ...runtime import get_global_func
from ..common import refuse
from ..registry import register_pass
from .dead_code import remove_unused_functions


@register_pass("relax.RunCodegen")
def run_codegen(
    mod: IRModule,
    target_options: Mapping[str, Mapping[str, Any]] | None = None,
    entry_functions: Sequence[str] | None = None,
) -> IRModule:
    """Functions with the attribute "Codegen" are compiled by what is registered as `relax.ext.<backend>`.

    It gets the list of functions, the backend's options and the names of constants, and gives a list of
    runtime modules, which the module's attribute "external_mods" lists; "const_name_to_constant" has the
    constants.  Calls are calls of external functions then.  With `entry_functions` only what these reach is
    compiled.  Raises PassError for a backend that is not registered.  Idempotent.

    before:
        @I.ir_module
        class Module:
            @R.function
            def region(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                y = R.exp(x)
                return y

            @R.function
            def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                cls = Module
                y = cls.region(x)
                return y

    after:
        @I.ir_module
        class Module:
            @R.function
            def region(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                y = R.exp(x)
                return y

            @R.function
            def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                cls = Module
                y = cls.region(x)
                return y
    """
    part = mod if entry_functions is None else remove_unused_functions(mod, list(entry_functions))
    groups: dict[str, list[Function]] = {}
    chosen: dict[str, str] = {}
    for gvar, func in graph_functions(part):
        if "Codegen" in func.attrs:
            symbol = str(func.attrs.get("global_symbol", gvar.name))
            chosen[gvar.name] = symbol
            groups.setdefault(str(func.attrs["Codegen"]), []).append(func.with_attr("global_symbol", symbol))
    if not groups:
        return mod
    modules: list[Any] = []
    constants: dict[str, Any] = {}
    for backend, functions in groups.items():
        names: dict[GenericConst, str] = {}
        for func in functions:
            for constant in find(func, GenericConst):
                if constant not in names:
                    names[constant] = f"{func.attrs['global_symbol']}_{backend}_const_{len(names)}"
        try:
            compile_all = get_global_func(f"relax.ext.{backend}").__wrapped__
        except LoopwrightError as fault:
            text = f"no function is registered as `relax.ext.{backend}`, which would compile for `{backend}`"
            raise refuse("unknown-function", text, functions[0]) from fault
        modules += list(compile_all(functions, dict((target_options or {}).get(backend, {})), names))
        constants.update({name: constant for constant, name in names.items()})
    calls = _ExternalCalls(chosen)
    table: dict[GlobalVar, BaseFunc] = {}
    for gvar, one in mod.functions.items():
        if gvar.name not in chosen:
            table[gvar] = calls(one) if isinstance(one, Function) else one
    attrs: dict[str, Any] = {**mod.attrs}
    attrs["external_mods"] = (*attrs.get("external_mods", ()), *modules)
    if constants:
        attrs["const_name_to_constant"] = {**attrs.get("const_name_to_constant", {}), **constants}
    return mod.replace(functions=table, attrs=attrs)


class _ExternalCalls(GraphRewriter):
    def __init__(self, symbols: Mapping[str, str]) -> None:
        super().__init__()
        self.symbols = symbols

    def visit_Call(self, call: Call) -> Any:
        """A call of a compiled function."""
        call = super().visit_Call(call)
        if not isinstance(call.op, GlobalVar) or call.op.name not in self.symbols:
            return call
        callee = ExternFunc(self.symbols[call.op.name])
        return get_op("relax.call_dps_packed")(callee, Tuple(call.args), call.ty, span=call.span)


@register_pass("relax.AttachExternModules")
def attach_extern_modules(mod: IRModule, extern_modules: Sequence[Any]) -> IRModule:
    """The module's attribute "external_mods" lists these modules behind those that it lists already.

    What has a method `load` is loaded by it, and gives the module.  Not idempotent: they are listed twice.

    with: extern_modules=["library"]
    before:
        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            return x

    after:
        @I.ir_module
        class Module:
            I.module_attrs({"external_mods": ["library"]})
            @R.function
            def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                return x
    """
    loaded = [m.load() if hasattr(m, "load") else m for m in extern_modules]
    return mod.replace(attrs={**mod.attrs, "external_mods": (*mod.attrs.get("external_mods", ()), *loaded)})


@register_pass("relax.AllocateWorkspace")
def allocate_workspace(mod: IRModule) -> IRModule:
    """Functions with the attribute "WorkspaceSize" take a workspace, which their callers make once.

    It is as large as the largest that a caller's functions need, in bytes.  Idempotent: the attribute goes.

    before:
        @I.ir_module
        class Module:
            @R.function
            def region(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                R.func_attr({"Codegen": "ext", "WorkspaceSize": 64})
                y = R.exp(x)
                return y

            @R.function
            def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                cls = Module
                y = cls.region(x)
                return y

    after:
        @I.ir_module
        class Module:
            @R.function
            def region(
                x: R.Tensor((2,), "float32"), workspace: R.Tensor((64,), "uint8")
            ) -> R.Tensor((2,), "float32"):
                R.func_attr({"Codegen": "ext"})
                y = R.exp(x)
                return y

            @R.function
            def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                cls = Module
                workspace_main = R.builtin.alloc_tensor(
                    R.shape([64]), R.dtype("uint8"), 0, R.str("global")
                )
                y = cls.region(x, workspace_main)
                return y
    """
    sizes = {
        g.name: int(f.attrs["WorkspaceSize"]) for g, f in graph_functions(mod) if "WorkspaceSize" in f.attrs
    }
    if not sizes:
        return mod
    table: dict[GlobalVar, BaseFunc] = {}
    changed: dict[str, GlobalVar] = {}
    for gvar, func in mod.functions.items():
        if gvar.name in sizes and isinstance(func, Function):
            workspace = Var("workspace", TensorType((max(sizes.values()),), "uint8"))
            made = func.replace(params=[*func.params, workspace]).without_attr("WorkspaceSize")
            changed[gvar.name] = GlobalVar(gvar.name, made.ty)
            table[changed[gvar.name]] = made
        else:
            table[gvar] = func
    for gvar, func in table.items():
        if isinstance(func, Function) and gvar.name not in sizes:
            called = {g.name for g in find(func, GlobalVar)} & set(sizes)
            if called:
                table[gvar] = _with_workspace(func, changed, max(sizes.values()))
    return mod.replace(functions=table)


def _with_workspace(func: Function, changed: Mapping[str, GlobalVar], size: int) -> Function:
    workspace = Var("workspace_main", TensorType((size,), "uint8"))
    rewriter = _WorkspaceCalls(changed, workspace)
    made: Function = rewriter(func)
    first = VarBinding(workspace, get_op("relax.builtin.alloc_tensor")(ShapeExpr([size]), "uint8", 0))
    return made.replace(body=SeqExpr([BindingBlock([first]), *made.body.blocks], made.body.body))


class _WorkspaceCalls(GraphRewriter):
    def __init__(self, changed: Mapping[str, GlobalVar], workspace: Var) -> None:
        super().__init__()
        self.changed = changed
        self.workspace = workspace

    def visit_Call(self, call: Call) -> Expr:
        """A call with the workspace as its last argument."""
        made: Any = super().visit_Call(call)
        if isinstance(made.op, GlobalVar) and made.op.name in self.changed:
            return made.replace(op=self.changed[made.op.name], args=[*made.args, self.workspace])
        return made


__all__ = ["allocate_workspace", "attach_extern_modules", "run_codegen"]
