"""Integer arithmetic: bounds, remainders, sets, simplification."""

from __future__ import annotations

from .analyzer import Analyzer
from .bounds import Bound, const_int_bound
from .deduce import deduce_bound, detect_clip_bound, detect_linear_equation
from .intset import EVERYTHING, IntervalSet, eval_set
from .iter_divide import inverse_affine_iter_map, subspace_divide
from .iter_map import IterMapResult, detect_iter_map, iter_map_simplify, normalize_to_iter_sum
from .iter_nodes import IterMapExpr, IterMark, IterSplitExpr, IterSumExpr, normalize_iter_map_to_expr
from .linear import Linear
from .modular import ModularSet, modular_set
from .region import (
    estimate_region_lower_bound,
    estimate_region_strict_bound,
    estimate_region_upper_bound,
)
from .rules import Class, Rule, all_rules
from .solve import (
    Equations,
    Inequalities,
    IntGroupBounds,
    solve_linear_equations,
    solve_linear_inequalities,
)

__all__ = [
    "EVERYTHING",
    "Analyzer",
    "Bound",
    "Class",
    "Equations",
    "Inequalities",
    "IntGroupBounds",
    "IntervalSet",
    "IterMapExpr",
    "IterMapResult",
    "IterMark",
    "IterSplitExpr",
    "IterSumExpr",
    "Linear",
    "ModularSet",
    "Rule",
    "all_rules",
    "const_int_bound",
    "deduce_bound",
    "detect_clip_bound",
    "detect_iter_map",
    "detect_linear_equation",
    "estimate_region_lower_bound",
    "estimate_region_strict_bound",
    "estimate_region_upper_bound",
    "eval_set",
    "inverse_affine_iter_map",
    "iter_map_simplify",
    "modular_set",
    "normalize_iter_map_to_expr",
    "normalize_to_iter_sum",
    "solve_linear_equations",
    "solve_linear_inequalities",
    "subspace_divide",
]
