"""`T`: the words of loop programs, in kernels and in plain Python.

    from loopwright.script import tirx as T

In a decorated function the builder reads the words from the source.  Outside of one, words that
make expressions work as functions: `T.exp(x)`, `T.int32(3)`, `T.Buffer((16,), "float32")`.
"""

from __future__ import annotations

from typing import Any

from ..ir.ops import waiting
from .language import TIRX as __script_table__
from .values import MISSING, WaitingForm


def __getattr__(name: str) -> Any:
    """A word of the language. Raises AttributeError with near names, UnsupportedError for waiting ones."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = __script_table__.lookup(name)
    if found is MISSING:
        unknown = __script_table__.unknown(name)
        raise AttributeError("; ".join([unknown.message, *unknown.help]), name=name)
    if isinstance(found, WaitingForm) and name not in waiting.NAMESPACES:
        raise found.error()  # a namespace may be imported under a name of its own; its words raise
    return found


def __dir__() -> list[str]:
    return __script_table__.names()
