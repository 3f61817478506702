"""The surface tree: what script text says, before it means anything.

Both readers build it and the printer builds it, so reading and printing share one syntax.  It is
a small subset of Python's syntax.  Comments and blank lines are part of it: a line that holds
only a comment is a `Comment` statement, blank lines are a `Blank` statement (one node for a run of
`count` lines), and a comment at the end of a line is the field `comment` of the statement whose
first line (for compound statements: whose header) it follows.  Comments inside brackets that span
lines join the field `comment`, in order, separated by two spaces.
"""

from __future__ import annotations

from typing import Annotated, Any

from ..errors import Span
from ..node import IGNORED, Node


class Surface(Node):
    """Base of surface nodes; every node of text that was read has a span."""

    span: Annotated[Span | None, IGNORED] = None


class SExpr(Surface):
    """Base of surface expressions."""


class SStmt(Surface):
    """Base of surface statements."""


# expressions


class Name(SExpr):
    """An identifier."""

    id: str


class Constant(SExpr):
    """A literal: int, float, complex, str, bytes, bool, None or Ellipsis.

    `text` is its spelling in the source (for adjacent strings, all of them joined by one space);
    None means the printer's own spelling.
    """

    value: Any
    text: str | None = None


class FString(SExpr):
    """A formatted string; only decorated Python may contain one (`text` is its whole spelling)."""

    text: str


class Attribute(SExpr):
    """value.attr"""

    value: SExpr
    attr: str


class Subscript(SExpr):
    """value[index]; several indices are a Tuple."""

    value: SExpr
    index: SExpr


class Slice(SExpr):
    """lower:upper:step, as an index only."""

    lower: SExpr | None = None
    upper: SExpr | None = None
    step: SExpr | None = None


class Keyword(Surface):
    """name=value in a call; name None is `**value`."""

    name: str | None
    value: SExpr


class CallExpr(SExpr):
    """func(args, keywords); a Starred among the args is `*value`."""

    func: SExpr
    args: tuple[SExpr, ...] = ()
    keywords: tuple[Keyword, ...] = ()


class BinaryExpr(SExpr):
    """left op right; op is one of + - * / // % ** @ << >> & | ^."""

    op: str
    left: SExpr
    right: SExpr


class UnaryExpr(SExpr):
    """op operand; op is one of + - ~ not."""

    op: str
    operand: SExpr


class BoolExpr(SExpr):
    """values joined by `and` or `or` (two or more)."""

    op: str
    values: tuple[SExpr, ...]


class CompareExpr(SExpr):
    """left ops[0] rights[0] ops[1] ...; ops are < <= > >= == != is, is not, in, not in."""

    left: SExpr
    ops: tuple[str, ...]
    rights: tuple[SExpr, ...]


class IfExpr(SExpr):
    """body if test else orelse"""

    test: SExpr
    body: SExpr
    orelse: SExpr


class TupleExpr(SExpr):
    """a, b or (a, b). Parentheses are not kept: the printer adds them where needed."""

    elts: tuple[SExpr, ...]


class ListExpr(SExpr):
    """[a, b]"""

    elts: tuple[SExpr, ...]


class SetExpr(SExpr):
    """{a, b}"""

    elts: tuple[SExpr, ...]


class DictExpr(SExpr):
    """{key: value}; a key None is `**value`."""

    keys: tuple[SExpr | None, ...]
    values_: tuple[SExpr, ...]


class Param(Surface):
    """A parameter of a function or lambda.

    kind: "normal", "star" (`*args`), "kwstar" (`**kw`), "kwonly" (after a star), "posonly" (before a slash).
    """

    name: str
    annotation: SExpr | None = None
    default: SExpr | None = None
    kind: str = "normal"


class Lambda(SExpr):
    """lambda params: body"""

    params: tuple[Param, ...]
    body: SExpr


class Starred(SExpr):
    """*value"""

    value: SExpr


class Clause(Surface):
    """for target in iter if conditions, in a comprehension."""

    target: SExpr
    iter: SExpr
    conditions: tuple[SExpr, ...] = ()


class Comprehension(SExpr):
    """[elt for ...] and its kin; kind is list, generator, set or dict (`key: elt`)."""

    kind: str
    elt: SExpr
    clauses: tuple[Clause, ...]
    key: SExpr | None = None


# statements


class Comment(SStmt):
    """A line that holds only a comment; `text` starts with `#`."""

    text: str


class Blank(SStmt):
    """A run of blank lines."""

    count: int = 1


class ExprStmt(SStmt):
    """An expression on a line of its own."""

    value: SExpr
    comment: str | None = None


class Assign(SStmt):
    """targets[0] = targets[1] = ... = value (nearly always one target)."""

    targets: tuple[SExpr, ...]
    value: SExpr
    comment: str | None = None


class AnnAssign(SStmt):
    """target: annotation = value"""

    target: SExpr
    annotation: SExpr
    value: SExpr | None = None
    comment: str | None = None


class AugAssign(SStmt):
    """target op= value; op without the `=`."""

    target: SExpr
    op: str
    value: SExpr
    comment: str | None = None


class ForStmt(SStmt):
    """for target in iter: body"""

    target: SExpr
    iter: SExpr
    body: tuple[SStmt, ...]
    comment: str | None = None


class WhileStmt(SStmt):
    """while test: body"""

    test: SExpr
    body: tuple[SStmt, ...]
    comment: str | None = None


class IfStmt(SStmt):
    """if test: body, else: orelse. `elif` is an IfStmt as the only statement of orelse with `is_elif`."""

    test: SExpr
    body: tuple[SStmt, ...]
    orelse: tuple[SStmt, ...] = ()
    is_elif: bool = False
    comment: str | None = None
    else_comment: str | None = None


class WithItem(Surface):
    """context as target"""

    context: SExpr
    target: SExpr | None = None


class WithStmt(SStmt):
    """with items: body"""

    items: tuple[WithItem, ...]
    body: tuple[SStmt, ...]
    comment: str | None = None


class AssertStatement(SStmt):
    """assert test, msg"""

    test: SExpr
    msg: SExpr | None = None
    comment: str | None = None


class ReturnStmt(SStmt):
    """return value"""

    value: SExpr | None = None
    comment: str | None = None


class KeywordStmt(SStmt):
    """pass, break or continue (`word`)."""

    word: str
    comment: str | None = None


class ImportStmt(SStmt):
    """An import line, kept as text."""

    text: str
    comment: str | None = None


class FunctionDef(SStmt):
    """decorators def name[type_params](params) -> returns: body"""

    name: str
    params: tuple[Param, ...]
    body: tuple[SStmt, ...]
    decorators: tuple[SExpr, ...] = ()
    returns: SExpr | None = None
    type_params: tuple[str, ...] = ()
    comment: str | None = None


class ClassDef(SStmt):
    """decorators class name(bases): body"""

    name: str
    bases: tuple[SExpr, ...]
    body: tuple[SStmt, ...]
    decorators: tuple[SExpr, ...] = ()
    comment: str | None = None


class Unsupported(SStmt):
    """A statement that script lacks (`kind`: Try, Delete, ...); `text` is its source, unindented.

    The reader of decorated Python makes one so that the builder can name it at its place. The lark
    reader makes one of kind "Error" where a statement has a fault that is already reported.
    """

    kind: str
    text: str = ""
    comment: str | None = None


class ModuleTree(Surface):
    """A whole text: imports, definitions, or the statements or expression of a fragment."""

    body: tuple[SStmt, ...]
