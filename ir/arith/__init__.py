"""Integer arithmetic: bounds, remainders, sets, simplification."""

from __future__ import annotations

from .analyzer import Analyzer
from .bounds import Bound, const_int_bound
from .linear import Linear
from .modular import ModularSet, modular_set
from .rules import Class, Rule, all_rules

__all__ = [
    "Analyzer",
    "Bound",
    "Class",
    "Linear",
    "ModularSet",
    "Rule",
    "all_rules",
    "const_int_bound",
    "modular_set",
]
