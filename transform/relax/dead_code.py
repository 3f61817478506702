"""Removing what nobody needs: bindings whose value is not used, functions that nobody calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...ir import GlobalVar, IRModule, Var
from ...ir.relax import BindingBlock, Function, MatchCast, SeqExpr
from ...ir.relax.rewrite import rewrite_functions
from ...ir.visitor import Rewriter, find, type_vars
from ..common import refuse
from ..registry import register_pass
from .common import is_public, is_pure, operands, purity_of


@register_pass("relax.DeadCodeElimination")
def dead_code_elimination(mod: IRModule, entry_functions: Sequence[str] | None = None) -> IRModule:
    """Unused bindings without effects are gone, and functions that no entry function reaches.

    Entry functions are all public ones, and those named.  Impure calls stay, and so do casts, which
    check; unless their value and the symbols that they define are unused and the block is a dataflow block.
    Idempotent.

    before:
        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            with R.dataflow():
                a = R.exp(x)
                b = R.sin(x)
                R.output(a)
            return a

    after:
        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            with R.dataflow():
                a = R.exp(x)
                R.output(a)
            return a
    """
    for name in entry_functions or ():
        if name not in mod:
            raise refuse("unknown-function", f"the module has no function `{name}` to be an entry", mod)
    mod = remove_unused_functions(mod, entry_functions)
    purity = purity_of(mod)
    mod = rewrite_functions(mod, lambda func: remove_unused_bindings(func, purity))
    return remove_unused_functions(mod, entry_functions)


def remove_unused_functions(mod: IRModule, entries: Sequence[str] | None = None) -> IRModule:
    """The module without functions that no entry reaches; itself where all are reached."""
    by_name = {g.name: f for g, f in mod.functions.items()}
    stack = [n for n, f in by_name.items() if is_public(f) or n in (entries or ())]
    if not stack and entries is None:
        return mod
    reached = set(stack)
    while stack:
        for called in find(by_name[stack.pop()], GlobalVar):
            if called.name in by_name and called.name not in reached:
                reached.add(called.name)
                stack.append(called.name)
    if len(reached) == len(by_name):
        return mod
    return mod.replace(functions={g: f for g, f in mod.functions.items() if g.name in reached})


def remove_unused_bindings(func: Function, purity: Mapping[str, bool]) -> Function:
    """The function without bindings whose value is not used, at any depth."""
    made: Function = _Unused(purity)(func)
    return made


class _Unused(Rewriter):
    """Goes through sequences from their end, keeping what has an effect or is used later."""

    def __init__(self, purity: Mapping[str, bool]) -> None:
        super().__init__()
        self.purity = purity
        self.used: set[Var] = set()

    def visit_Function(self, func: Function) -> Any:
        """The function; what its type mentions counts as used."""
        self.used.update(type_vars(func.ret_ty))
        return self.visit_fields(func)

    def visit_SeqExpr(self, seq: SeqExpr) -> SeqExpr:
        """The sequence without unused bindings."""
        self.use(seq.body)
        blocks: list[BindingBlock] = []
        for block in reversed(seq.blocks):
            kept = [b for b in (self.binding(b) for b in reversed(block.bindings)) if b is not None]
            kept.reverse()
            if kept:
                same = len(kept) == len(block.bindings) and all(map(_is, kept, block.bindings))
                blocks.append(block if same else block.replace(bindings=kept))
        blocks.reverse()
        if len(blocks) == len(seq.blocks) and all(map(_is, blocks, seq.blocks)):
            return seq
        return seq.replace(blocks=blocks)

    def binding(self, binding: Any) -> Any:
        """The binding, its value without dead code; None where it is dead itself."""
        var, value = binding.var, binding.value
        if isinstance(binding, MatchCast):
            self.use(value)
            self.used.update(type_vars(binding.ty))
            return binding
        if var not in self.used and is_pure(value, self.purity):
            return None
        self.used.update(type_vars(var.ty))
        inner = self.visit(value) if _has_sequences(value) else value
        self.use(inner)
        return binding if inner is value else binding.replace(value=inner)

    def use(self, value: Any) -> None:
        """Note the variables that a value uses."""
        for v in operands(value):
            if isinstance(v, Var):
                self.used.add(v)
        self.used.update(v for ty in (value.ty, *getattr(value, "ty_args", ())) for v in type_vars(ty))


def _has_sequences(value: Any) -> bool:
    return isinstance(value, Function) or hasattr(value, "true_branch")


def _is(a: Any, b: Any) -> bool:
    return a is b


__all__ = ["dead_code_elimination", "remove_unused_bindings", "remove_unused_functions"]
