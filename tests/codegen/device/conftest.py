"""Skips where a tool is absent, and host programs whose kernels only say that they were started."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import pytest

from loopwright import Target
from loopwright.codegen import as_module
from loopwright.codegen.device.build import DeviceCode, DeviceLowering
from loopwright.errors import MissingDependencyError
from loopwright.runtime.drivers import driver
from loopwright.runtime.kernels import DeviceSource, Kernel
from loopwright.runtime.programs import Program


@pytest.fixture(scope="session")
def opencl() -> Any:
    """The driver of OpenCL."""
    try:
        return driver("opencl")
    except MissingDependencyError as err:
        pytest.skip(f"no OpenCL here: {err.diagnostics[0].message}")


@pytest.fixture(scope="session")
def simulator() -> str:
    """The target of the simulator."""
    if shutil.which("g++") is None:
        pytest.skip("the simulator needs g++")
    return "cuda-sim"


class Started:
    """Kernels that note how they are started, and do what `act` does."""

    def __init__(self, act: Callable[..., None] | None = None) -> None:
        self.launches: list[tuple[str, tuple[int, ...], tuple[int, ...], list[Any], int]] = []
        self.act = act

    def kernel(self, name: str) -> Callable[..., None]:
        def start(grid: Any, block: Any, args: Any, shared: int = 0) -> None:
            self.launches.append((name, grid, block, list(args), shared))
            if self.act is not None:
                self.act(name, *args)

        return start


@pytest.fixture
def program() -> Callable[..., tuple[Program, Started]]:
    """Makes the host program of a function, with such kernels, for arrays of numpy."""

    def make(func: Any, act: Callable[..., None] | None = None, **options: Any) -> tuple[Program, Started]:
        started = Started(act)
        module = as_module(func)
        code = DeviceCode(DeviceLowering(module, Target("cuda"), False, None)(), Target("cuda"))
        launched = [n for n, f in code.device.items() if "tirx.kernel_launch_params" in f.attrs]
        source = DeviceSource("cuda", "", tuple([Kernel(n, (), ()) for n in launched]))
        (data,) = code.programs(source)
        return Program(data, {n: started.kernel(n) for n in launched}, driver("cpu"), **options), started

    return make
