"""The dtype constructors: `T.int32`, `T.float16x4`, `T.handle`, ... as annotations and as calls."""

from __future__ import annotations

import math
from typing import Any

from ..dtype import CODES, DType
from ..errors import Diagnostic, DTypeError
from ..ir import (
    HANDLE,
    VOID,
    Expr,
    IterVar,
    PointerType,
    PrimType,
    TensorMapType,
    TupleType,
    Type,
    Var,
    as_type,
    const,
)
from ..ir.promote import convert, operand
from .faults import describe
from .values import DTypeForm, Form, HandleForm, active_builder, type_of_note

_LANES = (1, 2, 4, 8, 16, 32, 64)
_SHORT = {
    **{
        f"{letter}{bits}": f"{kind}{bits}"
        for letter, kind in (("i", "int"), ("u", "uint"))
        for bits in (8, 16, 32, 64)
    },
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
    "bf16": "bfloat16",
    "boolean": "bool",
}


def fresh(var: Var) -> Var:
    """A variable that a word makes; where a builder is at work, an assignment will name it."""
    builder = active_builder()
    if builder is not None:
        builder.make(var)
    return var


def make_value(dtype: DType, value: Any) -> Any:
    """`T.float32(value)`: a constant, a conversion, or without value a new variable."""
    if value is None:
        return fresh(Var("v", as_type(dtype)))
    if isinstance(value, str):
        value = special_number(dtype, value)
    if isinstance(value, IterVar):
        value = value.var
    if isinstance(value, Expr):
        return convert(operand(value), dtype)
    if isinstance(value, list | tuple):
        raise DTypeError(Diagnostic("type-mismatch", f"`{dtype}` of a sequence is not possible"))
    if dtype.is_bool:
        return const(bool(value), dtype)
    if dtype.is_integral and isinstance(value, float) and math.isfinite(value) and not value.is_integer():
        raise DTypeError(Diagnostic("literal-dtype", f"{value!r} is not a value of `{dtype}`"))
    if hasattr(value, "item") and not isinstance(value, int | float):
        value = value.item()
    if not isinstance(value, int | float):
        raise DTypeError(Diagnostic("type-mismatch", f"{describe(value)} has no conversion to `{dtype}`"))
    return _literal(dtype, value)


def _literal(dtype: DType, value: Any) -> Any:
    if dtype.is_vector:
        from ..ir import Broadcast
        from ..ir.promote import lanes_of

        return Broadcast(const(value, dtype.element), lanes_of(dtype))
    return const(value, dtype)


def special_number(dtype: DType, text: str) -> float:
    """The number that "inf", "-inf" or "nan" spell. Raises DTypeError for other texts."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
        text = text or "''"
    if not dtype.is_float or number == 0.0 and text.strip("+-0.") != "":
        raise DTypeError(Diagnostic("literal-dtype", f"{text!r} is not a value of `{dtype}`"))
    return number


def handle(dtype: Any = None, storage_scope: str | None = None) -> Any:
    """`T.handle(...)`: a new pointer variable, or as an annotation its type."""
    if dtype is None:
        return fresh(Var("v", HANDLE if storage_scope is None else PointerType(VOID, storage_scope)))
    if isinstance(dtype, Expr) and not isinstance(dtype, Var):
        raise DTypeError(Diagnostic("type-mismatch", "T.handle takes the dtype it points to"))
    element = type_of_note(dtype)
    if element is None:
        raise DTypeError(Diagnostic("unknown-dtype", f"{describe(dtype)} is no dtype"))
    if isinstance(element, PrimType) and element.dtype.is_void and storage_scope is None:
        return fresh(Var("v", HANDLE))
    return fresh(Var("v", PointerType(element, "global" if storage_scope is None else storage_scope)))


def tensor_map() -> Var:
    """`T.TensorMap()`: a tensor map parameter."""
    return fresh(Var("v", TensorMapType()))


def tuple_type(*fields: Any) -> Type:
    """`T.Tuple(T.int32, ...)`: the type of several results."""
    made = [type_of_note(f) for f in fields]
    for given, found in zip(fields, made):
        if found is None:
            raise DTypeError(Diagnostic("annotation", f"{describe(given)} is no type"))
    return TupleType([t for t in made if t is not None])


def variable(dtype: Any, name: str = "") -> Var:
    """`T.var("int32")`: a new variable."""
    ty = type_of_note(dtype)
    if ty is None:
        raise DTypeError(Diagnostic("unknown-dtype", f"{describe(dtype)} is no dtype"))
    return fresh(Var(name or "v", ty))


def dtype_words() -> dict[str, Any]:
    """All dtype constructors by name, and the words beside them."""
    out: dict[str, Any] = {}
    kinds = [f"{k}{bits}" for k in ("int", "uint") for bits in (8, 16, 32, 64)]
    kinds += [
        "float16",
        "float32",
        "float64",
        "bfloat16",
        *[name for name, code in CODES.items() if code >= 7],
    ]
    for kind in kinds:
        for lanes in _LANES:
            name = kind if lanes == 1 else f"{kind}x{lanes}"
            out[name] = DTypeForm(f"T.{name}", DType(name))
    for name in ("bool", "void"):
        out[name] = DTypeForm(f"T.{name}", DType(name))
    for short, name in _SHORT.items():
        out[short] = out[name]
    out["handle"] = HandleForm("T.handle", handle, HANDLE)
    out["Ptr"] = out["ptr"] = HandleForm("T.Ptr", handle, HANDLE)
    out["TensorMap"] = HandleForm("T.TensorMap", tensor_map, TensorMapType())
    out["Tuple"] = Form("T.Tuple", tuple_type)
    out["dtype"] = Form("T.dtype", DType)
    out["var"] = Form("T.var", variable)
    return out


def find_dtype_word(name: str) -> DTypeForm | None:
    """The constructor of any other dtype that a name spells (`int4x8`, `uint1`), or None."""
    try:
        dtype = DType(name)
    except DTypeError:
        return None
    return DTypeForm(f"T.{name}", dtype) if str(dtype) == name and not dtype.is_handle else None
