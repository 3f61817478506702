"""Calls of what is not script: external symbols, LLVM intrinsics, packed functions, printing."""

from __future__ import annotations

from typing import Any

from ...errors import Diagnostic, DTypeError
from ...node import Attrs
from ..buffer import buffer_type, pointer_to
from ..expr import BufferRegion, Call, Expr, IntImm, StringImm, const
from ..op import Effect, Keywords
from ..operators import call_type
from ..types import HANDLE, INT32, INT64, VOID, PointerType, TensorMapType, Type
from .define import buffer_of, define, make, value


def _no_regions(name: str, args: tuple[Any, ...]) -> None:
    for a in args:
        if isinstance(a, BufferRegion):
            raise DTypeError(
                Diagnostic(
                    "type-mismatch",
                    f"a region of `{a.buffer.name}` cannot be passed to T.{name}",
                    help=("pass T.address_of(buffer[...]) or buffer.access_ptr(...)",),
                )
            )


def _named(name: str) -> Any:
    def rule(dtype: Any, func_name: Any, *args: Any) -> Call:
        _no_regions(name, args)
        return make(f"tirx.{name}", (func_name, *args), call_type(dtype))

    return rule


define(
    "tirx.call_extern",
    "dtype, func_name, *args",
    "dtype",
    "A call of an external C function.",
    Effect.UPDATE,
    rule=_named("call_extern"),
)
define(
    "tirx.call_pure_extern",
    "dtype, func_name, *args",
    "dtype",
    "A call of an external C function without effects.",
    rule=_named("call_pure_extern"),
)
define(
    "tirx.call_llvm_intrin",
    "dtype, name, *args",
    "dtype",
    "A call of an LLVM intrinsic, by name (or by a number that LLVM gave it).",
    Effect.UPDATE,
    rule=_named("call_llvm_intrin"),
)
define(
    "tirx.call_llvm_pure_intrin",
    "dtype, name, *args",
    "dtype",
    "A call of an LLVM intrinsic without effects.",
    rule=_named("call_llvm_pure_intrin"),
)


def tensor_argument(x: Any) -> Expr:
    """An argument of a packed call: a buffer becomes the tensor value that describes it."""
    buffer = buffer_of(x)
    if buffer is None:
        return value(x)
    ty = buffer_type(buffer, "shape")
    shape = make("tirx.tvm_stack_make_shape", ty.shape, _INT64_POINTER)
    strides: Any = make("tirx.tvm_stack_make_shape", ty.strides, _INT64_POINTER) if ty.strides else 0
    offset = 0 if ty.elem_offset is None else ty.elem_offset
    data = make("tirx.buffer_data", (buffer,), pointer_to(buffer))
    args = (data, shape, strides, len(ty.shape), const(0, ty.dtype), offset)
    return make("tirx.tvm_stack_make_array", args, HANDLE)


_INT64_POINTER = PointerType(INT64, "global")


def _packed(name: str) -> Any:
    def rule(*args: Any) -> Call:
        _no_regions("call_packed", args)
        return make(name, [tensor_argument(a) for a in args], INT32)

    return rule


for _name, _script, _doc in (
    ("tvm_call_packed", "call_packed", "A call of a packed function by name."),
    ("tvm_call_cpacked", "call_cpacked", "A call of a packed function of this module by its C symbol."),
):
    define(
        f"tirx.{_name}",
        "*args",
        INT32,
        _doc,
        Effect.UPDATE,
        script=_script,
        rule=_packed(f"tirx.{_name}"),
        aliases=(_name,),
    )
for _name, _script, _doc in (
    ("tvm_call_packed_lowered", "call_packed_lowered", "A packed call with its arguments on a stack."),
    ("tvm_call_cpacked_lowered", "call_cpacked_lowered", "A packed C call with its arguments on a stack."),
    ("tvm_call_trace_packed", "tvm_call_trace_packed", "A packed call whose last argument is its value."),
    ("tvm_call_trace_packed_lowered", "tvm_call_trace_packed_lowered", "The lowered form of a trace call."),
):
    define(
        f"tirx.{_name}",
        "*args",
        INT32,
        _doc,
        Effect.UPDATE,
        script=_script,
        aliases=(_name,) if _script != _name else (),
    )


def _ffi_kernel(*values: Any) -> Call:
    *args, launch_params, ret_ty = values
    attrs = Attrs(launch_params=tuple(launch_params))
    return make("tirx.call_ffi_kernel", args, call_type(ret_ty), attrs)


def _show_ffi_kernel(call: Call) -> Any:
    names = list(call.attrs.get("launch_params", ()))
    return (*call.args, Keywords(launch_params=names, ret_ty=call.ty))


define(
    "tirx.call_ffi_kernel",
    "*args, launch_params, ret_ty='int32'",
    INT32,
    "The launch of a compiled kernel.",
    Effect.UPDATE,
    rule=_ffi_kernel,
    show=_show_ffi_kernel,
    attrs=("launch_params",),
)
define(
    "tirx.print",
    "*args",
    VOID,
    "Prints strings, numbers, vectors and buffers on one line while the program runs.",
    Effect.UPDATE,
)


def _print_buffer(
    buffer_var: Any, dtype: Any, is_string: Any, is_scalar: Any, dim_num: Any, *shape: Any
) -> Call:
    name = dtype if isinstance(dtype, StringImm) else StringImm(str(dtype))
    flags = [bool(f) if isinstance(f, int) else f for f in (is_string, is_scalar)]
    dims = const(dim_num, "uint32") if isinstance(dim_num, int) else _as_uint32(dim_num)
    return make("tirx.print_buffer", (buffer_var, name, *flags, dims, *shape), call_type(name.value))


def _as_uint32(x: Any) -> Any:
    return const(x.value, "uint32") if isinstance(x, IntImm) else x


define(
    "tirx.print_buffer",
    "buffer_var, dtype, is_string, is_scalar, dim_num, *shape",
    VOID,
    "Prints the memory behind a pointer.",
    Effect.UPDATE,
    rule=_print_buffer,
)


def _stack_type(dtype_str: Any, num: Any) -> Type:
    kind = dtype_str.value if isinstance(dtype_str, StringImm) else dtype_str
    return {"shape": _INT64_POINTER, "tensormap": TensorMapType()}.get(kind, HANDLE)


define("tirx.tvm_stack_alloca", "dtype_str, num", _stack_type, "Room on the stack.", Effect.UPDATE)
define("tirx.tvm_stack_make_shape", "*args", _INT64_POINTER, "A shape on the stack.", Effect.UPDATE)
define(
    "tirx.tvm_stack_make_array",
    "data, shape, strides, ndim, arr_dtype, elem_offset",
    HANDLE,
    "A tensor value on the stack.",
    Effect.UPDATE,
)


def _struct_get(arr: Any, index: Any, field: Any, dtype: Any) -> Call:
    return make("tirx.tvm_struct_get", (arr, index, field), call_type(dtype))


define(
    "tirx.tvm_struct_get",
    "arr, index, field, dtype",
    HANDLE,
    "A field of a tensor value or of an argument.",
    Effect.READ,
    rule=_struct_get,
    show=lambda call: (*call.args, call.ty),
)
define("tirx.tvm_struct_set", "arr, index, field, value", INT32, "Sets a field.", Effect.UPDATE)
define("tirx.tvm_tuple", "*value", VOID, "Several values as one argument.", Effect.EMBED)
define("tirx.tvm_throw_last_error", "", VOID, "Raises the error that a callee left.", Effect.UPDATE)
define("tirx.lookup_param", "param_name", HANDLE, "A parameter linked into the module.", Effect.UPDATE)
define(
    "tirx.TVMBackendAllocWorkspace",
    "device_type, device_id, nbytes, dtype_code_hint, dtype_bits_hint",
    HANDLE,
    "Temporary memory of a device.",
    Effect.UPDATE,
)
define("tirx.TVMBackendFreeWorkspace", "device_type, device_id, ptr", INT32, "Gives it back.", Effect.UPDATE)
define("tirx.anylist_getitem", "list_handle, index", HANDLE, "An item of a value list.", Effect.READ)
define("tirx.anylist_resetitem", "list_handle, index", INT32, "Empties an item.", Effect.UPDATE)
for _name in ("anylist_setitem_call_packed", "anylist_setitem_call_cpacked"):
    define(
        f"tirx.{_name}",
        "list_handle, index, func_name, *args",
        INT32,
        "Sets an item to the result of a packed call.",
        Effect.UPDATE,
    )
