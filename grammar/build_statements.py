# ruff: noqa: D103  (each function is documented by the alternative that it is named after)
"""What makes statements from the rules of `script.lark`; see `build`."""

from __future__ import annotations

from typing import Any

from . import tree as t
from .build import Builder, Places, Values, arguments, check_target, range_of, single_target

LACKING = "unsupported-syntax"


# Sequences. Statements are chained backwards, so that a saved stack never sees later ones.


def module_none(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return ()


def module(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return _unchained(v[0])


def chain_first(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return (None, v[0])


def chain_more(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return (v[0], v[1])


def _unchained(chain: Any) -> tuple[t.SStmt, ...]:
    made: list[t.SStmt] = []
    while chain is not None:
        chain, some = chain
        made.extend(reversed(some))
    made.reverse()
    return tuple(made)


def one(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return [v[0]]


def error(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return [t.Unsupported("Error", v[0], None, range_of(b, s, e))]


def line(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return v[0]


def block(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return _unchained(v[2])


# Simple statements


def exprs(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return v[0][0] if len(v[0]) == 1 else t.TupleExpr(tuple(v[0]), range_of(b, s, e))


def exprs_comma(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.TupleExpr(tuple(v[0]), range_of(b, s, e))


def expr_stmt(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.ExprStmt(v[0], None, range_of(b, s, e))


def assign(b: Builder, v: Values, s: Places, e: Places) -> Any:
    *targets, value = v[0]
    for target in targets:
        if type(target) is not t.Name:
            check_target(b, target)
    return t.Assign(tuple(targets), value, None, range_of(b, s, e))


def ann_assign(b: Builder, v: Values, s: Places, e: Places) -> Any:
    single_target(b, v[0])
    return t.AnnAssign(v[0], v[2], v[4] if len(v) > 3 else None, None, range_of(b, s, e))


def aug_assign(b: Builder, v: Values, s: Places, e: Places) -> Any:
    single_target(b, v[0])
    return t.AugAssign(v[0], v[1][:-1], v[2], None, range_of(b, s, e))


def keyword_stmt(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.KeywordStmt(v[0], None, range_of(b, s, e))


def return_stmt(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.ReturnStmt(v[1] if len(v) > 1 else None, None, range_of(b, s, e))


def assert_stmt(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.AssertStatement(v[1], v[3] if len(v) > 2 else None, None, range_of(b, s, e))


def import_stmt(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.ImportStmt(f"import {', '.join(v[1])}", None, range_of(b, s, e))


def import_from(b: Builder, v: Values, s: Places, e: Places) -> Any:
    names = v[4] if v[3] == "(" else v[3]
    what = names if isinstance(names, str) else ", ".join(names)
    return t.ImportStmt(f"from {v[1]} import {what}", None, range_of(b, s, e))


def alias(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return f"{v[0]} as {v[2]}"


def dotted(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return f"{v[0]}.{v[2]}"


def glued(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return v[0] + v[1]


# Compound statements


def for_stmt(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.ForStmt(v[1], v[3], tuple(v[5]), None, range_of(b, s, e))


def while_stmt(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.WhileStmt(v[1], tuple(v[3]), None, range_of(b, s, e))


def if_stmt(b: Builder, v: Values, s: Places, e: Places) -> Any:
    orelse = v[4] if len(v) > 4 else ()
    return t.IfStmt(v[1], tuple(v[3]), orelse, False, None, None, range_of(b, s, e))


def elif_part(b: Builder, v: Values, s: Places, e: Places) -> Any:
    orelse = v[4] if len(v) > 4 else ()
    return (t.IfStmt(v[1], tuple(v[3]), orelse, True, None, None, range_of(b, s, e)),)


def else_part(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return tuple(v[2])


def with_stmt(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.WithStmt(tuple(v[1]), tuple(v[3]), None, range_of(b, s, e))


def with_stmt_brackets(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.WithStmt(tuple(v[2]), tuple(v[-1]), None, range_of(b, s, e))


def with_item(b: Builder, v: Values, s: Places, e: Places) -> Any:
    target = v[2] if len(v) > 1 else None
    if target is not None:
        check_target(b, target)
    return t.WithItem(v[0], target, v[0].span.to(target.span) if target is not None else v[0].span)


def decorator(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return v[1]


def decorated(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return v[1].replace(decorators=tuple(v[0]))


def function(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.FunctionDef(v[1], v[3], tuple(v[6]), (), v[4], tuple(v[2] or ()), None, range_of(b, s, e))


def type_bound(b: Builder, v: Values, s: Places, e: Places) -> Any:
    if not (isinstance(v[2], t.Name) and v[2].id == "int"):
        b.fault("a type parameter can have no bound but `int`", v[2].span, LACKING)
    return v[0]


def class_plain(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.ClassDef(v[1], (), tuple(v[-1]), (), None, range_of(b, s, e))


def class_bases(b: Builder, v: Values, s: Places, e: Places) -> Any:
    bases, keywords = arguments(b, v[3])
    for k in keywords:
        b.fault("keyword arguments of a class are not part of the language", k.span, LACKING)
    return t.ClassDef(v[1], bases, tuple(v[-1]), (), None, range_of(b, s, e))
