"""Types of the graph dialect: tensors and shapes whose sizes may be symbols."""

from __future__ import annotations

from typing import Annotated, Any

from ...dtype import DType
from ...errors import Diagnostic, DTypeError
from ...node import Defines
from ..expr import Expr, IntImm, Var, as_index
from ..function import VDevice
from ..types import INT64, PrimType, Type


def as_dim(value: Any) -> Expr:
    """One size of a shape: an integer expression; Python's integers become int64.

    Raises DTypeError for what is no integer expression.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return IntImm(INT64, value)
    found = as_index(value)
    if type(found) is IntImm and found.ty is not INT64:
        return IntImm(INT64, found.value)
    return found


def _rank(known: int | None, ndim: int, what: str) -> int:
    if known is None:
        return ndim
    if ndim not in (-1, known):
        raise DTypeError(Diagnostic("rank", f"a {what} of {known} sizes cannot have ndim {ndim}"))
    return known


class ShapeType(Type):
    """A shape: its sizes, or only their number (`ndim`, -1 where that is not known either)."""

    values: Annotated[tuple[Expr, ...] | None, Defines("shape-symbols")] = None
    ndim: int = -1

    @staticmethod
    def _coerce(values: Any, ndim: Any) -> tuple[Any, ...]:
        if values is not None:
            values = tuple([as_dim(v) for v in values])
        return values, _rank(None if values is None else len(values), ndim, "shape")

    def __hash__(self) -> int:
        return hash(("ShapeType", self.ndim))


class TensorType(Type):
    """A tensor: its shape (a ShapeExpr, or a variable that holds a shape), dtype, device and rank.

    What is not known is None, -1 for the rank.
    """

    shape: Annotated[Expr | None, Defines("shape-symbols")] = None
    dtype: DType | None = DType("float32")
    vdevice: VDevice | None = None
    ndim: int = -1

    @staticmethod
    def _coerce(shape: Any, dtype: Any, vdevice: Any, ndim: Any) -> tuple[Any, ...]:
        from .expr import ShapeExpr

        if isinstance(shape, list | tuple):
            shape = ShapeExpr(shape)
        if isinstance(dtype, PrimType):
            dtype = dtype.dtype
        dtype = None if dtype is None or dtype == "" or str(dtype) == "void" else DType(dtype)
        known = None
        if shape is not None:
            if not isinstance(shape, Expr) or not isinstance(shape.ty, ShapeType):
                raise DTypeError(Diagnostic("type-mismatch", "the shape of a tensor type is a shape"))
            known = shape.ty.ndim if shape.ty.ndim >= 0 else None
        return shape, dtype, vdevice, _rank(known, ndim, "tensor")

    @property
    def sizes(self) -> tuple[Expr, ...] | None:
        """The sizes where they are known: those written, or those in the type of the shape variable."""
        if self.shape is None:
            return None
        found: tuple[Expr, ...] | None = self.shape.ty.values  # type: ignore[attr-defined]
        return found

    @property
    def is_unknown_ndim(self) -> bool:
        """Whether even the rank is unknown."""
        return self.ndim < 0

    def __hash__(self) -> int:
        return hash(("TensorType", self.ndim, self.dtype))


def shape_symbols(ty: Type) -> list[Var]:
    """The variables that stand alone as a size in a type: what a parameter of that type defines, in order."""
    from ..types import FuncType, TupleType

    found: list[Var] = []
    if isinstance(ty, TupleType):
        for field in ty.fields_:
            found += shape_symbols(field)
    elif isinstance(ty, TensorType | ShapeType) and not isinstance(ty, FuncType):
        sizes = ty.sizes if isinstance(ty, TensorType) else ty.values
        found += [size for size in sizes or () if isinstance(size, Var)]
    return list(dict.fromkeys(found))


__all__ = ["ShapeType", "TensorType", "as_dim", "shape_symbols"]
