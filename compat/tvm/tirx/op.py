"""`tvm.tirx.op`: operators as functions; outside of kernels they fold as the peer's do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from .... import ir, te
from ....dtype import DType
from ....errors import Diagnostic, DTypeError
from ....ir import intrin
from ...adapters import lacking


def const(value: Any, dtype: Any = None, span: Any = None) -> Any:
    """A constant."""
    return ir.const(value, dtype)


def convert(expr: Any) -> Any:
    """A Python value as an expression."""
    return ir.as_expr(expr)


def _pairwise(name: str, two: Callable[..., Any]) -> Callable[..., Any]:
    def either(expr: Any, axis: Any = None, where: Any = None, init: Any = None, *args: Any) -> Any:
        if axis is None or isinstance(axis, ir.IterVar | list | tuple):
            return getattr(te, name)(expr, axis, where, init, *args)
        return two(expr, axis)

    either.__name__ = name
    either.__doc__ = f"The {name}imum of two values, or of an expression over axes."
    return either


def indexdiv(a: Any, b: Any, span: Any = None) -> Any:
    """floor(a / b) of indices."""
    return ir.floordiv(a, b)


def indexmod(a: Any, b: Any, span: Any = None) -> Any:
    """The remainder that belongs to `indexdiv`."""
    return ir.floormod(a, b)


def trace(args: Any, trace_action: str = "tvm.default_trace_action") -> Any:
    """A call that reports its arguments to a registered function and gives the last one back."""
    values = [ir.as_expr(a) for a in args]
    if not values:
        raise ValueError("trace needs an argument")
    return ir.Call("tirx.tvm_call_trace_packed", [ir.StringImm(trace_action), *values], values[-1].ty)


def address_of(obj: Any, span: Any = None) -> Any:
    """The address of a buffer, an element of one, or a scalar variable."""
    return _record("address_of")(obj)


def reinterpret(dtype: Any, value: Any, span: Any = None) -> Any:
    """The bits of a value as another type; a pointer is made of a 64-bit integer only.

    Raises DTypeError (a TypeError) for other sources of a pointer.
    """
    wanted = ir.call_type(dtype)
    value = ir.as_expr(value)
    if isinstance(wanted, ir.PointerType) and isinstance(value.ty, ir.PrimType):
        kind: DType = value.ty.dtype
        if kind.is_vector or kind.bits != 64 or not kind.is_integral:
            raise DTypeError(Diagnostic("type-mismatch", "a pointer needs a scalar 64-bit integer source"))
    return _record("reinterpret")(wanted, value)


def _record(name: str) -> Callable[..., Any]:
    found = ir.script_record(name)
    if found is None:
        raise AttributeError(f"there is no operator `{name}`")
    return found.build


_TABLE: Final[dict[str, Callable[..., Any]]] = {
    "abs": ir.absolute,
    "add": ir.add,
    "address_of": address_of,
    "all": ir.all_,
    "any": ir.any_,
    "bitwise_and": ir.bitwise_and,
    "bitwise_not": ir.bitwise_not,
    "bitwise_or": ir.bitwise_or,
    "bitwise_xor": ir.bitwise_xor,
    "comm_reducer": te.comm_reducer,
    "call_intrin": ir.call_intrin,
    "ceildiv": ir.ceildiv,
    "const": const,
    "convert": convert,
    "div": ir.div,
    "floordiv": ir.floordiv,
    "floormod": ir.floormod,
    "if_then_else": ir.if_then_else,
    "indexdiv": indexdiv,
    "indexmod": indexmod,
    "infinity": ir.infinity,
    "max": _pairwise("max", ir.max_),
    "max_value": ir.max_value,
    "min": _pairwise("min", ir.min_),
    "min_value": ir.min_value,
    "multiply": ir.mul,
    "pow": ir.power,
    "power": ir.power,
    "reinterpret": reinterpret,
    "shift_left": ir.shift_left,
    "shift_right": ir.shift_right,
    "subtract": ir.sub,
    "sum": te.sum,
    "trace": trace,
    "truncdiv": ir.truncdiv,
    "truncmod": ir.truncmod,
}
"""Operators whose Python form is not the spelling of script."""


def find_operator(name: str) -> Callable[..., Any] | None:
    """The function of this name in `tvm.tirx`, or None."""
    if name in _TABLE:
        return _TABLE[name]
    found = ir.script_record(name)
    if found is not None:
        return found.build
    helper = intrin.HELPERS.get(name)
    return helper if helper is not None and name not in ("Call", "Let", "Range") else None


_missing = lacking("tvm.tirx.op")


def __getattr__(name: str) -> Any:
    """Operators by name. Raises AttributeError for what is not there yet."""
    if name.startswith("__"):
        return _missing(name)
    found = find_operator(name)
    return found if found is not None else _missing(name)


__all__ = ["find_operator"]
