"""Types: what is known without symbols, and what a call gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...expr import Call, Expr, Var
from ...types import FuncType, TupleType, Type
from ...visitor import Visitor
from ..call_type import result_type
from ..relations import erase
from ..sizes import substitute_sizes
from ..types import ShapeType, TensorType


def get_static_type(ty: Type) -> Type:
    """The type without sizes; ranks, dtypes and devices stay."""
    if isinstance(ty, TensorType):
        return TensorType(None, ty.dtype, ty.vdevice, ty.ndim)
    if isinstance(ty, ShapeType):
        return ShapeType(ndim=ty.ndim)
    if isinstance(ty, TupleType):
        return TupleType([get_static_type(f) for f in ty.fields_])
    if isinstance(ty, FuncType) and ty.arg_types is not None:
        params = [get_static_type(p) for p in ty.arg_types]
        return FuncType(params, get_static_type(ty.ret_type), ty.purity)
    return ty


def erase_to_well_defined(
    ty: Type,
    shape_var_map: Mapping[Var, Expr] | None = None,
    var_map: Mapping[Var, Expr] | None = None,
) -> Type:
    """The type with the mapped symbols and variables replaced; what mentions others is erased to its rank."""
    known = {**(shape_var_map or {}), **(var_map or {})}
    return substitute_sizes(erase(ty, lambda v: v not in known), known)


def derive_call_ret_type(func_ty: FuncType, call: Call, ctx: Any = None) -> Type:
    """The type of a call of a function of this type; see `result_type`."""
    return result_type(func_ty, call.args)


def post_order_visit(expr: Expr, fvisit: Callable[[Expr], Any]) -> None:
    """Call the function on each expression, operands before what uses them; shared ones each time."""
    _PostOrder(fvisit)(expr)


class _PostOrder(Visitor):
    def __init__(self, fvisit: Callable[[Expr], Any]) -> None:
        self.fvisit = fvisit

    def visit_Expr(self, e: Expr) -> None:
        """What is inside first, then the expression."""
        self.visit_fields(e)
        self.fvisit(e)

    def define(self, var: Var) -> None:
        """A definition."""
        super().define(var)
        self.fvisit(var)


__all__ = ["derive_call_ret_type", "erase_to_well_defined", "get_static_type", "post_order_visit"]
