"""Building the statements of graph functions: one function per kind of surface statement.

What is bound stands in the builder's open block.  A faulty statement becomes a diagnostic and building
goes on behind it, as everywhere in the language.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import Span
from ..grammar import tree as S
from .expr import evaluate
from .faults import Poisoned, describe, fault
from .relax_bindings import annotated, assigned, augmented, expression, is_bindable, not_ended, typed_argument
from .relax_branches import choice
from .relax_builder import Casting, GraphBuilder
from .stmt import TABLE as KERNEL


def _with(b: GraphBuilder, node: S.WithStmt) -> None:
    not_ended(b, node.span)
    entered: list[Any] = []
    try:
        for item in node.items:
            b.span = item.context.span
            value = evaluate(b, item.context)
            if not isinstance(value, GraphFrame):
                raise fault(
                    "with-frame",
                    f"{describe(value)} cannot stand after `with` in a graph",
                    item.context.span,
                    help=("write `with R.dataflow():`",),
                )
            if item.target is not None:
                raise fault(
                    "with-frame",
                    f"`{value.script_name}` gives nothing that `as` could name",
                    item.target.span,
                )
            value.enter(b, item.context.span)
            entered.append(value)
        b.build(node.body)
    finally:
        while entered:
            entered.pop().leave(b, node.span)


class GraphFrame:
    """The value of a word that covers statements of a graph."""

    script_name = "this word"

    def enter(self, b: GraphBuilder, span: Span | None) -> None:
        """Begin the part that it covers."""
        raise NotImplementedError

    def leave(self, b: GraphBuilder, span: Span | None) -> None:
        """End it."""
        raise NotImplementedError


class DataflowFrame(GraphFrame):
    """`with R.dataflow():`."""

    script_name = "R.dataflow"

    def enter(self, b: GraphBuilder, span: Span | None) -> None:
        """Begin a dataflow block."""
        b.open_dataflow(span)

    def leave(self, b: GraphBuilder, span: Span | None) -> None:
        """End it; only its outputs stay visible."""
        b.close_dataflow()


def _return(b: GraphBuilder, node: S.ReturnStmt) -> None:
    not_ended(b, node.span)
    if b.branches_open:
        raise fault(
            "inner-return",
            "`return` cannot stand in a branch",
            node.span,
            help=("bind the value to a name and return it at the end of the function",),
        )
    value = None if node.value is None else evaluate(b, node.value)
    if value is None or isinstance(value, Casting) or not (isinstance(value, str) or is_bindable(value)):
        what = "`return` needs a value" if value is None else f"{describe(value)} cannot be returned"
        raise fault("return-type", what, node.span, help=("functions without result `return R.tuple()`",))
    b.result = value if b.macro_depth else b.returned(typed_argument(value, b.ret_type))
    b.result_span = node.span


def _function(b: GraphBuilder, node: S.FunctionDef) -> None:
    from .module import function_decorator
    from .relax_function import nested_function
    from .relax_macros import define_local

    not_ended(b, node.span)
    if node.decorators:
        decorator = function_decorator(b, node)
        if decorator.kind in ("graph_macro", "macro", "inline"):
            define_local(b, node, decorator)
            return
        if decorator.kind == "function":
            made = nested_function(b, node, decorator.options)
            if made is None:
                raise Poisoned
            b.define(node.name, made, node.span)
            return
        raise fault(
            "nested-function",
            f"`{decorator.script_name}` functions cannot be nested in a graph",
            node.span,
            help=("move it to the module",),
        )
    raise fault(
        "undecorated",
        f"the function `{node.name}` has no decorator",
        node.span,
        help=("put `@R.function` above it",),
    )


def _refused(what: str, *help: str) -> Callable[[GraphBuilder, Any], None]:
    def refuse(b: GraphBuilder, node: Any) -> None:
        raise fault("unsupported-syntax", f"{what} is not part of graph functions", node.span, help=help)

    return refuse


def _keyword(b: GraphBuilder, node: S.KeywordStmt) -> None:
    if node.word != "pass":
        raise fault("outside-loop", f"`{node.word}` stands outside of a loop", node.span)


TABLE: dict[type, Callable[[Any, Any], None]] = {
    **KERNEL,
    S.ExprStmt: expression,
    S.Assign: assigned,
    S.AnnAssign: annotated,
    S.AugAssign: augmented,
    S.ForStmt: _refused("`for`", "repeat with a function that calls itself, or build the graph in Python"),
    S.WhileStmt: _refused("`while`", "repeat with a function that calls itself"),
    S.IfStmt: choice,
    S.WithStmt: _with,
    S.AssertStatement: _refused("`assert`", "write `R.assert_op(condition, format=...)`"),
    S.ReturnStmt: _return,
    S.KeywordStmt: _keyword,
    S.FunctionDef: _function,
}

__all__ = ["TABLE", "DataflowFrame", "GraphFrame"]
