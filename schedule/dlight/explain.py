"""Default schedules in words."""

from __future__ import annotations

from ...ir import IRModule
from ...target import Target
from .rule import Applied, default_schedule


def explain(mod: IRModule, target: Target | str = "llvm") -> str:
    """Which default rule schedules which blocks of a module and why, each with its steps as script."""
    report: list[Applied] = []
    default_schedule(mod, target, report=report)
    parts: list[str] = []
    for a in report:
        blocks = ", ".join([f"`{b}`" for b in a.blocks])
        parts += [f"{a.func}: {a.rule} takes {blocks}: {a.why}", a.steps, ""]
    return "\n".join(parts) if parts else "no default rule was applied"
