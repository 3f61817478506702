"""`tvm.testing.env`: what is there to run on."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

_USABLE = ("llvm", "c")


def can_run(kind: str) -> bool:
    """Whether code of this target kind can be built and run here."""
    return kind in _USABLE[:1] and has_llvm()


def has_llvm() -> bool:
    """Whether the CPU back end is there."""
    return importlib.util.find_spec("llvmlite") is not None


def has_llvm_min_version(major: int) -> bool:
    """Whether LLVM is at least of this version."""
    from ..target.codegen import llvm_version_major

    return has_llvm() and llvm_version_major() >= major


def has_cpu_feature(features: Any) -> bool:
    """Whether the processor has these features."""
    from ....target import Target

    have = set(Target.detect().features)
    wanted = [features] if isinstance(features, str) else list(features)
    return all(f"+{f.lstrip('+')}" in have or f in have for f in wanted)


def build_flag_enabled(flag: str) -> bool:
    """False: there are no build flags."""
    return False


def __getattr__(name: str) -> Callable[..., Any]:
    """`has_cuda` and its like: devices that cannot be used yet are not there."""
    if name.startswith("has_"):
        return lambda *args, **options: False
    raise AttributeError(f"loopwright has no counterpart of `tvm.testing.env.{name}` yet", name=name)


__all__ = ["build_flag_enabled", "can_run", "has_cpu_feature", "has_llvm", "has_llvm_min_version"]
