"""The state of building one graph function: names, the blocks of bindings, symbols.

Bindings are made by a `BlockBuilder`, which keeps them in normal form; names, scopes and faults are
those of every function.  A nested function has a builder of its own, which finds what it does not
define in the one around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, NoReturn

from ..errors import Diagnostic, DTypeError, Span, suggest
from ..grammar import tree as S
from ..ir import INT64, Expr, ExternFunc, FuncType, GlobalVar, PrimType, Type, Var
from ..ir.relax import BlockBuilder, DataflowVar, MatchCast, SeqExpr, VarBinding, call_function, erase
from ..ir.relax.normal_form import is_atom
from ..ir.relax.op import as_argument
from ..ir.visitor import free_vars, type_vars
from .builder import Builder
from .faults import Fault, describe, fault
from .names import Outer
from .sequence import build_statements
from .values import MISSING, Meta, Symbol

_set_class = object.__setattr__


class Casting:
    """`R.match_cast(value, ty)` on its way to the name that it is assigned to."""

    described = "a match_cast that is not assigned to a name"

    def __init__(self, value: Expr, ty: Type) -> None:
        self.value = value
        self.ty = ty


class Dataflow:
    """A dataflow block while it is read: its variables, and those it gives out."""

    def __init__(self, scope: AbstractContextManager[None], faults: int) -> None:
        self.scope = scope
        self.faults = faults
        self.vars: set[Var] = set()
        self.outputs: dict[str, Var] | None = None


class EnclosingNames(Outer):
    """What a nested function sees: the names of the function around it."""

    def __init__(self, builder: GraphBuilder) -> None:
        self.builder = builder

    def find(self, name: str) -> Any:
        """What the name means in the function around, or outside of it."""
        b = self.builder
        found = b.names.get(name, MISSING)
        if found is MISSING:
            found = b.symbols.get(name, MISSING)
        if found is MISSING:
            found = b.outer.find(name)
        return found.value if type(found) is Meta else found

    def known(self) -> list[str]:
        """All names."""
        return [*self.builder.names, *self.builder.outer.known()]


class GraphBuilder(Builder):
    """Builds one graph function from its surface tree."""

    def __init__(self, outer: Outer, diagnostics: list[Diagnostic], *, live: bool) -> None:
        super().__init__(outer, diagnostics, live=live)
        self.symbol_type = INT64
        self.blocks = BlockBuilder()
        self.blocks.begin_scope()
        self.dataflow: Dataflow | None = None
        self.defining: bool | None = False
        self.result: Any = None
        self.result_span: Span | None = None
        self.branches_open = 0
        self.infos: dict[str, tuple[Any, ...]] = {}
        self.functions: Any = None
        self._hidden: dict[str, tuple[str, ...]] = {}
        self.checked = True

    def build(self, body: Sequence[S.SStmt]) -> None:
        """Build statements one after another; each fault is collected and building goes on."""
        from .relax_statements import TABLE

        build_statements(self, body, TABLE)

    # names

    def lookup(self, name: str, span: Span | None) -> Any:
        """What a name means outside the function. Raises a Fault with near names when it means nothing."""
        found = self.outer.find(name)
        if isinstance(found, Symbol):
            return self.symbol(found.name, INT64)
        return super().lookup(name, span)

    def undefined(self, name: str, span: Span | None) -> Fault:
        """The fault for a name that means nothing here."""
        return fault(
            "undefined-name",
            f"`{name}` is not defined in this function",
            span,
            notes=self._hidden.get(name, ()),
            help=suggest(name, [*self.names, *self.outer.known()]),
        )

    def define(self, name: str, value: Any, span: Span | None) -> None:
        """Let a name mean a value from here on; a graph may use a name again for another value."""
        self.scopes[-1].before.setdefault(name, self.names.get(name, MISSING))
        self.names[name] = value

    def size_symbol(self, name: str) -> Var:
        """The symbol of this name in a size that is written as a text.

        Parameters define symbols; elsewhere a text may use them only. Raises DTypeError.
        """
        if name in self.symbols or self.defining:
            return self.symbol(name)
        raise DTypeError(
            Diagnostic(
                "undefined-name",
                f"the symbol `{name}` is not defined here",
                help=(
                    f"sizes of parameters define symbols; in the body write `{name} = T.int64()`",
                    *suggest(name, self.symbols),
                ),
            )
        )

    # bindings

    def argument(self, value: Any) -> Expr:
        """A value as an argument in normal form; what has no place there is bound before."""
        made = self.blocks.normalize(as_argument(value))
        return made if is_atom(made) else self.bind("", made, None)

    def bind(self, name: str, value: Any, span: Span | None, ty: Type | None = None) -> Var:
        """A new variable that stands for the value. Raises a Fault behind `R.output`."""
        self._open_for_bindings(span)
        self.settle(value)
        made = self.blocks.normalize(as_argument(value))
        var = self.variable(name, made.ty if ty is None else ty, span)
        self.blocks.emit_normalized(VarBinding(var, made, span))
        return var

    def match_cast(self, name: str, cast: Casting, span: Span | None) -> Var:
        """A new variable: the value, known to have the type from here on."""
        self._open_for_bindings(span)
        value = self.argument(cast.value)
        var = self.variable(name, cast.ty, span)
        self.blocks.emit_normalized(MatchCast(var, value, cast.ty, span))
        return var

    def variable(self, name: str, ty: Type, span: Span | None) -> Var:
        """A new variable of the open block, for a binding to come."""
        flow = self.dataflow
        if not name:
            name = self.blocks.get_unique_name("gv" if flow is None else "lv")
        var = Var(name, ty, span) if flow is None else DataflowVar(name, ty, span)
        if flow is not None:
            flow.vars.add(var)
        return var

    def _open_for_bindings(self, span: Span | None) -> None:
        if self.dataflow is not None and self.dataflow.outputs is not None:
            raise fault(
                "after-output",
                "nothing can be bound behind `R.output` in its dataflow block",
                span,
                help=("let `R.output(...)` be the last statement of the block",),
            )

    def returned(self, value: Any) -> Expr:
        """A value as the result of the function; what a dataflow block around binds of it is given out."""
        made = self.argument(value)
        flow = self.dataflow
        if flow is not None:
            used = [v for v in free_vars(made) if v in flow.vars]
            flow.outputs = {**(flow.outputs or {}), **{self._name(v): v for v in used}}
        return made

    def _name(self, var: Var) -> str:
        return next((n for n, v in self.names.items() if v is var), var.name)

    def is_new_symbol(self, value: Any) -> bool:
        """Whether the current statement made this symbol, as `T.int64()` does."""
        return is_symbol(value) and self.is_fresh(value) and self.blocks.lookup_binding(value) is None

    def emit(self, stmt: Any) -> NoReturn:
        """Raise a Fault: statements of kernels have no place here."""
        raise fault(
            "kernel-statement",
            "this word makes a statement of a kernel, and a graph has none",
            self.span,
            help=("write it in a `@T.prim_func` and call that with `R.call_tir`",),
        )

    def result_type(self, body: SeqExpr) -> Type:
        """The type of the body, without symbols that only the body knows."""
        known = {v for p in self.params for v in (p, *type_vars(p.ty))}
        outer = self.outer
        while isinstance(outer, EnclosingNames):
            known.update(v for v in outer.builder.names.values() if isinstance(v, Var))
            outer = outer.builder.outer
        return erase(body.ty, lambda v: v not in known)

    # calls

    def call_global(self, func: Any, args: list[Any], kwargs: dict[str, Any], span: Span | None) -> Expr:
        """A call of a function of the module, its type derived from the arguments; a kernel gives nothing."""
        self.settle(func)
        return self.call_value(func, args, kwargs, span)

    def call_value(self, func: Expr, args: list[Any], kwargs: dict[str, Any], span: Span | None) -> Expr:
        """A call of a function value. Raises a Fault for what is none, DTypeError for unfit arguments."""
        name = f"`{func.name}`" if isinstance(func, Var | GlobalVar) else "the function"
        if kwargs:
            raise fault("wrong-arguments", f"{name} takes its arguments by position", span)
        if not isinstance(func, GlobalVar | ExternFunc) and not isinstance(func.ty, FuncType):
            raise fault("not-callable", f"{describe(func)} cannot be called", span)
        return call_function(func, args, span)

    def settle(self, value: Any) -> None:
        """Let the type of a function of the module be known. Raises a Fault where it depends on itself."""
        if isinstance(value, GlobalVar) and self.functions is not None:
            self.functions.settle(value.name)

    # dataflow blocks

    def open_dataflow(self, span: Span | None) -> None:
        """Begin a dataflow block. Raises a Fault inside of another one."""
        if self.dataflow is not None:
            raise fault("dataflow-block", "a dataflow block cannot stand in another one", span)
        self.dataflow = Dataflow(self.blocks.dataflow(), self._faults())
        self.dataflow.scope.__enter__()
        self.open("dataflow")

    def output(self, values: tuple[Any, ...]) -> None:
        """`R.output(a, b)`: these variables are seen after the block. Raises a Fault."""
        flow = self.dataflow
        if flow is None:
            raise fault("outside-dataflow", "`R.output` belongs in a dataflow block", self.span)
        if flow.outputs is not None:
            raise fault("duplicate-declaration", "`R.output` stands twice in one dataflow block", self.span)
        for value in values:
            if not isinstance(value, Var) or value not in flow.vars:
                raise fault(
                    "dataflow-output",
                    f"{describe(value)} is no variable of this dataflow block, so it cannot be given out",
                    self.span,
                    help=("give out variables that the block binds",),
                )
        flow.outputs = {self._name(v): v for v in values}

    def close_dataflow(self) -> None:
        """End the dataflow block: its outputs become ordinary variables, its other names are forgotten."""
        flow = self.dataflow
        assert flow is not None
        inner, faulty = dict(self.names), self._faults() > flow.faults
        self.close()
        self.dataflow = None
        flow.scope.__exit__(None, None, None)
        outputs = flow.outputs or {}
        for name, var in outputs.items():
            # nobody outside of the block has seen the variable yet: it may still become an ordinary one
            _set_class(var, "__class__", Var)
            self.define(name, var, var.span)
        for name, value in inner.items():
            if type(value) is DataflowVar and name not in self.names:
                self._hidden[name] = (f"`{name}` belongs to a dataflow block, which does not give it out",)
            if faulty:
                self.poison(name)

    def _faults(self) -> int:
        return sum(1 for d in self.diagnostics if d.severity == "error")


def is_symbol(value: Any) -> bool:
    """Whether this is a variable that may stand for a size."""
    return isinstance(value, Var) and isinstance(value.ty, PrimType)


__all__ = ["Casting", "Dataflow", "EnclosingNames", "GraphBuilder", "is_symbol"]
