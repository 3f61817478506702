"""Arithmetic on small floats happens in a larger type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...dtype import DType
from ...ir import (
    BinaryOp,
    Call,
    Cast,
    Comparison,
    Effect,
    Expr,
    FloatImm,
    Op,
    PrimFunc,
    PrimType,
    const,
    find_record,
)
from ...ir.fold import round_to
from ...ir.visitor import Rewriter
from ...target import Target
from ..common import refuse
from ..registry import prim_func_pass

_NOT_ARITHMETIC = ("prim.if_then_else", "prim.likely", "tirx.reinterpret")


def is_bfloat(dtype: DType) -> bool:
    """Whether this is bfloat16, or a vector of it."""
    return str(dtype.element) == "bfloat16"


def is_float8(dtype: DType) -> bool:
    """Whether this is one of the floats of eight bits, or a vector of it."""
    return dtype.is_float and dtype.bits == 8


@prim_func_pass("tirx.BF16ComputeLegalize")
def bf16_compute_legalize(func: PrimFunc) -> PrimFunc:
    """Arithmetic on bfloat16 is done in float32, each result rounded once. Buffers stay what they are.

    Nothing changes for a target that computes bfloat16 itself: CUDA from compute capability 8.0 on.

    before:
        @T.prim_func
        def f(A: T.Buffer((8,), "bfloat16"), B: T.Buffer((8,), "bfloat16")):
            for i in range(8):
                B[i] = A[i] + A[i]

    after:
        @T.prim_func
        def f(A: T.Buffer((8,), "bfloat16"), B: T.Buffer((8,), "bfloat16")):
            for i in range(8):
                B[i] = T.Cast("bfloat16", T.Cast("float32", A[i]) + T.Cast("float32", A[i]))
    """
    if computes(func, 80):
        return func
    return _Promote(is_bfloat, DType("float32"))(func)


@prim_func_pass("tirx.FP8ComputeLegalize")
def fp8_compute_legalize(func: PrimFunc, promote_dtype: str = "float32") -> PrimFunc:
    """Arithmetic on floats of eight bits is done in `promote_dtype`, each result rounded once more.

    That is float32 or float16; in float16 some results are rounded twice, and formats with more
    exponent bits are refused.  Buffers stay what they are.  Nothing changes for a target that
    computes such floats itself: CUDA from compute capability 8.9 on.

    before:
        @T.prim_func
        def f(A: T.Buffer((8,), "float8_e5m2"), B: T.Buffer((8,), "float8_e5m2")):
            for i in range(8):
                B[i] = A[i] * A[i]

    after:
        @T.prim_func
        def f(A: T.Buffer((8,), "float8_e5m2"), B: T.Buffer((8,), "float8_e5m2")):
            for i in range(8):
                B[i] = T.Cast("float8_e5m2", T.Cast("float32", A[i]) * T.Cast("float32", A[i]))
    """
    if promote_dtype not in ("float16", "float32"):
        raise refuse(
            "promote-dtype",
            f"floats of eight bits cannot be computed in `{promote_dtype}`",
            func,
            'pass "float32" or "float16"',
        )
    if computes(func, 89):
        return func
    return _Promote(is_float8, DType(promote_dtype))(func)


def computes(func: PrimFunc, capability: int) -> bool:
    """Whether the function's target is CUDA of at least this compute capability."""
    target = func.attrs.get("target")
    if not isinstance(target, Target) or target.kind != "cuda":
        return False
    digits = "".join([c for c in str(target.get("arch", "")) if c.isdigit()])
    return bool(digits) and int(digits) >= capability


class _Promote(Rewriter):
    def __init__(self, small: Callable[[DType], bool], wide: DType) -> None:
        super().__init__()
        self.small, self.wide = small, wide

    def is_small(self, e: Expr) -> bool:
        """Whether the value is of a type that is not computed with."""
        return isinstance(e.ty, PrimType) and self.small(e.dtype)

    def up(self, e: Expr) -> Expr:
        """A small float in the larger type; anything else as it is."""
        if not self.is_small(e):
            return e
        if self.wide.bits == 16 and str(e.dtype.element) == "float8_e8m0fnu":
            raise refuse(
                "promote-dtype",
                "values of `float8_e8m0fnu` do not fit float16",
                e,
                'compute in "float32"',
            )
        if isinstance(e, FloatImm):
            return const(round_to(e.dtype, e.value), self.wide)
        return Cast(self._like(e), e)

    def _like(self, e: Expr) -> PrimType:
        return PrimType(self.wide.with_lanes(e.dtype.lanes, e.dtype.scalable))

    def visit_BinaryOp(self, e: BinaryOp) -> Any:
        new = self.visit_fields(e)
        if not self.is_small(new.a):
            return new
        computed = type(e)(self.up(new.a), self.up(new.b), e.span)
        return computed if isinstance(e, Comparison) else Cast(e.ty, computed)

    def visit_Call(self, call: Call) -> Any:
        new = self.visit_fields(call)
        if not self._is_arithmetic(new):
            return new
        args = tuple([self.up(a) for a in new.args])
        if not self.is_small(new):
            return new.replace(args=args)
        return Cast(call.ty, new.replace(args=args, ty=self._like(new)))

    def _is_arithmetic(self, call: Call) -> bool:
        if not isinstance(call.op, Op) or call.op.name in _NOT_ARITHMETIC:
            return False
        rec = find_record(call.op.name)
        pure = rec is not None and rec.effect <= Effect.PURE and rec.numpy is not None
        return pure and any(self.is_small(a) for a in call.args)
