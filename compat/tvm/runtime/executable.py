"""`tvm.runtime.executable`: a built module with the peer's steps between building and running."""

from __future__ import annotations

import os
from typing import Any

from ....runtime import Module
from ...adapters import lacking
from .library import export_library, refuse_given


class Executable:
    """A built module, `mod`. Code runs as it was built: `jit` only gives what runs.

    What the peer's class lacks is asked of the module.
    """

    def __init__(self, mod: Module) -> None:
        self.mod = mod
        self._jitted_mod: Module | None = None

    def __getitem__(self, name: str) -> Any:
        """The function of this name. Raises UnknownFunctionError where there is none."""
        return self.jit()[name]

    def __call__(self, *args: Any) -> Any:
        """Call the only function, or the one called `main`."""
        return self.jit()(*args)

    def __getattr__(self, name: str) -> Any:
        if name == "mod":  # asked while it is not set yet
            raise AttributeError(name)
        return getattr(self.mod, name)

    def jit(self, *, fcompile: Any = None, addons: Any = None, force_recompile: bool = False) -> Module:
        """The module that runs. Raises UnsupportedError for a compiler or files of one's own."""
        refuse_given("jit", fcompile=fcompile, addons=addons)
        if self._jitted_mod is None or force_recompile:
            self._jitted_mod = self.mod
        return self._jitted_mod

    def export_library(self, file_name: str | os.PathLike[str], **options: Any) -> None:
        """Write the module to a shared library or object file; see `Module.export_library`."""
        export_library(self.mod, file_name, **options)


__getattr__ = lacking("tvm.runtime.executable")

__all__ = ["Executable"]
