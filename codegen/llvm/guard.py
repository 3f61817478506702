"""Programs on which LLVM would end the process: found before it does."""

from __future__ import annotations

import re
from collections.abc import Collection

from ...errors import CodegenError, Diagnostic, InternalError
from . import jit
from .machine import Machine

_NARROW = re.compile(r"@lw\.(decode|encode)\.float[468]_")


def is_risky(text: str, machine: Machine) -> bool:
    """Whether LLVM may end the process on this code: floats of eight bits and less, and foreign machines."""
    return bool(machine.foreign) or _NARROW.search(text) is not None


def check_compiles(text: str, outside: Collection[str], machine: Machine) -> None:
    """Try code that may be more than LLVM can, and intrinsics that the program names.

    Raises CodegenError where it is.
    """
    if not outside:
        if is_risky(text, machine) and not jit.survives(text, machine):
            message = f"LLVM cannot make this program into code for `{machine.triple}`"
            raise CodegenError(Diagnostic("unsupported-codegen", message))
        return
    names = ", ".join([f"`{n}`" for n in sorted(outside)])
    try:
        unknown = jit.unknown_intrinsics(text, sorted(outside))
        if unknown:
            raise CodegenError(Diagnostic("llvm-intrinsic", f"LLVM has no intrinsic `{unknown[0]}`"))
        if jit.survives(text, machine):
            return
        reason = "it cannot be made into code for this machine"
    except InternalError as err:
        reason = err.diagnostics[0].message
    raise CodegenError(Diagnostic("llvm-intrinsic", f"LLVM refuses a call of {names}: {reason}"))
