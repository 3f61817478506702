"""Giving all indices and sizes of a function one dtype."""

from __future__ import annotations

from typing import Any

from ..dtype import DType
from ..ir import (
    Bind,
    BufferLoad,
    BufferRegion,
    BufferStore,
    BufferType,
    Call,
    Cast,
    Expr,
    For,
    IntImm,
    IterVar,
    Let,
    Op,
    PrimFunc,
    PrimType,
    Ramp,
    Range,
    Rewriter,
    SBlockRealize,
    Select,
    Type,
    Var,
    walk,
)
from ..ir.expr import BinaryOp
from ..ir.promote import convert, match
from .faults import type_fault
from .operation import as_dtype

_ANY_INTEGER = ("tirx.tvm_stack_make_array",)
"""Operators that take their integers in any type."""


def with_index_dtype(func: PrimFunc, dtype: Any) -> PrimFunc:
    """The function with loops, axes, symbols and scalar integer parameters of this dtype.

    Values keep theirs, and loaded indices too.  Raises TensorTypeError unless it is a signed integer type.
    """
    wanted = as_dtype(dtype)
    if not wanted.is_int or wanted.is_vector:
        raise type_fault(f"an index has a signed integer type, not `{wanted}`")
    result: PrimFunc = _IndexDType(func, wanted)(func)
    return result


def _index_vars(func: PrimFunc) -> list[Var]:
    """The integers that loop, that are axes or parameters, or that sizes are made of."""
    found: dict[Var, None] = dict.fromkeys(func.params)
    for node in walk(func):
        if isinstance(node, For):
            found[node.loop_var] = None
        elif isinstance(node, IterVar):
            found[node.var] = None
        elif isinstance(node, BufferType):
            parts = [*node.shape, *node.strides]
            parts += [node.elem_offset] if node.elem_offset is not None else []
            found.update({v: None for e in parts for v in walk(e) if isinstance(v, Var)})
    return [v for v in found if isinstance(v.ty, PrimType) and v.dtype.is_int]


class _IndexDType(Rewriter):
    def __init__(self, func: PrimFunc, dtype: DType) -> None:
        super().__init__()
        self.dtype = dtype
        self.vars = {v: Var(v.name, PrimType(dtype)) for v in _index_vars(func) if v.dtype is not dtype}

    def define(self, var: Var) -> Var:
        """A scalar that counts is new already; a buffer is where its shape changes."""
        if isinstance(var.ty, PrimType):
            new: Any = self.vars.get(var, var)
            return new if isinstance(new, Var) else var
        return super().define(var)

    def index(self, e: Expr) -> Expr:
        """An index or size: constants and variables have the dtype now, what is loaded keeps its own."""
        made: Expr = self.visit(e)
        if isinstance(made, IntImm) and made.dtype is not self.dtype:
            return convert(made, self.dtype)
        return made

    def kept(self, e: Expr) -> Expr:
        """A value, of the type that it had."""
        made: Expr = self.visit(e)
        if made.ty is e.ty or not isinstance(e.ty, PrimType):
            return made
        return convert(made, e.ty.dtype)

    def visit_BufferType(self, ty: BufferType) -> Type:
        """The type with its sizes of the dtype."""
        shape = tuple([self.index(s) for s in ty.shape])
        strides = tuple([self.index(s) for s in ty.strides])
        offset = None if ty.elem_offset is None else self.index(ty.elem_offset)
        return ty.replace(shape=shape, strides=strides, elem_offset=offset)

    def visit_BufferLoad(self, e: BufferLoad) -> Expr:
        """The same element."""
        return BufferLoad(self.visit(e.buffer), [self.index(i) for i in e.indices], e.span)

    def visit_BufferStore(self, stmt: BufferStore) -> Any:
        """The same store."""
        value = self.kept(stmt.value)
        return BufferStore(self.visit(stmt.buffer), value, [self.index(i) for i in stmt.indices], stmt.span)

    def visit_BufferRegion(self, e: BufferRegion) -> Expr:
        """The same region."""
        return BufferRegion(self.visit(e.buffer), [self.visit(r) for r in e.region], e.span)

    def visit_Range(self, dom: Range) -> Range:
        """The same range, both ends of one type."""
        low = self.index(dom.min)
        extent = self.visit(dom.extent)
        if isinstance(extent, IntImm):
            return Range(low, convert(extent, low.dtype), dom.span)
        return Range(*match(low, extent), dom.span)

    def visit_For(self, loop: For) -> For:
        """The same loop; its variable has the dtype."""
        var = self.define(loop.loop_var)
        low, extent = [convert(self.index(e), var.dtype) for e in (loop.min, loop.extent)]
        step = None if loop.step is None else convert(self.index(loop.step), var.dtype)
        return loop.replace(loop_var=var, min=low, extent=extent, step=step, body=self.visit(loop.body))

    def visit_SBlockRealize(self, stmt: SBlockRealize) -> SBlockRealize:
        """The same block; its axes have the dtype."""
        block = self.visit(stmt.block)
        values = [
            convert(self.index(v), axis.var.dtype) for v, axis in zip(stmt.iter_values, block.iter_vars)
        ]
        return SBlockRealize(values, self.visit(stmt.predicate), block, stmt.span)

    def visit_BinaryOp(self, e: BinaryOp) -> Expr:
        """The operator on operands of one type again."""
        a, b = self.visit(e.a), self.visit(e.b)
        return e if a is e.a and b is e.b else type(e)(*match(a, b))

    def visit_Ramp(self, e: Ramp) -> Expr:
        """The vector of indices, base and stride of one type again."""
        base, stride = match(self.visit(e.base), self.visit(e.stride))
        return Ramp(base, stride, e.lanes, e.span)

    def visit_Select(self, e: Select) -> Expr:
        """The choice between values of one type again."""
        a, b = match(self.visit(e.true_value), self.visit(e.false_value))
        return Select(self.visit(e.condition), a, b, e.span)

    def visit_Cast(self, e: Cast) -> Expr:
        """The conversion, gone where nothing is left to convert."""
        value = self.visit(e.value)
        return value if value.ty is e.ty else e if value is e.value else Cast(e.ty, value, e.span)

    def visit_Let(self, e: Let) -> Expr:
        """The value named keeps its type."""
        return Let(self.define(e.var), self.kept(e.value), self.visit(e.body), e.span)

    def visit_Bind(self, stmt: Bind) -> Bind:
        """The value named keeps its type."""
        return Bind(stmt.var, self.kept(stmt.value), stmt.span)

    def visit_Call(self, e: Call) -> Expr:
        """The same call: its arguments keep their types, but for the values of `if_then_else`."""
        if isinstance(e.op, Op) and e.op.name == "prim.if_then_else":
            then, other = self.visit(e.args[1]), self.visit(e.args[2])
            if isinstance(then.ty, PrimType):
                then, other = match(then, other)
            return Call(e.op, (self.visit(e.args[0]), then, other), then.ty, e.attrs, e.ty_args, e.span)
        keep = self.visit if isinstance(e.op, Op) and e.op.name in _ANY_INTEGER else self.kept
        args = tuple([keep(a) for a in e.args])
        return e if all(a is b for a, b in zip(args, e.args)) else e.replace(args=args)
