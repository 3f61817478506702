"""`tvm.support.utils`: temporary folders."""

from __future__ import annotations

import os
import tempfile
from typing import Any

from ...adapters import lacking


class TempDirectory:
    """A folder that goes with the object."""

    def __init__(self, custom_path: str | None = None) -> None:
        self._owner: Any = None
        if custom_path is None:
            self._owner = tempfile.TemporaryDirectory()
            custom_path = self._owner.name
        self.temp_dir = custom_path

    @property
    def path(self) -> str:
        """Where the folder is."""
        return self.temp_dir

    def relpath(self, name: str) -> str:
        """The path of a file in it."""
        return os.path.join(self.temp_dir, name)

    def listdir(self) -> list[str]:
        """What it holds."""
        return os.listdir(self.temp_dir)

    def remove(self) -> None:
        """Remove it now."""
        if self._owner is not None:
            self._owner.cleanup()


def tempdir(custom_path: str | None = None, keep_for_debug: bool = False) -> TempDirectory:
    """A temporary folder."""
    return TempDirectory(custom_path)


__getattr__ = lacking("tvm.support.utils")

__all__ = ["TempDirectory", "tempdir"]
