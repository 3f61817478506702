"""All random steps of schedules: importing this module registers every family."""

from __future__ import annotations

import importlib
import pkgutil

from .. import strategies
from .steps import STEPS, Step, steps

for _module in sorted([m.name for m in pkgutil.iter_modules(strategies.__path__)]):
    if _module.startswith("steps_"):
        importlib.import_module(f"{strategies.__name__}.{_module}")

__all__ = ["STEPS", "Step", "steps"]
