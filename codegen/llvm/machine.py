"""What code is made for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import Diagnostic, TargetError
from ...target import Target


class Machine:
    """What code is made for. `half`: it converts float16 by itself; `level`: how hard LLVM works."""

    __slots__ = ("cpu", "features", "half", "level", "triple")  # no dataclass: they load slowly

    def __init__(self, triple: str, cpu: str, features: str, half: bool, level: int = 2) -> None:
        self.triple = triple
        self.cpu = cpu
        self.features = features
        self.half = half
        self.level = level

    def replace(self, **changes: Any) -> Machine:
        """The machine with some of its fields changed."""
        return Machine(**{name: changes.get(name, getattr(self, name)) for name in self.__slots__})


# What the levels of x86-64 ask of a processor, as LLVM names its features.
_V2 = ("cx16", "popcnt", "sse4.2", "ssse3")
_V3 = (*_V2, "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
_V4 = (*_V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")
_LEVELS: dict[str, tuple[str, ...]] = {
    "generic": (),
    "x86-64": (),
    "x86-64-v2": _V2,
    "x86-64-v3": _V3,
    "x86-64-v4": _V4,
}


def machine_for(target: Target, host: Machine, has: Mapping[str, bool]) -> Machine:
    """The machine that a target describes; `host` is this one, which `has` these features.

    Raises TargetError where code for it could not run here.
    """
    triple = str(target.get("mtriple", ""))
    if triple and triple.split("-")[0] != host.triple.split("-")[0]:
        raise _refusal(f"the triple `{triple}` is not this machine's, `{host.triple}`")
    machine = host.replace(level=min(3, max(0, int(target.get("opt-level", host.level)))))
    cpu, features = target.mcpu, target.features
    if cpu and cpu != host.cpu:
        if cpu not in _LEVELS:
            raise _refusal(f"this machine is a `{host.cpu}`, not a `{cpu}`")
        lacks = [f for f in _LEVELS[cpu] if not has.get(f)]
        if lacks:
            raise _refusal(f"this machine lacks {', '.join(lacks)}, which `{cpu}` has")
        half = "f16c" in _LEVELS[cpu] or host.triple.startswith(("aarch64", "arm64"))
        machine = machine.replace(cpu=cpu, features="", half=half)
    for f in features:
        if f.startswith("+") and not has.get(f[1:]):
            raise _refusal(f"this machine lacks the feature `{f[1:]}`")
    if features:
        joined = ",".join([f for f in (machine.features, *features) if f])
        half = (machine.half or "+f16c" in features) and "-f16c" not in features
        machine = machine.replace(features=joined, half=half)
    return machine


def _refusal(text: str) -> TargetError:
    help = ("leave `mcpu`, `mattr` and `mtriple` out to use what is here",)
    return TargetError(Diagnostic("foreign-target", text, help=help))
