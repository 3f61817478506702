"""Expressions as text, for messages of the rooms below the printer.

The printer stands above `ir`, so it is imported when a message is made: the one place for that
besides `script()` and `explain_difference`.
"""

from __future__ import annotations

from ..node import Node


def text(node: Node) -> str:
    """The node as the printer shows it."""
    from ..printer import script

    return script(node)
