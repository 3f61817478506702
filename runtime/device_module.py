"""Modules with kernels for a device: their functions load what they need when they are called first."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .drivers import driver
from .kernels import DeviceSource, Driver, Kernel, KernelParam, Launchable
from .module import Module
from .programs import Program

Loaded = tuple[Driver, Mapping[str, Launchable]]


class Code:
    """Kernels that are loaded when a function wants them first, by any of several threads.

    `load` gives the driver and the kernels; `overlapping`, where there is one, the kernels for arguments that
    share memory.
    """

    def __init__(
        self,
        load: Callable[[], Loaded],
        overlapping: Callable[[], Mapping[str, Launchable]] | None = None,
    ) -> None:
        self._load, self._overlapping = load, overlapping
        self._lock = threading.RLock()
        self._loaded: Loaded | None = None
        self._others: Mapping[str, Launchable] | None = None

    def loaded(self) -> Loaded:
        """The driver and the kernels."""
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    @property
    def overlapping(self) -> Callable[[], Mapping[str, Launchable]] | None:
        """What gives the kernels for arguments that share memory."""
        return None if self._overlapping is None else self._others_loaded

    def wait(self) -> None:
        """Let what was started end."""
        if self._loaded is not None:
            self._loaded[0].wait()

    def _others_loaded(self) -> Mapping[str, Launchable]:
        with self._lock:
            if self._others is None:
                assert self._overlapping is not None
                self._others = self._overlapping()
            return self._others


class DeviceFunction:
    """A function of a module for a device. It takes arrays there, by position or by name."""

    def __init__(self, data: Mapping[str, Any], code: Code) -> None:
        self.__name__ = str(data["name"])
        self.data, self.code = data, code
        self._program: Program | None = None

    def __repr__(self) -> str:
        return f"<device function {self.__name__}>"

    @property
    def program(self) -> Program:
        """What runs on the host. Raises MissingDependencyError where what reaches the device is absent."""
        if self._program is None:
            found, kernels = self.code.loaded()
            self._program = Program(self.data, kernels, found, self.code.overlapping)
        return self._program

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Run it. Raises ArgumentTypeError or ArgumentValueError naming the argument, ExecutionError."""
        program = self._program or self.program
        return program.call(*args, **kwargs)


def device_functions(programs: Sequence[Mapping[str, Any]], code: Code) -> dict[str, DeviceFunction]:
    """The functions of these programs by name."""
    return {data["name"]: DeviceFunction(data, code) for data in programs}


def loader(
    kind: str, source: DeviceSource, binaries: Mapping[str, Callable[[], bytes]] | None = None
) -> Callable[[], Loaded]:
    """What loads a source through the driver of a kind of device."""

    def load() -> Loaded:
        found = driver(kind)
        return found, found.load(source, binaries)

    return load


# Files


def described(
    kind: str, source: DeviceSource, programs: Sequence[Mapping[str, Any]], binaries: Mapping[str, list[int]]
) -> dict[str, Any]:
    """A module as plain data; `binaries` says where in a file compiled code begins, and its size."""
    kernels = [[*k[:1], [list(p) for p in k.params], *k[2:]] for k in source.kernels]
    return {
        "kind": kind,
        "language": source.language,
        "text": source.text,
        "kernels": kernels,
        "files": dict(source.files),
        "programs": list(programs),
        "binaries": dict(binaries),
    }


def source_of(row: Mapping[str, Any]) -> DeviceSource:
    """The source that `described` described."""
    kernels = [
        Kernel(name, tuple([KernelParam(*p) for p in params]), tuple(launch), *rest)
        for name, params, launch, *rest in row["kernels"]
    ]
    return DeviceSource(row["language"], row["text"], tuple(kernels), row["files"])


def open_device(data: Any, metadata: Mapping[str, Any]) -> Module:
    """The module that a file with these bytes describes."""
    row = metadata["device"]
    source = source_of(row)
    binaries = {form: _part(data, *place) for form, place in row["binaries"].items()}
    code = Code(loader(row["kind"], source, binaries))
    texts: dict[str, Callable[[], str]] = {source.language: lambda: source.text}
    if "ptx" in binaries:
        texts["ptx"] = lambda: binaries["ptx"]().decode()
    return Module(
        row["kind"], device_functions(row["programs"], code), sources=texts, metadata=metadata, wait=code.wait
    )


def _part(data: Any, start: int, size: int) -> Callable[[], bytes]:
    return lambda: bytes(data[start : start + size])


__all__ = ["Code", "DeviceFunction", "described", "device_functions", "loader", "open_device", "source_of"]
