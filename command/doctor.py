"""`doctor`: what is usable on this machine, and why the rest is not."""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
from collections.abc import Callable
from importlib import metadata

from .. import __version__
from .report import FAULTS, OK

Row = tuple[str, str, str]


def run_doctor() -> int:
    """Print the table; the exit code is 1 where something that loopwright needs is missing."""
    rows = [*_needed(), *_optional()]
    width = max(len(name) for _, name, _ in rows)
    for state, name, text in rows:
        print(f"{state:<7} {name:<{width}}  {text}")
    return FAULTS if any(state == "missing" for state, _, _ in rows) else OK


def _needed() -> list[Row]:
    rows = [("ok", "loopwright", __version__), _python()]
    rows += [_package(name, name) for name in ("numpy", "lark", "llvmlite", "ml_dtypes")]
    rows.append(_try("CPU back end", _cpu, "missing"))
    rows.append(_try("kernel on the CPU", _kernel, "missing"))
    rows.append(_try("object cache", _cache, "absent"))
    return rows


def _optional() -> list[Row]:
    return [
        _try("CUDA (cupy)", _cuda, "absent", "loopwright[cuda]"),
        _try("OpenCL (pyopencl)", _opencl, "absent", "loopwright[opencl]"),
        _try("PyTorch", lambda: _installed("torch"), "absent", "loopwright[torch]"),
        _try("ONNX", lambda: _installed("onnx"), "absent", "loopwright[onnx]"),
        _try("Hypothesis", lambda: _installed("hypothesis"), "absent", "loopwright[testing]"),
    ]


def _python() -> Row:
    found = f"{platform.python_version()} ({platform.python_implementation()}, {sys.platform})"
    return ("ok" if sys.version_info >= (3, 11) else "missing"), "Python", found


def _package(name: str, module: str) -> Row:
    return _try(name, lambda: _version(module), "missing", "loopwright")


def _version(module: str) -> str:
    importlib.import_module(module)
    return metadata.version(module)


def _installed(module: str) -> str:
    """The version of a package that is slow to import and tells nothing more when it is."""
    if importlib.util.find_spec(module) is None:
        raise ModuleNotFoundError(name=module)
    return metadata.version(module)


def _try(name: str, look: Callable[[], str], state: str, install: str = "") -> Row:
    """A row of what `look` finds, or of why it fails."""
    try:
        return "ok", name, look()
    except ImportError as err:
        hint = f"; install with: python -m pip install '{install}'" if install else ""
        return state, name, f"not installed ({err.name or err}){hint}"
    except Exception as err:  # a broken driver may raise anything; the table is to say so
        return state, name, f"{type(err).__name__}: {str(err).splitlines()[0] if str(err) else 'no details'}"


def _cpu() -> str:
    from llvmlite import binding

    from ..target import Target

    here = Target.detect()
    version = ".".join([str(part) for part in binding.llvm_version_info])
    return f"LLVM {version}, {here.mcpu}, {here.num_cores} cores, {here.get('mtriple')}"


_KERNEL = """
@T.prim_func
def add(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
    for i in range(4):
        b[i] = a[i] + T.float32(1)
"""


def _kernel() -> str:
    import time

    import numpy as np

    from ..codegen import build
    from ..script import parse

    start = time.perf_counter()
    lib = build(parse(_KERNEL))
    seconds = time.perf_counter() - start
    out = np.zeros(4, "float32")
    lib["add"](np.arange(4, dtype="float32"), out)
    if out.tolist() != [1, 2, 3, 4]:
        raise RuntimeError(f"a test kernel gave {out.tolist()}")
    return f"compiled and right ({seconds * 1e3:.0f} ms)"


def _cache() -> str:
    from ..codegen.llvm.cache import directory

    folder = directory()
    if folder is None:
        return "turned off"
    at = folder
    while not at.exists() and at != at.parent:
        at = at.parent
    if not os.access(at, os.W_OK):
        raise PermissionError(f"{folder} cannot be written; kernels are compiled afresh in each process")
    return str(folder)


def _cuda() -> str:
    import cupy

    count = cupy.cuda.runtime.getDeviceCount()
    if not count:
        raise RuntimeError("no CUDA device")
    names = [cupy.cuda.runtime.getDeviceProperties(i)["name"].decode() for i in range(count)]
    return f"cupy {cupy.__version__}: {', '.join(names)}"


def _opencl() -> str:
    import pyopencl

    names = [d.name.strip() for p in pyopencl.get_platforms() for d in p.get_devices()]
    if not names:
        raise RuntimeError("no OpenCL device")
    return f"pyopencl {metadata.version('pyopencl')}: {', '.join(names)}"
