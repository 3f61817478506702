"""Rules for functions of numbers, choices, hints and bits."""

from __future__ import annotations

from ...dtype import DType
from ...ir import Add, Call, Mul
from . import arith, formats
from .rules import operator, rule, short_name
from .stmt import Statements
from .text import ATOM, EQUAL, PRODUCT, SHIFT, SUM, UNARY, Lanes, Term, call, choose, convert, infix, prefix
from .types import FLOAT64, compute_type, integer, real, short

REAL = (
    *("exp", "exp2", "exp10", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh"),
    *("asin", "acos", "atan", "asinh", "acosh", "atanh", "sqrt", "rsqrt", "erf", "sigmoid", "pow", "atan2"),
    *(
        "fmod",
        "hypot",
        "copysign",
        "nextafter",
        "floor",
        "ceil",
        "trunc",
        "fabs",
        "round",
        "nearbyint",
        "rint",
    ),
)
"""Functions of real numbers with results of the first one's type."""
ROUNDING = frozenset({"floor", "ceil", "trunc", "round", "nearbyint", "rint"})


@rule(*REAL)
def _real(m: Statements, e: Call) -> Lanes:
    name, dtype = short_name(e), e.args[0].dtype
    columns = [[arith.cast(m, a.dtype.element, dtype.element, x) for x in m.lanes(a)] for a in e.args]
    if dtype.is_integral and name in ROUNDING:
        return columns[0]
    if dtype.is_bool or not (dtype.is_integral or dtype.is_float):
        raise m.refuse(f"`{operator(e)}` of `{dtype}`", e, "cast the argument to a float type")
    return [real_call(m, name, dtype.element, *row) for row in zip(*columns)]


def real_call(m: Statements, name: str, dtype: DType, *args: Term) -> Term:
    """A function of reals, computed in float32 or float64 and rounded (integers: in float64, truncated)."""
    wide = FLOAT64 if dtype.is_integral else compute_type(dtype)
    m.type(wide)
    values = [arith.cast(m, dtype, wide, a) for a in args]
    found = call(_sigmoid(m, wide) if name == "sigmoid" else m.dialect.math(m.unit, name, wide.bits), *values)
    return arith.cast(m, wide, dtype, found)


def _sigmoid(m: Statements, dtype: DType) -> str:
    t, one, exp = m.type(dtype), real(m.unit, dtype, 1.0).text, m.dialect.math(m.unit, "exp", dtype.bits)
    return m.unit.helper(f"lw_sigmoid_{short(dtype)}", t, f"{t} x", f"return {one} / ({one} + {exp}(-x));")


@rule("abs")
def _abs(m: Statements, e: Call) -> Lanes:
    dtype = e.args[0].dtype
    if dtype.is_float:
        return [real_call(m, "fabs", dtype.element, a) for a in m.lanes(e.args[0])]
    if not dtype.is_int:
        return m.lanes(e.args[0])
    out = []
    for a in m.lanes(e.args[0]):
        a = m.once(a, dtype.element)
        word = convert(m.type(arith.unsigned(dtype)), a)
        size = choose(infix(a, "<", Term("0"), EQUAL), infix(Term("0u"), "-", word, SUM), word)
        out.append(size._replace(modular=True))
    return out


@rule("ldexp")
def _ldexp(m: Statements, e: Call) -> Lanes:
    dtype, powers = e.args[0].dtype, e.args[1]
    if not dtype.is_float:
        raise m.refuse(f"`{operator(e)}` of `{dtype}`", e, "cast the argument to a float type")
    wide = compute_type(dtype).element
    name = m.dialect.math(m.unit, "ldexp", wide.bits)
    out = []
    for x, n in zip(m.lanes(e.args[0]), m.lanes(powers)):
        n = arith.cast(m, powers.dtype.element, DType("int32"), n)
        value = call(name, arith.cast(m, dtype.element, wide, x), n)
        out.append(arith.cast(m, wide, dtype.element, value))
    return out


@rule("fma")
def _fma(m: Statements, e: Call) -> Lanes:
    dtype = e.args[0].dtype
    if dtype.is_integral and not dtype.is_bool:
        return m.lanes(Add(Mul(e.args[0], e.args[1]), e.args[2]))
    if not dtype.is_float:
        raise m.refuse(f"`{operator(e)}` of `{dtype}`", e)
    return [real_call(m, "fma", dtype.element, *row) for row in zip(*[m.lanes(a) for a in e.args])]


@rule("isnan", "isinf", "isfinite")
def _classify(m: Statements, e: Call) -> Lanes:
    dtype, name = e.args[0].dtype, short_name(e)
    lanes = m.lanes(e.args[0])
    if not dtype.is_float:
        return [integer(m.unit, DType("bool"), name == "isfinite")] * len(lanes)
    wide = compute_type(dtype).element
    b, t = m.type(DType("bool")), m.type(wide)
    fabs, infinity = m.dialect.math(m.unit, "fabs", wide.bits), m.dialect.infinity[wide.bits]
    tests = {"isnan": "x != x", "isinf": f"{fabs}(x) == {infinity}", "isfinite": f"{fabs}(x) < {infinity}"}
    helper = m.unit.helper(f"lw_{name}_{short(wide)}", b, f"{t} x", f"return {tests[name]};")
    return [call(helper, arith.cast(m, dtype.element, wide, x)) for x in lanes]


@rule("popcount", "ctpop", "clz")
def _count_bits(m: Statements, e: Call) -> Lanes:
    dtype = e.args[0].dtype.element
    if not dtype.is_integral or dtype.is_bool:
        raise m.refuse(f"`{operator(e)}` of `{dtype}`", e)
    word = arith.unsigned(dtype)
    name = m.dialect.count_bits(short_name(e) == "clz", word.bits)
    out = []
    for a in m.lanes(e.args[0]):
        bits = a
        if dtype.bits < 8:
            bits = infix(a, "&", Term(f"{(1 << dtype.bits) - 1}u"), 4)
        elif dtype.is_int:
            bits = convert(m.type(DType.of(1, dtype.bits)), a)
        found = call(name, bits if dtype.bits == word.bits else convert(m.type(word), bits))
        if short_name(e) == "clz" and dtype.bits < word.bits:
            found = infix(found, "-", Term(str(word.bits - dtype.bits)), SUM)
        out.append(convert(m.type(e.dtype), found))
    return out


@rule("cuda.ffs_u32")
def _find_first_one(m: Statements, e: Call) -> Lanes:
    """The number of zeros above the lowest one, from the other side; 0 for 0."""
    w, i = m.type(DType("uint32")), m.type(DType("int32"))
    body = f"return 32 - {m.dialect.count_bits(True, 32)}(x & (0u - x));"
    return [call(m.unit.helper("lw_ffs", i, f"{w} x", body), m.value(e.args[0]))]


# Choice, hints and bits


@rule("if_then_else")
def _if_then_else(m: Statements, e: Call) -> Lanes:
    return m.lazy(e.args[0], e.args[1], e.args[2])


@rule("likely", "ignore_loop_partition", "tvm_thread_invariant")
def _identity(m: Statements, e: Call) -> Lanes:
    return m.lanes(e.args[0])


@rule(
    "assume",
    "prefetch",
    "start_profile_intrinsic",
    "end_profile_intrinsic",
    "type_annotation",
    "tvm_kernel_replace_point",
)
def _nothing(m: Statements, e: Call) -> Lanes:
    return [integer(m.unit, DType("int32"), 0)]


@rule("undef")
def _undef(m: Statements, e: Call) -> Lanes:
    zero = real(m.unit, e.dtype, 0.0) if e.dtype.is_float else integer(m.unit, e.dtype.element, 0)
    return [zero] * e.dtype.lanes


@rule("shift_left", "shift_right")
def _shift(m: Statements, e: Call) -> Lanes:
    return arith.shift(m, e.args[0], e.args[1], "<<" if short_name(e) == "shift_left" else ">>")


@rule("bitwise_and", "bitwise_or", "bitwise_xor")
def _bitwise(m: Statements, e: Call) -> Lanes:
    sign = {"and": "&", "or": "|", "xor": "^"}[short_name(e).removeprefix("bitwise_")]
    return m.bitwise(e.args[0], e.args[1], sign)


@rule("bitwise_not")
def _bitwise_not(m: Statements, e: Call) -> Lanes:
    return m.invert(e.args[0])


@rule("large_uint_imm")
def _large(m: Statements, e: Call) -> Lanes:
    low, high = arith.constant(e.args[0]), arith.constant(e.args[1])
    if low is None or high is None:
        raise m.refuse("`large_uint_imm` of values that are not constant", e)
    return [integer(m.unit, e.dtype, ((high & 0xFFFFFFFF) << 32) | (low & 0xFFFFFFFF))]


@rule("q_multiply_shift", "q_multiply_shift_per_axis")
def _q_multiply_shift(m: Statements, e: Call) -> Lanes:
    """(x * 2**left * y) / 2**right, rounded half up, in 64 bits."""
    out = []
    i, w = m.type(DType("int32")), m.type(DType("int64"))
    for row in zip(*[m.lanes(a) for a in e.args]):
        if short_name(e) == "q_multiply_shift":
            x, y, q, s = [m.once(a, DType("int32")) for a in row]
            left, right = (
                choose(infix(s, "<", Term("0"), EQUAL), prefix("-", s), Term("0")),
                choose(infix(s, ">", Term("0"), EQUAL), s, Term("0")),
            )
        else:
            x, y, ls, rs, q, is_left, is_right = row
            left, right = choose(is_left, ls, Term("0")), choose(is_right, rs, Term("0"))
        helper = m.unit.helper(
            "lw_q_multiply",
            i,
            f"{i} x, {i} y, {i} left, {i} right",
            f"const {w} half = right > 0 ? ({w})1 << (right - 1) : 0;",
            f"return ({i})((({w})x * (({w})1 << left) * y + half) >> right);",
        )
        out.append(call(helper, x, y, left, infix(q, "+", right, SUM)))
    return out


@rule("dp4a")
def _dp4a(m: Statements, e: Call) -> Lanes:
    i, w = m.type(DType("int32")), m.type(DType("uint32"))
    parts = []
    for a in e.args[:2]:
        byte = DType("uint8" if a.dtype.is_uint else "int8")
        if a.dtype.lanes == 4:
            parts.append([convert(i, x) for x in m.lanes(a)])
        else:
            whole = m.once(m.value(a), a.dtype)
            moved = [
                whole if k == 0 else infix(convert(w, whole), ">>", Term(str(8 * k)), SHIFT) for k in range(4)
            ]
            parts.append([convert(i, convert(m.type(byte), x)) for x in moved])
    acc = m.value(e.args[2])
    total = convert(w, acc)
    for a, b in zip(*parts):
        total = infix(total, "+", infix(a, "*", b, PRODUCT), SUM, modular=True)
    return [total]


@rule("reinterpret")
def _reinterpret(m: Statements, e: Call) -> Lanes:
    source, target = e.args[0].dtype, e.dtype
    if source.is_handle or target.is_handle:
        return _reinterpret_pointer(m, e)
    sizes = [d.lanes * (8 if d.is_bool else d.bits) for d in (source, target)]
    if sizes[0] != sizes[1]:
        raise m.refuse(f"`reinterpret` from `{source}` to `{target}`, which differ in size", e)
    words = [to_bits(m, source.element, x) for x in m.lanes(e.args[0])]
    widths = [8 if d.is_bool else d.bits for d in (source, target)]
    if widths[0] != widths[1]:
        words = _regrouped(m, words, *widths)
    return [from_bits(m, target.element, w) for w in words]


def _reinterpret_pointer(m: Statements, e: Call) -> Lanes:
    value = m.value(e.args[0])
    if not e.dtype.is_handle:
        return [convert(m.type(e.dtype), value)]
    if arith.constant(e.args[0]) == 0:
        return [Term("0")]
    return [convert(m.pointer_type(e.ty), value)]


def to_bits(m: Statements, dtype: DType, value: Term) -> Term:
    """The bits of a lane as an unsigned integer that is not wider than C promotes it."""
    if dtype.is_float:
        if m.dialect.carried(dtype):
            return formats.to_cell(m.unit, dtype, value)
        return call(m.dialect.bits_to_float(m.unit, dtype)[1], value)
    if dtype.is_bool:
        return convert(m.type(DType("uint8")), value)
    if dtype.bits < 8:
        return infix(value, "&", Term(f"{(1 << dtype.bits) - 1}u"), 4)
    return convert(m.type(DType.of(1, dtype.bits)), value) if dtype.is_int else value


def from_bits(m: Statements, dtype: DType, bits: Term) -> Term:
    """The value of a lane's bits."""
    if dtype.is_float:
        if m.dialect.carried(dtype):
            return formats.from_cell(m.unit, dtype, bits)
        return call(m.dialect.bits_to_float(m.unit, dtype)[0], bits)
    if dtype.is_bool:
        return infix(bits, "!=", Term("0"), EQUAL)
    if dtype.bits < 8:
        return m.exact(Term(f"({m.type(DType('uint32'))}){bits.at(UNARY)}", UNARY, True), dtype)
    return convert(m.type(dtype), bits)


def _regrouped(m: Statements, words: Lanes, old: int, new: int) -> Lanes:
    """Words of `old` bits, the lowest first, as words of `new` bits."""
    kind = DType("uint64" if max(old, new) == 64 else "uint32")
    t = m.type(kind)
    if old > new:
        named = [m.named(t, "bits", w) for w in words]
        target = m.type(DType.of(1, new)) if new >= 8 else None
        out = []
        for w in named:
            for k in range(old // new):
                part = infix(w, ">>", Term(str(k * new)), SHIFT) if k else w
                mask = Term(f"{(1 << new) - 1}u")
                out.append(convert(target, part) if target else infix(part, "&", mask, 4))
        return out
    count = new // old
    out = []
    for start in range(0, len(words), count):
        parts = []
        for k, w in enumerate(words[start : start + count]):
            wide = convert(t, w)
            parts.append(infix(wide, "<<", Term(str(k * old)), SHIFT) if k else wide)
        text = " | ".join([p.at(UNARY) for p in parts])
        out.append(Term(f"({text})", ATOM))
    return out
