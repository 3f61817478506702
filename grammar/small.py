"""The small languages: target strings, dimensions of shapes, index maps, pipelines of passes, patterns.

Each has a grammar file of its own; those that hold expressions share `expr.lark`. All functions read
one short text and raise `ScriptError` (`TargetError` for targets) with the place of the fault.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any, NamedTuple

from ..errors import Diagnostic, ScriptError, Span, TargetError
from ..node import runs_deep
from . import build
from . import tree as t
from .build import Builder, Places, Values, range_of
from .build_statements import dotted
from .explain import explain
from .machine import Machine, Program
from .tables import load_table
from .tokens import Token, Tokenizer


class IndexMapText(NamedTuple):
    """`lambda params: results`; the last parameter takes all remaining indices if `rest`."""

    params: tuple[str, ...]
    results: tuple[t.SExpr, ...]
    rest: bool = False


class Step(NamedTuple):
    """One pass of a pipeline and its options."""

    name: str
    options: dict[str, Any]


# Reading with a grammar


@lru_cache(maxsize=8)
def _program(grammar: str) -> Program:
    makers: dict[str, Any] = {**vars(build), "dotted": dotted, **_MAKERS}
    return Program(load_table(grammar, (grammar,)), grammar, makers)


def _read(grammar: str, text: str) -> Any:
    """The value of a text in a grammar whose tokens are those of script; raises ScriptError."""
    name = f"<{grammar.replace('_', ' ')}>"
    builder = Builder(name, text)
    lines = [line for line in Tokenizer(text, indented=True).lines() if line.tokens or line.fault]
    if lines and lines[0].fault:
        fault = lines[0].fault
        span = Span(name, *fault.start, *fault.end)
        raise ScriptError(Diagnostic("syntax", fault.message, span, source=text))
    tokens = [token for line in lines for token in line.tokens]
    return _run(grammar, tokens, builder)


def _run(grammar: str, tokens: list[Token], builder: Builder) -> Any:
    machine = Machine(_program(grammar), builder)
    end = tokens[-1].end if tokens else (1, 1)
    for place, token in enumerate([*tokens, Token("$END", "", end, end)]):
        if not machine.feed(token):
            machine = Machine(_program(grammar), builder)  # as it was before that token
            for earlier in tokens[:place]:
                machine.feed(earlier)
            raise ScriptError(explain(machine, token, tokens[:place], builder.source, builder.file))
    if builder.diagnostics:
        raise ScriptError(*builder.diagnostics)
    return machine.values[-2]


def _refuse(part: t.Surface, text: str, message: str) -> ScriptError:
    return ScriptError(Diagnostic("syntax", message, part.span, source=text))


# Shapes and index maps

_SHAPE_OPS = frozenset(("+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^"))


@runs_deep
def read_shape_symbol(text: str) -> t.SExpr:
    """The expression of a dimension such as `n` or `n * T.int64(4)`.

    It is made of names, whole numbers, arithmetic and calls of named functions.
    """
    made: t.SExpr = _read("shape", text)
    work: list[t.SExpr] = [made]
    while work:
        part = work.pop()
        match part:
            case t.Name():
                pass
            case t.Constant(value=int(value)) if not isinstance(value, bool):
                pass
            case t.BinaryExpr(op=op, left=left, right=right) if op in _SHAPE_OPS:
                work += [right, left]
            case t.UnaryExpr(op="-" | "+", operand=operand):
                work.append(operand)
            case t.Attribute(value=value):
                work.append(value)
            case t.CallExpr(func=t.Name() | t.Attribute() as func, args=args, keywords=()):
                work += [func, *args]
            case _:
                raise _refuse(part, text, f"{build.describe(part)} cannot be part of a dimension")
    return made


@runs_deep
def read_index_map(text: str) -> IndexMapText:
    """The parameters and results of an index map such as `lambda i, j: (i // 4, j)`."""
    made: t.Lambda = _read("index_map", text)
    for p in made.params:
        if p.default is not None or p.kind not in ("normal", "star"):
            raise _refuse(p, text, "an index map has plain parameters, the last one perhaps with `*`")
    body = made.body
    results = body.elts if isinstance(body, (t.TupleExpr, t.ListExpr)) else (body,)
    rest = bool(made.params) and made.params[-1].kind == "star"
    return IndexMapText(tuple([p.name for p in made.params]), results, rest)


@runs_deep
def read_pattern(text: str) -> t.SExpr:
    """The expression that a pattern of graphs such as `nn.relu(matmul(x, _))` is written as.

    What its parts mean is said where patterns are made of it.
    """
    made: t.SExpr = _read("pattern", text)
    return made


# Pipelines


@runs_deep
def read_pipeline(text: str) -> tuple[Step, ...]:
    """The passes of a pipeline such as `tirx.Simplify, unroll(max_steps=16)`, with their options."""
    steps: tuple[Step, ...] = _read("pipeline", text)
    return steps


def pipeline_none(b: Builder, v: Values, s: Places, e: Places) -> Any:
    """No pass at all."""
    return ()


def pipeline(b: Builder, v: Values, s: Places, e: Places) -> Any:
    """Several passes."""
    return tuple(v[0])


def step(b: Builder, v: Values, s: Places, e: Places) -> Any:
    """A pass without options."""
    return Step(v[0], {})


def step_options(b: Builder, v: Values, s: Places, e: Places) -> Any:
    """A pass with options, which are literals."""
    args, keywords = build.arguments(b, v[2])
    options: dict[str, Any] = {}
    for a in args:
        b.fault("options of a pass are given by name", a.span)
    for k in keywords:
        if k.name is None:
            b.fault("options of a pass are given by name", k.span)
        elif k.name in options:
            b.fault(f"the option `{k.name}` is given twice", k.span)
        else:
            options[k.name] = _literal(b, k.value)
    return Step(v[0], options)


def _literal(b: Builder, part: t.SExpr, words: dict[str, Any] | None = None) -> Any:
    """The value of a literal; a fault where it is none."""
    match part:
        case t.Constant():
            return part.value
        case t.UnaryExpr(op="-", operand=t.Constant(value=int() | float() as value)):
            return -value
        case t.TupleExpr(elts=elts):
            return tuple([_literal(b, x, words) for x in elts])
        case t.ListExpr(elts=elts):
            return [_literal(b, x, words) for x in elts]
        case t.DictExpr(keys=keys, values_=values) if all(isinstance(k, t.Constant) for k in keys):
            return {k.value: _literal(b, x, words) for k, x in zip(keys, values) if isinstance(k, t.Constant)}
        case t.Name(id=name) if words and name in words:
            return words[name]
    b.fault(f"{build.describe(part)} is no literal", part.span)
    return None


# Targets

_WORD = re.compile(r"""\s*(?:(?P<option>--?[A-Za-z_][\w.-]*)|(?P<value>(?:"[^"]*"|'[^']*'|[^\s"'])+))""")
_QUOTED = re.compile(r""""([^"]*)"|'([^']*)'""")


@runs_deep
def read_target_string(text: str, places: dict[str, Span] | None = None) -> dict[str, Any]:
    """The description that a target string gives: `kind` and the attributes as they are spelled.

    The text is a kind (or a tag) with attributes, `llvm -mcpu=znver3 -num-cores 2`, or a dict as JSON or
    Python write it. An attribute without a value is True. `places` takes up where each of them stands.
    Raises TargetError; which kinds and attributes there are is not looked at.
    """
    if places is None:
        places = {}
    if text.lstrip().startswith("{"):
        return _target_dict(text, places)
    builder = Builder("<target>", text)
    try:
        made: tuple[Setting, ...] = _run("target", list(_target_tokens(text)), builder)
    except ScriptError as error:
        raise TargetError(*error.diagnostics) from None
    places.update({name: span for name, _, span in made})
    return {name: value for name, value, _ in made}


def _target_dict(text: str, places: dict[str, Span]) -> dict[str, Any]:
    from .reader import read

    if text.count("{") + text.count("[") > 200:
        raise TargetError(Diagnostic("target", "a description of a target is not nested so deeply"))
    text = text.strip()
    reading = read(text, start="expression", filename="<target>")
    builder = Builder("<target>", text)
    builder.diagnostics += reading.diagnostics
    [statement] = reading.tree.body if reading.ok else [None]
    value = statement.value if isinstance(statement, t.ExprStmt) else None
    try:
        found = json.loads(text)  # its strings have escapes that ours have not
    except ValueError:
        found = None
        if value is not None:
            found = _literal(builder, value, {"true": True, "false": False, "null": None})
        if builder.diagnostics:
            raise TargetError(*builder.diagnostics) from None
    if not isinstance(found, dict):
        raise TargetError(Diagnostic("target", "this is not a description of a target", source=text))
    if isinstance(value, t.DictExpr):
        pairs = zip(value.keys, value.values_)
        spans = {k.value: (k.span, v.span) for k, v in pairs if isinstance(k, t.Constant)}
        places.update({k: a.to(b) for k, (a, b) in spans.items() if a is not None and b is not None})
    return found


def _target_tokens(text: str) -> list[Token]:
    """The words of a target string."""
    tokens: list[Token] = []
    at = 0

    def add(kind: str, start: int, end: int) -> None:
        tokens.append(Token(kind, text[start:end], (1, start + 1), (1, end + 1)))

    while at < len(text.rstrip()):
        found = _WORD.match(text, at)
        if found is None:
            span = Span("<target>", 1, at + 1, 1, len(text) + 1)
            raise TargetError(Diagnostic("target", "this quote is not closed", span, source=text))
        kind = found.lastgroup or ""
        begin, at = found.span(kind)
        if kind == "value":
            add("VALUE" if tokens else "HEAD", begin, at)
            continue
        add("OPTION", begin, at)
        if text.startswith("=", at):
            add("=", at, at + 1)
            value = re.compile(r"""(?:"[^"]*"|'[^']*'|[^\s"'])*""").match(text, at + 1)
            assert value is not None
            add("VALUE", at + 1, value.end())
            at = value.end()
        elif not text[at : at + 1].isspace() and at < len(text):
            span = Span("<target>", 1, begin + 1, 1, at + 2)
            raise TargetError(Diagnostic("target", "this is not the name of an attribute", span, source=text))
    return tokens


def _unquoted(text: str) -> str:
    return _QUOTED.sub(lambda m: m[1] if m[1] is not None else m[2], text)


class Setting(NamedTuple):
    """A part of a target string: a name, what it is set to, and where that stands."""

    name: str
    value: Any
    span: Span


def target(b: Builder, v: Values, s: Places, e: Places) -> Any:
    """A kind with its attributes."""
    return (Setting("kind", v[0], range_of(b, s[:1], e[:1])), *(v[1] if len(v) > 1 else ()))


def flag(b: Builder, v: Values, s: Places, e: Places) -> Any:
    """An attribute that is switched on."""
    return Setting(v[0].lstrip("-"), True, range_of(b, s[:1], e[:1]))


def setting(b: Builder, v: Values, s: Places, e: Places) -> Any:
    """An attribute with a value."""
    return Setting(v[0].lstrip("-"), _unquoted(v[-1]), range_of(b, s, e))


_MAKERS = {f.__name__: f for f in (pipeline_none, pipeline, step, step_options, target, flag, setting)}
