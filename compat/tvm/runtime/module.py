"""`tvm.runtime.module`: built modules and their timing."""

from __future__ import annotations

from ....runtime import Module
from ....runtime.module import BenchmarkResult
from ...adapters import lacking
from .library import load_module, load_static_library

__getattr__ = lacking("tvm.runtime.module")

__all__ = ["BenchmarkResult", "Module", "load_module", "load_static_library"]
