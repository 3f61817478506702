"""Equality of surface trees."""

from __future__ import annotations

from typing import Any

from .spelling import spelling
from .tree import Constant, Surface


def same_tree(a: Surface, b: Surface, *, spans: bool = False) -> bool:
    """Whether two trees say the same text: equal in everything but spans, comments included.

    With `spans` their places must be equal too. A constant without a spelling counts as spelled the
    printer's way. Works at any depth.
    """
    return first_difference(a, b, spans) is None


def first_difference(a: Surface, b: Surface, spans: bool = False) -> tuple[Any, Any] | None:
    """The first two parts in which the trees differ, or None."""
    work: list[tuple[Any, Any]] = [(a, b)]
    while work:
        x, y = work.pop()
        if x is y:
            continue
        kind = type(x)
        if kind is not type(y):
            return x, y
        if spans and isinstance(x, Surface) and x.span != y.span:
            return x, y
        if kind is Constant:
            if not _same_constant(x, y):
                return x, y
        elif isinstance(x, Surface):
            for name in reversed(kind.fields):
                if name != "span":
                    work.append((getattr(x, name), getattr(y, name)))
        elif kind is tuple:
            if len(x) != len(y):
                return x, y
            work.extend(zip(reversed(x), reversed(y)))
        elif x != y:
            return x, y
    return None


def _same_constant(x: Constant, y: Constant) -> bool:
    if type(x.value) is not type(y.value):
        return False
    if (x.text or spelling(x.value)) != (y.text or spelling(y.value)):
        return False
    return x.value == y.value or repr(x.value) == repr(y.value)
