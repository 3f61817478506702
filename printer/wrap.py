"""Layout of statements that do not fit on a line: a document of groups, broken from the outside in.

After Wadler and Lindig: a group stays on the line if what follows up to the next possible line end
fits; otherwise its own breaks become line ends. Brackets break like black's: one item a line, a
comma after the last. An operation breaks before its loosest operators, inside parentheses.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..grammar import tree as t
from . import flat


class Group(NamedTuple):
    """Parts that are broken together or not at all."""

    parts: tuple[Any, ...]


class Nest(NamedTuple):
    """Parts whose lines are indented one step further."""

    parts: tuple[Any, ...]


class Break(NamedTuple):
    """A place for a line end; `flat` stands there otherwise, and `broken` before the line end."""

    flat: str = ""
    broken: str = ""


class Either(NamedTuple):
    """One text in a broken group, another in a flat one."""

    broken: str
    flat: str = ""


def render(parts: tuple[Any, ...], column: int, width: int, step: int) -> str:
    """The text of a document whose first line starts at a column that it also falls back to."""
    out: list[str] = []
    place = column
    work: list[tuple[int, bool, Any]] = [(column, True, p) for p in reversed(parts)]
    while work:
        indent, broken, part = work.pop()
        kind = type(part)
        if kind is str:
            out.append(part)
            place = _after(part, place)
        elif kind is Break:
            if broken:
                out.append(f"{part.broken}\n{' ' * indent}")
                place = indent
            else:
                out.append(part.flat)
                place += len(part.flat)
        elif kind is Either:
            text = part.broken if broken else part.flat
            out.append(text)
            place += len(text)
        elif kind is Nest:
            work.extend([(indent + step, broken, p) for p in reversed(part.parts)])
        else:
            stays = not broken or _fits(part, work, width - place)
            work.extend([(indent, not stays, p) for p in reversed(part.parts)])
    return "".join(out)


def _after(text: str, place: int) -> int:
    end = text.rfind("\n")
    return place + len(text) if end < 0 else len(text) - end - 1


def _fits(group: Group, rest: list[tuple[int, bool, Any]], room: int) -> bool:
    """Whether a flat group, and what follows it up to the next possible line end, fits."""
    work: list[tuple[bool, Any]] = [(False, group)]
    behind = len(rest)
    while room >= 0:
        if not work:
            if behind == 0:
                return True
            behind -= 1
            work.append((rest[behind][1], rest[behind][2]))
        broken, part = work.pop()
        kind = type(part)
        if kind is str:
            end = part.find("\n")
            if end >= 0:
                return room >= end
            room -= len(part)
        elif kind is Break:
            if broken:
                return room >= len(part.broken)
            room -= len(part.flat)
        elif kind is Either:
            room -= len(part.broken if broken else part.flat)
        else:
            work.extend([(broken, p) for p in reversed(part.parts)])
    return False


# Documents of expressions


def bracketed(opening: str, items: list[Any], closing: str, comma: str = ",") -> Group | str:
    """Items in brackets; `comma` follows the last one where they are broken."""
    if not items:
        return opening + closing
    inside: list[Any] = [Break()]
    for k, item in enumerate(items):
        inside.append(item)
        inside.append(Break(", ", ",") if k < len(items) - 1 else Either(comma))
    return Group((opening, Nest(tuple(inside)), Break(), closing))


def doc(e: Any) -> Any:
    """The document of an expression that stands inside brackets."""
    make = _DOCS.get(type(e))
    return flat.show(e) if make is None else make(e)


def _operand(e: Any, least: int) -> Any:
    if type(e) is t.TupleExpr or flat.rank(e) >= least:
        return doc(e)
    return _in_parentheses(e)


def _in_parentheses(e: Any) -> Group:
    return Group(("(", Nest((Break(), doc(e))), Break(), ")"))


def _chain(e: Any) -> Group:
    """Attributes, calls and subscripts, one after the other; a chain may be thousands long."""
    parts: list[Any] = []
    while isinstance(e, (t.Attribute, t.CallExpr, t.Subscript)):
        if isinstance(e, t.Attribute):
            parts.append(f".{e.attr}")
            e = e.value
        elif isinstance(e, t.CallExpr):
            parts.append(_arguments(e))
            e = e.func
        else:
            parts.append(_index(e.index))
            e = e.value
    parts.append(flat.primary(e))
    return Group(tuple(reversed(parts)))


def _arguments(e: t.CallExpr) -> Any:
    if len(e.args) == 1 and not e.keywords and _is_generator(e.args[0]):
        return doc(e.args[0])
    return bracketed("(", [doc(a) for a in (*e.args, *e.keywords)], ")")


def _is_generator(e: t.SExpr) -> bool:
    return isinstance(e, t.Comprehension) and e.kind == "generator"


def _keyword(k: t.Keyword) -> Any:
    if k.name is None:
        return Group(("**", _operand(k.value, flat.BITOR)))
    return Group((f"{k.name}=", doc(k.value)))


def _index(index: t.SExpr) -> Any:
    if not isinstance(index, t.TupleExpr) or not index.elts:
        return bracketed("[", [doc(index)], "]", "")
    if len(index.elts) > 1:
        return bracketed("[", [doc(x) for x in index.elts], "]")
    comma = "" if isinstance(index.elts[0], t.Starred) else ","
    return Group(("[", Nest((Break(), doc(index.elts[0]), comma)), Break(), "]"))


def _sequence(opening: str, elts: tuple[t.SExpr, ...], closing: str) -> Any:
    return bracketed(opening, [doc(x) for x in elts], closing)


def _tuple(e: t.TupleExpr) -> Any:
    if len(e.elts) == 1:
        return Group(("(", Nest((Break(), doc(e.elts[0]), ",")), Break(), ")"))
    return _sequence("(", e.elts, ")")


def _list(e: t.ListExpr) -> Any:
    return _sequence("[", e.elts, "]")


def _set(e: t.SetExpr) -> Any:
    return _sequence("{", e.elts, "}") if e.elts else flat.show(e)


def _dict(e: t.DictExpr) -> Any:
    items = []
    for key, value in zip(e.keys, e.values_):
        if key is None:
            items.append(Group(("**", _operand(value, flat.BITOR))))
        else:
            items.append(Group((doc(key), ": ", doc(value))))
    return bracketed("{", items, "}")


def _binary(e: t.BinaryExpr) -> Any:
    mine = flat.BINARY[e.op]
    if e.op == "**":
        return Group((_operand(e.left, flat.ATOM), " ** ", _operand(e.right, flat.UNARY)))
    parts: list[Any] = []
    while True:  # the terms of a chain of one rank break together
        parts += [_operand(e.right, mine + 1), f"{e.op} ", Break(" ")]
        left = e.left
        if not isinstance(left, t.BinaryExpr) or flat.BINARY[left.op] != mine:
            parts.append(_operand(left, mine))
            return Group(tuple(reversed(parts)))
        e = left


def _unary(e: t.UnaryExpr) -> Any:
    if e.op == "not":
        return Group(("not ", _operand(e.operand, flat.NOT)))
    return Group((e.op, _operand(e.operand, flat.UNARY)))


def _bool(e: t.BoolExpr) -> Any:
    least = flat.AND if e.op == "or" else flat.NOT
    parts: list[Any] = [_operand(e.values[0], least)]
    for value in e.values[1:]:
        parts += [Break(" "), f"{e.op} ", _operand(value, least)]
    return Group(tuple(parts))


def _compare(e: t.CompareExpr) -> Any:
    parts: list[Any] = [_operand(e.left, flat.BITOR)]
    for op, right in zip(e.ops, e.rights):
        parts += [Break(" "), f"{op} ", _operand(right, flat.BITOR)]
    return Group(tuple(parts))


def _if_expr(e: t.IfExpr) -> Any:
    return Group(
        (
            _operand(e.body, flat.OR),
            Break(" "),
            "if ",
            _operand(e.test, flat.OR),
            Break(" "),
            "else ",
            _operand(e.orelse, flat.TEST),
        )
    )


def _starred(e: t.Starred) -> Any:
    return Group(("*", _operand(e.value, flat.BITOR)))


def _lambda(e: t.Lambda) -> Any:
    head = ", ".join(flat.params(e.params))
    return Group((f"lambda {head}: " if head else "lambda: ", _operand(e.body, flat.TEST)))


def _comprehension(e: t.Comprehension) -> Any:
    opening, closing = flat.BRACKETS[e.kind]
    head: Any = _operand(e.elt, flat.TEST)
    if e.key is not None:
        head = Group((doc(e.key), ": ", doc(e.elt)))
    parts: list[Any] = [Break(), head]
    for clause in e.clauses:
        parts += [Break(" "), f"for {flat.target(clause.target)} in ", _operand(clause.iter, flat.OR)]
        for condition in clause.conditions:
            parts += [Break(" "), "if ", _operand(condition, flat.OR)]
    return Group((opening, Nest(tuple(parts)), Break(), closing))


_DOCS: dict[type, Any] = {
    t.Attribute: _chain,
    t.BinaryExpr: _binary,
    t.BoolExpr: _bool,
    t.CallExpr: _chain,
    t.CompareExpr: _compare,
    t.Comprehension: _comprehension,
    t.DictExpr: _dict,
    t.IfExpr: _if_expr,
    t.Keyword: _keyword,
    t.Lambda: _lambda,
    t.ListExpr: _list,
    t.SetExpr: _set,
    t.Starred: _starred,
    t.Subscript: _chain,
    t.TupleExpr: _tuple,
    t.UnaryExpr: _unary,
}

# Statements

_BREAKS_ITSELF = (t.CallExpr, t.Comprehension, t.DictExpr, t.ListExpr, t.SetExpr, t.Subscript, t.TupleExpr)
_NEVER_BREAKS = (t.Constant, t.Name, t.FString)


def outside(e: Any) -> Any:
    """The document of an expression outside brackets; what cannot break by itself may get parentheses."""
    if isinstance(e, _BREAKS_ITSELF):
        return doc(e)
    if isinstance(e, _NEVER_BREAKS) or (isinstance(e, t.Attribute) and isinstance(e.value, _NEVER_BREAKS)):
        return flat.show(e)
    return Group((Either("("), Nest((Break(), doc(e))), Break(), Either(")")))


def _bare(e: Any) -> Any:
    """A value whose tuple needs no parentheses while it fits."""
    if isinstance(e, t.TupleExpr) and len(e.elts) > 1:
        return _loose([doc(x) for x in e.elts])
    return outside(e)


def _loose(items: list[Any]) -> Group:
    inside: list[Any] = [Break()]
    for k, item in enumerate(items):
        inside += [item, Break(", ", ",") if k < len(items) - 1 else Either(",")]
    return Group((Either("("), Nest(tuple(inside)), Break(), Either(")")))


def wrap_expression(e: Any, width: int, step: int, column: int = 0, used: int = 0) -> str:
    """The text of an expression that is too long for a line; `used` characters stand before it."""
    text = render((" " * used, outside(e)), column, width, step)
    return text[used:]


def wrap_statement(stmt: t.SStmt, column: int, width: int, step: int) -> str:
    """The text of a statement, or of a compound statement's header, that is too long for a line."""
    return render(_statement(stmt), column, width, step)


def _statement(s: Any) -> tuple[Any, ...]:
    match s:
        case t.ExprStmt():
            return (outside(s.value),)
        case t.Assign():
            targets = [part for target in s.targets for part in (_bare(target), " = ")]
            return (*targets, _bare(s.value))
        case t.AnnAssign():
            head = (outside(s.target), ": ", outside(s.annotation))
            return head if s.value is None else (*head, " = ", _bare(s.value))
        case t.AugAssign():
            return (outside(s.target), f" {s.op}= ", _bare(s.value))
        case t.AssertStatement():
            return ("assert ", outside(s.test), *(() if s.msg is None else (", ", outside(s.msg))))
        case t.ReturnStmt() if s.value is not None:
            return ("return ", outside(s.value))
        case t.ForStmt():
            return (f"for {flat.target(s.target)} in ", _bare(s.iter), ":")
        case t.WhileStmt():
            return ("while ", outside(s.test), ":")
        case t.IfStmt():
            return ("elif " if s.is_elif else "if ", outside(s.test), ":")
        case t.WithStmt():
            return _with(s)
        case t.FunctionDef():
            return _function(s)
        case t.ClassDef():
            return (f"class {s.name}", bracketed("(", [doc(b) for b in s.bases], ")") if s.bases else "", ":")
    return (flat.SIMPLE[type(s)](s),)


def _with(s: t.WithStmt) -> tuple[Any, ...]:
    if len(s.items) == 1 and s.items[0].target is None:
        if isinstance(s.items[0].context, t.TupleExpr):
            return (flat.header(s),)
        return ("with ", outside(s.items[0].context), ":")
    items = []
    for item in s.items:
        target = () if item.target is None else (" as ", doc(item.target))
        items.append(Group((doc(item.context), *target)))
    return ("with ", _loose(items), ":")


def _function(s: t.FunctionDef) -> tuple[Any, ...]:
    symbols = f"[{', '.join(s.type_params)}]" if s.type_params else ""
    rows: list[Any] = []
    named = {flat.show(p): p for p in s.params}
    for text in flat.params(s.params):
        rows.append(_param(named[text]) if text in named else text)
    comma = "," if rows and rows[-1] != "*" else ""
    params = bracketed("(", rows, ")", comma)
    returns = () if s.returns is None else (" -> ", outside(s.returns))
    return (f"def {s.name}{symbols}", params, *returns, ":")


def _param(p: t.Param) -> Any:
    if p.annotation is None and p.default is None:
        return flat.show(p)
    head = flat.show(p.replace(annotation=None, default=None))
    if p.annotation is None:
        return Group((f"{head}=", doc(p.default)))
    typed = (f"{head}: ", doc(p.annotation))
    return Group(typed if p.default is None else (*typed, " = ", doc(p.default)))
