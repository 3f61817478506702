"""Programs on which LLVM would end the process: found before it does."""

from __future__ import annotations

from collections.abc import Collection

from ...errors import CodegenError, Diagnostic, InternalError
from . import jit
from .machine import Machine


def check_compiles(text: str, outside: Collection[str], machine: Machine) -> None:
    """Try code that may be more than LLVM can: intrinsics that the program names, machines other than this,
    masked vectors of the narrowest floats.

    Raises CodegenError where it is.
    """
    if not outside:
        masked = "@llvm.masked." in text and "@lw.decode." in text
        if (machine.foreign or masked) and not jit.survives(text, machine):
            message = f"LLVM cannot make this program into code for `{machine.triple}`"
            help = ("let loops with conditions on narrow floats run by `range`, not as vectors",)
            raise CodegenError(Diagnostic("unsupported-codegen", message, help=help if masked else ()))
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
