"""What the peer's programs do with built modules as files."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ....errors import Diagnostic, UnsupportedError
from ....runtime import Module, load_module
from ...methods import extend
from ..support.cc import create_shared

_STATIC = "static_library"


def refuse_given(function: str, **options: Any) -> None:
    """Raise UnsupportedError for the first option that is given."""
    for name, value in options.items():
        if value is not None:
            text = f"`{name}` of `{function}` is not supported"
            raise UnsupportedError(Diagnostic("unsupported", text))


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
    """Write the module to a shared library or object file, static libraries that it imports included.

    Objects on the way go below `workspace_dir`. Raises UnsupportedError for other linkers, and for imports
    that are no static libraries.
    """
    refuse_given("export_library", fcompile=fcompile, fpack_imports=fpack_imports, addons=addons)
    if not self.imports:
        self.export(file_name, linker=options.get("cc"))
        return
    with tempfile.TemporaryDirectory(prefix="loopwright-", dir=workspace_dir) as folder:
        objects = [self.export(Path(folder, "lib0.o"))]
        for k, module in enumerate(self.imports, start=1):
            if module.kind != _STATIC:
                message = f"`export_library` of a module that imports one of kind `{module.kind}`"
                raise UnsupportedError(Diagnostic("unsupported", message))
            objects.append(module.export(Path(folder, f"lib{k}.o")))
        create_shared(file_name, objects, cc=options.get("cc"))


def write_to_file(self: Module, file_name: str | os.PathLike[str], format: str = "") -> None:
    """Write the code in a format, by default that of the suffix."""
    path = Path(file_name)
    suffix = {"": path.suffix, "asm": ".s", "obj": ".o"}.get(format, f".{format}")
    made = self.export(path.with_suffix(suffix))
    if made != path:
        os.replace(made, path)


def is_compilation_exportable(self: Module) -> bool:
    """Whether files can be made of the module: it was built here, or is a static library."""
    return self._write is not None


def load_static_library(path: str | os.PathLike[str], func_names: Sequence[str]) -> Module:
    """The named functions of an exported object file, as a module to import and export with others.

    Raises LibraryError for a file of another kind and UnknownFunctionError for a name that it lacks.
    """
    source = Path(path)
    loaded = load_module(source)
    functions = {name: loaded.get_function(name) for name in func_names}

    def write(target: Path, *, linker: str | None = None) -> Path:
        return Path(shutil.copyfile(source, target))

    return Module(_STATIC, functions, write=write, metadata=loaded.metadata)


extend(
    (Module, "export_library", export_library),
    (Module, "write_to_file", write_to_file),
    (Module, "is_compilation_exportable", is_compilation_exportable),
)

__all__ = [
    "export_library",
    "is_compilation_exportable",
    "load_module",
    "load_static_library",
    "refuse_given",
    "write_to_file",
]
