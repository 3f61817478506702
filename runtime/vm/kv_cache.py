"""Caches of rows for models that decode step by step, by the names `vm.builtin.attention_kv_cache_*`."""

from __future__ import annotations

from typing import Any

from ...errors import ArgumentTypeError, ArgumentValueError, Diagnostic
from .builtins import builtin
from .values import Kept, describe


class KVCache(Kept):
    """Rows of one shape in contiguous memory, which grows as they are appended."""

    __slots__ = ("array", "filled")

    def __init__(self, array: Any, filled: int) -> None:
        self.array, self.filled = array, filled

    def __repr__(self) -> str:
        return f"<KVCache of {self.filled} rows of shape {self.array.shape[1:]}>"

    def append(self, rows: Any) -> None:
        """Put rows behind those that are there. Raises where they do not fit."""
        import numpy as np

        have = self.array
        if not hasattr(rows, "shape") or rows.shape[1:] != have.shape[1:] or rows.dtype != have.dtype:
            want = f"rows of `{have.dtype}` and shape {have.shape[1:]}"
            raise ArgumentTypeError(
                Diagnostic("argument-shape", f"the cache takes {want}, not {describe(rows)}")
            )
        last = self.filled + rows.shape[0]
        if last > have.shape[0]:
            self.array = np.empty((max(last, 2 * have.shape[0]), *have.shape[1:]), have.dtype)
            self.array[: self.filled] = have[: self.filled]
        self.array[self.filled : last] = rows
        self.filled = last

    def view(self, shape: tuple[int, ...]) -> Any:
        """The first rows, as many as the shape says. Raises ArgumentValueError where there are fewer."""
        if shape[1:] != self.array.shape[1:] or shape[0] > self.filled:
            text = (
                f"a cache of {self.filled} rows of shape {self.array.shape[1:]} has no view of shape {shape}"
            )
            raise ArgumentValueError(Diagnostic("argument-shape", text))
        return self.array[: shape[0]]

    def pop(self, count: int) -> None:
        """Forget the last rows."""
        if not 0 <= count <= self.filled:
            text = f"a cache of {self.filled} rows cannot give up {count}"
            raise ArgumentValueError(Diagnostic("argument-value", text))
        self.filled -= count


def _cache(value: Any) -> KVCache:
    if not isinstance(value, KVCache):
        raise ArgumentTypeError(Diagnostic("argument-type", f"{describe(value)} is no cache of rows"))
    return value


@builtin("attention_kv_cache_create")
def create(room: Any, shape: tuple[int, ...], filled: int = 0) -> KVCache:
    """A cache with room for rows like those of `room`, of which the first `filled` count."""
    if filled < 0 or filled > room.shape[0] or tuple(shape[1:]) != room.shape[1:]:
        text = f"a cache of shape {shape} with {filled} rows cannot begin as {describe(room)}"
        raise ArgumentValueError(Diagnostic("argument-shape", text))
    return KVCache(room.copy(), filled)


@builtin("attention_kv_cache_append")
def append(cache: Any, rows: Any) -> KVCache:
    """The cache with further rows."""
    _cache(cache).append(rows)
    return _cache(cache)


@builtin("attention_kv_cache_view")
def view(cache: Any, shape: tuple[int, ...]) -> Any:
    """The first rows as a tensor."""
    return _cache(cache).view(shape)


@builtin("attention_kv_cache_array_popn")
def pop(caches: Any, count: int) -> None:
    """Let caches forget their last rows."""
    for one in caches if isinstance(caches, tuple) else (caches,):
        _cache(one).pop(count)


@builtin("attention_kv_cache_array_clear")
def clear(caches: Any) -> None:
    """Let caches forget all rows."""
    for one in caches if isinstance(caches, tuple) else (caches,):
        _cache(one).pop(_cache(one).filled)


__all__ = ["KVCache"]
