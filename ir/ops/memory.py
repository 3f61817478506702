"""Pointers: addresses, offsets, access, reinterpretation."""

from __future__ import annotations

from typing import Any

from ...errors import Diagnostic, DTypeError
from ..buffer import buffer_type, pointer_to
from ..expr import BufferLoad, Call, Expr, IntImm, Var
from ..op import Effect, Op
from ..operators import call_type
from ..types import BOOL, HANDLE, INT32, PointerType, PrimType, Type
from .define import buffer_of, define, make, pointee, value


def _buffer_data(buffer: Any) -> Call:
    found = buffer_of(buffer)
    if found is None:
        raise DTypeError(Diagnostic("not-a-buffer", f"a {type(buffer).__name__} has no data pointer"))
    return make("tirx.buffer_data", (found,), pointer_to(found))


define("tirx.buffer_data", "buffer", HANDLE, "The data pointer of a buffer.", script=None, rule=_buffer_data)


def _address_of(obj: Any) -> Call:
    found = buffer_of(obj)
    if found is not None:
        obj = BufferLoad(found, [IntImm(INT32, 0)] * len(buffer_type(found, "shape").shape))
    if isinstance(obj, BufferLoad):
        return make("tirx.address_of", (obj,), pointer_to(obj.buffer))
    if isinstance(obj, Var) and isinstance(obj.ty, PrimType):
        return make("tirx.address_of", (obj,), PointerType(obj.ty, "global"))
    raise DTypeError(
        Diagnostic("type-mismatch", f"T.address_of needs a buffer or one of its elements, not {_kind(obj)}")
    )


def _kind(obj: Any) -> str:
    return f"a {type(obj).__name__}"


define("tirx.address_of", "obj", HANDLE, "The address of an element of a buffer.", rule=_address_of)
define("tirx.buffer_offset", "load", INT32, "The element offset of an access in its buffer.")


def annotation(spec: Any) -> Expr:
    """The type annotation call for a dtype, pointer type or annotation."""
    if isinstance(spec, Call) and isinstance(spec.op, Op) and spec.op.name == "tirx.type_annotation":
        return spec
    return make("tirx.type_annotation", (), call_type(spec))


define("tirx.type_annotation", "dtype", "dtype", "Stands for a type in the arguments of another intrinsic.")


def access_ptr(ptype: Any, data: Any, offset: Any, extent: Any, rw_mask: Any) -> Call:
    """A pointer to `extent` elements from `offset` on; bit 1 of the mask reads, bit 2 writes."""
    kind = annotation(ptype)
    if isinstance(rw_mask, str):
        rw_mask = access_mask(rw_mask)
    return make("tirx.tvm_access_ptr", (kind, data, offset, extent, rw_mask), _element_pointer(kind, data))


def _element_pointer(kind: Expr, data: Any) -> Type:
    if isinstance(kind.ty, PrimType):
        return PointerType(PrimType(kind.ty.dtype.element), pointee(data)[1])
    return kind.ty


def access_mask(text: str) -> int:
    """The number for "r", "w", "rw". Raises DTypeError for another letter."""
    mask = 0
    for letter in text:
        if letter not in "rw":
            raise DTypeError(
                Diagnostic("access-mask", f"an access mask has the letters r and w only, not `{letter}`")
            )
        mask |= 1 if letter == "r" else 2
    return mask


define(
    "tirx.tvm_access_ptr",
    "ptype, data, offset, extent, rw_mask",
    HANDLE,
    "A pointer into a buffer with the elements it may reach and whether it reads or writes.",
    Effect.SPECIAL_ARGUMENT,
    rule=access_ptr,
)


def _ptr_byte_offset(data: Any, byte_offset: Any, dtype: Any) -> Call:
    kind = annotation(dtype)
    element = kind.ty if isinstance(kind.ty, PrimType) else PrimType("void")
    return make("tirx.ptr_byte_offset", (data, byte_offset, kind), PointerType(element, pointee(data)[1]))


define(
    "tirx.ptr_byte_offset",
    "data, byte_offset, dtype",
    HANDLE,
    "A pointer moved by bytes, to elements of the dtype.",
    rule=_ptr_byte_offset,
)
define("tirx.handle_add_byte_offset", "handle, offset", HANDLE, "An untyped pointer moved by bytes.")
define("tirx.isnullptr", "x", BOOL, "Whether a pointer is null.")


def _reinterpret(dtype: Any, source: Any) -> Expr:
    target, e = call_type(dtype), value(source)
    if e.ty is target:
        return e
    if isinstance(e.ty, PrimType) and isinstance(target, PrimType):
        old, new = e.ty.dtype, target.dtype
        same = old.scalable == new.scalable and old.bits * old.lanes == new.bits * new.lanes
        if not same and not old.is_bool and not new.is_bool:
            raise DTypeError(
                Diagnostic("type-mismatch", f"`{old}` and `{new}` differ in size and cannot be reinterpreted")
            )
    return make("tirx.reinterpret", (e,), target)


define(
    "tirx.reinterpret",
    "dtype, value",
    "dtype",
    "The bits of a value read as another type of the same size.",
    rule=_reinterpret,
)
