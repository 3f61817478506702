"""Graph functions to bytecode, and the interpreter of bytecode in machine code."""

from __future__ import annotations

from ...runtime.vm import native
from .exec_builder import ExecBuilder


def _code() -> native.Code:
    from .engine import code

    return code()


native.provide(_code)

__all__ = ["ExecBuilder"]
