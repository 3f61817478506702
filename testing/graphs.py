"""What graph programs mean: `evaluate` runs them on numpy, operator by operator.

It is the oracle of the graph dialect.  An operator means what its record's `numpy` says; loop programs are
run by their own oracle.  Every value is held against the type that its expression has, so that a wrong
type rule shows where it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dtype import DType
from ..errors import ArgumentTypeError, ArgumentValueError, Diagnostic, UnsupportedError
from ..ir import (
    Call,
    Expr,
    ExternFunc,
    FloatImm,
    GenericConst,
    GlobalVar,
    IntImm,
    IRModule,
    Op,
    PrimFunc,
    PrimType,
    StringImm,
    Tuple,
    TupleGetItem,
    TupleType,
    Type,
    Var,
    free_vars,
)
from ..ir.relax import (
    BindingBlock,
    DataTypeImm,
    Function,
    If,
    MatchCast,
    RelaxOp,
    SeqExpr,
    ShapeExpr,
    ShapeType,
    TensorType,
    get_op,
)
from ..node import runs_deep

Env = dict[Var, Any]
Kernel = Callable[[PrimFunc, Sequence[Any], IRModule | None], None]


@runs_deep
def evaluate(
    program: IRModule | Function, *args: Any, name: str = "main", kernel: Kernel | None = None
) -> Any:
    """The result of a graph function on numpy arrays; of its function `name`, if the program is a module.

    Tensors are arrays, shapes tuples of int, tuples are tuples, functions are callables.  `kernel` runs loop
    programs instead of their oracle: it gets the function, its arguments and the module.  Raises
    ArgumentTypeError or ArgumentValueError for arguments, and results of match_cast, that do not have
    the type asked for; AssertionError where an operator's result is not of the type that its rule gave.
    """
    mod = program if isinstance(program, IRModule) else None
    func = program[name] if isinstance(program, IRModule) else program
    if not isinstance(func, Function):
        raise ArgumentTypeError(
            Diagnostic("argument-type", f"`{name}` is no graph function, but a {type(func).__name__}")
        )
    return Evaluator(mod, kernel or _interpret).apply(func, {}, args, name)


def _interpret(func: PrimFunc, args: Sequence[Any], mod: IRModule | None) -> None:
    from ..codegen.python import interpret

    interpret(func, args, module=mod)


@dataclass(frozen=True, slots=True)
class Closure:
    """A graph function with the values of the variables around it."""

    func: Function
    env: Env
    owner: Evaluator

    def __call__(self, *args: Any) -> Any:
        return self.owner.apply(self.func, self.env, args, "closure")


class Evaluator:
    """Evaluates expressions of one module; `env` holds the values of variables and symbols."""

    def __init__(self, mod: IRModule | None, kernel: Kernel) -> None:
        self.mod = mod
        self.kernel = kernel

    def apply(self, func: Function, outer: Env, args: Sequence[Any], name: str) -> Any:
        """The result of a call of the function."""
        name = str(func.attrs.get("global_symbol", name))
        if len(args) != len(func.params):
            text = f"`{name}` takes {len(func.params)} arguments but {len(args)} were given"
            raise ArgumentTypeError(Diagnostic("argument-count", text, func.span))
        env = dict(outer)
        for param, value in zip(func.params, args):
            env[param] = as_value(value)
        for param in func.params:
            self.match(env[param], param.ty, env, f"parameter `{param.name}` of `{name}`")
        return self.checked(self.value(func.body, env), func.ret_ty, env, f"the result of `{name}`")

    def value(self, e: Expr, env: Env) -> Any:
        """The value of an expression."""
        rule = _RULES.get(type(e))
        if rule is not None:
            return rule(self, e, env)
        if isinstance(e, Var):
            return env[e]
        if isinstance(e.ty, PrimType):
            return scalar(e, env)
        raise UnsupportedError(Diagnostic("unsupported", f"a {type(e).__name__} in a graph", e.span))

    def sequence(self, seq: SeqExpr, env: Env) -> Any:
        """The value of a body: its bindings are evaluated in order."""
        for block in seq.blocks:
            self.block(block, env)
        return self.value(seq.body, env)

    def block(self, block: BindingBlock, env: Env) -> None:
        """Evaluate the bindings of a block into `env`."""
        for binding in block.bindings:
            var = binding.var
            value = self.value(binding.value, env)
            if isinstance(binding, MatchCast):
                self.match(value, binding.ty, env, f"the value of `{var.name}`")
            env[var] = self.checked(value, var.ty, env, f"`{var.name}`")

    def call(self, e: Call, env: Env) -> Any:
        """The result of a call."""
        if not isinstance(e.op, Op):
            return self.callee(e.op, env)(*[self.value(a, env) for a in e.args])
        name = e.op.name
        if not name.startswith("relax."):
            return scalar(e, env)
        special = _SPECIAL.get(name)
        result = self.operator(get_op(name), e, env) if special is None else special(self, e, env)
        return self.checked(result, e.ty, env, f"the result of `R.{name.removeprefix('relax.')}`")

    def operator(self, rec: RelaxOp, e: Call, env: Env) -> Any:
        """The result of a call of an operator."""
        if rec.numpy is None:
            why = rec.lacks.get("numpy", "it has no numpy meaning")
            raise UnsupportedError(Diagnostic("unsupported", f"`R.{rec.script}` in a graph on numpy: {why}"))
        operands, attrs = rec.split(e)
        values = [None if o is None else self.operand(o, env) for o in operands]
        with np.errstate(all="ignore"):
            return as_value(rec.numpy(*values, **attrs))

    def operand(self, e: Expr, env: Env) -> Any:
        """The value of an operand; a scalar is an array of rank 0 of its dtype."""
        value = self.value(e, env)
        return np.asarray(value, e.ty.dtype.numpy()) if isinstance(e.ty, PrimType) else value

    def callee(self, op: Expr, env: Env) -> Callable[..., Any]:
        """What an expression calls, as a function of values."""
        if isinstance(op, GlobalVar):
            func = self.function(op)
            if isinstance(func, Function):
                return Closure(func, {}, self)
            if isinstance(func, PrimFunc):
                return lambda *args: self.kernel(func, args, self.mod)
            op = func
        if isinstance(op, ExternFunc):
            return packed(op.global_symbol)
        found: Callable[..., Any] = self.value(op, env)
        return found

    def function(self, var: GlobalVar) -> Any:
        """The function of the module. Raises IRError where there is none."""
        return (IRModule({}) if self.mod is None else self.mod)[var]

    def outputs(self, ty: Type, env: Env) -> list[Any]:
        """New arrays for results of this type."""
        if isinstance(ty, TupleType):
            return [array for field in ty.fields_ for array in self.outputs(field, env)]
        if not isinstance(ty, TensorType) or ty.sizes is None or ty.dtype is None:
            raise UnsupportedError(Diagnostic("unsupported", f"an output of the type {ty!r}"))
        return [np.empty([scalar(s, env) for s in ty.sizes], ty.dtype.numpy())]

    def match(self, value: Any, ty: Type, env: Env, what: str) -> None:
        """Bind the symbols that the type defines, then check all of it. Raises for values that do not fit."""
        bind(value, ty, env)
        fault = misfit(value, ty, env)
        if fault is not None and fault.startswith("is"):
            raise ArgumentTypeError(Diagnostic("argument-type", f"{what} {fault}"))
        if fault is not None:
            raise ArgumentValueError(Diagnostic("argument-shape", f"{what} {fault}"))

    def checked(self, value: Any, ty: Type, env: Env, what: str) -> Any:
        """The value. Raises AssertionError where it does not have the type that the program states."""
        fault = misfit(value, ty, env)
        if fault is not None:
            raise AssertionError(f"{what} {fault}")
        return value


def scalar(e: Expr, env: Mapping[Var, Any]) -> Any:
    """The value of a scalar expression. Raises IRError for a symbol without a value."""
    if isinstance(e, IntImm | FloatImm):
        return bool(e.value) if e.dtype.is_bool else e.value
    if isinstance(e, Var) and e in env:
        return env[e]
    from ..codegen.python import evaluate as scalar_value

    return scalar_value(e, {v: env[v] for v in free_vars(e) if v in env})


def as_value(value: Any) -> Any:
    """A value as the evaluator keeps it: arrays for tensors, tuples for sequences."""
    if isinstance(value, list | tuple):
        return tuple([as_value(v) for v in value])
    if isinstance(value, np.generic):
        return np.asarray(value)
    if hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray):
        return value.numpy() if hasattr(value, "numpy") else np.from_dlpack(value)
    return value


def bind(value: Any, ty: Type, env: Env) -> None:
    """Give the symbols that stand alone as sizes in the type, and have no value yet, those of the value."""
    if isinstance(ty, TupleType) and isinstance(value, tuple):
        for v, field in zip(value, ty.fields_):
            bind(v, field, env)
    sizes, found = _sizes(value, ty)
    if sizes is not None and found is not None:
        for size, number in zip(sizes, found):
            if isinstance(size, Var):
                env.setdefault(size, number)


def _sizes(value: Any, ty: Type) -> tuple[Sequence[Expr] | None, Sequence[int] | None]:
    """The sizes of a type, and those of the value."""
    if isinstance(ty, TensorType) and isinstance(value, np.ndarray):
        return ty.sizes, value.shape
    if isinstance(ty, ShapeType) and isinstance(value, tuple):
        return ty.values, value
    return None, None


def misfit(value: Any, ty: Type, env: Mapping[Var, Any]) -> str | None:
    """How a value differs from what its type says, None if it does not."""
    if isinstance(ty, TupleType):
        if not isinstance(value, tuple) or len(value) != len(ty.fields_):
            return f"is no tuple of {len(ty.fields_)}"
        faults = [misfit(v, field, env) for v, field in zip(value, ty.fields_)]
        return next((f for f in faults if f is not None), None)
    if isinstance(ty, TensorType):
        return _tensor_misfit(value, ty, env)
    if isinstance(ty, ShapeType):
        return "is no shape" if not isinstance(value, tuple) else _size_misfit(value, ty.values, ty.ndim, env)
    return None


def _tensor_misfit(value: Any, ty: TensorType, env: Mapping[Var, Any]) -> str | None:
    if isinstance(value, bool | int | float):
        value = np.asarray(value, None if ty.dtype is None else ty.dtype.numpy())
    if not isinstance(value, np.ndarray):
        return f"is a {type(value).__name__}, no tensor"
    if ty.dtype is not None and DType(value.dtype) != ty.dtype:
        return f"is of `{DType(value.dtype)}`, its type says `{ty.dtype}`"
    return _size_misfit(value.shape, ty.sizes, ty.ndim, env)


def _size_misfit(
    found: Sequence[int], sizes: Sequence[Expr] | None, ndim: int, env: Mapping[Var, Any]
) -> str | None:
    if ndim >= 0 and len(found) != ndim:
        return f"has the rank {len(found)}, its type says {ndim}"
    if sizes is None:
        return None
    wanted = [scalar(s, env) if all(v in env for v in free_vars(s)) else n for s, n in zip(sizes, found)]
    return None if list(found) == wanted else f"has the shape {tuple(found)}, its type says {tuple(wanted)}"


def packed(name: str) -> Callable[..., Any]:
    """A registered function, for values of the evaluator. Raises UnknownFunctionError where there is none."""
    from ..runtime import get_global_func

    found = get_global_func(name)
    return lambda *args: as_value(found(*args))


def _call_tir(self: Evaluator, e: Call, env: Env) -> Any:
    """Destination passing: the outputs are new arrays behind the arguments."""
    args = list(self.value(e.args[1], env))
    made = self.outputs(e.ty_args[0], env)
    self.callee(e.args[0], env)(*args, *made)
    return tuple(made) if isinstance(e.ty_args[0], TupleType) else made[0]


def _call_tir_inplace(self: Evaluator, e: Call, env: Env) -> Any:
    """As `call_tir`; outputs that reuse an argument are copies of it here."""
    args = list(self.value(e.args[1], env))
    places = e.attrs["inplace_indices"]
    fresh = self.outputs(e.ty_args[0], env)
    made = [new if place < 0 else np.array(args[place]) for place, new in zip(places, fresh)]
    for place, array in zip(places, made):
        if place >= 0:
            args[place] = array
    self.callee(e.args[0], env)(*args, *[m for m, place in zip(made, places) if place < 0])
    return tuple(made) if isinstance(e.ty_args[0], TupleType) else made[0]


def _call_values(self: Evaluator, e: Call, env: Env) -> Any:
    """A call of what the first operand is, with the others as arguments."""
    return self.callee(e.args[0], env)(*[self.value(a, env) for a in e.args[1:]])


def _make_closure(self: Evaluator, e: Call, env: Env) -> Any:
    """The function with its last arguments fixed."""
    func, held = self.callee(e.args[0], env), self.value(e.args[1], env)
    return lambda *args: func(*args, *held)


def _invoke_closure(self: Evaluator, e: Call, env: Env) -> Any:
    """A call of a closure with the arguments of a tuple."""
    return self.callee(e.args[0], env)(*self.value(e.args[1], env))


_SPECIAL: dict[str, Callable[[Evaluator, Call, Env], Any]] = {
    "relax.call_tir": _call_tir,
    "relax.call_tir_with_grad": _call_tir,
    "relax.call_dps_packed": _call_tir,
    "relax.call_tir_inplace": _call_tir_inplace,
    "relax.call_pure_packed": _call_values,
    "relax.call_inplace_packed": _call_values,
    "relax.make_closure": _make_closure,
    "relax.invoke_closure": _invoke_closure,
    "relax.invoke_pure_closure": _invoke_closure,
}
"""Operators that call something: their meaning is that of what they call."""


def _if(self: Evaluator, e: If, env: Env) -> Any:
    branch = e.true_branch if bool(self.value(e.cond, env)) else e.false_branch
    return self.value(branch, dict(env))


_RULES: dict[type, Callable[[Evaluator, Any, Env], Any]] = {
    Call: Evaluator.call,
    SeqExpr: Evaluator.sequence,
    If: _if,
    Tuple: lambda self, e, env: tuple([self.value(f, env) for f in e.fields_]),
    TupleGetItem: lambda self, e, env: self.value(e.tuple_value, env)[e.index],
    ShapeExpr: lambda self, e, env: tuple([scalar(s, env) for s in e.values]),
    GenericConst: lambda self, e, env: e.value,
    DataTypeImm: lambda self, e, env: e.value,
    StringImm: lambda self, e, env: e.value,
    Function: lambda self, e, env: Closure(e, env, self),
    GlobalVar: Evaluator.callee,
    ExternFunc: Evaluator.callee,
}

__all__ = ["evaluate"]
