"""Private functions are written out where they are called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...ir import BaseFunc, Call, GlobalVar, IRModule
from ...ir.relax import Function, If
from ...ir.relax.inline import emit_body
from ...ir.relax.rewrite import GraphRewriter
from ...ir.relax.variable_kinds import hide_inner_variables
from ...ir.visitor import find
from ..registry import register_pass
from .common import is_public

KEPT = ("Primitive", "Composite", "Codegen")
"""Attributes of functions that are units for what follows."""


@register_pass("relax.InlinePrivateFunctions")
def inline_private_functions(mod: IRModule) -> IRModule:
    """Calls of private graph functions are their bodies, and those functions are gone.

    Recursive functions, fused groups and functions used as values stay; so do functions with branches that
    are called in a dataflow block.  Idempotent.

    before:
        @I.ir_module
        class Module:
            @R.function(private=True)
            def f(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
                y = R.exp(x)
                return y

            @R.function
            def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                cls = Module
                y = cls.f(x)
                return y

    after:
        @I.ir_module
        class Module:
            @R.function
            def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                y = R.exp(x)
                y_1 = y
                return y_1
    """
    functions = {g.name: f for g, f in mod.functions.items() if isinstance(f, Function)}
    order, recursive = call_order(functions)
    kept = recursive | {n for n, f in functions.items() if is_public(f) or set(KEPT) & set(f.attrs)}
    wanted = set(order) - kept
    inliner = _Inliner(mod, functions, wanted)
    if not wanted:
        return mod
    for name in order:
        inliner.inline_into(name)
    made = {g: inliner.done.get(g.name, f) for g, f in mod.functions.items()}
    used = {v.name for f in made.values() for v in find(f, GlobalVar)}
    rest: dict[GlobalVar, BaseFunc] = {
        g: f for g, f in made.items() if g.name not in inliner.inlined or g.name in used
    }
    if len(rest) == len(made) and all(rest[g] is f for g, f in mod.functions.items()):
        return mod
    return mod.replace(functions=rest)


def call_order(functions: Mapping[str, BaseFunc]) -> tuple[list[str], set[str]]:
    """The functions, each after those that it uses; and those that lead to themselves."""
    uses = {n: {v.name for v in find(f, GlobalVar) if v.name in functions} for n, f in functions.items()}
    order: list[str] = []
    recursive: set[str] = set()
    state: dict[str, int] = {}
    path: list[str] = []
    for start in functions:
        stack: list[tuple[str, bool]] = [(start, False)]
        while stack:
            name, leaving = stack.pop()
            if leaving:
                state[name] = 2
                order.append(path.pop())
            elif state.get(name) == 1:
                recursive.update(path[path.index(name) :])
            elif name not in state:
                state[name] = 1
                path.append(name)
                stack.append((name, True))
                stack += [(used, False) for used in sorted(uses[name], reverse=True)]
    return order, recursive


class _Inliner(GraphRewriter):
    def __init__(self, mod: IRModule, functions: Mapping[str, Function], wanted: set[str]) -> None:
        super().__init__(mod)
        self.functions = functions
        self.wanted = wanted
        self.done: dict[str, Function] = {}
        self.inlined: set[str] = set()

    def inline_into(self, name: str) -> None:
        """Write out the calls in a function, whose callees are done."""
        func = self.functions[name]
        made = self(func)
        self.done[name] = func if made is func else hide_inner_variables(made)

    def visit_Call(self, call: Call) -> Any:
        """The body of a private function in the place of its call."""
        call = super().visit_Call(call)
        if not isinstance(call.op, GlobalVar) or call.op.name not in self.wanted:
            return call
        func = self.done[call.op.name]
        if self.builder.current_block_is_dataflow() and _branches(func):
            return call
        self.inlined.add(call.op.name)
        return emit_body(self.builder, func, [self.builder.atom(a) for a in call.args])


def _branches(func: Function) -> bool:
    return bool(find(func.body, If)) or not func.is_pure


__all__ = ["call_order", "inline_private_functions"]
