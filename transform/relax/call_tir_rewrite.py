"""Results of kernels get their memory explicitly."""

from __future__ import annotations

from typing import Any

from ...ir import Call, Expr, ExternFunc, IRModule, Tuple, TupleType, Type
from ...ir.relax import TensorType, get_op
from ...ir.relax.rewrite import GraphRewriter
from ...ir.types import UNIT
from ...node import NO_ATTRS
from ..registry import register_pass
from .vm_calls import called, parts

_FRESH = ("relax.call_tir", "relax.call_tir_with_grad", "relax.call_dps_packed")


@register_pass("relax.CallTIRRewrite")
def call_tir_rewrite(mod: IRModule) -> IRModule:
    """A kernel is called with the tensors for its results, which are allocated before.

    Afterwards there is no `call_tir`, `call_tir_inplace`, `call_tir_with_grad` and `call_dps_packed`; their
    results are what `R.builtin.alloc_tensor` gives, or the arguments that are written in place.

    before:
        @I.ir_module
        class Module:
            @T.prim_func(private=True)
            def exp(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
                for i in range(4):
                    y[i] = T.exp(x[i])

            @R.function
            def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
                R.func_attr({"relax.force_pure": True})
                cls = Module
                y = R.call_tir(cls.exp, (x,), out_ty=R.Tensor((4,), dtype="float32"))
                return y
    after:
        @I.ir_module
        class Module:
            @T.prim_func(private=True)
            def exp(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
                for i in range(4):
                    y[i] = T.exp(x[i])

            @R.function
            def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
                R.func_attr({"relax.force_pure": True})
                cls = Module
                alloc = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), 0, R.str("global"))
                cls.exp(x, alloc)
                y: R.Tensor((4,), dtype="float32") = alloc
                return y
    """
    return _Allocate()(mod)


class _Allocate(GraphRewriter):
    def visit_Call(self, call: Call) -> Any:
        call = super().visit_Call(call)
        name = called(call)
        if name not in _FRESH and name != "relax.call_tir_inplace":
            return call
        values = parts(call)
        callee: Expr = values["func"] if "func" in values else values["gvar"]
        args = list(values["args"].fields_)
        tys = call.ty_args[0]
        several = isinstance(tys, TupleType)
        outs = tys.fields_ if isinstance(tys, TupleType) else (tys,)
        places = values.get("inplace_indices") or (-1,) * len(outs)
        results = [args[k] if k >= 0 else self.allocate(ty, call) for k, ty in zip(places, outs)]
        fresh = [r for k, r in zip(places, results) if k < 0]
        self.builder.emit(_call(callee, [*args, *fresh], call), "_")
        return Tuple(results) if several else results[0]

    def allocate(self, ty: Type, call: Call) -> Expr:
        assert isinstance(ty, TensorType)
        device = 0 if ty.vdevice is None else ty.vdevice.vdevice_id
        scope = "global" if ty.vdevice is None else ty.vdevice.memory_scope
        made = get_op("relax.builtin.alloc_tensor")(ty.shape, ty.dtype, device, scope, span=call.span)
        return self.builder.emit(made, "alloc")


def _call(callee: Expr, args: list[Expr], call: Call) -> Call:
    if isinstance(callee, ExternFunc):
        return Call(callee, args, UNIT, NO_ATTRS, (UNIT,), call.span)
    return Call(callee, args, UNIT, span=call.span)
