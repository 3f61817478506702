"""CUDA text executed on the CPU: target `cuda-sim`.

`load` compiles a source with g++ and gives its kernels.  Blocks run over threads of the system, each thread
of a block as a fiber whose turn is drawn from a seed.  Every access is checked: bounds, races, copies
that have not arrived.  What breaks the rules of CUDA is an `ExecutionError` with the kernel, its threads and
the line.
"""

from __future__ import annotations

from .launch import SimulatedKernel, load
from .signature import read_kernels

__all__ = ["SimulatedKernel", "load", "read_kernels"]
