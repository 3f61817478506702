"""`tvm.support.cc`: shared libraries of object files, by the linker that exporting uses."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ....errors import CodegenError, Diagnostic
from ....runtime.sealed import LibraryError, metadata_of, sealed
from ...adapters import lacking


def create_shared(
    output: str | os.PathLike[str],
    objects: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    options: Sequence[str] | None = None,
    cc: str | None = None,
) -> None:
    """Link object files to a library, which can be loaded when one of them was exported here.

    Raises CodegenError where there is no linker, where it fails, and where two objects have a function
    of one name.
    """
    from ....codegen.llvm import jit
    from ....codegen.llvm.link import linker_for, no_linker

    files = [Path(p) for p in ([objects] if isinstance(objects, str | os.PathLike) else objects)]
    metadata = _joined(files)
    tool = linker_for(jit.host(), cc)
    if tool is None:
        raise no_linker(jit.host(), Path(output))
    tool.options += options or ()
    image = tool.link(files[0].read_bytes(), [str(p.resolve()) for p in files[1:]])
    Path(output).write_bytes(sealed(image, metadata) if metadata else image)


def _joined(files: Sequence[Path]) -> dict[str, Any]:
    """What a loader must know of all the objects that were exported here; nothing where none was."""
    rows: list[dict[str, Any]] = []
    for path in files:
        try:
            rows.append(metadata_of(path.read_bytes(), path.name))
        except LibraryError as err:
            if err.diagnostics[0].code != "foreign-library":  # another compiler's object says nothing
                raise
    if not rows:
        return {}
    functions: dict[str, Any] = {}
    for row in rows:
        for name in row["functions"]:
            if name in functions:
                raise CodegenError(Diagnostic("linker", f"two of the objects have a function `{name}`"))
        functions |= row["functions"]
    features = dict.fromkeys([f for row in rows for f in row["features"]])
    parallel = any(row["parallel"] for row in rows)
    return rows[0] | {"functions": functions, "features": list(features), "parallel": parallel}


__getattr__ = lacking("tvm.support.cc")

__all__ = ["create_shared"]
