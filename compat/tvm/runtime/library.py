"""What the peer's programs do with built modules as files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ....errors import Diagnostic, UnsupportedError
from ....runtime import Module, load_module
from ...methods import extend


def export_library(
    self: Module,
    file_name: str | os.PathLike[str],
    *,
    fcompile: Any = None,
    fpack_imports: Any = None,
    addons: Any = None,
    workspace_dir: Any = None,
    **options: Any,
) -> None:
    """Write the module to a shared library or object file. Raises UnsupportedError for other linkers."""
    for name, value in (("fcompile", fcompile), ("fpack_imports", fpack_imports), ("addons", addons)):
        if value is not None:
            message = f"`{name}` of `export_library` is not supported"
            raise UnsupportedError(Diagnostic("unsupported", message))
    self.export(file_name, linker=options.get("cc"))


def write_to_file(self: Module, file_name: str | os.PathLike[str], format: str = "") -> None:
    """Write the code in a format, by default that of the suffix."""
    path = Path(file_name)
    suffix = {"": path.suffix, "asm": ".s", "obj": ".o"}.get(format, f".{format}")
    made = self.export(path.with_suffix(suffix))
    if made != path:
        os.replace(made, path)


extend((Module, "export_library", export_library), (Module, "write_to_file", write_to_file))

__all__ = ["export_library", "load_module", "write_to_file"]
