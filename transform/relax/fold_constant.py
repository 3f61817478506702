"""What can be computed at compile time is computed at compile time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...ir import (
    Call,
    Expr,
    FloatImm,
    GenericConst,
    IntImm,
    IRModule,
    Op,
    PrimFunc,
    PrimType,
    Tuple,
    TupleType,
    Type,
)
from ...ir.relax import (
    Function,
    RelaxOp,
    ShapeExpr,
    ShapeType,
    TensorType,
    op_of,
    tensor_constant,
)
from ...ir.relax.rewrite import GraphRewriter
from ..registry import register_pass
from .common import kernel_of
from .common_subexpr import FRESH

Evaluator = Callable[[PrimFunc, Sequence[Any]], None]
"""Runs a kernel: its arguments are numpy arrays and numbers, it writes into the last ones."""

LARGEST_CREATED = 1024
"""Tensors made from nothing become constants up to this number of elements; larger ones stay calls."""

_SMALL = 4096


def run_kernel(func: PrimFunc, args: Sequence[Any]) -> None:
    """Run a kernel: few elements in plain Python, many in machine code."""
    if sum(getattr(a, "size", 1) for a in args) <= _SMALL:
        func.interpret(*args)
    else:
        func(*args)


@register_pass("relax.FoldConstant")
def fold_constant(mod: IRModule, evaluator: Evaluator = run_kernel) -> IRModule:
    """Pure operators and kernels whose operands are all constants are replaced by their result.

    Kernels are run by `evaluator`; operators that are no kernels yet by their numpy meaning.  Shapes that are
    known become shape expressions.  Tensors made from nothing stay where they are large. Idempotent.

    before:
        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            with R.dataflow():
                a = R.add(R.const(1.0), R.const(2.0))
                b = R.multiply(x, a)
                R.output(b)
            return b

    after:
        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            with R.dataflow():
                a = R.const(3.0, "float32")
                b = R.multiply(x, a)
                R.output(b)
            return b
    """
    made: IRModule = _Folder(mod, evaluator)(mod)
    return made


class _Folder(GraphRewriter):
    def __init__(self, mod: IRModule, evaluator: Evaluator) -> None:
        super().__init__()
        self.kernels = {g.name: f for g, f in mod.functions.items() if isinstance(f, PrimFunc)}
        self.evaluator = evaluator

    def wants(self, func: Function) -> bool:
        """Groups that an external compiler gets keep their operators."""
        return "Codegen" not in func.attrs

    def visit_Call(self, call: Call) -> Any:
        """The constant that a call gives, or the call."""
        call = super().visit_Call(call)
        kernel = kernel_of(call)
        if kernel is not None:
            func = self.kernels.get(kernel.name)
            in_place = isinstance(call.op, Op) and call.op.name == "relax.call_tir_inplace"
            return call if func is None or in_place else self.run(func, call) or call
        rec = op_of(call)
        if rec is None or not rec.pure or rec.name in FRESH:
            return call
        if rec.name == "relax.shape_of" and getattr(call.ty, "values", None) is not None:
            return ShapeExpr(call.ty.values)  # type: ignore[attr-defined]
        return call if rec.numpy is None else self.compute(rec, call) or call

    def run(self, func: PrimFunc, call: Call) -> Expr | None:
        """What a kernel gives; None where it is not known yet."""
        import numpy as np

        args = self.known(call.args[1])
        types = list(_tensors(call.ty_args[0]))
        shapes = [_extents(ty) for ty in types]
        if args is None or any(s is None for s in shapes):
            return None
        if not _has_array(args) and _elements(shapes) > LARGEST_CREATED:
            return None
        outputs = [np.zeros(s, ty.dtype.numpy()) for s, ty in zip(shapes, types)]  # type: ignore[arg-type]
        self.evaluator(func, [*[np.array(a) if isinstance(a, np.ndarray) else a for a in args], *outputs])
        made = [tensor_constant(a, ty.dtype) for a, ty in zip(outputs, types)]
        return Tuple(made) if isinstance(call.ty_args[0], TupleType) else made[0]

    def compute(self, rec: RelaxOp, call: Call) -> Expr | None:
        """What an operator gives by its numpy meaning; None where an operand is not known."""
        import numpy as np

        types = list(_tensors(call.ty))
        shapes = [_extents(ty) for ty in types]
        if any(s is None for s in shapes):
            return None
        operands, attrs = rec.split(call)
        values: list[Any] = []
        for kind, operand in zip(_kinds(rec, len(operands)), operands):
            value = None if operand is None else self.known(operand)
            if value is None and operand is not None:
                return None
            values.append(np.asarray(value, operand.ty.dtype.numpy()) if _is_number(kind, operand) else value)
        if not _has_array(values) and _elements(shapes) > LARGEST_CREATED:
            return None
        assert rec.numpy is not None
        return _as_constant(rec.numpy(*values, **attrs), call.ty)

    def known(self, e: Expr) -> Any:
        """The value of an operand: an array, a number, a tuple; None where it is not constant."""
        found = self.lookup(e) if not isinstance(e, GenericConst | ShapeExpr) else e
        e = e if found is None else found
        if isinstance(e, GenericConst):
            return e.value
        if isinstance(e, IntImm | FloatImm):
            return bool(e.value) if e.dtype.is_bool else e.value
        parts = e.fields_ if isinstance(e, Tuple) else e.values if isinstance(e, ShapeExpr) else None
        if parts is None:
            return None
        values = [self.known(p) for p in parts]
        return None if any(v is None for v in values) else tuple(values)


def _kinds(rec: RelaxOp, count: int) -> list[str]:
    """What each operand of a call is; one that stands for any number of them comes last."""
    kinds = [p.kind for p in rec.params if p.is_operand]
    return kinds + kinds[-1:] * (count - len(kinds))


def _is_number(kind: str, operand: Any) -> bool:
    return kind == "Tensor" and operand is not None and isinstance(operand.ty, PrimType)


def _has_array(values: Iterable[Any]) -> bool:
    return any(_has_array(v) if isinstance(v, tuple) else hasattr(v, "tobytes") for v in values)


def _tensors(ty: Type) -> list[Any]:
    if isinstance(ty, TupleType):
        return [t for f in ty.fields_ for t in _tensors(f)]
    return [ty] if isinstance(ty, TensorType) else []


def _extents(ty: TensorType) -> list[int] | None:
    """The sizes as numbers, where dtype and all of them are."""
    if ty.sizes is None or ty.dtype is None or not all(isinstance(s, IntImm) for s in ty.sizes):
        return None
    return [int(s) for s in ty.sizes]  # type: ignore[call-overload]


def _elements(shapes: Sequence[list[int] | None]) -> int:
    total = 0
    for shape in shapes:
        count = 1
        for extent in shape or ():
            count *= extent
        total += count
    return total


def _as_constant(value: Any, ty: Type) -> Expr | None:
    """A numpy result as an expression of this type; None where it has no constant."""
    if isinstance(ty, TupleType):
        parts = [_as_constant(v, f) for v, f in zip(value, ty.fields_)]
        return None if any(p is None for p in parts) else Tuple(parts)
    if isinstance(ty, TensorType):
        return tensor_constant(value, ty.dtype)
    return ShapeExpr([int(v) for v in value]) if isinstance(ty, ShapeType) else None


__all__ = ["Evaluator", "fold_constant", "run_kernel"]
