"""What a reader gives back, and how text is brought into the form that both readers count in."""

from __future__ import annotations

from dataclasses import dataclass, field

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


def plain(source: str) -> str:
    """The text without a byte order mark and with `\\n` as its only line end."""
    if source.startswith("\ufeff"):
        source = source[1:]
    if "\r" in source:
        source = source.replace("\r\n", "\n").replace("\r", "\n")
    return source
