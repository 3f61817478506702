"""`tvm.compile` and `tvm.build`: our `build`, with the peer's keywords."""

from __future__ import annotations

from typing import Any

from ...codegen import as_module
from ...codegen import build as _build
from ...errors import Diagnostic, UnsupportedError
from ...target import Target
from .runtime import Executable
from .trace import plain_traces


def compile(
    mod: Any, target: Any = None, *, relax_pipeline: Any = "default", tir_pipeline: Any = "default"
) -> Any:
    """The built module, ready to run. Raises UnsupportedError for a graph pipeline of one's own."""
    if relax_pipeline not in ("default", None):
        text = "`relax_pipeline` is not supported yet"
        help = ("run the passes on the module first",)
        raise UnsupportedError(Diagnostic("unsupported", text, help=help))
    return Executable(build(mod, target, tir_pipeline))


def build(mod: Any, target: Any = None, pipeline: Any = "default") -> Any:
    """The built module for a target, by default the one in effect, else `llvm`.

    `pipeline` is a name of the peer's, for our pipeline, or one pass or several to run instead of it.
    """
    if isinstance(pipeline, str) or pipeline is None:
        if pipeline not in _PIPELINES:
            names = ", ".join(f"`{n}`" for n in _PIPELINES if n)
            raise UnsupportedError(
                Diagnostic("unsupported", f"there is no pipeline `{pipeline}`", help=(f"there are: {names}",))
            )
        passes = None
    else:
        passes = (pipeline,) if callable(pipeline) else tuple(pipeline)
    return _build(plain_traces(as_module(mod)), target or Target.current() or "llvm", pipeline=passes)


_PIPELINES = ("default", "s_tir", "tirx", None)


__all__ = ["build", "compile"]
