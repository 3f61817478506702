"""The flat text of expressions, simple statements and headers: one line each, built as a string at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..grammar import tree as t
from ..grammar.spelling import spelling

# How tightly an expression binds; an operand that binds less than its place demands gets parentheses.
TUPLE, TEST, OR, AND, NOT, COMPARE, BITOR, BITXOR, BITAND, SHIFT, SUM, TERM, UNARY, POWER, ATOM = range(15)
BINARY = {"|": BITOR, "^": BITXOR, "&": BITAND, "<<": SHIFT, ">>": SHIFT, "+": SUM, "-": SUM}
BINARY |= dict.fromkeys(("*", "/", "//", "%", "@"), TERM) | {"**": POWER}
_RANKS: dict[type, int] = {
    t.TupleExpr: TUPLE,
    t.IfExpr: TEST,
    t.Lambda: TEST,
    t.CompareExpr: COMPARE,
    t.Starred: TUPLE,
    t.Slice: TUPLE,
}
_ATOMS = (t.Name, t.Attribute, t.Subscript, t.CallExpr)


# Expressions


def rank(e: Any) -> int:
    """How tightly an expression binds."""
    kind = type(e)
    if kind in _ATOMS:
        return ATOM
    if kind is t.BinaryExpr:
        return BINARY[e.op]
    if kind is t.Constant:
        return _rank_of_constant(e)
    if kind is t.UnaryExpr:
        return NOT if e.op == "not" else UNARY
    if kind is t.BoolExpr:
        return OR if e.op == "or" else AND
    return _RANKS.get(kind, ATOM)


def _rank_of_constant(e: t.Constant) -> int:
    value = e.value
    if e.text is None and isinstance(value, (int, float)) and not isinstance(value, bool):
        return UNARY if spelling(value)[0] == "-" else ATOM
    return ATOM


def show(e: Any) -> str:
    """The flat text of an expression, without parentheses around it (but those of a tuple)."""
    return _SHOW[type(e)](e)


def operand(e: Any, least: int) -> str:
    """The text of an expression at a place that demands a rank."""
    kind = type(e)
    text = _SHOW[kind](e)
    if kind in _ATOMS or kind is t.TupleExpr or rank(e) >= least:
        return text
    return f"({text})"


def bare(e: Any) -> str:
    """The text where a tuple needs no parentheses: right of `=`, as a loop's target."""
    if type(e) is t.TupleExpr and len(e.elts) > 1:
        return ", ".join([_SHOW[type(x)](x) for x in e.elts])
    return _SHOW[type(e)](e)


def _name(e: t.Name) -> str:
    return e.id


def _constant(e: t.Constant) -> str:
    text = e.text
    return spelling(e.value) if text is None else text


def _fstring(e: t.FString) -> str:
    return e.text


def _attribute(e: t.Attribute) -> str:
    value: Any = e.value
    if type(value) is t.Name:
        return f"{value.id}.{e.attr}"
    return f"{primary(value)}.{e.attr}"


def primary(e: Any) -> str:
    """The text of what stands before a dot, a call or an index."""
    if type(e) is t.Constant and isinstance(e.value, (int, float, complex)) and not isinstance(e.value, bool):
        return f"({_constant(e)})"
    return operand(e, ATOM)


def _subscript(e: t.Subscript) -> str:
    return f"{primary(e.value)}[{index(e.index)}]"


def index(e: Any) -> str:
    """The text between the brackets of a subscript."""
    if type(e) is not t.TupleExpr or not e.elts:
        return _SHOW[type(e)](e)
    elts = e.elts
    text = ", ".join([_SHOW[type(x)](x) for x in elts])
    return text if len(elts) > 1 or type(elts[0]) is t.Starred else f"{text},"


def _slice(e: t.Slice) -> str:
    text = f"{show(e.lower) if e.lower else ''}:{show(e.upper) if e.upper else ''}"
    return f"{text}:{show(e.step)}" if e.step else text


def _call(e: t.CallExpr) -> str:
    args = e.args
    func = e.func
    head = func.id if type(func) is t.Name else primary(func)
    if not e.keywords:
        if len(args) == 1 and type(args[0]) is t.Comprehension and args[0].kind == "generator":
            return f"{head}{show(args[0])}"
        return f"{head}({', '.join([_SHOW[type(a)](a) for a in args])})"
    parts = [_SHOW[type(a)](a) for a in args] + [keyword(k) for k in e.keywords]
    return f"{head}({', '.join(parts)})"


def keyword(k: t.Keyword) -> str:
    """`name=value` or `**value`."""
    if k.name is None:
        return f"**{operand(k.value, BITOR)}"
    return f"{k.name}={_SHOW[type(k.value)](k.value)}"


def _binary(e: t.BinaryExpr) -> str:
    op = e.op
    mine = BINARY[op]
    if op == "**":
        return f"{operand(e.left, ATOM)} ** {operand(e.right, UNARY)}"
    left = e.left
    if type(left) is not t.BinaryExpr or BINARY[left.op] < mine or left.op == "**":
        return f"{operand(left, mine)} {op} {operand(e.right, mine + 1)}"
    parts = []
    while True:  # a chain may be thousands of terms long: walk down its left side
        parts.append(f"{e.op} {operand(e.right, BINARY[e.op] + 1)}")
        left = e.left
        if type(left) is not t.BinaryExpr or BINARY[left.op] < BINARY[e.op] or left.op == "**":
            parts.append(operand(left, BINARY[e.op]))
            return " ".join(reversed(parts))
        e = left


def _unary(e: t.UnaryExpr) -> str:
    if e.op == "not":
        return f"not {operand(e.operand, NOT)}"
    return f"{e.op}{operand(e.operand, UNARY)}"


def _bool(e: t.BoolExpr) -> str:
    least = AND if e.op == "or" else NOT
    return f" {e.op} ".join([operand(v, least) for v in e.values])


def _compare(e: t.CompareExpr) -> str:
    parts = [operand(e.left, BITOR)]
    for op, right in zip(e.ops, e.rights):
        parts.append(f"{op} {operand(right, BITOR)}")
    return " ".join(parts)


def _if_expr(e: t.IfExpr) -> str:
    return f"{operand(e.body, OR)} if {operand(e.test, OR)} else {operand(e.orelse, TEST)}"


def _tuple(e: t.TupleExpr) -> str:
    if len(e.elts) == 1:
        return f"({show(e.elts[0])},)"
    return f"({', '.join([_SHOW[type(x)](x) for x in e.elts])})"


def _list(e: t.ListExpr) -> str:
    return f"[{', '.join([_SHOW[type(x)](x) for x in e.elts])}]"


def _set(e: t.SetExpr) -> str:
    return f"{{{', '.join([_SHOW[type(x)](x) for x in e.elts])}}}" if e.elts else "{*()}"


def _dict(e: t.DictExpr) -> str:
    return f"{{{', '.join([dict_item(k, v) for k, v in zip(e.keys, e.values_)])}}}"


def dict_item(key: t.SExpr | None, value: t.SExpr) -> str:
    """`key: value` or `**value`."""
    return f"{show(key)}: {show(value)}" if key is not None else f"**{operand(value, BITOR)}"


def _starred(e: t.Starred) -> str:
    return f"*{operand(e.value, BITOR)}"


def _lambda(e: t.Lambda) -> str:
    head = ", ".join(params(e.params))
    return f"lambda {head}: {operand(e.body, TEST)}" if head else f"lambda: {operand(e.body, TEST)}"


def params(given: tuple[t.Param, ...]) -> list[str]:
    """The parameters of a function or lambda, with the `/` and `*` between their kinds."""
    made = []
    before = ""
    for p in given:
        if before == "posonly" and p.kind != "posonly":
            made.append("/")
        if p.kind == "kwonly" and before not in ("star", "kwonly"):
            made.append("*")
        made.append(_param(p))
        before = p.kind
    if before == "posonly":
        made.append("/")
    return made


def _param(p: t.Param) -> str:
    text = {"star": "*", "kwstar": "**"}.get(p.kind, "") + p.name
    if p.annotation is not None:
        text = f"{text}: {show(p.annotation)}"
        return text if p.default is None else f"{text} = {show(p.default)}"
    return text if p.default is None else f"{text}={show(p.default)}"


BRACKETS = {"list": ("[", "]"), "generator": ("(", ")"), "set": ("{", "}"), "dict": ("{", "}")}


def _comprehension(e: t.Comprehension) -> str:
    opening, closing = BRACKETS[e.kind]
    parts = [f"{show(e.key)}: {show(e.elt)}" if e.key is not None else operand(e.elt, TEST)]
    parts += [clause(c) for c in e.clauses]
    return f"{opening}{' '.join(parts)}{closing}"


def clause(c: t.Clause) -> str:
    """`for target in iter if condition`."""
    text = f"for {target(c.target)} in {operand(c.iter, OR)}"
    for condition in c.conditions:
        text = f"{text} if {operand(condition, OR)}"
    return text


def target(e: Any) -> str:
    """What a loop binds."""
    return bare(e) if type(e) in (t.TupleExpr, t.Starred) else operand(e, ATOM)


def _with_item(i: t.WithItem) -> str:
    text = show(i.context)
    return text if i.target is None else f"{text} as {show(i.target)}"


_SHOW: dict[type, Callable[[Any], str]] = {
    t.Attribute: _attribute,
    t.BinaryExpr: _binary,
    t.BoolExpr: _bool,
    t.CallExpr: _call,
    t.Clause: clause,
    t.CompareExpr: _compare,
    t.Comprehension: _comprehension,
    t.Constant: _constant,
    t.DictExpr: _dict,
    t.FString: _fstring,
    t.IfExpr: _if_expr,
    t.Keyword: keyword,
    t.Lambda: _lambda,
    t.ListExpr: _list,
    t.Name: _name,
    t.Param: _param,
    t.SetExpr: _set,
    t.Slice: _slice,
    t.Starred: _starred,
    t.Subscript: _subscript,
    t.TupleExpr: _tuple,
    t.UnaryExpr: _unary,
    t.WithItem: _with_item,
}


# Statements


def _expr_stmt(s: t.ExprStmt) -> str:
    return _SHOW[type(s.value)](s.value)


def _assign(s: t.Assign) -> str:
    return " = ".join([bare(e) for e in (*s.targets, s.value)])


def _ann_assign(s: t.AnnAssign) -> str:
    text = f"{show(s.target)}: {show(s.annotation)}"
    return text if s.value is None else f"{text} = {bare(s.value)}"


def _aug_assign(s: t.AugAssign) -> str:
    return f"{show(s.target)} {s.op}= {bare(s.value)}"


def _assert(s: t.AssertStatement) -> str:
    text = f"assert {show(s.test)}"
    return text if s.msg is None else f"{text}, {show(s.msg)}"


def _return(s: t.ReturnStmt) -> str:
    return "return" if s.value is None else f"return {show(s.value)}"


def _keyword_stmt(s: t.KeywordStmt) -> str:
    return s.word


def _import(s: t.ImportStmt) -> str:
    return s.text


SIMPLE: dict[type, Callable[[Any], str]] = {
    t.AnnAssign: _ann_assign,
    t.AssertStatement: _assert,
    t.Assign: _assign,
    t.AugAssign: _aug_assign,
    t.ExprStmt: _expr_stmt,
    t.ImportStmt: _import,
    t.KeywordStmt: _keyword_stmt,
    t.ReturnStmt: _return,
}


def header(s: Any) -> str:
    """The flat first line of a compound statement, its decorators left out."""
    match s:
        case t.ForStmt():
            return f"for {target(s.target)} in {bare(s.iter)}:"
        case t.WhileStmt():
            return f"while {show(s.test)}:"
        case t.IfStmt():
            return f"{'elif' if s.is_elif else 'if'} {show(s.test)}:"
        case t.WithStmt():
            return f"with {with_items(s)}:"
        case t.FunctionDef():
            symbols = f"[{', '.join(s.type_params)}]" if s.type_params else ""
            returns = f" -> {show(s.returns)}" if s.returns is not None else ""
            return f"def {s.name}{symbols}({', '.join(params(s.params))}){returns}:"
        case t.ClassDef():
            bases = f"({', '.join([show(b) for b in s.bases])})" if s.bases else ""
            return f"class {s.name}{bases}:"
    raise TypeError(f"{type(s).__name__} has no layout")


def with_items(s: t.WithStmt) -> str:
    """The items of a with statement; a second pair of brackets tells a lone tuple from a list of items."""
    items = s.items
    if len(items) == 1 and items[0].target is None and type(items[0].context) is t.TupleExpr:
        return f"({show(items[0].context)})" if items[0].context.elts else "()"
    return ", ".join([_with_item(i) for i in items])
