"""Whole built modules in the disk cache: one that was built before needs no passes.

An entry has the bytecode, the constants, and the names of the entries of its kernels.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from ...ir import IRModule, PrimFunc, structural_hash
from ...ir.relax import Function
from ...runtime.vm.bytecode import Executable
from ...runtime.vm.file import Kernel, executable_of, packed
from ...runtime.vm.kernel import NativeKernel
from ..build import Settings
from ..llvm import cache
from ..llvm.build import entry_name
from ..llvm.library import Library
from .kernels import Kernels, describe

_MOST: Final = 64 * 1024 * 1024
"""Modules with larger constants are not kept."""


class StoredKernel(Kernel):
    """A kernel from the cache; errors come from its library, which knows the places in the program."""

    def __init__(self, name: str, row: Mapping[str, Any], library: Library) -> None:
        super().__init__(name, library.code.address(f"lw.raw.{name}"), row["facts"], library)
        self.native = bool(row["native"])
        self.library = library

    def report(self, site: int, a: int, b: int) -> Any:
        """Raise what a failing place reports."""
        raise self.library.error(site, a, b)


class Stored(NamedTuple):
    """A built module: its bytecode, its kernels as Python calls them, and as the interpreter does."""

    executable: Executable
    functions: Mapping[str, Callable[..., Any]]
    native: Callable[[str], NativeKernel | None]


def name_of(mod: IRModule, settings: Settings, pipeline: Any, mode: str) -> str | None:
    """What the cache calls a built module; None for one that is not kept.

    Only pipelines with names are known to do the same again.
    """
    from ...transform import PassContext

    funcs = mod.functions.values()
    public = any(isinstance(f, PrimFunc) and "global_symbol" in f.attrs for f in funcs)
    if not isinstance(pipeline, str) or public or PassContext.current().instruments:
        return None
    key = settings.lowering(mod).key
    if key is None or cache.directory() is None:
        return None
    parts = (structural_hash(mod), _names(mod), pipeline, mode, settings.limit, settings.target, key)
    digest = " ".join(["graph", *[str(p) for p in parts]])
    return entry_name(digest, settings.machine, settings.checked, False, False)


def _names(mod: IRModule) -> str:
    """Names and places, which errors show; equality of programs leaves them out."""
    found: list[Any] = []
    for gvar, func in mod.functions.items():
        found += [gvar.name, str(func.span)]
        if isinstance(func, Function):
            found += [(p.name, str(p.span)) for p in func.params]
            found += [str(b.span) for block in func.body.blocks for b in block.bindings]
    return repr(found)


def store(name: str, exe: Executable, kernels: Kernels) -> None:
    """Keep a built module, where its kernels can be described."""
    buffers, described = packed(exe, 0)
    rows: dict[str, Any] = {}
    for same, compiled in kernels.compiled.items():
        row = compiled.library.meta["functions"][same]
        facts = describe(kernels.signature(same), row)
        if facts is None or kernels.digests[same] is None:
            return
        plain = facts["result"] is None and not row["python"] and not row["c"]
        rows[same] = {"entry": kernels.entry(same), "facts": facts, "native": plain}
    if sum([len(b) for b in buffers]) <= _MOST:
        cache.store(name, b"", {**described, "kernels": rows, "like": kernels.like}, buffers)


def load(name: str, settings: Settings, spans: Callable[[str, bool], Any]) -> Stored | None:
    """The module of this name; None where the cache lacks a part of it. `spans` gives places in a kernel."""
    found = cache.load_mapped(name)
    if found is None:
        return None
    blob, described = found
    made: dict[str, StoredKernel] = {}
    for same, row in described["kernels"].items():
        code = cache.load(row["entry"])
        if code is None:
            return None
        library = Library(*code, spans=functools.partial(spans, same), threads=settings.limit)
        made[same] = StoredKernel(same, row, library)
    listed = {n: made[same] for n, same in described["like"].items()}

    def native(name: str) -> NativeKernel | None:
        kernel = listed.get(name)
        return kernel if kernel is not None and kernel.native else None

    return Stored(executable_of(blob, described), listed, native)


__all__ = ["Stored", "load", "name_of", "store"]
