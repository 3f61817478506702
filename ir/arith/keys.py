"""Numbers for expressions: equal numbers mean structurally equal, pure expressions."""

from __future__ import annotations

from typing import Any

from ...node import Attrs, Node
from ..expr import (
    Add,
    BinaryOp,
    BitwiseAnd,
    BitwiseOr,
    BitwiseXor,
    Call,
    Expr,
    FloatImm,
    IntImm,
    Max,
    Min,
    Mul,
    Var,
)
from ..op import Effect, Op, find_record

_COMMUTATIVE = frozenset({Add, Mul, Min, Max, BitwiseAnd, BitwiseOr, BitwiseXor})


class Keys:
    """Gives every expression a number; variables are compared by identity.

    Calls with effects (and calls of what is not known) get a number of their own each time, and
    `pure` is false of everything that holds one.
    """

    def __init__(self) -> None:
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._memo: dict[int, tuple[Any, int, bool]] = {}

    def key(self, e: Expr) -> int:
        """The number of the expression."""
        found = self._memo.get(id(e))
        return found[1] if found is not None else self._visit(e)[1]

    def pure(self, e: Expr) -> bool:
        """Whether evaluating the expression has no effect but its value."""
        found = self._memo.get(id(e))
        return found[2] if found is not None else self._visit(e)[2]

    def same(self, a: Expr, b: Expr) -> bool:
        """Whether the two are structurally equal and pure."""
        return a is b or self.key(a) == self.key(b)

    def _visit(self, e: Expr) -> tuple[Any, int, bool]:
        parts: list[Any] = [type(e)]
        pure = True
        if isinstance(e, Var):
            parts.append(id(e))
        elif isinstance(e, IntImm):
            parts += [e.ty, e.value]
        elif isinstance(e, FloatImm):
            parts += [e.ty, repr(e.value)]
        elif isinstance(e, BinaryOp):
            return self._visit_binary(e)
        else:
            pure = self._visit_fields(e, parts)
            if isinstance(e, Call) and not is_pure_call(e):
                pure = False
            if not pure:
                parts = [None, id(e)]
            elif type(e) in _COMMUTATIVE and e.dtype.is_integral and parts[1] > parts[2]:
                parts[1], parts[2] = parts[2], parts[1]
        number = self._numbers.setdefault(tuple(parts), len(self._numbers))
        entry = self._memo[id(e)] = (e, number, pure)
        return entry

    def _visit_binary(self, e: BinaryOp) -> tuple[Any, int, bool]:
        a = self._memo.get(id(e.a)) or self._visit(e.a)
        b = self._memo.get(id(e.b)) or self._visit(e.b)
        x, y, kind = a[1], b[1], type(e)
        if x > y and kind in _COMMUTATIVE and e.dtype.is_integral:
            x, y = y, x
        pure = a[2] and b[2]
        parts = (kind, x, y) if pure else (None, id(e))
        number = self._numbers.setdefault(parts, len(self._numbers))
        entry = self._memo[id(e)] = (e, number, pure)
        return entry

    def _visit_fields(self, e: Node, parts: list[Any]) -> bool:
        pure = True
        for name in type(e).fields:
            if name == "span":
                continue
            value = getattr(e, name)
            for item in value if type(value) is tuple else (value,):
                if isinstance(item, Op):
                    parts.append(item.name)
                elif isinstance(item, Expr):
                    entry = self._memo.get(id(item)) or self._visit(item)
                    parts.append(entry[1])
                    pure = pure and entry[2]
                elif isinstance(item, Attrs):
                    parts.append(tuple(sorted((k, repr(v)) for k, v in item.items())))
                elif isinstance(item, Node) and name != "ty":
                    pure = self._visit_fields(item, parts) and pure
                else:
                    parts.append(_leaf(item))
            if type(value) is tuple:
                parts.append(None)
        return pure


def _leaf(item: Any) -> Any:
    try:
        hash(item)
    except TypeError:
        return id(item)
    return item


def is_pure_call(call: Call) -> bool:
    """Whether the operator is known and at most reads memory."""
    if not isinstance(call.op, Op):
        return False
    rec = find_record(call.op.name)
    return (
        rec is not None and rec.effect <= Effect.READ and rec.effect is not Effect.ANNOTATION or _hint(call)
    )


def _hint(call: Call) -> bool:
    return isinstance(call.op, Op) and call.op.name in ("prim.likely", "tirx.likely")
