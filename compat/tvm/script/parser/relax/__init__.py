"""`tvm.script.parser.relax`: the words of the graph dialect."""

from __future__ import annotations

import typing

from ......script import relax as _words
from ......script.language import RELAX as __script_table__
from . import entry


def __getattr__(name: str) -> typing.Any:
    """A word of the graph dialect."""
    return getattr(_words, name)


__all__ = ["__script_table__", "entry"]
