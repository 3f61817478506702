"""`tvm.script.ir_builder.ir`: the words of modules as calls and context managers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .....ir import GlobalVar
from .....script import ir as words
from .base import IRBuilder, ModuleFrame


def ir_module() -> ModuleFrame:
    """`with I.ir_module():` builds a module."""
    return ModuleFrame()


def _module() -> ModuleFrame:
    found = IRBuilder.current().module
    if found is None:
        raise ValueError("this belongs in `with I.ir_module():`")
    return found


def module_attrs(attrs: Mapping[str, Any], allow_overwrite: bool = False) -> None:
    """Set the module's attributes. Raises ValueError when there are some already."""
    module = _module()
    if module.attrs and not allow_overwrite:
        raise ValueError("the module has attributes already")
    module.attrs = dict(attrs)


def module_get_attr(attr_key: str) -> Any:
    """An attribute of the module, or None."""
    return _module().attrs.get(attr_key)


def module_set_attr(attr_key: str, attr_value: Any, allow_overwrite: bool = False) -> None:
    """Set one attribute. Raises ValueError when it is set already."""
    module = _module()
    if attr_key in module.attrs and not allow_overwrite:
        raise ValueError(f"the attribute {attr_key!r} is set already")
    module.attrs[attr_key] = attr_value


def module_global_infos(global_infos: Mapping[str, Any]) -> None:
    """Set the module's global infos."""
    _module().infos = dict(global_infos)


def lookup_name(name: str) -> bool:
    """Whether the module has a function of this name."""
    return name in _module().functions


def def_function(func_name: str, func: Any) -> None:
    """Add a function."""
    _module().add(func_name, func)


def decl_function(func_name: str, func_signature: Any) -> GlobalVar:
    """The name of a function that is defined later."""
    return GlobalVar(func_name, func_signature.ty)


def __getattr__(name: str) -> Any:
    """A word of `I`. Raises AttributeError for what is none."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(words, name)


__all__ = [
    "decl_function",
    "def_function",
    "ir_module",
    "lookup_name",
    "module_attrs",
    "module_get_attr",
    "module_global_infos",
    "module_set_attr",
]
