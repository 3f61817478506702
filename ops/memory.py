"""Operators on memory, which lowering puts in, and those that look into a tensor's header."""

from __future__ import annotations

from typing import Any

from ..dtype import DType
from ..ir import Expr, Type
from ..ir.arith import Analyzer
from ..ir.relax import DataTypeImm, OpPattern, RelaxOp, ShapeType, TensorType, prim_value, relax_op
from ..ir.relax.op import Args, Callee, DTypeValue, Operand, Scalar, Shape, Tensor, Text
from ..ir.text import text
from ..ir.types import UNIT, AnyType, PrimType
from .control import EFFECT, RUNTIME, _same_numpy
from .faults import shape_fault, type_fault
from .infer import Sizes, constant, show, sizes_of, tensor_type

NO_NUMPY = {**RUNTIME, "numpy": "memory has no value"}


def _made(op: str, shape: Expr, dtype: Expr) -> Type:
    """The type of a tensor of this shape and dtype."""
    kind = dtype.value if isinstance(dtype, DataTypeImm) else None
    if not isinstance(shape.ty, ShapeType | AnyType):
        type_fault(op, "`shape` must be a shape")
    sizes = sizes_of(shape)
    rank = shape.ty.ndim if isinstance(shape.ty, ShapeType) else -1
    return TensorType(sizes, kind) if sizes is not None else TensorType(None, kind, None, rank)


@relax_op("relax.memory.alloc_storage", pattern=OpPattern.OPAQUE, lacks=NO_NUMPY)
def alloc_storage(size: Shape, virtual_device_index: Scalar, storage_scope: Text, dtype: DTypeValue) -> Type:
    """A piece of memory, of the size that the shape and the dtype need."""
    return AnyType()


@relax_op("relax.memory.alloc_tensor", pattern=OpPattern.OPAQUE, lacks=NO_NUMPY)
def alloc_tensor(
    storage: Operand,
    offset: Scalar,
    shape: Shape,
    dtype: DTypeValue,
    runtime_device_ind: Scalar = 0,  # type: ignore[assignment]
) -> Type:
    """A tensor in a piece of memory, from this byte on."""
    return _made("memory.alloc_tensor", shape, dtype)


@relax_op("relax.memory.kill_tensor", pattern=OpPattern.OPAQUE, pure=False, lacks=EFFECT)
def kill_tensor(tensor: Operand) -> Type:
    """Nobody uses the tensor from here on."""
    return UNIT


@relax_op("relax.memory.kill_storage", pattern=OpPattern.OPAQUE, pure=False, lacks=EFFECT)
def kill_storage(storage: Operand) -> Type:
    """Nobody uses the piece of memory from here on."""
    return UNIT


def _bytes(dtype: DType) -> int:
    return max(1, (dtype.bits * dtype.lanes + 7) // 8)


def _view_numpy(data: Any, shape: Any = None, dtype: Any = None, relative_byte_offset: Any = None) -> Any:
    import numpy as np

    kind = data.dtype if dtype is None else DType(dtype).numpy()
    sizes = data.shape if shape is None else tuple(shape)
    count = int(np.prod(sizes, dtype=np.int64))
    raw = np.ascontiguousarray(data).reshape(-1).view(np.uint8)[int(relative_byte_offset or 0) :]
    return raw[: count * np.dtype(kind).itemsize].view(kind).reshape(sizes)


@relax_op("relax.memory.view", pattern=OpPattern.OPAQUE, numpy=_view_numpy, lacks=RUNTIME)
def view(
    data: Tensor,
    shape: Shape | None = None,
    dtype: DTypeValue | None = None,
    relative_byte_offset: Scalar | None = None,
) -> Type:
    """The memory of a tensor as a tensor of another shape or dtype, from this byte on.

    Without a shape it is the tensor's, without a dtype too; the view lies within the tensor.
    """
    ty = tensor_type("memory.view", data, "data")
    kind = dtype.value if isinstance(dtype, DataTypeImm) else ty.dtype if dtype is None else None
    sizes = ty.sizes if shape is None else sizes_of(shape)
    start = constant(relative_byte_offset) if relative_byte_offset is not None else 0
    if start is not None and start < 0:
        shape_fault("memory.view", f"`relative_byte_offset` is negative: {start}")
    if shape is None:
        _check_same_count(ty.dtype, kind, start)
    elif sizes is not None and ty.sizes is not None and start is not None:
        _check_within(ty, sizes, ty.dtype if dtype is None else kind, start)
    if sizes is None:
        rank = ty.ndim if shape is None else shape.ty.ndim if isinstance(shape.ty, ShapeType) else -1
        return TensorType(None, kind, ty.vdevice, rank)
    return TensorType(sizes, kind, ty.vdevice)


def _check_same_count(old: DType | None, new: DType | None, start: int | None) -> None:
    """Raise where as many elements surely go beyond the tensor: they are larger, or begin later."""
    if old is None or new is None or start is None:
        late = old is new and start
    else:
        late = _bytes(new) > _bytes(old) or (_bytes(new) == _bytes(old) and start > 0)
    if late:
        what = f"`{new}` from byte {start} on" if new is not None else f"its elements from byte {start} on"
        shape_fault("memory.view", f"as many elements of {what} do not fit", "give the `shape` of the view")


def _check_within(ty: TensorType, sizes: Sizes, kind: DType | None, start: int) -> None:
    """Raise a ValueError where a view surely goes beyond its tensor."""
    if (kind is None or ty.dtype is None) and kind is not ty.dtype:
        return
    old, new = (1, 1) if kind is None or ty.dtype is None else (_bytes(ty.dtype), _bytes(kind))
    wanted, has = _total(sizes) * new + (start if kind is not None else 0), _total(ty.sizes or ()) * old
    if Analyzer().can_prove(wanted > has):
        unit = "bytes" if kind is not None else "elements"
        last, room = [constant(e) or text(e) for e in (wanted, has)]
        shape_fault(
            "memory.view", f"a view of shape {show(sizes)} reaches {last} {unit}, the tensor has {room}"
        )


def _total(sizes: Sizes) -> Any:
    total: Any = prim_value(1)
    for size in sizes:
        total = total * size
    return total


@relax_op("relax.memory.ensure_zero_offset", pattern=OpPattern.OPAQUE, numpy=_same_numpy, lacks=RUNTIME)
def ensure_zero_offset(data: Tensor) -> Type:
    """The tensor, copied where it does not begin at the beginning of its memory."""
    return tensor_type("memory.ensure_zero_offset", data, "data")


@relax_op("relax.vm.alloc_storage", pattern=OpPattern.OPAQUE, lacks=NO_NUMPY)
def vm_alloc_storage(
    shape: Shape,
    runtime_device_index: Scalar,
    dtype: DTypeValue,
    storage_scope: Text = "global",  # type: ignore[assignment]
) -> Type:
    """A piece of memory of the machine."""
    return AnyType()


@relax_op("relax.vm.alloc_tensor", pattern=OpPattern.OPAQUE, lacks=NO_NUMPY)
def vm_alloc_tensor(
    storage: Operand,
    offset: Scalar,
    shape: Shape,
    dtype: DTypeValue,
    runtime_device_ind: Scalar = 0,  # type: ignore[assignment]
) -> Type:
    """A tensor in a piece of memory of the machine."""
    return _made("vm.alloc_tensor", shape, dtype)


@relax_op("relax.vm.call_tir_dyn", pattern=OpPattern.OPAQUE, pure=False, lacks=EFFECT)
def call_tir_dyn(func: Callee, args: Args) -> Type:
    """Calls a kernel with these tensors; the sizes of the last argument, a shape, are scalars to it."""
    return UNIT


@relax_op("relax.vm.kill_object", pattern=OpPattern.OPAQUE, pure=False, lacks=EFFECT)
def kill_object(obj: Operand) -> Type:
    """Nobody uses the value from here on."""
    return UNIT


@relax_op("relax.builtin.alloc_tensor", pattern=OpPattern.OPAQUE, lacks=NO_NUMPY)
def builtin_alloc_tensor(
    shape: Shape,
    dtype: DTypeValue,
    runtime_device_index: Scalar,
    storage_scope: Text = "global",  # type: ignore[assignment]
) -> Type:
    """A new tensor, whose memory is planned later."""
    return _made("builtin.alloc_tensor", shape, dtype)


@relax_op("relax.builtin.stop_lift_params", pattern=OpPattern.OPAQUE, numpy=_same_numpy, lacks=RUNTIME)
def stop_lift_params(x: Tensor) -> Type:
    """The tensor; what is computed from it is not moved to where parameters are transformed."""
    return tensor_type("builtin.stop_lift_params", x)


def _inspect(name: str, dtype: str, doc: str, numpy: Any, *, axis: bool = False) -> RelaxOp:
    """An operator that reads a number from a tensor's header."""

    def of_tensor(x: Tensor) -> Type:
        tensor_type(f"inspect.{name}", x)
        return PrimType(dtype)

    def of_axis(x: Tensor, axis: Scalar) -> Type:
        ty = tensor_type(f"inspect.{name}", x)
        place = constant(axis)
        if place is not None and (place < 0 or 0 <= ty.ndim <= place):
            shape_fault(f"inspect.{name}", f"the tensor has {ty.ndim} dimensions, none with number {place}")
        return PrimType(dtype)

    rule = of_axis if axis else of_tensor
    rule.__doc__ = doc
    parts = {"pattern": OpPattern.OPAQUE, "numpy": numpy, "lacks": RUNTIME}
    made: RelaxOp = relax_op(f"relax.inspect.{name}", **parts)(rule)
    return made


def _compact_stride(x: Any, axis: int) -> int:
    import math

    return math.prod(x.shape[axis + 1 :])


tensor_ndim = _inspect("tensor_ndim", "int32", "The rank.", lambda x: x.ndim)
tensor_shape_i = _inspect("tensor_shape_i", "int64", "One size.", lambda x, axis: x.shape[axis], axis=True)
tensor_stride_i = _inspect("tensor_stride_i", "int64", "One stride, in elements.", _compact_stride, axis=True)
tensor_byte_offset = _inspect("tensor_byte_offset", "uint64", "Where it begins, in bytes.", lambda x: 0)
tensor_elem_offset = _inspect("tensor_elem_offset", "uint64", "Where it begins, in elements.", lambda x: 0)
tensor_dtype_code = _inspect(
    "tensor_dtype_code",
    "uint8",
    "The kind of its dtype, as in DLPack.",
    lambda x: DType(x.dtype).code,
)
tensor_dtype_bits = _inspect(
    "tensor_dtype_bits", "uint8", "The bits of a lane of its dtype.", lambda x: DType(x.dtype).bits
)
tensor_dtype_lanes = _inspect(
    "tensor_dtype_lanes", "uint16", "The lanes of its dtype.", lambda x: DType(x.dtype).lanes
)

__all__ = [
    "alloc_storage",
    "alloc_tensor",
    "builtin_alloc_tensor",
    "call_tir_dyn",
    "ensure_zero_offset",
    "kill_object",
    "kill_storage",
    "kill_tensor",
    "stop_lift_params",
    "tensor_byte_offset",
    "tensor_dtype_bits",
    "tensor_dtype_code",
    "tensor_dtype_lanes",
    "tensor_elem_offset",
    "tensor_ndim",
    "tensor_shape_i",
    "tensor_stride_i",
    "view",
    "vm_alloc_storage",
    "vm_alloc_tensor",
]
