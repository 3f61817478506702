"""Matching one pattern against one expression."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ....node import NO_ATTRS
from ...equal import structural_equal
from ...expr import Call, Expr, GenericConst, GlobalVar, Tuple, TupleGetItem, Var
from ...function import ExternFunc
from ...op import Op
from ...visitor import substitute
from ..call_type import unify
from ..expr import DataflowVar, Function, ShapeExpr
from ..relations import same_sizes
from ..subtype import is_base_of
from ..types import TensorType
from . import pattern as P

COMMUTATIVE = frozenset({"relax.add", "relax.multiply"})


def match(
    pattern: P.Pattern, expr: Expr, var2val: Mapping[Var, Expr] | None = None
) -> dict[P.Pattern, Expr] | None:
    """What a pattern and those in it match, None where it does not match the expression.

    Variables of `var2val` stand for their values where the pattern asks for something else than a variable;
    what is reported is the variable.
    """
    matcher = Matcher(var2val or {})
    return dict(matcher.found) if matcher.match(pattern, expr) else None


class Matcher:
    """Matches patterns one after another: `found` holds what each pattern matched, `symbols` sizes."""

    def __init__(self, var2val: Mapping[Var, Expr]) -> None:
        self.var2val = var2val
        self.found: dict[P.Pattern, Expr] = {}
        self.symbols: dict[Var, Expr] = {}

    def match(self, pattern: P.Pattern, expr: Expr) -> bool:
        """Whether it matches together with what was matched before; where not, nothing is kept of it."""
        before = self.found.get(pattern)
        if before is not None:
            return _same(before, expr)
        kept, symbols = dict(self.found), dict(self.symbols)
        if _RULES[type(pattern)](self, pattern, expr):
            self.found[pattern] = expr
            return True
        self.found, self.symbols = kept, symbols
        return False

    def value(self, expr: Expr) -> Expr:
        """What a variable stands for, as far as it is known; other expressions themselves."""
        while isinstance(expr, Var) and expr in self.var2val:
            expr = self.var2val[expr]
        return expr

    def all(self, patterns: Sequence[P.Pattern], exprs: Sequence[Expr]) -> bool:
        """Whether each pattern matches the expression at its place."""
        kept, symbols = dict(self.found), dict(self.symbols)
        if all(self.match(p, e) for p, e in zip(patterns, exprs, strict=True)):
            return True
        self.found, self.symbols = kept, symbols
        return False

    def any_order(self, patterns: Sequence[P.Pattern], exprs: Sequence[Expr]) -> bool:
        """Whether the patterns match the expressions in some order."""
        if not patterns:
            return not exprs
        for i, e in enumerate(exprs):
            kept, symbols = dict(self.found), dict(self.symbols)
            rest = [*exprs[:i], *exprs[i + 1 :]]
            if self.match(patterns[0], e) and self.any_order(patterns[1:], rest):
                return True
            self.found, self.symbols = kept, symbols
        return False


def _same(a: Expr, b: Expr) -> bool:
    return a is b or (not isinstance(a, Var) and structural_equal(a, b))


def _call(m: Matcher, p: P.CallPattern, e: Expr) -> bool:
    call = m.value(e)
    if not isinstance(call, Call) or not m.match(p.op, call.op):  # type: ignore[arg-type]
        return False
    if p.args is None:
        return True
    if len(p.args) > len(call.args) or (len(p.args) < len(call.args) and not p.varg_default_wildcard):
        return False
    args = call.args[: len(p.args)]
    if m.all(p.args, args):
        return True
    swaps = isinstance(call.op, Op) and call.op.name in COMMUTATIVE and len(args) == 2
    return swaps and m.all(p.args, args[::-1])


def _expr(m: Matcher, p: P.ExprPattern, e: Expr) -> bool:
    return _same(p.expr, e) or _same(p.expr, m.value(e))


def _named(kind: type[Any]) -> Callable[[Matcher, Any, Expr], bool]:
    return lambda m, p, e: isinstance(e, kind) and p.name in ("", e.name)


def _extern(m: Matcher, p: P.ExternFuncPattern, e: Expr) -> bool:
    return isinstance(e, ExternFunc) and p.global_symbol in ("", e.global_symbol)


def _function(m: Matcher, p: P.FunctionPattern, e: Expr) -> bool:
    func = m.value(e)
    if not isinstance(func, Function) or len(func.params) != len(p.params):
        return False
    return m.all(p.params, func.params) and m.match(p.body, func.body.body)


def _tuple(m: Matcher, p: P.TuplePattern, e: Expr) -> bool:
    value = m.value(e)
    return isinstance(value, Tuple) and len(value.fields_) == len(p.fields) and m.all(p.fields, value.fields_)


def _unordered(m: Matcher, p: P.UnorderedTuplePattern, e: Expr) -> bool:
    value = m.value(e)
    return isinstance(value, Tuple) and m.any_order(p.fields, value.fields_)


def _field(m: Matcher, p: P.TupleGetItemPattern, e: Expr) -> bool:
    value = m.value(e)
    right = isinstance(value, TupleGetItem) and p.index in (None, value.index)
    return right and m.match(p.tuple, value.tuple_value)  # type: ignore[attr-defined]


def _not(m: Matcher, p: P.NotPattern, e: Expr) -> bool:
    kept, symbols = dict(m.found), dict(m.symbols)
    matched = m.match(p.rejected, e)
    m.found, m.symbols = kept, symbols
    return not matched


def _type(m: Matcher, p: P.TypePattern, e: Expr) -> bool:
    unify(p.ty, e.ty, m.symbols)
    return m.match(p.pattern, e) and is_base_of(substitute(p.ty, m.symbols), e.ty)


def _dtype(m: Matcher, p: P.DataTypePattern, e: Expr) -> bool:
    return getattr(e.ty, "dtype", None) == p.dtype and m.match(p.pattern, e)


def _shape(m: Matcher, p: P.ShapePattern, e: Expr) -> bool:
    sizes = e.ty.sizes if isinstance(e.ty, TensorType) else None
    return sizes is not None and same_sizes(sizes, p.shape.values) and m.match(p.pattern, e)


def _attr(m: Matcher, p: P.AttrPattern, e: Expr) -> bool:
    have = getattr(m.value(e), "attrs", NO_ATTRS)
    agree = all(key in have and _equal(have[key], value) for key, value in p.attrs.items())
    return agree and m.match(p.pattern, e)


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, str) or isinstance(b, str):
        return str(a) == str(b)
    return a == b if not isinstance(a, Expr) and not isinstance(b, Expr) else structural_equal(a, b)


def _sizes(m: Matcher, p: P.PrimArrPattern, e: Expr) -> bool:
    value = m.value(e)
    return isinstance(value, ShapeExpr) and same_sizes(value.values, p.shape.values)


_RULES: dict[type, Callable[[Matcher, Any, Expr], bool]] = {
    P.WildcardPattern: lambda m, p, e: True,
    P.ExprPattern: _expr,
    P.VarPattern: _named(Var),
    P.DataflowVarPattern: _named(DataflowVar),
    P.GlobalVarPattern: _named(GlobalVar),
    P.ExternFuncPattern: _extern,
    P.ConstantPattern: lambda m, p, e: isinstance(m.value(e), GenericConst),
    P.CallPattern: _call,
    P.FunctionPattern: _function,
    P.TuplePattern: _tuple,
    P.UnorderedTuplePattern: _unordered,
    P.TupleGetItemPattern: _field,
    P.OrPattern: lambda m, p, e: m.match(p.left, e) or m.match(p.right, e),
    P.AndPattern: lambda m, p, e: m.match(p.left, e) and m.match(p.right, e),
    P.NotPattern: _not,
    P.TypePattern: _type,
    P.DataTypePattern: _dtype,
    P.ShapePattern: _shape,
    P.AttrPattern: _attr,
    P.PrimArrPattern: _sizes,
}

__all__ = ["Matcher", "match"]
