"""The functions that bytecode calls besides kernels, by the names `vm.builtin.*`.

They work on values as registers hold them (see `values.py`).  Each is registered too, so that Python code
can call it with tensors; the table here is what machines use.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...dtype import DType
from ...errors import ArgumentTypeError, ArgumentValueError, Diagnostic, ExecutionError, UnsupportedError
from ..device import Device
from ..registry import PackedFunc, register_func
from . import checks
from .values import CPU, Closure, Storage, describe, give_out, take_in

if TYPE_CHECKING:
    from .machine import VirtualMachine

BUILTINS: dict[str, Callable[..., Any]] = {}
"""Every built-in function by its name."""


def builtin(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator that enters a built-in function, `vm.builtin.` is put before a name without a dot."""
    full = name if "." in name else f"vm.builtin.{name}"

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        def outside(*args: Any) -> Any:
            return give_out(function(*[take_in(a) for a in args]))

        BUILTINS[full] = function
        outside.__doc__ = function.__doc__
        register_func(full, outside, override=True)
        return function

    return enter


for _check in (
    checks.check_tensor_info,
    checks.check_shape_info,
    checks.check_prim_value_info,
    checks.check_tuple_info,
    checks.check_string_info,
    checks.check_func_info,
    checks.match_shape,
    checks.match_prim_value,
    checks.make_shape,
    checks.make_prim_value,
):
    builtin(_check.__name__)(_check)


@builtin("alloc_shape_heap")
def alloc_shape_heap(vm: VirtualMachine | None, size: int) -> Any:
    """Slots for so many sizes."""
    import numpy as np

    return np.zeros(size, np.int64)


@builtin("alloc_storage")
def alloc_storage(
    vm: VirtualMachine | None, size: Any, device: int, dtype: DType, scope: str = "global"
) -> Storage:
    """Memory of so many bytes; `size` is a shape, of elements of `dtype`, or their number."""
    if not scope.startswith("global"):
        raise UnsupportedError(f"storage in the memory scope `{scope}` is not supported; `global` is")
    count = math.prod(size) if isinstance(size, tuple) else int(size)
    return Storage(count * dtype.numpy().itemsize)


@builtin("alloc_tensor")
def alloc_tensor(storage: Storage, offset: int, shape: tuple[int, ...], dtype: DType, device: int = 0) -> Any:
    """A tensor on a storage, from a byte on. Raises ExecutionError where the storage is too small."""
    kind = dtype.numpy()
    size = math.prod(shape) * kind.itemsize
    if min(shape, default=0) < 0:
        raise ArgumentValueError(Diagnostic("argument-shape", f"a tensor cannot have the shape {shape}"))
    if not isinstance(storage, Storage):
        text = f"a tensor stands on a storage, not on {describe(storage)}"
        raise ArgumentTypeError(Diagnostic("argument-type", text))
    if offset < 0 or offset + size > storage.size:
        raise storage_fault(shape, dtype, size, storage.size - offset)
    import numpy as np

    return np.asarray(storage)[offset : offset + size].view(kind).reshape(shape)


def storage_fault(shape: tuple[int, ...], dtype: DType, size: int, room: int) -> ExecutionError:
    """The error of a tensor that its storage is too small for."""
    text = f"a tensor of shape {shape} and `{dtype}` needs {size} bytes, but its storage has {room}"
    help = ("the sizes exceed the bounds that the function's attribute `tir_var_upper_bound` gives",)
    return ExecutionError(Diagnostic("storage-size", text, help=help))


@builtin("null_value")
def null_value() -> None:
    """Nothing; written to a register, it frees what the register held."""


@builtin("copy")
def copy(value: Any) -> Any:
    """The same value."""
    return value


@builtin("reshape")
def reshape(value: Any, shape: tuple[int, ...]) -> Any:
    """The memory of a tensor under another shape."""
    if value.size != math.prod(shape):
        text = f"{value.size} elements of shape {value.shape} have no shape {shape}"
        raise ArgumentValueError(Diagnostic("argument-shape", text))
    return value.reshape(shape)


@builtin("ensure_zero_offset")
def ensure_zero_offset(value: Any) -> Any:
    """The tensor: its address is that of its first element."""
    return value


@builtin("runtime.TVMTensorCreateView")
def create_view(value: Any, shape: tuple[int, ...], dtype: DType, offset: int = 0) -> Any:
    """The bytes of a tensor from `offset` on as a tensor of this shape and dtype."""
    kind = dtype.numpy()
    size = math.prod(shape) * kind.itemsize
    if offset < 0 or offset + size > value.nbytes:
        text = f"{value.nbytes} bytes have no view of {shape} of `{dtype}` from byte {offset} on"
        raise ArgumentValueError(Diagnostic("tensor-view", text))
    return value.reshape(-1).view("u1")[offset : offset + size].view(kind).reshape(shape)


@builtin("shape_of")
def shape_of(value: Any) -> tuple[int, ...]:
    """The shape of a tensor."""
    return tuple(value.shape)


@builtin("tensor_to_shape")
def tensor_to_shape(value: Any) -> tuple[int, ...]:
    """A shape from a tensor of integers."""
    if value.ndim != 1 or value.dtype.kind not in "iu":
        text = f"a shape is made of a tensor of integers of rank 1, not of {describe(value)}"
        raise ArgumentTypeError(Diagnostic("argument-type", text))
    return tuple([int(v) for v in value])


@builtin("shape_to_tensor")
def shape_to_tensor(shape: tuple[int, ...]) -> Any:
    """A tensor of int64 with the sizes of a shape."""
    import numpy as np

    return np.array(shape, np.int64)


@builtin("to_device")
def to_device(value: Any, kind: int, index: int = 0, scope: str = "global") -> Any:
    """The tensor on a device; the CPU is the only one so far."""
    if Device((kind, index)).kind != "cpu":
        raise UnsupportedError(f"moving tensors to `{Device((kind, index))}` is not supported yet")
    return value


@builtin("make_tuple")
def make_tuple(*values: Any) -> tuple[Any, ...]:
    """Several values as one."""
    return values


@builtin("tuple_getitem")
def tuple_getitem(value: tuple[Any, ...], index: int) -> Any:
    """One of several values."""
    if not isinstance(value, tuple) or not 0 <= index < len(value):
        raise ArgumentValueError(Diagnostic("tuple-index", f"{describe(value)} has no element {index}"))
    return value[index]


@builtin("make_closure")
def make_closure(function: Any, *captured: Any) -> Closure:
    """A function of the module, or its name, with values that it captures."""
    if isinstance(function, Closure):
        return Closure(function.name, (*captured, *function.captured))
    return Closure(function, captured)


@builtin("invoke_closure")
def invoke_closure(vm: Any, closure: Any, *args: Any) -> Any:
    """Call a closure, or another function that a register holds."""
    if isinstance(closure, Closure):
        return vm.run(closure.name, (*args, *closure.captured))
    if isinstance(closure, PackedFunc) or callable(closure):
        result = closure(*[give_out(a) for a in args])
        return take_in(result) if vm is None else vm.take_in(result)
    raise ArgumentTypeError(Diagnostic("argument-type", f"{describe(closure)} is no function"))


@builtin("call_tir_dyn")
def call_tir_dyn(function: Any, *args: Any) -> None:
    """Call a kernel with its tensors, then the sizes of a shape as scalars where the last argument is one."""
    if args and isinstance(args[-1], tuple):
        args = (*args[:-1], *args[-1])
    function(*args)


@builtin("read_if_cond")
def read_if_cond(value: Any) -> int:
    """The truth of a condition: 0 or 1. Raises ArgumentTypeError for what is no single value."""
    if hasattr(value, "dtype"):
        if value.size != 1:
            text = f"the condition of an `if` is {describe(value)}, not one truth value"
            raise ArgumentTypeError(Diagnostic("condition-type", text))
        value = value.reshape(-1)[0]
    return int(bool(value))


@builtin("relax.run.print")
def run_print(form: str, *values: Any) -> None:
    """Print values, in a format with `{}` for each where it is not empty."""
    shown = [str(v) for v in values]
    print(form.format(*shown) if form else " ".join(shown))


@builtin("relax.run.assert_op")
def run_assert(condition: Any, form: str = "", *values: Any) -> None:
    """Raise AssertionError with the formatted text where the condition does not hold."""
    if not read_if_cond(condition):
        text = form.format(*[str(v) for v in values]) if form else ", ".join([str(v) for v in values])
        raise AssertionError(f"Assertion Failed: {text}" if text else "Assertion Failed")


@builtin("call_py_func")
def call_py_func(name: str, *args: Any) -> Any:
    """Call a Python function that was registered under this name."""
    from ..registry import get_global_func

    return take_in(get_global_func(name)(*[give_out(a) for a in args]))


def to_index(value: Any) -> int:
    """A whole number from what counts as one."""
    return operator.index(value)


__all__ = ["BUILTINS", "CPU", "builtin", "storage_fault"]
