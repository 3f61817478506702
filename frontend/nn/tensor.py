"""`Tensor`: a value of the graph in the making, with Python's operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...dtype import DType
from ...errors import Diagnostic, DTypeError, noun
from ...ir import Expr, IntImm, PrimType, Tuple, TupleGetItem, TupleType, Var
from ...ir.relax import BlockBuilder, TensorType, find_composed, get_op, tensor_constant


class Object:
    """A value of the graph that is no tensor, such as a cache."""

    __slots__ = ("_expr",)

    def __init__(self, *, _expr: Expr, _name: str = "object") -> None:
        builder = BlockBuilder.current()
        bound = isinstance(_expr, Var) or builder is None
        self._expr = _expr if bound else builder.emit(_expr, _name)  # type: ignore[union-attr]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._expr!r})"


class Tensor:
    """A tensor of the graph in the making: its operators and methods add operators to it.

    Sizes are numbers, or expressions of symbols.  A number combined with a tensor gets the tensor's dtype.
    """

    __slots__ = ("_expr",)
    __array_ufunc__ = None
    __iter__ = None

    def __init__(self, *, _expr: Expr) -> None:
        """The tensor that an expression gives. Raises DTypeError unless its rank and dtype are known."""
        ty = _expr.ty
        if not isinstance(ty, TensorType) or ty.sizes is None or ty.dtype is None:
            raise DTypeError(
                Diagnostic(
                    "type-mismatch",
                    f"a tensor of a model has a known shape and dtype; this one is of type {ty!r}",
                    help=("sizes may be symbols: `nn.spec.Tensor(['n', 4], 'float32')`",),
                )
            )
        self._expr = _expr

    @staticmethod
    def from_const(data: Any) -> Tensor:
        """A constant tensor of the graph: of an array, a list, or a number."""
        return Tensor(_expr=tensor_constant(data))

    @staticmethod
    def from_scalar(data: int | float, dtype: str) -> Tensor:
        """A constant of rank 0."""
        return Tensor(_expr=tensor_constant(data, dtype))

    @staticmethod
    def from_ty(ty: TensorType, name: str = "tensor") -> Tensor:
        """A free variable of this type."""
        return Tensor(_expr=Var(name, ty))

    @staticmethod
    def placeholder(shape: Sequence[Any], dtype: str, name: str = "tensor") -> Tensor:
        """A free variable of this shape and dtype; sizes that are texts become symbols."""
        return Tensor.from_ty(TensorType(sizes_of(shape, {}), dtype), name)

    @property
    def _ty(self) -> TensorType:
        ty = self._expr.ty
        assert isinstance(ty, TensorType)
        return ty

    @property
    def shape(self) -> list[Any]:
        """The sizes: numbers where they are known, else expressions."""
        return [s.value if isinstance(s, IntImm) else s for s in self._ty.sizes or ()]

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._ty.ndim

    @property
    def dtype(self) -> str:
        """The dtype as a text."""
        return str(self._ty.dtype)

    def __repr__(self) -> str:
        return f'{type(self).__name__}({self.shape}, "{self.dtype}")'

    def __add__(self, other: Any) -> Tensor:
        return combine("add", self, other)

    def __radd__(self, other: Any) -> Tensor:
        return combine("add", self, other)

    def __sub__(self, other: Any) -> Tensor:
        return combine("subtract", self, other)

    def __rsub__(self, other: Any) -> Tensor:
        return combine("subtract", other, self)

    def __mul__(self, other: Any) -> Tensor:
        return combine("multiply", self, other)

    def __rmul__(self, other: Any) -> Tensor:
        return combine("multiply", self, other)

    def __truediv__(self, other: Any) -> Tensor:
        return combine("divide", self, other)

    def __rtruediv__(self, other: Any) -> Tensor:
        return combine("divide", other, self)

    def __matmul__(self, other: Tensor) -> Tensor:
        return combine("matmul", self, other)

    def __neg__(self) -> Tensor:
        return apply("negative", self, name="neg")

    def __lt__(self, other: Any) -> Tensor:
        return combine("less", self, other)

    def __le__(self, other: Any) -> Tensor:
        return combine("less_equal", self, other)

    def __gt__(self, other: Any) -> Tensor:
        return combine("greater", self, other)

    def __ge__(self, other: Any) -> Tensor:
        return combine("greater_equal", self, other)

    def astype(self, dtype: str) -> Tensor:
        """The tensor converted to the dtype."""
        return apply("astype", self, dtype=dtype)

    def maximum(self, other: Any) -> Tensor:
        """The larger one of each pair of elements."""
        return combine("maximum", self, other)

    def minimum(self, other: Any) -> Tensor:
        """The smaller one of each pair of elements."""
        return combine("minimum", self, other)

    def reshape(self, *shape: Any) -> Tensor:
        """The same elements in another shape; one size may be -1."""
        return apply("reshape", self, listed(shape))

    def permute_dims(self, *axes: Any) -> Tensor:
        """The tensor with its dimensions in this order; reversed where none is given."""
        return apply("permute_dims", self, axes=listed(axes) or None)

    def repeat(self, repeats: int, axis: int | None = None) -> Tensor:
        """Each element so many times."""
        return apply("repeat", self, repeats=repeats, axis=axis)


def listed(values: tuple[Any, ...]) -> list[Any]:
    """The values of `f(1, 2)` or of `f([1, 2])`."""
    one = len(values) == 1 and isinstance(values[0], list | tuple)
    return list(values[0] if one else values)


def sizes_of(shape: Sequence[Any], symbols: dict[str, Var]) -> tuple[Any, ...]:
    """The sizes of a shape in which texts name symbols; new ones are noted."""
    made = []
    for size in shape:
        if isinstance(size, str):
            size = symbols.setdefault(size, Var(size, PrimType("int64")))
        elif not isinstance(size, Expr) and not hasattr(size, "__index__"):
            raise DTypeError(
                Diagnostic("type-mismatch", f"a size is a number, a text or an expression, not {noun(size)}")
            )
        made.append(size if isinstance(size, Expr) else size.__index__())
    return tuple(made)


def expr_of(value: Any) -> Any:
    """What stands for a value in the graph: the expressions of tensors, at any depth."""
    if isinstance(value, Tensor | Object):
        return value._expr
    if isinstance(value, list | tuple):
        return [expr_of(v) for v in value]
    return value


def wrap_nested(expr: Expr, name: str) -> Any:
    """The value of an expression, bound to a variable of this name: a Tensor, a tuple, or an Object.

    Outside of a method that is being exported it stays an expression.
    """
    builder = BlockBuilder.current()
    if builder is not None and not isinstance(expr, Var | Tuple):
        expr = builder.emit(expr, name)
    ty = expr.ty
    if isinstance(ty, TupleType):
        fields = (
            expr.fields_
            if isinstance(expr, Tuple)
            else [TupleGetItem(expr, i) for i in range(len(ty.fields_))]
        )
        return tuple([wrap_nested(f, f"{name}_{i}") for i, f in enumerate(fields)])
    return Tensor(_expr=expr) if isinstance(ty, TensorType) else Object(_expr=expr, _name=name)


def apply(op: str, *args: Any, name: str = "", **attrs: Any) -> Any:
    """The result of a graph operator on these operands, bound to a variable named after it."""
    make = find_composed(op) or get_op(f"relax.{op}")
    call = make(*[expr_of(a) for a in args], **attrs)
    return wrap_nested(call, name or op.rpartition(".")[2])


def combine(op: str, a: Any, b: Any, name: str = "") -> Tensor:
    """The result of an operator on two tensors, or a tensor and a number, which gets the tensor's dtype."""
    like = a if isinstance(a, Tensor) else b
    made: Tensor = apply(op, operand(a, like), operand(b, like), name=name)
    return made


def operand(value: Any, like: Any) -> Any:
    """A number as a constant of the tensor's dtype; a tensor as it is. Raises DTypeError for other things."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, bool | int | float) and isinstance(like, Tensor):
        dtype = DType(like.dtype)
        exact = dtype.is_float or not isinstance(value, float)
        return tensor_constant(value, dtype if exact else None)
    if isinstance(value, Expr):
        return value
    raise DTypeError(Diagnostic("type-mismatch", f"{noun(value)} does not combine with a tensor"))


__all__ = ["Object", "Tensor", "apply", "combine", "expr_of", "operand", "sizes_of", "wrap_nested"]
