"""What a reader gives back, and how text is brought into the form that both readers count in."""

from __future__ import annotations

import gc
import threading
from dataclasses import dataclass, field
from typing import ClassVar

from ..errors import Diagnostic
from .tree import ModuleTree


@dataclass(frozen=True, slots=True)
class Reading:
    """A surface tree and the faults of its text.

    `source` is the text that the spans point into: the given text without a byte order mark and
    with plain line ends. With faults the tree holds what could be read; a faulty statement stands
    in it as `Unsupported("Error", text)`. `whole` is False where a fault may reach over the end of
    the text: an open bracket, string or block.
    """

    tree: ModuleTree
    diagnostics: tuple[Diagnostic, ...] = ()
    source: str = field(default="", repr=False)
    whole: bool = field(default=True, repr=False)

    @property
    def ok(self) -> bool:
        """No diagnostic is an error."""
        return not any(d.severity == "error" for d in self.diagnostics)


class no_collection:
    """A context in which the garbage collector rests.

    Reading makes many objects at once and no cycles; looking through them again and again would take
    as long as making them.
    """

    _lock: ClassVar[threading.Lock] = threading.Lock()
    _users: ClassVar[int] = 0
    _was_enabled: ClassVar[bool] = True

    def __enter__(self) -> None:
        with no_collection._lock:
            if no_collection._users == 0:
                no_collection._was_enabled = gc.isenabled()
                gc.disable()
            no_collection._users += 1

    def __exit__(self, *exc: object) -> None:
        with no_collection._lock:
            no_collection._users -= 1
            if no_collection._users == 0 and no_collection._was_enabled:
                gc.enable()


def plain(source: str) -> str:
    """The text without a byte order mark and with `\\n` as its only line end."""
    if source.startswith("\ufeff"):
        source = source[1:]
    if "\r" in source:
        source = source.replace("\r\n", "\n").replace("\r", "\n")
    return source
