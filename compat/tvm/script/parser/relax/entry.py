"""`tvm.script.parser.relax.entry`: the type words of the graph dialect, whose names are kept.

Using one raises UnsupportedError; the graph dialect comes with its own issue.
"""

from __future__ import annotations

from typing import Any

from ......errors import UnsupportedError
from ......script.language import GRAPH_DIALECT
from .....adapters import lacking


class TypeProxy:
    """A type word of the graph dialect. Raises UnsupportedError when it is used."""

    def __init__(self, *args: Any, **options: Any) -> None:
        raise UnsupportedError(GRAPH_DIALECT)


class AnyProxy(TypeProxy):
    """`R.Any`"""


class CallableProxy(TypeProxy):
    """`R.Callable`"""


class ShapeProxy(TypeProxy):
    """`R.Shape`"""


class TensorProxy(TypeProxy):
    """`R.Tensor`"""


class TupleProxy(TypeProxy):
    """`R.Tuple`"""


__getattr__ = lacking("tvm.script.parser.relax.entry", "the graph dialect comes with its own issue")

__all__ = ["AnyProxy", "CallableProxy", "ShapeProxy", "TensorProxy", "TupleProxy", "TypeProxy"]
