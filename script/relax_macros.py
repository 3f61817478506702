"""`R.macro`: bodies that are pasted into a graph at the call, and give the value they return."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import Span
from ..grammar import tree as S
from .calling import bind_params
from .decorator import Decorator
from .faults import Poisoned, fault
from .macros import Macro, pasting
from .relax_builder import GraphBuilder

if TYPE_CHECKING:
    from .builder import Builder


class GraphMacro(Macro):
    """A macro of the graph dialect."""

    def expand_in(self, b: Builder, args: list[Any], kwargs: dict[str, Any], span: Span | None) -> Any:
        """Build the body with the arguments bound; its bindings join those at the call. Gives its value."""
        if not isinstance(b, GraphBuilder):
            raise fault("outside-graph", f"the macro `{self.node.name}` belongs in an `@R.function`", span)
        saved = b.result, b.result_span, b.branches_open
        b.result, b.branches_open = None, 0
        bound = bind_params(b, self.node.params, args, kwargs, span, self.node.name)
        known = len(b.diagnostics)
        try:
            with pasting(self, b, bound, span):
                b.build(self.node.body)
            value = b.result
        finally:
            b.result, b.result_span, b.branches_open = saved
        if any(d.severity == "error" for d in b.diagnostics[known:]):
            raise Poisoned
        if value is None:
            raise fault(
                "missing-return",
                f"the macro `{self.node.name}` returns nothing",
                self.node.span,
                help=("end it with `return value`",),
            )
        return value


def define_local(b: GraphBuilder, node: S.FunctionDef, decorator: Decorator) -> None:
    """Define a macro inside of a graph function; it sees the variables around its definition."""
    if decorator.kind != "graph_macro":
        raise fault(
            "nested-function",
            f"`{decorator.script_name}` pastes statements of kernels; a graph has none",
            node.span,
            help=("write `@R.macro`",),
        )
    made = GraphMacro(node, bool(decorator.options.get("hygienic", True)), b.outer, dict(b.names), b.live)
    made.names[node.name] = made
    b.define(node.name, made, node.span)


__all__ = ["GraphMacro", "define_local"]
