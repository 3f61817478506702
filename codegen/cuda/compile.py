"""CUDA source to cubin and PTX, by NVRTC or nvcc, without a device or a driver.

NVRTC comes from the wheel `nvidia-cuda-nvrtc` (headers from `nvidia-cuda-runtime`, `nvidia-cuda-crt`) and is
driven through its C interface; where it is absent, `nvcc` on the PATH is used.  The environment variable
`LOOPWRIGHT_CUDA_COMPILER` chooses: `nvrtc` or `nvcc`.  Results are kept in the disk cache.
"""

from __future__ import annotations

import ctypes
import functools
import glob
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import (
    ArgumentValueError,
    CodegenError,
    Diagnostic,
    MissingDependencyError,
    missing_dependency,
)
from ...runtime.drivers import source_refused
from ..llvm import cache

OPTIONS = ("--std=c++17", "--fmad=true")
"""Options that both compilers know. Products and sums may contract, as on the CPU; denormals are kept."""


class Refused(Exception):
    """A compiler does not take a source; the text is what it says."""


def compile_cuda(text: str, arch: str, form: str = "cubin", files: Mapping[str, str] | None = None) -> bytes:
    """The code of a source for an architecture such as `sm_80`: a `cubin`, or `ptx` text.

    Raises CodegenError with the compiler's messages and the script lines they come from (`files` has their
    paths), and MissingDependencyError where there is no compiler.
    """
    tool = compiler()
    name = cache.key("cuda", text, arch, form, " ".join(OPTIONS), tool.version)
    found = cache.load(name)
    if found is not None:
        return found[0]
    try:
        image = tool.compile(text, arch, form)
    except Refused as err:
        raise source_refused(tool.version, str(err), text, files) from None
    cache.store(name, image, {})
    return image


def has_compiler() -> bool:
    """Whether CUDA source can be compiled here."""
    return _nvrtc_path() is not None or shutil.which("nvcc") is not None


def compiler() -> Nvrtc | Nvcc:
    """The compiler in use. Raises MissingDependencyError where there is none."""
    chosen = os.environ.get("LOOPWRIGHT_CUDA_COMPILER", "")
    if chosen not in ("", "nvrtc", "nvcc"):
        text = f"LOOPWRIGHT_CUDA_COMPILER is `nvrtc` or `nvcc`, not `{chosen}`"
        raise ArgumentValueError(Diagnostic("option-value", text))
    path = None if chosen == "nvcc" else _nvrtc_path()
    if path is not None:
        return _nvrtc(path)
    nvcc = None if chosen == "nvrtc" else shutil.which("nvcc")
    if nvcc is not None:
        return _nvcc(nvcc)
    raise missing_dependency("nvidia-cuda-nvrtc", "cuda")


@functools.cache
def _wheel_folder() -> Path | None:
    """The folder of the CUDA wheels' files."""
    import importlib.util

    spec = importlib.util.find_spec("nvidia")
    for base in [] if spec is None else list(spec.submodule_search_locations or ()):
        for folder in sorted(glob.glob(f"{base}/cu[0-9]*"), reverse=True):
            return Path(folder)
    return None


@functools.cache
def _nvrtc_path() -> str | None:
    folder = _wheel_folder()
    if folder is None:
        return None
    pattern = "bin/**/nvrtc64_*.dll" if sys.platform == "win32" else "lib/libnvrtc.so.*"
    found = [p for p in sorted(glob.glob(str(folder / pattern), recursive=True)) if "builtins" not in p]
    return found[0] if found and "alt" not in found[0] else None


@functools.cache
def _nvrtc(path: str) -> Nvrtc:
    return Nvrtc(path)


@functools.cache
def _nvcc(path: str) -> Nvcc:
    return Nvcc(path)


class Nvrtc:
    """NVRTC through ctypes."""

    def __init__(self, path: str) -> None:
        self.library = ctypes.CDLL(path)
        self.library.nvrtcGetErrorString.restype = ctypes.c_char_p
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        self.version = f"NVRTC {major.value}.{minor.value}"

    def compile(self, text: str, arch: str, form: str) -> bytes:
        """The code. Raises Refused."""
        program = ctypes.c_void_p()
        self.check("nvrtcCreateProgram", ctypes.byref(program), text.encode(), b"kernels.cu", 0, None, None)
        try:
            target = arch if form == "cubin" else _virtual(arch)
            listed = [f"--gpu-architecture={target}", *OPTIONS, *_includes()]
            given = (ctypes.c_char_p * len(listed))(*[o.encode() for o in listed])
            if self.library.nvrtcCompileProgram(program, len(listed), given):
                log = self.text(program, "ProgramLog").decode(errors="replace")
                raise Refused(log)
            return self.text(program, "CUBIN" if form == "cubin" else "PTX")
        finally:
            self.library.nvrtcDestroyProgram(ctypes.byref(program))

    def text(self, program: Any, what: str) -> bytes:
        """A result of a program: `ProgramLog`, `PTX`, `CUBIN`."""
        size = ctypes.c_size_t()
        self.check(f"nvrtcGet{what}Size", program, ctypes.byref(size))
        data = ctypes.create_string_buffer(size.value)
        self.check(f"nvrtcGet{what}", program, data)
        return data.raw if what == "CUBIN" else data.raw.rstrip(b"\0")

    def check(self, function: str, *args: Any) -> None:
        """Call a function. Raises CodegenError where it fails."""
        status = getattr(self.library, function)(*args)
        if status:
            reason = self.library.nvrtcGetErrorString(status).decode()
            raise CodegenError(Diagnostic("device-compiler", f"{self.version}: {function}: {reason}"))


class Nvcc:
    """The command `nvcc`."""

    def __init__(self, path: str) -> None:
        self.path = path
        shown = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
        release = [line for line in shown.splitlines() if "release" in line]
        self.version = f"nvcc {release[0].split('release')[1].strip() if release else shown.strip()}"

    def compile(self, text: str, arch: str, form: str) -> bytes:
        """The code. Raises Refused."""
        with tempfile.TemporaryDirectory() as folder:
            source, made = Path(folder, "kernels.cu"), Path(folder, f"kernels.{form}")
            source.write_text(text)
            target = f"-arch={arch if form == 'cubin' else _virtual(arch)}"
            command = [self.path, target, f"-{form}", *OPTIONS, "-o", str(made), str(source)]
            _run(command, folder)
            return made.read_bytes()


def _virtual(arch: str) -> str:
    return arch.replace("sm_", "compute_")


@functools.cache
def _includes() -> tuple[str, ...]:
    """The folders of CUDA's headers, if there are any."""
    folder = _wheel_folder()
    places = [] if folder is None else [folder / "include"]
    homes = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    places += [Path(home) / "include" for home in (*homes, "/usr/local/cuda")]
    found = [p for p in places if (p / "cuda_fp16.h").exists()]
    whole = [p for p in found if (p / "crt" / "mma.h").exists()]  # a wheel of its own has these
    return tuple([f"--include-path={p}" for p in (whole or found)[:1]])


def _run(command: list[str], folder: str) -> None:
    """Run a compiler on files in a folder. Raises Refused where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Refused((done.stdout + done.stderr).replace(f"{folder}/", ""))


def compile_hip(text: str, arch: str, files: Mapping[str, str] | None = None) -> bytes:
    """The code object that `hipcc` makes of HIP source, for an architecture such as `gfx90a`.

    Raises CodegenError as `compile_cuda` does, MissingDependencyError where there is no hipcc.
    """
    path = shutil.which("hipcc")
    if path is None:
        message = "the compiler `hipcc` is not installed"
        help = ("on Debian: apt install hipcc",)
        raise MissingDependencyError(Diagnostic("missing-dependency", message, help=help))
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "kernels.hip"), Path(folder, "kernels.co")
        source.write_text(text)
        command = [path, f"--offload-arch={arch}", "--genco", "-o", str(made), str(source)]
        try:
            _run(command, folder)
        except Refused as err:
            raise source_refused("hipcc", str(err), text, files) from None
        return made.read_bytes()


__all__ = ["compile_cuda", "compile_hip", "compiler", "has_compiler"]
