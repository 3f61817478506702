"""Small floats are stored as the integers that hold their bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...dtype import DType
from ...ir import (
    BinaryOp,
    BufferType,
    Call,
    Cast,
    Expr,
    FloatImm,
    Let,
    Op,
    PointerType,
    PrimFunc,
    PrimType,
    Type,
    Var,
    const,
)
from ...ir.visitor import Rewriter
from ..common import refuse
from ..registry import prim_func_pass
from ..small_floats import decode, encode, storage_type
from .legalize_compute import computes, is_bfloat, is_float8

_FLOAT32, _FLOAT64 = DType("float32"), DType("float64")


@prim_func_pass("tirx.BF16StorageLegalize")
def bf16_storage_legalize(func: PrimFunc) -> PrimFunc:
    """Buffers, pointers and values of bfloat16 become uint16; conversions become integer operations.

    Run after tirx.BF16ComputeLegalize; the same targets are left alone.

    before:
        @T.prim_func
        def f(A: T.Buffer((8,), "bfloat16"), B: T.Buffer((8,), "float32")):
            B[0] = T.Cast("float32", A[0])

    after:
        @T.prim_func
        def f(A: T.Buffer((8,), "uint16"), B: T.Buffer((8,), "float32")):
            B[0] = T.Let(
                T.reinterpret("float32", T.shift_left(bits, T.uint32(16))),
                where={bits: T.Cast("uint32", A[0])},
            )
    """
    return func if computes(func, 80) else _Store(is_bfloat, "BF16ComputeLegalize")(func)


@prim_func_pass("tirx.FP8StorageLegalize")
def fp8_storage_legalize(func: PrimFunc) -> PrimFunc:
    """Buffers, pointers and values of floats of eight bits become uint8; conversions integer operations.

    Run after tirx.FP8ComputeLegalize; the same targets are left alone.

    before:
        @T.prim_func
        def f(A: T.Buffer((8,), "float8_e5m2"), B: T.Buffer((8,), "float8_e5m2")):
            B[0] = A[0]

    after:
        @T.prim_func
        def f(A: T.Buffer((8,), "uint8"), B: T.Buffer((8,), "uint8")):
            B[0] = A[0]
    """
    return func if computes(func, 89) else _Store(is_float8, "FP8ComputeLegalize")(func)


class _Store(Rewriter):
    def __init__(self, small: Callable[[DType], bool], before: str) -> None:
        super().__init__()
        self.small, self.before = small, before

    def is_small(self, e: Expr) -> bool:
        """Whether the value, as it was, is one of the small floats."""
        return isinstance(e.ty, PrimType) and self.small(e.dtype)

    def type(self, ty: Type) -> Type:
        """The type with small floats as integers."""
        if isinstance(ty, PrimType):
            return PrimType(storage_type(ty.dtype)) if self.small(ty.dtype) else ty
        if isinstance(ty, PointerType):
            inner = self.type(ty.element_type)
            return ty if inner is ty.element_type else PointerType(inner, ty.storage_scope)
        if isinstance(ty, BufferType) and self.small(ty.dtype):
            return ty.replace(dtype=storage_type(ty.dtype))
        return ty

    def define(self, var: Var) -> Var:
        kept = super().define(var)
        ty = self.type(kept.ty)
        if ty is kept.ty:
            return kept
        new = self.vars[var] = Var(var.name, ty, var.span)
        return new

    def visit_PrimFunc(self, func: PrimFunc) -> Any:
        new = self.visit_fields(func)
        ret = self.type(func.ret_type)
        return new if ret is func.ret_type else new.replace(ret_type=ret)

    def visit_FloatImm(self, e: FloatImm) -> Any:
        if not self.is_small(e):
            return e
        import numpy as np

        bits = np.array([e.value]).astype(e.dtype.numpy()).view(f"uint{e.dtype.bits}")
        return const(int(bits[0]), storage_type(e.dtype))

    def visit_BinaryOp(self, e: BinaryOp) -> Any:
        if self.is_small(e.a):
            raise self._refuse(f"arithmetic on `{e.a.dtype}`", e)
        return self.visit_fields(e)

    def _refuse(self, what: str, e: Expr) -> Exception:
        return refuse("small-float-arithmetic", f"{what} is left", e, f"run tirx.{self.before} first")

    def visit_Let(self, e: Let) -> Any:
        value = self.visit(e.value)
        var, body = self.define(e.var), self.visit(e.body)
        same = value is e.value and var is e.var and body is e.body
        return e if same else Let(var, value, body, e.span)

    def visit_Cast(self, e: Cast) -> Any:
        value = self.visit(e.value)
        if self.is_small(e.value):
            if e.value.ty is e.ty:
                return value
            value = decode(e.value.dtype, value)
        if self.is_small(e):
            if value.dtype.element not in (_FLOAT32, _FLOAT64):
                value = Cast(PrimType(_FLOAT32.with_lanes(e.dtype.lanes, e.dtype.scalable)), value)
            return encode(e.dtype, value)
        if value is e.value:
            return e
        return value if value.ty is e.ty else Cast(e.ty, value, e.span)

    def visit_Call(self, call: Call) -> Any:
        new = self.visit_fields(call)
        name = call.op.name if isinstance(call.op, Op) else ""
        if name == "tirx.reinterpret":
            ty = self.type(call.ty)
            return new.args[0] if new.args[0].ty is ty else new.replace(ty=ty)
        if name == "prim.if_then_else" or not isinstance(call.ty, PrimType):
            ty = self.type(call.ty)
            return new if ty is call.ty else new.replace(ty=ty)
        if self.is_small(call):
            raise self._refuse(f"a call that gives `{call.dtype}`", call)
        return new
