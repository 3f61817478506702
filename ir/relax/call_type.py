"""The type of a call of a function: its parameters' symbols are solved by the arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import Diagnostic, DTypeError
from ...node import Attrs
from ..expr import Call, Expr, Var
from ..function import ExternFunc
from ..op import Op
from ..text import text
from ..types import UNIT, AnyType, BufferType, FuncType, PointerType, PrimType, TupleType, Type
from ..visitor import type_vars
from .op import as_argument, as_callee, as_types, find_op
from .relations import erase
from .sizes import substitute_sizes
from .subtype import BaseCheckResult, type_base_check
from .types import ShapeType, TensorType

_KERNEL = (BufferType, PointerType)
"""Types of parameters that only kernels have; graphs give them tensors."""


def call_function(func: Any, args: Sequence[Any], span: Any = None) -> Call:
    """The call of a function of the module, of a variable that holds one, of an external one.

    Its type is the function's result type with the arguments' sizes for the symbols of the parameters.
    Raises DTypeError when the number or the types of the arguments do not fit.
    """
    given = [as_argument(a) for a in args]
    return Call(func, given, call_type(func, given), span=span)


def call_packed(func: Any, *args: Any, ty_args: Any = None, span: Any = None, **attrs: Any) -> Call:
    """A plain call of an external function, by its symbol: it may have effects.

    The caller states the result's type in `ty_args`; without, it is what the function's type says, else any
    value.  Raises DTypeError for what is no function.
    """
    callee = as_callee(func)
    if not isinstance(callee, ExternFunc) and not isinstance(callee.ty, FuncType | AnyType):
        wrong = f"R.call_packed: `func` must be a function, not `{text(callee.ty)}`"
        raise DTypeError(Diagnostic("operator-types", wrong))
    given = [as_argument(a) for a in args]
    types = () if ty_args is None else as_types(ty_args)
    return Call(callee, given, call_type(callee, given, types), Attrs(attrs), types, span)


def stated_result(types: Sequence[Type]) -> Type:
    """The result type that a caller states: one type, a tuple of several, anything where none is stated."""
    if not types:
        return AnyType()
    return types[0] if len(types) == 1 else TupleType(types)


def call_type(func: Expr, args: Sequence[Expr], ty_args: Sequence[Type] = ()) -> Type:
    """The type of a call of this function; what the caller states where the function says nothing."""
    if ty_args or not isinstance(func.ty, FuncType):
        return stated_result(ty_args)
    return result_type(func.ty, args, _shown(func))


def result_type(ty: FuncType, args: Sequence[Expr], name: str = "the function") -> Type:
    """The type of the result for these arguments.

    Symbols of the parameters become the arguments' sizes; those that no argument determines are erased.
    Raises DTypeError when the arguments do not fit.
    """
    params = ty.arg_types
    if params is None:
        return _derived(ty, args)
    if any(isinstance(p, _KERNEL) and not isinstance(a.ty, _KERNEL) for p, a in zip(params, args)):
        ty = _as_graph(ty)
        params = ty.arg_types or ()
    if len(args) != len(params):
        raise DTypeError(
            Diagnostic(
                "argument-count",
                f"{name} takes {len(params)} arguments, it is called with {len(args)}",
            )
        )
    solved: dict[Var, Expr] = {}
    for param, arg in zip(params, args):
        unify(param, arg.ty, solved)
    for i, (param, arg) in enumerate(zip(params, args)):
        wanted = _solve(param, solved, ty)
        if type_base_check(wanted, arg.ty) is BaseCheckResult.FAIL_L0:
            raise DTypeError(
                Diagnostic(
                    "argument-type",
                    f"argument {i} of {name} must be of type `{text(wanted)}`, not `{text(arg.ty)}`",
                )
            )
    return _solve(ty.ret_type, solved, ty)


def _as_graph(ty: FuncType) -> FuncType:
    """The type of a kernel as calls from graphs see it: buffers are tensors, no result is an empty tuple.

    A handle may be any tensor.
    """
    params = [
        TensorType(p.shape, p.dtype)
        if isinstance(p, BufferType)
        else TensorType(None, None)
        if isinstance(p, PointerType)
        else p
        for p in ty.arg_types or ()
    ]
    void = isinstance(ty.ret_type, PrimType) and ty.ret_type.dtype.is_void
    return FuncType(params, UNIT if void else ty.ret_type, ty.purity)


def _derived(ty: FuncType, args: Sequence[Expr]) -> Type:
    return ty.derive_func(tuple(args)) if callable(ty.derive_func) else ty.ret_type


def _solve(ty: Type, solved: Mapping[Var, Expr], func: FuncType) -> Type:
    """A type of the function with the solved symbols replaced, what mentions others of its own erased."""
    own = {v for p in func.arg_types or () for v in type_vars(p)}
    return substitute_sizes(erase(ty, lambda v: v in own and v not in solved), solved)


def unify(param: Type, arg: Type, solved: dict[Var, Expr]) -> None:
    """Note the sizes that stand where the symbols of a parameter's type stand alone; the first one counts."""
    if isinstance(param, TupleType) and isinstance(arg, TupleType):
        for p, a in zip(param.fields_, arg.fields_):
            unify(p, a, solved)
    elif isinstance(param, TensorType) and isinstance(arg, TensorType):
        _unify_sizes(param.sizes, arg.sizes, solved)
        if isinstance(param.shape, Var) and arg.shape is not None:
            solved.setdefault(param.shape, arg.shape)
    elif isinstance(param, ShapeType) and isinstance(arg, ShapeType):
        _unify_sizes(param.values, arg.values, solved)
    elif isinstance(param, FuncType) and isinstance(arg, FuncType) and param.arg_types and arg.arg_types:
        unify(param.ret_type, arg.ret_type, solved)


def _unify_sizes(params: Sequence[Expr] | None, args: Sequence[Expr] | None, solved: dict[Var, Expr]) -> None:
    if params is not None and args is not None and len(params) == len(args):
        for p, a in zip(params, args):
            if isinstance(p, Var):
                solved.setdefault(p, a)


def _shown(func: Expr) -> str:
    name = getattr(func, "name", None) or getattr(func, "global_symbol", None)
    return f"`{name}`" if name else "the function"


def retyped(call: Call) -> Call:
    """The call with its type derived anew from its operands.

    Raises DTypeError where they do not fit any more.
    """
    if isinstance(call.op, Op):
        rec = find_op(call.op.name)
        return call if rec is None else rec.again(call, call.args)
    ty = call_type(call.op, call.args, call.ty_args)
    return call if ty == call.ty else call.replace(ty=ty)


__all__ = [
    "call_function",
    "call_packed",
    "call_type",
    "result_type",
    "retyped",
    "stated_result",
    "unify",
]
