"""Integer and float operations with the language's meaning, on registers.

Division checks its divisor, shifts accept any amount, casts saturate; see DESIGN, section 4.
"""

from __future__ import annotations

from typing import Literal

from ...dtype import DType
from ...ir import Broadcast, Expr, IntImm
from . import small_floats
from .core import Emitter
from .types import float_text, is_small_float, memory_type, splat, value_type, vector

Division = Literal["div", "mod", "floordiv", "floormod"]


def int_text(dtype: DType, value: int) -> str:
    """The constant in every lane of an integer type."""
    return splat(f"i{dtype.bits}", str(value), dtype)


def constant(e: Expr) -> int | None:
    """The value of an integer constant (in every lane), or None."""
    while isinstance(e, Broadcast):
        e = e.value
    return e.value if isinstance(e, IntImm) else None


def divide(m: Emitter, kind: Division, dtype: DType, a: str, b: str, divisor: int | None) -> str:
    """Quotient or remainder of integers; reports division by zero and of the smallest value by -1."""
    t = value_type(dtype)
    code = m.code
    _check_division(m, dtype, a, b, divisor)
    if dtype.is_uint:
        return code.op(f"{'udiv' if kind.endswith('div') else 'urem'} {t} {a}, {b}")
    if divisor is not None and divisor > 0 and divisor & (divisor - 1) == 0:
        if kind == "floordiv":
            return code.op(f"ashr {t} {a}, {int_text(dtype, divisor.bit_length() - 1)}")
        if kind == "floormod":
            return code.op(f"and {t} {a}, {int_text(dtype, divisor - 1)}")
    if kind == "div":
        return code.op(f"sdiv {t} {a}, {b}")
    rest = code.op(f"srem {t} {a}, {b}")
    if kind == "mod":
        return rest
    flag = vector("i1", dtype)
    zero = int_text(dtype, 0)
    if divisor is not None and divisor > 0:
        wrong = code.op(f"icmp slt {t} {rest}, {zero}")
    else:
        signs = code.op(f"icmp slt {t} {code.op(f'xor {t} {rest}, {b}')}, {zero}")
        wrong = code.op(f"and {flag} {signs}, {code.op(f'icmp ne {t} {rest}, {zero}')}")
    if kind == "floormod":
        moved = code.op(f"add {t} {rest}, {b}")
        return code.op(f"select {flag} {wrong}, {t} {moved}, {t} {rest}")
    quotient = code.op(f"sdiv {t} {a}, {b}")
    return code.op(f"add {t} {quotient}, {code.op(f'sext {flag} {wrong} to {t}')}")


def _check_division(m: Emitter, dtype: DType, a: str, b: str, divisor: int | None) -> None:
    code = m.code
    t = value_type(dtype)
    if divisor is None or divisor == 0:
        zero = code.op(f"icmp eq {t} {b}, {int_text(dtype, 0)}")
        bad = m.any_lane(zero, dtype.lanes)
        m.require(code.op(f"xor i1 {bad}, true"), m.site("division"))
    if dtype.is_int and (divisor is None or divisor == -1):
        flag = vector("i1", dtype)
        smallest = code.op(f"icmp eq {t} {a}, {int_text(dtype, -(1 << (dtype.bits - 1)))}")
        minus = code.op(f"icmp eq {t} {b}, {int_text(dtype, -1)}")
        bad = m.any_lane(code.op(f"and {flag} {smallest}, {minus}"), dtype.lanes)
        m.require(code.op(f"xor i1 {bad}, true"), m.site("division-overflow"))


def float_divide(m: Emitter, kind: Division, dtype: DType, a: str, b: str) -> str:
    """The same four operations of floats: the quotient, fmod, Python's // and %."""
    t = value_type(dtype)
    code = m.code
    if kind == "div":
        return m.rounded(dtype, code.op(f"fdiv {t} {a}, {b}"))
    rest = code.op(f"frem {t} {a}, {b}")
    if kind == "mod":
        return m.rounded(dtype, rest)
    flag = vector("i1", dtype)
    zero = splat(
        "double" if t.endswith("double>") or t == "double" else "float", "0x0000000000000000", dtype.lanes
    )
    inexact = code.op(f"fcmp une {t} {rest}, {zero}")
    sides = code.op(
        f"xor {flag} {code.op(f'fcmp olt {t} {rest}, {zero}')}, {code.op(f'fcmp olt {t} {b}, {zero}')}"
    )
    wrong = code.op(f"and {flag} {inexact}, {sides}")
    if kind == "floormod":
        moved = code.op(f"select {flag} {wrong}, {t} {code.op(f'fadd {t} {rest}, {b}')}, {t} {rest}")
        signed = code.op(f"call {t} {intrinsic(m, 'copysign', dtype, 2)}({t} {zero}, {t} {b})")
        return m.rounded(dtype, code.op(f"select {flag} {inexact}, {t} {moved}, {t} {signed}"))
    return m.rounded(dtype, _float_floordiv(m, dtype, a, b, rest, wrong))


def _float_floordiv(m: Emitter, dtype: DType, a: str, b: str, rest: str, wrong: str) -> str:
    """Python's // in float64: what the remainder leaves, divided and made whole (see `ir/fold.py`).

    The floor of the quotient would not do: 1.0 / 0.1 rounds up to 10, though 0.1 goes in nine times.
    """
    code, t = m.code, value_type(dtype)
    double = DType("float64").with_lanes(dtype.lanes)
    wide, flag = value_type(double), vector("i1", dtype.lanes)
    if t != wide:
        a, b, rest = [code.op(f"fpext {t} {v} to {wide}") for v in (a, b, rest)]
    zero, half, one = [splat("double", text, dtype.lanes) for text in ("0.0", "0.5", "1.0")]
    whole = code.op(f"fdiv {wide} {code.op(f'fsub {wide} {a}, {rest}')}, {b}")
    whole = code.op(f"select {flag} {wrong}, {wide} {code.op(f'fsub {wide} {whole}, {one}')}, {wide} {whole}")
    down = code.op(f"call {wide} {intrinsic(m, 'floor', double, 1)}({wide} {whole})")
    up = code.op(f"fcmp ogt {wide} {code.op(f'fsub {wide} {whole}, {down}')}, {half}")
    near = code.op(f"select {flag} {up}, {wide} {code.op(f'fadd {wide} {down}, {one}')}, {wide} {down}")
    quotient = code.op(f"fdiv {wide} {a}, {b}")
    sign = code.op(f"call {wide} {intrinsic(m, 'copysign', double, 2)}({wide} {zero}, {wide} {quotient})")
    nothing = code.op(f"fcmp oeq {wide} {near}, {zero}")
    near = code.op(f"select {flag} {nothing}, {wide} {sign}, {wide} {near}")
    by_zero = code.op(f"fcmp oeq {wide} {b}, {zero}")
    near = code.op(f"select {flag} {by_zero}, {wide} {quotient}, {wide} {near}")
    return near if t == wide else code.op(f"fptrunc {wide} {near} to {t}")


def suffix(dtype: DType) -> str:
    """How an LLVM intrinsic's name spells the register type."""
    element = {"float": "f32", "double": "f64", "ptr": "p0"}.get(value_type(dtype.element)) or value_type(
        dtype.element
    )
    return f"{'nx' if dtype.scalable else ''}v{dtype.lanes}{element}" if dtype.is_vector else element


def intrinsic(m: Emitter, name: str, dtype: DType, count: int) -> str:
    """Declare `llvm.<name>` on `count` operands of the type."""
    t = value_type(dtype)
    return m.unit.declare(f"llvm.{name}.{suffix(dtype)}", f"{t} ({', '.join([t] * count)})")


def shift(m: Emitter, left: bool, dtype: DType, a: str, b: str, amount: int | None) -> str:
    """A shift; an amount outside 0 .. bits-1 counts as the width."""
    t = value_type(dtype)
    code = m.code
    name = "shl" if left else ("ashr" if dtype.is_int else "lshr")
    if amount is not None and 0 <= amount < dtype.bits:
        return code.op(f"{name} {t} {a}, {b}")
    flag = vector("i1", dtype)
    inside = code.op(f"icmp ult {t} {b}, {int_text(dtype, dtype.bits)}")
    if name == "ashr":
        b = code.op(f"select {flag} {inside}, {t} {b}, {t} {int_text(dtype, dtype.bits - 1)}")
        return code.op(f"ashr {t} {a}, {b}")
    shifted = code.op(f"{name} {t} {a}, {b}")
    return code.op(f"select {flag} {inside}, {t} {shifted}, {t} {int_text(dtype, 0)}")


def cast(m: Emitter, source: DType, target: DType, value: str, bounded: bool = False) -> str:
    """A value converted: integers wrap, floats round to nearest, float to integer saturates, NaN gives 0.

    A float that is `bounded` is known to be within the integer type: it needs no care.
    """
    if source is target:
        return value
    code = m.code
    s, t = value_type(source), value_type(target)
    if source.is_handle or target.is_handle:
        return _cast_pointer(m, source, target, value)
    if target.is_bool:
        if source.is_float:
            zero = splat(value_type(source.element), "0x0000000000000000", source)
            return code.op(f"fcmp une {s} {value}, {zero}")
        return code.op(f"icmp ne {s} {value}, {int_text(source, 0)}")
    if source.is_integral:
        if target.is_float:
            kind = "sitofp" if source.is_int else "uitofp"
            return m.rounded(target, code.op(f"{kind} {s} {value} to {t}"))
        old = 1 if source.is_bool else source.bits
        if old == target.bits:
            return value
        kind = "trunc" if old > target.bits else ("sext" if source.is_int else "zext")
        return code.op(f"{kind} {s} {value} to {t}")
    if target.is_integral:
        kind = "fptosi" if target.is_int else "fptoui"
        if target.bits < 8:
            return _cast_float_to_narrow(m, source, target, kind, value)
        if bounded:
            return code.op(f"{kind} {s} {value} to {t}")
        return _cast_float_to_integer(m, source, target, kind, value)
    return _cast_float(m, source, target, value)


def _cast_float_to_integer(m: Emitter, source: DType, target: DType, kind: str, value: str) -> str:
    """Clamped, then converted: LLVM makes no vectors of its own saturating conversions."""
    code = m.code
    s, t, flag = value_type(source), value_type(target), vector("i1", source)
    element = value_type(source.element)
    places, digits = target.bits - (1 if target.is_int else 0), 53 if element == "double" else 24
    top = 2.0**places - (1 if places <= digits else 2.0 ** (places - digits))

    def number(x: float) -> str:
        return splat(element, float_text(x, DType("float64" if element == "double" else "float32")), source)

    known = code.op(f"fcmp ord {s} {value}, {value}")
    kept = code.op(f"select {flag} {known}, {s} {value}, {s} {number(0.0)}")
    for compare, bound in (("olt", float(target.min_value)), ("ogt", top)):
        beyond = code.op(f"fcmp {compare} {s} {kept}, {number(bound)}")
        kept = code.op(f"select {flag} {beyond}, {s} {number(bound)}, {s} {kept}")
    found = code.op(f"{kind} {s} {kept} to {t}")
    if places <= digits:
        return found
    above = code.op(f"fcmp ogt {s} {value}, {number(top)}")
    return code.op(f"select {flag} {above}, {t} {int_text(target, int(target.max_value))}, {t} {found}")


def _cast_float_to_narrow(m: Emitter, source: DType, target: DType, kind: str, value: str) -> str:
    """Through a byte: LLVM makes wrong code of saturating conversions to fewer bits."""
    s, byte = value_type(source), target.with_bits(8)
    b, sign = value_type(byte), "s" if target.is_int else "u"
    convert = m.unit.declare(f"llvm.{kind}.sat.{suffix(byte)}.{suffix(source)}", f"{b} ({s})")
    wide = m.code.op(f"call {b} {convert}({s} {value})")
    most = (1 << (target.bits - (1 if target.is_int else 0))) - 1
    for pick, limit in (("min", most), ("max", -most - 1 if target.is_int else 0)):
        name = m.unit.declare(f"llvm.{sign}{pick}.{suffix(byte)}", f"{b} ({b}, {b})")
        wide = m.code.op(f"call {b} {name}({b} {wide}, {b} {int_text(byte, limit)})")
    return m.code.op(f"trunc {b} {wide} to {value_type(target)}")


def _cast_float(m: Emitter, source: DType, target: DType, value: str) -> str:
    code = m.code
    s, t = value_type(source), value_type(target)
    if s == t:
        return m.rounded(target, value)
    if t.endswith("double") or "double" in t:
        return code.op(f"fpext {s} {value} to {t}")
    if str(target.element) != "float32":
        # Computed in float32, yet rounded once.
        name = small_floats.narrow(m.unit, target.lanes)
        return m.rounded(target, code.op(f"call {t} {name}({s} {value})"))
    return m.rounded(target, code.op(f"fptrunc {s} {value} to {t}"))


def _cast_pointer(m: Emitter, source: DType, target: DType, value: str) -> str:
    s, t = value_type(source), value_type(target)
    if s == t:
        return value
    if target.is_handle and source.is_integral:
        return m.code.op(f"inttoptr {s} {value} to {t}")
    if source.is_handle and target.is_integral:
        return m.code.op(f"ptrtoint {s} {value} to {t}")
    raise m.refuse(f"a cast from `{source}` to `{target}`")


def reinterpret(m: Emitter, source: DType, target: DType, value: str) -> str:
    """The same bits as another type."""
    if source is target:
        return value
    code = m.code
    if source.is_handle or target.is_handle:
        return _cast_pointer(m, source, target, value)
    raw = m.to_memory(source, value) if source.is_bool else m.to_bits(source, value)
    old, new = _bits_type(source), _bits_type(target)
    if is_small_float(source) and source.bits < 8:
        raw = code.op(f"trunc {memory_type(source)} {raw} to {old}")
    if old != new:
        raw = code.op(f"bitcast {old} {raw} to {new}")
    if is_small_float(target) and target.bits < 8:
        raw = code.op(f"zext {new} {raw} to {memory_type(target)}")
    return m.from_memory(target, raw) if target.is_bool else m.from_bits(target, raw)


def _bits_type(dtype: DType) -> str:
    if dtype.is_bool or is_small_float(dtype):
        return vector(f"i{dtype.bits}", dtype.lanes)
    return value_type(dtype)


def float_constant(dtype: DType, value: float) -> str:
    """The constant in every lane of a float type."""
    return splat(value_type(dtype.element), float_text(value, dtype), dtype)
