"""The laws of reading and printing as checks for tests."""

from __future__ import annotations

from typing import Any

from ..ir import BaseFunc, IRModule, Stmt, explain_difference, structural_equal
from ..node import Node
from ..printer import script


def assert_roundtrip(node: Node, **options: Any) -> str:
    """Check that the node's script parses back to the same node and prints the same again; gives the script.

    Modules and functions are compared exactly; for fragments free variables are mapped.  Raises
    AssertionError that holds the script and says where the two sides part.
    """
    from ..script import parse

    start = "module"
    if not isinstance(node, IRModule | BaseFunc):
        start = "statements" if isinstance(node, Stmt) else "expression"
        options.setdefault("verbose_expr", True)  # free variables are declared in front
    text = script(node, show_meta=True, **options)
    back = parse(text, start=start, check_well_formed=False)
    free = start != "module"
    if not structural_equal(node, back, map_free_vars=free):
        where = explain_difference(node, back)
        raise AssertionError(f"the script parses to another program\n{where}\n\n{text}")
    again = script(back, show_meta=True, **options)
    if again != text:
        raise AssertionError(f"printing again gives another text\n{text}\n--- again\n{again}")
    return text
