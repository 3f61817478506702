"""Calling a PrimFunc: compile for the arguments' device on first use, then go straight to that."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import ArgumentValueError
from ..ir import PrimFunc
from ..runtime import Tensor
from .build import as_module, build

_lock = threading.RLock()


def call(func: PrimFunc, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Run a function on these arguments. Raises what compiling or running it raises."""
    return compiled(func, args, kwargs)(*args, **kwargs)


def compiled(func: PrimFunc, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> Any:
    """The compiled function for these arguments, made on first use and kept with the function."""
    try:
        return func.compiled  # type: ignore[attr-defined]
    except AttributeError:
        pass
    with _lock:
        try:
            return func.compiled  # type: ignore[attr-defined]
        except AttributeError:
            other = kind_of([*args, *(kwargs or {}).values()]) != "cpu"
            made = Dispatch(func) if other else built(func, "cpu")
            return _keep(func, made)


def elsewhere(
    func: PrimFunc, error: ArgumentValueError, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """A call whose arguments are for another device. Raises the error of the first try where they are not."""
    found = func.compiled  # type: ignore[attr-defined]
    if isinstance(found, Dispatch) or kind_of([*args, *kwargs.values()]) == "cpu":
        raise error
    with _lock:
        return _keep(func, Dispatch(func, {"cpu": found}))(*args, **kwargs)


def _keep(func: PrimFunc, made: Any) -> Any:
    PrimFunc.compiled.__set__(func, made)  # type: ignore[attr-defined]
    return made


class Dispatch:
    """A function that was called with arrays on devices: compiled for each kind that calls bring."""

    def __init__(self, func: PrimFunc, made: Mapping[str, Callable[..., Any]] | None = None) -> None:
        self.func = func
        self.made = dict(made or {})

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        kind = kind_of([*args, *kwargs.values()])
        found = self.made.get(kind)
        if found is None:
            with _lock:
                found = self.made.get(kind) or built(self.func, kind)
                self.made[kind] = found
        return found(*args, **kwargs)


def built(func: PrimFunc, kind: str) -> Callable[..., Any]:
    """The function compiled for a kind of device."""
    module = as_module(func)
    return build(module, "llvm" if kind == "cpu" else kind)[next(iter(module)).name]


def kind_of(values: Sequence[Any]) -> str:
    """The kind of device of the first array that is not on the CPU; `cpu` where there is none."""
    for value in values:
        if isinstance(value, Tensor):
            kind = value.device.kind
        elif type(value).__module__ == "pyopencl.array":
            kind = "opencl"
        elif hasattr(value, "__cuda_array_interface__"):
            kind = "cuda"
        else:
            continue
        if kind != "cpu":
            return kind
    return "cpu"


__all__ = ["Dispatch", "call", "compiled", "elsewhere", "kind_of"]
