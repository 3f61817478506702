"""Compiling for the simulator: the runtime once, each kernel text once, both kept on disk."""

from __future__ import annotations

import atexit
import ctypes
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...errors import Diagnostic, MissingDependencyError
from ...runtime.drivers import source_refused
from ..llvm import cache
from .native import FOLDER

_DIALECT = [
    *("-std=c++17", "-fPIC", "-shared", "-fno-exceptions", "-fno-rtti", "-nostdinc++", "-w", "-g1"),
    "-fstack-clash-protection",  # large frames meet the guard below the stack
]
_NUMBERS = ["-fwrapv", "-ffp-contract=off", "-fno-strict-aliasing"]
_CHECKS = [
    "-DLW_CHECKS",
    "-fsanitize=thread,bounds-strict,object-size,alignment,integer-divide-by-zero",
    *("--param", "tsan-distinguish-volatile=1"),
    # Accesses stay where they are: none is made that the text would not make.
    *("-fno-tree-loop-im", "-fno-ssa-phiopt", "-fno-if-conversion", "-fno-if-conversion2"),
]
_RUNTIME = ["-std=c++17", "-O2", "-g1", "-fPIC", "-shared", "-pthread", "-fno-semantic-interposition"]
_lock = threading.Lock()


def compiler() -> str:
    """The command of g++. Raises MissingDependencyError without one."""
    command = os.environ.get("LOOPWRIGHT_CXX") or "g++"
    if shutil.which(command) is None:
        help = ("install g++ (Debian and Ubuntu: `apt install g++`), or name it in LOOPWRIGHT_CXX",)
        message = f"the simulator of CUDA needs the compiler `{command}`, which is not installed"
        raise MissingDependencyError(Diagnostic("missing-dependency", message, help=help))
    return command


@functools.cache
def version() -> str:
    """The version of g++, and what it compiles for."""
    command = [compiler(), "-dumpfullversion", "-dumpmachine"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def _checks() -> list[str]:
    """The options with which accesses come to the runtime first."""
    major = version().partition(".")[0]
    # What a thread has not written shows in results.
    filled = ["-ftrivial-auto-var-init=pattern"] if major.isdigit() and int(major) >= 12 else []
    return [*_CHECKS, *filled]


@functools.cache
def native_digest() -> str:
    """A hash of the headers and the runtime, and of the version of the compiler."""
    digest = hashlib.blake2b(version().encode(), digest_size=20)
    for path in sorted(FOLDER.glob("*.*")):
        if path.suffix in (".h", ".cpp"):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


@functools.cache
def folder() -> Path:
    """Where the libraries of this process lie until it ends."""
    made = Path(tempfile.mkdtemp(prefix="loopwright-sim-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def runtime() -> Any:
    """The loaded runtime."""
    with _lock:  # one thread compiles it
        return _runtime()


@functools.cache
def _runtime() -> Any:
    return ctypes.CDLL(str(runtime_file()))


def runtime_file() -> Path:
    """The library of the runtime, whose name kernels refer to."""
    name = f"liblw_sim_{native_digest()}.so"
    source = [*_RUNTIME, f"-Wl,-soname,{name}", str(FOLDER / "runtime.cpp")]
    return _made(name, source, "")


def kernels(text: str, checks: bool) -> Path:
    """The library of a kernel text. Raises CodegenError where g++ refuses it."""
    options = [*_DIALECT, *_NUMBERS, *(_checks() if checks else []), "-O1", "-nodefaultlibs", f"-I{FOLDER}"]
    inputs = ["-include", "cuda_sim.h", "-x", "c++"]
    name = hashlib.blake2b(
        "\0".join([native_digest(), *options[:-1], text]).encode(), digest_size=20
    ).hexdigest()
    return _made(f"{name}.so", [*options, *inputs], text)


def _made(file: str, options: Sequence[str], text: str) -> Path:
    """The library in this process's folder: there already, from the disk, or compiled now."""
    path = folder() / file
    if path.exists():
        return path
    source = path.with_suffix(".cu")
    entry = hashlib.blake2b(f"cuda-sim {file}".encode(), digest_size=20).hexdigest()
    kept = cache.load(entry)
    with tempfile.TemporaryDirectory(dir=folder()) as place:
        made = Path(place, file)
        if kept is not None:
            made.write_bytes(kept[0])
        else:
            _compile(options, text, source, made)
            cache.store(entry, made.read_bytes(), {"kind": "cuda-sim"})
        made.replace(path)
    return path


def _compile(options: Sequence[str], text: str, source: Path, made: Path) -> None:
    command = [compiler(), *options, "-o", str(made)]
    if text:
        source.write_text(text)
        command += [str(source), "-x", "none", str(runtime_file())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise source_refused("g++", done.stderr.replace(str(source), source.name), text)
