"""Passes made of a function of the user's: change each PrimFunc, or keep some."""

from __future__ import annotations

from collections.abc import Callable

from ...ir import IRModule, PrimFunc
from ..registry import prim_func_pass, register_pass


@prim_func_pass("tirx.Apply")
def apply(func: PrimFunc, ftransform: Callable[[PrimFunc], PrimFunc]) -> PrimFunc:
    """Each PrimFunc is replaced by what `ftransform` gives for it.

    with: ftransform=lambda func: func.with_attr("tirx.noalias", True)

    before:
        @T.prim_func
        def f(A: T.Buffer((4,), "int32")):
            A[0] = 1

    after:
        @T.prim_func
        def f(A: T.Buffer((4,), "int32")):
            T.func_attr({"tirx.noalias": True})
            A[0] = 1
    """
    return ftransform(func)


@register_pass("tirx.Filter")
def filter_functions(mod: IRModule, fcond: Callable[[PrimFunc], bool]) -> IRModule:
    """PrimFuncs for which `fcond` is false leave the module.

    with: fcond=lambda func: "keep" in func.attrs

    before:
        @I.ir_module
        class Module:
            @T.prim_func
            def f(A: T.Buffer((4,), "int32")):
                T.func_attr({"keep": True})
                A[0] = 1

            @T.prim_func
            def g(A: T.Buffer((4,), "int32")):
                A[0] = 2

    after:
        @I.ir_module
        class Module:
            @T.prim_func
            def f(A: T.Buffer((4,), "int32")):
                T.func_attr({"keep": True})
                A[0] = 1
    """
    kept = {g: f for g, f in mod.functions.items() if not isinstance(f, PrimFunc) or fcond(f)}
    return mod if len(kept) == len(mod.functions) else mod.replace(functions=kept)
