"""Axes and symbols: `reduce_axis`, `thread_axis`, `var`, `const`.

An axis is an `IterVar` that stands in arithmetic for its variable, so that `A[i + k]` may be
written with a reduction axis `k`.
"""

from __future__ import annotations

from typing import Any

from ..dtype import DType
from ..errors import LoopwrightError
from ..ir import Expr, IterVar, PrimType, Range, Var, as_expr, as_index
from ..ir import const as ir_const
from ..ir import operators as op
from ..ir.promote import is_operand, match
from ..script.values import active_builder
from .faults import type_fault


def _binary(function: Any, *, swapped: bool = False) -> Any:
    def method(self: IterVar, other: Any) -> Any:
        if not is_operand(other):
            return NotImplemented
        return function(other, self.var) if swapped else function(self.var, other)

    return method


class Axis(IterVar):
    """An axis of iteration that Python's operators combine, as the variable it runs."""

    __slots__ = ()

    __add__ = _binary(op.add)
    __radd__ = _binary(op.add, swapped=True)
    __sub__ = _binary(op.sub)
    __rsub__ = _binary(op.sub, swapped=True)
    __mul__ = _binary(op.mul)
    __rmul__ = _binary(op.mul, swapped=True)
    __truediv__ = _binary(op.div)
    __rtruediv__ = _binary(op.div, swapped=True)
    __floordiv__ = _binary(op.floordiv)
    __rfloordiv__ = _binary(op.floordiv, swapped=True)
    __mod__ = _binary(op.floormod)
    __rmod__ = _binary(op.floormod, swapped=True)
    __lshift__ = _binary(op.shift_left)
    __rlshift__ = _binary(op.shift_left, swapped=True)
    __rshift__ = _binary(op.shift_right)
    __rrshift__ = _binary(op.shift_right, swapped=True)
    __and__ = _binary(op.bitwise_and)
    __rand__ = _binary(op.bitwise_and, swapped=True)
    __or__ = _binary(op.bitwise_or)
    __ror__ = _binary(op.bitwise_or, swapped=True)
    __xor__ = _binary(op.bitwise_xor)
    __rxor__ = _binary(op.bitwise_xor, swapped=True)
    __lt__ = _binary(op.less)
    __le__ = _binary(op.less_equal)
    __gt__ = _binary(op.greater)
    __ge__ = _binary(op.greater_equal)
    __hash__ = IterVar.__hash__

    def __eq__(self, other: object) -> Any:
        return self is other if isinstance(other, IterVar) or not is_operand(other) else self.var == other

    def __ne__(self, other: object) -> Any:
        if isinstance(other, IterVar) or not is_operand(other):
            return self is not other
        return self.var != other

    def __neg__(self) -> Any:
        return op.neg(self.var)

    @property
    def dtype(self) -> DType:
        """The dtype of the variable."""
        return self.var.dtype

    @property
    def ty(self) -> Any:
        """The type of the variable."""
        return self.var.ty

    def astype(self, dtype: Any, span: Any = None) -> Any:
        """The variable converted to the dtype."""
        return op.cast(self.var, dtype)


def domain_of(dom: Any, what: str) -> Range:
    """The range that `dom` says: a Range, or a pair of begin and end. Raises TensorTypeError for others."""
    low: Any = None
    extent: Any = None
    if isinstance(dom, Range):
        low, extent = dom.min, dom.extent
    elif isinstance(dom, list | tuple) and len(dom) == 2:
        low, extent = dom[0], op.sub(dom[1], dom[0]) if _is_index(dom[0]) and _is_index(dom[1]) else None
    if extent is None or not _is_index(low) or not _is_index(extent):
        raise type_fault(f"the domain of {what} is a pair of integers (begin, end) or a Range, not {dom!r}")
    return Range(*match(as_index(low), as_index(extent)))


def _is_index(value: Any) -> bool:
    if not is_operand(value):
        return False
    try:
        dtype = as_expr(value).dtype
    except LoopwrightError:
        return False
    return dtype.is_integral and not dtype.is_bool and dtype.is_scalar


def reduce_axis(dom: Any, name: str = "rv", thread_tag: str = "", span: Any = None) -> Axis:
    """An axis to reduce over: `dom` is (begin, end) or a Range, and may mention other axes.

    Raises TensorTypeError when the domain is none.
    """
    domain = domain_of(dom, f"the reduction axis `{name}`")
    return Axis(domain, Var(name, domain.extent.ty), IterVar.COMM_REDUCE, thread_tag, span)


def thread_axis(dom: Any = None, tag: str = "", name: str = "", span: Any = None) -> Axis:
    """An axis of threads with a tag such as "threadIdx.x"; a text as only argument is the tag."""
    if isinstance(dom, str):
        dom, tag = None, dom
    if not tag:
        raise type_fault("a thread axis needs a tag", help=('for example te.thread_axis("threadIdx.x")',))
    name = name or tag
    domain = None if dom is None else domain_of(dom, f"the thread axis `{name}`")
    kind = PrimType("int32") if domain is None else domain.extent.ty
    return Axis(domain, Var(name, kind), IterVar.THREAD_INDEX, tag, span)


def var(name: str = "tindex", dtype: Any = "int32", span: Any = None) -> Var:
    """A symbol, such as a size that is known when the program runs, or a scalar argument."""
    made = Var(name, dtype)
    builder = active_builder()
    if builder is not None:  # within a script: an assignment names it and does not copy it
        builder.make(made)
    return made


def size_var(name: str = "size", dtype: Any = "int32", span: Any = None) -> Var:
    """A symbol for a size, which is never negative."""
    return var(name, dtype)


def const(value: Any, dtype: Any = None, span: Any = None) -> Expr:
    """A constant of this dtype, by default int32, float32 or bool as Python's own.

    Raises DTypeError when the type does not have the value.
    """
    return ir_const(value, dtype)
