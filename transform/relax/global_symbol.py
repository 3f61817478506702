"""Functions that the outside may call say by what name."""

from __future__ import annotations

from ...ir import BaseFunc, ExternFunc, GlobalVar, IRModule
from ..registry import register_pass


@register_pass("relax.AttachGlobalSymbol")
def attach_global_symbol(mod: IRModule) -> IRModule:
    """Every function with the attribute `global_symbol` has its name in the module there.

    The peer gives it to private functions as well; here they stay private.

    before:
        @I.ir_module
        class Module:
            @T.prim_func
            def scale(x: T.Buffer((4,), "float32")):
                T.func_attr({"global_symbol": "other"})
                for i in range(4):
                    x[i] = x[i] * T.float32(2)
    after:
        @I.ir_module
        class Module:
            @T.prim_func
            def scale(x: T.Buffer((4,), "float32")):
                for i in range(4):
                    x[i] = x[i] * T.float32(2)
    """
    table = {g: _named(g, f) for g, f in mod.functions.items()}
    return mod if all(table[g] is f for g, f in mod.functions.items()) else mod.replace(functions=table)


def _named(gvar: GlobalVar, func: BaseFunc) -> BaseFunc:
    if isinstance(func, ExternFunc) or func.attrs.get("global_symbol", gvar.name) == gvar.name:
        return func
    return func.with_attr("global_symbol", gvar.name)
