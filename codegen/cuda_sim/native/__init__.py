"""The C++ half of the simulator: headers that the kernels see, and the runtime that executes them.

`simulator.h` is what both halves share; `runtime.cpp` includes the other parts of the runtime; the `cuda_*.h`
and `mma.h` stand for CUDA's headers of these names.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent
