"""The printer's state and dispatch: scopes, variables, and the table from node type to function.

`shows(Type)` registers how nodes of a type become surface expressions, `shows_stmt(Type)` how
statements are appended to the current scope.  Everything that is printed goes through
`Printer.expr`, `Printer.stmt` and `Printer.body`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ..dtype import DType
from ..errors import Diagnostic, InternalError, UnsupportedError
from ..grammar.tree import (
    Assign,
    Attribute,
    CallExpr,
    Constant,
    Keyword,
    Name,
    SExpr,
    SStmt,
    Subscript,
)
from ..ir import BufferType, SeqStmt, Stmt, Var
from ..node import Node
from .metadata import Constants
from .names import Names
from .options import Options
from .undefined import Places

if TYPE_CHECKING:
    from .relax_scope import GraphScope

Shower = Callable[["Printer", Any], SExpr]
StmtShower = Callable[["Printer", Any], None]
F = TypeVar("F", bound=Callable[..., Any])

SHOWERS: dict[type, Shower] = {}
STMT_SHOWERS: dict[type, StmtShower] = {}


def shows(*types: type) -> Callable[[F], F]:
    """Register the function that turns nodes of these types into surface expressions."""

    def register(function: F) -> F:
        for ty in types:
            SHOWERS[ty] = function
        return function

    return register


def shows_stmt(*types: type) -> Callable[[F], F]:
    """Register the function that appends statements of these types to the current scope."""

    def register(function: F) -> F:
        for ty in types:
            STMT_SHOWERS[ty] = function
        return function

    return register


class Frame:
    """A scope of the text: its statements and the variables that it defines."""

    __slots__ = ("defined", "owner", "parent", "stmts")

    def __init__(self, owner: Any, parent: Frame | None) -> None:
        self.owner = owner
        self.parent = parent
        self.stmts: list[SStmt] = []
        self.defined: list[tuple[int, str | None, SExpr | None]] = []


class Printer:
    """Turns nodes into surface trees; one object shows one program."""

    def __init__(self, options: Options, root: Any, *, track: bool = False) -> None:
        self.options = options
        self.root = root
        self.names = Names(
            (options.ir_prefix, options.tir_prefix, options.relax_prefix, options.module_alias)
        )
        self.vars: dict[int, SExpr] = {}
        self.scalars: set[int] = set()
        self.loops: dict[int, Any] = {}
        self.module: Any = None
        self.module_name: str | None = None
        self.graph: GraphScope | None = None
        self.type_vars_inside = False
        self.type_names: set[str] = set()
        self.function_names: set[str] = set()
        self.prefixes: set[str] = set()
        self.constants = Constants()
        self.index_dtype = DType("int64")
        self.origins: list[tuple[Any, tuple[Any, ...]]] | None = [] if track else None
        self.declares = isinstance(root, Stmt) or options.verbose_expr
        self.sole = False
        self.frame = Frame(root, None)
        self.floor: Frame | None = None
        self._attributes: dict[tuple[str, str], SExpr] = {}
        self._places: Places | None = None

    # spellings

    def under(self, prefix: str, name: str) -> SExpr:
        """`prefix.name`, with dots in the name."""
        key = (prefix, name)
        found = self._attributes.get(key)
        if found is None:
            self.prefixes.add(prefix)
            found = Name(prefix)
            for part in name.split("."):
                found = Attribute(found, part)
            self._attributes[key] = found
        return found

    def T(self, name: str) -> SExpr:
        return self.under(self.options.tir_prefix, name)

    def I(self, name: str) -> SExpr:  # noqa: E743  the dialect is called so
        return self.under(self.options.ir_prefix, name)

    def call(self, name: str, args: Iterable[SExpr], keywords: Sequence[Keyword] = ()) -> CallExpr:
        """`T.name(args, keywords)`"""
        return CallExpr(self.T(name), tuple(args), tuple(keywords))

    # dispatch

    def expr(self, node: Any) -> SExpr:
        """A node as a surface expression. Raises UnsupportedError when its type has no spelling."""
        show = SHOWERS.get(type(node))
        if show is None:
            raise UnsupportedError(
                Diagnostic("unsupported", f"script has no spelling for a {type(node).__name__}")
            )
        shown = show(self, node)
        if self.origins is not None:
            self.origins.append((node, (shown,)))
        return shown

    def exprs(self, nodes: Iterable[Any]) -> tuple[SExpr, ...]:
        return tuple([self.expr(n) for n in nodes])

    def stmt(self, node: Stmt, sole: bool = False) -> None:
        """Append a statement to the current scope; `sole` says that it is all of the scope."""
        show = STMT_SHOWERS.get(type(node))
        if show is None:
            raise UnsupportedError(
                Diagnostic("unsupported", f"script has no spelling for a {type(node).__name__}")
            )
        self.sole = sole
        if self.origins is None:
            show(self, node)
            return
        frame = self.frame
        start = len(frame.stmts)
        show(self, node)
        self.origins.append((node, tuple(frame.stmts[start:])))

    def emit(self, stmt: SStmt) -> None:
        """Append a surface statement to the current scope."""
        self.frame.stmts.append(stmt)

    # scopes

    def enter(self, owner: Any) -> Frame:
        """Open a scope; `leave` closes it."""
        frame = self.frame = Frame(owner, self.frame)
        return frame

    def leave(self) -> tuple[SStmt, ...]:
        """Close the scope, release its names, and give its statements."""
        frame = self.frame
        if frame.parent is None:
            raise InternalError("the outermost scope of a text was closed")
        for key, name, before in reversed(frame.defined):
            if name is not None:
                self.names.release(name)
            if before is None:
                self.vars.pop(key, None)
                self.scalars.discard(key)
            else:
                self.vars[key] = before
        self.frame = frame.parent
        return tuple(frame.stmts)

    def body(self, node: Stmt, owner: Any) -> tuple[SStmt, ...]:
        """A statement as the body of a scope of its own."""
        self.enter(owner)
        self.rest(node)
        return self.leave()

    def rest(self, node: Stmt) -> None:
        """A statement as all that remains of the current scope."""
        if type(node) is SeqStmt:
            self.stmt(node)
        else:
            self.stmt(node, sole=True)

    # variables

    def define(self, var: Var, frame: Frame | None = None, hint: str | None = None) -> Name:
        """Give a variable its name in a scope (the current one)."""
        hint = var.name if hint is None else hint
        if self.options.show_object_address:
            hint = f"{hint}_0x{id(var):x}"
        return self.define_as(var, self.names.fresh(hint), frame)

    def define_as(self, var: Var, name: str, frame: Frame | None = None) -> Name:
        """Give a variable this name, which is fresh, in a scope (the current one)."""
        shown = Name(name)
        self.bind(var, shown, frame, name)
        return shown

    def bind(self, var: Var, shown: SExpr, frame: Frame | None = None, name: str | None = None) -> None:
        """Let a variable be spelled as this expression in a scope (the current one)."""
        key = id(var)
        (frame or self.frame).defined.append((key, name, self.vars.get(key)))
        self.vars[key] = shown

    def var(self, var: Var) -> SExpr:
        """The spelling of a variable; one without definition is declared first."""
        shown = self.vars.get(id(var))
        if shown is None:
            shown = self.declare(var)
        if self.origins is not None and type(shown) is Name:
            return Name(shown.id)
        return shown

    def declare(self, var: Var) -> SExpr:
        """Declare a variable that nothing in the program defines, in the lowest scope around its uses."""
        if self.graph is not None:
            return self.graph.declare(self, var)
        if not self.declares:
            return self.define(var, self.outermost())
        frame = self.place(var)
        here = self.frame
        self.frame = frame
        if isinstance(var.ty, BufferType):
            from .buffers import buffer_call

            value: SExpr = buffer_call(self, "Buffer", var, declared=True)
        else:
            value = self.declaration(var.ty)
        self.frame = here
        shown = self.define(var, frame)
        frame.stmts.append(Assign((shown,), value))
        return shown

    def declaration(self, ty: Any) -> SExpr:
        """`T.int32()`: a new variable of this type."""
        shown = self.expr(ty)
        return shown if isinstance(shown, CallExpr) else CallExpr(shown)

    def quoted(self, var: Var) -> str:
        """A name for a variable that stands only once, quoted, in the current scope."""
        return self.reserve(self.symbol_name(var.name))

    def reserve(self, name: str) -> str:
        """This name, which is fresh, is in use in the current scope without standing for a variable."""
        self.frame.defined.append((0, name, None))
        return name

    def symbol_name(self, hint: str) -> str:
        """A fresh name for a symbol that is quoted where it is new, other than that of any TypeVar."""
        return self.name_beside(hint, self.type_names)

    def name_beside(self, hint: str, others: Collection[str]) -> str:
        """A fresh name that is none of these others."""
        name = self.names.fresh(hint)
        passed = []
        while name in others:
            passed.append(name)
            name = self.names.fresh(hint)
        for other in passed:
            self.names.release(other)
        return name

    def define_type_var(self, var: Var) -> Name:
        """Name a symbol that prints as a TypeVar; in a module functions have their names before it."""
        if self.options.show_object_address or not self.function_names:
            return self.define(var)
        return self.define_as(var, self.name_beside(var.name, self.function_names))

    def launches(self, var: Var) -> int:
        """How many thread launches bind the variable."""
        if self._places is None:
            self._places = Places(self.root)
        return self._places.launches(var)

    def member(self, name: str) -> SExpr:
        """`Module.name`, in a graph function `cls.name`."""
        module = Name(self.module_name or "Module") if self.graph is None else self.graph.module(self)
        return Attribute(module, name)

    def enter_function(self, body: Stmt) -> None:
        """Open the scope of a function with this body; its variables are declared inside."""
        self.root, self.declares, self._places = body, True, None
        self.floor = self.enter(body)

    def outermost(self) -> Frame:
        frame = self.frame
        while frame.parent is not None:
            frame = frame.parent
        return frame

    def place(self, key: Any) -> Frame:
        """The lowest open scope that covers all uses of a variable."""
        if self._places is None:
            self._places = Places(self.root)
        frame: Frame | None = self.frame
        while frame is not None:
            if self._places.covers(frame.owner, key):
                return frame
            if frame is self.floor or frame.parent is None:
                return frame
            frame = frame.parent
        raise InternalError("no scope is open")


def string(text: str) -> Constant:
    """A string literal."""
    return Constant(text)


def keyword(name: str, value: SExpr) -> Keyword:
    """name=value"""
    return Keyword(name, value)


def subscript(value: SExpr, index: SExpr) -> Subscript:
    """value[index]"""
    return Subscript(value, index)


__all__ = [
    "SHOWERS",
    "STMT_SHOWERS",
    "Frame",
    "Node",
    "Printer",
    "keyword",
    "shows",
    "shows_stmt",
    "string",
    "subscript",
]
