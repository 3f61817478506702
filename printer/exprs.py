"""Expressions as surface trees.

An operator spelled with a sign would be folded on reading when both operands are constants, so
such a node prints as its name, `T.Add(1, 2)`.  The same is done where one operand is neutral or
absorbing (`T.Add(x, 0)`): this reader keeps `x + 0`, but TVM's would fold it.
"""

from __future__ import annotations

from typing import Any

from ..grammar.tree import (
    Attribute,
    BinaryExpr,
    BoolExpr,
    CallExpr,
    CompareExpr,
    Constant,
    DictExpr,
    Keyword,
    Lambda,
    ListExpr,
    Param,
    SExpr,
    Slice,
    Subscript,
    TupleExpr,
    UnaryExpr,
)
from ..ir import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    BitwiseAnd,
    BitwiseNot,
    BitwiseOr,
    BitwiseXor,
    Broadcast,
    BufferLoad,
    BufferRegion,
    Cast,
    CommReducer,
    Div,
    Expr,
    FloatImm,
    FloorDiv,
    FloorMod,
    IndexMap,
    IntImm,
    IterVar,
    Let,
    LShift,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Ramp,
    Range,
    Reduce,
    RShift,
    Select,
    Shuffle,
    Sub,
    TupleGetItem,
    Var,
)
from .core import Printer, keyword, shows, string
from .literals import integer
from .types import type_argument

_INFIX = {
    Add: "+",
    Sub: "-",
    Mul: "*",
    FloorDiv: "//",
    FloorMod: "%",
    LShift: "<<",
    RShift: ">>",
    BitwiseAnd: "&",
    BitwiseOr: "|",
    BitwiseXor: "^",
}
_COMPARE = {EQ: "==", NE: "!=", LT: "<", LE: "<=", GT: ">", GE: ">="}
_CALLED = {Mod: "truncmod", Min: "min", Max: "max"}
_CONSTANTS = (IntImm, FloatImm)
ITER_TYPES = {0: "DataPar", 1: "ThreadIndex", 2: "CommReduce", 3: "Ordered", 4: "Opaque"}


def _by_name(p: Printer, e: Any) -> SExpr:
    return p.call(type(e).__name__, (p.expr(e.a), p.expr(e.b)))


def _constant(a: Expr, b: Expr) -> bool:
    return type(a) in _CONSTANTS and type(b) in _CONSTANTS


# Constants on the left and on the right that a fold could take away.
_FOLDED: dict[type, tuple[tuple[int, ...], tuple[int, ...]]] = {
    Add: ((0,), (0,)),
    Sub: ((), (0,)),
    Mul: ((0, 1), (0, 1)),
    Div: ((0,), (1,)),
    FloorDiv: ((0,), (1,)),
    FloorMod: ((0,), (1,)),
    LShift: ((), (0,)),
    RShift: ((), (0,)),
}
_NONE: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())


def _folds(e: Any) -> bool:
    """Whether a sign between the operands could be folded away on reading."""
    a, b = e.a, e.b
    left, right = type(a) in _CONSTANTS, type(b) in _CONSTANTS
    if left and right:
        return True
    if left or right:
        first, second = _FOLDED.get(type(e), _NONE)
        return a.value in first if left else b.value in second
    return False


@shows(*_INFIX)
def _show_infix(p: Printer, e: Any) -> SExpr:
    if _folds(e):
        return _by_name(p, e)
    return BinaryExpr(_INFIX[type(e)], _beside(p, e.a), _beside(p, e.b))


def _beside(p: Printer, e: Expr) -> SExpr:
    """An operand whose neighbour is no constant: a graph's bare number takes that one's type."""
    if p.graph is not None and type(e) is IntImm and not e.dtype.is_bool:
        return integer(e.value)
    return p.expr(e)


@shows(*_COMPARE)
def _show_compare(p: Printer, e: Any) -> SExpr:
    if _constant(e.a, e.b):
        return _by_name(p, e)
    left = _beside(p, e.a)
    return CompareExpr(left, (_COMPARE[type(e)],), (_beside(p, e.b),))


@shows(*_CALLED)
def _show_called(p: Printer, e: Any) -> SExpr:
    if _constant(e.a, e.b):
        return _by_name(p, e)
    return p.call(_CALLED[type(e)], (_beside(p, e.a), _beside(p, e.b)))


@shows(Div)
def _show_div(p: Printer, e: Div) -> SExpr:
    if e.dtype.is_integral or _folds(e):
        return _by_name(p, e)
    return BinaryExpr("/", p.expr(e.a), p.expr(e.b))


@shows(And, Or)
def _show_logic(p: Printer, e: Any) -> SExpr:
    kind = type(e)
    if _named(e):
        return _by_name(p, e)
    operands = []
    left: Any = e
    while type(left) is kind and not _named(left):
        operands.append(left.b)
        left = left.a
    operands.append(left)
    operands.reverse()
    return BoolExpr("and" if kind is And else "or", p.exprs(operands))


def _named(e: Any) -> bool:
    return type(e.a) is IntImm or type(e.b) is IntImm or e.dtype.is_vector


@shows(Not)
def _show_not(p: Printer, e: Not) -> SExpr:
    if type(e.a) is IntImm or e.dtype.is_vector:
        return p.call("Not", (p.expr(e.a),))
    return UnaryExpr("not", p.expr(e.a))


@shows(BitwiseNot)
def _show_invert(p: Printer, e: BitwiseNot) -> SExpr:
    if type(e.a) is IntImm:
        return p.call("BitwiseNot", (p.expr(e.a),))
    return UnaryExpr("~", p.expr(e.a))


@shows(Cast)
def _show_cast(p: Printer, e: Cast) -> SExpr:
    return p.call("Cast", (type_argument(p, e.ty), p.expr(e.value)))


@shows(Select)
def _show_select(p: Printer, e: Select) -> SExpr:
    return p.call("Select", (p.expr(e.condition), p.expr(e.true_value), p.expr(e.false_value)))


@shows(Ramp)
def _show_ramp(p: Printer, e: Ramp) -> SExpr:
    return p.call("Ramp", (p.expr(e.base), p.expr(e.stride), p.expr(e.lanes)))


@shows(Broadcast)
def _show_broadcast(p: Printer, e: Broadcast) -> SExpr:
    return p.call("Broadcast", (p.expr(e.value), p.expr(e.lanes)))


@shows(Shuffle)
def _show_shuffle(p: Printer, e: Shuffle) -> SExpr:
    return p.call("Shuffle", (ListExpr(p.exprs(e.vectors)), ListExpr(p.exprs(e.indices))))


@shows(Var)
def _show_var(p: Printer, e: Var) -> SExpr:
    shown = p.var(e)
    if id(e) in p.scalars:
        return Attribute(shown, "source")
    return shown


@shows(Let)
def _show_let(p: Printer, e: Let) -> SExpr:
    if p.declares:  # the variable is declared before the statement, as Python would need it
        name = p.var(e.var)
        value = p.expr(e.value)
        body = p.expr(e.body)
    else:
        value = p.expr(e.value)
        p.enter(e)
        name = p.define(e.var)
        body = p.expr(e.body)
        p.leave()
    return p.call("Let", (body,), (keyword("where", DictExpr((name,), (value,))),))


@shows(BufferLoad)
def _show_load(p: Printer, e: BufferLoad) -> SExpr:
    if id(e.buffer) in p.scalars and is_scalar_index(e.indices):
        return p.var(e.buffer)
    return Subscript(p.expr(e.buffer), index(p.exprs(e.indices)))


def is_scalar_index(indices: tuple[Expr, ...]) -> bool:
    """Whether these are the indices of a scalar's cell: one int32 zero."""
    if len(indices) != 1 or type(indices[0]) is not IntImm:
        return False
    return indices[0].value == 0 and indices[0].dtype == "int32"


def index(parts: tuple[SExpr, ...]) -> SExpr:
    """What stands between the brackets."""
    return parts[0] if len(parts) == 1 else TupleExpr(parts)


@shows(BufferRegion)
def _show_region(p: Printer, e: BufferRegion) -> SExpr:
    return Subscript(p.expr(e.buffer), index(tuple([region_part(p, r) for r in e.region])))


def region_part(p: Printer, r: Range) -> SExpr:
    """One dimension of a region: an element, or `begin:end`."""
    extent = r.extent
    if type(extent) is IntImm and extent.value == 1:
        shown = p.expr(r.min)
    else:
        shown = Slice(p.expr(r.min), range_end(p, r.min, extent))
    if p.origins is not None:
        p.origins.append((r, (shown,)))
    return shown


def range_end(p: Printer, begin: Expr, extent: Expr) -> SExpr:
    """The end of a range: the extent where it begins at 0, a number where both are, else `begin + extent`."""
    if type(begin) is IntImm:
        if begin.value == 0:
            return p.expr(extent)
        if type(extent) is IntImm:
            total = begin.value + extent.value
            if begin.ty is extent.ty and begin.dtype.min_value <= total <= begin.dtype.max_value:
                return p.expr(IntImm(begin.ty, total))
            return p.call("Add", (p.expr(begin), p.expr(extent)))
    return BinaryExpr("+", p.expr(begin), p.expr(extent))


@shows(Range)
def _show_range(p: Printer, e: Range) -> SExpr:
    word = p.I("Range") if e is p.root else p.T("Range")
    return CallExpr(word, (p.expr(e.min), range_end(p, e.min, e.extent)))


@shows(IterVar)
def _show_iter_var(p: Printer, e: IterVar) -> SExpr:
    dom = Constant(None) if e.dom is None else p.expr(e.dom)
    return p.call("iter_var", (p.var(e.var), dom, string(ITER_TYPES[e.iter_type]), string(e.thread_tag)))


@shows(TupleGetItem)
def _show_item(p: Printer, e: TupleGetItem) -> SExpr:
    return Subscript(p.expr(e.tuple_value), Constant(e.index))


def _lambda(p: Printer, variables: tuple[Var, ...], body: tuple[Expr, ...], *, pack: bool) -> SExpr:
    p.enter(None)
    params = tuple([Param(p.define(v).id) for v in variables])
    parts = p.exprs(body)
    p.leave()
    return Lambda(params, TupleExpr(parts) if pack or len(parts) != 1 else parts[0])


@shows(CommReducer)
def _show_reducer(p: Printer, e: CommReducer) -> SExpr:
    combine = _lambda(p, (*e.lhs, *e.rhs), e.result, pack=False)
    return p.call("comm_reducer", (combine, ListExpr(p.exprs(e.identity_element))))


@shows(IndexMap)
def _show_index_map(p: Printer, e: IndexMap) -> SExpr:
    keywords: list[Keyword] = []
    if e.inverse_index_map is not None:
        keywords.append(keyword("inverse_index_map", p.expr(e.inverse_index_map)))
    dtypes = {v.dtype for v in e.initial_indices}
    if dtypes and dtypes != {p.index_dtype}:
        keywords.append(keyword("index_dtype", string(str(e.initial_indices[0].dtype))))
    mapping = _lambda(p, e.initial_indices, e.final_indices, pack=True)
    return p.call("index_map", (mapping,), keywords)


@shows(Reduce)
def _show_reduce(p: Printer, e: Reduce) -> SExpr:
    keywords = [
        keyword("source", ListExpr(p.exprs(e.source))),
        keyword("axis", ListExpr(p.exprs(e.axis))),
        keyword("condition", p.expr(e.condition)),
        keyword("value_index", Constant(e.value_index)),
    ]
    if e.init:
        keywords.append(keyword("init", ListExpr(p.exprs(e.init))))
    return p.call("reduce", (p.expr(e.combiner),), keywords)


__all__ = ["index", "is_scalar_index", "range_end", "region_part"]
