"""Bindings that are not needed at run time."""

from __future__ import annotations

from typing import TypeVar

from ...expr import Var
from ...visitor import type_vars
from ..expr import Binding, BindingBlock, Function, MatchCast, SeqExpr
from .purity import contains_impure_call
from .variables import Variables, bindings_in, used_vars

Part = TypeVar("Part", Function, SeqExpr)


def remove_all_unused(func: Part) -> Part:
    """The function or body without the bindings whose value nobody uses; casts and effects stay.

    The same object where all are used.
    """
    if isinstance(func, SeqExpr):
        return _without_unused(func)
    body = _without_unused(func.body)
    return func if body is func.body else func.replace(body=body)


def _without_unused(seq: SeqExpr) -> SeqExpr:
    wanted = set(used_vars(seq.body))
    blocks: list[BindingBlock] = []
    for block in reversed(seq.blocks):
        kept: list[Binding] = []
        for b in reversed(block.bindings):
            keep = isinstance(b, MatchCast) or b.var in wanted
            if not keep and not contains_impure_call(b.value):
                continue
            kept.append(b)
            found = Variables()
            found(b)
            wanted.update(found.used)
        if len(kept) == len(block.bindings):
            blocks.append(block)
        elif kept:
            blocks.append(block.replace(bindings=tuple(reversed(kept))))
    blocks.reverse()
    if len(blocks) == len(seq.blocks) and all(a is b for a, b in zip(blocks, seq.blocks)):
        return seq
    return seq.replace(blocks=tuple(blocks))


def computable_at_compile_time(func: Function) -> list[Var]:
    """The parameters behind the first `num_input` ones, and what is computed from them alone.

    Nothing where the function has no attribute `num_input`.
    """
    count = func.attrs.get("num_input")
    if count is None:
        return []
    known: dict[Var, None] = dict.fromkeys(func.params[int(count) :])
    symbols = {v for p in known for v in type_vars(p.ty)}
    for binding in bindings_in(func.body):
        value = binding.value
        found = Variables()
        found(value)
        needed = [*found.used, *found.symbols]
        if all(v in known or v in symbols for v in needed) and not contains_impure_call(value):
            known[binding.var] = None
            if isinstance(binding, MatchCast):
                symbols.update(type_vars(binding.ty))
    return list(known)


__all__ = ["computable_at_compile_time", "remove_all_unused"]
