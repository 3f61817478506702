"""`tvm.target.codegen`: what the LLVM here is, and what a target's processor has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ....target import Target
from ...adapters import lacking

_intrinsics: list[str] = []


def llvm_version_major(allow_none: bool = False) -> int:
    """The major version of LLVM."""
    from llvmlite import binding

    return int(binding.llvm_version_info[0])


def llvm_lookup_intrinsic_id(name: str) -> int:
    """A number for an intrinsic of LLVM, by which `llvm_get_intrinsic_name` finds it; 0 for another name."""
    if not name.startswith("llvm."):
        return 0
    if name not in _intrinsics:
        _intrinsics.append(name)
    return 1 + _intrinsics.index(name)


def llvm_get_intrinsic_name(intrin_id: int) -> str:
    """The name of an intrinsic of LLVM whose number was asked for."""
    return _intrinsics[intrin_id - 1]


def llvm_get_system_cpu() -> str:
    """The processor here."""
    return Target.detect().mcpu


def llvm_get_system_triple() -> str:
    """The triple of this machine."""
    return str(Target.detect().get("mtriple"))


def _chosen(target: Any) -> Target:
    return Target(target) if target is not None else Target.current() or Target.detect()


def llvm_get_vector_width(target: Any = None) -> int:
    """The bits of the widest vectors of a target, by default the one in effect."""
    return _chosen(target).vector_width


def target_has_features(cpu_features: str | Iterable[str], target: Any = None) -> bool:
    """Whether a target's processor has all of these features, as far as it is known to us."""
    from ....codegen.llvm.machine import LEVELS

    chosen = _chosen(target)
    here = Target.detect()
    given = chosen.get("mattr", ())
    if not given and not chosen.mcpu and not chosen.get("mtriple"):
        given = here.get("mattr", ())
    on = {f[1:] for f in given if f.startswith("+")} | set(LEVELS.get(chosen.mcpu, ()))
    wanted = [cpu_features] if isinstance(cpu_features, str) else list(cpu_features)
    return all(f in on for f in wanted)


__getattr__ = lacking("tvm.target.codegen")

__all__ = [
    "llvm_get_intrinsic_name",
    "llvm_get_system_cpu",
    "llvm_get_system_triple",
    "llvm_get_vector_width",
    "llvm_lookup_intrinsic_id",
    "llvm_version_major",
    "target_has_features",
]
