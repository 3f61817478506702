"""What default schedules need to know of a processor: vectors, registers, caches, cores."""

from __future__ import annotations

from typing import NamedTuple

from ...target import Target


class Machine(NamedTuple):
    """The sizes that tiles follow: bytes, but for `registers` (vectors), `cores` and `features`."""

    vector: int
    registers: int
    l1: int
    l2: int
    cores: int
    features: frozenset[str] = frozenset()

    def lanes(self, bits: int) -> int:
        """How many values of so many bits a vector holds; at least 1."""
        return max(1, self.vector * 8 // max(8, bits))


def machine_of(target: Target) -> Machine:
    """The processor of a target; where the target says nothing of it, of this machine.

    A target that names another triple or processor gets its own vectors and usual caches.
    """
    told = target if target.get("mtriple") or target.get("mcpu") or target.features else Target.detect()
    width = told.vector_width
    return Machine(
        vector=width // 8,
        registers=32 if width >= 512 or "aarch64" in str(told.get("mtriple", "")) else 16,
        l1=int(told.get("l1_cache_size_bytes", 0)) or 32 << 10,
        l2=int(told.get("l2_cache_size_bytes", 0)) or 512 << 10,
        cores=target.num_cores,
        features=frozenset([f[1:] for f in told.features if f.startswith("+")]),
    )
