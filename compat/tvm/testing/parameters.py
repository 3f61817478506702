"""Parameters and fixtures of tests: pytest fixtures with the peer's spelling."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any


def _id(value: Any) -> str | None:
    name = getattr(value, "__name__", None)
    return str(name) if name is not None else None


def parameter(*values: Any, ids: Any = None, by_dict: Mapping[str, Any] | None = None) -> Any:
    """A fixture that takes each of the values; assigned to a name, tests ask for it by that name."""
    import pytest

    if by_dict is not None:
        if values or ids:
            raise RuntimeError("parameter takes values or `by_dict`, not both")
        ids, values = zip(*by_dict.items()) if by_dict else ((), ())

    @pytest.fixture(params=values, ids=list(ids) if ids is not None else _id)
    def as_fixture(*instance: Any, request: Any) -> Any:
        # in a class it is a method, elsewhere a function: an instance is passed or not
        return request.param

    return as_fixture


def parameters(*value_sets: Any, ids: Any = None) -> tuple[Any, ...]:
    """Several parameters that vary together: one fixture each for the places of the tuples."""
    import pytest

    def place(i: int) -> Any:
        @pytest.fixture(params=[values[i] for values in value_sets], ids=ids)
        def as_fixture(*instance: Any, request: Any) -> Any:
            return request.param

        return as_fixture

    return tuple([place(i) for i in range(len(value_sets[0]))])


def fixture(func: Callable[..., Any] | None = None, *, cache_return_value: bool = False) -> Any:
    """A pytest fixture; with `cache_return_value` made once for each setting of what it asks for."""
    import pytest

    if func is None:
        return functools.partial(fixture, cache_return_value=cache_return_value)
    scope: Any = "session" if cache_return_value and not func.__code__.co_argcount else "function"
    return pytest.fixture(scope=scope)(func)


__all__ = ["fixture", "parameter", "parameters"]
