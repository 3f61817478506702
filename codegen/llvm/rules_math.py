"""Rules for functions of numbers, choices, hints and bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...dtype import DType
from ...ir import Add, Call, Mul
from . import arith
from .expr import Expressions
from .math import KNOWN, function
from .rules import RULES, float_operand, operator, rule, short_name
from .types import splat, value_type, vector

NATIVE = {
    "sqrt": "sqrt",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "fabs": "fabs",
    "round": "nearbyint",
    "nearbyint": "nearbyint",
    "rint": "nearbyint",
}
"""Functions that are instructions of their own."""
REGISTERS = 2
"""How many of the machine's widest vectors one call of an elementary function takes."""


def _unary(m: Expressions, e: Call) -> str:
    name = short_name(e)
    dtype = e.args[0].dtype
    if dtype.is_integral and name in ("floor", "ceil", "trunc", "round", "nearbyint"):
        return arith.cast(m, dtype, e.dtype, m.visit(e.args[0]))
    if dtype.is_integral and not dtype.is_bool:
        # Integers are computed in float64 and truncated, as the language says.
        wide = DType.of(2, 64, dtype.lanes)
        value = elementary(m, name, wide, arith.cast(m, dtype, wide, m.visit(e.args[0])))
        return arith.cast(m, wide, dtype, value)
    dtype = float_operand(m, e)
    return m.rounded(dtype, elementary(m, name, dtype, *[m.visit(a) for a in e.args]))


def elementary(m: Expressions, name: str, dtype: DType, *values: str) -> str:
    """An elementary function in the register's precision."""
    t = value_type(dtype)
    if name in NATIVE:
        return m.code.op(f"call {t} {arith.intrinsic(m, NATIVE[name], dtype, 1)}({t} {values[0]})")
    double = "double" in t
    most = REGISTERS * m.context.machine.vector_bits // (64 if double else 32)
    if dtype.lanes <= most:
        symbol, more = function(m.unit, m.context.machine, name, double, dtype.lanes)
        return m.code.op(f"call {t} {symbol}({', '.join([f'{t} {v}' for v in values])}){more}")
    return joined(m, dtype, [elementary(m, name, *part) for part in pieces(m, dtype, values, most)], most)


def pieces(m: Expressions, dtype: DType, values: Sequence[str], most: int) -> list[tuple[Any, ...]]:
    """Long vectors in pieces of at most so many lanes, each piece with its dtype."""
    t, out = value_type(dtype), []
    for first in range(0, dtype.lanes, most):
        lanes = min(most, dtype.lanes - first)
        mask = ", ".join([f"i32 {first + k}" for k in range(lanes)])
        part = [
            m.code.op(f"shufflevector {t} {v}, {t} poison, <{lanes} x i32> <{mask}>")
            if lanes > 1
            else m.code.op(f"extractelement {t} {v}, i64 {first}")
            for v in values
        ]
        out.append((dtype.with_lanes(lanes), *part))
    return out


def joined(m: Expressions, dtype: DType, parts: Sequence[str], most: int) -> str:
    """The vector of the lanes of the parts; all but the last have `most`."""
    element = value_type(dtype.element)
    done, value = 0, ""
    whole = vector(element, dtype.lanes)
    for part in parts:
        lanes = min(most, dtype.lanes - done)
        if lanes > 1:
            mask = ", ".join([f"i32 {k}" if k < lanes else "i32 poison" for k in range(dtype.lanes)])
            t = vector(element, lanes)
            grown = m.code.op(f"shufflevector {t} {part}, {t} poison, <{dtype.lanes} x i32> <{mask}>")
        else:
            grown = m.code.op(f"insertelement {whole} poison, {element} {part}, i64 0")
        if not value:
            value = grown
        else:
            picks = [
                f"i32 {k if k < done else dtype.lanes + k - done}" if k < done + lanes else "i32 poison"
                for k in range(dtype.lanes)
            ]
            mask = ", ".join(picks)
            value = m.code.op(
                f"shufflevector {whole} {value}, {whole} {grown}, <{dtype.lanes} x i32> <{mask}>"
            )
        done += lanes
    return value


for _name in (*NATIVE, *KNOWN):
    RULES[_name] = _unary


def per_lane(m: Expressions, name: str, dtype: DType, values: list[str]) -> str:
    """The C library's function applied to each lane."""
    element = value_type(dtype.element)
    symbol = m.unit.declare(
        name + ("" if element == "double" else "f"), f"{element} ({', '.join([element] * len(values))})"
    )
    if dtype.lanes == 1:
        return m.code.op(f"call {element} {symbol}({', '.join([f'{element} {v}' for v in values])})")
    t = value_type(dtype)
    out = []
    for k in range(dtype.lanes):
        args = [m.code.op(f"extractelement {t} {v}, i64 {k}") for v in values]
        out.append(m.code.op(f"call {element} {symbol}({', '.join([f'{element} {a}' for a in args])})"))
    return m.gathered(out, element)


@rule("abs")
def _abs(m: Expressions, e: Call) -> str:
    dtype = e.args[0].dtype
    if dtype.is_float:
        return elementary(m, "fabs", dtype, m.visit(e.args[0]))
    value, t = m.visit(e.args[0]), value_type(dtype)
    if not dtype.is_int:
        return value
    name = m.unit.declare(f"llvm.abs.{arith.suffix(dtype)}", f"{t} ({t}, i1)")
    return m.code.op(f"call {t} {name}({t} {value}, i1 false)")


@rule("rsqrt")
def _rsqrt(m: Expressions, e: Call) -> str:
    dtype = float_operand(m, e)
    root = elementary(m, "sqrt", dtype, m.visit(e.args[0]))
    return m.rounded(dtype, m.code.op(f"fdiv {value_type(dtype)} {arith.float_constant(dtype, 1.0)}, {root}"))


@rule("fmod", "nextafter")
def _library(m: Expressions, e: Call) -> str:
    dtype = float_operand(m, e)
    return m.rounded(dtype, per_lane(m, short_name(e), dtype, [m.visit(a) for a in e.args]))


@rule("copysign")
def _copysign(m: Expressions, e: Call) -> str:
    dtype = float_operand(m, e)
    a, b = m.visit(e.args[0]), m.visit(e.args[1])
    t = value_type(dtype)
    return m.code.op(f"call {t} {arith.intrinsic(m, 'copysign', dtype, 2)}({t} {a}, {t} {b})")


@rule("ldexp")
def _ldexp(m: Expressions, e: Call) -> str:
    dtype = float_operand(m, e)
    value, power = m.visit(e.args[0]), m.visit(e.args[1])
    power = arith.cast(m, e.args[1].dtype, DType("int32").with_lanes(dtype.lanes), power)
    element = value_type(dtype.element)
    symbol = m.unit.declare("ldexp" if element == "double" else "ldexpf", f"{element} ({element}, i32)")
    t, out = value_type(dtype), []
    if dtype.lanes == 1:
        return m.rounded(dtype, m.code.op(f"call {t} {symbol}({t} {value}, i32 {power})"))
    for k in range(dtype.lanes):
        x = m.code.op(f"extractelement {t} {value}, i64 {k}")
        n = m.code.op(f"extractelement <{dtype.lanes} x i32> {power}, i64 {k}")
        out.append(m.code.op(f"call {element} {symbol}({element} {x}, i32 {n})"))
    return m.rounded(dtype, m.gathered(out, element))


@rule("fma")
def _fma(m: Expressions, e: Call) -> str:
    dtype = e.args[0].dtype
    if dtype.is_integral and not dtype.is_bool:
        return str(m.visit(Add(Mul(e.args[0], e.args[1]), e.args[2])))
    dtype = float_operand(m, e)
    t = value_type(dtype)
    args = ", ".join([f"{t} {m.visit(a)}" for a in e.args])
    return m.rounded(dtype, m.code.op(f"call {t} {arith.intrinsic(m, 'fma', dtype, 3)}({args})"))


@rule("isnan", "isinf", "isfinite")
def _classify(m: Expressions, e: Call) -> str:
    dtype = e.args[0].dtype
    value = m.visit(e.args[0])
    name = short_name(e)
    if not dtype.is_float:
        return splat("i1", "true" if name == "isfinite" else "false", dtype.lanes)
    t = value_type(dtype)
    if name == "isnan":
        return m.code.op(f"fcmp uno {t} {value}, {value}")
    size = elementary(m, "fabs", dtype, value)
    infinity = splat(value_type(dtype.element), "0x7FF0000000000000", dtype.lanes)
    return m.code.op(f"fcmp {'oeq' if name == 'isinf' else 'olt'} {t} {size}, {infinity}")


@rule("popcount", "ctpop", "clz")
def _count_bits(m: Expressions, e: Call) -> str:
    dtype = e.args[0].dtype
    if not dtype.is_integral or dtype.is_bool:
        raise m.refuse(f"`{operator(e)}` of `{dtype}`", e)
    value, t = m.visit(e.args[0]), value_type(dtype)
    if short_name(e) != "clz":
        out = m.code.op(f"call {t} {arith.intrinsic(m, 'ctpop', dtype, 1)}({t} {value})")
    else:
        name = m.unit.declare(f"llvm.ctlz.{arith.suffix(dtype)}", f"{t} ({t}, i1)")
        out = m.code.op(f"call {t} {name}({t} {value}, i1 false)")
    unsigned = DType.of(1, dtype.bits, dtype.lanes)
    return arith.cast(m, unsigned, e.dtype, out)


# Choice, hints and bits


@rule("if_then_else")
def _if_then_else(m: Expressions, e: Call) -> str:
    return m.lazy(e.args[0], e.args[1], e.args[2])


@rule("likely", "ignore_loop_partition", "tvm_thread_invariant")
def _identity(m: Expressions, e: Call) -> str:
    return m.visit(e.args[0])


@rule(
    "assume",
    "start_profile_intrinsic",
    "end_profile_intrinsic",
    "type_annotation",
    "tvm_kernel_replace_point",
)
def _nothing(m: Expressions, e: Call) -> str:
    return "0"


@rule("undef")
def _undef(m: Expressions, e: Call) -> str:
    t = value_type(e.dtype)
    return m.code.op(f"freeze {t} poison")


@rule("reinterpret")
def _reinterpret(m: Expressions, e: Call) -> str:
    value = m.visit(e.args[0])
    source, target = e.args[0].dtype, e.dtype
    if not source.is_handle and not target.is_handle:
        sizes = [d.lanes * (8 if d.is_bool else d.bits) for d in (source, target)]
        if sizes[0] != sizes[1]:
            raise m.refuse(f"`reinterpret` from `{source}` to `{target}`, which differ in size", e)
    return arith.reinterpret(m, source, target, value)


@rule("shift_left", "shift_right")
def _shift(m: Expressions, e: Call) -> str:
    a, b = m.visit(e.args[0]), m.visit(e.args[1])
    return arith.shift(m, short_name(e) == "shift_left", e.dtype, a, b, arith.constant(e.args[1]))


@rule("bitwise_and", "bitwise_or", "bitwise_xor")
def _bitwise(m: Expressions, e: Call) -> str:
    a, b = m.visit(e.args[0]), m.visit(e.args[1])
    return m.code.op(f"{short_name(e).removeprefix('bitwise_')} {m.type(e)} {a}, {b}")


@rule("bitwise_not")
def _bitwise_not(m: Expressions, e: Call) -> str:
    return m.invert(e.dtype, m.visit(e.args[0]))


@rule("large_uint_imm")
def _large(m: Expressions, e: Call) -> str:
    low, high = arith.constant(e.args[0]), arith.constant(e.args[1])
    if low is None or high is None:
        raise m.refuse("`large_uint_imm` of values that are not constant", e)
    return str(((high & 0xFFFFFFFF) << 32) | (low & 0xFFFFFFFF))


@rule("q_multiply_shift")
def _q_multiply_shift(m: Expressions, e: Call) -> str:
    x, y, q, s = [m.visit(a) for a in e.args]
    dtype = e.dtype
    t, flag = value_type(dtype), vector("i1", dtype.lanes)
    zero = arith.int_text(dtype, 0)
    positive = m.code.op(f"icmp sgt {t} {s}, {zero}")
    right = m.code.op(f"select {flag} {positive}, {t} {s}, {t} {zero}")
    negated = m.code.op(f"sub {t} {zero}, {s}")
    left = m.code.op(f"select {flag} {positive}, {t} {zero}, {t} {negated}")
    return _fixed_point(m, dtype, x, y, left, m.code.op(f"add {t} {q}, {right}"))


@rule("q_multiply_shift_per_axis")
def _q_multiply_shift_per_axis(m: Expressions, e: Call) -> str:
    x, y, ls, rs, q, is_l, is_r = [m.visit(a) for a in e.args]
    dtype = e.dtype
    t = value_type(dtype)
    zero = arith.int_text(dtype, 0)
    flags = [vector("i1", a.dtype.lanes) for a in e.args[5:]]
    left = m.code.op(f"select {flags[0]} {is_l}, {t} {ls}, {t} {zero}")
    right = m.code.op(f"select {flags[1]} {is_r}, {t} {rs}, {t} {zero}")
    return _fixed_point(m, dtype, x, y, left, m.code.op(f"add {t} {q}, {right}"))


def _fixed_point(m: Expressions, dtype: DType, x: str, y: str, left: str, right: str) -> str:
    """(x * 2**left * y) / 2**right, rounded half up, in 64 bits."""
    wide = DType.of(0, 64, dtype.lanes)
    t = value_type(wide)
    x, y, left, right = [arith.cast(m, dtype, wide, v) for v in (x, y, left, right)]
    one = arith.int_text(wide, 1)
    product = m.code.op(f"mul {t} {arith.shift(m, True, wide, x, left, None)}, {y}")
    half = arith.shift(m, True, wide, one, m.code.op(f"sub {t} {right}, {one}"), None)
    total = arith.shift(m, False, wide, m.code.op(f"add {t} {product}, {half}"), right, None)
    return arith.cast(m, wide, dtype, total)
