"""`tvm.ir.type`: types."""

from __future__ import annotations

from typing import Any

from .... import ir
from ....dtype import DType
from ....ir import AnyType, FuncType, PointerType, StringType, TensorMapType, TupleType
from ...adapters import adapt, adapts, lacking


class MissingType(ir.Type):
    """The type of an expression that has none yet."""

    def is_missing(self) -> bool:
        """True."""
        return True


def _no_type(*args: Any, **keywords: Any) -> Any:
    raise TypeError("Type is abstract")


Type = adapt(ir.Type, _no_type, missing=staticmethod(MissingType))


@adapts(ir.PrimType)
def PrimType(dtype: Any) -> Any:
    """A scalar or vector type. Raises TypeError for `handle`, which is no scalar."""
    dtype = DType(dtype.dtype if isinstance(dtype, ir.PrimType) else dtype)
    if dtype.is_handle:
        raise TypeError("a handle is no PrimType; the untyped pointer is PointerType::VoidPointerTy")
    return ir.PrimType(dtype)


__getattr__ = lacking("tvm.ir.type")

__all__ = [
    "AnyType",
    "FuncType",
    "MissingType",
    "PointerType",
    "PrimType",
    "StringType",
    "TensorMapType",
    "TupleType",
    "Type",
]
