"""Tensors of other packages in the fast path, through the exchange table of DLPack 1.3.

A type that has one (`__dlpack_c_exchange_api__`) gives, in machine code and without a Python
object, a view of a tensor.  The library remembers the type that the slow path saw last; the wrapper
takes tensors of exactly that type when they are compact, aligned and on the CPU.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from ...dtype import DType
from .text import Unit

if TYPE_CHECKING:
    from .library import Library

VIEW = "[6 x i64], align 16"
"""Room for a DLTensor: data 0, device 8, rank 16, dtype 20, shape 24, strides 32, byte offset 40."""
_NAME = b"dlpack_exchange_api"
_FROM_OBJECT = 40  # where the table keeps dltensor_from_py_object_no_sync


def dtype_word(dtype: DType) -> int:
    """The dtype as DLPack packs it into 32 bits."""
    return dtype.code | dtype.bits << 8 | dtype.lanes << 16


_VIEW_TEXT = """define internal ptr @lw.view(
  ptr %o, ptr %kind, ptr %view, i32 %rank, i32 %dtype, i64 %mask) noinline {
entry:
  %known = load ptr, ptr KIND
  %same = icmp eq ptr %kind, %known
  br i1 %same, label %ask, label %no
ask:
  %f = load ptr, ptr CALL
  %status = call i32 %f(ptr %o, ptr %view)
  %fine = icmp eq i32 %status, 0
  br i1 %fine, label %look, label %raised
raised:
  call void @PyErr_Clear()
  br label %no
no:
  ret ptr null
look:
  %p.device = getelementptr i8, ptr %view, i64 8
  %device = load i32, ptr %p.device
  %p.rank = getelementptr i8, ptr %view, i64 16
  %has.rank = load i32, ptr %p.rank
  %p.dtype = getelementptr i8, ptr %view, i64 20
  %has.dtype = load i32, ptr %p.dtype
  %p.shape = getelementptr i8, ptr %view, i64 24
  %shape = load ptr, ptr %p.shape
  %p.strides = getelementptr i8, ptr %view, i64 32
  %strides = load ptr, ptr %p.strides
  %p.offset = getelementptr i8, ptr %view, i64 40
  %offset = load i64, ptr %p.offset
  %start = load i64, ptr %view
  %data = add i64 %start, %offset
  %low = and i64 %data, %mask
  %c.device = icmp eq i32 %device, 1
  %c.rank = icmp eq i32 %has.rank, %rank
  %c.dtype = icmp eq i32 %has.dtype, %dtype
  %c.data = icmp eq i64 %low, 0
  %c.1 = and i1 %c.device, %c.rank
  %c.2 = and i1 %c.dtype, %c.data
  %c = and i1 %c.1, %c.2
  br i1 %c, label %fits, label %no
fits:
  store i64 %data, ptr %view
  %wide = sext i32 %rank to i64
  %some = icmp ne i64 %wide, 0
  %given = icmp ne ptr %strides, null
  %check = and i1 %some, %given
  br i1 %check, label %loop, label %yes
loop:
  %k = phi i64 [ %wide, %fits ], [ %d, %next ]
  %want = phi i64 [ 1, %fits ], [ %more, %next ]
  %d = sub i64 %k, 1
  %p.n = getelementptr i64, ptr %shape, i64 %d
  %n = load i64, ptr %p.n
  %p.s = getelementptr i64, ptr %strides, i64 %d
  %s = load i64, ptr %p.s
  %exact = icmp eq i64 %s, %want
  %alone = icmp eq i64 %n, 1
  %good = or i1 %exact, %alone
  br i1 %good, label %next, label %no
next:
  %more = mul i64 %want, %n
  %again = icmp ne i64 %d, 0
  br i1 %again, label %loop, label %yes
yes:
  %dims = select i1 %some, ptr %shape, ptr %view
  ret ptr %dims
}"""


def view_function(unit: Unit) -> str:
    """The helper `(object, its type, view, rank, dtype, alignment)`; its result is the shape, or null."""
    unit.declare("PyErr_Clear", "void ()")
    kind, call = unit.slot("exchange-type"), unit.slot("exchange-call")
    return unit.helper("lw.view", _VIEW_TEXT.replace("KIND", kind).replace("CALL", call))


def remember(library: Library, kind: type) -> None:
    """Let the library's fast path take tensors of this type, if it has an exchange table of version 1."""
    index, call = library.index("exchange-type"), library.index("exchange-call")
    table = getattr(kind, "__dlpack_c_exchange_api__", None)
    if index is None or call is None or table is None:
        return
    address = _table_address(table)
    if not address or ctypes.c_uint32.from_address(address).value != 1:
        return
    function = ctypes.c_uint64.from_address(address + _FROM_OBJECT).value
    if function:
        library.code.set_pointer(index, 0)  # never the new function with the old type
        library.code.set_pointer(call, function)
        library.refer(index, kind)
        library.kept.append(table)


def _table_address(table: Any) -> int:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    try:
        return get(table, _NAME) or 0
    except (ValueError, TypeError, ctypes.ArgumentError):
        return 0
