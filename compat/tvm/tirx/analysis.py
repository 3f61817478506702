"""`tvm.tirx.analysis`: checks and facts of loop programs."""

from __future__ import annotations

from typing import Any

from .... import ir
from ....errors import IRError
from ....ir import Expr, PrimFunc, Stmt, Var
from ...adapters import lacking
from ..ir.prim import expr_deep_equal


def undefined_vars(node: Any, defs: Any = None) -> list[Any]:
    """The variables that are used but not defined, `defs` apart."""
    known = {id(v) for v in defs or ()}
    return [v for v in ir.free_vars(node) if id(v) not in known]


def verify_well_formed(obj: Any, assert_mode: bool = True) -> bool:
    """Whether a function or module is well formed. Raises IRError instead in assert mode."""
    faults = [d for d in ir.check_well_formed(obj) if d.severity == "error"]
    if faults and assert_mode:
        raise IRError(*faults)
    return not faults


def verify_tirx_well_formed(obj: Any, assert_mode: bool = True, device_func: bool = False) -> bool:
    """The same: there is one check for both flavours."""
    return verify_well_formed(obj, assert_mode)


__getattr__ = lacking("tvm.tirx.analysis")

__all__ = [
    "Expr",
    "PrimFunc",
    "Stmt",
    "Var",
    "expr_deep_equal",
    "undefined_vars",
    "verify_tirx_well_formed",
    "verify_well_formed",
]
