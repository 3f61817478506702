"""`tvm.relax.frontend.nn`: modules with parameters, whose methods become graph functions."""

from __future__ import annotations

from ......frontend import nn as _nn
from ......frontend.nn import *  # noqa: F403  the peer's names
from ......frontend.nn import core, exporter, modules, op, spec
from .....adapters import lacking

__getattr__ = lacking("tvm.relax.frontend.nn")

__all__ = [*_nn.__all__, "core", "exporter", "modules", "op", "spec"]
