"""Checks of a case: its types, its numpy meaning, its legalized forms, compiled or run by the oracle."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...dtype import DType
from ...ir import IRModule, PrimFunc, PrimType, Tuple, Var, const
from ...ir.relax import Function, TensorType, get_op
from ..graphs import Kernel, evaluate
from .spec import Case, OperandSpec

SIZES: Sequence[Mapping[str, int]] = (
    {"n": 3, "m": 5, "k": 2},
    {"n": 4, "m": 1, "k": 6},
    {"n": 0, "m": 2, "k": 1},
)
"""The sizes that the symbols of cases get in turn; the last has a tensor without elements."""
_INT64 = PrimType("int64")


class _Graph:
    """The graph function of a case, and arguments for it; without `sizes` its symbols are symbols."""

    def __init__(self, case: Case, sizes: Mapping[str, int] | None) -> None:
        self.case = case
        self.sizes = sizes
        self.symbols: dict[str, Var] = {}
        self.params: list[Var] = []
        self.specs: list[OperandSpec | str] = []
        rec = get_op(case.name)
        given = [self.operand(o) for o in case.operands]
        call = rec(*given, **case.attrs)
        loose = [v for name, v in self.symbols.items() if not self._defined(name)]
        self.specs += [v.name for v in loose]
        self.func = Function([*self.params, *loose], call, None)

    def _defined(self, name: str) -> bool:
        return any(name in s.dims for s in self.specs if isinstance(s, OperandSpec))

    def dim(self, dim: Any) -> Any:
        """A size: a number, or the expression of a symbol."""
        if not isinstance(dim, str):
            return dim
        if self.sizes is not None:
            return const(self.sizes[dim], "int64")
        return self.symbols.setdefault(dim, Var(dim, _INT64))

    def operand(self, operand: Any) -> Any:
        """An operand of the call; tensors become parameters."""
        if isinstance(operand, OperandSpec):
            ty = TensorType([self.dim(d) for d in operand.dims], operand.dtype)
            self.params.append(Var(f"x{len(self.params)}", ty))
            self.specs.append(operand)
            return self.params[-1]
        if isinstance(operand, list):
            return Tuple([self.operand(o) for o in operand])
        if isinstance(operand, tuple):
            return tuple([self.dim(d) for d in operand])
        return self.dim(operand) if isinstance(operand, str) else operand


def graph(case: Case, sizes: Mapping[str, int] | None = None) -> Function:
    """The graph function that calls the case's operator; with symbols, or with these sizes for them."""
    return _Graph(case, sizes).func


def arguments(case: Case, sizes: Mapping[str, int], symbolic: bool) -> list[Any]:
    """Arguments for the function, always the same ones for a case."""
    rng = np.random.default_rng(zlib.crc32(case.id.encode()))
    specs = _Graph(case, None if symbolic else sizes).specs
    return [s.sample(rng, sizes) if isinstance(s, OperandSpec) else sizes[s] for s in specs]


def check_case(case: Case, kernel: Kernel | None = None, static: int = len(SIZES)) -> None:
    """Check that an operator has the type that its rule says, and computes its numpy meaning when legalized.

    One kernel for symbolic sizes runs with each of `SIZES`; the first `static` of them get their own kernels.
    `kernel` runs the loop programs (`native` compiles them); without it their oracle does.
    """
    symbolic = legalized(graph(case))
    for number, chosen in enumerate(SIZES):
        given = arguments(case, chosen, True)
        want = evaluate(graph(case), *given)
        if kernel is not None or not case.reduces or 0 not in chosen.values():
            compare(case, evaluate(symbolic, *_copies(given), kernel=kernel), want, case.ulps)
        if number < static:
            given = arguments(case, chosen, False)
            fixed = legalized(graph(case, chosen))
            compare(case, evaluate(fixed, *given, kernel=kernel), want, case.ulps)


def _copies(given: Sequence[Any]) -> list[Any]:
    return [np.array(g) if isinstance(g, np.ndarray) else g for g in given]


def compare(case: Case, got: Any, want: Any, ulps: float) -> None:
    """Check that results are equal, or close where floats may differ. Raises AssertionError."""
    if isinstance(want, tuple):
        assert len(got) == len(want)
        for x, y in zip(got, want):
            compare(case, x, y, ulps)
        return
    x, y = np.asarray(got), np.asarray(want)
    assert x.dtype == y.dtype, f"{case.id}: {x.dtype} against {y.dtype}"
    assert x.shape == y.shape, f"{case.id}: {x.shape} against {y.shape}"
    if not DType(y.dtype).is_float:
        np.testing.assert_array_equal(x, y, err_msg=case.id)
        return
    near = ulps * _eps(y.dtype)
    x, y = x.astype("float64"), y.astype("float64")
    np.testing.assert_allclose(x, y, rtol=near, atol=near, equal_nan=True, err_msg=case.id)


def _eps(dtype: Any) -> float:
    import ml_dtypes

    return float(ml_dtypes.finfo(dtype).eps)


def legalized(func: Function) -> IRModule:
    """The module whose `main` is the function, its operator replaced by loop programs."""
    from ...transform import get_pass

    return get_pass("relax.LegalizeOps")(IRModule({"main": func}))


@functools.lru_cache(maxsize=64)
def _compiled(func: PrimFunc, schedule: str | None) -> Any:
    from ...codegen import build

    return build(func.with_attr("global_symbol", "kernel"), "llvm", schedule=schedule)["kernel"]


def native(
    func: PrimFunc, args: Sequence[Any], mod: IRModule | None, schedule: str | None = "default"
) -> None:
    """A kernel of `evaluate` that runs machine code."""
    _compiled(func, schedule)(*args)


__all__ = ["SIZES", "arguments", "check_case", "compare", "graph", "legalized", "native"]
