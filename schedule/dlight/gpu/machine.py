"""What default schedules need to know of a GPU."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from ....target import Target

_DYNAMIC_KIB: Final = {70: 96, 75: 64, 80: 163, 86: 99, 87: 163, 89: 99, 90: 227, 100: 227, 120: 99}
_CORES: Final = {70: 80, 80: 108, 86: 84, 89: 128, 90: 132, 100: 148}


class GpuMachine(NamedTuple):
    """Limits of a device: threads and bytes a block; `arch` is 80 for `sm_80`, 0 where there is none."""

    kind: str
    threads: int
    warp: int
    shared: int
    arch: int
    target: Target

    @property
    def is_cuda(self) -> bool:
        """Whether the code is CUDA C: it then has warp shuffles and, from 70 on, tensor cores."""
        return self.kind in ("cuda", "cuda-sim")

    @property
    def dynamic(self) -> int:
        """Bytes of shared memory that a launch can ask for."""
        return max(self.shared, _DYNAMIC_KIB.get(self.arch, 48) << 10 if self.is_cuda else 0)

    @property
    def copies_ahead(self) -> bool:
        """Whether threads can copy to shared memory and do something else meanwhile."""
        return self.is_cuda and self.arch >= 80

    @property
    def cores(self) -> int:
        """How many blocks keep the device busy at least; of unknown devices a usual number."""
        return _CORES.get(self.arch, 64)


def gpu_machine(target: Target) -> GpuMachine:
    """The device of a target."""
    found = re.fullmatch(r"sm_(\d+)[a-z]?", str(target.get("arch", "")))
    return GpuMachine(
        kind=target.kind,
        threads=int(target.get("max_threads_per_block", 0) or target.get("max_num_threads", 256)),
        warp=int(target.get("thread_warp_size", 1)),
        shared=int(target.get("max_shared_memory_per_block", 0)) or 16384,  # what any GPU has
        arch=int(found[1]) if found else 0,
        target=target,
    )
