"""Modules with graph functions: bytecode with the kernels that it calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..module import Module
from .bytecode import Executable

if TYPE_CHECKING:
    from .kernel import NativeKernel
    from .machine import VirtualMachine
    from .native import Code


class VMModule(Module):
    """A built module with graph functions; `VirtualMachine(module)` runs it, and so does calling it.

    `kernels` are the functions that bytecode calls by name, on arrays; `native` gives them as machine code
    calls them, and `code` is the interpreter in machine code that the module brings along.  `device` is the
    kind of device that the kernels are for.
    """

    __slots__ = ("_machine", "_native", "code", "device", "executable", "kernels")

    def __init__(
        self,
        executable: Executable,
        kernels: Mapping[str, Callable[..., Any]],
        *,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        sources: Mapping[str, Callable[[], str]] | None = None,
        imports: Sequence[Module] = (),
        write: Callable[..., Path] | None = None,
        metadata: Mapping[str, Any] | None = None,
        native: Callable[[str], NativeKernel | None] | None = None,
        code: Code | None = None,
        device: str = "cpu",
        wait: Callable[[], None] | None = None,
    ) -> None:
        texts = {"bytecode": executable.as_text, "python": executable.as_python, **(sources or {})}
        super().__init__(
            "vm", functions or {}, sources=texts, imports=imports, write=write, metadata=metadata, wait=wait
        )
        self.executable = executable
        self.kernels = dict(kernels)
        self._machine: VirtualMachine | None = None
        self._native = native
        self.code = code
        self.device = device
        for name in executable.entries:
            self._functions[name] = self._later(name)

    def _later(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            return self.machine[name](*args, **kwargs)

        call.__name__ = name
        return call

    def native_kernel(self, name: str) -> NativeKernel | None:
        """A kernel as machine code calls it, where it can."""
        return None if self._native is None else self._native(name)

    @property
    def machine(self) -> VirtualMachine:
        """The machine that calling functions of the module directly runs on."""
        from .machine import VirtualMachine

        if self._machine is None:
            self._machine = VirtualMachine(self, self.device)
        return self._machine

    def as_text(self, constants: bool = False) -> str:
        """The bytecode as text; see `Executable.as_text`."""
        return self.executable.as_text(constants)

    def as_python(self) -> str:
        """The bytecode as Python that builds it again."""
        return self.executable.as_python()

    def stats(self) -> str:
        """How many functions, constants and instructions there are."""
        return self.executable.stats()


__all__ = ["VMModule"]
