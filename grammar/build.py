# ruff: noqa: D103  (each function is documented by the alternative that it is named after)
"""What makes surface nodes from the rules of `expr.lark` and `script.lark`.

Each function is named after the alternative whose node it makes. It gets the builder, the values of
the alternative's symbols (tokens are their text) and where each starts and ends.
"""

from __future__ import annotations

from typing import Any

from ..errors import Diagnostic, Span
from . import tree as t
from .spelling import string_value
from .tokens import Place

Values = list[Any]
Places = list[Place]
DIGITS = 4300  # decimal digits of an integer; Python refuses more by default


class Builder:
    """The file's name, and the faults found while nodes are made."""

    def __init__(self, file: str, source: str) -> None:
        self.file = file
        self.source = source
        self.diagnostics: list[Diagnostic] = []

    def span(self, start: Place, end: Place) -> Span:
        """The span from a place to a place."""
        return Span(self.file, start[0], start[1], end[0], end[1])

    def fault(self, message: str, span: Span | None, code: str = "syntax", *help: str) -> None:
        """Note a fault; the node is made all the same."""
        self.diagnostics.append(Diagnostic(code, message, span, help=help, source=self.source))


def range_of(b: Builder, s: Places, e: Places) -> Span:
    """From the first symbol of a rule to its last."""
    return Span(b.file, *s[0], *e[-1])


# Lists and passing on


def first(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return [v[0]]


def more(b: Builder, v: Values, s: Places, e: Places) -> Any:
    v[0].append(v[1])
    return v[0]


def more_apart(b: Builder, v: Values, s: Places, e: Places) -> Any:
    v[0].append(v[2])
    return v[0]


def pair_apart(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return [v[0], v[2]]


def nothing(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return None


def second(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return v[1]


inner = second


# Expressions


def if_expr(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.IfExpr(v[2], v[0], v[4], range_of(b, s, e))


def either(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.BoolExpr("or", tuple(v[0]), range_of(b, s, e))


def both(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.BoolExpr("and", tuple(v[0]), range_of(b, s, e))


def unary(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.UnaryExpr(v[0], v[1], range_of(b, s, e))


def binary(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.BinaryExpr(v[1], v[0], v[2], Span(b.file, *s[0], *e[2]))


def compare_first(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return [v[0], [v[1]], [v[2]]]


def compare_more(b: Builder, v: Values, s: Places, e: Places) -> Any:
    v[0][1].append(v[1])
    v[0][2].append(v[2])
    return v[0]


def compare(b: Builder, v: Values, s: Places, e: Places) -> Any:
    left, ops, rights = v[0]
    return t.CompareExpr(left, tuple(ops), tuple(rights), range_of(b, s, e))


def two_words(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return f"{v[0]} {v[1]}"


def attribute(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.Attribute(v[0], v[2], Span(b.file, *s[0], *e[2]))


def call_none(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.CallExpr(v[0], (), (), range_of(b, s, e))


def call(b: Builder, v: Values, s: Places, e: Places) -> Any:
    args, keywords = arguments(b, v[2])
    return t.CallExpr(v[0], args, keywords, Span(b.file, *s[0], *e[-1]))


def arguments(b: Builder, given: list[Any]) -> tuple[tuple[t.SExpr, ...], tuple[t.Keyword, ...]]:
    """Positional arguments and keywords, their order checked."""
    args: list[t.SExpr] = []
    keywords: list[t.Keyword] = []
    doubled = False
    for a in given:
        if type(a) is t.Keyword:
            keywords.append(a)
            doubled = doubled or a.name is None
            continue
        if doubled:
            b.fault("this argument stands behind one with `**`", a.span)
        elif keywords and type(a) is not t.Starred:
            b.fault("a positional argument stands behind a keyword argument", a.span)
        args.append(a)
    return tuple(args), tuple(keywords)


def keyword(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.Keyword(v[0], v[2], range_of(b, s, e))


def starred(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.Starred(v[1], range_of(b, s, e))


def double_starred(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.Keyword(None, v[1], range_of(b, s, e))


def call_generator(b: Builder, v: Values, s: Places, e: Places) -> Any:
    made = t.Comprehension("generator", v[2], _clauses(b, v[3]), None, b.span(s[1], e[4]))
    return t.CallExpr(v[0], (made,), (), range_of(b, s, e))


def subscript(b: Builder, v: Values, s: Places, e: Places) -> Any:
    items = v[2]
    if len(items) == 1 and type(items[0]) is not t.Starred:
        index = items[0]
    else:
        index = t.TupleExpr(tuple(items), Span(b.file, *s[2], *e[2]))
    return t.Subscript(v[0], index, Span(b.file, *s[0], *e[3]))


def subscript_comma(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.Subscript(v[0], t.TupleExpr(tuple(v[2]), b.span(s[2], e[3])), range_of(b, s, e))


def slice_some(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.Slice(v[0], v[2], v[4] if len(v) > 3 else None, range_of(b, s, e))


def name(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.Name(v[0], Span(b.file, *s[0], *e[0]))


def number(b: Builder, v: Values, s: Places, e: Places) -> Any:
    text, span = v[0], Span(b.file, *s[0], *e[0])
    return t.Constant(_number(b, text, span), text, span)


def _number(b: Builder, text: str, span: Span) -> complex:
    digits = text.replace("_", "").lower()
    if digits[:2] in ("0x", "0o", "0b"):
        return int(digits, 0)
    if digits[-1] == "j":
        return complex(0.0, float(digits[:-1]))
    if not digits.isdigit():
        return float(digits)
    if len(digits) > DIGITS:
        b.fault("this integer has too many digits", span, "syntax", "write it in hexadecimal")
        return 0
    return int(digits)


def string(b: Builder, v: Values, s: Places, e: Places) -> Any:
    span = Span(b.file, *s[0], *e[0])
    try:
        parts = [string_value(text) for text in v[0]]
    except ValueError as error:
        b.fault(str(error), span)
        parts = [""]
    if len(parts) == 1:
        return t.Constant(parts[0], v[0][0], span)
    texts = [p for p in parts if isinstance(p, str)]
    binary = [p for p in parts if isinstance(p, bytes)]
    if texts and binary:
        b.fault("strings of text and of bytes cannot be joined", span)
    return t.Constant(b"".join(binary) if binary else "".join(texts), " ".join(v[0]), span)


_WORDS = {"None": None, "True": True, "False": False, "...": ...}


def word(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.Constant(_WORDS[v[0]], None, range_of(b, s, e))


def tuple_none(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.TupleExpr((), range_of(b, s, e))


def group(b: Builder, v: Values, s: Places, e: Places) -> Any:
    if len(v[1]) > 1:
        return t.TupleExpr(tuple(v[1]), range_of(b, s, e))
    if type(v[1][0]) is t.Starred:
        b.fault("`*` cannot stand alone in parentheses", v[1][0].span)
    return v[1][0]


def tuple_comma(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.TupleExpr(tuple(v[1]), range_of(b, s, e))


def list_none(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.ListExpr((), range_of(b, s, e))


def list_some(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.ListExpr(tuple(v[1]), range_of(b, s, e))


def set_some(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.SetExpr(tuple(v[1]), range_of(b, s, e))


def dict_none(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.DictExpr((), (), range_of(b, s, e))


def dict_some(b: Builder, v: Values, s: Places, e: Places) -> Any:
    keys, values = zip(*v[1])
    return t.DictExpr(keys, values, range_of(b, s, e))


def item(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return v[0], v[2]


def item_starred(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return None, v[1]


def generator(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.Comprehension("generator", v[1], _clauses(b, v[2]), None, range_of(b, s, e))


def list_comprehension(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.Comprehension("list", v[1], _clauses(b, v[2]), None, range_of(b, s, e))


def set_comprehension(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.Comprehension("set", v[1], _clauses(b, v[2]), None, range_of(b, s, e))


def dict_comprehension(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.Comprehension("dict", v[3], _clauses(b, v[4]), v[1], range_of(b, s, e))


def clause(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return [v[1], v[3]]


def clause_if(b: Builder, v: Values, s: Places, e: Places) -> Any:
    v[0].append(v[2])
    return v[0]


def _clauses(b: Builder, rows: list[list[t.SExpr]]) -> tuple[t.Clause, ...]:
    made = []
    for target, over, *conditions in rows:
        last = conditions[-1] if conditions else over
        made.append(t.Clause(target, over, tuple(conditions), target.span.to(last.span)))  # type: ignore[union-attr, arg-type]
    return tuple(made)


# What is assigned to


def targets(b: Builder, v: Values, s: Places, e: Places) -> Any:
    made = v[0][0] if len(v[0]) == 1 else t.TupleExpr(tuple(v[0]), range_of(b, s, e))
    check_target(b, made)
    return made


def targets_comma(b: Builder, v: Values, s: Places, e: Places) -> Any:
    made = t.TupleExpr(tuple(v[0]), range_of(b, s, e))
    check_target(b, made)
    return made


def check_target(b: Builder, target: t.SExpr) -> None:
    """Note a fault at every part that cannot be assigned to."""
    work = [target]
    while work:
        part = work.pop()
        if isinstance(part, (t.TupleExpr, t.ListExpr)):
            work += part.elts
        elif isinstance(part, t.Starred):
            work.append(part.value)
        elif not isinstance(part, (t.Name, t.Attribute, t.Subscript)):
            _not_assignable(b, part)


def single_target(b: Builder, target: t.SExpr) -> None:
    """Note a fault unless one thing can be assigned to it."""
    if isinstance(target, (t.TupleExpr, t.ListExpr, t.Starred)):
        b.fault("only a single name, attribute or element can stand here", target.span)
    else:
        check_target(b, target)


def _not_assignable(b: Builder, part: t.SExpr) -> None:
    hints: tuple[str, ...] = ()
    if isinstance(part, t.CompareExpr) and part.ops == ("==",):
        hints = ("`=` assigns, `==` compares",)
    b.fault(f"{describe(part)} cannot be assigned to", part.span, "syntax", *hints)


def describe(part: t.SExpr) -> str:
    """What an expression is, in words."""
    if isinstance(part, t.Constant):
        return f"the literal `{part.text or part.value}`"
    known = {
        t.CallExpr: "a call",
        t.BinaryExpr: "an operation",
        t.UnaryExpr: "an operation",
        t.CompareExpr: "a comparison",
        t.BoolExpr: "a logical operation",
        t.IfExpr: "a conditional expression",
        t.Lambda: "a lambda",
        t.DictExpr: "a dict",
        t.SetExpr: "a set",
        t.Comprehension: "a comprehension",
    }
    return known.get(type(part), "this")


# Parameters


def lambda_none(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.Lambda((), v[2], range_of(b, s, e))


def lambda_some(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.Lambda(v[1], v[3], range_of(b, s, e))


def param(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.Param(v[0], None, None, "normal", range_of(b, s, e))


def param_name(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.Param(v[0], v[2] if len(v) > 1 else None, None, "normal", range_of(b, s, e))


def param_default(b: Builder, v: Values, s: Places, e: Places) -> Any:
    named = v[0] if isinstance(v[0], t.Param) else t.Param(v[0], None, None, "normal", b.span(s[0], e[0]))
    return named.replace(default=v[2])


def param_star(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.Param("*", None, None, "*", range_of(b, s, e))


def param_slash(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return t.Param("/", None, None, "/", range_of(b, s, e))


def param_rest(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return _kind(b, v[1], "star", s[1], e[1])


def param_rest_starred(b: Builder, v: Values, s: Places, e: Places) -> Any:
    annotation = t.Starred(v[4], b.span(s[3], e[4]))
    return t.Param(v[1], annotation, None, "star", b.span(s[1], e[4]))


def param_keywords(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return _kind(b, v[1], "kwstar", s[1], e[1])


def _kind(b: Builder, named: str | t.Param, kind: str, start: Place, end: Place) -> t.Param:
    if isinstance(named, t.Param):
        return named.replace(kind=kind)
    return t.Param(named, None, None, kind, b.span(start, end))


def params(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return ordered_params(b, v[0])


def params_none(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return ()


def params_brackets(b: Builder, v: Values, s: Places, e: Places) -> Any:
    return ordered_params(b, v[1])


def ordered_params(b: Builder, given: list[t.Param]) -> tuple[t.Param, ...]:
    """The parameters with their kinds, their order checked."""
    made: list[t.Param] = []
    slashed = starred_yet = False
    default: t.Param | None = None
    last: t.Param | None = None
    for p in given:
        if last is not None and last.kind == "kwstar":
            b.fault("nothing can follow a parameter with `**`", p.span)
        if p.kind == "/":
            if slashed or starred_yet or not made:
                b.fault("`/` stands once, after parameters and before `*`", p.span)
            made = [q.replace(kind="posonly") if q.kind == "normal" else q for q in made]
            slashed = True
        elif p.kind in ("*", "star"):
            if starred_yet:
                b.fault("a second `*` among the parameters", p.span)
            starred_yet = True
            if p.kind == "star":
                made.append(p)
        elif p.kind == "normal" and starred_yet:
            made.append(p.replace(kind="kwonly"))
        else:
            if p.kind == "normal" and p.default is None and default is not None:
                b.fault(f"`{p.name}` has no default but follows `{default.name}`, which has one", p.span)
            default = p if p.default is not None else default
            made.append(p)
        if last is not None and last.kind == "*" and p.kind != "normal":
            b.fault("a parameter must follow `*`", last.span)
        last = p
    if last is not None and last.kind == "*":
        b.fault("a parameter must follow `*`", last.span)
    return tuple(made)
