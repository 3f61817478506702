"""Reverse-mode differentiation of graph functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from ...ir import (
    Call,
    Expr,
    GlobalVar,
    IRModule,
    Op,
    Tuple,
    TupleGetItem,
    TupleType,
    Type,
    Var,
    renew_definitions,
)
from ...ir.relax import (
    DataflowBlock,
    Function,
    MatchCast,
    SeqExpr,
    TensorType,
    op_of,
)
from ...ir.relax.block_builder import BlockBuilder
from ...ir.visitor import Substitution
from ...ops.derivatives import R
from ..common import refuse
from ..registry import register_pass
from .common import operands

Adjoint: TypeAlias = Any
"""The gradient of a value: an expression, or a list of gradients for the fields of a tuple, None for zero."""


@register_pass("relax.Gradient")
def gradient(
    mod: IRModule,
    func_name: str,
    require_grads: Var | Sequence[Var] | None = None,
    target_index: int = 0,
) -> IRModule:
    """The module has a function `<name>_adjoint`, which gives the result and the gradients of the parameters.

    The result of the function, or its field `target_index`, is a float tensor of rank 0; its body is one
    dataflow block of operators that have gradients.  `require_grads` lists the parameters wanted, all where
    it is None.  Values between `R.grad.start_checkpoint` and `R.grad.end_checkpoint` are computed again.
    Raises PassError for a function that is not so.  Idempotent: the function is made anew.

    with: func_name="main"
    before:
        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((), "float32"):
            with R.dataflow():
                y = R.sin(x)
                s = R.sum(y)
                R.output(s)
            return s

    after:
        @I.ir_module
        class Module:
            @R.function
            def main_adjoint(
                x: R.Tensor((2,), "float32")
            ) -> R.Tuple(R.Tensor((), "float32"), R.Tuple(R.Tensor((2,), "float32"))):
                with R.dataflow():
                    y = R.sin(x)
                    s = R.sum(y, axis=None, keepdims=False)
                    s_adjoint = R.ones(R.shape([]), "float32")
                    y_adjoint = R.broadcast_to(s_adjoint, R.shape([2]))
                    lv = R.cos(x)
                    x_adjoint = R.multiply(y_adjoint, lv)
                    x_adjoint_out = x_adjoint
                    R.output(s, x_adjoint_out)
                return (s, (x_adjoint_out,))

            @R.function
            def main(x: R.Tensor((2,), "float32")) -> R.Tensor((), "float32"):
                with R.dataflow():
                    y = R.sin(x)
                    s = R.sum(y, axis=None, keepdims=False)
                    R.output(s)
                return s
    """
    func = mod.get(func_name)
    if not isinstance(func, Function):
        raise refuse("unknown-function", f"the module has no graph function `{func_name}`", mod)
    wanted = [require_grads] if isinstance(require_grads, Var) else require_grads
    places = [_place(func, func_name, v) for v in (func.params if wanted is None else wanted)]
    name = f"{func_name}_adjoint"
    made = _Differentiation(func_name, renew_definitions(func), places, target_index).run()
    if "global_symbol" in func.attrs:
        made = made.with_attr("global_symbol", name)
    key: Any = next((g for g in mod.functions if g.name == name), GlobalVar(name, made.ty))
    return mod.with_function(key, made)


def _place(func: Function, name: str, var: Var) -> int:
    for i, param in enumerate(func.params):
        if param is var:
            return i
    raise refuse("unknown-parameter", f"`{var.name}` is no parameter of `{name}`", func)


class _Differentiation:
    """One function: its bindings, then theirs in reverse, each giving gradients to what it uses."""

    def __init__(self, name: str, func: Function, places: Sequence[int], target: int) -> None:
        self.name = name
        self.func = func
        self.wanted = [func.params[i] for i in places]
        self.target = target
        self.builder = BlockBuilder()
        self.adjoints: dict[Var, Adjoint] = {}
        self.bindings: list[Any] = []
        self.again: dict[Var, Any] = {}
        self.hidden: set[Var] = set()

    def run(self) -> Function:
        """The function that gives the result and the gradients."""
        blocks = self.func.body.blocks
        if len(blocks) != 1 or not isinstance(blocks[0], DataflowBlock):
            raise refuse(
                "no-gradient",
                f"the body of `{self.name}` must be one dataflow block",
                self.func,
                "run `relax.ConvertToDataflow` before",
            )
        self.bindings = list(blocks[0].bindings)
        self.active = self.depending()
        self.hidden = self.between_checkpoints()
        result = self.func.body.body
        self.builder.begin_scope()
        with self.builder.dataflow():
            for binding in self.bindings:
                self.builder.emit_normalized(binding)
            start, ty = self.start(result)
            self.accumulate(start, R.ones((), ty.dtype))
            for binding in reversed(self.bindings):
                self.through(binding)
            grads = [self.whole(self.adjoints.get(p), p.ty, p) for p in self.wanted]
            outputs = [
                self.builder.emit_output(g, f"{p.name}_adjoint_out") for g, p in zip(grads, self.wanted)
            ]
        seq = SeqExpr(self.builder.end_scope(), Tuple([result, Tuple(outputs)]))
        ret = TupleType([self.func.ret_ty, TupleType([p.ty for p in self.wanted])])
        return Function(self.func.params, seq, ret, True, self.func.attrs)

    def start(self, result: Expr) -> tuple[Expr, TensorType]:
        """The value that is differentiated."""
        values = {b.var: b.value for b in self.bindings}
        value = result
        if isinstance(result.ty, TupleType):
            fields = getattr(values.get(result, result), "fields_", None)
            if fields is None or not 0 <= self.target < len(fields):
                raise refuse("no-gradient", f"`{self.name}` has no result {self.target}", self.func)
            value = fields[self.target]
        elif self.target != 0:
            raise refuse("no-gradient", f"`{self.name}` has one result only", self.func)
        ty = value.ty
        if not isinstance(ty, TensorType) or ty.ndim != 0 or ty.dtype is None or not ty.dtype.is_float:
            text = f"what is differentiated in `{self.name}` must be a float tensor of rank 0"
            raise refuse("no-gradient", text, self.func)
        return value, ty

    def depending(self) -> set[Var]:
        """The variables that depend on a parameter whose gradient is wanted."""
        found: set[Any] = set(self.wanted)
        for binding in self.bindings:
            if any(v in found for v in operands(binding.value)):
                found.add(binding.var)
        return found

    def between_checkpoints(self) -> set[Var]:
        """The variables that are computed again: from the start of a checkpoint, toward its end."""
        begun: set[Any] = set()
        for b in self.bindings:
            if _calls(b.value, "relax.grad.start_checkpoint"):
                begun.add(b.var)
            elif not _calls(b.value, "relax.grad.end_checkpoint") and any(
                v in begun for v in operands(b.value)
            ):
                begun.add(b.var)
        ending: set[Any] = set()
        for b in reversed(self.bindings):
            ends = _calls(b.value, "relax.grad.end_checkpoint")
            starts = _calls(b.value, "relax.grad.start_checkpoint")
            if ends or (b.var in ending and not starts):
                ending.update(operands(b.value))
        starts_at = {b.var for b in self.bindings if _calls(b.value, "relax.grad.start_checkpoint")}
        return (begun & ending) - starts_at

    # one binding

    def through(self, binding: Any) -> None:
        """Hand the gradient of a variable on to what its value uses."""
        adjoint = self.adjoints.pop(binding.var, None)
        value = binding.value
        if adjoint is None or binding.var not in self.active:
            return
        if isinstance(binding, MatchCast) or isinstance(value, Var | Tuple):
            self.accumulate(value, adjoint)
        elif isinstance(value, TupleGetItem):
            parts: list[Adjoint] = [None] * len(value.tuple_value.ty.fields_)  # type: ignore[attr-defined]
            parts[value.index] = adjoint
            self.accumulate(value.tuple_value, parts)
        else:
            self.through_call(binding.var, value, adjoint)

    def through_call(self, var: Var, call: Any, adjoint: Adjoint) -> None:
        """Hand the gradient of an operator's result on to its operands."""
        rec = op_of(call)
        if rec is None or rec.gradient is None:
            what = f"`R.{rec.script}`" if rec is not None else f"what `{var.name}` is"
            why = "" if rec is None else f": {rec.lacks.get('gradient', 'it has none')}"
            raise refuse("no-gradient", f"the gradient of {what} is not known{why}", call)
        output = self.whole(adjoint, var.ty, var)
        if not isinstance(output, Var):
            output = self.builder.emit(output, f"{var.name}_adjoint")
        call = self.repeated(call)
        for operand, grad in zip(call.args, rec.gradient(self.repeated(var), call, output, self.builder)):
            if isinstance(operand.ty, TensorType | TupleType) and any(
                v in self.active for v in operands(self.original(operand))
            ):
                self.accumulate(self.original(operand), grad)

    def repeated(self, e: Any) -> Any:
        """The expression with the values between checkpoints computed again."""
        for v in operands(e):
            if isinstance(v, Var) and v in self.hidden and v not in self.again:
                value = next(b.value for b in self.bindings if b.var is v)
                self.again[v] = self.builder.emit(self.repeated(value), f"{v.name}_cp")
        return Substitution(self.again)(e) if self.again else e

    def original(self, e: Expr) -> Expr:
        """The expression with the first computation of repeated values."""
        back = {new: old for old, new in self.again.items()}
        made: Expr = Substitution(back)(e) if back else e
        return made

    # gradients

    def accumulate(self, e: Expr, grad: Adjoint) -> None:
        """Add to the gradient of an expression."""
        if isinstance(e, Tuple):
            for i, field in enumerate(e.fields_):
                part = _field(grad, i)
                if part is not None:
                    self.accumulate(field, part)
        elif isinstance(e, Var) and e in self.active:
            self.adjoints[e] = self.sum(self.adjoints.get(e), grad, e)

    def sum(self, a: Adjoint, b: Adjoint, of: Expr) -> Adjoint:
        """The sum of two gradients of one value."""
        if b is None:
            return a
        if isinstance(of.ty, TupleType):
            count = len(of.ty.fields_)
            return [self.sum(_field(a, i), _field(b, i), TupleGetItem(of, i)) for i in range(count)]
        name = getattr(of, "name", "lv")
        return self.builder.emit(b if a is None else R.add(a, b), f"{name}_adjoint")

    def whole(self, adjoint: Adjoint, ty: Type, of: Expr) -> Expr:
        """A gradient as an expression, zeros where there is none."""
        if isinstance(ty, TupleType):
            fields = enumerate(ty.fields_)
            return Tuple([self.whole(_field(adjoint, i), f, TupleGetItem(of, i)) for i, f in fields])
        if adjoint is not None:
            return adjoint
        assert isinstance(ty, TensorType)
        return R.zeros(ty.sizes, ty.dtype) if ty.sizes is not None else R.zeros_like(of)


def _field(grad: Adjoint, index: int) -> Adjoint:
    if grad is None:
        return None
    if isinstance(grad, list):
        return grad[index]
    return grad.fields_[index] if isinstance(grad, Tuple) else TupleGetItem(grad, index)


def _calls(value: Any, name: str) -> bool:
    return isinstance(value, Call) and isinstance(value.op, Op) and value.op.name == name


__all__ = ["gradient"]
