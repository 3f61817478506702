"""What threads cost and bring: a fork and join, a matrix product on two threads, memory used again.

Times are wall time here, and threads wait for each other: other work on the machine shows in every row.
"""

from __future__ import annotations

import ctypes
import statistics
import time
from collections.abc import Callable

from common import Row, seconds

from schedule import MATMUL, pack

MEET = """
define i32 @meet(i32 %task, i32 %tasks, ptr %env) {
entry:
  %old = atomicrmw add ptr %env, i32 1 seq_cst
  br label %look
look:
  %n = load atomic i32, ptr %env seq_cst, align 4
  %ok = icmp sge i32 %n, %tasks
  br i1 %ok, label %done, label %look
done:
  ret i32 0
}
"""


def fork_join(count: int = 5000) -> list[float]:
    """Microseconds of launches whose two tasks wait for each other, called through ctypes; sorted."""
    from loopwright.codegen.llvm import jit
    from loopwright.codegen.llvm.support import support

    code = jit.Loaded(jit.compile_object(MEET, jit.host()), ["meet"])
    kinds = [ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_int64] * 3]
    launch = ctypes.CFUNCTYPE(*kinds)(support().addresses["launch"])
    meet, met = code.address("meet"), ctypes.c_int32()
    place, times = ctypes.addressof(met), []
    for _ in range(count):
        met.value = 0
        start = time.perf_counter()
        launch(meet, place, 2, 1, 2)
        times.append((time.perf_counter() - start) * 1e6)
    return sorted(times)


def shortest(run: Callable[[], object], repeat: int = 25) -> float:
    """The least wall time of a call, in seconds."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def rows() -> list[Row]:
    """The rows; those on two threads need two processors."""
    import numpy as np

    import loopwright
    from loopwright.runtime import empty, memory, threads
    from loopwright.target import core_count

    found: list[Row] = []
    if core_count() > 1:
        threads.set(2)
        times = fork_join()
        least = f"least {times[0]:.2f}, upper quartile {times[len(times) * 3 // 4]:.2f}"
        found.append(Row("fork and join, two tasks that meet", statistics.median(times), "us", 3, note=least))
        sch = loopwright.Schedule(loopwright.parse(MATMUL))
        pack(sch)
        f = loopwright.build(sch.mod)["main"]
        a, b, c = (np.ones((1024, 1024), np.float32) for _ in range(3))
        two = shortest(lambda: f(a, b, c))
        threads.set(1)
        one = shortest(lambda: f(a, b, c))
        threads.set(None)
        note = f"{one * 1e3:.1f} ms on one"
        found.append(Row("packed matrix product on two threads", one / two, "x", 1.8, True, note))

    def fill(array: np.ndarray) -> None:  # type: ignore[type-arg]
        array.fill(1)

    reused = seconds(lambda: fill(empty((4096, 4096)).numpy()), 9)
    fresh = seconds(lambda: (memory.release(), fill(empty((4096, 4096)).numpy())), 9)
    note = f"{reused * 1e3:.1f} ms instead of {fresh * 1e3:.1f}"
    found.append(Row("filling 64 MiB of memory used before", fresh / reused, "x", None, True, note))
    return found
