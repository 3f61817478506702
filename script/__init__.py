"""From source to IR: the decorators, `parse`, and the namespaces `I`, `T`, `R`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import ir as ir
    from . import relax as relax
    from . import tirx as tirx
    from .entry import check as check
    from .entry import parse as from_source
    from .entry import parse as parse

    ir_module: Any
    prim_func: Any
    function: Any

__all__ = ["check", "from_source", "function", "ir", "ir_module", "parse", "prim_func", "relax", "tirx"]


def __getattr__(name: str) -> Any:
    """Load a public name when it is used; the tables of the language are not small."""
    from importlib import import_module

    value: Any
    if name in ("ir", "tirx", "relax"):
        value = import_module(f"{__name__}.{name}")
    elif name in ("parse", "from_source", "check"):
        value = getattr(import_module(f"{__name__}.entry"), "check" if name == "check" else "parse")
    elif name in ("prim_func", "ir_module", "function"):
        language = import_module(f"{__name__}.language")
        table = {"prim_func": language.TIRX, "ir_module": language.IR, "function": language.RELAX}[name]
        value = table.lookup(name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
