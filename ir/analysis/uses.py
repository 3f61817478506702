"""What a program uses: its variables, loads, calls and lets, without the arithmetic between them."""

from __future__ import annotations

from typing import Any

from ...node import Node
from ..expr import BufferLoad, Call, Let, Var
from ..stmt import BufferStore
from ..visitor import children

_USES = (Var, BufferLoad, Call, Let)
_MOST = 256
_known: dict[int, tuple[Node, tuple[Node, ...]]] = {}


def uses_below(node: Node) -> tuple[Node, ...]:
    """The variables, loads, calls and lets below and with `node`, outer ones first, each object once.

    Values that are stored are remembered for a while: one that grows from step to step around what it
    was before, as in a chain of inlined blocks, is not walked through again and again.
    """
    found: list[Node] = []
    seen: set[int] = set()
    stack: list[Any] = [node]
    while stack:
        top = stack.pop()
        if id(top) in seen:
            continue
        remembered = _known.get(id(top))
        if remembered is not None:
            found += [n for n in remembered[1] if id(n) not in seen]
            seen.update([id(n) for n in remembered[1]])
            seen.add(id(top))
            continue
        seen.add(id(top))
        if isinstance(top, _USES):
            found.append(top)
        elif isinstance(top, BufferStore):
            _remember(top.value)
        below = children(top)
        below.reverse()
        stack += below
    return tuple(found)


def _remember(value: Node) -> None:
    if id(value) not in _known:
        uses = uses_below(value)
        if len(_known) >= _MOST:
            _known.clear()
        _known[id(value)] = value, uses
