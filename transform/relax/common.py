"""What passes over graphs share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...ir import (
    BaseFunc,
    Call,
    Effect,
    Expr,
    FuncType,
    GenericConst,
    GlobalVar,
    IRModule,
    Op,
    Tuple,
    TupleGetItem,
    Var,
)
from ...ir.analysis.purity import side_effect
from ...ir.relax import BindingBlock, DataflowBlock, Function, find_op
from ...ir.visitor import Rewriter, free_vars, walk

KERNEL_CALLS = ("relax.call_tir", "relax.call_tir_inplace", "relax.call_tir_with_grad")


class BlockRewriter(Rewriter):
    """Replaces each block of bindings, those of local functions and branches first."""

    def __init__(self, change: Callable[[Any], BindingBlock], only_dataflow: bool = False) -> None:
        super().__init__()
        self.change = change
        self.only_dataflow = only_dataflow

    def visit_DataflowBlock(self, block: DataflowBlock) -> BindingBlock:
        """A block without effects."""
        return self.change(self.visit_fields(block))

    def visit_BindingBlock(self, block: BindingBlock) -> BindingBlock:
        """Any other block."""
        inner: BindingBlock = self.visit_fields(block)
        return inner if self.only_dataflow else self.change(inner)


def map_dataflow(func: Function, change: Callable[[DataflowBlock], BindingBlock]) -> Function:
    """The function with each of its dataflow blocks replaced, those of local functions too."""
    made: Function = BlockRewriter(change, only_dataflow=True)(func)
    return made


def operands(value: Expr) -> Iterator[Expr]:
    """The variables and tensor constants that a bound value uses, in order, with repetitions.

    Symbols inside shapes and scalar expressions count as variables.
    """
    stack: list[Any] = [value]
    while stack:
        top = stack.pop()
        if isinstance(top, Var | GenericConst):
            yield top
        elif isinstance(top, Tuple):
            stack += reversed(top.fields_)
        elif isinstance(top, TupleGetItem):
            stack.append(top.tuple_value)
        elif isinstance(top, Call):
            stack += reversed(top.args)
            if not isinstance(top.op, Op | GlobalVar):
                stack.append(top.op)
        elif not isinstance(top, GlobalVar):
            yield from free_vars(top)


def kernel_of(value: Expr) -> GlobalVar | None:
    """The kernel that a value is the call of, through `call_tir` or its kin."""
    if isinstance(value, Call) and isinstance(value.op, Op) and value.op.name in KERNEL_CALLS:
        callee = value.args[0]
        return callee if isinstance(callee, GlobalVar) else None
    return None


def is_pure(value: Expr, mod_purity: Mapping[str, bool]) -> bool:
    """Whether evaluating a bound value does nothing besides giving it.

    `mod_purity` tells of the module's functions; a call of a function that is not in it has effects.
    """
    if isinstance(value, Function):
        return True
    for node in walk(value):
        if isinstance(node, Call) and not _pure_call(node, mod_purity):
            return False
    return True


def _pure_call(call: Call, mod_purity: Mapping[str, bool]) -> bool:
    callee = call.op
    if isinstance(callee, Op):
        rec = find_op(callee.name) if callee.name.startswith("relax.") else None
        return rec.pure if rec is not None else side_effect(call) <= Effect.READ
    if isinstance(callee, GlobalVar) and callee.name in mod_purity:
        return mod_purity[callee.name]
    return isinstance(callee.ty, FuncType) and callee.ty.purity


def purity_of(mod: IRModule) -> dict[str, bool]:
    """Which functions of a module are pure graph functions."""
    return {g.name: isinstance(f, Function) and f.is_pure for g, f in mod.functions.items()}


def is_public(func: BaseFunc) -> bool:
    """Whether the function may be called from outside of the module."""
    return "global_symbol" in func.attrs


__all__ = [
    "KERNEL_CALLS",
    "BlockRewriter",
    "is_public",
    "is_pure",
    "kernel_of",
    "map_dataflow",
    "operands",
    "purity_of",
]
