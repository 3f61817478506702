"""Walking and rewriting any node with plain functions."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from ...errors import Diagnostic, UnsupportedError
from ...ir import Rewriter, walk
from ...node import Node, runs_deep
from ..adapters import lacking


class WalkOrder(enum.Enum):
    """When a node's function is called: before or after its parts."""

    PRE = "pre"
    POST = "post"


class WalkResult(enum.Enum):
    """What a function may answer."""

    ADVANCE = 0
    SKIP = 1
    INTERRUPT = 2


class VisitInterrupt:
    """The answer that ends a walk, with a value."""

    def __init__(self, value: Any = None) -> None:
        self.value = value


def _functions(callbacks: Any) -> list[tuple[type | tuple[type, ...], Callable[..., Any]]]:
    if callable(callbacks):
        return [(Node, callbacks)]
    if isinstance(callbacks, tuple) and len(callbacks) == 2 and isinstance(callbacks[0], type | tuple):
        return [callbacks]
    found = []
    for item in callbacks:
        found.append(item if isinstance(item, tuple) else (Node, item))
    return found


@runs_deep
def structural_walk(
    root: Any, callbacks: Any = (), with_def_region_kind: Any = (), order: str | WalkOrder = "post"
) -> VisitInterrupt | None:
    """Call the functions on every node below `root`, parts first.

    A callback is a function, or a pair of class and function.  Raises UnsupportedError for the order
    "pre" and for `with_def_region_kind`.
    """
    if with_def_region_kind or WalkOrder(order) is not WalkOrder.POST:
        raise UnsupportedError(Diagnostic("unsupported", "structural_walk goes in the order `post` only"))
    functions = _functions(callbacks)
    for node in walk(root):
        for kind, function in functions:
            if isinstance(node, kind):
                answer = function(node)
                if isinstance(answer, VisitInterrupt):
                    return answer
    return None


@runs_deep
def structural_map(
    root: Any, callbacks: Any = (), with_def_region_kind: Any = (), order: str | WalkOrder = "post"
) -> Any:
    """The node with every part replaced by what the functions make of it, parts first; None keeps a part."""
    if with_def_region_kind or WalkOrder(order) is not WalkOrder.POST:
        raise UnsupportedError(Diagnostic("unsupported", "structural_map goes in the order `post` only"))
    functions = _functions(callbacks)

    class Mapper(Rewriter):
        def visit(self, node: Any) -> Any:
            made = super().visit(node)
            for kind, function in functions:
                if isinstance(made, kind):
                    answer = function(made)
                    made = made if answer is None else answer
            return made

    return Mapper().visit(root)


__getattr__ = lacking("tvm_ffi.structural")

__all__ = ["VisitInterrupt", "WalkOrder", "WalkResult", "structural_map", "structural_walk"]
