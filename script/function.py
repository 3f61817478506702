"""Building a PrimFunc: its signature first, so that functions may call each other, then its body."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..errors import Diagnostic, Span
from ..grammar import tree as S
from ..ir import (
    INT32,
    INT64,
    VOID,
    Expr,
    FuncType,
    PrimFunc,
    PrimType,
    Return,
    SBlock,
    SBlockRealize,
    Stmt,
    TupleType,
    Type,
    Var,
)
from ..node import Attrs
from .builder import Builder, finish
from .expr import evaluate
from .faults import Fault, Poisoned, describe, fault, located
from .names import Outer
from .stmt import build_body
from .symbols import symbol_expression
from .values import (
    ConstexprNote,
    DTypeForm,
    HandleForm,
    OptionalNote,
    Symbol,
    set_active_builder,
    type_of_note,
)
from .words_block import TRUE, without_inferred

_OLD = re.compile(
    r"\b(?:block|block_attr|allocate|allocate_const|LetStmt|buffer_decl|realize|ret|preflattened_buffer|vload|vstore)\s*\("
)
_OLD_WORDS = frozenset(
    {
        "block",
        "block_attr",
        "allocate",
        "allocate_const",
        "LetStmt",
        "buffer_decl",
        "realize",
        "ret",
        "preflattened_buffer",
    }
)


class FunctionJob:
    """One function on its way from tree to IR."""

    def __init__(
        self,
        node: S.FunctionDef,
        outer: Outer,
        diagnostics: list[Diagnostic],
        *,
        live: bool,
        options: dict[str, Any],
        source: str = "",
        constants: dict[str, Any] | None = None,
    ) -> None:
        self.node = node
        self.options = options
        self.constants = constants
        self.faults_before = len(diagnostics)
        self.builder = self._builder(outer, diagnostics, live, source)
        self.declared = False

    def _builder(self, outer: Outer, diagnostics: list[Diagnostic], live: bool, source: str) -> Builder:
        made = Builder(outer, diagnostics, live=live, old=is_old(self.node, source))
        made.kernel = True
        return made

    @property
    def open_result(self) -> bool:
        """Whether only the body says what the type of the result is."""
        return False

    def join(self, module: Any) -> None:
        """Be a function of the module that this job builds."""

    def declare(self) -> FuncType | None:
        """Build the signature; gives the function's type, None when it has faults, which are collected."""
        self.faults_before = len(self.builder.diagnostics)
        b, node = self.builder, self.node
        before = set_active_builder(b)
        try:
            self._signature(b, node)
        finally:
            set_active_builder(before)
        self.declared = True
        if any(d.severity == "error" for d in b.diagnostics[self.faults_before :]):
            return None
        return self._type()

    def _type(self) -> FuncType:
        return FuncType([p.ty for p in self.builder.params], self.builder.ret_type or VOID)

    def _signature(self, b: Builder, node: S.FunctionDef) -> None:
        b.span = node.span
        for name in node.type_params:
            b.names[name] = b.symbol(name, INT64)
        pending: list[tuple[S.Param, Any]] = []
        for param in node.params:
            made = self._scalar_param(b, param)
            pending.append((param, made))
        for param, made in pending:
            if self.constants is not None and param.name in self.constants:
                continue
            b.span = param.span
            try:
                var = made if made is not None else self._param(b, param)
            except Poisoned:
                var = None
            except Fault as err:
                b.diagnostics.append(err.diagnostic)
                var = None
            except Exception as err:
                b.report(err, param.span)
                var = None
            if var is None:
                b.poison(param.name)
                continue
            b.params.append(var)
            b.scopes[0].before.setdefault(param.name, b.names.get(param.name))
            b.names[param.name] = var
        b.fresh.clear()
        for name, symbol in b.symbols.items():
            b.names.setdefault(name, symbol)
        returns = node.returns
        if returns is not None:
            b.guard(lambda: self._returns(b, returns), returns.span)

    def _scalar_param(self, b: Builder, param: S.Param) -> Var | None:
        """The variable of a parameter annotated by a plain dtype; shapes before it may name it."""
        note = param.annotation
        if (
            param.kind in ("star", "kwstar")
            or not isinstance(note, S.Attribute)
            or (self.constants is not None and param.name in self.constants)
        ):
            return None
        try:
            found = evaluate(b, note)
        except (Fault, Poisoned):
            return None
        if not isinstance(found, DTypeForm):
            return None
        var = Var(param.name, found.type, param.span)
        b.names.setdefault(param.name, var)
        return var

    def _param(self, b: Builder, param: S.Param) -> Var:
        if param.kind in ("star", "kwstar"):
            raise fault("invalid-parameter", f"`{param.name}` is no ordinary parameter", param.span)
        if param.annotation is None:
            raise fault(
                "annotation-required",
                f"the parameter `{param.name}` of `{self.node.name}` has no annotation",
                param.span,
                help=(f'write `{param.name}: T.Buffer((n,), "float32")` or `{param.name}: T.int32`',),
            )
        signature, b.in_signature = b.in_signature, True
        try:
            _define_quoted(param.annotation)
        finally:
            b.in_signature = signature
        note = annotation(b, param.annotation)
        if isinstance(note, OptionalNote):
            note = note.note
        if isinstance(note, ConstexprNote):
            raise fault(
                "constexpr",
                f"`{param.name}` is a compile-time parameter, which only `@T.jit` functions have",
                param.span,
            )
        ty = param_type(note)
        if ty is None:
            raise fault("annotation", f"{describe(note)} cannot annotate a parameter", param.annotation.span)
        symbol = b.symbols.get(param.name)
        if symbol is not None and isinstance(ty, PrimType):
            return b.symbol(param.name, ty)
        return Var(param.name, ty, param.span)

    def _returns(self, b: Builder, node: S.SExpr) -> None:
        if isinstance(node, S.Constant) and node.value is None:
            b.ret_type = VOID
            return
        note = annotation(b, node)
        if isinstance(note, tuple | list):
            parts = [type_of_note(n) for n in note]
            ty: Type | None = TupleType([p for p in parts if p is not None])
        else:
            ty = type_of_note(note)
        if ty is None:
            raise fault("annotation", f"{describe(note)} is no result type", node.span)
        b.ret_type = ty
        b.fresh.clear()

    def complete(self) -> PrimFunc | None:
        """Build the body; gives the function, or None when the signature or body has faults."""
        b, node = self.builder, self.node
        if not self.declared:
            self.declare()
        name = str(self.options.get("name", node.name))
        b.implicit_symbol = not self.options.get("private")
        if b.implicit_symbol:
            b.attrs["global_symbol"] = name
        before = set_active_builder(b)
        try:
            build_body(b, node.body)
            body = finish(b.scopes[0])
        finally:
            set_active_builder(before)
        if any(d.severity == "error" for d in b.diagnostics[self.faults_before :]):
            return None
        try:
            return self._function(b, body)
        except Exception as err:
            b.report(located(err, node.span), node.span)
            return None

    def _function(self, b: Builder, body: Stmt) -> PrimFunc:
        if b.root_block is not None and body is b.root_block[0]:
            body = without_inferred(*b.root_block)
        if needs_root(b, body):
            root = SBlock((), (), (), "root", body, None, b.root.alloc_buffers, (), {}, None, self.node.span)
            body = SBlockRealize((), TRUE, root, self.node.span)
        attrs = dict(b.attrs)
        if self.options.get("s_tir") or self.options.get("is_stir") or b.has_block:
            attrs["s_tir"] = True
        if self.options.get("persistent"):
            attrs["persistent"] = True
        ret = b.ret_type
        if ret is None:
            ret = returned_type(body)
        return PrimFunc(
            attrs=Attrs(attrs), params=b.params, body=body, ret_type=ret, span=header_span(self.node)
        )


def _define_quoted(node: S.SExpr) -> None:
    """Define the symbols of the texts in a shape, so that what stands beside them may use them bare."""
    if isinstance(node, S.CallExpr):
        for arg in (*node.args, *[k.value for k in node.keywords]):
            if isinstance(arg, S.TupleExpr | S.ListExpr):
                for item in arg.elts:
                    if isinstance(item, S.Constant) and isinstance(item.value, str):
                        symbol_expression(item.value)
            elif isinstance(arg, S.CallExpr):
                _define_quoted(arg)


def header_span(node: S.FunctionDef) -> Span | None:
    """The place of a definition's first line."""
    return node.span


def annotation(b: Builder, node: S.SExpr) -> Any:
    """The value of an annotation; a text is read as the expression it spells."""
    b.in_signature = True
    try:
        value = evaluate(b, node)
        if isinstance(value, str):
            value = quoted_annotation(b, value, node.span)
        return value
    finally:
        b.in_signature = False


def quoted_annotation(b: Builder, text: str, span: Span | None) -> Any:
    """The value of an annotation written as a text. Raises a Fault."""
    from ..grammar import read

    reading = read(text, start="expression", filename="<annotation>")
    if not reading.ok or not reading.tree.body:
        raise fault("annotation", f"{text!r} is no annotation", span)
    node: Any = reading.tree.body[-1]
    try:
        return evaluate(b, node.value)
    except Fault as err:
        found = err.diagnostic
        raise fault(found.code, found.message, span, notes=found.notes, help=found.help) from None


def param_type(note: Any) -> Type | None:
    """The type of a parameter with this annotation, or None."""
    if isinstance(note, Var):
        return note.ty
    if isinstance(note, DTypeForm | HandleForm):
        return note.type
    if isinstance(note, Type):
        return note
    if isinstance(note, Symbol):
        return INT32
    return None


def needs_root(b: Builder, body: Stmt) -> bool:
    """Whether the body has to stand in an implicit root block."""
    if b.root.alloc_buffers:
        return True
    if not b.has_block:
        return False
    return not (isinstance(body, SBlockRealize) and not body.block.iter_vars)


def returned_type(body: Stmt) -> Type:
    """The type of the value that a body without result annotation returns; void when it returns none."""
    from ..ir.visitor import walk

    if not _mentions_return(body):
        return VOID
    for node in walk(body):
        if isinstance(node, Return) and isinstance(node.value, Expr):
            return node.value.ty
    return VOID


def _mentions_return(body: Stmt) -> bool:
    pending: list[Any] = [body]
    while pending:
        node = pending.pop()
        kind = type(node)
        if kind is Return:
            return True
        for name in _STATEMENT_FIELDS.get(kind.__name__, ()):
            value = getattr(node, name)
            if isinstance(value, tuple):
                pending += value
            elif value is not None:
                pending.append(value)
    return False


_STATEMENT_FIELDS = {
    "SeqStmt": ("seq",),
    "For": ("body",),
    "While": ("body",),
    "IfThenElse": ("then_case", "else_case"),
    "AttrStmt": ("body",),
    "SBlockRealize": ("block",),
    "SBlock": ("body", "init"),
}


def is_old(node: S.FunctionDef, source: str) -> bool:
    """Whether a function shows by a word that is gone that it was written for an older release.

    The namespace `tir` is such a word, unless the function gives that name a meaning of its own.
    """
    if source and not _OLD.search(source) and "tir." not in source:
        return False
    parts = list(surface_nodes([*node.body, *node.decorators, *node.params]))
    own_tir = any(_binds_tir(one) for one in parts)
    for one in parts:
        if not isinstance(one, S.Attribute):
            continue
        base = one.value
        if one.attr in ("vload", "vstore"):
            return True
        if isinstance(base, S.Name):
            if base.id == "T" and one.attr in _OLD_WORDS or base.id == "tir" and not own_tir:
                return True
        elif isinstance(base, S.Attribute) and base.attr == "tir" and one.attr in _OLD_WORDS | {"prim_func"}:
            return True
    return False


def surface_nodes(roots: list[Any]) -> Iterator[S.Surface]:
    """The nodes of surface trees, in no particular order."""
    pending = roots
    while pending:
        one = pending.pop()
        yield one
        for field in type(one).fields:
            value = getattr(one, field)
            if isinstance(value, tuple):
                pending += [v for v in value if isinstance(v, S.Surface)]
            elif isinstance(value, S.Surface):
                pending.append(value)


def _binds_tir(one: S.Surface) -> bool:
    match one:
        case S.Param(name="tir"):
            return True
        case S.Assign(targets=targets):
            bound: tuple[S.SExpr, ...] = targets
        case S.AnnAssign(target=target) | S.ForStmt(target=target):
            bound = (target,)
        case S.WithItem(target=target) if target is not None:
            bound = (target,)
        case _:
            return False
    flat = [e for b in bound for e in (b.elts if isinstance(b, S.TupleExpr) else (b,))]
    return any(isinstance(e, S.Name) and e.id == "tir" for e in flat)
