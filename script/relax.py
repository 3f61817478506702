"""`R`: the words of graphs, in graph functions and in plain Python.

    from loopwright.script import relax as R

In a decorated function the builder reads the words from the source.  Outside of one, operators make calls:
`R.add(x, y)`; and types are made by `R.Tensor((4,), "float32")`.
"""

from __future__ import annotations

import typing as _typing

from .language import RELAX as __script_table__
from .values import MISSING as _MISSING
from .values import WaitingForm as _WaitingForm


def __getattr__(name: str) -> _typing.Any:
    """A word of the language. Raises AttributeError with near names, UnsupportedError for waiting ones."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = __script_table__.lookup(name)
    if found is _MISSING:
        unknown = __script_table__.unknown(name)
        raise AttributeError("; ".join([unknown.message, *unknown.help]), name=name)
    if isinstance(found, _WaitingForm):
        raise found.error()
    return found


def __dir__() -> list[str]:
    return __script_table__.names()
