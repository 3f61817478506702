"""Code generation: `build` for callables of a target, `call` behind a decorated function."""

from __future__ import annotations

from .build import as_module, build
from .call import call, compiled, elsewhere

__all__ = ["as_module", "build", "call", "compiled", "elsewhere"]
