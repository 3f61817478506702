"""Taking turns: all implementations of a kernel run in one process, one after the other, several times."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "TVM_NUM_THREADS",
)
THREADS = (*THREADS, "LOOPWRIGHT_NUM_THREADS")
KEEP_MEMORY = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(16 << 30),
    "MALLOC_TOP_PAD_": str(64 << 20),
}
FORCED = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
SHORTEST = 2e-3
PAUSE = 3e-3


@dataclass
class Times:
    """Seconds of each turn: of the processor for one thread, of the clock for several."""

    seconds: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        """The median."""
        return statistics.median(self.seconds)

    @property
    def least(self) -> float:
        """The least."""
        return min(self.seconds)


def with_threads(threads: int) -> None:
    """Start this program again with the number of threads fixed, since libraries read it when they load.

    Freed memory stays in the process, so that kernels are measured and not fresh pages; variables that
    force a kernel of OpenBLAS are dropped.
    """
    wanted = {**{name: str(threads) for name in THREADS}, **KEEP_MEMORY}
    kept = {k: v for k, v in os.environ.items() if k not in FORCED}
    if kept | wanted != dict(os.environ):
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], kept | wanted)


def take_turns(runs: dict[str, Callable[[], Any]], repeats: int, threads: int) -> dict[str, Times]:
    """The times of each call, by name; calls of less than two milliseconds are timed several at once."""
    clock = time.process_time if threads == 1 else time.perf_counter
    number = {}
    for name, run in runs.items():
        run()
        start = clock()
        run()
        number[name] = max(1, int(SHORTEST / max(clock() - start, 1e-7)))
    found = {name: Times() for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            time.sleep(PAUSE)  # so that the threads of the one before have gone to sleep
            run()
            start = clock()
            for _ in range(number[name]):
                run()
            found[name].seconds.append((clock() - start) / number[name])
    return found


def difference(result: Any, wanted: Any) -> float:
    """The largest difference over the largest magnitude; infinity for another shape or a NaN."""
    result = np.asarray(result)
    if result.shape != wanted.shape:
        return float("inf")
    scale = float(np.max(np.abs(wanted))) or 1.0
    worst = float(np.max(np.abs(result.astype(np.float64) - wanted))) / scale
    return worst if worst == worst else float("inf")


def bandwidth(repeats: int, threads: int) -> float:
    """Bytes a second of copying 256 MiB, reads and writes counted, by the fastest way known here."""
    import loopwright
    from loopwright.runtime import tensor

    count = 64 << 20
    text = f"""
@T.prim_func
def main(A: T.Buffer(({count},), "float32"), B: T.Buffer(({count},), "float32")):
    for i in range({count}):
        with T.sblock("B"):
            v = T.axis.spatial({count}, i)
            B[v] = A[v]
"""
    copy = loopwright.build(loopwright.parse(text))["main"]
    a, b = [tensor(x).numpy() for x in (np.ones(count, np.float32), np.zeros(count, np.float32))]
    times = take_turns({"own": lambda: copy(a, b), "numpy": lambda: np.copyto(b, a)}, repeats, threads)
    return 2 * a.nbytes / min(t.least for t in times.values())
