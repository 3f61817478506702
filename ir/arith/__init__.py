"""Integer arithmetic: bounds, remainders, sets, simplification."""

from __future__ import annotations

from .analyzer import Analyzer
from .bounds import Bound, const_int_bound
from .intset import EVERYTHING, IntervalSet, eval_set
from .linear import Linear
from .modular import ModularSet, modular_set
from .rules import Class, Rule, all_rules

__all__ = [
    "EVERYTHING",
    "Analyzer",
    "Bound",
    "Class",
    "IntervalSet",
    "Linear",
    "ModularSet",
    "Rule",
    "all_rules",
    "const_int_bound",
    "eval_set",
    "modular_set",
]
