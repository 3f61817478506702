"""Parameters and sizes of functions become constants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import suggest
from ...ir import Expr, IRModule, Var
from ...ir.relax import Function, tensor_constant
from ...ir.relax.bind import bind
from ...ir.relax.rewrite import graph_functions
from ...ir.relax.types import as_dim
from ...ir.visitor import type_vars
from ..common import refuse
from ..registry import register_pass


@register_pass("relax.BindParams")
def bind_params(mod: IRModule, func_name: str, params: Mapping[Any, Any]) -> IRModule:
    """The function has no longer the parameters given, by name or variable: constants stand for them.

    Sizes that a constant's shape decides are known then.  Raises PassError for names that are no parameters.

    with: func_name="main", params={"k": 2.0}
    before:
        @R.function
        def main(x: R.Tensor((2,), "float32"), k: R.Tensor((), "float32")) -> R.Tensor((2,), "float32"):
            y = R.multiply(x, k)
            return y

    after:
        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            y = R.multiply(x, R.const(2.0, "float32"))
            return y
    """
    func = mod.get(func_name)
    if not isinstance(func, Function):
        raise refuse("unknown-function", f"the module has no graph function `{func_name}`", mod)
    values: dict[Var, Expr] = {}
    for key, value in params.items():
        values[_param(func, func_name, key)] = value if isinstance(value, Expr) else tensor_constant(value)
    return mod.with_function(func_name, bind(func, values))


def _param(func: Function, name: str, key: Any) -> Var:
    if isinstance(key, Var):
        found = [p for p in func.params if p is key]
    else:
        found = [p for p in func.params if p.name == key]
    if len(found) != 1:
        shown = key.name if isinstance(key, Var) else key
        what = "several parameters" if found else "no parameter"
        names = suggest(shown, [p.name for p in func.params])
        raise refuse("unknown-parameter", f"the function `{name}` has {what} `{shown}`", func, *names)
    return found[0]


@register_pass("relax.BindSymbolicVars")
def bind_symbolic_vars(
    mod: IRModule, binding_map: Mapping[Any, Any], func_name: str | None = None
) -> IRModule:
    """The sizes given, by name or variable, are these numbers or expressions; in one function, or in all.

    Raises PassError for a size that the functions do not have.

    with: binding_map={"n": 4}
    before:
        @R.function
        def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
            y = R.exp(x)
            return y

    after:
        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            y = R.exp(x)
            return y
    """
    met: set[Any] = set()
    for gvar, func in graph_functions(mod):
        if func_name is not None and gvar.name != func_name:
            continue
        values: dict[Var, Expr] = {}
        for symbol in {v: None for p in func.params for v in type_vars(p.ty)}:
            for key, value in binding_map.items():
                if key is symbol or (isinstance(key, str) and key == symbol.name):
                    values[symbol] = as_dim(value)
                    met.add(key)
        if values:
            mod = mod.with_function(gvar, bind(func, values))
    missing = [k for k in binding_map if k not in met]
    if missing:
        shown = missing[0] if isinstance(missing[0], str) else missing[0].name
        raise refuse("unknown-parameter", f"no parameter has the size `{shown}`", mod)
    return mod


__all__ = ["bind", "bind_params", "bind_symbolic_vars"]
