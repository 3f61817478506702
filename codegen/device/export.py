"""Built modules for devices in files: source, compiled code, or all that is needed without the compiler."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import CodegenError, Diagnostic
from ...runtime.device_module import described
from ...runtime.sealed import sealed

if TYPE_CHECKING:
    from .build import DevicePlan

_SOURCES = {"cuda": ".cu", "opencl": ".cl", "hip": ".hip"}
_LOADABLE = ("cuda", "opencl")


def write_device(path: Path, plan: DevicePlan) -> Path:
    """Write a module to a file of the kind that the suffix says; gives back its path.

    `.cu`, `.cl`, `.hip`: its source; `.ptx`, `.cubin`: compiled code; `.lw`: all of it, for `load_module`.
    Raises CodegenError for other suffixes and what cannot be written.
    """
    source, suffix = plan.source, path.suffix
    if suffix == _SOURCES[source.language]:
        return _save(path, source.text.encode())
    if suffix[1:] in plan.binaries:
        return _save(path, plan.binaries[suffix[1:]]())
    if suffix == ".lw" and plan.target.kind in _LOADABLE:
        return _save(path, _loadable(plan))
    known = [_SOURCES[source.language], *[f".{form}" for form in plan.binaries]]
    known += [".lw"] if plan.target.kind in _LOADABLE else []
    text = f"a module for `{plan.target.kind}` cannot be exported as `{path.name}`"
    raise CodegenError(Diagnostic("unknown-format", text, help=(f"suffixes: {', '.join(known)}",)))


def _loadable(plan: DevicePlan) -> bytes:
    from ... import __version__

    if plan.on_host.functions:
        name = next(iter(plan.on_host.functions)).name
        text = f"the function `{name}` runs on the CPU; a file holds functions for one device only"
        raise CodegenError(Diagnostic("unsupported-export", text, help=("export it by itself",)))
    image = b""
    binaries: dict[str, list[int]] = {}
    for form, make in plan.binaries.items():
        code = make()
        binaries[form] = [len(image), len(code)]
        image += code
    device = described(plan.target.kind, plan.source, plan.programs, binaries)
    return sealed(image, {"version": __version__, "device": device})


def _save(path: Path, data: bytes) -> Path:
    """Write the file whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_bytes(data)
    os.replace(temporary, path)
    return path


__all__ = ["write_device"]
