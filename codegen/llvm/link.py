"""Making libraries of object files, with the compiler or linker that the system has."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from ...errors import CodegenError, Diagnostic
from .machine import Machine


class Linker:
    """A command that makes a library of an object file; `options` go before the file."""

    def __init__(self, command: list[str], options: list[str], libraries: list[str]) -> None:
        self.command = command
        self.options = options
        self.libraries = libraries

    def link(self, image: bytes, libraries: Iterable[str] = ()) -> bytes:
        """The library, which needs these itself. Raises CodegenError where the command fails."""
        with tempfile.TemporaryDirectory(prefix="loopwright-") as folder:
            source, made = Path(folder, "code.o"), Path(folder, "library")
            source.write_bytes(image)
            needed = [name if "/" in name else f"-l:{name}" for name in libraries]
            command = [*self.command, *self.options, "-o", str(made), str(source), *needed, *self.libraries]
            try:
                done = subprocess.run(command, capture_output=True, text=True, check=False)
            except OSError as err:
                raise self._failed(str(err)) from err
            if done.returncode:
                raise self._failed(done.stderr.strip() or f"it ended with {done.returncode}")
            return made.read_bytes()

    def _failed(self, reason: str) -> CodegenError:
        lines = tuple(reason.splitlines()[:6])
        return CodegenError(Diagnostic("linker", f"`{shlex.join(self.command)}` failed", notes=lines))


def linker_for(machine: Machine, given: str | None) -> Linker | None:
    """The linker for a machine: `given`, that of the environment, or one that is found; None without one.

    Raises CodegenError for machines whose libraries are not made here, and for a command that is absent.
    """
    if machine.format not in ("elf", "wasm"):
        text = f"shared libraries for `{machine.triple}` are not supported"
        help = ("export an object file and link it with the tools of that system",)
        raise CodegenError(Diagnostic("unsupported-export", text, help=help))
    chosen = given or ("" if machine.foreign else os.environ.get("CC", ""))
    if not chosen:
        found = [c for c in _candidates(machine) if shutil.which(c[0])]
        return _linker(found[0], machine) if found else None
    command = shlex.split(chosen)
    if not shutil.which(command[0]):
        raise CodegenError(Diagnostic("linker", f"there is no command `{command[0]}`"))
    return _linker(command, machine)


def _candidates(machine: Machine) -> list[list[str]]:
    """What may link for a machine, the best first."""
    if machine.format == "wasm":
        return [["wasm-ld"], ["wasm-ld-14"]]
    if not machine.foreign:
        return [["cc"], ["gcc"], ["clang"], ["ld.lld"], ["ld"]]
    parts = [p for p in machine.triple.split("-") if p not in ("unknown", "pc")]
    names = dict.fromkeys(["-".join(parts), machine.triple])
    clang = ["clang", f"--target={machine.triple}", "-fuse-ld=lld"]
    return [*[[f"{n}-gcc"] for n in names], clang, ["ld.lld"]]


def _linker(command: list[str], machine: Machine) -> Linker:
    name = Path(command[0]).name
    if machine.format == "wasm":
        return Linker(command, ["--no-entry", "--export-dynamic", "--allow-undefined"], [])
    if name.startswith(("ld", "lld", "mold")):
        return Linker(command, ["-shared"], [])
    return Linker(command, ["-shared", "-fPIC"], ["-lm"])


def no_linker(machine: Machine, path: Path) -> CodegenError:
    """The error where there is none; the object file has been written."""
    tried = ", ".join([f"`{c[0]}`" for c in _candidates(machine)])
    return CodegenError(
        Diagnostic(
            "no-linker",
            f"`{path.name}` cannot be made: there is no compiler or linker for `{machine.triple}`",
            notes=(f"looked for {tried}", f"the object file is `{path.with_suffix('.o')}`"),
            help=(
                "`loopwright.runtime.load_module` loads the object file as it is",
                "name a command with `linker=` or in the variable CC",
            ),
        )
    )
