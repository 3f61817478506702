"""`tvm.relax.op`: operators of the graph dialect by name."""

from __future__ import annotations

from typing import Any

from ....script.language import RELAX
from ....script.relax_words import find_word
from ....script.values import MISSING
from ...adapters import lacking

_find = find_word("")
_missing = lacking("tvm.relax.op")


def find_operator(name: str) -> Any:
    """The word of an operator, or a group of operators; None where there is none."""
    found = _find(name) if name != "call_packed" else RELAX.lookup(name)
    return None if found is MISSING else found


def __getattr__(name: str) -> Any:
    """Operators by name. Raises AttributeError for what is not there yet."""
    found = None if name.startswith("__") else find_operator(name)
    return _missing(name) if found is None else found


__all__ = ["find_operator"]
