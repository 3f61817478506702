"""Words of OpenCL C: those that no name of ours may be, and the inexact functions."""

from __future__ import annotations

from typing import Final

_KEYWORDS = """
    auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile
    while _Bool _Complex _Imaginary bool half uchar ushort uint ulong size_t ptrdiff_t intptr_t uintptr_t
    quad complex imaginary kernel global local constant private generic pipe read_only write_only read_write
    uniform true false __kernel __global __local __constant __private image2d_t image3d_t sampler_t event_t
    queue_t
"""
_NAMES = """
    printf main min max abs exp log sin cos tan pow sqrt floor ceil trunc round rint fabs fmod erf barrier
    clamp mix step sign dot cross length distance normalize select any all shuffle shuffle2 rotate mad mad24
    mul24 hadd rhadd clz popcount as_int as_uint as_float NULL INFINITY NAN isnan isinf signbit exp2 exp10
    log2 log10 log1p sinh cosh tanh asin acos atan asinh acosh atanh hypot ldexp fma copysign nextafter
    rsqrt atan2 cbrt expm1 degrees radians get_global_id get_local_id get_group_id atomic_add atomic_cmpxchg
    fract modf frexp ilogb logb nan remainder remquo tgamma lgamma sincos maxmag minmag mem_fence prefetch
    async_work_group_copy M_PI M_E FLT_MAX CHAR_BIT linux unix
"""
_VECTORS = [
    f"{stem}{n}"
    for stem in (
        "char",
        "uchar",
        "short",
        "ushort",
        "int",
        "uint",
        "long",
        "ulong",
        "float",
        "double",
        "half",
        "bool",
    )
    for n in (2, 3, 4, 8, 16)
]
RESERVED: Final[frozenset[str]] = frozenset([*_KEYWORDS.split(), *_NAMES.split(), *_VECTORS])

_FAST = ("exp", "exp2", "exp10", "log", "log2", "log10", "sin", "cos", "tan", "sqrt", "rsqrt")
FAST_MATH: Final[dict[str, str]] = {name: f"native_{name}" for name in _FAST}
"""Functions of float32 that are faster and less exact."""
