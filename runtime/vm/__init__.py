"""The virtual machine that runs graph functions: bytecode, what it calls, saved modules."""

from __future__ import annotations

from . import debugging, inspection  # noqa: F401  their functions enter themselves
from .bytecode import BytecodeError, Executable, same_bytecode
from .interpreter import NO_OP, SKIP_RUN, Step
from .kv_cache import KVCache
from .machine import VirtualMachine
from .module import VMModule
from .text import parse_bytecode
from .values import Closure, Storage

__all__ = [
    "NO_OP",
    "SKIP_RUN",
    "BytecodeError",
    "Closure",
    "Executable",
    "KVCache",
    "Step",
    "Storage",
    "VMModule",
    "VirtualMachine",
    "parse_bytecode",
    "same_bytecode",
]
