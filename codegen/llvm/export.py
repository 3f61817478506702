"""Code for other processes, languages and machines: text, object files, shared libraries, headers."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ...errors import CodegenError, Diagnostic
from ...ir import BufferType, IRModule, PointerType
from ...runtime.sealed import sealed
from . import jit, pool
from .arguments import describe_extent
from .emit import Emitted, emit_module
from .guard import check_compiles
from .header import header
from .link import linker_for, no_linker
from .machine import Machine
from .signature import Signature, dtype_of, exported, signature
from .text import LAUNCH

SUFFIXES: dict[str, str] = {
    ".so": "a shared library",
    ".wasm": "a WebAssembly module",
    ".o": "an object file",
    ".s": "assembly",
    ".ll": "LLVM assembly",
    ".h": "a C header",
}

# Where a size has 32 bits.
_MALLOC = """declare ptr @malloc(i32)
define internal ptr @lw.malloc(i64 %size) {
  %small = trunc i64 %size to i32
  %back = zext i32 %small to i64
  %fits = icmp eq i64 %size, %back
  br i1 %fits, label %take, label %none
take:
  %found = call ptr @malloc(i32 %small)
  ret ptr %found
none:
  ret ptr null
}"""


class Exporter:
    """A module as code that needs neither us nor Python. `lower` gives the lowered module."""

    def __init__(self, mod: IRModule, lower: Callable[[], IRModule], machine: Machine, checked: bool) -> None:
        self.mod = mod
        self.machine = machine
        self._lower = lower
        self._checked = checked

    @functools.cached_property
    def signatures(self) -> dict[str, Signature]:
        """The functions that can be called, by what they are called."""
        found = exported(self.mod).items()
        return {str(f.attrs["global_symbol"]): signature(name, f) for name, f in found}

    @functools.cached_property
    def _emitted(self) -> tuple[Emitted, Emitted | None]:
        """The code, and the variant for overlapping arguments where one is needed."""
        from ...transform import PassContext

        named = {"checked": self._checked, "standalone": True}
        first = emit_module(self._lower(), self.machine, **named)
        check_compiles(first.text, first.outside, self.machine)
        if not any(row["conflicts"] for row in first.meta["functions"].values()):
            return first, None
        with PassContext(config={"tirx.disable_vectorize": True}):
            in_order = self._lower()
        return first, emit_module(in_order, self.machine, overlapping=True, **named)

    @property
    def parallel(self) -> bool:
        """Whether the code has parallel loops."""
        return f"@{LAUNCH} =" in self._emitted[0].text

    def texts(self) -> list[str]:
        """The LLVM assembly of the code, of the variant for overlapping arguments, and of the thread pool.

        The second and the third only where they are needed.
        """
        found = [e.text for e in self._emitted if e is not None]
        if self.parallel:
            found.append(pool.standalone(self.machine.triple))
        if self.machine.pointer_bytes == 4:
            found = [t.replace("@malloc(i64", "@lw.malloc(i64") for t in found]
            found = [t.replace("declare ptr @lw.malloc(i64)", _MALLOC) for t in found]
        return found

    def llvm(self) -> str:
        """The code as LLVM assembly."""
        return self.texts()[0]

    def assembly(self) -> str:
        """The code as assembly of the machine."""
        return jit.assembly(self.texts()[0], self.machine, *self.texts()[1:], shared=True)

    def image(self) -> bytes:
        """The object file."""
        return jit.compile_object(self.texts()[0], self.machine, *self.texts()[1:], shared=True)

    def header(self, stem: str) -> str:
        """The C header."""
        return header(stem, self.signatures)

    def metadata(self) -> dict[str, Any]:
        """What a loader needs to know."""
        from ... import __version__

        facts = self._emitted[0].meta["functions"]
        machine = self.machine
        return {
            "version": __version__,
            "triple": machine.triple,
            "cpu": machine.cpu,
            "features": list(machine.named_features),
            "parallel": self.parallel,
            "functions": {n: _described(s, facts[s.name]) for n, s in self.signatures.items()},
        }

    def write(self, path: str | Path, *, linker: str | None = None) -> Path:
        """Write the file that the suffix asks for; with libraries and objects goes a C header.

        Raises CodegenError for other suffixes, where the linker fails, and where there is none: then the
        object file lies beside the path.
        """
        path = Path(path)
        kind = path.suffix
        if kind not in SUFFIXES:
            known = ", ".join([f"`{s}` ({what})" for s, what in SUFFIXES.items()])
            message = f"a module cannot be exported as `{path.name}`"
            raise CodegenError(Diagnostic("unknown-format", message, help=(f"suffixes: {known}",)))
        if kind in (".s", ".ll", ".h"):
            text = {".s": self.assembly, ".ll": self.llvm, ".h": lambda: self.header(path.stem)}[kind]()
            path.write_text(text, encoding="utf-8")
            return path
        image, metadata = self.image(), self.metadata()
        if kind in (".so", ".wasm"):
            tool = linker_for(self.machine, linker)
            if tool is None:
                self._save(path.with_suffix(".o"), image, metadata)
                raise no_linker(self.machine, path)
            image = tool.link(image, self._emitted[0].meta["libraries"])
        self._save(path, image, metadata)
        return path

    def _save(self, path: Path, image: bytes, metadata: Mapping[str, Any]) -> None:
        """Write a file whole or not at all, and its header."""
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        temporary.write_bytes(sealed(image, metadata, self.machine.format == "wasm"))
        os.replace(temporary, path)
        path.with_suffix(".h").write_text(self.header(path.stem), encoding="utf-8")


def _described(sig: Signature, facts: Mapping[str, Any]) -> dict[str, Any]:
    """A signature as plain data."""
    params = []
    for name, p in zip(sig.names, sig.params):
        if isinstance(p.ty, BufferType):
            shape = [describe_extent(n) for n in p.ty.shape]
            row = {"name": name, "dtype": str(p.ty.dtype), "shape": shape, "strided": bool(p.ty.strides)}
        else:
            row = {"name": name, "dtype": "handle" if isinstance(p.ty, PointerType) else str(dtype_of(p.ty))}
        params.append(row)
    results = [str(dtype_of(r)) for r in sig.results]
    return {"params": params, "results": results, "written": list(facts["written"])}
