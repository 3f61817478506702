"""Access paths: where a part of a program lies, as steps from the root.

A path is a string such as `<root>.body.block.params[0]` or `attrs["target"]`, or the steps
themselves: strings are fields, integers are places in a sequence, `("key", k)` is a mapping's key.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

from ..errors import ArgumentValueError, Diagnostic
from ..ir import Functions
from .shown import Shown

Step = str | int | tuple[str, Any]
_STEP = re.compile(r"\.?([^\W\d]\w*)|\[(-?\d+)\]|\[(\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')\]")
# Where the text of a node's parts does not follow the order of its fields.
_ORDER: Mapping[str, tuple[str, ...]] = {
    "BufferStore": ("buffer", "indices", "value"),
    "SBlockRealize": ("iter_values", "predicate", "block"),
    "Let": ("body", "var", "value"),
}


def parse_path(path: Any) -> tuple[Step, ...]:
    """The steps of a path. Raises ArgumentValueError for text that is none."""
    if isinstance(path, tuple | list):
        return tuple(path)
    text = str(path)
    rest = text.removeprefix("<root>")
    steps: list[Step] = []
    position = 0
    while position < len(rest):
        match = _STEP.match(rest, position)
        if match is None:
            raise ArgumentValueError(Diagnostic("access-path", f"`{text}` is not an access path"))
        name, index, key = match.groups()
        if name is not None:
            steps.append(name)
        elif index is not None:
            steps.append(int(index))
        else:
            steps.append(("key", ast.literal_eval(key)))
        position = match.end()
    return tuple(steps)


def path_text(steps: tuple[Step, ...]) -> str:
    """A path as a string."""
    parts = ["<root>"]
    for step in steps:
        if isinstance(step, str):
            parts.append(f".{step}")
        elif isinstance(step, int):
            parts.append(f"[{step}]")
        else:
            parts.append('["' + str(step[1]).replace("\\", "\\\\").replace('"', '\\"') + '"]')
    return "".join(parts)


def walk_path(root: Any, steps: tuple[Step, ...]) -> list[Any]:
    """The objects along a path, the root first. Raises ArgumentValueError where it leads nowhere."""
    found = [root]
    for i, step in enumerate(steps):
        here = found[-1]
        try:
            if isinstance(step, str):
                found.append(getattr(here, _FIELDS.get(step, step)))
            elif isinstance(step, int):
                found.append(here[step])
            elif isinstance(here, Functions):
                found.append(next(f for g, f in here.items() if g.name == step[1]))
            else:
                found.append(here[step[1]])
        except (AttributeError, LookupError, TypeError, StopIteration) as err:
            raise ArgumentValueError(
                Diagnostic("access-path", f"`{path_text(steps[: i + 1])}` leads nowhere")
            ) from err
    return found


_FIELDS = {"fields": "fields_"}


def find(text: Shown, steps: tuple[Step, ...]) -> tuple[tuple[int, int] | None, bool]:
    """The range of what a path leads to, and whether it is that object's own and not a parent's.

    A child that several fields share is told apart by its place among them.
    """
    chain = walk_path(text.root, steps)
    own = text.places(chain[0])
    place: tuple[int, int] | None = own[0] if own else (0, len(text))
    exact = True
    parent = chain[0]
    for i, node in enumerate(chain[1:]):
        inside = [r for r in text.places(node) if place is not None and place[0] <= r[0] and r[1] <= place[1]]
        if not inside:
            exact = False
            continue
        before = _earlier(parent, steps[: i + 1], chain[: i + 2])
        place = inside[min(before, len(inside) - 1)]
        parent = node
        exact = True
    return place, exact


def _earlier(parent: Any, steps: tuple[Step, ...], chain: list[Any]) -> int:
    """How many parts of the parent before the one that the last steps name are the same object."""
    node = chain[-1]
    start = next((k for k, n in enumerate(chain) if n is parent), 0)
    field = steps[start] if start < len(steps) else None
    fields = getattr(type(parent), "fields", ())
    order = _ORDER.get(type(parent).__name__, fields)
    count = 0
    for name in order:
        value = getattr(parent, name, None)
        items = value if isinstance(value, tuple) else (value,)
        if name == field:
            last = steps[-1]
            stop = last if isinstance(last, int) and isinstance(value, tuple) else 0
            return count + sum([1 for item in items[:stop] if item is node])
        count += sum([1 for item in items if item is node])
    return 0
