"""`tvm.script.parser`: from text or Python to IR."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from ..... import ir as _nodes
from .....errors import Diagnostic, UnsupportedError
from .....script import ir, tirx
from .....script import parse as _parse
from .....script.ir import ir_module
from .....script.tirx import prim_func
from ....adapters import lacking
from . import core, relax


def parse(
    program: Any,
    extra_vars: Mapping[str, Any] | None = None,
    check_well_formed: bool = True,
    s_tir: bool = False,
    absent_params: Any = None,
) -> Any:
    """A text, a function or a class as a program; blocks are allowed in every function.

    Raises ScriptError (`tvm.error.DiagnosticError`) with every fault.
    """
    if absent_params:
        raise UnsupportedError(Diagnostic("unsupported", "`absent_params` is not supported: use T.jit"))
    if inspect.isclass(program):
        return ir_module(program, check_well_formed=check_well_formed)
    if inspect.isfunction(program):
        return prim_func(program, check_well_formed=check_well_formed)
    made = _parse(program, filename="<str>", extra_vars=extra_vars, check_well_formed=check_well_formed)
    if s_tir and isinstance(made, _nodes.PrimFunc):
        return made.with_attr("s_tir", True)
    return made


from_source = parse

__getattr__ = lacking("tvm.script.parser")

__all__ = ["core", "from_source", "ir", "ir_module", "parse", "prim_func", "relax", "tirx"]
