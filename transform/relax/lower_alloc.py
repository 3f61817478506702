"""Tensors that no plan took care of get a storage each."""

from __future__ import annotations

from typing import Any

from ...dtype import DType
from ...ir import Call, IRModule
from ...ir.relax import ShapeExpr, get_op
from ...ir.relax.rewrite import GraphRewriter
from ..common import refuse
from ..registry import register_pass
from .vm_calls import byte_count, called, parts


@register_pass("relax.LowerAllocTensor")
def lower_alloc_tensor(mod: IRModule) -> IRModule:
    """Each `R.builtin.alloc_tensor` becomes a storage of its own and a tensor on it.

    before:
        @R.function
        def main() -> R.Tensor((4,), dtype="float32"):
            R.func_attr({"relax.force_pure": True})
            x = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), 0, R.str("global"))
            return x
    after:
        @R.function
        def main() -> R.Tensor((4,), dtype="float32"):
            R.func_attr({"relax.force_pure": True})
            storage = R.memory.alloc_storage(R.shape([16]), 0, R.str("global"), R.dtype("uint8"))
            x = R.memory.alloc_tensor(storage, 0, R.shape([4]), R.dtype("float32"), 0)
            return x
    """
    return _Lower()(mod)


class _Lower(GraphRewriter):
    def visit_Call(self, call: Call) -> Any:
        call = super().visit_Call(call)
        if called(call) != "relax.builtin.alloc_tensor":
            return call
        values = parts(call)
        shape, dtype = values["shape"], values["dtype"].value
        if not isinstance(shape, ShapeExpr):
            raise refuse("size-undefined", "the shape of a tensor to allocate must be written out", call)
        size = ShapeExpr([byte_count(shape.values, dtype)])
        device, scope = values["runtime_device_index"], values["storage_scope"]
        made = get_op("relax.memory.alloc_storage")(size, device, scope, DType("uint8"), span=call.span)
        storage = self.builder.emit(made, "storage")
        return get_op("relax.memory.alloc_tensor")(storage, 0, shape, dtype, device, span=call.span)
