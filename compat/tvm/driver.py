"""`tvm.compile` and `tvm.build`: our `build`, with the peer's keywords."""

from __future__ import annotations

from typing import Any

from ...codegen import build as _build
from ...errors import Diagnostic, UnsupportedError
from ...target import Target


def compile(
    mod: Any, target: Any = None, *, relax_pipeline: Any = "default", tir_pipeline: Any = "default"
) -> Any:
    """The built module. Raises UnsupportedError for a pipeline of one's own."""
    for name, value in (("relax_pipeline", relax_pipeline), ("tir_pipeline", tir_pipeline)):
        if value not in ("default", None):
            raise _no_pipeline(name)
    return build(mod, target)


def build(mod: Any, target: Any = None, pipeline: Any = "default") -> Any:
    """The built module for a target, by default the one in effect, else `llvm`."""
    if pipeline not in ("default", None):
        raise _no_pipeline("pipeline")
    return _build(mod, target or Target.current() or "llvm")


def _no_pipeline(name: str) -> UnsupportedError:
    text = f"`{name}` is not supported yet"
    return UnsupportedError(Diagnostic("unsupported", text, help=("run the passes on the module first",)))


__all__ = ["build", "compile"]
