"""What the pure operators compute, on numpy scalars and arrays of the operands' dtype.

numpy is imported when something is evaluated.  Floats narrower than float32 are computed in
float32 and rounded once; an integer operand of a real function is computed in float64 and
truncated, as a cast would.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

Evaluate = Callable[..., Any]


def _narrow(dtype: Any) -> bool:
    """Whether this is a float type that arithmetic widens to float32."""
    return bool(dtype.kind not in "fiub" or dtype.kind == "f" and dtype.itemsize < 4)


def real(function: str | Evaluate) -> Evaluate:
    """Evaluation by a numpy function (or a function of arrays) of reals; the result has the first dtype."""

    def evaluate(*args: Any) -> Any:
        import numpy as np

        rule = getattr(np, function) if isinstance(function, str) else function
        out = np.asarray(args[0]).dtype
        operands = [np.asarray(a) for a in args]
        if _narrow(out):
            operands = [a.astype(np.float32) if _narrow(a.dtype) else a for a in operands]
        with np.errstate(all="ignore"):
            result = rule(*operands)
            return result if result.dtype == out else _as_dtype(result, out)

    return evaluate


def power(x: Any, y: Any) -> Any:
    """x to the power y, as C's `pow` has it.

    For single values numpy takes square roots where y is 0.5, whose results for -0.0 and -inf are others.
    """
    import numpy as np

    shape = np.broadcast(x, y).shape
    result = np.power(np.atleast_1d(x), np.atleast_1d(y))
    return result.reshape(shape)


def _as_dtype(result: Any, out: Any) -> Any:
    import numpy as np

    if out.kind not in "iu":
        return result.astype(out)
    info = np.iinfo(out)
    clean = np.nan_to_num(np.trunc(result), nan=0.0, posinf=np.inf, neginf=-np.inf)
    inside = np.clip(clean, float(info.min), float(info.max))
    whole = np.where(inside >= float(info.max), info.max, 0).astype(out)
    return np.where(inside >= float(info.max), whole, np.where(inside >= info.max, 0, inside).astype(out))


def test(function: str) -> Evaluate:
    """Evaluation of a predicate on reals: bools."""

    def evaluate(x: Any) -> Any:
        import numpy as np

        x = np.asarray(x)
        return getattr(np, function)(x.astype(np.float32) if _narrow(x.dtype) else x)

    return evaluate


def elementwise(function: Callable[..., Any]) -> Evaluate:
    """A function of arrays from one of Python floats."""

    def evaluate(*args: Any) -> Any:
        import numpy as np

        return np.vectorize(function, otypes=[np.float64])(*[np.asarray(a, dtype=np.float64) for a in args])

    return evaluate


def rsqrt(x: Any) -> Any:
    """1 / sqrt(x)"""
    import numpy as np

    return (1 / np.sqrt(x.astype(np.float64))).astype(x.dtype if x.dtype.kind == "f" else np.float64)


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))"""
    import numpy as np

    return (1 / (1 + np.exp(-x.astype(np.float64)))).astype(x.dtype if x.dtype.kind == "f" else np.float64)


def exp10(x: Any) -> Any:
    """10 to the power x"""
    import numpy as np

    return np.power(10.0, x.astype(np.float64))


def ldexp(x: Any, exponent: Any) -> Any:
    """x * 2 ** exponent"""
    import numpy as np

    return np.ldexp(x, exponent.astype(np.int32))


def _fma_scalar(x: float, y: float, z: float, single: bool) -> float:
    if not (math.isfinite(x) and math.isfinite(y) and math.isfinite(z)):
        return x * y + z
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    if exact == 0:
        return x * y + z
    try:
        near = float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
    if not single or Fraction(near) == exact:
        return near
    mantissa = int(math.ldexp(*math.frexp(near)[:1], 53)) if near else 0
    if mantissa % 2 == 0:  # round to odd, so that rounding once more to float32 is exact
        near = math.nextafter(near, math.inf if Fraction(near) < exact else -math.inf)
    return near


def fma(x: Any, y: Any, z: Any) -> Any:
    """x * y + z, rounded once"""
    import numpy as np

    if x.dtype.kind in "iu":
        return x * y + z
    single = x.dtype.itemsize < 8
    rule = np.vectorize(lambda a, b, c: _fma_scalar(a, b, c, single), otypes=[np.float64])
    return rule(*[a.astype(np.float64) for a in (x, y, z)]).astype(x.dtype)


def _unsigned(x: Any) -> tuple[Any, int]:
    import numpy as np

    x = np.asarray(x)
    bits = 8 * x.dtype.itemsize
    name = x.dtype.name
    if name.lstrip("u").startswith("int") and name.lstrip("uint").isdigit():
        bits = int(name.lstrip("uint"))
    return np.vectorize(lambda v: int(v) & ((1 << bits) - 1), otypes=[object])(x), bits


def popcount(x: Any) -> Any:
    """The number of one bits"""
    import numpy as np

    words, _ = _unsigned(x)
    return np.vectorize(lambda v: v.bit_count(), otypes=[np.int64])(words).astype(np.asarray(x).dtype)


def clz(x: Any) -> Any:
    """The number of zero bits above the highest one bit; the width for 0"""
    import numpy as np

    words, bits = _unsigned(x)
    out = np.int64 if np.asarray(x).dtype == np.int64 else np.int32
    return np.vectorize(lambda v: bits - v.bit_length(), otypes=[np.int64])(words).astype(out)


def _wrap32(x: int) -> int:
    return (x + (1 << 31)) % (1 << 32) - (1 << 31)


def _q_multiply(x: int, y: int, q: int, left: int, right: int) -> int:
    shift = q + right
    product = (x << left) * y
    return _wrap32((product + ((1 << shift) >> 1)) >> shift)


def _int32(rule: Callable[..., int]) -> Evaluate:
    def evaluate(*args: Any) -> Any:
        import numpy as np

        whole = [np.asarray(a).astype(object) for a in args]
        return np.vectorize(lambda *v: rule(*[int(i) for i in v]), otypes=[np.int64])(*whole).astype(np.int32)

    return evaluate


q_multiply_shift = _int32(lambda x, y, q, s: _q_multiply(x, y, q, max(-s, 0), max(s, 0)))
q_multiply_shift_per_axis = _int32(
    lambda x, y, ls, rs, q, left, right: _q_multiply(x, y, q, ls if left else 0, rs if right else 0)
)


def identity(x: Any) -> Any:
    """x itself"""
    return x


def dp4a(a: Any, b: Any, acc: Any = 0) -> Any:
    """The sum of the products of four 8-bit lanes, plus acc"""
    import numpy as np

    lanes = []
    for x in (np.asarray(a), np.asarray(b)):
        if x.dtype.itemsize == 4:
            x = np.atleast_1d(x).view(np.uint8 if x.dtype.kind == "u" else np.int8)
        lanes.append(x.astype(np.int64).reshape(-1, 4))
    total = (lanes[0] * lanes[1]).sum(axis=1) + np.asarray(acc).astype(np.int64)
    return total.astype(np.int32).reshape(np.shape(acc))


def low_half(x: Any) -> Any:
    """The first half of the lanes"""
    return x[: len(x) // 2]


def high_half(x: Any) -> Any:
    """The second half of the lanes"""
    return x[len(x) // 2 :]


def joined(a: Any, b: Any) -> Any:
    """The lanes of a, then those of b"""
    import numpy as np

    return np.concatenate([a, b])
