"""What `import tvm` gives: the peer's top-level names, each leading to ours."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ... import __version__ as __version__
from ...dtype import DType as DataType
from ...runtime import Device as Device
from ...runtime import cpu as cpu
from ...runtime import cuda as cuda
from ...runtime import device as device
from ...runtime import get_global_func as get_global_func
from ...runtime import opencl as opencl
from ...runtime import register_func as register_func
from ...runtime import register_func as register_global_func
from ..adapters import lacking
from . import driver, error, ir, runtime, s_tir, script, support, sym, target, te, tirx, transform
from .driver import build, compile
from .error import TVMError
from .ir import IRModule
from .runtime import device_from_target

arith = sym
tir = tirx

_missing = lacking("tvm")
_ON_DEMAND = ("backend", "contrib", "instrument", "relax", "rpc", "testing", "topi")


def __getattr__(name: str) -> Any:
    """Modules that are loaded on first use. Raises AttributeError for what is not there yet."""
    if name in _ON_DEMAND:
        try:
            return import_module(f".{name}", __name__)
        except ModuleNotFoundError:
            return _missing(name)
    return _missing(name)


__all__ = [
    "DataType",
    "Device",
    "IRModule",
    "TVMError",
    "__version__",
    "arith",
    "build",
    "compile",
    "cpu",
    "cuda",
    "device",
    "device_from_target",
    "driver",
    "error",
    "get_global_func",
    "ir",
    "opencl",
    "register_func",
    "register_global_func",
    "runtime",
    "s_tir",
    "script",
    "support",
    "sym",
    "target",
    "te",
    "tir",
    "tirx",
    "transform",
]
