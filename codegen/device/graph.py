"""Modules with graph functions for a device: bytecode, and each kernel that differs from the others once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...errors import ArgumentValueError, Diagnostic, UnsupportedError
from ...ir import ExternFunc, IRModule, PrimFunc
from ...runtime.vm import VMModule
from ...target import Target
from ..llvm import cache
from ..vm.build import Pipeline, lower_graph
from ..vm.bytecode import emit_bytecode
from ..vm.kernels import kernel_modules
from ..workers import Progress, share
from .build import DevicePlan, build_on_host, parted


def build_device_graph(
    mod: IRModule,
    target: Target,
    schedule: str | None = "default",
    pipeline: Sequence[Callable[[IRModule], IRModule]] | None = None,
    *,
    params: Mapping[str, Any] | None = None,
    relax_pipeline: Pipeline = "default",
    exec_mode: str = "bytecode",
) -> VMModule:
    """Compile a module with graph functions for a device; see `codegen.vm.build.build_graph`.

    Raises UnsupportedError for `exec_mode="compiled"`, which devices do not have.
    """
    if exec_mode == "compiled":
        text = f'`exec_mode="compiled"` is for the CPU; the target is `{target.kind}`'
        raise UnsupportedError(Diagnostic("unsupported-option", text))
    if exec_mode != "bytecode":
        text = f'`exec_mode` is "bytecode" or "compiled", not {exec_mode!r}'
        raise ArgumentValueError(Diagnostic("option-value", text))
    lowered = lower_graph(mod, target, params, relax_pipeline)
    executable = emit_bytecode(lowered)
    modules, like = kernel_modules(lowered, {f.name for f in executable.functions})
    plans, made = _built(modules, target, schedule, pipeline)
    public = {
        str(f.attrs["global_symbol"]): made[like[g.name]]
        for g, f in mod.functions.items()
        if isinstance(f, PrimFunc) and "global_symbol" in f.attrs and g.name in like
    }

    def wait() -> None:
        for plan in plans:
            plan.kernels.wait()

    return VMModule(
        executable,
        {name: made[same] for name, same in like.items()},
        functions=public,
        sources=_texts(plans),
        write=_no_file,
        device="cpu" if target.kind == "cuda-sim" else target.device_kind,
        wait=wait,
    )


def _no_file(path: Path, *, linker: str | None = None) -> Path:
    text = f"a model that was built for a device cannot be exported as `{path.name}` yet"
    help = ("export its functions without graph functions, or the model built for `llvm`",)
    raise UnsupportedError(Diagnostic("unsupported-export", text, help=help))


def _built(
    modules: Mapping[str, IRModule], target: Target, *options: Any
) -> tuple[list[DevicePlan], dict[str, Callable[..., Any]]]:
    """The kernels of these modules, by name, and the plans of those that run on the device."""
    made: dict[str, Callable[..., Any]] = {}
    rest: dict[str, IRModule] = {}
    for name, module in modules.items():
        for_device, on_host = parted(module)
        if on_host.functions:
            made.update(build_on_host(on_host, target))
        else:
            rest[name] = for_device
    _fill_cache(list(rest.values()), target, options)
    plans = {name: DevicePlan(module, target, *options) for name, module in rest.items()}
    for name, plan in plans.items():
        made[name] = plan.functions()[name]
    return list(plans.values()), made


def _fill_cache(modules: Sequence[IRModule], target: Target, options: Sequence[Any]) -> None:
    """Let processes compile, side by side, what the disk cache lacks."""
    if cache.directory() is None:
        return
    missing = [m for m in modules if not DevicePlan.is_kept(m, target, *options)]
    progress = Progress("compiling kernels", len(missing))
    share(len(missing), lambda k: DevicePlan(missing[k], target, *options).compile(), progress)
    progress.end()


def _texts(plans: Sequence[DevicePlan]) -> dict[str, Callable[[], str]]:
    """The texts of all plans by format."""
    listed = [plan.texts() for plan in plans]
    formats = dict.fromkeys([form for texts in listed for form in texts])

    def together(form: str) -> Callable[[], str]:
        return lambda: "\n".join([texts[form]() for texts in listed])

    return {form: together(form) for form in formats}


def is_graph(module: IRModule) -> bool:
    """Whether there are graph functions in a module."""
    return not all(isinstance(f, PrimFunc | ExternFunc) for f in module.functions.values())


__all__ = ["build_device_graph", "is_graph"]
