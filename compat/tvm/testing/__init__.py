"""`tvm.testing`: what tests of programs use."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Mapping
from typing import Any

from .... import ir
from ...adapters import lacking
from . import env
from .parameters import fixture, parameter, parameters

SKIP_SLOW_TESTS = False
IS_IN_CI = False


def main() -> None:
    """Run the tests of the calling file."""
    import pytest

    caller = sys._getframe(1).f_globals
    if caller.get("__name__") == "__main__":
        sys.exit(pytest.main([caller["__file__"], *sys.argv[1:]]))


def assert_allclose(
    actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 1e-7, verbose: bool = True
) -> None:
    """Raise AssertionError unless the arrays are close and have one shape."""
    import numpy as np

    actual, desired = np.asanyarray(_array(actual)), np.asanyarray(_array(desired))
    np.testing.assert_allclose(actual.shape, desired.shape)
    np.testing.assert_allclose(actual, desired, rtol=rtol, atol=atol, verbose=verbose)


def _array(value: Any) -> Any:
    return value.numpy() if hasattr(value, "numpy") else value


def assert_prim_expr_equal(lhs: Any, rhs: Any) -> None:
    """Raise ValueError unless the difference of two expressions simplifies to nothing."""
    a, b = ir.as_expr(lhs), ir.as_expr(rhs)
    from ....ir.arith import Analyzer

    if ir.structural_equal(a, b) or Analyzer().can_prove_equal(a, b):
        return
    raise ValueError(f"{a} and {b} are not equal")


def device_enabled(target: Any) -> bool:
    """Whether code for this target can be built and run here."""
    from ....target import Target

    kind = target if isinstance(target, str) else str(getattr(target, "kind", target))
    if isinstance(target, Mapping):
        kind = str(target["kind"])
    return bool(env.can_run((kind if isinstance(target, str) else Target(target).kind).split()[0]))


def enabled_targets() -> list[tuple[str, Any]]:
    """The targets that can be used here, with their devices."""
    from ....runtime import cpu

    return [("llvm", cpu())]


def slow(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a slow test."""
    return fn


def test_raise_error(err_kind: str, err_msg: str) -> None:
    """Raise the error of this name, one of `tvm.error` or of Python. Raises AttributeError for others."""
    from .. import error

    kind = getattr(builtins, err_kind, None) or getattr(error, err_kind)
    raise kind(err_msg)


def skip_if_32bit(reason: Any) -> Any:
    """Skip a test where addresses have 32 bits; with or without a reason of its own."""
    import pytest

    mark = pytest.mark.skipif(sys.maxsize < 1 << 32, reason="addresses have 32 bits")
    return mark(reason) if callable(reason) else mark


def strtobool(val: str) -> bool:
    """A truth value from text. Raises ValueError for others."""
    text = val.lower()
    if text in ("y", "yes", "t", "true", "on", "1"):
        return True
    if text in ("n", "no", "f", "false", "off", "0"):
        return False
    raise ValueError(f"invalid truth value {val!r}")


__getattr__ = lacking("tvm.testing")

__all__ = [
    "IS_IN_CI",
    "SKIP_SLOW_TESTS",
    "assert_allclose",
    "assert_prim_expr_equal",
    "device_enabled",
    "enabled_targets",
    "env",
    "fixture",
    "main",
    "parameter",
    "parameters",
    "skip_if_32bit",
    "slow",
    "strtobool",
    "test_raise_error",
]
