"""Unique names: each variable's hint, made a legal identifier that nothing else in scope has."""

from __future__ import annotations

import functools
import keyword
import re
import unicodedata
from collections.abc import Iterable
from typing import Final

RESERVED: Final = frozenset(keyword.kwlist) | {"metadata", "TypeVar", "range", "float"}
"""Names that no variable gets; the prefixes, the module alias and the module's name come on top."""

_NUMBERED: Final = re.compile(r"(.*)_([1-9][0-9]*)")


@functools.lru_cache(maxsize=8192)
def identifier(hint: str) -> str:
    """The hint as an identifier; a legal one comes back unchanged.

    Identifiers beyond ASCII are kept where Python's own normalisation would keep them; all other
    characters become `_`.  An empty hint gives `v`, a leading digit is preceded by `_`.
    """
    if hint.isidentifier() and (hint.isascii() or unicodedata.normalize("NFKC", hint) == hint):
        return hint
    if not hint:
        return "v"
    name = "".join([c if c == "_" or (c.isascii() and c.isalnum()) else "_" for c in hint])
    return "_" + name if name[0].isdigit() else name


def legal_name(name: str) -> bool:
    """Whether a function's name can stand in `def`."""
    return identifier(name) == name and name not in RESERVED


class Names:
    """The names in use; a name is free again once it is released.

    A clash is resolved by the lowest free number (`x`, `x_1`, `x_2`, ...); the search for it
    starts where the last one ended, so many variables of one name take linear time.
    """

    __slots__ = ("_next", "_reserved", "_used")

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._reserved = RESERVED | set(reserved)
        self._used: set[str] = set()
        self._next: dict[str, int] = {}

    def fresh(self, hint: str) -> str:
        """A free name for this hint, in use from now on."""
        base = name = identifier(hint)
        used = self._used
        if name in used or name in self._reserved:
            number = self._next.get(base, 1)
            name = f"{base}_{number}"
            while name in used or name in self._reserved:
                number += 1
                name = f"{base}_{number}"
            self._next[base] = number + 1
        used.add(name)
        return name

    def release(self, name: str) -> None:
        """Make the name free again."""
        self._used.discard(name)
        if self._next:
            match = _NUMBERED.fullmatch(name)
            if match is not None:
                base, number = match[1], int(match[2])
                if number < self._next.get(base, 0):
                    self._next[base] = number

    def __contains__(self, name: str) -> bool:
        return name in self._used or name in self._reserved
