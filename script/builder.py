"""The state of building one function: names, statement lists, blocks, symbols.

Every scope of the text (loop body, branch, block, ...) is a `Scope`: the statements built so far,
and what its names meant before, so that leaving it restores them.  Words that cover the rest of
their scope (`T.attr(...)` as a statement) are tails of the scope, wrapped when it closes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dtype import DType
from ..errors import Diagnostic, Span, suggest
from ..ir import (
    INT32,
    AllocBuffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    BufferType,
    Expr,
    IntImm,
    IterVar,
    MatchBufferRegion,
    PrimType,
    Range,
    Stmt,
    Type,
    Var,
    seq,
)
from ..ir.promote import convert, operand
from ..node import Attrs
from .faults import Fault, Poisoned, describe, fault, located
from .names import Outer
from .values import MISSING, POISON, Cell, Meta, Symbol, is_buffer

set_name = Var.__dict__["name"].__set__
set_span = Expr.__dict__["span"].__set__
ZERO = IntImm(INT32, 0)


class Scope:
    """One scope of the text."""

    __slots__ = ("block", "before", "kind", "stmts", "tails")

    def __init__(self, kind: str, block: BlockState | None = None) -> None:
        self.kind = kind
        self.stmts: list[Stmt] = []
        self.tails: list[tuple[list[Stmt], Callable[[Stmt], Stmt]]] = []
        self.before: dict[str, Any] = {}
        self.block = block


class BlockState:
    """What the words at the top of a block have said so far."""

    __slots__ = (
        "alloc_buffers",
        "annotations",
        "init",
        "iter_values",
        "iter_vars",
        "match_buffers",
        "name",
        "predicate",
        "reads",
        "realized",
        "writes",
    )

    def __init__(self, name: str, realized: bool = True) -> None:
        self.name = name
        self.realized = realized
        self.iter_vars: list[IterVar] = []
        self.iter_values: list[Expr] = []
        self.predicate: Expr | None = None
        self.reads: list[BufferRegion] | None = None
        self.writes: list[BufferRegion] | None = None
        self.annotations: dict[str, Any] | None = None
        self.alloc_buffers: list[Var] = []
        self.match_buffers: list[MatchBufferRegion] = []
        self.init: Stmt | None = None


class Builder:
    """Builds one function (or fragment) from its surface tree."""

    def __init__(self, outer: Outer, diagnostics: list[Diagnostic], *, live: bool, old: bool = False) -> None:
        self.outer = outer
        self.diagnostics = diagnostics
        self.live = live
        self.old = old
        self.names: dict[str, Any] = {}
        self.scopes: list[Scope] = [Scope("function")]
        self.span: Span | None = None
        self.fresh: dict[int, Any] = {}
        self.symbols: dict[str, Var] = {}
        self.symbol_type: Type = INT32
        self.in_signature = False
        self.params: list[Var] = []
        self.attrs: dict[str, Any] = {}
        self.root = BlockState("root")
        self.has_block = False
        self.loop_depth = 0
        self.macro_depth = 0
        self.expansions = 0
        self.block_names: dict[str, int] = {}
        self.ret_type: Type | None = None
        self.implicit_symbol = True
        self.loop_ranges: dict[Var, Range] = {}
        self.thread_vars: dict[Var, IterVar] = {}
        self.branches: list[Any] = []
        self.module: Any = None
        self.kernel = False
        self.root_block: Any = None
        self.local_symbols: dict[str, Var] = {}

    # names

    def lookup(self, name: str, span: Span | None) -> Any:
        """What a name means outside the function; cells and local names are the evaluator's.

        Raises a Fault with near names when it means nothing.
        """
        found = self.outer.find(name)
        if found is MISSING:
            raise self.undefined(name, span)
        if found is POISON:
            raise Poisoned
        if type(found) is Symbol:
            return self.symbol(found.name, PrimType("int64"))
        return found

    def undefined(self, name: str, span: Span | None) -> Fault:
        """The fault for a name that means nothing here."""
        near = suggest(name, [*self.names, *self.outer.known()])
        buffers = [n for n, v in self.names.items() if is_buffer(v)]
        notes = (f"buffers in scope: {', '.join(buffers[:8])}",) if buffers else ()
        helps = (
            near or ("declare it with `T.match_buffer` or `T.alloc_buffer`",)
            if notes and name[:1].isupper()
            else near
        )
        return fault(
            "undefined-name", f"`{name}` is not defined in this function", span, notes=notes, help=helps
        )

    def define(self, name: str, value: Any, span: Span | None) -> None:
        """Let a name mean a value in the current scope.

        Raises a Fault when the scope has defined it already (other than as itself).
        """
        scope = self.scopes[-1]
        names = self.names
        if name in scope.before:
            old = names.get(name, MISSING)
            if old is not MISSING and old is not value and old is not POISON and self._is_ir(old):
                raise fault(
                    "immutable",
                    f"`{name}` is defined already in this scope",
                    span,
                    help=("use another name; scalars declared as `x: T.int32 = ...` may be assigned again",),
                )
        else:
            scope.before[name] = names.get(name, MISSING)
        names[name] = value

    @staticmethod
    def _is_ir(value: Any) -> bool:
        return isinstance(value, Expr | Cell | IterVar) and not isinstance(value, BufferRegion)

    def poison(self, name: str) -> None:
        """Let a name mean a value that was already reported as faulty, if it means nothing yet."""
        if name not in self.names:
            self.scopes[-1].before.setdefault(name, MISSING)
            self.names[name] = POISON

    def name_value(self, value: Any, name: str, span: Span | None) -> None:
        """Give a variable that the current statement made the name it is assigned to."""
        if self.fresh.pop(id(value), None) is not None:
            var = value.var if isinstance(value, IterVar) else value
            set_name(var, name)
            if var.span is None:
                set_span(var, span)

    def make(self, value: Any) -> Any:
        """Note that the current statement made this variable, so that an assignment names it."""
        self.fresh[id(value)] = value
        return value

    def is_fresh(self, value: Any) -> bool:
        """Whether the current statement made this variable."""
        return id(value) in self.fresh

    def symbol(self, name: str, ty: Type | None = None) -> Var:
        """The variable of a shape symbol of this function. Raises a Fault when its type differs."""
        found = self.symbols.get(name)
        if found is None:
            known = self.names.get(name)
            if isinstance(known, Var) and isinstance(known.ty, PrimType):
                found = known
            else:
                found = Var(name, ty or self.symbol_type, self.span)
            self.symbols[name] = found
            self.names.setdefault(name, found)
        if ty is not None and found.ty is not ty:
            wanted = ty.dtype if isinstance(ty, PrimType) else type(ty).__name__
            raise fault(
                "symbol-type", f"the symbol `{name}` has dtype `{found.dtype}`, not `{wanted}`", self.span
            )
        return found

    def size_symbol(self, name: str) -> Var:
        """The symbol of this name in a size written as a text: of the signature, or of the statement."""
        if self.in_signature or name in self.symbols:
            return self.symbol(name)
        found = self.local_symbols.get(name)
        if found is None:
            found = self.local_symbols[name] = Var(name, INT32, self.span)
        return found

    # scopes and statements

    def open(self, kind: str, block: BlockState | None = None) -> Scope:
        """Enter a scope."""
        scope = Scope(kind, block)
        self.scopes.append(scope)
        return scope

    def close(self) -> Stmt:
        """Leave the innermost scope: its statements as one, its names forgotten."""
        scope = self.scopes.pop()
        names = self.names
        for name, old in scope.before.items():
            if old is MISSING:
                names.pop(name, None)
            else:
                names[name] = old
        return finish(scope)

    def enter_macro(self, names: dict[str, Any]) -> Scope:
        """Let the body of a macro see these names; its statements join the innermost scope."""
        outer = self.scopes[-1]
        inner = Scope(outer.kind, outer.block)
        inner.stmts, inner.tails = outer.stmts, outer.tails
        self.scopes.append(inner)
        self.names = names
        return inner

    def leave_macro(self, inner: Scope) -> None:
        """Go back to the scope of the call; the caller restores the names."""
        self.scopes.pop()
        self.scopes[-1].stmts = inner.stmts

    def emit(self, stmt: Stmt) -> None:
        """Add a statement to the innermost scope."""
        self.scopes[-1].stmts.append(stmt)

    def wrap_rest(self, wrap: Callable[[Stmt], Stmt]) -> None:
        """Let a statement cover the rest of the innermost scope."""
        scope = self.scopes[-1]
        scope.tails.append((scope.stmts, wrap))
        scope.stmts = []

    # blocks

    def block(self, word: str) -> BlockState:
        """The block whose top we are at. Raises a Fault elsewhere."""
        state = self.scopes[-1].block
        if state is None or self.scopes[-1].kind != "block":
            raise fault(
                "outside-block",
                f"`{word}` belongs at the top of a block",
                self.span,
                help=('put it directly below `with T.sblock("name"):`',),
            )
        return state

    def nearest_block(self) -> BlockState:
        """The innermost enclosing block, or the root block."""
        for scope in reversed(self.scopes):
            if scope.block is not None:
                return scope.block
        self.has_block = True
        return self.root

    def block_name(self, name: str) -> str:
        """The name of a block, made unique when a macro pastes it again."""
        used = self.block_names
        count = used.get(name)
        if count is None:
            used[name] = 0
            return name
        if self.macro_depth == 0 or not name:
            return name
        number = count + 1
        while f"{name}_{number}" in used:
            number += 1
        used[name] = number
        used[f"{name}_{number}"] = 0
        return f"{name}_{number}"

    # scalars and stores

    def scalar(self, name: str, dtype: DType, scope: str = "local") -> Cell:
        """Declare a mutable scalar."""
        buffer = Var(name, BufferType(dtype, (1,), storage_scope=scope), self.span)
        self.emit(AllocBuffer(buffer, span=self.span))
        return Cell(buffer)

    def store(self, buffer: Var, value: Any, indices: Any) -> None:
        """Add `buffer[indices] = value`, the value converted to the type of the access."""
        load = BufferLoad(buffer, indices)
        wanted = load.ty.dtype  # type: ignore[attr-defined]
        if not isinstance(value, Expr):
            if isinstance(value, str | bytes) or value is None:
                raise fault(
                    "type-mismatch", f"{describe(value)} cannot be stored in `{buffer.name}`", self.span
                )
            value = operand(value, like=load)
        if value.ty is not load.ty:
            value = self._stored(buffer, value, wanted)
        self.emit(BufferStore(buffer, value, load.indices, self.span))

    def _stored(self, buffer: Var, value: Any, wanted: DType) -> Expr:
        if is_buffer(value):
            raise fault(
                "type-mismatch",
                f"the buffer `{value.name}` is no value that `{buffer.name}` can hold",
                self.span,
                help=(f"index it, as in `{value.name}[i]`",),
            )
        value = operand(value)
        dtype = value.dtype
        if dtype.is_vector and (dtype.lanes, dtype.scalable) != (wanted.lanes, wanted.scalable):
            raise fault(
                "lanes", f"a value of type `{dtype}` does not fit an access of type `{wanted}`", self.span
            )
        if dtype.is_float and not wanted.is_float:
            self.diagnostics.append(
                Diagnostic(
                    "lossy-store",
                    f"storing `{dtype}` in `{buffer.name}` of dtype `{wanted}` loses precision",
                    self.span,
                    severity="warning",
                    help=(f'write T.Cast("{wanted}", ...) to say that this is meant',),
                )
            )
        return convert(value, wanted)

    def read_cell(self, cell: Cell, span: Span | None) -> BufferLoad:
        """The value of a mutable scalar."""
        return BufferLoad(cell.buffer, (ZERO,), span)

    # calls

    def call_global(self, func: Any, args: list[Any], kwargs: dict[str, Any], span: Span | None) -> Expr:
        """A call of a function of the module. Raises a Fault when the arguments do not fit."""
        from .calling import call_global

        return call_global(func, args, kwargs, span)

    def call_value(self, func: Expr, args: list[Any], kwargs: dict[str, Any], span: Span | None) -> Expr:
        """A call of a value. Raises a Fault where values are no functions."""
        raise fault("not-callable", f"{describe(func)} cannot be called", span)

    def guard(self, run: Callable[[], None], span: Span | None) -> bool:
        """Run a statement's builder; a fault becomes a diagnostic. Whether all went well."""
        try:
            run()
        except Poisoned:
            return False
        except Fault as err:
            self.diagnostics.append(err.diagnostic)
            return False
        except Exception as err:
            self.report(err, span)
            return False
        return True

    def report(self, err: BaseException, span: Span | None) -> None:
        """Add what an exception says to the diagnostics."""
        made = located(err, span)
        if isinstance(made, Fault):
            self.diagnostics.append(made.diagnostic)


def finish(scope: Scope) -> Stmt:
    """The statements of a scope as one, its tails wrapped around what follows them."""
    body = seq(scope.stmts)
    for before, wrap in reversed(scope.tails):
        before.append(wrap(body))
        body = seq(before)
    return body


def keep_meta(value: Any) -> Any:
    """The value itself, out of a `T.meta_var`."""
    return value.value if isinstance(value, Meta) else value


def attr_value(value: Any) -> Any:
    """A Python value as an attribute's value: sequences as tuples, mappings as Attrs.

    Raises TypeError for what attributes cannot hold.
    """
    from ..node import Node

    if value is None or isinstance(value, bool | int | float | str | DType | Node):
        return value
    if isinstance(value, list | tuple):
        return tuple([attr_value(v) for v in value])
    if isinstance(value, dict | Attrs):
        return Attrs({str(k): attr_value(v) for k, v in value.items()})
    if isinstance(value, Cell):
        return BufferLoad(value.buffer, (ZERO,))
    dtype = getattr(value, "dtype", None)
    if isinstance(dtype, DType) and hasattr(value, "script_name"):
        return dtype
    if type(value).__name__ == "Target":
        return value
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{describe(value)} cannot be an attribute")
