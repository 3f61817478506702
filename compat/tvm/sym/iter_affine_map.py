"""`tvm.sym.iter_affine_map`: affine maps of iterators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

from .... import ir
from ....ir import arith
from ....ir.arith import (
    IterMapExpr,
    IterMapResult,
    IterMark,
    IterSplitExpr,
    IterSumExpr,
    inverse_affine_iter_map,
    normalize_iter_map_to_expr,
)
from ...adapters import lacking
from .analyzer import own


class IterMapLevel(IntEnum):
    """How much of an affine map is checked."""

    Bijective = 0
    Surjective = 1
    NoCheck = 3


def detect_iter_map(
    indices: Sequence[Any],
    input_iters: Mapping[Any, Any],
    predicate: Any = True,
    check_level: Any = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
    analyzer: Any = None,
) -> IterMapResult:
    """The indices as sums of one iterator each; `errors` says why not."""
    exprs = [ir.as_expr(e) for e in indices]
    return arith.detect_iter_map(
        exprs,
        dict(input_iters),
        ir.as_expr(predicate),
        check_level,
        simplify_trivial_iterators,
        own(analyzer),
    )


def iter_map_simplify(
    indices: Sequence[Any],
    input_iters: Mapping[Any, Any],
    predicate: Any = True,
    check_level: Any = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
    analyzer: Any = None,
) -> list[Any]:
    """The indices in the form that `detect_iter_map` finds."""
    exprs = [ir.as_expr(e) for e in indices]
    return arith.iter_map_simplify(
        exprs,
        dict(input_iters),
        ir.as_expr(predicate),
        check_level,
        simplify_trivial_iterators,
        own(analyzer),
    )


def normalize_to_iter_sum(index: Any, input_iters: Mapping[Any, Any], analyzer: Any = None) -> IterSumExpr:
    """The index as a sum of splits."""
    return arith.normalize_to_iter_sum(ir.as_expr(index), dict(input_iters), own(analyzer))


def subspace_divide(
    bindings: Sequence[Any],
    input_iters: Mapping[Any, Any],
    sub_iters: Sequence[Any],
    predicate: Any = True,
    check_level: Any = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
    analyzer: Any = None,
) -> list[Any]:
    """Each binding as a pair of an outer and an inner mark; empty where they do not part so."""
    return arith.subspace_divide(
        [ir.as_expr(e) for e in bindings],
        dict(input_iters),
        list(sub_iters),
        ir.as_expr(predicate),
        check_level,
        simplify_trivial_iterators,
        own(analyzer),
    )


__getattr__ = lacking("tvm.sym.iter_affine_map")

__all__ = [
    "IterMapExpr",
    "IterMapLevel",
    "IterMapResult",
    "IterMark",
    "IterSplitExpr",
    "IterSumExpr",
    "detect_iter_map",
    "inverse_affine_iter_map",
    "iter_map_simplify",
    "normalize_iter_map_to_expr",
    "normalize_to_iter_sum",
    "subspace_divide",
]
