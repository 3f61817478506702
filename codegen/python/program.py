"""A module made ready to run: its functions compiled to closures, each on first use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...errors import ArgumentTypeError, ArgumentValueError, Diagnostic, LoopwrightError
from ...ir import BufferType, GlobalVar, IRModule, PointerType, PrimFunc, PrimType, Var
from .faults import describe, unsupported
from .memory import Pointer, View, compact
from .scope import UNSET, Scope
from .statements import Symbols, statement, view_at

if TYPE_CHECKING:
    from .expressions import Env

Bind = Callable[["Env", Any], None]


class Program:
    """The functions of a module, or one function alone."""

    def __init__(self, module: IRModule | None = None) -> None:
        self.module = module
        self._functions: dict[int, Function] = {}

    def function(self, func: PrimFunc) -> Function:
        """The compiled form of a function."""
        found = self._functions.get(id(func))
        if found is None:
            found = self._functions[id(func)] = Function(func, self)
        return found

    def named(self, name: GlobalVar, node: Any) -> Function:
        """The compiled form of the function that a call names. Raises UnsupportedError or IRError."""
        if self.module is None:
            help = ("interpret the module: `interpret(func, args, module=mod)`",)
            raise unsupported(node, f"the call of `{name.name}` needs the module it is defined in", help)
        func = self.module[name.name]
        if not isinstance(func, PrimFunc):
            raise unsupported(node, f"the oracle cannot call `{name.name}`, a {type(func).__name__}")
        return self.function(func)


class Function:
    """One compiled function: binds its arguments in a new frame and runs the body."""

    def __init__(self, func: PrimFunc, program: Program) -> None:
        self.func = func
        self.name = str(func.attrs.get("global_symbol", "main"))
        self.scope = Scope(func, program)
        self._slots = [self.scope.define(p) for p in func.params]
        self._buffers = [
            BufferParam(self.scope, i, p, self.name)
            for i, p in enumerate(func.params)
            if isinstance(p.ty, BufferType)
        ]
        for param in self._buffers:
            param.finish()
        self._body = statement(self.scope, func.body)

    def __call__(self, values: Sequence[Any]) -> Any:
        """Run with runtime values (numbers, views, pointers) for the parameters.

        Raises ArgumentTypeError and ArgumentValueError where they do not fit.
        """
        env: Env = [UNSET] * len(self.scope)
        for slot, value in zip(self._slots, values):
            env[slot] = value
        for param in self._buffers:
            param.bind(env, values[param.number])
        for param in self._buffers:
            param.check(env)
        left = self._body(env)
        return None if left is None or left.what != "return" else left.value


class BufferParam:
    """A buffer parameter: what its type says of the argument."""

    def __init__(self, scope: Scope, number: int, var: Var, function: str) -> None:
        ty = var.ty
        assert isinstance(ty, BufferType)
        self.number = number
        self.function = function
        self.var = var
        self.ty = ty
        self._scope = scope
        self._slot = scope.slot(var)
        self._shape = Symbols(scope, ty.shape, "shape")
        self._strides = Symbols(scope, ty.strides, "strides")
        self._offset = Symbols(scope, () if ty.elem_offset is None else (ty.elem_offset,), "element offset")
        self._at_pointer: Callable[[Env, Pointer | None], View] | None = None

    def finish(self) -> None:
        """Compile what may use the symbols of other parameters."""
        for symbols in (self._shape, self._strides, self._offset):
            symbols.finish()
        self._at_pointer = view_at(self._scope, self.var, self.var)

    def fault(self, kind: type[LoopwrightError], code: str, message: str) -> LoopwrightError:
        """The error of this argument."""
        return kind(
            Diagnostic(code, f"{place(self.function, self.number, self.var)} {message}", self.var.span)
        )

    def bind(self, env: Env, value: Any) -> None:
        """Put the argument into the frame, and the numbers that the new symbols stand for."""
        if isinstance(value, Pointer):
            assert self._at_pointer is not None
            self._offset.bind(env, [0] * (self.ty.elem_offset is not None), self.var)
            env[self._slot] = self._at_pointer(env, value)
            return
        if not isinstance(value, View):
            raise self.fault(ArgumentTypeError, "argument-type", "must be a buffer")
        if value.dtype is not self.ty.dtype:
            message = f"must have dtype `{self.ty.dtype}`, not `{value.dtype}`"
            raise self.fault(ArgumentTypeError, "argument-dtype", message)
        rank = len(self.ty.shape)
        if len(value.shape) != rank:
            message = f"must have {rank} dimensions, not {len(value.shape)}"
            raise self.fault(ArgumentValueError, "argument-rank", message)
        self._shape.bind(env, value.shape, self.var)
        self._strides.bind(env, self._steps(value), self.var)
        self._offset.bind(env, self._start(value), self.var)
        first = value.origin * value.size
        env[self._slot] = View(
            self.var,
            Pointer(value.storage, first - self._start_cells(value) * value.size),
            value.shape,
            tuple([s // value.lanes for s in value.strides]),
            self._start_cells(value) // value.lanes,
        )

    def _start_cells(self, value: View) -> int:
        return value.origin - value.data.offset // value.size if self.ty.elem_offset is not None else 0

    def _steps(self, value: View) -> list[int]:
        return [s // value.lanes for s in value.strides] if self.ty.strides else []

    def _start(self, value: View) -> list[int]:
        return [self._start_cells(value) // value.lanes] if self.ty.elem_offset is not None else []

    def check(self, env: Env) -> None:
        """Raise ArgumentValueError where the argument's sizes are not those that the type states."""
        view: View = env[self._slot]
        given = (
            (self._shape, view.shape),
            (self._strides, self._steps(view)),
            (self._offset, self._start(view)),
        )
        for symbols, numbers in given:
            found = symbols.mismatch(env, numbers)
            if found is not None:
                size = symbols.sizes[found[0]]
                more = f" (`{size.name}`)" if isinstance(size, Var) else ""
                message = f"must have {symbols.what}[{found[0]}] {found[1]}{more}, not {found[2]}"
                raise self.fault(ArgumentValueError, f"argument-{symbols.what.split()[-1]}", message)
        lanes = [s * view.lanes for s in compact(view.shape)]
        uneven = [s for s, c, n in zip(view.strides, lanes, view.shape) if n > 1 and s != c]
        if not self.ty.strides and uneven and 0 not in view.shape:
            raise self.fault(ArgumentValueError, "argument-strides", "is not compact")


def place(function: str, number: int, var: Var) -> str:
    """How messages name an argument; they count from 1."""
    return f"{function}: argument {number + 1} ({var.name})"


def takes(var: Var, value: Any, number: int, function: str) -> Any:
    """The runtime value of a scalar or handle parameter for a Python value.

    Raises ArgumentTypeError for another kind, ArgumentValueError for a number outside the type.
    """
    where = place(function, number, var)
    if isinstance(var.ty, PointerType):
        if value is None or isinstance(value, Pointer):
            return value
        raise ArgumentTypeError(
            describe("argument-type", f"{where} must be a pointer, an array or None", var)
        )
    if not isinstance(var.ty, PrimType) or var.ty.dtype.is_vector:
        raise unsupported(var, f"{where} has a type that Python values do not have")
    dtype = var.ty.dtype
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()
    wanted = (int, float) if dtype.is_float else (int,)
    if not isinstance(value, wanted):
        what = "a number" if dtype.is_float else "a bool" if dtype.is_bool else "an int"
        message = f"{where} must be {what} for `{dtype}`, not a {type(value).__name__}"
        raise ArgumentTypeError(describe("argument-type", message, var))
    if dtype.is_float:
        from ...ir.fold import round_to

        return round_to(dtype, float(value))
    number_ = int(bool(value)) if dtype.is_bool else int(value)
    if dtype.wrap(number_) != number_:
        raise ArgumentValueError(
            describe("argument-value", f"{where} is {value}, outside the range of `{dtype}`", var)
        )
    return number_
