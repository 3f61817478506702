"""Comparing what programs compute: the oracle against back ends, before against after a transformation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..ir import BufferType, Expr, IntImm, IRModule, PrimFunc, PrimType, Var, free_vars, substitute

Runner = Callable[..., Any]


def sample_arguments(func: PrimFunc, seed: int = 0, sizes: Mapping[str, int] | None = None) -> list[Any]:
    """Arguments for a function: small integers in every array and scalar, symbolic sizes from 1 to 4.

    `sizes` fixes symbols by name.  Raises ValueError for parameters that are pointers.
    """
    rng = np.random.default_rng(seed)
    chosen: dict[Var, Expr] = {}
    arguments: list[Any] = []
    for p in func.params:
        if isinstance(p.ty, BufferType):
            shape = [_size(e, chosen, rng, sizes or {}) for e in p.ty.shape]
            low = 0 if p.dtype.is_uint or p.dtype.is_bool else -4
            high = 1 if p.dtype.is_bool else 4
            arguments.append(rng.integers(low, high + 1, shape).astype(p.dtype.numpy()))
        elif isinstance(p.ty, PrimType):
            known = chosen.get(p)
            number = known.value if isinstance(known, IntImm) else int(rng.integers(0, 2))
            arguments.append(_scalar(number, p))
        else:
            raise ValueError(f"parameter `{p.name}` is a pointer: pass arguments of your own")
    return arguments


def _scalar(number: int, p: Var) -> Any:
    if p.dtype.is_bool:
        return bool(number)
    return float(number) if p.dtype.is_float else number


def _size(e: Expr, chosen: dict[Var, Expr], rng: np.random.Generator, sizes: Mapping[str, int]) -> int:
    from ..codegen.python import evaluate

    for v in free_vars(e):
        if v not in chosen:
            chosen[v] = IntImm(v.ty, sizes.get(v.name, int(rng.integers(1, 5))))
    return int(evaluate(substitute(e, chosen)))


def copies(arguments: Sequence[Any]) -> list[Any]:
    """The arguments, arrays copied."""
    return [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]


def assert_same_results(
    first: PrimFunc | IRModule | Runner,
    second: PrimFunc | IRModule | Runner,
    *arguments: Any,
    name: str = "main",
    tolerance: float = 0.0,
) -> None:
    """Check that two programs return and write the same.

    A PrimFunc or IRModule (its function `name`) is run by the oracle; anything else is called.
    Without arguments, small ones are made up.  Values must be equal (NaN equals NaN), or within
    `tolerance` relative to the largest magnitude where one is given.  Raises AssertionError with the
    script of the programs.
    """
    like = next((f for f in (first, second) if isinstance(f, PrimFunc | IRModule)), None)
    if not arguments and like is not None:
        func = like[name] if isinstance(like, IRModule) else like
        assert isinstance(func, PrimFunc)
        arguments = tuple(sample_arguments(func))
    a, b = copies(arguments), copies(arguments)
    got, want = _runner(second, name)(*b), _runner(first, name)(*a)
    for k, (x, y) in enumerate(zip([*a, want], [*b, got])):
        what = f"argument {k}" if k < len(a) else "the returned value"
        try:
            _assert_equal(x, y, what, tolerance)
        except AssertionError as err:
            raise AssertionError("\n".join([str(err).strip("\n"), *_scripts(first, second)])) from None


def _scripts(*programs: PrimFunc | IRModule | Runner) -> list[str]:
    """The text of the programs that have one, for messages."""
    found = []
    for which, one in zip(("first", "second"), programs):
        if isinstance(one, PrimFunc | IRModule):
            found += [f"the {which} program:", one.script(show_meta=True)]
    return found


def _runner(program: PrimFunc | IRModule | Runner, name: str) -> Runner:
    if isinstance(program, IRModule):
        from ..codegen.python import interpret

        func, module = program[name], program
        assert isinstance(func, PrimFunc)
        return lambda *args: interpret(func, args, {}, module=module)
    if isinstance(program, PrimFunc):
        return program.interpret
    return program


def _assert_equal(want: Any, got: Any, what: str, tolerance: float) -> None:
    if want is None and got is None:
        return
    x, y = np.asarray(want), np.asarray(got)
    if x.dtype.kind not in "biu":
        x, y = x.astype(np.float64), y.astype(np.float64)
        if tolerance:
            scale = np.abs(x[np.isfinite(x)]).max(initial=1.0)
            np.testing.assert_allclose(y, x, rtol=0, atol=tolerance * scale, equal_nan=True, err_msg=what)
            return
    np.testing.assert_array_equal(y, x, err_msg=what)
