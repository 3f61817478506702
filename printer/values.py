"""Attribute values: Python data and nodes inside dictionaries of attributes and annotations."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..dtype import DType
from ..errors import Diagnostic, UnsupportedError
from ..grammar.tree import CallExpr, Constant, DictExpr, ListExpr, Name, SExpr
from ..ir import IntImm, StringImm
from ..node import Node
from ..target import Target
from .core import Printer, string
from .literals import integer, real, special


def value(p: Printer, item: Any) -> SExpr:
    """An attribute value; what is read back has the same type and value.

    A Python number is bare, a constant node names its dtype. Raises UnsupportedError for values
    that attributes cannot hold.
    """
    if item is None or isinstance(item, bool):
        return Constant(item)
    if isinstance(item, str):
        return string(item)
    if isinstance(item, int):
        return integer(item)
    if isinstance(item, float):
        if math.isfinite(item):
            return real(item, p.options.header == "tvm")
        shown = special(item)
        assert shown is not None
        return CallExpr(Name("float"), (shown,))
    if isinstance(item, tuple | list):
        return ListExpr(tuple([value(p, i) for i in item]))
    if isinstance(item, Mapping):
        return attrs_value(p, item)
    if isinstance(item, IntImm) and not item.dtype.is_bool:
        return CallExpr(p.T(str(item.dtype)), (integer(item.value),))
    if isinstance(item, StringImm):
        return CallExpr(p.I("StringImm"), (string(item.value),))
    if isinstance(item, DType):
        return p.call("dtype", (string(str(item)),))
    if isinstance(item, Target):
        return p.call("target", (value(p, item.export()),))
    if isinstance(item, Node):
        return p.expr(item)
    raise UnsupportedError(
        Diagnostic("unsupported", f"script has no spelling for an attribute of type {type(item).__name__}")
    )


def attrs_value(p: Printer, attrs: Mapping[str, Any]) -> DictExpr:
    """A mapping of attributes, sorted by key."""
    keys = sorted(attrs)
    return DictExpr(tuple([string(k) for k in keys]), tuple([value(p, attrs[k]) for k in keys]))
