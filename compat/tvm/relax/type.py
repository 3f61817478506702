"""`tvm.relax.type`: types of the graph dialect, with the peer's arguments."""

from __future__ import annotations

from typing import Any

from .... import ir
from ....ir import AnyType, PrimType, Type, relax
from ...adapters import adapts, lacking

ObjectType = AnyType


@adapts(relax.TensorType)
def TensorType(
    shape: Any = None, dtype: Any = "float32", vdevice: Any = None, ndim: int = -1, span: Any = None
) -> Any:
    """The type of a tensor."""
    return relax.TensorType(shape, dtype, vdevice, ndim)


@adapts(relax.ShapeType)
def ShapeType(values: Any = None, ndim: int = -1, span: Any = None) -> Any:
    """The type of a shape."""
    return relax.ShapeType(values, ndim)


@adapts(ir.TupleType)
def TupleType(fields: Any, span: Any = None) -> Any:
    """The type of a tuple."""
    return ir.TupleType(fields)


def _opaque(ret: Any = None, derive_func: Any = None, purity: bool = False, span: Any = None) -> Any:
    return ir.FuncType(None, AnyType() if ret is None else ret, purity, derive_func)


@adapts(ir.FuncType, opaque_func=staticmethod(_opaque))
def FuncType(params: Any, ret: Any, purity: bool = True, span: Any = None) -> Any:
    """The type of a function."""
    return ir.FuncType(params, ret, purity)


def PackedFuncType() -> Any:
    """The type of any function."""
    return _opaque()


__getattr__ = lacking("tvm.relax.type")

__all__ = [
    "AnyType",
    "FuncType",
    "ObjectType",
    "PackedFuncType",
    "PrimType",
    "ShapeType",
    "TensorType",
    "TupleType",
    "Type",
]
