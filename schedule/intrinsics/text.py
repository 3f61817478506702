"""Intrinsics as text: a head that the description and the implementation share, and a body for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from ...ir import PrimFunc

Pair: TypeAlias = tuple[PrimFunc, PrimFunc]
"""A description and an implementation."""


def function(text: str, **names: Any) -> PrimFunc:
    """The function that the text is, with names filled in."""
    from ...script import parse

    made = parse(text.format(**names))
    assert isinstance(made, PrimFunc)
    return made


def pair(head: str, loops: str, body: str, strides: Mapping[str, str], **names: Any) -> Pair:
    """Both functions: loops over compact buffers, and instructions on buffers with these strides."""
    compact = dict.fromkeys(strides, "")
    desc = function(head, role="desc", body=loops, **compact, **names)
    return desc, function(head, role="impl", body=body, **strides, **names)


class Formula(str):
    """An index as text: arithmetic on it gives the text of the result."""

    __slots__ = ()

    def __mod__(self, other: object) -> Formula:
        return Formula("0" if other == 1 else f"({self} % {other})")

    def __floordiv__(self, other: object) -> Formula:
        return self if other == 1 else Formula(f"({self} // {other})")

    def __add__(self, other: object) -> Formula:
        return self if other == "0" else Formula(f"({self} + {other})")

    def __mul__(self, other: object) -> Formula:
        return self if other == 1 else Formula(f"({self} * {other})")

    __rmul__ = __mul__
