"""Memory is given up as soon as nothing reads it any more."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...ir import Call, Expr, GenericConst, IRModule, Tuple, Var
from ...ir.relax import Binding, BindingBlock, Function, If, MatchCast, SeqExpr, VarBinding, get_op
from ...ir.relax.rewrite import rewrite_functions
from ...ir.types import UNIT
from ...ir.visitor import free_vars, substitute
from ..registry import register_pass
from .vm_calls import called

_STORAGE = "relax.memory.alloc_storage"
_MADE = ("relax.memory.alloc_tensor", "relax.builtin.alloc_tensor", "relax.vm.alloc_tensor")


@register_pass("relax.KillAfterLastUse")
def kill_after_last_use(mod: IRModule) -> IRModule:
    """Storages, tensors on them and results of calls are killed behind their last use in their block.

    Names of names are replaced before. Values that the function gives back, or that a branch gives, live on.

    before:
        @R.function
        def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
            R.func_attr({"relax.force_pure": True})
            storage = R.memory.alloc_storage(R.shape([16]), 0, R.str("global"), R.dtype("uint8"))
            y = R.memory.alloc_tensor(storage, 0, R.shape([4]), R.dtype("float32"), 0)
            R.call_packed("f", x, y, ty_args=(R.Tuple(),))
            return x
    after:
        @R.function
        def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
            R.func_attr({"relax.force_pure": True})
            storage = R.memory.alloc_storage(R.shape([16]), 0, R.str("global"), R.dtype("uint8"))
            y = R.memory.alloc_tensor(storage, 0, R.shape([4]), R.dtype("float32"), 0)
            R.memory.kill_storage(storage)
            R.call_packed("f", x, y, ty_args=(R.Tuple(),))
            R.memory.kill_tensor(y)
            return x
    """
    return rewrite_functions(mod, lambda f: _function(f))


def _function(func: Function) -> Function:
    body = _sequence(_plain(func.body), ())
    return func if body is func.body else func.replace(body=body)


def _plain(seq: SeqExpr) -> SeqExpr:
    """The sequence without bindings that only rename a value."""
    names: dict[Var, Expr] = {}
    blocks = []
    for block in seq.blocks:
        kept: list[Binding] = []
        for binding in block.bindings:
            if (
                isinstance(binding, VarBinding)
                and isinstance(binding.value, Var)
                and binding.value.ty == binding.var.ty
            ):
                names[binding.var] = names.get(binding.value, binding.value)
            else:
                kept.append(binding)
        if len(kept) < len(block.bindings):
            block = block.replace(bindings=tuple(kept))
        if block.bindings:
            blocks.append(block)
    if len(blocks) == len(seq.blocks) and not names:
        return seq
    return substitute(SeqExpr(blocks, seq.body, seq.span), names)


def _sequence(seq: SeqExpr, outside: Iterable[Var]) -> SeqExpr:
    """The sequence with what it makes killed; `outside`: what must live on besides its value."""
    last = _last_uses(seq)
    made = _made_by(seq)
    kept = {*free_vars(seq.body), *outside}
    dying: dict[int, list[Var]] = {}
    for var in made:
        if var not in kept:
            dying.setdefault(last[var], []).append(var)
    blocks, position = [], 0
    for block in seq.blocks:
        bindings: list[Binding] = []
        for binding in block.bindings:
            bindings.append(_branches(binding))
            bindings += [_kill(var, made[var]) for var in dying.get(position, ())]
            position += 1
        same = len(bindings) == len(block.bindings) and all(
            map(lambda a, b: a is b, bindings, block.bindings)
        )
        blocks.append(block if same else BindingBlock(bindings, block.span))
    if all(map(lambda a, b: a is b, blocks, seq.blocks)):
        return seq
    return SeqExpr(blocks, seq.body, seq.span)


def _branches(binding: Binding) -> Binding:
    if not isinstance(binding, VarBinding):
        return binding
    value = binding.value
    if isinstance(value, If):
        yes, no = [_sequence(_plain(s), ()) for s in (value.true_branch, value.false_branch)]
        if yes is not value.true_branch or no is not value.false_branch:
            return binding.replace(value=value.replace(true_branch=yes, false_branch=no))
    elif isinstance(value, Function):
        new = _function(value)
        return binding if new is value else binding.replace(value=new)
    return binding


def _last_uses(seq: SeqExpr) -> dict[Var, int]:
    """The number of the last binding that uses a variable, or of the one that defines it."""
    last: dict[Var, int] = {}
    position = 0
    for block in seq.blocks:
        for binding in block.bindings:
            assert isinstance(binding, VarBinding | MatchCast)
            for var in free_vars(binding.value):
                last[var] = position
            last[binding.var] = position
            position += 1
    return last


def _made_by(seq: SeqExpr) -> dict[Var, str]:
    """The variables that hold memory that the sequence makes, each with how it is killed."""
    found: dict[Var, str] = {}
    for block in seq.blocks:
        for binding in block.bindings:
            if not isinstance(binding, VarBinding) or not isinstance(binding.value, Call):
                continue
            name = called(binding.value)
            if name == _STORAGE:
                found[binding.var] = "relax.memory.kill_storage"
            elif name in _MADE:
                found[binding.var] = "relax.memory.kill_tensor"
            elif binding.var.ty != UNIT and not name.startswith("relax.memory.kill"):
                found[binding.var] = "relax.vm.kill_object"
    return found


def _kill(var: Var, how: str) -> Binding:
    return VarBinding(Var("_", UNIT), get_op(how)(var))


def literal(value: Any) -> bool:
    """Whether this is a constant or a tuple of some."""
    return isinstance(value, GenericConst) or (isinstance(value, Tuple) and all(map(literal, value.fields_)))
