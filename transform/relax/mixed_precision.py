"""Products and convolutions are computed from half-precision operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dtype import DType
from ...ir import Call, Expr, GenericConst, IRModule, Tuple, TupleType, Type, Var
from ...ir.relax import (
    DataflowVar,
    Function,
    RelaxOp,
    SeqExpr,
    TensorType,
    VarBinding,
    op_of,
    tensor_constant,
)
from ...ir.relax.relations import erase_definitions
from ...ir.relax.rewrite import GraphRewriter
from ...ops.derivatives import R
from ..registry import register_pass

HALF, SINGLE = DType("float16"), DType("float32")


@register_pass("relax.ToMixedPrecision")
def to_mixed_precision(
    mod: IRModule, out_dtype: str = "float32", fp16_input_names: Sequence[str] | None = None
) -> IRModule:
    """Operators that gain most take float16 operands, and what follows them stays float16 where it can.

    Their results are of `out_dtype` where they can accumulate in it.  Parameters named in `fp16_input_names`
    are float16.  What functions give keeps its type.  Idempotent.

    before:
        @R.function
        def main(
            x: R.Tensor((2, 3), "float32"), w: R.Tensor((3, 4), "float32")
        ) -> R.Tensor((2, 4), "float32"):
            with R.dataflow():
                a = R.matmul(x, w)
                b = R.nn.relu(a)
                R.output(b)
            return b

    after:
        @R.function
        def main(
            x: R.Tensor((2, 3), "float32"), w: R.Tensor((3, 4), "float32")
        ) -> R.Tensor((2, 4), "float32"):
            with R.dataflow():
                lv = R.astype(x, "float16")
                lv1 = R.astype(w, "float16")
                a = R.matmul(lv, lv1, out_dtype="float32")
                lv2 = R.astype(a, "float16")
                lv3 = R.nn.relu(lv2)
                b = R.astype(lv3, "float32")
                R.output(b)
            return b
    """
    made: IRModule = _Mixed(DType(out_dtype), frozenset(fp16_input_names or ()))(mod)
    return made


class _Mixed(GraphRewriter):
    """`half` holds, for variables of float32, the float16 value; `light` those that may be float16."""

    def __init__(self, out_dtype: DType, inputs: frozenset[str]) -> None:
        super().__init__()
        self.out_dtype = out_dtype
        self.inputs = inputs
        self.half: dict[Var, Var] = {}
        self.light: set[Var] = set()
        self.waiting: dict[Var, Var] = {}

    def visit_Function(self, func: Function) -> Any:
        """A function; inputs that are named become float16."""
        params = list(func.params)
        for i, param in enumerate(params):
            if param.name in self.inputs and _is_single(param.ty):
                params[i] = Var(param.name, _as_half(param.ty), param.span)
                self.half[param] = params[i]
                self.light.add(param)
                self.waiting[param] = params[i]
        if params != list(func.params):
            func = func.replace(params=params)
        made = super().visit_Function(func)
        return made if made is func else made.replace(ret_ty=erase_definitions(made.body))

    def visit_Var(self, var: Var) -> Any:
        """A use of the float32 value; it is made from the float16 one where it is not there yet."""
        new = super().visit_Var(var)
        if new in self.waiting:
            low = self.waiting.pop(new)
            made = self.builder.emit(R.astype(low, SINGLE), f"{new.name}")
            self.vars[var] = self.vars[new] = made
            self.half[made] = low
            self.light.add(made)
            return made
        return new

    def visit_SeqExpr(self, seq: SeqExpr) -> Any:
        """A sequence; values made inside are not known outside."""
        kept = dict(self.half), dict(self.waiting)
        made = super().visit_SeqExpr(seq)
        self.half, self.waiting = kept
        return made

    def visit_VarBinding(self, binding: VarBinding) -> None:
        """Emit the binding, in float16 where its operator and operands allow it."""
        value: Any = binding.value
        rec = op_of(value)
        if rec is None or rec.name == "relax.astype":
            super().visit_VarBinding(binding)
        elif rec.mixed == "always" and _has_single(binding.value):
            self.always(binding, rec)
        elif rec.mixed == "follow" and self.may_follow(binding.value):
            self.lowered(binding, rec.again(value, [self.low(a) for a in value.args]))
        else:
            super().visit_VarBinding(binding)

    def always(self, binding: VarBinding, rec: RelaxOp) -> None:
        """Emit an operator with float16 operands."""
        call: Any = binding.value
        args = [self.low(a) for a in call.args]
        values = rec.values(call.replace(args=args))
        if "out_dtype" in values:
            values["out_dtype"] = self.out_dtype
        self.lowered(binding, rec.make(values, call.span))

    def lowered(self, binding: VarBinding, call: Call) -> None:
        """Emit the call that takes the place of a binding's value."""
        var = binding.var
        if _same_dtypes(call.ty, var.ty):
            self.rebind(binding, call)
            self.light.add(self.vars.get(var, var))  # type: ignore[arg-type]
        elif isinstance(var, DataflowVar) and isinstance(call.ty, TensorType):
            low = DataflowVar(var.name, call.ty)
            self.builder.emit_normalized(VarBinding(low, self.builder.normalize(call)))
            self.half[var] = low
            self.waiting[var] = low
            self.light.add(var)
        else:
            self.rebind(binding, self.raised(self.builder.emit(call), var.ty))

    def raised(self, value: Expr, ty: Type) -> Expr:
        """The value with the dtypes of this type."""
        from ...ir import TupleGetItem

        if isinstance(ty, TupleType):
            return Tuple([self.raised(TupleGetItem(value, i), f) for i, f in enumerate(ty.fields_)])
        return value if _same_dtypes(value.ty, ty) else R.astype(value, ty.dtype)  # type: ignore[attr-defined]

    def may_follow(self, call: Any) -> bool:
        """Whether all float32 operands may as well be float16, some of them because they are."""
        singles = [e for a in call.args for e in _leaves(a) if _is_single(e.ty)]
        return any(self.is_light(e) for e in singles) and all(
            self.is_light(e) or isinstance(e, GenericConst) for e in singles
        )

    def is_light(self, e: Expr) -> bool:
        """Whether a value is float16 already, or was computed from float16 operands."""
        return isinstance(e, Var) and (e in self.light or self.vars.get(e) in self.light)

    def low(self, e: Expr) -> Expr:
        """An operand in float16 where it is float32."""
        if isinstance(e, Tuple):
            return Tuple([self.low(f) for f in e.fields_])
        if not _is_single(e.ty):
            made: Expr = self.visit(e)
            return made
        if isinstance(e, GenericConst):
            return tensor_constant(np.asarray(e.value).astype("float16"))
        if isinstance(e, Var) and e in self.half:
            return self.half[e]
        value = self.visit(e)
        if value not in self.half:
            self.half[value] = self.builder.emit(R.astype(value, HALF))
        return self.half[value]


def _leaves(e: Expr) -> list[Expr]:
    return [leaf for f in e.fields_ for leaf in _leaves(f)] if isinstance(e, Tuple) else [e]


def _is_single(ty: Type) -> bool:
    return isinstance(ty, TensorType) and ty.dtype == SINGLE


def _has_single(call: Any) -> bool:
    return any(_is_single(e.ty) for a in call.args for e in _leaves(a))


def _as_half(ty: Any) -> TensorType:
    return TensorType(ty.shape, HALF, ty.vdevice, ty.ndim)


def _same_dtypes(a: Any, b: Any) -> bool:
    if isinstance(a, TupleType) and isinstance(b, TupleType):
        return all(map(_same_dtypes, a.fields_, b.fields_))
    return getattr(a, "dtype", None) == getattr(b, "dtype", None)


__all__ = ["to_mixed_precision"]
