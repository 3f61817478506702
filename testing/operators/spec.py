"""Cases: a call of an operator, with operands whose sizes may be symbols."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from ...dtype import DType

Dim: TypeAlias = int | str
Values: TypeAlias = str | np.ndarray[Any, Any] | Callable[..., Any]


@dataclass(frozen=True, eq=False)
class OperandSpec:
    """A tensor operand: dimensions (numbers and symbols), dtype, and which values it gets.

    `values` is a word of `VALUES`, an array, or a function of a random generator and the shape.
    """

    dims: tuple[Dim, ...]
    dtype: DType
    values: Values

    def sample(self, rng: np.random.Generator, sizes: Mapping[str, int]) -> Any:
        """An array for these sizes of the symbols."""
        shape = tuple([sizes[d] if isinstance(d, str) else d for d in self.dims])
        make = VALUES[self.values] if isinstance(self.values, str) else self.values
        found = make(rng, shape) if callable(make) else make
        if isinstance(self.values, str) and self.values == "numbers" and self.dtype.is_uint:
            found = np.abs(found)
        return np.ascontiguousarray(found).reshape(shape).astype(self.dtype.numpy())


VALUES: dict[str, Callable[[np.random.Generator, tuple[int, ...]], Any]] = {
    "numbers": lambda rng, shape: rng.integers(-4, 5, shape),
    "normal": lambda rng, shape: rng.normal(0, 2, shape),
    "positive": lambda rng, shape: rng.uniform(0.25, 4, shape),
    "unit": lambda rng, shape: rng.uniform(-0.95, 0.95, shape),
    "above one": lambda rng, shape: rng.uniform(1.1, 5, shape),
    "counts": lambda rng, shape: rng.integers(0, 4, shape),
    "nonzero": lambda rng, shape: rng.integers(1, 5, shape) * rng.choice([-1, 1], shape),
    "bools": lambda rng, shape: rng.integers(0, 2, shape),
    "special": lambda rng, shape: rng.choice(
        [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, -2.5, np.inf, -np.inf, np.nan, 7.0, -7.0], shape
    ),
}
"""Ways to fill an operand, by name."""


@dataclass(frozen=True, eq=False)
class Case:
    """A call of the operator `name`.

    operands  in the order of the parameters: `OperandSpec` for tensors, a list of them for several;
              numbers and symbols in a tuple for shapes; numbers and symbols for scalars; None
    attrs     attributes by name
    ulps      how far floats may be from numpy's result, in units of the result's precision at the
              larger of 1 and the value; 0 where they must be equal
    reduces   whether it reduces along a symbolic size: a loop program does not say what a reduction over
              no elements gives, so that its oracle is not asked for that (compiled kernels are)
    """

    name: str
    operands: tuple[Any, ...]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    ulps: float = 0
    reduces: bool = False

    @property
    def id(self) -> str:
        """A short text that tells the case from others."""
        shown = [_shown(o) for o in self.operands] + [f"{k}={v}" for k, v in self.attrs.items()]
        return f"{self.name.removeprefix('relax.')}({', '.join(shown)})"


def _shown(operand: Any) -> str:
    if isinstance(operand, OperandSpec):
        dims = "x".join([str(d) for d in operand.dims])
        dtype = "" if str(operand.dtype) == "float32" else f":{operand.dtype}"
        return f"[{dims}]{dtype}"
    if isinstance(operand, list):
        return "+".join([_shown(o) for o in operand])
    return str(operand)


def tensor(*dims: Dim, dtype: Any = "float32", values: Values = "numbers") -> OperandSpec:
    """A tensor operand; by default of small whole numbers, with which float arithmetic is exact."""
    if isinstance(values, np.ndarray):
        dims = dims or values.shape
    return OperandSpec(dims, DType(dtype), values)


def case(name: str, *operands: Any, ulps: float = 0, reduces: bool = False, **attrs: Any) -> Case:
    """A case; see `Case`."""
    return Case(name, operands, attrs, ulps, reduces)


__all__ = ["VALUES", "Case", "OperandSpec", "case", "tensor"]
