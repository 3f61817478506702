"""What runs the kernels of a source without a GPU."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from loopwright.codegen import cuda_sim
from loopwright.codegen.c_like import emit
from loopwright.errors import MissingDependencyError
from loopwright.ir import PrimFunc
from loopwright.runtime.kernels import DeviceSource
from loopwright.target import Target

Launch = Callable[[str, int, int, list[np.ndarray]], None]
"""Runs a kernel by name: blocks, threads of a block, arrays."""


def _opencl(source: DeviceSource) -> Launch:
    cl = pytest.importorskip("pyopencl")
    try:
        context = cl.create_some_context(interactive=False)
    except cl.Error as err:
        pytest.skip(f"no OpenCL device: {err}")
    queue = cl.CommandQueue(context)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = cl.Program(context, source.text).build(options=["-cl-std=CL1.2", "-cl-opt-disable"])

    def launch(name: str, blocks: int, threads: int, arrays: list[np.ndarray]) -> None:
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        raw = [a.view(f"u{a.itemsize}") for a in arrays]
        buffers = [cl.Buffer(context, flags, hostbuf=a) for a in raw]
        getattr(program, name)(queue, (blocks * threads,), (threads,), *buffers)
        for a, b in zip(raw, buffers):
            cl.enqueue_copy(queue, a, b)

    return launch


def _simulator(source: DeviceSource) -> Launch:
    try:
        kernels = cuda_sim.load(source, Target("cuda-sim"))
    except MissingDependencyError as err:
        pytest.skip(str(err))

    def launch(name: str, blocks: int, threads: int, arrays: list[np.ndarray]) -> None:
        kernels[name]((blocks, 1, 1), (threads, 1, 1), arrays)

    return launch


_LANGUAGES: dict[str, tuple[str, Callable[[DeviceSource], Launch]]] = {
    "opencl": ("opencl", _opencl),
    "cuda": ("cuda -arch=sm_80", _simulator),
}


@pytest.fixture(params=[pytest.param("opencl", marks=pytest.mark.opencl), "cuda"])
def language(request: pytest.FixtureRequest) -> str:
    """Each language that is run here."""
    return str(request.param)


@pytest.fixture(scope="session")
def load() -> Callable[[str, Mapping[str, PrimFunc]], Launch]:
    """The function that makes one source of device functions and gives what runs its kernels."""
    made: dict[Any, Launch] = {}

    def launcher(language: str, functions: Mapping[str, PrimFunc]) -> Launch:
        key = language, *functions
        if key not in made:
            target, runner = _LANGUAGES[language]
            made[key] = runner(emit(functions, target))
        return made[key]

    return launcher
