"""Tags: a word given to the operations that are made within `tag_scope`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar, Token
from typing import Any, TypeVar

from .faults import fault

F = TypeVar("F", bound=Callable[..., Any])
_CURRENT: ContextVar[str | None] = ContextVar("te_tag", default=None)


class TagScope:
    """Operations made within have this tag. Also a decorator of functions that make some."""

    __slots__ = ("_token", "tag")

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self._token: Token[str | None] | None = None

    @staticmethod
    def get_current() -> str | None:
        """The tag in force, or None."""
        return _CURRENT.get()

    def __enter__(self) -> TagScope:
        outer = _CURRENT.get()
        if outer is not None:
            raise fault(f"the tag `{self.tag}` stands within the tag `{outer}`; tags do not nest")
        self._token = _CURRENT.set(self.tag)
        return self

    def __exit__(self, *failure: object) -> None:
        assert self._token is not None
        _CURRENT.reset(self._token)

    def __call__(self, function: F) -> F:
        @functools.wraps(function)
        def tagged(*args: Any, **keywords: Any) -> Any:
            with TagScope(self.tag):
                return function(*args, **keywords)

        return tagged  # type: ignore[return-value]


def tag_scope(tag: str) -> TagScope:
    """A scope whose operations have this tag: a context manager, or a decorator.

    Raises TensorExpressionError (a ValueError) on entry within another one.
    """
    return TagScope(tag)


def effective_tag(tag: str) -> str:
    """The tag of an operation made now. Raises TensorExpressionError for one of its own in a scope."""
    current = _CURRENT.get()
    if current is None:
        return tag
    if tag:
        raise fault(
            f"the operation has the tag `{tag}` and stands within the tag `{current}`; tags do not nest"
        )
    return current
