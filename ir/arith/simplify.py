"""The simplifier: children first, then the rules of the node's class until none applies.

Sums are taken whole, so that a chain of any length costs linear time.  Rules live in
`rules_*.py`; each says to which class of arithmetic it belongs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...dtype import DType
from ..expr import (
    Add,
    And,
    BinaryOp,
    BufferLoad,
    Call,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    Mod,
    Mul,
    Or,
    Range,
    Sub,
    Var,
    const,
)
from ..op import Op
from ..types import BOOL, PrimType
from ..visitor import Rewriter, walk
from .digits import join_digits, put_at
from .linear import Linear, leaves, linear, rebuild
from .rules import RULES
from .sums import refine

if TYPE_CHECKING:
    from .analyzer import Analyzer

STEPS = 64
"""How often rules may apply one after another before a node is left as it is."""


def simplify(ana: Analyzer, e: Expr) -> Expr:
    """An expression of the same value; `e` itself where nothing applies."""
    key = (id(e), ana.data)
    found = ana.simplify_memo.get(key)
    if found is not None:
        return found[1]
    memo = ana.simplify_memo
    result = _sum(ana, e) if type(e) in _SUMS and _scalar_int(e) else _node(ana, e)
    memo[key] = (e, result)
    if result is not e:
        memo[id(result), ana.data] = (result, result)
    return result


def truncated(ana: Analyzer, e: Expr, result: Expr) -> Expr:
    """The result with truncated divisions, where `e` had no others and they are the same.

    Truncated division becomes floor division for the sake of its rules; machines have the former.
    """
    for node in walk(e):
        if type(node) is FloorDiv or type(node) is FloorMod:
            return result
    return _Truncating(ana).visit(result)


class _Truncating(Rewriter):
    def __init__(self, ana: Analyzer) -> None:
        super().__init__()
        self.ana = ana

    def visit_FloorDiv(self, e: FloorDiv) -> Expr:
        return self._turned(e, Div)

    def visit_FloorMod(self, e: FloorMod) -> Expr:
        return self._turned(e, Mod)

    def _turned(self, e: FloorDiv | FloorMod, kind: type[Div] | type[Mod]) -> Expr:
        a, b = self.visit(e.a), self.visit(e.b)
        if self.ana.bound(e.a).min >= 0 and self.ana.bound(e.b).min >= 0:
            return kind(a, b)
        return type(e)(a, b)


_SUMS = (Add, Sub, Mul)


def _scalar_int(e: Expr) -> bool:
    ty = e.ty
    return isinstance(ty, PrimType) and ty.dtype.is_scalar and (ty.dtype.is_int or ty.dtype.is_uint)


def _node(ana: Analyzer, e: Expr) -> Expr:
    visit = _CHILDREN.get(type(e))
    result = visit(ana, e) if visit is not None else _children(ana, e)
    changed = apply_rules(ana, result)
    if changed is None:
        return result
    if ana.steps >= STEPS:
        return changed
    ana.steps += 1
    try:
        return simplify(ana, changed)
    finally:
        ana.steps -= 1


def apply_rules(ana: Analyzer, e: Expr) -> Expr | None:
    """The result of the first rule that applies to this node, or None."""
    rules = RULES.get(type(e))
    if rules is None or not ana.keys.pure(e):
        return None
    for rule in rules:
        result = rule.apply(ana, e)
        if result is not None:
            if ana.fired is not None:
                ana.fired.add(rule.name)
            return result
    return None


# children


def _children(ana: Analyzer, e: Expr) -> Expr:
    kind = type(e)
    if not kind.fields or kind is Var or isinstance(e, IntImm):
        return e
    values, changed = [], False
    for name in kind.fields:
        old = getattr(e, name)
        new = old if name in ("ty", "span", "op") else _child(ana, old)
        changed = changed or new is not old
        values.append(new)
    return kind(*values) if changed else e


def _child(ana: Analyzer, value: Any) -> Any:
    if isinstance(value, Expr):
        return simplify(ana, value) if isinstance(value.ty, PrimType) else _children(ana, value)
    if type(value) is tuple:
        items = [_child(ana, v) for v in value]
        for old, new in zip(value, items, strict=True):
            if old is not new:
                return tuple(items)
        return value
    if isinstance(value, Range):
        low, extent = simplify(ana, value.min), simplify(ana, value.extent)
        return value if low is value.min and extent is value.extent else Range(low, extent, value.span)
    return value


def _load(ana: Analyzer, e: BufferLoad) -> Expr:
    with ana.mode(data=False):
        return _children(ana, e)


def _chain(ana: Analyzer, e: And | Or) -> Expr:
    """A chain of conditions, each simplified where those before it hold (or, of Or, do not)."""
    kind, truth = type(e), isinstance(e, And)
    made: list[Expr] = []
    changed = type(e.b) is kind
    with ana.scope():
        for part in _flat(e, kind):
            new = simplify(ana, part)
            changed = changed or new is not part
            inner = _flat(new, kind)
            made += inner
            for item in inner:
                ana.learn(item, truth)
    result = made[0]
    for i, part in enumerate(made[1:], 2):
        pair = kind(result, part)
        shorter = apply_rules(ana, pair) if i < len(made) or changed else None
        result = pair if shorter is None else shorter
        changed = changed or shorter is not None
    return result if changed else e


def _flat(e: Expr, kind: type[And] | type[Or]) -> list[Expr]:
    """The conditions of a chain in order."""
    if e.ty is not BOOL:
        return [e] if type(e) is not kind else [e.a, e.b]
    found: list[Expr] = []
    stack = [e]
    while stack:
        top = stack.pop()
        if type(top) is kind:
            stack += [top.b, top.a]
        else:
            found.append(top)
    return found


def _let(ana: Analyzer, e: Let) -> Expr:
    value = simplify(ana, e.value)
    ana.bind_value(e.var, value)
    body = simplify(ana, e.body)
    return e if value is e.value and body is e.body else Let(e.var, value, body)


def _call(ana: Analyzer, e: Call) -> Expr:
    if not isinstance(e.op, Op) or e.op.name != "prim.if_then_else":
        return _children(ana, e)
    # only the branch taken is evaluated, so each may rely on the condition
    cond = simplify(ana, e.args[0])
    with ana.assume(cond):
        then = simplify(ana, e.args[1])
    with ana.assume(cond, truth=False):
        other = simplify(ana, e.args[2])
    args = (cond, then, other)
    same = cond is e.args[0] and then is e.args[1] and other is e.args[2]
    return e if same else e.replace(args=args)


_CHILDREN: dict[type, Callable[[Analyzer, Any], Expr]] = {
    BufferLoad: _load,
    And: _chain,
    Or: _chain,
    Let: _let,
    Call: _call,
}


# sums


def _sum(ana: Analyzer, e: Expr) -> Expr:
    """The canonical form of a sum: like terms joined, the constant last (class RING)."""
    total = Linear()
    table: dict[int, Expr] = {}
    parts = leaves(e)
    whole = _raw_digits(ana, e, parts)
    if whole is not None:
        return simplify(ana, whole)
    for scale, leaf in parts:
        new = _product(ana, leaf) if type(leaf) is Mul else simplify(ana, leaf)
        table[id(leaf)] = new
        total.add(linear(ana, new, ring=True), scale)
    if all(ana.keys.pure(new) for new in table.values()):
        join_quotients(ana, total)
        wraps = ana.wraps(e)
        refine(ana, total, e.dtype, wraps)
        result = rebuild(total, e.dtype, wraps)
        if type(e) is Mul and type(result) is Sub:
            product = _negative_product(total, e.dtype, wraps)
            result = result if product is None else product
        if result is not None and _identical(result, e):
            return e
        if result is not None and (ana.data or not ana.strict or _stays_inside(ana, result)):
            if ana.fired is not None:
                ana.fired.add("sum")
            return result
    return _retree(e, table)


_DIVISIONS = (FloorDiv, FloorMod, Div, Mod)


def _raw_digits(ana: Analyzer, e: Expr, parts: list[tuple[int, Expr]]) -> Expr | None:
    """The sum with its digits joined before the digits themselves are simplified, which may hide them."""
    count = 0
    for _, leaf in parts:
        count += type(leaf) in _DIVISIONS
    if count < 2:
        return None
    total = linear(ana, e, ring=True)
    if not join_digits(ana, total):
        return None
    for _, leaf in parts:
        if not ana.keys.pure(leaf):
            return None
    result = rebuild(total, e.dtype, ana.wraps(e))
    if result is None or (not ana.data and ana.strict and not _stays_inside(ana, result)):
        return None
    return result


def _negative_product(total: Linear, dtype: DType, wraps: bool) -> Expr | None:
    """`x * -2`, where that is the whole sum."""
    if len(total.terms) != 1 or total.const or wraps:
        return None
    ((coeff, term),) = total.terms.values()
    return Mul(term, const(coeff, dtype)) if dtype.min_value <= coeff < 0 else None


def _identical(a: Any, b: Any) -> bool:
    """Whether two sums are built alike."""
    if a is b:
        return True
    kind = type(a)
    if kind is not type(b):
        return False
    if kind is IntImm:
        return bool(a.value == b.value)
    return kind in _SUMS and _identical(a.a, b.a) and _identical(a.b, b.b)


def _product(ana: Analyzer, e: Mul) -> Expr:
    a, b = simplify(ana, e.a), simplify(ana, e.b)
    if type(a) is IntImm or type(b) is IntImm:
        return Mul(b, a) if type(a) is IntImm else Mul(a, b)
    result = e if a is e.a and b is e.b else Mul(a, b)
    changed = apply_rules(ana, result)
    return result if changed is None else changed


def _retree(e: Expr, table: dict[int, Expr]) -> Expr:
    """The sum with its leaves replaced, its shape kept, constants folded where that is exact."""
    found = table.get(id(e))
    if found is not None:
        return found
    if type(e) is IntImm or not isinstance(e, BinaryOp):
        return e
    a, b = _retree(e.a, table), _retree(e.b, table)
    folded = _fold(type(e), a, b, e.dtype)
    if folded is not None:
        return folded
    return e if a is e.a and b is e.b else type(e)(a, b)


def _fold(kind: type, a: Expr, b: Expr, dtype: DType) -> Expr | None:
    if type(a) is IntImm and type(b) is IntImm:
        x, y = a.value, b.value
        value = x + y if kind is Add else x - y if kind is Sub else x * y
        return const(value, dtype) if dtype.min_value <= value <= dtype.max_value else None
    if type(b) is IntImm and b.value == (1 if kind is Mul else 0):
        return a
    if type(a) is IntImm and kind is not Sub and a.value == (1 if kind is Mul else 0):
        return b
    return None


def _stays_inside(ana: Analyzer, e: Expr) -> bool:
    """Whether no intermediate value of the sum can overflow, given that the sum itself does not."""
    return not isinstance(e, BinaryOp) or type(e) not in _SUMS or (_inside(ana, e.a) and _inside(ana, e.b))


def _inside(ana: Analyzer, e: Expr) -> bool:
    from .bounds import dtype_bound, exact_bound

    if type(e) not in _SUMS:
        return True
    own, bound = dtype_bound(e), exact_bound(ana, e)
    return own.min <= bound.min and bound.max <= own.max and _stays_inside(ana, e)


def join_quotients(ana: Analyzer, total: Linear) -> None:
    """`x // c * c + x % c` becomes x, `x % (a*b) // a * a + x % a` becomes `x % (a*b)` (class RING)."""
    if len(total.terms) < 2:
        return
    join_digits(ana, total)
    for _ in range(len(total.terms)):
        if not _join_one(ana, total):
            return


_PARTS: dict[type, type] = {FloorMod: FloorDiv, Mod: Div}


def _join_one(ana: Analyzer, total: Linear) -> bool:
    for key, (coeff, term) in total.terms.items():
        wanted = _PARTS.get(type(term))
        if wanted is None or type(term.b) is not IntImm or term.b.value <= 0:  # type: ignore[attr-defined]
            continue
        divisor = term.b.value  # type: ignore[attr-defined]
        for other, (scale, quotient) in total.terms.items():
            if (
                type(quotient) is not wanted
                or type(quotient.b) is not IntImm  # type: ignore[attr-defined]
                or quotient.b.value != divisor  # type: ignore[attr-defined]
                or scale != coeff * divisor
            ):
                continue
            x, y = quotient.a, term.a  # type: ignore[attr-defined]
            whole = (
                _dividend(ana, x, y, divisor) if wanted is FloorDiv else x if ana.keys.same(x, y) else None
            )
            if whole is not None:
                put_at(total, (key, other), linear(ana, whole, ring=True).scaled(coeff))
                if ana.fired is not None:
                    ana.fired.add("join-quotient")
                return True
    return False


def _dividend(ana: Analyzer, x: Expr, y: Expr, divisor: int) -> Expr | None:
    """x, if its remainder by `divisor` is that of y."""
    if ana.keys.same(x, y):
        return x
    if type(x) is FloorMod and type(x.b) is IntImm and x.b.value > 0 and x.b.value % divisor == 0:
        if ana.keys.same(x.a, y):
            return x
    rest = linear(ana, x).minus(linear(ana, y))
    if not ana.wraps(x) and rest.const % divisor == 0:
        for coeff in rest.coeffs():
            if coeff % divisor:
                return None
        return x
    return None
