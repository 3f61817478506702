"""The oracle: runs any PrimFunc as it stands, lowered or not, in plain Python.

It is the slowest and plainest back end and the living definition of the language; every other one
is compared with it.  It checks bounds, reads of memory that nothing was written to, index overflow
and division, and it runs loops of every kind serially.  What scalar operators mean stands in
`ir/fold.py`; what intrinsics mean, in their records; the rest, in the modules here.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import ArgumentTypeError
from ...ir import Expr, IRModule, PrimFunc, Return, Var
from ...node import runs_deep
from .arguments import Arguments, in_order, result
from .program import Program


@functools.lru_cache(maxsize=32)
def _program(owner: IRModule | PrimFunc) -> Program:
    """The compiled form; nodes are immutable and compared by identity here."""
    return Program(owner if isinstance(owner, IRModule) else None)


@runs_deep
def interpret(
    func: PrimFunc | IRModule,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    module: IRModule | None = None,
) -> Any:
    """Run a function on Python values and give back what it returns.

    Arrays (numpy, `runtime.Tensor`, anything with DLPack or a writable buffer) are written in place.
    `module` is where calls of other functions look; a module instead of a function means its `main`,
    or its only function.

    Raises ArgumentTypeError or ArgumentValueError for arguments that do not fit, ExecutionError
    (OutOfBoundsError, UninitializedError, IntegerOverflowError, DivisionError) where the program
    breaks a rule, the stated kind where an assertion fails, UnsupportedError for what cannot run here.
    """
    if isinstance(func, IRModule):
        module, func = func, _entry(func)
    if not isinstance(func, PrimFunc):
        raise ArgumentTypeError(f"the oracle runs PrimFuncs, not a {type(func).__name__}")
    arguments = Arguments(func, in_order(func, args, kwargs or {}))
    function = _program(module if module is not None else func).function(func)
    try:
        return result(function(arguments.values), func.ret_type)
    finally:
        arguments.give_back()


@runs_deep
def evaluate(e: Expr, values: Mapping[Var, Any] | None = None) -> Any:
    """The value of an expression in which the variables have these values (numbers, or arrays for buffers).

    Raises IRError for a variable without a value, and what `interpret` raises.
    """
    given = dict(values or {})
    func = PrimFunc(list(given), Return(e), e.ty)
    arguments = Arguments(func, list(given.values()))
    return result(Program().function(func)(arguments.values), e.ty)


def _entry(module: IRModule) -> PrimFunc:
    functions = [f for f in module.functions.values() if isinstance(f, PrimFunc)]
    found = functions[0] if len(functions) == 1 else module["main"]
    if not isinstance(found, PrimFunc):
        raise ArgumentTypeError(f"the oracle runs PrimFuncs, not a {type(found).__name__}")
    return found


__all__ = ["evaluate", "interpret"]
