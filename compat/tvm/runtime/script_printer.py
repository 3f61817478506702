"""`tvm.runtime.script_printer`: the printer's settings as an object."""

from __future__ import annotations

from typing import Any

from ...access import AccessPath
from ...adapters import lacking


class PrinterConfig:
    """The options of `script`, by name."""

    def __init__(self, **options: Any) -> None:
        self.options = options

    @property
    def render_invisible_path_info(self) -> bool:
        """Whether a path that has no text of its own is explained."""
        extra = self.options.get("extra_config") or {}
        return bool(extra.get("render_invisible_path_info", True))


class ShapeTuple(tuple[int, ...]):
    """A shape as a value."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Shape({', '.join([str(n) for n in self])})"


def _script(obj: Any, config: PrinterConfig) -> str:
    """The script of a node, or a plain value's own text below the paths that it cannot show."""
    if hasattr(obj, "script"):
        return str(obj.script(**config.options))
    lines = []
    if config.render_invisible_path_info:
        for path in config.options.get("path_to_underline") or ():
            lines += [f"Access path: {AccessPath(path.steps)}"]
            lines += ["Note: No visible object for this path is rendered in TVMScript."]
    return "\n".join([*lines, *([""] if lines else []), str(obj)])


__getattr__ = lacking("tvm.runtime.script_printer")

__all__ = ["PrinterConfig", "ShapeTuple"]
