"""`tvm.script.parser.relax.entry`: what the words for types of the graph dialect are."""

from __future__ import annotations

from ......script.language import RELAX
from ......script.relax_builder import Casting as MatchCastPair
from ......script.values import TypeForm as TypeProxy
from .....adapters import lacking

AnyProxy = RELAX.table["Any"]
CallableProxy = RELAX.table["Callable"]
ShapeProxy = RELAX.table["Shape"]
TensorProxy = RELAX.table["Tensor"]
TupleProxy = RELAX.table["Tuple"]

__getattr__ = lacking("tvm.script.parser.relax.entry")

__all__ = [
    "AnyProxy",
    "CallableProxy",
    "MatchCastPair",
    "ShapeProxy",
    "TensorProxy",
    "TupleProxy",
    "TypeProxy",
]
