"""The fast reader: Python's own parser, its tree turned into the surface tree.

It is an accelerator only. Over script text it either gives the very tree that the lark reader
gives, or it refuses (None): on anything that Python does not accept and on every construct that
Python has and the language lacks. Over decorated Python (`python=True`) such constructs become
`Unsupported` nodes at their place.
"""

from __future__ import annotations

import ast
import re
import sys
import unicodedata
import warnings
from collections.abc import Callable
from keyword import kwlist
from typing import Any

from ..errors import Diagnostic, Span
from . import tree as t
from .reading import Reading, plain
from .spelling import join_strings
from .trivia import attach, scan, without_strings

KEYWORDS = frozenset(kwlist)
_LONG = 6000  # characters; a statement shorter than this is never too deep for Python's parser


class Refused(Exception):
    """The text holds something that this reader leaves to the other one."""


class _Context:
    """What the conversion of one text needs to know."""

    __slots__ = ("diagnostics", "file", "lines", "python", "source", "spellings")

    def __init__(self, source: str, file: str, python: bool) -> None:
        self.source = source
        self.lines = source.split("\n")
        self.file = file
        self.python = python
        self.spellings: dict[str, str] = {}
        self.diagnostics: list[Diagnostic] = []


def read_ast(
    source: str,
    filename: str = "<text>",
    start: str = "module",
    *,
    python: bool = False,
    to_end: bool = False,
) -> Reading | None:
    """Read a text with Python's parser; None where the other reader has to decide."""
    source = plain(source)
    parsed = parse_python(source)
    if parsed is None or (not python and _has_spelled_keyword(source)):
        return None
    context = _Context(source, filename, python)
    if not source.isascii():
        _count_characters(parsed, context.lines)
    try:
        body = _statements(parsed.body, context)
    except Refused:
        return None
    if start == "expression" and not (len(body) == 1 and type(body[0]) is t.ExprStmt):
        return None
    end = context.lines[-1]
    whole = Span(filename, 1, 1, len(context.lines), len(end) + 1)
    made = attach(t.ModuleTree(body, whole), scan(source), source, to_end=to_end)
    return Reading(made, tuple(context.diagnostics), source)


def parse_python(source: str) -> ast.Module | None:
    """Python's tree of a text, or None where its parser refuses or might overflow the C stack."""
    if _may_be_deep(source):
        return None
    try:
        if "\\" not in source and not re.search(r"\d[\w.]*(?:and|else|for|i[fns]|not|or)", source):
            return ast.parse(source)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return None


def _may_be_deep(source: str) -> bool:
    """Whether a statement is so long that its tree may be thousands of levels deep.

    Python 3.11 guards its parser by the recursion limit, which is raised while deep programs are
    handled; what is too deep then ends the process. So such statements are not given to it.
    """
    if len(source) < _LONG or sys.version_info >= (3, 12):
        return False
    return _has_long_statement(source) and _has_long_statement(without_strings(source))


def _has_long_statement(source: str) -> bool:
    depth = run = 0
    for line in source.split("\n"):
        run = run + len(line) if depth > 0 or line.endswith("\\") else len(line)
        if run > _LONG:
            return True
        depth += line.count("(") + line.count("[") + line.count("{")
        depth -= line.count(")") + line.count("]") + line.count("}")
    return False


def _has_spelled_keyword(source: str) -> bool:
    """Whether a name of other letters normalises to a keyword, as Python allows and the language does not."""
    if source.isascii():
        return False
    return any(
        unicodedata.normalize("NFKC", word) in KEYWORDS
        for word in re.findall(r"\w*[^\W\x00-\x7f]\w*", source)
    )


def _count_characters(parsed: ast.Module, lines: list[str]) -> None:
    """Turn byte columns into character columns, on the lines where they differ."""
    encoded = {n: line.encode() for n, line in enumerate(lines, 1) if not line.isascii()}
    work: list[Any] = [parsed]
    while work:
        node = work.pop()
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, ast.AST):
                work.append(value)
            elif isinstance(value, list):
                work.extend([v for v in value if isinstance(v, ast.AST)])
        line = encoded.get(getattr(node, "lineno", 0))
        if line is not None:
            node.col_offset = len(line[: node.col_offset].decode())
        line = encoded.get(getattr(node, "end_lineno", 0))
        if line is not None:
            node.end_col_offset = len(line[: node.end_col_offset].decode())


def _span(n: Any, c: _Context) -> Span:
    return Span(c.file, n.lineno, n.col_offset + 1, n.end_lineno, n.end_col_offset + 1)


def _text(n: Any, c: _Context) -> str:
    """The source of a node."""
    if n.lineno == n.end_lineno:
        return c.lines[n.lineno - 1][n.col_offset : n.end_col_offset]
    lines = c.lines[n.lineno - 1 : n.end_lineno]
    lines[-1] = lines[-1][: n.end_col_offset]
    lines[0] = lines[0][n.col_offset :]
    return "\n".join(lines)


# Expressions


def _expr(n: Any, c: _Context) -> t.SExpr:
    return _EXPRESSIONS[type(n)](n, c)


def _optional(n: Any, c: _Context) -> t.SExpr | None:
    return None if n is None else _EXPRESSIONS[type(n)](n, c)


def _exprs(nodes: list[Any], c: _Context) -> tuple[t.SExpr, ...]:
    return tuple([_EXPRESSIONS[type(n)](n, c) for n in nodes])


def _name(n: Any, c: _Context) -> t.SExpr:
    return t.Name(n.id, Span(c.file, n.lineno, n.col_offset + 1, n.end_lineno, n.end_col_offset + 1))


_PLAIN = (bool, type(None), type(...))


def _constant(n: Any, c: _Context) -> t.SExpr:
    value = n.value
    span = Span(c.file, n.lineno, n.col_offset + 1, n.end_lineno, n.end_col_offset + 1)
    if isinstance(value, _PLAIN):
        return t.Constant(value, None, span)
    text = _text(n, c)
    if isinstance(value, (str, bytes)):
        text = _spelled(text, c)
    return t.Constant(value, text, span)


def _spelled(text: str, c: _Context) -> str:
    known = c.spellings.get(text)
    if known is None:
        known = c.spellings[text] = join_strings(text)
    return known


def _attribute(n: Any, c: _Context) -> t.SExpr:
    value = n.value
    return t.Attribute(
        _EXPRESSIONS[type(value)](value, c),
        n.attr,
        Span(c.file, n.lineno, n.col_offset + 1, n.end_lineno, n.end_col_offset + 1),
    )


def _subscript(n: Any, c: _Context) -> t.SExpr:
    return t.Subscript(_expr(n.value, c), _expr(n.slice, c), _span(n, c))


def _slice(n: Any, c: _Context) -> t.SExpr:
    return t.Slice(_optional(n.lower, c), _optional(n.upper, c), _optional(n.step, c), _span(n, c))


def _call(n: Any, c: _Context) -> t.SExpr:
    args = n.args
    keywords = n.keywords
    return t.CallExpr(
        _EXPRESSIONS[type(n.func)](n.func, c),
        tuple([_EXPRESSIONS[type(a)](a, c) for a in args]) if args else (),
        tuple([t.Keyword(k.arg, _expr(k.value, c), _span(k, c)) for k in keywords]) if keywords else (),
        Span(c.file, n.lineno, n.col_offset + 1, n.end_lineno, n.end_col_offset + 1),
    )


_BINARY = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
}
_UNARY = {ast.UAdd: "+", ast.USub: "-", ast.Invert: "~", ast.Not: "not"}
_COMPARE = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}


def _binary(n: Any, c: _Context) -> t.SExpr:
    return t.BinaryExpr(_BINARY[type(n.op)], _expr(n.left, c), _expr(n.right, c), _span(n, c))


def _unary(n: Any, c: _Context) -> t.SExpr:
    return t.UnaryExpr(_UNARY[type(n.op)], _expr(n.operand, c), _span(n, c))


def _bool(n: Any, c: _Context) -> t.SExpr:
    return t.BoolExpr("and" if type(n.op) is ast.And else "or", _exprs(n.values, c), _span(n, c))


def _compare(n: Any, c: _Context) -> t.SExpr:
    ops = tuple([_COMPARE[type(op)] for op in n.ops])
    return t.CompareExpr(_expr(n.left, c), ops, _exprs(n.comparators, c), _span(n, c))


def _if_expr(n: Any, c: _Context) -> t.SExpr:
    return t.IfExpr(_expr(n.test, c), _expr(n.body, c), _expr(n.orelse, c), _span(n, c))


def _tuple(n: Any, c: _Context) -> t.SExpr:
    return t.TupleExpr(_exprs(n.elts, c), _span(n, c))


def _list(n: Any, c: _Context) -> t.SExpr:
    return t.ListExpr(_exprs(n.elts, c), _span(n, c))


def _set(n: Any, c: _Context) -> t.SExpr:
    return t.SetExpr(_exprs(n.elts, c), _span(n, c))


def _dict(n: Any, c: _Context) -> t.SExpr:
    return t.DictExpr(tuple([_optional(k, c) for k in n.keys]), _exprs(n.values, c), _span(n, c))


def _starred(n: Any, c: _Context) -> t.SExpr:
    return t.Starred(_expr(n.value, c), _span(n, c))


def _lambda(n: Any, c: _Context) -> t.SExpr:
    return t.Lambda(_params(n.args, c), _expr(n.body, c), _span(n, c))


def _clauses(n: Any, c: _Context) -> tuple[t.Clause, ...]:
    made = []
    for g in n.generators:
        if g.is_async:
            return _outside(n, c)
        target, over = _expr(g.target, c), _expr(g.iter, c)
        conditions = _exprs(g.ifs, c)
        last = conditions[-1] if conditions else over
        made.append(t.Clause(target, over, conditions, target.span.to(last.span)))  # type: ignore[union-attr, arg-type]
    return tuple(made)


def _list_comp(n: Any, c: _Context) -> t.SExpr:
    return t.Comprehension("list", _expr(n.elt, c), _clauses(n, c), None, _span(n, c))


def _generator(n: Any, c: _Context) -> t.SExpr:
    return t.Comprehension("generator", _expr(n.elt, c), _clauses(n, c), None, _span(n, c))


def _set_comp(n: Any, c: _Context) -> t.SExpr:
    return t.Comprehension("set", _expr(n.elt, c), _clauses(n, c), None, _span(n, c))


def _dict_comp(n: Any, c: _Context) -> t.SExpr:
    return t.Comprehension("dict", _expr(n.value, c), _clauses(n, c), _expr(n.key, c), _span(n, c))


def _fstring(n: Any, c: _Context) -> t.SExpr:
    if not c.python:
        raise Refused
    return t.FString(_spelled(_text(n, c), c), _span(n, c))


def _outside(n: Any, c: _Context) -> Any:
    """An expression that the language lacks: refused in text, a diagnostic in decorated Python."""
    if not c.python:
        raise Refused
    kind = _KINDS.get(type(n).__name__, type(n).__name__)
    span = _span(n, c)
    c.diagnostics.append(
        Diagnostic("unsupported-syntax", f"{kind} is not part of the language", span, source=c.source)
    )
    return t.Constant(None, None, span)


_KINDS = {
    "NamedExpr": "an assignment inside an expression (`:=`)",
    "Await": "`await`",
    "Yield": "`yield`",
    "YieldFrom": "`yield from`",
    "TemplateStr": "a template string",
    "ListComp": "an asynchronous comprehension",
    "SetComp": "an asynchronous comprehension",
    "DictComp": "an asynchronous comprehension",
    "GeneratorExp": "an asynchronous comprehension",
}


class _Handlers(dict[type, Callable[[Any, _Context], Any]]):
    """A table in which every class that is not listed is outside the language."""

    def __init__(self, rest: Callable[[Any, _Context], Any], known: dict[type, Any]) -> None:
        super().__init__(known)
        self.rest = rest

    def __missing__(self, kind: type) -> Callable[[Any, _Context], Any]:
        return self.rest


_EXPRESSIONS = _Handlers(
    _outside,
    {
        ast.Attribute: _attribute,
        ast.BinOp: _binary,
        ast.BoolOp: _bool,
        ast.Call: _call,
        ast.Compare: _compare,
        ast.Constant: _constant,
        ast.Dict: _dict,
        ast.DictComp: _dict_comp,
        ast.GeneratorExp: _generator,
        ast.IfExp: _if_expr,
        ast.JoinedStr: _fstring,
        ast.Lambda: _lambda,
        ast.List: _list,
        ast.ListComp: _list_comp,
        ast.Name: _name,
        ast.Set: _set,
        ast.SetComp: _set_comp,
        ast.Slice: _slice,
        ast.Starred: _starred,
        ast.Subscript: _subscript,
        ast.Tuple: _tuple,
        ast.UnaryOp: _unary,
    },
)


def _params(n: Any, c: _Context) -> tuple[t.Param, ...]:
    plain_defaults = [None] * (len(n.posonlyargs) + len(n.args) - len(n.defaults)) + n.defaults
    rows = [(a, "posonly") for a in n.posonlyargs] + [(a, "normal") for a in n.args]
    made = [_param(a, kind, d, c) for (a, kind), d in zip(rows, plain_defaults)]
    if n.vararg:
        made.append(_param(n.vararg, "star", None, c))
    made += [_param(a, "kwonly", d, c) for a, d in zip(n.kwonlyargs, n.kw_defaults)]
    if n.kwarg:
        made.append(_param(n.kwarg, "kwstar", None, c))
    return tuple(made)


def _param(n: Any, kind: str, default: Any, c: _Context) -> t.Param:
    return t.Param(n.arg, _optional(n.annotation, c), _optional(default, c), kind, _span(n, c))


# Statements


def _statements(nodes: list[Any], c: _Context) -> tuple[t.SStmt, ...]:
    return tuple([_STATEMENTS[type(n)](n, c) for n in nodes])


def _expr_stmt(n: Any, c: _Context) -> t.SStmt:
    return t.ExprStmt(_expr(n.value, c), None, _span(n, c))


def _assign(n: Any, c: _Context) -> t.SStmt:
    return t.Assign(_exprs(n.targets, c), _expr(n.value, c), None, _span(n, c))


def _ann_assign(n: Any, c: _Context) -> t.SStmt:
    target, annotation = _expr(n.target, c), _expr(n.annotation, c)
    return t.AnnAssign(target, annotation, _optional(n.value, c), None, _span(n, c))


def _aug_assign(n: Any, c: _Context) -> t.SStmt:
    return t.AugAssign(_expr(n.target, c), _BINARY[type(n.op)], _expr(n.value, c), None, _span(n, c))


def _for(n: Any, c: _Context) -> t.SStmt:
    if n.orelse:
        return _unsupported(n, c)
    return t.ForStmt(_expr(n.target, c), _expr(n.iter, c), _statements(n.body, c), None, _span(n, c))


def _while(n: Any, c: _Context) -> t.SStmt:
    if n.orelse:
        return _unsupported(n, c)
    return t.WhileStmt(_expr(n.test, c), _statements(n.body, c), None, _span(n, c))


def _if(n: Any, c: _Context) -> t.SStmt:
    return t.IfStmt(
        _expr(n.test, c),
        _statements(n.body, c),
        _statements(n.orelse, c),
        c.lines[n.lineno - 1].startswith("elif", n.col_offset),
        None,
        None,
        _span(n, c),
    )


def _with(n: Any, c: _Context) -> t.SStmt:
    items = []
    for item in n.items:
        context, target = _expr(item.context_expr, c), _optional(item.optional_vars, c)
        span = context.span.to(target.span) if target else context.span  # type: ignore[union-attr, arg-type]
        items.append(t.WithItem(context, target, span))
    return t.WithStmt(tuple(items), _statements(n.body, c), None, _span(n, c))


def _assert(n: Any, c: _Context) -> t.SStmt:
    return t.AssertStatement(_expr(n.test, c), _optional(n.msg, c), None, _span(n, c))


def _return(n: Any, c: _Context) -> t.SStmt:
    return t.ReturnStmt(_optional(n.value, c), None, _span(n, c))


def _word(n: Any, c: _Context) -> t.SStmt:
    return t.KeywordStmt(type(n).__name__.lower(), None, _span(n, c))


def _import(n: Any, c: _Context) -> t.SStmt:
    return t.ImportStmt(f"import {_aliases(n.names)}", None, _span(n, c))


def _import_from(n: Any, c: _Context) -> t.SStmt:
    text = f"from {'.' * n.level}{n.module or ''} import {_aliases(n.names)}"
    return t.ImportStmt(text, None, _span(n, c))


def _aliases(names: list[Any]) -> str:
    return ", ".join([f"{a.name} as {a.asname}" if a.asname else a.name for a in names])


def _function(n: Any, c: _Context) -> t.SStmt:
    return t.FunctionDef(
        n.name,
        _params(n.args, c),
        _statements(n.body, c),
        _exprs(n.decorator_list, c),
        _optional(n.returns, c),
        tuple([_type_param(p, c) for p in getattr(n, "type_params", ())]),
        None,
        _span(n, c),
    )


def _type_param(n: Any, c: _Context) -> str:
    bound = getattr(n, "bound", None)
    plain_bound = bound is None or (type(bound) is ast.Name and bound.id == "int")
    if type(n).__name__ != "TypeVar" or not plain_bound or getattr(n, "default_value", None) is not None:
        _outside(n, c)
    return str(n.name)


def _class(n: Any, c: _Context) -> t.SStmt:
    if n.keywords or getattr(n, "type_params", ()):
        return _unsupported(n, c)
    body, decorators = _statements(n.body, c), _exprs(n.decorator_list, c)
    return t.ClassDef(n.name, _exprs(n.bases, c), body, decorators, None, _span(n, c))


def _unsupported(n: Any, c: _Context) -> t.SStmt:
    if not c.python:
        raise Refused
    indent = c.lines[n.lineno - 1][: n.col_offset]
    lines = [line.removeprefix(indent) for line in _text(n, c).split("\n")]
    return t.Unsupported(type(n).__name__, "\n".join(lines), None, _span(n, c))


_STATEMENTS = _Handlers(
    _unsupported,
    {
        ast.AnnAssign: _ann_assign,
        ast.Assert: _assert,
        ast.Assign: _assign,
        ast.AugAssign: _aug_assign,
        ast.Break: _word,
        ast.ClassDef: _class,
        ast.Continue: _word,
        ast.Expr: _expr_stmt,
        ast.For: _for,
        ast.FunctionDef: _function,
        ast.If: _if,
        ast.Import: _import,
        ast.ImportFrom: _import_from,
        ast.Pass: _word,
        ast.Return: _return,
        ast.While: _while,
        ast.With: _with,
    },
)
