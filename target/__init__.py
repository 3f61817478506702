"""Targets: what code is built for, as a kind with checked attributes.

    Target("llvm")    Target("llvm -mcpu=znver4 -num-cores 8")    Target({"kind": "cuda", "arch": "sm_90"})

Tags name complete descriptions of known machines.  Nothing about the running machine is looked up
until `Target.host()` asks for it.
"""

from __future__ import annotations

from .host import core_count
from .kinds import list_kinds
from .target import Target, list_tags, register_tag

__all__ = ["Target", "core_count", "list_kinds", "list_tags", "register_tag"]
