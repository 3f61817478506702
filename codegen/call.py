"""Calling a PrimFunc: compile on first use, then go straight to the compiled function."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..ir import PrimFunc
from .build import as_module, build

_lock = threading.RLock()


def call(func: PrimFunc, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Run a function on these arguments. Raises what compiling or running it raises."""
    return compiled(func)(*args, **kwargs)


def compiled(func: PrimFunc) -> Callable[..., Any]:
    """The compiled function for the CPU, made on first use and kept with the function."""
    try:
        return func.compiled  # type: ignore[attr-defined]
    except AttributeError:
        pass
    with _lock:
        try:
            return func.compiled  # type: ignore[attr-defined]
        except AttributeError:
            module = as_module(func)
            made = build(module)[next(iter(module)).name]
            PrimFunc.compiled.__set__(func, made)  # type: ignore[attr-defined]
            return made
