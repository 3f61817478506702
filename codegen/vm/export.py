"""Built graph modules in one file: code for any process with Python, constants, bytecode."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import CodegenError, Diagnostic
from ...runtime.sealed import sealed
from ...runtime.vm.bytecode import Executable
from ...runtime.vm.file import ALIGNMENT, packed
from ..llvm import jit, pool
from ..llvm.emit import Emitted, emit_module
from ..llvm.guard import check_compiles
from ..llvm.link import linker_for, no_linker
from ..llvm.signature import exported, signature
from ..llvm.sites import failure
from ..llvm.text import LAUNCH
from . import machine_code
from .kernels import Kernels, describe


def write_module(path: Path, exe: Executable, kernels: Kernels, linker: str | None = None) -> Path:
    """Write a module; `.so` needs a linker, `.o` does not. `loopwright.runtime.load_module` reads both.

    Raises CodegenError for other suffixes, for kernels that need Python, and where the linker fails.
    """
    machine = kernels.settings.machine
    if path.suffix not in (".so", ".o") or machine.format != "elf":
        text = f"a module with graph functions cannot be exported as `{path.name}`"
        help = ("suffixes: `.so` (a shared library), `.o` (an object file)",)
        raise CodegenError(Diagnostic("unknown-format", text, help=help))
    emitted = _emitted(kernels)
    check_compiles(emitted.text, emitted.outside, machine)
    parallel = f"@{LAUNCH} =" in emitted.text
    more = [machine_code.text(), *([pool.standalone(machine.triple)] if parallel else [])]
    image = jit.compile_object(emitted.text, machine, *more, shared=True)
    if path.suffix == ".so":
        tool = linker_for(machine, linker)
        if tool is None:
            _save(path.with_suffix(".o"), image, exe, kernels, emitted, parallel)
            raise no_linker(machine, path)
        image = tool.link(image, emitted.meta["libraries"])
    return _save(path, image, exe, kernels, emitted, parallel)


def _emitted(kernels: Kernels) -> Emitted:
    """The code of all kernels, of which there may be none."""
    module, settings = kernels.together(), kernels.settings
    if not module.functions:
        return Emitted("", {"functions": {}, "sites": [], "libraries": []}, frozenset(), [])
    return emit_module(module, settings.machine, checked=settings.checked, standalone=True, bare=True)


def _save(
    path: Path, image: bytes, exe: Executable, kernels: Kernels, emitted: Emitted, parallel: bool
) -> Path:
    """Write the file whole or not at all."""
    from ... import __version__

    machine = kernels.settings.machine
    image += b"\0" * (-len(image) % ALIGNMENT)
    buffers, described = packed(exe, len(image))
    described["kernels"] = _kernels(kernels, emitted)
    described["like"] = kernels.like
    metadata: Mapping[str, Any] = {
        "version": __version__,
        "triple": machine.triple,
        "cpu": machine.cpu,
        "features": list(machine.named_features),
        "parallel": parallel,
        "functions": {},
        "vm": described,
    }
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_bytes(sealed(b"".join([image, *buffers]), metadata))
    os.replace(temporary, path)
    return path


def _kernels(kernels: Kernels, emitted: Emitted) -> dict[str, Any]:
    """What a loader must know of each kernel."""
    sites = []
    for site, span in zip(emitted.meta["sites"], emitted.spans):
        place = None if span is None else [span.file, span.line, span.column, span.end_line, span.end_column]
        sites.append([*failure(site), place])
    found = {}
    for name, func in exported(kernels.together()).items():
        facts = describe(signature(name, func), emitted.meta["functions"][name])
        if facts is None:
            text = f"the kernel `{name}` has parameters that a file cannot describe"
            raise CodegenError(Diagnostic("unsupported-export", text))
        found[name] = {**facts, "sites": sites}
    return found


__all__ = ["write_module"]
