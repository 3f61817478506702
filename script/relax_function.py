"""Building a graph function: its signature first, so that functions may call each other, then its body."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import Diagnostic, Span
from ..grammar import tree as S
from ..ir import UNIT, AnyType, BaseFunc, Expr, FuncType, TupleType, Type, Var
from ..ir.relax import BaseCheckResult, Function, SeqExpr, VarBinding, erase, type_base_check
from ..ir.text import text
from ..node import Attrs
from .builder import Builder
from .faults import fault, located
from .function import FunctionJob, annotation, surface_nodes
from .names import Outer
from .relax_builder import EnclosingNames, GraphBuilder
from .relax_types import note_type
from .values import TypeForm, set_active_builder

_set_ty = Expr.__dict__["ty"].__set__


class GraphJob(FunctionJob):
    """One graph function on its way from tree to IR."""

    builder: GraphBuilder
    any_tuple = False
    """Whether the result is annotated as `R.Tuple`, which leaves its fields open."""

    def _builder(self, outer: Outer, diagnostics: list[Diagnostic], live: bool, source: str) -> Builder:
        made = GraphBuilder(outer, diagnostics, live=live)
        made.checked = bool(self.options.get("check_well_formed", True))
        return made

    @property
    def open_result(self) -> bool:
        """Whether only the body says what the type of the result is."""
        return self.builder.ret_type is None or self.any_tuple

    def join(self, module: Any) -> None:
        """See the module's global infos and functions, and put kernels into it."""
        self.builder.functions = module
        self.builder.infos = module.infos

    @property
    def pure(self) -> bool:
        """Whether the function is declared to have no effect."""
        return bool(self.options.get("pure", True))

    def _type(self) -> FuncType:
        b = self.builder
        ret = erase(b.ret_type or AnyType(), set(b.params).__contains__)
        return FuncType([p.ty for p in b.params], ret, self.pure)

    def _scalar_param(self, b: Builder, param: S.Param) -> Var | None:
        """None: a size may name the scalar parameters before it only."""
        return None

    def _param(self, b: Builder, param: S.Param) -> Var:
        if param.kind in ("star", "kwstar"):
            raise fault("invalid-parameter", f"`{param.name}` is no ordinary parameter", param.span)
        if param.annotation is None:
            raise fault(
                "annotation-required",
                f"the parameter `{param.name}` of `{self.node.name}` has no annotation",
                param.span,
                help=(f'write `{param.name}: R.Tensor((n, 4), "float32")` or `{param.name}: R.Any`',),
            )
        self._quoted_symbols()
        try:
            ty = note_type(annotation(b, param.annotation))
        except Exception as err:
            raise located(err, param.annotation.span) from None
        if param.name in b.symbols:
            raise fault(
                "duplicate-definition",
                f"`{param.name}` is the name of a size already",
                param.span,
                help=("let the parameter stand before the shapes that use it",),
            )
        return Var(param.name, ty, param.span)

    def _quoted_symbols(self) -> None:
        """Define the symbols that texts in the parameters' types name, before any of the types is read."""
        b = self.builder
        if b.defining is None:
            return
        b.defining = True
        before: set[str] = set()
        for param in self.node.params:
            for name, span in _quoted_names(param.annotation):
                if name not in before:
                    b.span = span
                    b.size_symbol(name)
            before.add(param.name)
        b.defining = None

    def _returns(self, b: Builder, node: S.SExpr) -> None:
        note = annotation(b, node)
        b.ret_type = note_type(note, "the result's annotation")
        self.any_tuple = isinstance(note, TypeForm) and b.ret_type == UNIT
        b.fresh.clear()

    def complete(self) -> BaseFunc | None:  # type: ignore[override]
        """Build the body; gives the function, or None when the signature or body has faults."""
        b, node = self.builder, self.node
        if not self.declared:
            self.declare()
        if b.functions is not None:
            b.blocks.table = b.functions.kernel_table()
        b.implicit_symbol = not self.options.get("private")
        if b.implicit_symbol:
            b.attrs["global_symbol"] = str(self.options.get("name", node.name))
        before = set_active_builder(b)
        try:
            b.build(node.body)
            if b.result is None and not self._faulty():
                b.guard(self._no_result, node.span)
        finally:
            set_active_builder(before)
        if self._faulty() or b.result is None:
            return None
        try:
            return self._function(b, SeqExpr(b.blocks.end_scope(), b.result))
        except Exception as err:
            b.report(located(err, node.span), node.span)
            return None

    def _faulty(self) -> bool:
        return any(d.severity == "error" for d in self.builder.diagnostics[self.faults_before :])

    def _no_result(self) -> None:
        raise fault(
            "missing-return",
            f"the function `{self.node.name}` returns nothing",
            self.node.span,
            help=("end it with `return value`, or with `return R.tuple()` when it has no result",),
        )

    def declared_result(self, wanted: Type, found: Type) -> Type:
        """The type of the result where the function declares one and its body has another that fits."""
        return wanted

    def _function(self, b: GraphBuilder, body: SeqExpr) -> Function:  # type: ignore[override]
        found = b.result_type(body)
        wanted = None if self.any_tuple and isinstance(found, TupleType) else b.ret_type
        if wanted is not None and b.checked and type_base_check(wanted, found) is BaseCheckResult.FAIL_L0:
            raise fault(
                "return-type",
                f"`{self.node.name}` declares the result `{text(wanted)}`, and returns `{text(found)}`",
                b.result_span or self.node.span,
            )
        ret = found if wanted is None else self.declared_result(wanted, found)
        return Function(b.params, body, ret, self.pure, Attrs(b.attrs), self.node.span)


def _quoted_names(note: S.SExpr | None) -> Iterator[tuple[str, Span | None]]:
    """The names that stand alone as texts in the shapes of an annotation."""
    for one in surface_nodes([] if note is None else [note]):
        if isinstance(one, S.TupleExpr | S.ListExpr):
            for item in one.elts:
                if isinstance(item, S.Constant) and isinstance(item.value, str) and item.value.isidentifier():
                    yield item.value, item.span


def nested_function(b: GraphBuilder, node: S.FunctionDef, options: dict[str, Any]) -> Var | None:
    """The variable that a function inside of a graph function is bound to; None where it is faulty.

    The function sees the names around it, and itself.
    """
    options = {**options, "private": True, "check_well_formed": b.checked}
    job = GraphJob(node, EnclosingNames(b), b.diagnostics, live=b.live, options=options)
    inner = job.builder
    inner.infos, inner.functions = b.infos, b.functions
    inner.blocks.table = b.blocks.table
    ty = job.declare()
    if ty is None:
        return None
    var = b.variable(node.name, ty, node.span)
    inner.names.setdefault(node.name, var)
    made = job.complete()
    if made is None:
        return None
    _set_ty(var, made.ty)
    b.blocks.emit_normalized(VarBinding(var, made, node.span))
    return var


__all__ = ["GraphJob", "nested_function"]
