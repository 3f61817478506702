"""Relations between types: which one is above another, the least one above two, forgetting symbols."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..arith import Analyzer
from ..equal import structural_equal
from ..expr import Expr, IntImm, Var
from ..types import AnyType, FuncType, TupleType, Type
from ..visitor import definitions, free_vars, symbol_vars
from .expr import MatchCast, SeqExpr
from .types import ShapeType, TensorType


def same_size(a: Expr, b: Expr, analyzer: Analyzer | None = None) -> bool:
    """Whether two sizes are proven equal for all values of their symbols; constants of any integer type."""
    if isinstance(a, IntImm) and isinstance(b, IntImm):
        return a.value == b.value
    return a is b or structural_equal(a, b) or (analyzer or Analyzer()).can_prove_equal(a, b)


def same_sizes(a: Iterable[Expr], b: Iterable[Expr]) -> bool:
    """Whether two shapes are proven equal."""
    x, y = tuple(a), tuple(b)
    return len(x) == len(y) and all(same_size(p, q) for p, q in zip(x, y))


def type_lca(a: Type, b: Type) -> Type:
    """The least type that both types are below."""
    if a is b or structural_equal(a, b):
        return a
    if isinstance(a, TensorType) and isinstance(b, TensorType):
        dtype = a.dtype if a.dtype == b.dtype else None
        vdevice = a.vdevice if structural_equal(a.vdevice, b.vdevice) else None
        if a.ndim != b.ndim:
            return TensorType(None, dtype, vdevice)
        alike = a.shape is not None and b.shape is not None and _same_shape(a.shape, b.shape)
        return TensorType(a.shape if alike else None, dtype, vdevice, a.ndim)
    if isinstance(a, ShapeType) and isinstance(b, ShapeType):
        if a.ndim != b.ndim:
            return ShapeType()
        alike = a.values is not None and b.values is not None and same_sizes(a.values, b.values)
        return a if alike else ShapeType(ndim=a.ndim)
    if isinstance(a, TupleType) and isinstance(b, TupleType) and len(a.fields_) == len(b.fields_):
        return TupleType([type_lca(x, y) for x, y in zip(a.fields_, b.fields_)])
    if isinstance(a, FuncType) and isinstance(b, FuncType):
        params = None
        if a.arg_types is not None and b.arg_types is not None and len(a.arg_types) == len(b.arg_types):
            params = [type_lca(x, y) for x, y in zip(a.arg_types, b.arg_types)]
        return FuncType(params, type_lca(a.ret_type, b.ret_type), a.purity and b.purity)
    return AnyType()


def _same_shape(a: Expr, b: Expr) -> bool:
    if a is b or structural_equal(a, b):
        return True
    x, y = getattr(a.ty, "values", None), getattr(b.ty, "values", None)
    return x is not None and y is not None and same_sizes(x, y)


def erase(ty: Type, gone: Callable[[Var], bool]) -> Type:
    """The type without what mentions a variable that is gone; ranks stay."""
    if isinstance(ty, TupleType):
        fields = [erase(f, gone) for f in ty.fields_]
        return ty if all(x is y for x, y in zip(fields, ty.fields_)) else TupleType(fields)
    if isinstance(ty, FuncType) and ty.arg_types is not None:
        params = [erase(p, gone) for p in ty.arg_types]
        result = erase(ty.ret_type, gone)
        same = result is ty.ret_type and all(x is y for x, y in zip(params, ty.arg_types))
        return ty if same else FuncType(params, result, ty.purity, ty.derive_func)
    if isinstance(ty, TensorType) and ty.shape is not None and any(gone(v) for v in free_vars(ty.shape)):
        return TensorType(None, ty.dtype, ty.vdevice, ty.ndim)
    if isinstance(ty, ShapeType) and ty.values is not None:
        if any(gone(v) for value in ty.values for v in free_vars(value)):
            return ShapeType(ndim=ty.ndim)
    return ty


def erase_definitions(seq: SeqExpr) -> Type:
    """The type of a sequence without the symbols and variables that it defines itself."""
    own: set[Any] = set()
    for block in seq.blocks:
        for binding in block.bindings:
            own.update(definitions(binding))
            if isinstance(binding, MatchCast):
                own.update(symbol_vars(binding.var))
    return erase(seq.ty, own.__contains__) if own else seq.ty


__all__ = ["erase", "erase_definitions", "same_size", "same_sizes", "type_lca"]
