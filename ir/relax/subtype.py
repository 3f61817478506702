"""Whether a value of one type may stand where another type is wanted."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence

from ..arith import Analyzer
from ..equal import structural_equal
from ..expr import Expr, IntImm
from ..types import AnyType, FuncType, PrimType, TupleType, Type
from .relations import same_size
from .types import ShapeType, TensorType


class BaseCheckResult(enum.IntEnum):
    """How two types are related, from never to always."""

    FAIL_L0 = 0
    """No value has both types."""
    FAIL_L1 = 1
    """Less is known of the value than is wanted; a cast may succeed at run time."""
    FAIL_L2 = 2
    """The types agree but for sizes, which only run time can compare."""
    PASS = 3
    """Every value of the one type has the other."""


_Result = BaseCheckResult


def type_base_check(base: Type, derived: Type, analyzer: Analyzer | None = None) -> BaseCheckResult:
    """Whether each value of type `derived` has type `base`, as far as it is known."""
    if base is derived or isinstance(base, AnyType):
        return _Result.PASS
    if isinstance(derived, AnyType):
        return _Result.FAIL_L1
    if isinstance(base, TensorType) and isinstance(derived, TensorType):
        return _tensors(base, derived, analyzer)
    if isinstance(base, ShapeType) and isinstance(derived, ShapeType):
        return _shapes(base.ndim, base.values, derived.ndim, derived.values, analyzer)
    if isinstance(base, TupleType) and isinstance(derived, TupleType):
        return _all(base.fields_, derived.fields_, analyzer)
    if isinstance(base, FuncType) and isinstance(derived, FuncType):
        return _functions(base, derived, analyzer)
    same = type(base) is type(derived) and not isinstance(base, PrimType) and structural_equal(base, derived)
    return _Result.PASS if same else _Result.FAIL_L0


def is_base_of(base: Type, derived: Type) -> bool:
    """Whether every value of type `derived` surely has type `base`."""
    return type_base_check(base, derived) is _Result.PASS


def _all(base: Sequence[Type], derived: Sequence[Type], analyzer: Analyzer | None) -> BaseCheckResult:
    if len(base) != len(derived):
        return _Result.FAIL_L0
    checks = [type_base_check(a, b, analyzer) for a, b in zip(base, derived)]
    return min(checks, default=_Result.PASS)


def _tensors(base: TensorType, derived: TensorType, analyzer: Analyzer | None) -> BaseCheckResult:
    if base.dtype is not None and base.dtype != derived.dtype:
        return _Result.FAIL_L1 if derived.dtype is None else _Result.FAIL_L0
    if base.vdevice is not None and not structural_equal(base.vdevice, derived.vdevice):
        return _Result.FAIL_L1 if derived.vdevice is None else _Result.FAIL_L0
    if base.shape is not None and derived.shape is not None and base.sizes is None:
        return _Result.PASS if base.shape is derived.shape else _Result.FAIL_L2
    sizes = base.sizes if base.shape is not None else None
    return _shapes(base.ndim, sizes, derived.ndim, derived.sizes, analyzer)


def _shapes(
    rank: int,
    sizes: Sequence[Expr] | None,
    derived_rank: int,
    derived: Sequence[Expr] | None,
    analyzer: Analyzer | None,
) -> BaseCheckResult:
    if rank >= 0 and rank != derived_rank:
        return _Result.FAIL_L1 if derived_rank < 0 else _Result.FAIL_L0
    if sizes is None:
        return _Result.PASS
    if derived is None:
        return _Result.FAIL_L2
    return _sizes(zip(sizes, derived), analyzer)


def _sizes(pairs: Iterable[tuple[Expr, Expr]], analyzer: Analyzer | None) -> BaseCheckResult:
    worst = _Result.PASS
    for a, b in pairs:
        if isinstance(a, IntImm) and isinstance(b, IntImm):
            if a.value != b.value:
                return _Result.FAIL_L0
        elif a is not b:
            analyzer = analyzer or Analyzer()
            if not same_size(a, b, analyzer):
                if analyzer.can_prove(a != b):
                    return _Result.FAIL_L0
                worst = _Result.FAIL_L2
    return worst


def _functions(base: FuncType, derived: FuncType, analyzer: Analyzer | None) -> BaseCheckResult:
    if base.purity and not derived.purity:
        return _Result.FAIL_L0
    if structural_equal(base, derived) or base.arg_types is None:
        return _Result.PASS
    if derived.arg_types is None:
        return _Result.FAIL_L2
    params = _all(base.arg_types, derived.arg_types, analyzer)
    return min(params, type_base_check(base.ret_type, derived.ret_type, analyzer))


__all__ = ["BaseCheckResult", "is_base_of", "type_base_check"]
