"""Arguments for graph functions, made from the types of their parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..ir import Expr, PrimType, TupleType, Type, Var
from ..ir.relax import Function, ShapeType, TensorType, shape_symbols
from .graphs import scalar


def arguments(func: Function, seed: int = 0, size_of: Callable[[Var], int] | None = None) -> list[Any]:
    """Arrays of small integers, shapes and numbers that fit the parameters of a function.

    Symbols are 1 to 4, the same numbers for the same seed, unless `size_of` says otherwise.
    """
    random = np.random.default_rng(seed)
    sizes: dict[Var, Any] = {}

    def extent(size: Expr) -> int:
        if isinstance(size, Var) and size not in sizes:
            sizes[size] = size_of(size) if size_of is not None else int(random.integers(1, 5))
        return int(scalar(size, sizes))

    def value(ty: Type) -> Any:
        if isinstance(ty, TupleType):
            return tuple([value(f) for f in ty.fields_])
        if isinstance(ty, ShapeType):
            return tuple([extent(s) for s in ty.values or ()])
        if isinstance(ty, TensorType):
            assert ty.dtype is not None and ty.sizes is not None
            made = random.integers(0, 4, [extent(s) for s in ty.sizes])
            return made.astype(ty.dtype.numpy())
        if isinstance(ty, PrimType):
            return int(random.integers(1, 5))
        raise TypeError(f"no argument of the type {ty!r}")

    for param in func.params:
        if isinstance(param.ty, PrimType):
            sizes[param] = int(random.integers(1, 5))
    _solve_alone(func, extent)
    return [sizes[p] if p in sizes else value(p.ty) for p in func.params]


def _solve_alone(func: Function, extent: Callable[[Expr], int]) -> None:
    """Give each symbol that stands alone as a size its number, before any size is computed from it."""
    for param in func.params:
        for symbol in shape_symbols(param.ty):
            extent(symbol)


__all__ = ["arguments"]
