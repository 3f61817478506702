"""`explain`: which default rule schedules which block of a kernel, and why."""

from __future__ import annotations

from ..ir import IRModule
from .load import load, pick, split_name
from .report import OK


def run_explain(what: str, *, target: str = "llvm") -> int:
    """Print what default rules make of the kernels of a file, or of the one that is named."""
    from ..schedule.dlight import explain

    path, name = split_name(what)
    found = load(path)
    for value in [pick(found, name, path)] if name else found.values():
        print(explain(value if isinstance(value, IRModule) else IRModule.from_expr(value), target))
    return OK
