"""Index arithmetic in int32, by force."""

from __future__ import annotations

from typing import Any

from ...dtype import DType
from ...ir import Add, BufferType, Call, Expr, Op, PrimFunc, PrimType, Sub, Var, const
from ...ir.visitor import symbol_vars, walk
from ..common import cast_to, is_const, refuse
from ..registry import prim_func_pass
from .narrowing import Narrowing, is_wider

_INT32 = DType("int32")


@prim_func_pass("tirx.ForceNarrowIndexToInt32")
def force_narrow_index(func: PrimFunc) -> PrimFunc:
    """Loop variables, axes, sizes, scalar parameters and arithmetic on them become int32.

    The author vouches that every value fits: nothing is proven.  A buffer of wider integers is refused,
    but for one that holds a single value.

    before:
        @T.prim_func
        def f(A: T.Buffer((T.int64(64),), "float32"), n: T.int64):
            for i in range(n):
                A[i * T.int64(2)] = T.float32(0)

    after:
        @T.prim_func
        def f(A: T.Buffer((64,), "float32"), n: T.int32):
            for i in range(n):
                A[i * 2] = T.float32(0)
    """
    return _Force()(func)


class _Force(Narrowing):
    def __init__(self) -> None:
        super().__init__(_INT32)

    def may_narrow(self, e: Expr) -> bool:
        return True

    def narrows_var(self, var: Var) -> bool:
        return True

    def visit_PrimFunc(self, func: PrimFunc) -> Any:
        for var in walk(func):
            if isinstance(var, Var) and isinstance(var.ty, BufferType) and _is_wide(var.ty):
                raise refuse(
                    "wide-buffer",
                    f"the buffer `{var.name}` holds `{var.ty.dtype}`, which int32 cannot hold",
                    var,
                    "run tirx.NarrowDataType, which narrows what provably fits",
                )
        for p in func.params:
            for symbol in [p] if isinstance(p.ty, PrimType) else symbol_vars(p):
                if symbol not in self.vars:
                    self.variable(symbol)
        params = tuple([self.parameter(p) for p in func.params])
        body = self.visit(func.body)
        same = body is func.body and all(new is old for new, old in zip(params, func.params))
        return func if same else func.replace(params=params, body=body)

    def parameter(self, var: Var) -> Any:
        """The parameter as it is from here on."""
        return self.vars.get(var, var) if isinstance(var.ty, PrimType) else self.define(var)

    def define(self, var: Var) -> Var:
        ty = var.ty
        if not isinstance(ty, BufferType):
            return super().define(var)
        offset = None if ty.elem_offset is None else self._size(ty.elem_offset)
        shape, strides = [self._size(e) for e in ty.shape], [self._size(e) for e in ty.strides]
        old = (*ty.shape, *ty.strides, ty.elem_offset)
        if all(new is before for new, before in zip((*shape, *strides, offset), old)):
            return var
        new = Var(var.name, ty.replace(shape=shape, strides=strides, elem_offset=offset), var.span)
        self.vars[var] = new
        return new

    def _size(self, e: Expr) -> Expr:
        new = self.index(e)
        return cast_to(new, PrimType(_INT32)) if is_wider(new, _INT32) else new

    def visit_Call(self, e: Call) -> Any:
        if isinstance(e.op, Op) and e.op.name == "prim.clz" and is_wider(e.args[0], _INT32):
            arg = self.visit(e.args[0])
            if arg.dtype.element is _INT32:
                counted = e.replace(args=(arg,), ty=PrimType(_INT32))
                return Add(Sub(counted, const(_INT32.bits, _INT32)), const(e.args[0].dtype.bits, _INT32))
        return super().visit_Call(e)


def _is_wide(ty: BufferType) -> bool:
    """Whether the buffer holds wider integers; a single value, such as a scalar variable, does not count."""
    single = all(is_const(e, 1) for e in ty.shape)
    return ty.dtype.is_integral and not ty.dtype.is_bool and ty.dtype.bits > _INT32.bits and not single
