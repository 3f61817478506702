"""How elements of tensors and axes print: by name, as in `A[i, j]`."""

from __future__ import annotations

from ..grammar.tree import Name, SExpr, Subscript
from ..ir import IterVar
from ..printer.core import SHOWERS, Printer, shows
from ..printer.exprs import index
from .axes import Axis
from .tensor import ProducerLoad

shows(Axis)(SHOWERS[IterVar])


@shows(ProducerLoad)
def show_load(p: Printer, e: ProducerLoad) -> SExpr:
    """The element of a tensor, by the tensor's name."""
    return Subscript(Name(e.producer.name), index(p.exprs(e.indices)))
