"""`tvm.sym` (once `tvm.arith`): integer arithmetic."""

from __future__ import annotations

from ...adapters import lacking
from . import analyzer, bound, int_set, iter_affine_map, pattern
from .analyzer import Analyzer, CompareResult, ConstIntBound, Extension, ModularSet, ProofStrength
from .bound import deduce_bound
from .int_set import (
    IntervalSet,
    IntSet,
    estimate_region_lower_bound,
    estimate_region_strict_bound,
    estimate_region_upper_bound,
)
from .iter_affine_map import (
    IterMapExpr,
    IterMapLevel,
    IterMapResult,
    IterMark,
    IterSplitExpr,
    IterSumExpr,
    detect_iter_map,
    inverse_affine_iter_map,
    iter_map_simplify,
    normalize_iter_map_to_expr,
    normalize_to_iter_sum,
    subspace_divide,
)
from .pattern import detect_clip_bound, detect_linear_equation

__getattr__ = lacking("tvm.sym")

__all__ = [
    "Analyzer",
    "CompareResult",
    "ConstIntBound",
    "Extension",
    "IntSet",
    "IntervalSet",
    "IterMapExpr",
    "IterMapLevel",
    "IterMapResult",
    "IterMark",
    "IterSplitExpr",
    "IterSumExpr",
    "ModularSet",
    "ProofStrength",
    "analyzer",
    "bound",
    "deduce_bound",
    "detect_clip_bound",
    "detect_iter_map",
    "detect_linear_equation",
    "estimate_region_lower_bound",
    "estimate_region_strict_bound",
    "estimate_region_upper_bound",
    "int_set",
    "inverse_affine_iter_map",
    "iter_affine_map",
    "iter_map_simplify",
    "normalize_iter_map_to_expr",
    "normalize_to_iter_sum",
    "pattern",
    "subspace_divide",
]
