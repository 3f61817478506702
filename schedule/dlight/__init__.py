"""Default schedules: rules that look at what blocks compute and choose loops for them."""

from __future__ import annotations

from .explain import explain
from .machine import Machine, machine_of
from .rule import Applied, Rule, Taken, default_schedule, is_scheduled

__all__ = ["Applied", "Machine", "Rule", "Taken", "default_schedule", "explain", "is_scheduled", "machine_of"]
