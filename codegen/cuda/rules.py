"""Rules of CUDA and HIP: barriers, shuffles, votes, and the operators of `T.cuda`."""

from __future__ import annotations

from ...dtype import DType
from ...ir import Call, StringImm
from ..c_like import arith, formats
from ..c_like.rules import Rule, into, operator, short_name
from ..c_like.stmt import Statements
from ..c_like.text import UNARY, Lanes, Term, call, convert, prefix
from ..c_like.types import integer, short
from .ptx import moved

RULES: dict[str, Rule] = {}
rule = into(RULES)

ALL = Term("0xffffffffu")
RANK = Term("(int)(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z))", UNARY)
"""The number of a thread in its block."""


# Barriers


@rule("tvm_storage_sync")
def _sync(m: Statements, e: Call) -> Lanes:
    scope = e.args[0].value if isinstance(e.args[0], StringImm) else ""
    if scope in ("shared", "shared.dyn"):
        return [call("__syncthreads")]
    if scope == "warp":
        return [call("__syncwarp")]
    raise m.refuse(f"a barrier for `{scope}` memory", e)


_PLAIN = {
    "cuda.cta_sync": "__syncthreads",
    "cuda.warp_sync": "__syncwarp",
    "cuda.thread_fence": "__threadfence",
    "cuda.nano_sleep": "__nanosleep",
    "cuda.fdividef": "__fdividef",
    "cuda.clock64": "clock64",
}
"""Operators that are a function of the language."""


@rule(*_PLAIN)
def _plain(m: Statements, e: Call) -> Lanes:
    found = call(_PLAIN[short_name(e)], *[m.value(a) for a in e.args])
    return [convert(m.type(e.dtype), found)] if short_name(e) == "cuda.clock64" else [found]


@rule("cuda.syncthreads_and", "cuda.syncthreads_or")
def _sync_vote(m: Statements, e: Call) -> Lanes:
    name = "__" + short_name(e).removeprefix("cuda.")
    return [convert(m.type(e.dtype), call(name, convert("int", m.value(e.args[0]))))]


# Shuffles and votes


@rule("tvm_warp_shuffle", "tvm_warp_shuffle_up", "tvm_warp_shuffle_down", "tvm_warp_shuffle_xor")
def _warp_shuffle(m: Statements, e: Call) -> Lanes:
    return _shuffle(m, e, short_name(e).removeprefix("tvm_warp_shuffle").strip("_"))


@rule("cuda.__shfl_sync", "cuda.__shfl_up_sync", "cuda.__shfl_down_sync", "cuda.__shfl_xor_sync")
def _shfl(m: Statements, e: Call) -> Lanes:
    return _shuffle(m, e, short_name(e).removeprefix("cuda.__shfl").removesuffix("sync").strip("_"))


def _shuffle(m: Statements, e: Call, way: str) -> Lanes:
    """A shuffle of each lane of the value."""
    mask, value, lane, width = e.args[:4]
    if not (value.dtype.is_float or value.dtype.is_integral):
        raise m.refuse(f"`{operator(e)}` of `{value.dtype}`", e)
    ends = m.value(mask), m.value(lane), m.value(width)
    return [_shuffled(m, value.dtype.element, way, x, *ends) for x in m.lanes(value)]


def _shuffled(
    m: Statements, dtype: DType, way: str, value: Term, mask: Term, lane: Term, width: Term
) -> Term:
    """One shuffle; small integers travel as `int`."""
    small = dtype.is_integral and (dtype.is_bool or dtype.bits < 32)
    found = m.dialect.shuffle(way, mask, convert("int", value) if small else value, lane, width)
    return m.named(m.type(dtype), "shuffled", convert(m.type(dtype), found) if small else found)


@rule("tvm_warp_activemask", "cuda.__activemask")
def _active(m: Statements, e: Call) -> Lanes:
    return [m.named(m.type(e.dtype), "active", call("__activemask"))]


@rule("cuda.any_sync", "cuda.ballot_sync", "cuda.reduce_add_sync_u32", "cuda.reduce_min_sync_u32")
def _vote(m: Statements, e: Call) -> Lanes:
    name = "__" + short_name(e).removeprefix("cuda.").removesuffix("_u32")
    return [m.named(m.type(e.dtype), "vote", call(name, *[m.value(a) for a in e.args]))]


@rule("cuda.elect_sync")
def _elect(m: Statements, e: Call) -> Lanes:
    body = f"return __ffs(__activemask()) - 1 == {RANK.text} % 32;"
    name = m.unit.helper("lw_elect", "unsigned int", "", body)
    return [m.named(m.type(e.dtype), "elected", call(name))]


@rule("cuda.thread_rank")
def _rank(m: Statements, e: Call) -> Lanes:
    return [RANK]


@rule("cuda.warp_reduce")
def _warp_reduce(m: Statements, e: Call) -> Lanes:
    width = arith.constant(e.args[2])
    if width not in (1, 2, 4, 8, 16, 32):
        raise m.refuse(f"`{operator(e)}` over other than a power of two of lanes up to 32", e)
    return [call(_reducer(m, e), m.value(e.args[0]), Term(str(width)))]


def _reducer(m: Statements, e: Call) -> str:
    """The helper that reduces over the lanes of a part of a warp."""
    how = e.args[1].value if isinstance(e.args[1], StringImm) else ""
    dtype = e.args[0].dtype
    if how not in ("sum", "max", "min") or not dtype.is_scalar or dtype.bits < 32 or dtype.is_bool:
        raise m.refuse(f"`{operator(e)}` by `{how}` of `{dtype}`", e)
    t = m.type(dtype)
    other = m.dialect.shuffle("xor", ALL, Term("value"), Term("step"), Term("width"))
    step = {
        "sum": "value + other",
        "max": "value > other ? value : other",
        "min": "value < other ? value : other",
    }
    return m.unit.helper(
        f"lw_warp_{how}_{short(dtype)}",
        t,
        f"{t} value, int width",
        "for (int step = width / 2; step > 0; step /= 2) {",
        f"  const {t} other = {other.text};",
        f"  value = {step[how]};",
        "}",
        "return value;",
    )


@rule("cuda.cta_reduce")
def _cta_reduce(m: Statements, e: Call) -> Lanes:
    """Each warp leaves its part in the scratch; afterwards every warp reduces the parts."""
    warps = arith.constant(e.args[2])
    if warps not in (1, 2, 4, 8, 16, 32):
        raise m.refuse(f"`{operator(e)}` over other than a power of two of warps up to 32", e)
    how = e.args[1].value if isinstance(e.args[1], StringImm) else ""
    dtype = e.args[0].dtype
    t, part = m.type(dtype), _reducer(m, e)
    name = m.unit.helper(
        f"lw_cta_{how}_{short(dtype)}",
        t,
        f"{t} value, int warps, {t}* scratch",
        f"const int rank = {RANK.text};",
        f"value = {part}(value, 32);",
        "if (rank % 32 == 0) scratch[rank / 32] = value;",
        "__syncthreads();",
        f"value = {part}(scratch[rank % warps], warps);",
        "__syncthreads();",
        "return value;",
    )
    scratch = convert(f"{t}*", m.value(e.args[3]))
    return [call(name, m.value(e.args[0]), Term(str(warps)), scratch)]


# Memory and registers


@rule("cuda.ldg")
def _ldg(m: Statements, e: Call) -> Lanes:
    """A load through the read-only cache; formats that it does not know are loaded plainly."""
    pointer = m.value(e.args[0])
    plain = e.dtype.is_scalar and not e.dtype.is_bool and not m.dialect.carried(e.dtype) and e.dtype.bits >= 8
    if not e.dtype.is_scalar:
        raise m.refuse_dtype(f"`{operator(e)}` of `{e.dtype}`", e)
    return [call("__ldg", pointer)] if plain else [formats.from_cell(m.unit, e.dtype, prefix("*", pointer))]


@rule("cuda.cvta_generic_to_shared")
def _cvta(m: Statements, e: Call) -> Lanes:
    return [convert(m.type(e.dtype), call("__cvta_generic_to_shared", m.value(e.args[0])))]


@rule("cuda.trap_when_assert_failed")
def _trap(m: Statements, e: Call) -> Lanes:
    m.put(f"if ({prefix('!', m.value(e.args[0])).text}) {m.dialect.trap}();")
    return []


_SPECIAL = {"tid": "threadIdx", "ntid": "blockDim", "ctaid": "blockIdx", "nctaid": "gridDim"}
_REGISTERS = {
    "laneid": f"{RANK.text} % 32",
    "warpid": f"{RANK.text} / 32",
    **{f"{register}.{axis}": f"{name}.{axis}" for register, name in _SPECIAL.items() for axis in "xyz"},
}
"""Special registers that the language can read."""


@rule("cuda.mov_sreg")
def _register(m: Statements, e: Call) -> Lanes:
    name = e.args[1].value.removeprefix("%") if isinstance(e.args[1], StringImm) else ""
    if name not in _REGISTERS:
        raise m.refuse(f"the special register `{name}`", e, "known are " + ", ".join(_REGISTERS))
    return [convert(m.type(e.dtype), Term(f"({_REGISTERS[name]})"))]


# Register fragments


@rule("mma_fill", "mma_fill_legacy")
def _fill(m: Statements, e: Call) -> Lanes:
    t = m.unit.cell(e.dtype)
    zero = (
        integer(m.unit, DType("int32"), 0).text
        if e.dtype.is_integral
        else arith.cast(m, DType("int32"), e.dtype, Term("0")).text
    )
    body = f"for (int i = 0; i < count; ++i) registers[i] = {zero};"
    name = m.unit.helper(f"lw_mma_fill_{short(e.dtype)}", "void", f"{t}* registers, int count", body)
    return [call(name, moved(m, e.args[1], e.args[2]), m.index(e.args[0]))]


@rule("mma_store", "mma_store_legacy")
def _store(m: Statements, e: Call) -> Lanes:
    if (arith.constant(e.args[0]), arith.constant(e.args[1])) != (16, 16):
        raise m.refuse(f"`{operator(e)}` of other than 16 by 16", e)
    t = m.unit.cell(e.dtype)
    place = "(i % 4 / 2 * 8 + lane / 4) * stride + i / 4 * 8 + lane % 4 * 2 + i % 2"
    name = m.unit.helper(
        f"lw_mma_store_{short(e.dtype)}",
        "void",
        f"{t}* target, const {t}* registers, int stride",
        f"const int lane = {RANK.text} % 32;",
        f"for (int i = 0; i < 8; ++i) target[{place}] = registers[i];",
    )
    return [call(name, m.value(e.args[2]), moved(m, e.args[3], e.args[4]), m.index(e.args[5]))]
