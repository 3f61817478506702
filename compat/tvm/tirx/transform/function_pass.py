"""`tvm.tirx.transform.function_pass`: passes that a program defines for each PrimFunc."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from .....ir import IRModule, PrimFunc
from .....transform import Pass, PassContext
from ....adapters import lacking

PrimFuncPass = Pass


def prim_func_pass(
    pass_func: Any = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str] | None = None,
    traceable: bool = False,
) -> Any:
    """Decorator: a function of PrimFunc, module and context, or a class with `transform_function`."""

    def enter(given: Any) -> Any:
        label = name or given.__name__
        if not inspect.isclass(given):
            return _pass(label, given)

        @functools.wraps(given, updated=())
        def make(*args: Any, **keywords: Any) -> Pass:
            made: Any = given(*args, **keywords)
            return _pass(label, made.transform_function)

        return make

    return enter if pass_func is None else enter(pass_func)


def _pass(name: str, change: Callable[[PrimFunc, IRModule, PassContext], PrimFunc]) -> Pass:
    def run(mod: IRModule) -> IRModule:
        return mod.map_prim_funcs(lambda func: change(func, mod, PassContext.current()))

    return Pass(name, run)


__getattr__ = lacking("tvm.tirx.transform.function_pass")

__all__ = ["PrimFuncPass", "prim_func_pass"]
