"""The meaning of calls: intrinsics with a rule of their own, records with a numpy meaning, functions."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from ...dtype import DType
from ...errors import LoopwrightError, OutOfBoundsError
from ...ir import (
    Add,
    BufferLoad,
    BufferType,
    Call,
    Expr,
    GlobalVar,
    Op,
    PointerType,
    PrimType,
    StringImm,
    Var,
    find_record,
)
from ...ir.fold import round_to
from ...ir.ops.numerics import power
from ...runtime import Tensor, from_dlpack, get_global_func, print_values
from ...runtime.registry import UnknownFunctionError
from . import copies
from . import expressions as X
from .faults import broken, describe, unsupported
from .memory import Pointer, Storage, View, lane_count
from .scope import Scope

if TYPE_CHECKING:
    pass

Closure = Callable[[list[Any]], Any]


def call(scope: Scope, e: Call, index: bool = False) -> Closure:
    """The closure of a call. Raises UnsupportedError, naming the operator, for what cannot be run."""
    if isinstance(e.op, GlobalVar):
        return _function(scope, e, e.op)
    if not isinstance(e.op, Op):
        raise unsupported(e, "the oracle cannot call through a pointer")
    name = e.op.name
    rule = _RULES.get(name)
    if rule is not None:
        return rule(scope, e, index)
    found = find_record(name)
    if found is None or found.numpy is None:
        raise unsupported(e, f"the oracle has no meaning for the operator `{name}`")
    return _numpy(scope, e, e.args, found.numpy, index)


def to_array(value: Any, ty: Any) -> Any:
    """A number or vector as numpy value of its dtype; strings and others unchanged."""
    if not isinstance(ty, PrimType) or not isinstance(value, int | float | tuple):
        return value
    import numpy as np

    item = ty.dtype.numpy()
    if isinstance(value, tuple):
        return np.array([float(v) if ty.dtype.is_float else v for v in value]).astype(item)
    if ty.dtype.code in (0, 1, 2, 6) and ty.dtype.bits >= 8:
        return item.type(value)
    return np.array(value).astype(item)[()]


def from_array(value: Any, ty: Any) -> Any:
    """A numpy result as the number or vector of this type."""
    import numpy as np

    if not isinstance(ty, PrimType) or ty.dtype.is_handle or ty.dtype.bits == 0:
        return value
    dtype = ty.dtype.element
    convert: Any = functools.partial(_to_float, dtype) if dtype.is_float else int
    if ty.dtype.is_vector:
        return tuple([convert(v) for v in np.asarray(value).reshape(-1)])
    return convert(value)


def _to_float(dtype: DType, value: Any) -> float:
    return round_to(dtype, float(value))


def _numpy(scope: Scope, e: Call, args: Sequence[Expr], meaning: Callable[..., Any], index: bool) -> Closure:
    closures = X.expressions(scope, args, index)
    types = [a.ty for a in args]

    def run(env: list[Any]) -> Any:
        import numpy as np

        values = [to_array(c(env), ty) for c, ty in zip(closures, types)]
        with np.errstate(all="ignore"):
            out = meaning(*values)
        return from_array(out, e.ty)

    return run


def _if_then_else(scope: Scope, e: Call, index: bool) -> Closure:
    condition, yes, no = X.expressions(scope, e.args, index)

    def run(env: list[Any]) -> Any:
        choice = condition(env)
        if type(choice) is tuple:
            return tuple([a if c else b for c, a, b in zip(choice, yes(env), no(env))])
        return yes(env) if choice else no(env)

    return run


def _first(scope: Scope, e: Call, index: bool) -> Closure:
    return X.expression(scope, e.args[0], index)


def _nothing(scope: Scope, e: Call, index: bool) -> Closure:
    return lambda env: 0


def _vscale(scope: Scope, e: Call, index: bool) -> Closure:
    lanes = lane_count(DType("int8xvscalex1"))
    return lambda env: lanes


def _assume(scope: Scope, e: Call, index: bool) -> Closure:
    condition = X.expression(scope, e.args[0])

    def run(env: list[Any]) -> Any:
        if not condition(env):
            raise broken(scope, env, e, "assumption", "an assumption does not hold")
        return 1

    return run


def _undef(scope: Scope, e: Call, index: bool) -> Closure:
    raise unsupported(e, "`T.undef()` has no value that the oracle could compute with")


# --- vectors


def _lane_mask(scope: Scope, e: Call, index: bool) -> Closure:
    base, limit = X.expressions(scope, e.args)
    lanes = range(X.lanes_of(e))

    def run(env: list[Any]) -> Any:
        start, end = base(env), limit(env)
        return tuple([int(start + i < end) for i in lanes])

    return run


def _buffer(scope: Scope, e: Call) -> Var:
    buffer = e.args[0]
    if not isinstance(buffer, Var) or not isinstance(buffer.ty, BufferType):
        raise unsupported(e, "the first argument is not a buffer")
    return buffer


class _Lanes:
    """A masked access: a place for each lane that the mask lets through."""

    __slots__ = ("_indices", "_mask", "_node", "_scope", "_slot", "_vector")

    def __init__(self, scope: Scope, e: Call, indices: Sequence[Expr], mask: Expr) -> None:
        self._scope, self._node = scope, e
        self._slot = scope.slot(_buffer(scope, e), e)
        self._indices = X.expressions(scope, tuple(indices), True)
        self._vector = bool(indices) and X.is_vector(indices[-1])
        self._mask = X.expression(scope, mask)

    def __call__(self, env: list[Any]) -> tuple[View, list[int | None]]:
        """The view, and the cell of each lane, None where the mask is false."""
        view = env[self._slot]
        indices, mask = [i(env) for i in self._indices], self._mask(env)
        on = mask if type(mask) is tuple else (mask,)
        rows = [[*indices[:-1], i] for i in indices[-1]] if self._vector else [indices]
        if view.lanes != 1:  # elements are vectors themselves: a mask bit for each lane of each
            rows = [row for row in rows for _ in range(view.lanes)]
        places: list[int | None] = []
        for i, (bit, row) in enumerate(zip(on, rows)):
            at = X.cell(self._scope, env, self._node, view, row) + i % view.lanes if bit else None
            places.append(at)
        return view, places


def _masked_load(scope: Scope, e: Call, index: bool) -> Closure:
    lanes = _Lanes(scope, e, e.args[1:-1], e.args[-1])
    blank = 0.0 if e.dtype.is_float else 0

    def run(env: list[Any]) -> Any:
        view, places = lanes(env)
        values = tuple([blank if at is None else X.read(scope, env, e, view, at) for at in places])
        return values if X.is_vector(e) else values[0]

    return run


def _masked_store(scope: Scope, e: Call, index: bool) -> Closure:
    value = X.expression(scope, e.args[1])
    lanes = _Lanes(scope, e, e.args[2:-1], e.args[-1])

    def run(env: list[Any]) -> Any:
        new = value(env)
        view, places = lanes(env)
        for at, v in zip(places, new if type(new) is tuple else (new,)):
            if at is not None:
                X.write(scope, env, e, view, at, v)
        return 0

    return run


def _reinterpret(scope: Scope, e: Call, index: bool) -> Closure:
    value, source, target = X.expression(scope, e.args[0]), e.args[0].ty, e.ty
    if isinstance(target, PointerType) or isinstance(source, PointerType):
        return _pointer_cast(scope, e, value)
    to = target.dtype if isinstance(target, PrimType) else DType("void")
    if to.bits == 0 or not isinstance(source, PrimType):
        raise unsupported(e, "reinterpret takes and gives numbers")

    def run(env: list[Any]) -> Any:
        import numpy as np

        bits = np.ascontiguousarray(to_array(value(env), source)).reshape(-1)
        return from_array(bits.view(to.numpy()) if to.is_vector else bits.view(to.numpy())[0], target)

    return run


def _pointer_cast(scope: Scope, e: Call, value: Closure) -> Closure:
    def run(env: list[Any]) -> Any:
        found = value(env)
        if isinstance(e.ty, PointerType) and (found is None or isinstance(found, Pointer)):
            return found
        if isinstance(e.ty, PointerType) and found == 0:
            return None
        if found is None:
            return 0
        raise unsupported(e, "the oracle's pointers have no numeric addresses")

    return run


# --- pointers


def _data(scope: Scope, e: Call, index: bool) -> Closure:
    slot = scope.slot(_buffer(scope, e), e)

    def run(env: list[Any]) -> Any:
        return env[slot].data

    return run


def _address_of(scope: Scope, e: Call, index: bool) -> Closure:
    target = e.args[0]
    if isinstance(target, Var) and isinstance(target.ty, BufferType):
        slot = scope.slot(target, e)
        return lambda env: Pointer(env[slot].storage, env[slot].origin * env[slot].size)
    if not isinstance(target, BufferLoad):
        raise unsupported(e, "`T.address_of` takes an element of a buffer")
    slot, place = scope.slot(target.buffer, e), X.cells(scope, e, target.buffer, target.indices)

    def run(env: list[Any]) -> Any:
        view = env[slot]
        at = place(env, view)
        return Pointer(view.storage, (at[0] if type(at) is tuple else at) * view.size)

    return run


def _element_size(e: Expr) -> int:
    dtype = DType(e.dtype) if isinstance(e.ty, PrimType) else DType("void")
    if dtype.bits == 0:
        return 1
    return lane_count(dtype) * (8 if dtype.is_handle else dtype.numpy().itemsize)


def _access_ptr(scope: Scope, e: Call, index: bool) -> Closure:
    size = _element_size(e.args[0])
    data, offset = X.expression(scope, e.args[1]), X.expression(scope, e.args[2], True)
    return lambda env: _moved(scope, env, e, data(env), offset(env) * size)


def _byte_offset(scope: Scope, e: Call, index: bool) -> Closure:
    data, offset = X.expression(scope, e.args[0]), X.expression(scope, e.args[1], True)
    return lambda env: _moved(scope, env, e, data(env), offset(env))


def _moved(scope: Scope, env: list[Any], e: Call, pointer: Any, size: int) -> Pointer:
    if isinstance(pointer, View):
        pointer = pointer.data
    if not isinstance(pointer, Pointer):
        raise broken(scope, env, e, "null-pointer", "an offset from the null pointer")
    moved = pointer.moved(size)
    whole = moved.storage.memory.size
    if not 0 <= moved.offset <= whole:
        message = f"an address {moved.offset} bytes into the {whole} of `{moved.storage.name}`"
        raise OutOfBoundsError(describe("out-of-bounds", message, e, scope, env))
    return moved


def _atomic(scope: Scope, e: Call, index: bool) -> Closure:
    """Adds to a cell, or swaps its value where it is the expected one; gives the value before."""
    swaps = len(e.args) == 3
    place, *operands = X.expressions(scope, e.args)
    dtype = e.args[1].dtype
    add = X.scalar_rule(scope, e, Add, dtype, False)

    def run(env: list[Any]) -> Any:
        pointer, values = place(env), [v(env) for v in operands]
        if not isinstance(pointer, Pointer):
            raise broken(scope, env, e, "null-pointer", "an atomic update at the null pointer")
        view = View(Var("cell", BufferType(dtype, (1,))), pointer, (1,))
        at = X.cell(scope, env, e, view, [0])
        old = X.read(scope, env, e, view, at)
        new = (values[1] if old == values[0] else old) if swaps else add(env, old, values[0])
        X.write(scope, env, e, view, at, new)
        return old

    return run


def _is_null(scope: Scope, e: Call, index: bool) -> Closure:
    value = X.expression(scope, e.args[0])
    return lambda env: int(value(env) is None)


def _workspace(scope: Scope, e: Call, index: bool) -> Closure:
    size = X.expression(scope, e.args[2], True)
    return lambda env: Pointer(Storage.allocate(size(env), "workspace"), 0)


def _stack_alloca(scope: Scope, e: Call, index: bool) -> Closure:
    count = X.expression(scope, e.args[1], True)
    return lambda env: Pointer(Storage.allocate(16 * count(env), "stack"), 0)


# --- functions


def _function(scope: Scope, e: Call, name: GlobalVar) -> Closure:
    from .program import takes

    callee: list[Any] = []
    args = X.expressions(scope, e.args)

    def run(env: list[Any]) -> Any:
        if not callee:
            callee.append(scope.program.named(name, e))
        function = callee[0]
        params = function.func.params
        if len(params) != len(args):
            raise broken(scope, env, e, "argument-count", f"`{name.name}` takes {len(params)} arguments")
        values = [a(env) for a in args]
        for i, (param, value) in enumerate(zip(params, values)):
            if isinstance(value, View) and isinstance(param.ty, PointerType):
                values[i] = value.data
            elif not isinstance(param.ty, BufferType):
                values[i] = takes(param, value, i, name.name)
        return function(values)

    return run


def _packed(scope: Scope, e: Call, index: bool) -> Closure:
    if not e.args or not isinstance(e.args[0], StringImm):
        raise unsupported(e, "a packed call begins with the function's name")
    name, rest = e.args[0].value, e.args[1:]
    args = [_packed_value(scope, e, a) for a in rest]

    def run(env: list[Any]) -> Any:
        try:
            function = get_global_func(name)
        except UnknownFunctionError as err:
            found = err.diagnostics[0]
            raise UnknownFunctionError(describe(found.code, found.message, e, help=found.help)) from None
        out = function(*[a(env) for a in args])
        if isinstance(e.ty, PrimType) and e.ty.dtype.bits and not e.ty.dtype.is_handle:
            return _number_of(out, e)
        return out

    return run


def _number_of(out: Any, e: Call) -> Any:
    if out is None:
        return 0
    dtype = e.dtype
    if isinstance(out, int | float) and not dtype.is_vector:
        return round_to(dtype, float(out)) if dtype.is_float else dtype.wrap(int(out))
    raise unsupported(e, f"a packed function gave a {type(out).__name__} where `{dtype}` is expected")


def _packed_value(scope: Scope, e: Call, arg: Expr) -> Closure:
    value = X.expression(scope, arg)
    is_bool = isinstance(arg.ty, PrimType) and arg.ty.dtype.is_bool and arg.ty.dtype.is_scalar

    def run(env: list[Any]) -> Any:
        found = value(env)
        if isinstance(found, View):
            return tensor_of(found)
        if isinstance(found, Pointer):
            raise unsupported(e, "a raw pointer cannot pass to a packed function", ("pass the buffer",))
        return bool(found) if is_bool else found

    return run


def tensor_of(view: View) -> Tensor:
    """The buffer as a tensor over the same memory; the receiver may fill what was not written."""
    if view.written is not None:
        view.written[:] = b"\1" * len(view.written)
    array = view.array()
    try:
        return from_dlpack(array)
    except LoopwrightError:  # elements of a few bits are packed in tensors
        from ...runtime import tensor

        return tensor(array)


def _make_array(scope: Scope, e: Call, index: bool) -> Closure:
    data = X.expression(scope, e.args[0])
    shape = X.expression(scope, e.args[1])
    dtype = e.args[4].dtype

    def run(env: list[Any]) -> Any:
        pointer, dims = data(env), shape(env)
        var = Var("argument", BufferType(dtype, dims))
        return View(var, pointer, tuple(dims))

    return run


def _make_shape(scope: Scope, e: Call, index: bool) -> Closure:
    sizes = X.expressions(scope, e.args, True)
    return lambda env: tuple([s(env) for s in sizes])


def _tuple(scope: Scope, e: Call, index: bool) -> Closure:
    parts = X.expressions(scope, e.args)
    return lambda env: tuple([p(env) for p in parts])


def _round(x: Any) -> Any:
    import numpy as np

    return np.copysign(np.floor(np.abs(x) + 0.5), x)


def _erf(x: Any) -> float:
    return math.erf(float(x))


_SAME: Final = (
    *("cbrt", "ceil", "copysign", "cos", "cosh", "exp", "exp2", "expm1", "fabs", "floor", "fmax", "fmin"),
    *("fmod", "hypot", "ldexp", "log", "log10", "log1p", "log2", "nextafter", "rint", "sin", "sinh", "sqrt"),
    *("tan", "tanh", "trunc"),
)
EXTERN: Final[dict[str, str | Callable[..., Any]]] = {
    **{name: name for name in _SAME},
    **{f"a{name}": f"arc{name}" for name in ("cos", "cosh", "sin", "sinh", "tan", "tanh")},
    "abs": abs,
    "atan2": "arctan2",
    "erf": _erf,
    "nearbyint": "rint",
    "pow": power,
    "round": _round,
}
"""The external functions that the oracle knows: C's mathematics, with numpy's name or a function."""


def _extern(scope: Scope, e: Call, index: bool) -> Closure:
    import numpy as np

    name = e.args[0].value if isinstance(e.args[0], StringImm) else "?"
    meaning = EXTERN.get(name) or EXTERN.get(name.removesuffix("f"))
    if meaning is None:
        known = "it knows the functions of C's mathematics library"
        raise unsupported(e, f"the oracle cannot call the external function `{name}`", (known,))
    return _numpy(scope, e, e.args[1:], getattr(np, meaning) if isinstance(meaning, str) else meaning, False)


# --- looking at a running program


def _shown(value: Any) -> Any:
    if isinstance(value, View):
        return value.array()
    return value


def _print(scope: Scope, e: Call, index: bool) -> Closure:
    args = X.expressions(scope, e.args)
    dtypes = [a.ty.dtype if isinstance(a.ty, PrimType) else None for a in e.args]

    def run(env: list[Any]) -> Any:
        print_values([(_shown(a(env)), dtype) for a, dtype in zip(args, dtypes)])
        return 0

    return run


def _print_buffer(scope: Scope, e: Call, index: bool) -> Closure:
    data = X.expression(scope, e.args[0])
    dtype = e.args[1].value if isinstance(e.args[1], StringImm) else "float32"
    sizes = X.expressions(scope, e.args[5:], True)

    def run(env: list[Any]) -> Any:
        pointer, shape = data(env), tuple([s(env) for s in sizes])
        var = Var("buffer", BufferType(dtype, shape))
        print(View(var, pointer, shape).array())
        return 0

    return run


def _breakpoint(scope: Scope, e: Call, index: bool) -> Closure:
    def run(env: list[Any]) -> Any:
        variables = {name: _shown(value) for name, value in scope.values(env).items()}
        stop(variables)
        return 0

    return run


def stop(variables: dict[str, Any]) -> None:
    """Stop in the debugger; `variables` are those of the running kernel, arrays over its own memory."""
    sys.breakpointhook()


_RULES: Final[dict[str, Callable[[Scope, Call, bool], Closure]]] = {
    "prim.if_then_else": _if_then_else,
    "prim.vscale": _vscale,
    "tirx.TVMBackendAllocWorkspace": _workspace,
    "tirx.TVMBackendFreeWorkspace": _nothing,
    "tirx.address_of": _address_of,
    "tirx.atomic_add": _atomic,
    "tirx.cuda.atomic_add": _atomic,
    "tirx.cuda.atomic_cas": _atomic,
    "tirx.assume": _assume,
    "tirx.breakpoint": _breakpoint,
    "tirx.buffer_data": _data,
    "tirx.call_extern": _extern,
    "tirx.call_pure_extern": _extern,
    "tirx.end_profile_intrinsic": _nothing,
    "tirx.get_active_lane_mask": _lane_mask,
    "tirx.handle_add_byte_offset": _byte_offset,
    "tirx.isnullptr": _is_null,
    "tirx.masked_load": _masked_load,
    "tirx.masked_store": _masked_store,
    "tirx.prefetch": _nothing,
    "tirx.ptx.cp_async_commit_group": copies.commit_group,
    "tirx.ptx.cp_async_wait_group": copies.wait_group,
    "tirx.print": _print,
    "tirx.print_buffer": _print_buffer,
    "tirx.ptr_byte_offset": _byte_offset,
    "tirx.reinterpret": _reinterpret,
    "tirx.s_tir.cp_async_raw": copies.async_copy,
    "tirx.s_tir.ldg32": copies.guarded_load,
    "tirx.start_profile_intrinsic": _nothing,
    "tirx.tvm_access_ptr": _access_ptr,
    "tirx.tvm_call_cpacked": _packed,
    "tirx.tvm_call_packed": _packed,
    "tirx.tvm_stack_alloca": _stack_alloca,
    "tirx.tvm_stack_make_array": _make_array,
    "tirx.tvm_stack_make_shape": _make_shape,
    "tirx.tvm_thread_invariant": _first,
    "tirx.tvm_tuple": _tuple,
    "tirx.undef": _undef,
}
