"""The base of the emitters: values, memory, lines, names, errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

from ...dtype import DType
from ...errors import CodegenError, Diagnostic, Span
from ...ir import BufferType, Expr, PrimFunc, PrimType, Var
from ...ir.arith import Analyzer
from . import formats
from .text import ATOM, Lanes, Names, Term, Unit, convert

MAX_LANES = 64
"""Longer vectors make sources that no compiler likes."""
LINE_LIMIT = 100_000


_PLAIN = re.compile(r"[\w.+*/%&|<>() -]+", re.ASCII)
"""What reads no memory."""
_CALL = re.compile(r"\w\(")
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class Memory(NamedTuple):
    """A buffer as the emitter sees it.

    It begins at `pointer`, which is a multiple of `aligned` bytes; one that is `single` is a plain variable.
    """

    pointer: Term
    ty: BufferType
    scope: str
    aligned: int
    single: bool = False

    def cell(self, index: Term) -> Term:
        """The cell at an index."""
        return self.pointer if self.single else Term(f"{self.pointer.at(ATOM)}[{index.text}]")


class Context(NamedTuple):
    """The source that a function stands in."""

    unit: Unit
    functions: Mapping[str, PrimFunc]
    names: Mapping[str, str]
    """What the functions are called in the source."""


class Emitter:
    """State while one function is emitted, and the operations every part needs."""

    table: ClassVar[dict[type, Callable[[Any, Any], Any]]] = {}

    def __init_subclass__(cls) -> None:
        from ... import ir

        table = {}
        for name in dir(cls):
            node = getattr(ir, name.removeprefix("visit_"), None)
            if name.startswith("visit_") and isinstance(node, type):
                table[node] = getattr(cls, name)
        cls.table = table

    def __init__(self, context: Context, name: str) -> None:
        self.context = context
        self.unit = context.unit
        self.dialect = context.unit.dialect
        self.function = name
        self.names = Names({*self.dialect.reserved, *context.names.values()})
        self.lines: list[str] = []
        self.depth = 1
        self.values: dict[Var, Lanes] = {}
        self.memory: dict[Var, Memory] = {}
        self.analyzer = Analyzer(data=True)
        self.indexing = False
        self.strict = False
        self.span: Span | None = None
        self.shown: tuple[str, int] | None = None
        self.place = ""
        self.scalars: set[str] = set()
        """Buffers of one cell that are plain variables."""
        self.loaded: dict[str, Term] = {}
        """The vectors that the statement being emitted has read."""
        self.known: list[dict[str, Term]] = [{}]
        """Names of what was computed from names alone, for each block that is open."""

    def visit(self, node: Any) -> Any:
        """Emit a node: the lanes of an expression's value, None for a statement."""
        method = self.table.get(node.__class__)
        if method is None:
            raise self.refuse(f"`{type(node).__name__}`", node)
        return method(self, node)

    def refuse(self, what: str, node: Any = None, help: str = "") -> CodegenError:
        """The error for something this language cannot express."""
        return CodegenError(
            Diagnostic(
                "unsupported-codegen",
                f"the {self.dialect.title} back end does not support {what} (in `{self.function}`)",
                getattr(node, "span", None) or self.span,
                help=(help,) if help else (),
            )
        )

    def refuse_dtype(self, what: str, node: Any = None, help: str = "") -> CodegenError:
        """The error for a dtype, or a length of vectors, that this language cannot express."""
        message = f"the {self.dialect.title} back end cannot compute with {what}"
        span = getattr(node, "span", None) or self.span
        return CodegenError(Diagnostic("unsupported-dtype", message, span, help=(help,) if help else ()))

    # Lines

    def put(self, line: str) -> None:
        """A line of the function."""
        if len(self.lines) > LINE_LIMIT:
            raise CodegenError(
                Diagnostic(
                    "code-size",
                    f"`{self.function}` becomes more than {LINE_LIMIT} lines",
                    self.span,
                    help=("unroll and vectorize less, or split the function into several",),
                )
            )
        if self.place:
            self.lines.append("  " * self.depth + self.place)
            self.place = ""
        self.lines.append("  " * self.depth + line)

    def at(self, node: Any) -> None:
        """Before the next line: a comment with the script's line where that is another one than before."""
        span = getattr(node, "span", None)
        if span is None:
            return
        self.span = span
        place = (span.file, span.line)
        if place != self.shown:
            self.shown = place
            self.place = f"// {self.unit.file(span.file)}:{span.line}"

    # Types and values

    def type(self, dtype: DType) -> str:
        """The C type of a lane."""
        if dtype.scalable or dtype.lanes > MAX_LANES:
            raise self.refuse_dtype(f"`{dtype}`", None, "split the loop before vectorizing the inner one")
        if dtype.is_void or dtype.is_handle:
            raise self.refuse_dtype(f"a value of type `{dtype}`")
        return self.unit.type(dtype)

    def named(self, kind: str, hint: str, value: Term | str) -> Term:
        """A name for a value, computed here."""
        name = self.names.fresh(hint)
        self.put(f"const {kind} {name} = {value if isinstance(value, str) else value.text};")
        return Term(name)

    def once(self, value: Term, dtype: DType, hint: str = "t") -> Term:
        """A value that may be repeated: a name or a number."""
        changing = not self.scalars.isdisjoint(_NAME.findall(value.text))
        if value.simple and not changing:
            return value
        kind = self.type(dtype)
        key = f"({kind}){value.text}"
        if changing or _PLAIN.fullmatch(value.text) is None or _CALL.search(value.text) is not None:
            return self.named(kind, hint, value)
        for block in reversed(self.known):
            if key in block:
                return block[key]
        found = self.known[-1][key] = self.named(kind, hint, value)
        return found

    def exact(self, value: Term, dtype: DType) -> Term:
        """The value itself where it is only known modulo 2 ** bits."""
        if not value.modular:
            return value
        if formats.is_narrow(dtype):
            return formats.wrapped(self.unit, dtype, value)
        return convert(self.type(dtype), value)

    def lanes(self, e: Expr) -> Lanes:
        """The lanes of a value; one for a pointer or a text."""
        if not isinstance(e.ty, PrimType):
            return list(self.visit(e))
        dtype = e.ty.dtype
        return [self.exact(t, dtype) for t in self.visit(e)]

    def value(self, e: Expr) -> Term:
        """A scalar."""
        lanes = self.lanes(e)
        if len(lanes) != 1:
            raise self.refuse("a vector where a scalar is expected", e)
        return lanes[0]

    def index(self, e: Expr) -> Term:
        """A scalar of index arithmetic, which does not overflow."""
        old, self.indexing = self.indexing, True
        value = self.value(e)
        self.indexing = old
        return value

    def captured(self, e: Expr) -> tuple[list[str], Lanes]:
        """The lanes of a value, and the lines that come before it, indented once more."""
        outer, self.lines = self.lines, []
        loaded, self.loaded = self.loaded, {}
        self.depth += 1
        self.known.append({})
        lanes = self.lanes(e)
        self.known.pop()
        self.depth -= 1
        inner, self.lines = self.lines, outer
        self.loaded = loaded
        return inner, lanes

    def buffer(self, v: Var, node: Any = None) -> Memory:
        """Where a buffer lies."""
        found = self.memory.get(v)
        if found is None:
            raise self.refuse(f"the buffer `{v.name}`, which is not defined here", node)
        return found
