"""The interpreter in machine code of this process."""

from __future__ import annotations

import functools

from ...runtime.vm.native import Code
from ..llvm import cache, jit
from . import machine_code


def image() -> bytes:
    """The object code of the interpreter, from the cache where it has it."""
    machine = jit.host()
    text = machine_code.text()
    name = cache.key("vm", text, machine.triple, machine.cpu, machine.features, jit.versions())
    found = cache.load(name)
    if found is not None:
        return found[0]
    made = jit.compile_object(text, machine)
    cache.store(name, made, {})
    return made


@functools.cache
def code() -> Code:
    """The interpreter, loaded once."""
    loaded = jit.Loaded(image(), list(machine_code.SYMBOLS))
    return Code(loaded.address, loaded)


__all__ = ["code", "image"]
