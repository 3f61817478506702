"""Hypothesis strategies for surface trees: `surface_trees`, `surface_statements`, `surface_expressions`.

What they draw is script text before it has a meaning: every form of the syntax, names and literals
of every kind, comments and blank lines. Trees have no spans. Each tree is in the form in which
reading gives it, so that `same_tree(read(layout(tree)).tree, tree)` is a law.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from keyword import iskeyword
from typing import Any, TypeVar

from hypothesis import strategies as st

from ..grammar import tree as t

_KNOWN = (
    "A",
    "B",
    "i",
    "vi",
    "T",
    "R",
    "I",
    "cls",
    "Module",
    "metadata",
    "match",
    "type",
    "case",
    "_",
    "print",
)
_SPELLED: tuple[tuple[Any, str], ...] = (
    (16, "0x10"),
    (16, "0X1_0"),
    (3, "0b11"),
    (8, "0o10"),
    (0, "00"),
    (1000, "1_000"),
    (1000.0, "1e3"),
    (0.5, ".5"),
    (1.0, "1."),
    (2j, "2J"),
    ("a", "'a'"),
    ("ab", '"a" "b"'),
    ("ab", "'a' \"b\""),
    ("\\d", 'r"\\d"'),
    ("x\ny", '"""x\ny"""'),
    ("# no comment", "'''# no comment'''"),
    ("a'\"", "'''a'\"'''"),
    ("\\q", '"\\q"'),
    ("µ\x00é", '"\\N{MICRO SIGN}\\0\\xe9"'),
    (b"ab", "b'a' B\"b\""),
    (b"\\d", 'Rb"\\d"'),
)


def _is_name(text: str) -> bool:
    return text.isidentifier() and not iskeyword(text) and unicodedata.normalize("NFKC", text) == text


_LETTERS = st.text(
    st.characters(categories=("Lu", "Ll", "Lo", "Nd"), include_characters="_"), min_size=1, max_size=4
).filter(_is_name)
_COMMENT = st.text(st.characters(exclude_characters="\n\r", codec="utf-8"), max_size=12)
_TEXT = st.text(max_size=8) | st.text(st.sampled_from("\"'\\\n\r\t{}#é\ud800\u2028"), max_size=6)
_FLOAT = st.floats(0, allow_infinity=False, allow_nan=False).map(abs)
_NUMBER = st.integers(0, 300) | st.integers(0, 2**70) | _FLOAT
_WORD = st.sampled_from((True, False, None, ...))
_VALUES = (_NUMBER, _TEXT, _WORD, st.binary(max_size=6), _FLOAT.map(lambda x: complex(0.0, x)))
_BINARY = ("+", "-", "*", "/", "//", "%", "**", "@", "<<", ">>", "&", "|", "^")
_COMPARE = ("<", "<=", ">", ">=", "==", "!=", "is", "is not", "in", "not in")
_IMPORTS = (
    "import numpy as np",
    "import a.b, c",
    "from __future__ import annotations",
    "from . import x",
    "from ..a.b import c as d, e",
    "from x import *",
)
_CHOICES = [st.integers(0, max(n, 1) - 1) for n in range(32)]
X = TypeVar("X")


def names() -> st.SearchStrategy[str]:
    """Identifiers that are no keywords, in normal form."""
    return st.sampled_from(_KNOWN) | _LETTERS


def comments() -> st.SearchStrategy[str]:
    """Comment texts, with their `#`."""
    return _COMMENT.map(lambda text: f"# {text}".rstrip())


_NAMES = names()
_COMMENTS = comments()


class _Maker:
    """Draws trees node by node: much faster than combining strategies. First choices are the smallest."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw

    def below(self, n: int) -> int:
        return self.draw(_CHOICES[n])

    def one(self, values: tuple[X, ...]) -> X:
        return values[self.below(len(values))]

    def maybe(self, make: Callable[[], X]) -> X | None:
        return make() if self.below(3) == 2 else None

    def several(self, make: Callable[[], X], least: int = 0, most: int = 3) -> tuple[X, ...]:
        return tuple([make() for _ in range(least + self.below(most - least + 1))])

    def name(self) -> str:
        return self.draw(_NAMES)

    def comment(self) -> str | None:
        return self.maybe(lambda: self.draw(_COMMENTS))

    # Expressions

    def leaf(self) -> t.SExpr:
        way = self.below(6)
        if way < 3:
            return t.Name(self.name())
        if way < 5:
            return t.Constant(self.draw(self.one(_VALUES)))
        return t.Constant(*self.one(_SPELLED))

    def expr(self, size: int) -> t.SExpr:
        """An expression of about so many inner nodes."""
        if size <= 0 or self.below(6) == 0:
            return self.leaf()
        return self.one(self.forms)(self, size - 1)

    def element(self, size: int) -> t.SExpr:
        return t.Starred(self.expr(size)) if self.below(5) == 4 else self.expr(size)

    def attribute(self, size: int) -> t.SExpr:
        return t.Attribute(self.expr(size), self.name())

    def subscript(self, size: int) -> t.SExpr:
        return t.Subscript(self.expr(size // 2), self.index(size // 2))

    def index(self, size: int) -> t.SExpr:
        way = self.below(4)
        if way == 0:
            return self.expr(size)
        if way == 1:
            return self.slice_expr(size)
        parts = (self.expr, self.slice_expr, self.element)
        return t.TupleExpr(self.several(lambda: self.one(parts)(size // 2), 1))

    def slice_expr(self, size: int) -> t.SExpr:
        return t.Slice(*[self.maybe(lambda: self.expr(size // 2)) for _ in range(3)])

    def call(self, size: int) -> t.SExpr:
        args = self.several(lambda: self.element(size // 3))
        keywords = self.several(lambda: self.keyword(size // 3), 0, 2)
        return t.CallExpr(self.expr(size // 3), args, keywords)

    def keyword(self, size: int) -> t.Keyword:
        return t.Keyword(None if self.below(4) == 3 else self.name(), self.expr(size))

    def binary(self, size: int) -> t.SExpr:
        return t.BinaryExpr(self.one(_BINARY), self.expr(size // 2), self.expr(size // 2))

    def unary(self, size: int) -> t.SExpr:
        return t.UnaryExpr(self.one(("-", "+", "~", "not")), self.expr(size))

    def bool_expr(self, size: int) -> t.SExpr:
        return t.BoolExpr(self.one(("and", "or")), self.several(lambda: self.expr(size // 2), 2))

    def compare(self, size: int) -> t.SExpr:
        ops = self.several(lambda: self.one(_COMPARE), 1, 2)
        return t.CompareExpr(self.expr(size // 2), ops, tuple([self.expr(size // 2) for _ in ops]))

    def if_expr(self, size: int) -> t.SExpr:
        return t.IfExpr(self.expr(size // 3), self.expr(size // 3), self.expr(size // 3))

    def tuple_expr(self, size: int) -> t.SExpr:
        return t.TupleExpr(self.several(lambda: self.element(size // 2)))

    def list_expr(self, size: int) -> t.SExpr:
        return t.ListExpr(self.several(lambda: self.element(size // 2)))

    def set_expr(self, size: int) -> t.SExpr:
        return t.SetExpr(self.several(lambda: self.element(size // 2), 1))

    def dict_expr(self, size: int) -> t.SExpr:
        keys = self.several(lambda: None if self.below(4) == 3 else self.expr(size // 3))
        return t.DictExpr(keys, tuple([self.expr(size // 3) for _ in keys]))

    def lambda_expr(self, size: int) -> t.SExpr:
        return t.Lambda(self.params(size // 3, annotated=False), self.expr(size // 2))

    def comprehension(self, size: int) -> t.SExpr:
        kind = self.one(("list", "generator", "set", "dict"))
        clauses = self.several(lambda: self.clause(size // 3), 1, 2)
        key = self.expr(size // 3) if kind == "dict" else None
        return t.Comprehension(kind, self.expr(size // 3), clauses, key)

    def clause(self, size: int) -> t.Clause:
        conditions = self.several(lambda: self.expr(size // 2), 0, 2)
        return t.Clause(self.target(size // 2), self.expr(size // 2), conditions)

    forms = (
        binary,
        subscript,
        call,
        attribute,
        compare,
        unary,
        bool_expr,
        if_expr,
        tuple_expr,
        list_expr,
        set_expr,
        dict_expr,
        lambda_expr,
        comprehension,
    )

    def params(self, size: int, *, annotated: bool) -> tuple[t.Param, ...]:
        made: list[t.Param] = []
        defaults = False

        def param(kind: str, default: t.SExpr | None = None) -> t.Param:
            annotation = self.maybe(lambda: self.expr(size)) if annotated else None
            return t.Param(self.name(), annotation, default, kind)

        kinds = self.several(lambda: self.one(("normal", "posonly", "kwonly")))
        for kind in sorted(kinds, key=("posonly", "normal", "kwonly").index):
            with_default = self.below(3) == 2 or (defaults and kind != "kwonly")
            defaults = defaults or with_default
            made.append(param(kind, self.expr(size) if with_default else None))
        if self.below(4) == 3:
            made.insert(sum(p.kind != "kwonly" for p in made), param("star"))
        if self.below(4) == 3:
            made.append(param("kwstar"))
        return (*made,)

    def place(self, size: int) -> t.SExpr:
        """What a single assignment can go to."""
        way = self.below(4)
        if way < 2:
            return t.Name(self.name())
        return self.attribute(size) if way == 2 else self.subscript(size)

    def target(self, size: int) -> t.SExpr:
        way = self.below(5)
        if way < 3:
            return self.place(size)
        parts = self.several(lambda: t.Starred(self.place(size)) if self.below(4) == 3 else self.place(size))
        return t.TupleExpr(parts) if way == 3 else t.ListExpr(parts)

    # Statements

    def simple(self) -> t.SStmt:
        return self.one(self.simples)(self)

    def expr_stmt(self) -> t.SStmt:
        return t.ExprStmt(self.expr(6), self.comment())

    def assign(self) -> t.SStmt:
        return t.Assign(self.several(lambda: self.target(3), 1, 2), self.expr(6), self.comment())

    def ann_assign(self) -> t.SStmt:
        return t.AnnAssign(self.place(3), self.expr(4), self.maybe(lambda: self.expr(5)), self.comment())

    def aug_assign(self) -> t.SStmt:
        return t.AugAssign(self.place(3), self.one(_BINARY), self.expr(5), self.comment())

    def assert_stmt(self) -> t.SStmt:
        return t.AssertStatement(self.expr(5), self.maybe(lambda: self.expr(3)), self.comment())

    def return_stmt(self) -> t.SStmt:
        return t.ReturnStmt(self.maybe(lambda: self.expr(5)), self.comment())

    def word(self) -> t.SStmt:
        return t.KeywordStmt(self.one(("pass", "break", "continue")), self.comment())

    def import_stmt(self) -> t.SStmt:
        return t.ImportStmt(self.one(_IMPORTS), self.comment())

    simples = (assign, expr_stmt, ann_assign, aug_assign, assert_stmt, return_stmt, word, import_stmt)

    def statement(self, depth: int) -> t.SStmt:
        if depth <= 0 or self.below(3) < 2:
            return self.simple()
        return self.one(self.compounds)(self, depth - 1)

    def between(self) -> t.SStmt:
        return t.Blank(1 + self.below(3)) if self.below(2) else t.Comment(self.draw(_COMMENTS))

    def body(self, depth: int, *, before_else: bool = False) -> tuple[t.SStmt, ...]:
        """A block: a real statement, no two blanks in a row, none at the end but before an `else`."""
        drawn = [*self.several(lambda: self.between() if self.below(3) == 2 else self.statement(depth), 0, 2)]
        drawn.append(self.statement(depth))
        drawn += self.several(self.between, 0, self.below(2) * 2)
        kept: list[t.SStmt] = []
        for stmt in drawn:
            if not (isinstance(stmt, t.Blank) and kept and isinstance(kept[-1], t.Blank)):
                kept.append(stmt)
        if isinstance(kept[-1], t.Blank) and not before_else:
            kept.pop()
        return (*kept,)

    def for_stmt(self, depth: int) -> t.SStmt:
        return t.ForStmt(self.target(2), self.expr(4), self.body(depth), self.comment())

    def while_stmt(self, depth: int) -> t.SStmt:
        return t.WhileStmt(self.expr(4), self.body(depth), self.comment())

    def if_stmt(self, depth: int, *, is_elif: bool = False) -> t.SStmt:
        test, comment = self.expr(4), self.comment()
        way = self.below(3)
        body = self.body(depth, before_else=way > 0)
        if way == 0:
            return t.IfStmt(test, body, (), is_elif, comment)
        if way == 1:
            return t.IfStmt(test, body, self.body(depth), is_elif, comment, self.comment())
        return t.IfStmt(test, body, (self.if_stmt(depth, is_elif=True),), is_elif, comment)

    def with_stmt(self, depth: int) -> t.SStmt:
        items = self.several(lambda: t.WithItem(self.expr(3), self.maybe(lambda: self.target(2))), 1, 2)
        return t.WithStmt(items, self.body(depth), self.comment())

    def function(self, depth: int) -> t.SStmt:
        params = self.params(2, annotated=True)
        decorators = self.several(lambda: self.expr(3), 0, 2)
        returns = self.maybe(lambda: self.expr(3))
        symbols = self.several(self.name, 0, self.below(2) * 2)
        return t.FunctionDef(
            self.name(), params, self.body(depth), decorators, returns, symbols, self.comment()
        )

    def class_def(self, depth: int) -> t.SStmt:
        bases = self.several(lambda: self.element(2), 0, 2)
        decorators = self.several(lambda: self.expr(3), 0, 2)
        return t.ClassDef(self.name(), bases, self.body(depth), decorators, self.comment())

    compounds = (for_stmt, with_stmt, if_stmt, while_stmt, function, class_def)


@st.composite
def surface_expressions(draw: st.DrawFn, size: int = 10) -> t.SExpr:
    """Expressions of every form, of about `size` inner nodes."""
    return _Maker(draw).expr(size)


@st.composite
def surface_statements(draw: st.DrawFn, depth: int = 2) -> t.SStmt:
    """Statements of every form that text may hold, nested up to `depth` deep."""
    return _Maker(draw).statement(depth)


@st.composite
def surface_trees(draw: st.DrawFn, depth: int = 2) -> t.ModuleTree:
    """Whole texts."""
    return t.ModuleTree(_Maker(draw).body(depth))
