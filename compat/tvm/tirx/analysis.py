"""`tvm.tirx.analysis`: checks and facts of loop programs."""

from __future__ import annotations

from typing import Any

from .... import ir
from ....errors import Diagnostic, IRError
from ....ir import Expr, PrimFunc, Stmt, Var
from ....ir.analysis import verify_memory, verify_ssa
from ...adapters import lacking
from ..ir.prim import expr_deep_equal


def undefined_vars(node: Any, defs: Any = None) -> list[Any]:
    """The variables that are used but not defined, `defs` apart."""
    known = {id(v) for v in defs or ()}
    return [v for v in ir.free_vars(node) if id(v) not in known]


class IllFormedError(IRError):
    """A program is not well formed: our findings, below the sentence that the peer says first."""

    default_code = "ill-formed"

    def __str__(self) -> str:
        found = self.diagnostics[0]
        return f"TIR is ill-formed, {_peer_sentence(found)}\n{super().__str__()}"


def _peer_sentence(found: Diagnostic) -> str:
    name = found.message.split("`")[1] if "`" in found.message else ""
    if found.code == "duplicate-definition":
        first = next((n for n in found.notes if n.startswith("first defined at ")), "").removeprefix(
            "first defined at "
        )
        second = next((n for n in found.notes if n.startswith("at <root>")), "").removeprefix("at ")
        apart = first.startswith("<root>.functions") and _function(first) != _function(second)
        how = "multiple definitions" if apart else "multiple nested definitions"
        here = found.span or second or "a second place"
        return (
            f"due to {how} of variable {name}. It was first defined at {first}, and was re-defined at {here}"
        )
    if found.code == "undefined-name":
        if found.message.startswith("the buffer"):
            return f"buffer {name} is accessed without a prior DeclBuffer or AllocBuffer"
        place = found.span or "its use"
        return f"Invalid use of undefined variable {name} at {place}: it is no longer in-scope."
    return f"due to {found.message}"


def _function(path: str) -> str:
    return path.partition("]")[0]


def verify_well_formed(obj: Any, assert_mode: bool = True) -> bool:
    """Whether a function or module is well formed. Raises IllFormedError instead in assert mode."""
    faults = [d for d in ir.check_well_formed(obj) if d.severity == "error"]
    if faults and assert_mode:
        raise IllFormedError(*faults)
    return not faults


def verify_tirx_well_formed(obj: Any, assert_mode: bool = True, device_func: bool = False) -> bool:
    """The same: there is one check for both flavours."""
    return verify_well_formed(obj, assert_mode)


__getattr__ = lacking("tvm.tirx.analysis")

__all__ = [
    "Expr",
    "IllFormedError",
    "PrimFunc",
    "Stmt",
    "Var",
    "expr_deep_equal",
    "undefined_vars",
    "verify_memory",
    "verify_ssa",
    "verify_tirx_well_formed",
    "verify_well_formed",
]
