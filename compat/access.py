"""Access paths: how the peer names a place inside a node, and where two values first differ."""

from __future__ import annotations

from collections.abc import Mapping
from json import loads
from typing import Any

from .. import ir
from ..node import Attrs, Node


class AccessPath:
    """A place inside a value: steps from the root. Immutable; equal where the steps are."""

    __slots__ = ("steps",)

    def __init__(self, steps: tuple[tuple[str, Any], ...] = ()) -> None:
        self.steps = steps

    @staticmethod
    def root() -> AccessPath:
        """The value itself."""
        return AccessPath()

    def attr(self, name: str) -> AccessPath:
        """A field of it."""
        return AccessPath((*self.steps, ("attr", name)))

    def array_item(self, index: int) -> AccessPath:
        """An element of it."""
        return AccessPath((*self.steps, ("item", int(index))))

    def map_item(self, key: Any) -> AccessPath:
        """What a mapping has for a key; functions by their GlobalVar."""
        return AccessPath((*self.steps, ("key", getattr(key, "name", key))))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AccessPath) and self.steps == other.steps

    def __hash__(self) -> int:
        return hash(self.steps)

    def __str__(self) -> str:
        return "<root>" + "".join([_step_text(kind, value) for kind, value in self.steps])

    __repr__ = __str__


def _step_text(kind: str, value: Any) -> str:
    if kind == "attr":
        return f".{value}"
    if kind == "item":
        return f"[{value}]"
    return f'["{value}"]' if isinstance(value, str) else f"[{value}]"


def plain(value: Any) -> Any:
    """Lists as tuples and dictionaries as Attrs, as nodes hold them."""
    if isinstance(value, list | tuple):
        return tuple([plain(v) for v in value])
    if isinstance(value, Mapping) and not isinstance(value, Attrs) and all(isinstance(k, str) for k in value):
        return Attrs({k: plain(v) for k, v in value.items()})
    if isinstance(value, Attrs) and type(value) is not Attrs:
        return Attrs(dict(value))
    return value


def mismatch(lhs: Any, rhs: Any, map_free_vars: bool = False) -> tuple[AccessPath, AccessPath] | None:
    """Where two values first differ, as a path on either side; None when they are structurally equal."""
    a, b = plain(lhs), plain(rhs)
    found = ir.first_difference(a, b, map_free_vars=map_free_vars)
    if found is not None and found.path is not None and found.path[1] == ".name_hint":
        found = ir.first_difference(_unnamed(a), _unnamed(b), map_free_vars=map_free_vars)
    if found is None:
        return None
    path = AccessPath(tuple(_steps(found.path)))
    if isinstance(found.left, ir.PrimType) and isinstance(found.right, ir.PrimType):
        path = path.attr("dtype")
    return path, path


class _Unnamed(ir.Rewriter):
    """Takes the names off blocks, which the peer does not compare."""

    def visit_SBlock(self, block: ir.SBlock) -> Any:
        """The same block without a name."""
        return self.visit_fields(block).replace(name_hint="")


def _unnamed(value: Any) -> Any:
    return _Unnamed()(value) if isinstance(value, Node) else value


def _steps(path: Any) -> list[tuple[str, Any]]:
    texts: list[str] = []
    while path is not None:
        path, step = path
        texts.append(step)
    steps: list[tuple[str, Any]] = []
    for text in reversed(texts):
        if text.startswith("."):
            steps.append(("attr", text[1:]))
            continue
        key = loads(text[1:-1])
        steps.append(("item", key) if isinstance(key, int) else ("key", key))
    return steps
