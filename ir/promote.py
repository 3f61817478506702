"""How operands of different types are brought to one type.

A Python number takes the type of the other operand where that type has the value (an int may
become a float, a float never an integer); otherwise it counts as int32 (int64 where needed) or
float32.  Of two expressions: a float wins over integers and bool, the wider of two floats (float16
over bfloat16), an integer over bool, the wider of two integers, unsigned over signed at one
width.  A scalar with a vector is broadcast; vectors of different lanes do not combine.
"""

from __future__ import annotations

from typing import Any

from ..dtype import DType, fits
from ..errors import Diagnostic, DTypeError, noun
from . import expr as E
from .fold import eval_cast, round_to
from .types import BOOL, INT32, BufferType, PointerType, PrimType


def is_operand(value: Any) -> bool:
    """Whether this may stand in an arithmetic expression: a scalar or vector expression or a number."""
    kind = type(value)
    if kind is int or kind is float or kind is bool:
        return True
    if isinstance(value, E.Expr):
        return isinstance(value.ty, PrimType)
    return isinstance(value, E.IterVar) or getattr(value, "shape", None) == () and hasattr(value, "item")


def operand(value: Any, like: Any = None) -> E.Expr:
    """`value` as a scalar or vector expression; a number takes the type of `like`, an
    expression or a dtype, where it fits.

    Raises DTypeError for pointers, buffers, strings and other things.
    """
    if isinstance(value, E.IterVar):
        value = value.var
    if isinstance(value, E.Expr):
        if isinstance(value.ty, PrimType):
            return value
        raise DTypeError(Diagnostic("type-mismatch", f"{describe(value)} cannot stand in arithmetic"))
    if getattr(value, "shape", None) == () and not isinstance(value, int | float):
        return E.as_expr(value)
    if isinstance(value, bool):
        return E.IntImm(BOOL, int(value))
    if not isinstance(value, int | float):
        raise DTypeError(Diagnostic("type-mismatch", f"{noun(value)} cannot stand in arithmetic"))
    if isinstance(like, E.IterVar):
        like = like.var
    if isinstance(like, E.Expr):
        like = like.ty.dtype.element if isinstance(like.ty, PrimType) else None
    if isinstance(like, DType) and not like.is_bool and _number_fits(like, value):
        return E.const(value, like)
    return E.as_expr(value)


def _number_fits(dtype: DType, value: int | float) -> bool:
    if dtype.is_float:
        try:
            return fits(dtype, float(value))
        except OverflowError:
            return False
    return isinstance(value, int) and fits(dtype, value)


def describe(value: E.Expr) -> str:
    """A phrase for messages: what this expression is."""
    ty = value.ty
    name = f"`{value.name}`" if isinstance(value, E.Var) else f"a {type(value).__name__}"
    if isinstance(ty, BufferType):
        return f"the buffer {name} (index it to get an element)"
    if isinstance(ty, PointerType):
        return f"the pointer {name}"
    if isinstance(value, E.BufferRegion):
        return f"a region of `{value.buffer.name}` (slices are regions; use T.Ramp for a vector)"
    if isinstance(ty, PrimType):
        return f"{name} of type `{ty.dtype}`"
    return f"{name} of type {type(ty).__name__}"


def result_dtype(a: DType, b: DType) -> DType:
    """The type both operands are converted to.

    Raises DTypeError for vectors of different lanes and for types that do not combine.
    """
    if a is b:
        return a
    element = _result_element(a.element, b.element)
    if a.is_scalar or b.is_scalar:
        shape = b if a.is_scalar else a
    elif (a.lanes, a.scalable) == (b.lanes, b.scalable):
        shape = a
    else:
        raise DTypeError(Diagnostic("lanes", f"vectors of types `{a}` and `{b}` do not combine"))
    return element if shape.is_scalar else element.with_lanes(shape.lanes, shape.scalable)


def _result_element(a: DType, b: DType) -> DType:
    if a is b:
        return a
    if a.code == 3 or b.code == 3:
        raise DTypeError(Diagnostic("type-mismatch", f"`{a}` and `{b}` do not combine"))
    if a.is_float or b.is_float:
        if not (a.is_float and b.is_float):
            return a if a.is_float else b
        if a.bits != b.bits:
            return a if a.bits > b.bits else b
        if a.bits == 16:
            return a if a.code == 2 else b
        raise DTypeError(
            Diagnostic(
                "type-mismatch", f"`{a}` and `{b}` do not combine", help=("cast one of them with T.Cast",)
            )
        )
    if a.is_bool or b.is_bool:
        return b if a.is_bool else a
    if a.bits != b.bits:
        return a if a.bits > b.bits else b
    return a if a.is_uint else b


def match(a: Any, b: Any) -> tuple[E.Expr, E.Expr]:
    """Both operands as expressions of one type. Raises DTypeError where there is none."""
    if not isinstance(a, E.Expr):
        a = operand(a, like=b)
    if not isinstance(b, E.Expr):
        b = operand(b, like=a)
    if a.ty is b.ty and type(a.ty) is PrimType:
        return a, b
    a, b = operand(a), operand(b)
    dtype = result_dtype(a.dtype, b.dtype)
    return convert(a, dtype), convert(b, dtype)


def lanes_of(dtype: DType) -> E.Expr:
    """The lanes of a vector type as an expression, a multiple of `T.vscale()` if scalable."""
    count = E.IntImm(INT32, dtype.lanes)
    return E.Mul(E.Call("prim.vscale", (), INT32), count) if dtype.scalable else count


def convert(value: E.Expr, dtype: DType) -> E.Expr:
    """`value` as this type: constants are converted, others cast; a scalar is broadcast to lanes.

    Raises DTypeError for what has no conversion, and for vectors of other lanes.
    """
    if not isinstance(value.ty, PrimType):
        raise DTypeError(
            Diagnostic(
                "type-mismatch",
                f"{describe(value)} has no conversion to `{dtype}`",
                help=("T.reinterpret reads the bits as another type",),
            )
        )
    if value.ty.dtype is dtype:
        return value
    if dtype.is_vector and value.dtype.is_scalar:
        return E.Broadcast(convert(value, dtype.element), lanes_of(dtype))
    kind = type(value)
    if kind is E.IntImm or kind is E.FloatImm:
        return convert_constant(value, dtype)
    if isinstance(value, E.Broadcast) and _same_lanes(value.dtype, dtype):
        return E.Broadcast(convert(value.value, dtype.element), value.lanes)
    if isinstance(value, E.Ramp) and _same_lanes(value.dtype, dtype) and _widens(value.dtype, dtype):
        return E.Ramp(convert(value.base, dtype.element), convert(value.stride, dtype.element), value.lanes)
    if dtype.code == 3 or value.dtype.code == 3:
        raise DTypeError(
            Diagnostic(
                "type-mismatch",
                f"there is no conversion from `{value.dtype}` to `{dtype}`",
                help=("T.reinterpret reads the bits as another type",),
            )
        )
    return E.Cast(PrimType(dtype), value)


def _same_lanes(a: DType, b: DType) -> bool:
    return (a.lanes, a.scalable) == (b.lanes, b.scalable)


def _widens(a: DType, b: DType) -> bool:
    return a.is_int and b.is_int and b.bits >= a.bits


def convert_constant(value: Any, dtype: DType) -> E.Expr:
    """An IntImm or FloatImm converted to a scalar type.

    A float that is exact in its own type stays as written for another float type with room for it;
    it is rounded when used.
    """
    old = value.dtype
    if old.is_float and dtype.is_float and dtype.bits >= 16 and fits(dtype, value.value):
        if round_to(old, value.value) == value.value:
            return E.FloatImm(PrimType(dtype), value.value)
    number = eval_cast(old, dtype, value.value)
    if dtype.is_float:
        return E.FloatImm(PrimType(dtype), float(number))
    return E.IntImm(PrimType(dtype), int(number))


def is_constant(value: Any) -> bool:
    """Whether this is an integer, bool or float constant."""
    kind = type(value)
    return kind is E.IntImm or kind is E.FloatImm
