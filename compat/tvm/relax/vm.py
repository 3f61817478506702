"""`tvm.relax.build`, `VirtualMachine`, `ExecBuilder`: our virtual machine with the peer's signatures."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

from ....codegen import as_module
from ....codegen import build as _build
from ....codegen.vm import ExecBuilder as _ExecBuilder
from ....errors import Diagnostic, UnsupportedError
from ....runtime import Module
from ....runtime.vm import Executable, VMModule
from ....runtime.vm import VirtualMachine as _VirtualMachine
from ....runtime.vm.interpreter import NO_OP, SKIP_RUN
from ....target import Target
from ....transform.relax.pipeline import get_default_pipeline, get_pipeline
from ..runtime.executable import Executable as _Built


class VMInstrumentReturnKind(enum.IntEnum):
    """What an instrument gives back before a call: nothing, or that the call is left out."""

    NO_OP = NO_OP
    SKIP_RUN = SKIP_RUN


_NAMES = {"default": "default_build", "default_build": "default_build", "zero": "zero"}


class VMExecutable(_Built):
    """A built module with graph functions."""

    def as_text(self) -> str:
        """The bytecode as text."""
        return str(self.mod.as_text())  # type: ignore[attr-defined]

    def as_python(self) -> str:
        """The bytecode as Python that builds it."""
        return str(self.mod.as_python())  # type: ignore[attr-defined]

    def stats(self) -> str:
        """How many functions, constants and instructions there are."""
        return str(self.mod.stats())  # type: ignore[attr-defined]


def build(
    mod: Any,
    target: Any = None,
    params: Mapping[str, Any] | None = None,
    relax_pipeline: Any = "default",
    tir_pipeline: Any = "default",
    exec_mode: str = "bytecode",
    *,
    system_lib: bool | None = None,
) -> VMExecutable:
    """The built module; the pipeline "default" does not fuse, as the peer's.

    Raises UnsupportedError for a system library.
    """
    if system_lib:
        raise UnsupportedError(Diagnostic("unsupported", "`system_lib` is not supported"))
    pipeline = (
        _NAMES.get(relax_pipeline, relax_pipeline) if isinstance(relax_pipeline, str) else relax_pipeline
    )
    options: dict[str, Any] = {"params": params, "relax_pipeline": pipeline, "exec_mode": exec_mode}
    if not isinstance(tir_pipeline, str) and tir_pipeline is not None:
        options["pipeline"] = (tir_pipeline,) if callable(tir_pipeline) else tuple(tir_pipeline)
    return VMExecutable(_build(as_module(mod), target or Target.current() or "llvm", **options))


class VirtualMachine(_VirtualMachine):
    """A machine for a built module, for bytecode, or for a module that was loaded."""

    def __init__(self, rt_mod: Any, device: Any = "cpu", memory_cfg: Any = None) -> None:
        super().__init__(rt_mod.mod if isinstance(rt_mod, _Built) else rt_mod, device, memory_cfg)


class ExecBuilder(_ExecBuilder):
    """Bytecode by hand; `get()` gives what a machine runs."""

    def get(self) -> Any:
        """The executable."""
        return VMExecutable(VMModule(super().get(), {}))


__all__ = [
    "ExecBuilder",
    "Executable",
    "Module",
    "VMExecutable",
    "VMInstrumentReturnKind",
    "VirtualMachine",
    "build",
    "get_default_pipeline",
    "get_pipeline",
]
