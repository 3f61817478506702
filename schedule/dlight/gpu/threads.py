"""How many threads of a block to give to each of several loops."""

from __future__ import annotations

from collections.abc import Sequence

from .machine import GpuMachine

_BUDGET = {"cuda": 1024, "cuda-sim": 1024, "rocm": 256, "metal": 256, "opencl": 256}
_SMALL = 64


def suggest_threads(machine: GpuMachine, sizes: Sequence[int | None], most_unknown: int = 32) -> list[int]:
    """Threads for loops of these sizes, powers of two; None is a size known at run time only.

    Loops of known size come first, each taking as many as it can use.  The others share what is left: all
    but one of them take up to `most_unknown`, and the larger numbers go to the outer ones.
    """
    left = _BUDGET.get(machine.kind, _SMALL)
    known: dict[int, int] = {}
    for k, size in enumerate(sizes):
        if size is not None:
            known[k] = min(1 << (max(size, 1).bit_length() - 1), left)
            left //= known[k]
    unknown: list[int] = []
    rest = len(sizes) - len(known)
    for k in range(rest):
        unknown.append(left if k == rest - 1 else min(left, most_unknown))
        left //= unknown[-1]
    shares = iter(sorted(unknown, reverse=True))
    return [known[k] if k in known else next(shares) for k in range(len(sizes))]
