"""Patterns written as text.

nn.relu(add(matmul(x, w), bias))      operators by name, operands in order
concat(parts, axis=1)                 attributes by keyword
matmul(x, ...)                        further operands may follow
add(a, a)                             a name stands for the same value everywhere
_, const, var                         anything, a constant, a variable
(a, b), t[0]                          tuples and their fields
p | q, p & q, ~p                      or, and, not
dtype(x, "float16"), shape(x, (2, 3)) constraints on types
kernel("f", x), extern("g", x)        calls of a kernel and of an external function
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....errors import Diagnostic, ScriptError
from ....grammar import tree as t
from .pattern import (
    Pattern,
    TuplePattern,
    is_call_dps_packed,
    is_call_tir,
    is_const,
    is_op,
    is_var,
    wildcard,
)


def parse_pattern(text: str) -> tuple[Pattern, dict[str, Pattern]]:
    """The pattern that a text describes, and the patterns of its names.

    Raises ScriptError, with the place, for a text that describes none.
    """
    from ....grammar import read_pattern

    reader = _Reader(text)
    return reader.pattern(read_pattern(text)), reader.names


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.names: dict[str, Pattern] = {}

    def fault(self, part: t.Surface, message: str) -> ScriptError:
        """The error for a part of the text."""
        return ScriptError(Diagnostic("syntax", message, part.span, source=self.text))

    def pattern(self, e: t.SExpr) -> Pattern:
        """The pattern that an expression describes."""
        match e:
            case t.Name(id=name):
                return self.named(name)
            case t.BinaryExpr(op="|", left=left, right=right):
                return self.pattern(left) | self.pattern(right)
            case t.BinaryExpr(op="&", left=left, right=right):
                return self.pattern(left) & self.pattern(right)
            case t.UnaryExpr(op="~", operand=operand):
                return ~self.pattern(operand)
            case t.TupleExpr(elts=elts):
                return TuplePattern([self.pattern(x) for x in elts])
            case t.Subscript(value=value, index=index):
                return self.pattern(value)[self.literal(index)]
            case t.CallExpr(func=func):
                return self.call(e, self.dotted(func))
        raise self.fault(e, "this describes no pattern")

    def named(self, name: str) -> Pattern:
        """The pattern of a name; `_` is a new one each time."""
        made = _WORDS.get(name)
        return made() if made is not None else self.names.setdefault(name, wildcard())

    def call(self, e: t.CallExpr, name: str) -> Pattern:
        """The pattern of a call of what has this name."""
        args, rest = list(e.args), False
        if args and isinstance(args[-1], t.Constant) and args[-1].value is ...:
            args, rest = args[:-1], True
        attrs = {k.name: self.literal(k.value) for k in e.keywords if k.name is not None}
        if name in ("dtype", "shape") and len(args) == 2:
            inner, wanted = self.pattern(args[0]), self.literal(args[1])
            return inner.has_dtype(wanted) if name == "dtype" else inner.has_shape(wanted)
        if name in ("kernel", "extern") and args:
            make: Callable[..., Pattern] = is_call_tir if name == "kernel" else is_call_dps_packed
            return make(self.literal(args[0]), None if rest else [self.pattern(a) for a in args[1:]])
        found: Pattern = is_op(name if name.startswith("relax.") else f"relax.{name.removeprefix('R.')}")
        found = found(*[self.pattern(a) for a in args], varg_default_wildcard=rest)
        return found.has_attr(attrs) if attrs else found

    def dotted(self, e: t.SExpr) -> str:
        """A dotted name."""
        if isinstance(e, t.Attribute):
            return f"{self.dotted(e.value)}.{e.attr}"
        if isinstance(e, t.Name):
            return e.id
        raise self.fault(e, "what is called in a pattern is the name of an operator")

    def literal(self, e: t.SExpr) -> Any:
        """The value of a constant."""
        match e:
            case t.Constant(value=value):
                return value
            case t.UnaryExpr(op="-", operand=t.Constant(value=int() | float() as value)):
                return -value
            case t.TupleExpr(elts=elts) | t.ListExpr(elts=elts):
                return tuple([self.literal(x) for x in elts])
        raise self.fault(e, "this is no constant")


_WORDS: dict[str, Callable[[], Pattern]] = {"_": wildcard, "const": is_const, "var": is_var}

__all__ = ["parse_pattern"]
