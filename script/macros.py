"""Macros: `T.macro` and `T.inline`, whose bodies are pasted at the call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..errors import Span
from ..grammar import tree as S
from .calling import bind_params
from .decorator import Decorator
from .faults import fault
from .names import Outer
from .static import MAX_MACRO_DEPTH
from .stmt import build_body
from .values import active_builder

if TYPE_CHECKING:
    from .builder import Builder

MAX_EXPANSIONS = 20_000


class Macro:
    """A macro with the names it was defined among."""

    def __init__(
        self,
        node: S.FunctionDef,
        hygienic: bool,
        outer: Outer,
        names: dict[str, Any],
        live: bool,
        source: str = "",
    ) -> None:
        self.node = node
        self.hygienic = hygienic
        self.outer = outer
        self.names = names
        self.live = live
        self.source = source
        self.script_name = node.name
        self.__name__ = node.name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Paste the body into the kernel being built. Raises ValueError outside of kernels."""
        b = active_builder()
        if b is None:
            raise ValueError(f"the macro `{self.node.name}` can only be called in a kernel")
        return self.expand_in(b, list(args), kwargs, b.span)

    def expand_in(self, b: Builder, args: list[Any], kwargs: dict[str, Any], span: Span | None) -> None:
        """Build the body with the arguments bound; its statements join the statements at the call."""
        bound = bind_params(b, self.node.params, args, kwargs, span, self.node.name)
        with pasting(self, b, bound, span):
            build_body(b, self.node.body)


@contextmanager
def pasting(macro: Macro, b: Builder, bound: dict[str, Any], span: Span | None) -> Iterator[None]:
    """What is built inside is the body of a macro: it sees its own names, and its faults name the call.

    Raises a Fault for macros that call each other without end.
    """
    b.macro_depth += 1
    b.expansions += 1
    if b.macro_depth > MAX_MACRO_DEPTH or b.expansions > MAX_EXPANSIONS:
        b.macro_depth -= 1
        raise fault("static-limit", f"the macro `{macro.node.name}` expands without end", span)
    base = macro.names if macro.hygienic else b.names
    saved = b.names, b.outer, b.live
    scope = b.enter_macro({**base, **bound})
    if macro.hygienic:
        b.outer, b.live = macro.outer, macro.live
    known = len(b.diagnostics)
    try:
        yield
    finally:
        b.leave_macro(scope)
        b.names, b.outer, b.live = saved
        b.macro_depth -= 1
        b.span = span
    if span is not None and b.macro_depth == 0:
        for i in range(known, len(b.diagnostics)):
            b.diagnostics[i] = _with_call(b.diagnostics[i], span)


def _with_call(found: Any, span: Span) -> Any:
    from dataclasses import replace

    return replace(found, related=(*found.related, (span, "pasted here")))


def define_macro(b: Builder, node: S.FunctionDef, decorator: Decorator) -> Macro:
    """The macro that a definition in a module's class or at the top of a text makes."""
    kind: type[Macro] = Macro
    if decorator.kind == "graph_macro":
        from .relax_macros import GraphMacro as kind
    return kind(node, bool(decorator.options.get("hygienic", True)), b.outer, {}, b.live)


def define_local_macro(b: Builder, node: S.FunctionDef) -> None:
    """Define a macro inside a function; it sees the variables around its definition."""
    from .module import function_decorator, unsupported_decorator

    if not node.decorators:
        raise fault(
            "undecorated",
            f"the function `{node.name}` has no decorator",
            node.span,
            help=("put `@T.macro` or `@T.inline` above it, or move it out of the kernel",),
        )
    decorator = function_decorator(b, node)
    if decorator.kind not in ("macro", "inline"):
        if decorator.unsupported is None:
            raise fault(
                "nested-function",
                f"`{decorator.script_name}` functions cannot be nested",
                node.span,
                help=("move it to the module, or make it a `@T.inline` macro",),
            )
        raise unsupported_decorator(decorator, node)
    made = Macro(node, bool(decorator.options.get("hygienic", True)), b.outer, dict(b.names), b.live)
    made.names[node.name] = made
    b.define(node.name, made, node.span)
