"""loopwright: a tensor compiler in pure Python.

The public names are loaded on first use, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .codegen.build import build as build
    from .dtype import DType as DType
    from .errors import Diagnostic as Diagnostic
    from .errors import LoopwrightError as LoopwrightError
    from .errors import Span as Span
    from .ir import IRModule as IRModule
    from .ir import PrimFunc as PrimFunc
    from .ir import explain_difference as explain_difference
    from .ir import structural_equal as structural_equal
    from .ir import structural_hash as structural_hash
    from .printer import show as show
    from .runtime import Device as Device
    from .runtime import Tensor as Tensor
    from .runtime import get_global_func as get_global_func
    from .runtime import register_func as register_func
    from .schedule import Schedule as Schedule
    from .schedule import replay as replay
    from .script import check as check
    from .script import parse as parse
    from .target import Target as Target

__version__ = "0.1.0"

# Where each public name lives. A test keeps this table and the imports above the same.
_HOMES = {
    "DType": "dtype",
    "Device": "runtime",
    "Diagnostic": "errors",
    "IRModule": "ir",
    "LoopwrightError": "errors",
    "PrimFunc": "ir",
    "Schedule": "schedule",
    "Span": "errors",
    "Target": "target",
    "Tensor": "runtime",
    "build": "codegen.build",
    "check": "script",
    "explain_difference": "ir",
    "get_global_func": "runtime",
    "parse": "script",
    "register_func": "runtime",
    "replay": "schedule",
    "show": "printer",
    "structural_equal": "ir",
    "structural_hash": "ir",
}

__all__ = ["__version__", *sorted(_HOMES)]


def __getattr__(name: str) -> object:
    """Load a public name from its home; keep it, so that this runs once a name."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
