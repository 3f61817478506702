"""Modules with graph functions to modules that a virtual machine runs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import ArgumentTypeError, ArgumentValueError, Diagnostic
from ...ir import IRModule, PrimFunc
from ...runtime.vm import VMModule
from ...runtime.vm.bytecode import Executable
from ...target import Target
from .bytecode import emit_bytecode
from .kept import Stored, load, name_of, store
from .kernels import Kernels

if TYPE_CHECKING:
    from ..build import Settings

Pipeline = str | Callable[[IRModule], IRModule] | Sequence[Callable[[IRModule], IRModule]] | None


def build_graph(
    mod: IRModule,
    settings: Settings,
    *,
    params: Mapping[str, Any] | None = None,
    relax_pipeline: Pipeline = "default",
    exec_mode: str = "bytecode",
) -> VMModule:
    """Compile a module with graph functions.

    `params` become constants of `main`, by the names of its parameters.  `relax_pipeline` names a pipeline
    of `transform.relax.pipeline`, or is one, or None: the module is lowered already.  With
    `exec_mode="compiled"` runs of kernels become one kernel.

    Raises ArgumentValueError for wrong options, PassError and CodegenError where it cannot be compiled.
    """
    if exec_mode not in ("bytecode", "compiled"):
        text = f'`exec_mode` is "bytecode" or "compiled", not {exec_mode!r}'
        raise ArgumentValueError(Diagnostic("option-value", text))
    mod = _with_params(mod, params)
    built = _Built(mod, settings, relax_pipeline, exec_mode == "compiled")
    name = name_of(mod, settings, relax_pipeline, exec_mode)
    found = None if name is None else load(name, settings, built.spans)
    if found is None:
        kernels = built.kernels
        found = Stored(built.executable, kernels.functions, kernels.native)
        if name is not None:
            store(name, built.executable, kernels)

    def write(path: Path, *, linker: str | None = None) -> Path:
        from .export import write_module

        return write_module(path, built.executable, built.kernels, linker)

    return VMModule(
        found.executable,
        found.functions,
        functions=built.public(),
        sources={"llvm": lambda: built.kernels.llvm(), "schedule": lambda: built.kernels.explain()},
        native=found.native,
        write=write,
    )


class _Built:
    """A module on its way: what the cache has is not made, unless somebody asks."""

    def __init__(self, mod: IRModule, settings: Settings, pipeline: Pipeline, joined: bool) -> None:
        self.mod, self.settings, self.pipeline, self.joined = mod, settings, pipeline, joined

    @functools.cached_property
    def lowered(self) -> IRModule:
        """The module after the pipeline."""
        return lower_graph(self.mod, self.settings.target, None, self.pipeline, self.joined)

    @functools.cached_property
    def executable(self) -> Executable:
        """The bytecode."""
        return emit_bytecode(self.lowered)

    @functools.cached_property
    def kernels(self) -> Kernels:
        """The kernels that the bytecode calls."""
        return Kernels(self.lowered, self.settings, {f.name for f in self.executable.functions})

    def spans(self, name: str, overlapping: bool) -> Any:
        """The places in a kernel that its errors report."""
        return self.kernels.compiled[name].spans(overlapping)

    def public(self) -> Mapping[str, Callable[..., Any]]:
        """The kernels that callers outside may call by name."""
        if not any(_is_public(f) for f in self.mod.functions.values()):
            return {}
        found = {g: f for g, f in self.lowered.functions.items() if _is_public(f)}
        return self.settings.module(IRModule(found)).functions if found else {}


def _is_public(func: Any) -> bool:
    return isinstance(func, PrimFunc) and "global_symbol" in func.attrs


def _with_params(mod: IRModule, params: Mapping[str, Any] | None) -> IRModule:
    """The module with these arrays in place of parameters of `main`."""
    if not params:
        return mod
    from ...transform import get_pass

    return get_pass("relax.BindParams")(mod, func_name="main", params=params)


def lower_graph(
    mod: IRModule,
    target: Target,
    params: Mapping[str, Any] | None = None,
    pipeline: Pipeline = "default",
    joined: bool = False,
) -> IRModule:
    """The module after a pipeline, with `params` as constants of `main` before it.

    The passes run where the target is the current one.
    `joined`: runs of kernels become one, by the pass `relax.JoinKernels` behind `relax.CallTIRRewrite`.
    """
    mod = _with_params(mod, params)
    if pipeline is None:
        return mod
    passes: Sequence[Callable[[IRModule], IRModule]]
    if isinstance(pipeline, str):
        from ...transform.relax.pipeline import passes_of

        passes = passes_of(pipeline, target)
    else:
        passes = [pipeline] if callable(pipeline) else pipeline
    with target:
        for one in passes:
            mod = one(mod)
            if joined and getattr(one, "name", "") == "relax.CallTIRRewrite":
                from ...transform import get_pass

                mod = get_pass("relax.JoinKernels")(mod)
    if not isinstance(mod, IRModule):
        text = f"the pipeline gave a {type(mod).__name__}, no module"
        raise ArgumentTypeError(Diagnostic("not-a-module", text))
    return mod


__all__ = ["build_graph", "lower_graph"]
