"""`tvm.tirx.expr`: expression nodes."""

from __future__ import annotations

from typing import Any

from .... import ir, te
from ....ir import CommReducer, Effect, Expr, StringImm, Var
from ...adapters import adapts, lacking
from ..ir.expr import BufferLoad, BufferRegion, Call, Range
from ..ir.prim import *  # noqa: F403  the scalar nodes
from ..ir.prim import __all__ as _SCALAR

CallEffectKind = Effect


@adapts(ir.IterVar, DataPar=0, ThreadIndex=1, CommReduce=2, Ordered=3, Opaque=4, DimInfo=4)
def IterVar(dom: Any, var: Any, iter_type: int, thread_tag: str = "", span: Any = None) -> Any:
    """An iteration axis; the domain may be a pair of begin and end, the variable a name."""
    return ir.iter_var(var, dom, iter_type, thread_tag)


@adapts(ir.Reduce)
def Reduce(
    combiner: Any, src: Any, rdom: Any, condition: Any, value_index: int, init: Any = None, span: Any = None
) -> Any:
    """A reduction of `src` over the axes `rdom`."""
    values = tuple([ir.as_expr(v) for v in src])
    start = tuple([ir.as_expr(v) for v in init or ()])
    return ir.Reduce(combiner, values, tuple(rdom), ir.as_expr(condition), value_index, start)


class EqualOp:
    """A comparison by `==` that waits to become a node. There is none here: `==` builds the node at once."""


class NotEqualOp:
    """The same for `!=`."""


def ProducerLoad(producer: Any, indices: Any, span: Any = None) -> Any:
    """The element of a tensor at these indices."""
    return te.ProducerLoad(producer, tuple(indices))


__getattr__ = lacking("tvm.tirx.expr")

__all__ = [
    *[name for name in _SCALAR if name not in ("max_value", "min_value")],
    "BufferLoad",
    "BufferRegion",
    "Call",
    "CallEffectKind",
    "CommReducer",
    "EqualOp",
    "Expr",
    "IterVar",
    "NotEqualOp",
    "ProducerLoad",
    "Range",
    "Reduce",
    "StringImm",
    "Var",
]
