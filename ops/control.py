"""Operators on functions, shapes and devices, and those that have an effect."""

from __future__ import annotations

from typing import Any

from .. import te
from ..ir import Expr, Type, VDevice
from ..ir.relax import OpPattern, ShapeExpr, ShapeType, TensorType, relax_op
from ..ir.relax.op import Args, Callee, Format, Operand, Shape, Tensor, Types
from ..ir.types import INT64, UNIT, AnyType, FuncType, PrimType
from .calls import NO_PROGRAM, stated_result
from .faults import shape_fault, type_fault
from .infer import describe, like, tensor_type

RUNTIME = {
    "te": "the virtual machine does it",
    "gradient": "the result is no number that depends on the operands",
    "layout": "it is the same for each layout",
}
EFFECT = {**RUNTIME, "numpy": "it is evaluated for its effect"}


@relax_op("relax.make_closure", pattern=OpPattern.OPAQUE, lacks=NO_PROGRAM)
def make_closure(func: Callee, args: Args) -> Type:
    """The function with its last parameters fixed to these values."""
    if not isinstance(func.ty, FuncType | AnyType):
        type_fault("make_closure", f"`func` must be a function, not {describe(func.ty)}")
    return AnyType()


def _invoke(op: str, closure: Expr, types: Types) -> Type:
    if not isinstance(closure.ty, FuncType | AnyType):
        type_fault(op, f"`closure` must be a closure, not {describe(closure.ty)}")
    return stated_result(types)


@relax_op("relax.invoke_closure", pattern=OpPattern.OPAQUE, pure=False, lacks=NO_PROGRAM)
def invoke_closure(closure: Callee, args: Args, ty_args: Types) -> Type:
    """What a closure returns for these arguments, of the type that the caller states."""
    return _invoke("invoke_closure", closure, ty_args)


@relax_op("relax.invoke_pure_closure", pattern=OpPattern.OPAQUE, lacks=NO_PROGRAM)
def invoke_pure_closure(closure: Callee, args: Args, ty_args: Types) -> Type:
    """As `invoke_closure`; the caller vouches that the call has no effect."""
    return _invoke("invoke_pure_closure", closure, ty_args)


@relax_op("relax.assert_op", pattern=OpPattern.OPAQUE, pure=False, lacks=EFFECT)
def assert_op(condition: Operand, format_args: Args = (), format: Format = "") -> Type:  # type: ignore[assignment]
    """Stops with an error unless the condition holds; the message is the format filled in with the values."""
    ty = condition.ty
    dtype = ty.dtype if isinstance(ty, PrimType | TensorType) else None
    tensor = isinstance(ty, TensorType) and ty.ndim in (0, -1)
    if not isinstance(ty, AnyType) and not (isinstance(ty, PrimType) or tensor):
        type_fault("assert_op", f"`condition` must be a bool or a bool tensor of rank 0, not {describe(ty)}")
    if dtype is not None and not dtype.is_bool:
        type_fault("assert_op", f"`condition` must be a bool, not of `{dtype}`")
    return UNIT


@relax_op("relax.print", pattern=OpPattern.OPAQUE, pure=False, lacks=EFFECT)
def print(*values: Operand, format: Format = "") -> Type:
    """Prints the values, by the format where there is one."""
    return UNIT


@relax_op("relax.null_value", pattern=OpPattern.OPAQUE, lacks={**RUNTIME, "numpy": "it stands for no value"})
def null_value() -> Type:
    """What stands for an absent operand, and for a register that is free."""
    return AnyType()


def _same_numpy(data: Any, **attrs: Any) -> Any:
    return data


def _device(values: dict[str, Any]) -> None:
    """The device as a node of the module, or as a text such as "cuda:0"."""
    device = values["dst_vdevice"]
    if not isinstance(device, VDevice | str):
        values["dst_vdevice"] = str(device)


PLACEMENT = {**RUNTIME, "gradient": "the gradient is placed by the same pass as its tensor"}


@relax_op("relax.to_vdevice", pattern=OpPattern.OPAQUE, numpy=_same_numpy, lacks=PLACEMENT)
def to_vdevice(data: Tensor, dst_vdevice: Any) -> Type:
    """The tensor on another device of the module."""
    ty = tensor_type("to_vdevice", data, "data")
    if not isinstance(dst_vdevice, VDevice):
        type_fault("to_vdevice", f"`dst_vdevice` must be a device of the module, not {dst_vdevice!r}")
    return TensorType(ty.shape, ty.dtype, dst_vdevice, ty.ndim)


@relax_op(
    "relax.hint_on_device", pattern=OpPattern.OPAQUE, prepare=_device, numpy=_same_numpy, lacks=PLACEMENT
)
def hint_on_device(data: Tensor, dst_vdevice: Any, memory_scope: str = "global") -> Type:
    """The tensor, which is to be on this device; `relax.RealizeVDevice` makes it so."""
    return tensor_type("hint_on_device", data, "data")


def _shape_numpy(expr: Any) -> Any:
    return tuple(expr.shape)


@relax_op("relax.shape_of", pattern=OpPattern.OPAQUE, numpy=_shape_numpy, lacks=RUNTIME)
def shape_of(expr: Tensor) -> Type:
    """The shape of a tensor."""
    ty = tensor_type("shape_of", expr, "expr")
    return ShapeType(ty.sizes, ty.ndim)


def _shape_to_tensor_numpy(expr: Any) -> Any:
    import numpy as np

    return np.array(expr, np.int64)


@relax_op("relax.shape_to_tensor", pattern=OpPattern.OPAQUE, numpy=_shape_to_tensor_numpy, lacks=RUNTIME)
def shape_to_tensor(expr: Shape) -> Type:
    """The sizes of a shape as a tensor of int64."""
    ty = expr.ty
    rank = len(expr.values) if isinstance(expr, ShapeExpr) else ty.ndim if isinstance(ty, ShapeType) else -1
    return TensorType((rank,), INT64.dtype) if rank >= 0 else TensorType(None, INT64.dtype, None, 1)


def _tensor_to_shape_numpy(expr: Any) -> Any:
    return tuple([int(size) for size in expr])


@relax_op("relax.tensor_to_shape", pattern=OpPattern.OPAQUE, numpy=_tensor_to_shape_numpy, lacks=RUNTIME)
def tensor_to_shape(expr: Tensor) -> Type:
    """The shape whose sizes are the elements of a tensor of int64."""
    ty = tensor_type("tensor_to_shape", expr, "expr")
    if ty.dtype is not None and ty.dtype != INT64.dtype:
        type_fault("tensor_to_shape", f"`expr` must be of `int64`, not of `{ty.dtype}`")
    if ty.ndim not in (1, -1):
        shape_fault("tensor_to_shape", f"`expr` must have one dimension, not {ty.ndim}")
    count = getattr(ty.sizes[0], "value", -1) if ty.sizes is not None else -1
    return ShapeType(ndim=count)


def _size_te(expr: Any) -> Any:
    def total() -> Any:
        count: Any = te.const(1, "int64")
        for size in expr.shape:
            count = count * size
        return count

    return te.compute((), lambda: total(), name="size")


def _size_numpy(expr: Any) -> Any:
    import numpy as np

    return np.array(expr.size, np.int64)


@relax_op(
    "relax.size",
    pattern=OpPattern.OPAQUE,
    te=_size_te,
    numpy=_size_numpy,
    lacks={k: v for k, v in RUNTIME.items() if k != "te"},
)
def size(expr: Tensor) -> Type:
    """The number of elements of a tensor, as a tensor of rank 0."""
    return like(tensor_type("size", expr, "expr"), (), INT64.dtype)


__all__ = [
    "EFFECT",
    "RUNTIME",
    "assert_op",
    "hint_on_device",
    "invoke_closure",
    "invoke_pure_closure",
    "make_closure",
    "null_value",
    "print",
    "shape_of",
    "shape_to_tensor",
    "size",
    "tensor_to_shape",
    "to_vdevice",
]
