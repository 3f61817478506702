"""What the peer asks of a target's processor: `target.features.has_dsp`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....target import Target

_DSP = frozenset({"cortex-m4", "cortex-m7", "cortex-m33", "cortex-m35p", "cortex-m55", "cortex-m85"})
_MVE = frozenset({"cortex-m55", "cortex-m85"})
# Features of processors whose triple says ARM, by LLVM's names.
_ARM = {
    "has_asimd": "neon",
    "has_dotprod": "dotprod",
    "has_fp16_simd": "fullfp16",
    "has_matmul_i8": "i8mm",
    "has_sme": "sme",
    "has_sve": "sve",
}


class TargetFeatures:
    """The features by name; what is not known of the target is None. True, and what `mattr` lists."""

    __slots__ = ("_found", "_listed")

    def __init__(self, target: Target) -> None:
        self._found = _found(target)
        self._listed = tuple(target.get("mattr", ()))

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(self._listed)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._found.get(name)


def _found(target: Target) -> dict[str, Any]:
    known = {k.removeprefix("feature."): v for k, v in target.attrs.items() if k.startswith("feature.")}
    given = set(target.get("mattr", ()))
    arch = str(target.get("mtriple", "")).split("-")[0]
    if target.mcpu.startswith("cortex-m"):
        known.setdefault("has_dsp", target.mcpu in _DSP and "+nodsp" not in given)
        known.setdefault("has_mve", target.mcpu in _MVE and "+nomve" not in given)
    elif arch.startswith(("arm", "aarch64")):
        known.setdefault("is_aarch64", arch.startswith("aarch64"))
        for name, feature in _ARM.items():
            known.setdefault(name, f"+{feature}" in given or (feature == "neon" and "64" in arch))
    return known


__all__ = ["TargetFeatures"]
