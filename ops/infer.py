"""What type rules share: operands' types, broadcasting, axes, sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..dtype import DType
from ..ir import Expr, IntImm, PrimType, TupleType, Type
from ..ir.arith import Analyzer
from ..ir.relax import ShapeExpr, ShapeType, TensorType, same_size
from ..ir.types import AnyType
from .faults import shape_fault, type_fault

Sizes = tuple[Expr, ...]


def tensor_type(op: str, value: Expr, name: str = "x") -> TensorType:
    """The tensor type of an operand; a scalar counts as a tensor of rank 0, Any as an unknown tensor.

    Raises DTypeError for what is no tensor.
    """
    ty = value.ty
    if isinstance(ty, TensorType):
        return ty
    if isinstance(ty, PrimType):
        return TensorType((), ty.dtype)
    if isinstance(ty, AnyType):
        return TensorType(None, None)
    type_fault(op, f"`{name}` must be a tensor, not {describe(ty)}")


def tensor_types(op: str, value: Expr, name: str = "tensors") -> tuple[TensorType, ...]:
    """The tensor types in a tuple operand. Raises DTypeError for another operand, or when it is empty."""
    ty = value.ty
    if (
        not isinstance(ty, TupleType)
        or not ty.fields_
        or not all(isinstance(f, TensorType) for f in ty.fields_)
    ):
        type_fault(op, f"`{name}` must be a tuple of tensors, not {describe(ty)}")
    return ty.fields_  # type: ignore[return-value]


def describe(ty: Type) -> str:
    """A type as messages write it."""
    from ..ir.text import text

    return f"`{text(ty)}`"


def float_only(op: str, ty: TensorType, name: str = "x") -> TensorType:
    """The type itself. Raises DTypeError when its dtype is known and no float."""
    if ty.dtype is not None and not ty.dtype.is_float:
        type_fault(
            op, f"`{name}` must be of floats, not of `{ty.dtype}`", 'convert it: `R.astype(x, "float32")`'
        )
    return ty


def common_dtype(op: str, a: TensorType, b: TensorType) -> DType | None:
    """The dtype of both operands, None when either is unknown. Raises DTypeError when they differ."""
    if a.dtype is None or b.dtype is None:
        return None
    if a.dtype != b.dtype:
        type_fault(op, f"the operands have dtypes `{a.dtype}` and `{b.dtype}`", "convert one with `R.astype`")
    return a.dtype


def common_vdevice(op: str, *types: TensorType) -> Any:
    """The device that the operands are on, None when none is known. Raises DTypeError when they differ."""
    found = None
    for ty in types:
        if ty.vdevice is not None:
            if found is not None and found != ty.vdevice and found is not ty.vdevice:
                type_fault(op, "the operands are on different devices", "move one with `R.to_vdevice`")
            found = found or ty.vdevice
    return found


def broadcast(op: str, a: Sizes, b: Sizes) -> Sizes | None:
    """The shape of both operands after numpy's broadcasting; None when a size cannot be decided.

    Sizes that are proven equal, or of which one is 1, fit. Raises a ValueError when two known ones differ.
    """
    analyzer = Analyzer()
    out: list[Expr] = list(a[: len(a) - len(b)] if len(a) > len(b) else b[: len(b) - len(a)])
    for x, y in zip(a[len(a) - min(len(a), len(b)) :], b[len(b) - min(len(a), len(b)) :]):
        if is_one(y) or same_size(x, y, analyzer):
            out.append(x)
        elif is_one(x):
            out.append(y)
        elif isinstance(x, IntImm) and isinstance(y, IntImm):
            shape_fault(
                op, f"the shapes {show(a)} and {show(b)} do not broadcast: {x.value} against {y.value}"
            )
        else:
            return None
    return tuple(out)


def is_one(size: Expr) -> bool:
    """Whether a size is the constant 1."""
    return isinstance(size, IntImm) and size.value == 1


def show(sizes: Sequence[Expr]) -> str:
    """A shape as messages write it: `(n, 4)`."""
    from ..ir.text import text

    inner = ", ".join(str(s.value) if isinstance(s, IntImm) else text(s) for s in sizes)
    return f"({inner}{',' if len(sizes) == 1 else ''})"


def axis_of(op: str, axis: int, ndim: int, name: str = "axis") -> int:
    """The axis counted from the front. Raises a ValueError when the tensor has no such axis."""
    if ndim >= 0 and not -ndim <= axis < ndim:
        shape_fault(op, f"`{name}` is {axis}, but the tensor has {ndim} dimensions")
    return axis + ndim if axis < 0 and ndim >= 0 else axis


def axes_of(op: str, axes: Sequence[int], ndim: int, name: str = "axis") -> tuple[int, ...]:
    """The axes counted from the front, in their order. Raises a ValueError for unknown and repeated ones."""
    found = tuple([axis_of(op, a, ndim, name) for a in axes])
    if len(set(found)) != len(found):
        shape_fault(op, f"`{name}` names a dimension twice: {list(axes)}")
    return found


def sizes_of(value: Expr) -> Sizes | None:
    """The sizes that a shape operand gives, where they are known."""
    if isinstance(value, ShapeExpr):
        return value.values
    return value.ty.values if isinstance(value.ty, ShapeType) else None


def constant(size: Expr) -> int | None:
    """The value of a constant size, or None."""
    return size.value if isinstance(size, IntImm) else None


def like(
    ty: TensorType, sizes: Sizes | None = None, dtype: Any = "same", ndim: int | None = None
) -> TensorType:
    """A tensor type on the same device: with these sizes, or of this rank, and of this dtype."""
    kind = ty.dtype if isinstance(dtype, str) and dtype == "same" else dtype
    if sizes is not None:
        return TensorType(tuple(sizes), kind, ty.vdevice)
    return TensorType(None, kind, ty.vdevice, -1 if ndim is None else ndim)


def same_type(ty: TensorType, dtype: Any = "same") -> TensorType:
    """The same shape and device, perhaps another dtype."""
    if isinstance(dtype, str) and dtype == "same":
        return ty
    return TensorType(ty.shape, dtype, ty.vdevice, ty.ndim)


__all__ = [
    "Sizes",
    "axes_of",
    "axis_of",
    "broadcast",
    "common_dtype",
    "common_vdevice",
    "constant",
    "describe",
    "float_only",
    "is_one",
    "like",
    "same_type",
    "show",
    "sizes_of",
    "tensor_type",
    "tensor_types",
]
