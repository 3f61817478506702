"""`tvm.relax.testing`: what the peer's tests of the virtual machine use."""

from __future__ import annotations

from ....adapters import lacking
from . import nn, runtime_builtin, vm

__getattr__ = lacking("tvm.relax.testing")

__all__ = ["nn", "runtime_builtin", "vm"]
