"""What this machine is: processor, features, cores, width of vectors, caches."""

from __future__ import annotations

import os
import platform
from collections.abc import Collection
from pathlib import Path
from typing import Any

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


def core_count() -> int:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def describe() -> dict[str, Any]:
    """The description of this machine's processor, for `Target`."""
    from llvmlite import binding

    found = sorted(name for name, on in binding.get_host_cpu_features().items() if on)
    machine = platform.machine().lower()
    own = "x86" if machine in ("x86_64", "amd64") else "arm_cpu" if machine in ("arm64", "aarch64") else None
    return {
        "kind": "llvm",
        "keys": ((own,) if own else ()) + ("cpu",),
        "mcpu": binding.get_host_cpu_name(),
        "mtriple": binding.get_default_triple(),
        "mattr": tuple([f"+{name}" for name in found]),
        "num-cores": core_count(),
        "vector-width": vector_width(found),
        **caches(),
    }


def vector_width(features: Collection[str]) -> int:
    """The bits of the widest vectors of a processor with these features, `+` left out."""
    longest = [int(f[3:-1]) for f in features if f.startswith("zvl") and f.endswith("b")]
    if "avx512f" in features:
        return 512
    if "avx" in features or "avx2" in features:
        return 256
    return max([128, *longest])


def caches() -> dict[str, int]:
    """The sizes of the caches for data that a core sees, as far as the system tells them."""
    found: dict[str, int] = {}
    for place in sorted(_CACHES.glob("index*")):
        try:
            level, kind, size = [
                (place / name).read_text(encoding="ascii").strip() for name in ("level", "type", "size")
            ]
        except OSError:
            continue
        number, unit = size[:-1], {"K": 10, "M": 20, "G": 30}.get(size[-1:])
        if kind != "Instruction" and unit and number.isdecimal() and level in ("1", "2", "3"):
            found[f"l{level}_cache_size_bytes"] = int(number) << unit
    return found


__all__ = ["caches", "core_count", "describe", "vector_width"]
