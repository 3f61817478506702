"""What a rule for GPUs is: it looks at a whole function, and leaves each of its blocks bound to threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ...schedule import Schedule
from ..rule import Taken
from .machine import GpuMachine

GpuRule: TypeAlias = Callable[[Schedule, GpuMachine], Taken | None]
"""A rule looks at the function that the schedule works on and schedules all of its blocks; None where the
function is not of its kind.  It may try: what it did to the schedule is undone where it gives None or is
refused.
"""
