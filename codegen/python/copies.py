"""Copies in the background: in the oracle their data appears when the program waits for them, not before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ...ir import HANDLE, BufferType, Call, Expr, Var
from . import expressions as X
from .faults import broken, unsupported
from .memory import Pointer, View
from .scope import UNSET, Scope

Closure = Callable[[list[Any]], Any]
_QUEUE: Final = Var("copies_under_way", HANDLE)
"""Stands for the queue of a call: each function's frame has a slot for it where it copies."""


class _Queue:
    """Groups of copies in the order in which they end; each copy is the function that ends it."""

    def __init__(self) -> None:
        self.groups: list[list[Callable[[], None]]] = []
        self.open: list[Callable[[], None]] = []

    def commit(self) -> None:
        """End the group of the copies started last."""
        self.groups.append(self.open)
        self.open = []

    def wait(self, left: int) -> None:
        """End all groups but this many, the latest."""
        while len(self.groups) > left:
            for end in self.groups.pop(0):
                end()


def _queue(scope: Scope) -> Callable[[list[Any]], _Queue]:
    slot = scope.define(_QUEUE)

    def find(env: list[Any]) -> _Queue:
        if env[slot] is UNSET:
            env[slot] = _Queue()
        found: _Queue = env[slot]
        return found

    return find


def commit_group(scope: Scope, e: Call, index: bool) -> Closure:
    """The end of a group of copies."""
    queue = _queue(scope)

    def run(env: list[Any]) -> Any:
        queue(env).commit()
        return 0

    return run


def wait_group(scope: Scope, e: Call, index: bool) -> Closure:
    """Waits until at most so many groups are under way."""
    queue, left = _queue(scope), X.expression(scope, e.args[0], True)

    def run(env: list[Any]) -> Any:
        queue(env).wait(left(env))
        return 0

    return run


def async_copy(scope: Scope, e: Call, index: bool) -> Closure:
    """Starts a copy of elements in a row, of zeros where the predicate is false."""
    dtype = e.dtype
    item = dtype.numpy().itemsize
    queue = _queue(scope)
    to, to_offset, source, offset, size, *predicate = X.expressions(scope, e.args)
    zero: Any = 0.0 if dtype.is_float else 0

    def run(env: list[Any]) -> Any:
        count = size(env) // item
        target = _cells(scope, env, e, to(env), to_offset(env) * item, count)
        places = [X.cell(scope, env, e, target, [k]) for k in range(count)]
        values = [zero] * count
        if all(p(env) for p in predicate):
            cells = _cells(scope, env, e, source(env), offset(env) * item, count)
            values = [X.read(scope, env, e, cells, X.cell(scope, env, e, cells, [k])) for k in range(count)]

        def end() -> None:
            for at, value in zip(places, values, strict=True):
                X.write(scope, env, e, target, at, value)

        queue(env).open.append(end)
        return 0

    return run


def guarded_load(scope: Scope, e: Call, index: bool) -> Closure:
    """Loads into an element of a buffer where the guard holds; nothing is read where it does not."""
    to, guard, value, offset = X.expressions(scope, e.args)
    dtype = e.args[2].dtype

    def run(env: list[Any]) -> Any:
        if guard(env):
            item = dtype.numpy().itemsize
            target = _cells(scope, env, e, to(env), offset(env) * item, 1, e.args[2])
            X.write(scope, env, e, target, X.cell(scope, env, e, target, [0]), value(env))
        return 0

    return run


def _cells(
    scope: Scope, env: list[Any], e: Call, pointer: Any, offset: int, count: int, like: Expr | None = None
) -> View:
    """The elements from an address on."""
    if isinstance(pointer, View):
        pointer = pointer.data
    if pointer is None:
        raise broken(scope, env, e, "null-pointer", "a copy at the null pointer")
    if not isinstance(pointer, Pointer):
        raise unsupported(e, "copies take pointers")
    dtype = e.dtype if like is None else like.dtype
    return View(Var("copied", BufferType(dtype, (count,))), pointer.moved(offset), (count,))
