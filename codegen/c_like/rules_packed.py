"""Rules for conversions of numbers that stand side by side in a word: T.cuda's, in any language."""

from __future__ import annotations

from ...dtype import DType
from ...ir import Call, PointerType
from . import arith, formats
from .rules import operator, rule, short_name
from .rules_math import from_bits, to_bits
from .stmt import Statements
from .text import PRODUCT, SUM, UNARY, Lanes, Term, call, convert, infix
from .types import short

F16, BF16, F32, E4M3 = DType("float16"), DType("bfloat16"), DType("float32"), DType("float8_e4m3fn")
U32, U64 = DType("uint32"), DType("uint64")


def _packed(m: Statements, dtype: DType, bits: Term, k: int) -> Term:
    """The k-th number in a word."""
    word = infix(bits, ">>", Term(str(k * dtype.bits)), 7) if k else bits
    narrow = convert(m.type(DType.of(1, dtype.bits)), word)
    return from_bits(m, dtype, narrow)


def _pack(m: Statements, dtype: DType, values: Lanes, whole: DType) -> Term:
    """Numbers side by side in a word, the first one lowest."""
    t = m.type(whole)
    parts = []
    for k, value in enumerate(values):
        wide = convert(t, to_bits(m, dtype, value))
        parts.append(infix(wide, "<<", Term(str(k * dtype.bits)), 7) if k else wide)
    return Term(f"({' | '.join([p.at(UNARY) for p in parts])})")


@rule("cuda.bfloat162float", "cuda.half2float")
def _to_float(m: Statements, e: Call) -> Lanes:
    return [arith.cast(m, e.args[0].dtype, F32, m.value(e.args[0]))]


@rule("cuda.make_float2")
def _make_float2(m: Statements, e: Call) -> Lanes:
    return [_pack(m, F32, [m.value(a) for a in e.args], U64)]


@rule("cuda.float2_x", "cuda.float2_y")
def _part_of_float2(m: Statements, e: Call) -> Lanes:
    return [_packed(m, F32, m.value(e.args[0]), int(operator(e).endswith("y")))]


@rule("cuda.fadd2_rn", "cuda.fmul2_rn")
def _two_at_once(m: Statements, e: Call) -> Lanes:
    a, b = [m.once(m.value(x), U64) for x in e.args]
    sign, level = ("+", SUM) if "add" in operator(e) else ("*", PRODUCT)
    return [
        _pack(m, F32, [infix(_packed(m, F32, a, k), sign, _packed(m, F32, b, k), level) for k in (0, 1)], U64)
    ]


@rule("cuda.hmax2", "cuda.hmin2")
def _extremes(m: Statements, e: Call) -> Lanes:
    a, b = [m.once(m.value(x), U32) for x in e.args]
    which = "max" if "max" in operator(e) else "min"
    return [
        _pack(
            m,
            F16,
            [arith.extreme(m, F16, which, _packed(m, F16, a, k), _packed(m, F16, b, k)) for k in (0, 1)],
            U32,
        )
    ]


@rule("cuda.bfloat1622float2")
def _bfloat1622float2(m: Statements, e: Call) -> Lanes:
    word = m.once(m.value(e.args[0]), U32)
    return [_pack(m, F32, [arith.cast(m, BF16, F32, _packed(m, BF16, word, k)) for k in (0, 1)], U64)]


@rule("cuda.float22bfloat162_rn")
def _float22bfloat162(m: Statements, e: Call) -> Lanes:
    return [_pack(m, BF16, [arith.cast(m, F32, BF16, m.value(a)) for a in e.args], U32)]


@rule("cuda.float22bfloat162_rn_from_float2")
def _packed_to_bfloat162(m: Statements, e: Call) -> Lanes:
    word = m.once(m.value(e.args[0]), U64)
    return [_pack(m, BF16, [arith.cast(m, F32, BF16, _packed(m, F32, word, k)) for k in (0, 1)], U32)]


@rule("cuda.fp8x4_e4m3_from_float4")
def _to_fp8(m: Statements, e: Call) -> Lanes:
    return [_pack(m, E4M3, [arith.cast(m, F32, E4M3, m.value(a)) for a in e.args], U32)]


@rule("cuda.float22half2", "cuda.float8tohalf8", "cuda.half8tofloat8")
def _in_memory(m: Statements, e: Call) -> Lanes:
    """Numbers in memory to another format in memory."""
    name = short_name(e)
    count = 2 if name == "cuda.float22half2" else 8
    pointers = [m.value(a) for a in e.args]
    target, source = pointers if name == "cuda.float22half2" else pointers[::-1]
    into_half = name != "cuda.half8tofloat8"
    old, new = (F32, F16) if into_half else (F16, F32)
    s, t = m.unit.cell(old), m.unit.cell(new)
    spaces = [a.ty.storage_scope if isinstance(a.ty, PointerType) else "global" for a in e.args]
    here, there = spaces if name == "cuda.float22half2" else spaces[::-1]
    target_type, source_type = m.dialect.pointer(t, here), m.dialect.pointer(s, there, const=True)
    value = formats.from_cell(m.unit, old, Term("source[i]"))
    value = formats.to_cell(m.unit, new, arith.cast(m, old, new, value))
    helper = m.unit.helper(
        f"lw_convert_{short(old)}_{short(new)}{m.dialect.near(here)}{m.dialect.near(there)}",
        "void",
        f"{target_type} target, {source_type} source, int count",
        f"for (int i = 0; i < count; ++i) target[i] = {value.text};",
    )
    return [call(helper, convert(target_type, target), convert(source_type, source), Term(str(count)))]


@rule("cuda.float_as_uint", "cuda.uint_as_float")
def _bits_of_float(m: Statements, e: Call) -> Lanes:
    to_float, to_bits = m.dialect.bits_to_float(m.unit, F32)
    return [call(to_bits if operator(e).endswith("float_as_uint") else to_float, m.value(e.args[0]))]
