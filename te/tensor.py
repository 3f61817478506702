"""Tensors: values over a rectangle of indices, and the expression that reads one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from ..dtype import DType
from ..ir import Expr, IterVar, PrimExpr, PrimType, Type, as_expr
from ..ir.promote import is_operand
from ..node import DERIVED
from .faults import fault, plural, type_fault

if TYPE_CHECKING:
    from .operation import Operation


class Tensor:
    """One output of an operation: an element for each index within `shape`.

    `A[i, j]`, `A[i][j]` and `A(i, j)` are its elements; `A[i]` of two dimensions is a slice.
    Two tensors are equal when they are the same output of the same operation.
    """

    __slots__ = ("__weakref__", "dtype", "op", "shape", "value_index")
    __iter__: ClassVar[None] = None
    dtype: DType
    op: Operation
    shape: tuple[Expr, ...]
    value_index: int

    def __init__(self, shape: Sequence[Expr], dtype: DType, op: Operation, value_index: int) -> None:
        self.shape = tuple(shape)
        self.dtype = dtype
        self.op = op
        self.value_index = value_index

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def name(self) -> str:
        """The name of the operation, with the number of the output where there are several."""
        return self.op.name if self.op.num_outputs == 1 else f"{self.op.name}_v{self.value_index}"

    def same_as(self, other: Any) -> bool:
        """Whether this is the same output of the same operation."""
        return self.__eq__(other) is True

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tensor):
            return NotImplemented
        return self.op is other.op and self.value_index == other.value_index

    def __hash__(self) -> int:
        return hash((id(self.op), self.value_index))

    def __call__(self, *indices: Any) -> ProducerLoad:
        """The element at these indices, one for each dimension.

        Raises TensorExpressionError for another number of them, TensorTypeError for other things.
        """
        if len(indices) != len(self.shape):
            raise fault(
                f"`{self.name}` has {plural(self.ndim, 'dimension')} "
                f"but {plural(len(indices), 'index', 'indices')}",
                notes=(f"its shape is {_shape_text(self.shape)}",),
            )
        return ProducerLoad(self, tuple([as_place(self, i) for i in indices]))

    def __getitem__(self, indices: Any) -> Any:
        """The element at these indices, or the slice that awaits more of them."""
        places = tuple(indices) if isinstance(indices, list | tuple) else (indices,)
        return _select(self, places)

    def __repr__(self) -> str:
        return f"Tensor(shape={_shape_text(self.shape)}, op.name={self.op.name})"


class TensorSlice:
    """A tensor with its first indices fixed; further indices lead to an element."""

    __slots__ = ("indices", "tensor")

    def __init__(self, tensor: Tensor, indices: tuple[Expr, ...]) -> None:
        self.tensor = tensor
        self.indices = indices

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self.tensor.dtype

    @property
    def shape(self) -> tuple[Expr, ...]:
        """The extents of the dimensions that are left."""
        return self.tensor.shape[len(self.indices) :]

    def __getitem__(self, indices: Any) -> Any:
        """The element, or a slice with more indices fixed."""
        places = tuple(indices) if isinstance(indices, list | tuple) else (indices,)
        return _select(self.tensor, (*self.indices, *places))

    def __repr__(self) -> str:
        return f"{self.tensor.name}[{', '.join([_text(i) for i in self.indices])}, ...]"


class ProducerLoad(PrimExpr):
    """The element of a tensor at these indices (tensor expressions only)."""

    producer: Tensor
    indices: tuple[Expr, ...]
    ty: Annotated[Type, DERIVED]

    @staticmethod
    def _coerce(producer: Any, indices: Any) -> tuple[Any, ...]:
        if not isinstance(producer, Tensor):
            raise type_fault(f"a {type(producer).__name__} is no tensor")
        places = tuple([i if isinstance(i, Expr) else as_place(producer, i) for i in indices])
        if len(places) != len(producer.shape):
            raise fault(
                f"`{producer.name}` has {plural(producer.ndim, 'dimension')} "
                f"but {plural(len(places), 'index', 'indices')}"
            )
        return producer, places

    def _derive(self) -> Type:
        return PrimType(self.producer.dtype)


def _select(tensor: Tensor, places: tuple[Any, ...]) -> Any:
    if len(places) >= len(tensor.shape):
        return tensor(*places)
    return TensorSlice(tensor, tuple([as_place(tensor, p) for p in places]))


def as_place(tensor: Tensor, value: Any) -> Expr:
    """An index of a tensor as an expression. Raises TensorTypeError unless it is an integer."""
    if isinstance(value, IterVar):
        return value.var
    if isinstance(value, slice):
        raise type_fault(
            f"an index of `{tensor.name}` is an element, not a range",
            help=("a part of a tensor is a tensor of its own: te.compute(shape, lambda i: A[i + begin])",),
        )
    if isinstance(value, Tensor | TensorSlice):
        raise type_fault(
            f"an index of `{tensor.name}` is an element, not the tensor `{_name_of(value)}`",
            help=(f"index it: {tensor.name}[{_name_of(value)}[i]]",),
        )
    e = as_expr(value) if is_operand(value) else None
    if e is None or not e.dtype.is_integral:
        found = f"a {type(value).__name__}" if e is None else f"a value of type `{e.dtype}`"
        raise type_fault(f"an index of `{tensor.name}` is an integer, not {found}")
    return e


def _name_of(value: Any) -> str:
    return value.tensor.name if isinstance(value, TensorSlice) else value.name


def _shape_text(shape: tuple[Expr, ...]) -> str:
    texts = [_text(s) for s in shape]
    return f"({', '.join(texts)}{',' * (len(texts) == 1)})"


def _text(e: Expr) -> str:
    from ..printer import script

    value = getattr(e, "value", None)
    return str(value) if isinstance(value, int) else script(e)
