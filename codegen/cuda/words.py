"""Words of CUDA C++: those that no name of ours may be, and the inexact functions."""

from __future__ import annotations

from typing import Final

_KEYWORDS = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t class
    compl const const_cast constexpr continue decltype default delete do double dynamic_cast else enum
    explicit export extern false float for friend goto if inline int long mutable namespace new noexcept not
    not_eq nullptr operator or or_eq private protected public register reinterpret_cast return short signed
    sizeof static static_assert static_cast struct switch template this thread_local throw true try typedef
    typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq restrict near far
"""
_NAMES = """
    threadIdx blockIdx blockDim gridDim warpSize half half2 nvcuda wmma printf assert main min max abs exp
    log sin cos tan pow sqrt floor ceil trunc round rint fabs fmod erf j0 j1 jn y0 y1 yn size_t clock
    clock64 NULL INFINITY NAN std dim3 uint3 ushort uint ulong uchar uint8_t int8_t int16_t uint16_t int32_t
    uint32_t int64_t uint64_t atomicAdd atomicCAS isnan isinf signbit div time random gamma index linux unix
    index_t free malloc memcpy memset exp2 exp10 log2 log10 log1p sinh cosh tanh asin acos atan asinh acosh
    atanh hypot ldexp fma copysign nextafter rsqrt atan2 cbrt expm1 lw_dyn_shared
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
        "longlong",
        "ulonglong",
        "float",
        "double",
    )
    for n in (1, 2, 3, 4)
]
_TAKEN = [*_KEYWORDS.split(), *_NAMES.split(), *_VECTORS]
RESERVED: Final[frozenset[str]] = frozenset(
    [*_TAKEN, *[f"{n}f" for n in _NAMES.split()], *[f"make_{v}" for v in _VECTORS]]
)

FAST_MATH: Final[dict[str, str]] = {
    **{name: f"__{name}f" for name in ("exp", "exp10", "log", "log2", "log10", "sin", "cos", "tan", "pow")},
}
"""Functions of float32 that are faster and less exact."""
