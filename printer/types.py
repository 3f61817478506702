"""Types as surface trees: annotations, and the dtype arguments of calls."""

from __future__ import annotations

from ..grammar.tree import Attribute, CallExpr, SExpr
from ..ir import (
    AnyType,
    BufferRegionType,
    PointerType,
    PrimType,
    StringType,
    TensorMapType,
    Type,
)
from .core import Printer, keyword, shows, string


@shows(PrimType)
def _show_prim(p: Printer, ty: PrimType) -> SExpr:
    return p.T(str(ty.dtype))


@shows(PointerType)
def _show_pointer(p: Printer, ty: PointerType) -> SExpr:
    element = ty.element_type
    scope = ty.storage_scope
    if not scope:
        return p.T("handle")
    if scope != "global" and isinstance(element, PrimType) and element.dtype.is_void:
        return p.call("handle", (), (keyword("storage_scope", string(scope)),))
    return p.call("handle", (type_argument(p, element), string(scope)))


@shows(TensorMapType)
def _show_tensor_map(p: Printer, ty: TensorMapType) -> SExpr:
    return p.call("TensorMap", ())


@shows(AnyType)
def _show_any(p: Printer, ty: AnyType) -> SExpr:
    return p.under(p.options.relax_prefix, "Any")


@shows(StringType)
def _show_string_type(p: Printer, ty: StringType) -> SExpr:
    return CallExpr(p.I("StringType"))


@shows(BufferRegionType)
def _show_region_type(p: Printer, ty: BufferRegionType) -> SExpr:
    return CallExpr(p.I("BufferRegionType"))


def type_argument(p: Printer, ty: Type) -> SExpr:
    """A type where a call takes a dtype: a string, or `.ty` of a handle."""
    if type(ty) is PrimType:
        return string(str(ty.dtype))
    shown = p.expr(ty)
    if isinstance(ty, PointerType):
        return Attribute(shown if isinstance(shown, CallExpr) else CallExpr(shown), "ty")
    return shown
