"""`I`: the words of modules."""

from __future__ import annotations

from typing import Any

from .language import IR as __script_table__
from .values import MISSING, WaitingForm


def __getattr__(name: str) -> Any:
    """A word of the language. Raises AttributeError with near names, UnsupportedError for waiting ones."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = __script_table__.lookup(name)
    if found is MISSING:
        unknown = __script_table__.unknown(name)
        raise AttributeError("; ".join([unknown.message, *unknown.help]), name=name)
    if isinstance(found, WaitingForm):
        raise found.error()
    return found


def __dir__() -> list[str]:
    return __script_table__.names()
