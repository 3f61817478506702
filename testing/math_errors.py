"""How exact the elementary functions of compiled code are, measured against wider arithmetic.

    python -m loopwright.testing.math_errors --count 10000000 [--seed 1] [--mode fast] [NAME ...]

Float32 is compared with float64, float64 with the machine's long double, float16 (all its values)
with float64.  A line a function and dtype: the largest error in units of the last place, the place,
and the bound that `codegen/llvm/math.py` states.  The exit status is 1 where a bound is exceeded, or
where NaN, infinities or signs are not those of the reference.
"""

from __future__ import annotations

import argparse
import ctypes
import functools
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..codegen import build
from ..codegen.llvm.math import ERRORS, TWO
from ..ir import BufferLoad, BufferStore, BufferType, Call, FloorDiv, For, IRModule, Mul, PrimFunc, Ramp, Var

Array = np.ndarray[Any, Any]

_NUMPY = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "pow": "power", "atan2": "arctan2"}
_NUMPY |= {"asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"}
DTYPES = ("float16", "float32", "float64")


@dataclass(frozen=True)
class Measured:
    """The largest error in units of the last place, where, and which results are wrong altogether."""

    error: float
    at: tuple[float, ...]
    wrong: str


def wide_enough() -> bool:
    """Whether long double has the bits that judging float64 takes."""
    return bool(np.finfo(np.longdouble).nmant > 60)


@functools.cache
def kernel(name: str, dtype: str, lanes: int = 1, mode: str = "accurate") -> Callable[..., None]:
    """The function applied to arrays whose length is a multiple of the lanes; the last one is written."""
    n, i = Var("n", "int32"), Var("i", "int32")
    inputs = [Var(f"x{k}", BufferType(dtype, (n,))) for k in range(2 if name in TWO else 1)]
    output = Var("y", BufferType(dtype, (n,)))
    index = i if lanes == 1 else Ramp(Mul(i, lanes), 1, lanes)
    loads = [BufferLoad(x, [index]) for x in inputs]
    dialect = "prim" if name == "log2" else "tirx"
    value = Call(f"{dialect}.{name}", loads, loads[0].ty)
    body = For(i, 0, n if lanes == 1 else FloorDiv(n, lanes), "serial", BufferStore(output, value, [index]))
    func = PrimFunc([*inputs, output], body, None, {"global_symbol": "f"})
    found: Callable[..., None] = build(IRModule({"f": func}), f"llvm -math={mode}")["f"]
    return found


def points(name: str, dtype: str, count: int, seed: int = 0) -> list[Array]:
    """Arguments over the whole range, dense where functions are difficult."""
    rng = np.random.default_rng(seed)
    info = np.finfo(dtype)
    few = max(count // 8, 8)

    def spread(low: float, high: float) -> Array:
        return np.exp2(rng.uniform(low, high, few)) * rng.choice([-1.0, 1.0], few)

    def draw() -> Array:
        limit = info.maxexp * math.log(2) * 1.2
        parts = [rng.normal(size=few) * 2, rng.uniform(-1, 1, few), rng.uniform(-limit, limit, few)]
        parts += [spread(info.minexp - info.nmant, info.maxexp), 1 + rng.normal(size=few) * 0.01]
        parts += [spread(-40, 0), np.round(rng.uniform(-1e6, 1e6, few)) * (math.pi / 2)]
        parts.append(rng.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.0, 0.5], few))
        with np.errstate(over="ignore"):
            return np.concatenate(parts).astype(dtype)

    if name not in TWO:
        return [draw()]
    x, y = draw(), rng.permutation(draw())
    with np.errstate(all="ignore"):
        if name == "pow":  # else nearly every result is 0, infinity or NaN
            range_ = info.maxexp * math.log(2) / np.maximum(abs(np.log(abs(x.astype(float)))), 1e-6)
            y = np.where(rng.integers(0, 2, len(y)), y, rng.uniform(-1, 1, len(y)) * range_).astype(dtype)
            x = np.where(rng.integers(0, 8, len(y)), abs(x), x)
        else:
            y = np.where(rng.integers(0, 2, len(y)), y, x * np.exp(rng.normal(size=len(y)))).astype(dtype)
    return [x, y]


def exact(name: str, arrays: Sequence[Array]) -> Array:
    """The results in wider arithmetic."""
    wide = np.float64 if arrays[0].dtype.itemsize < 8 else np.longdouble
    with np.errstate(all="ignore"):
        x = [a.astype(wide) for a in arrays]
        if name == "sigmoid":
            e = np.exp(-abs(x[0]))
            return np.asarray(np.where(np.signbit(x[0]), e, 1) / (1 + e))
        if name == "rsqrt":
            return np.asarray(1 / np.sqrt(x[0]))
        if name == "exp10":
            return np.asarray(np.power(wide(10), x[0]))
        if name == "erf":
            return _erf(x[0])
        return np.asarray(getattr(np, _NUMPY.get(name, name))(*x))


def _erf(x: Array) -> Array:
    if x.dtype == np.float64:
        return np.array([math.erf(v) for v in x.tolist()])
    library = ctypes.CDLL(None)
    library.erfl.restype, library.erfl.argtypes = ctypes.c_longdouble, [ctypes.c_longdouble]
    # ctypes passes long double as a Python float, so the small rest is added by hand: 1 - erfc and series.
    near = np.array([library.erfl(v) for v in x.astype(np.float64).tolist()], np.longdouble)
    return np.copysign(near + _erf_rest(x, near), x)


def _erf_rest(x: Array, near: Array) -> Array:
    """What Maclaurin's series adds to a value in double precision, where it converges quickly."""
    total, term, square = np.zeros_like(x), x.copy(), x * x
    for k in range(60):
        total = total + term / (2 * k + 1)
        term = term * -square / (k + 1)
    series = total * 2 / np.sqrt(np.arccos(np.longdouble(-1)))
    return np.asarray(np.where(abs(x) < 1.5, series - near, 0))


def measure(
    name: str, dtype: str, arrays: Sequence[Array], lanes: int = 1, mode: str = "accurate"
) -> Measured:
    """Run the compiled function on the arguments and compare."""
    length = len(arrays[0]) // lanes * lanes
    arrays = [a[:length] for a in arrays]
    got = np.zeros_like(arrays[0])
    kernel(name, dtype, lanes, mode)(*arrays, got)
    want = exact(name, arrays)
    info = np.finfo(dtype)
    # What is beyond half a place above the largest number is infinity.
    limit = want.dtype.type(info.max) * (1 + want.dtype.type(2.0) ** -(info.nmant + 2))
    with np.errstate(all="ignore"):
        finite = np.isfinite(want) & (abs(want) < limit)
        unit = np.spacing(np.clip(abs(want), info.tiny, info.max).astype(dtype)).astype(want.dtype)
        error = np.where(finite, abs(got.astype(want.dtype) - want) / unit, 0)
        error = np.where(finite & ~np.isfinite(got) & (abs(want) < info.max), np.inf, error)
        error = np.where(np.isnan(error) | np.isinf(got) & (abs(want) >= info.max), 0, error)
    worst = int(np.argmax(error)) if length else 0
    at = tuple([float(a[worst]) for a in arrays])
    return Measured(float(error[worst]) if length else 0.0, at, _wrong(arrays, got, want, limit))


def _wrong(arrays: Sequence[Array], got: Array, want: Array, limit: Any) -> str:
    """The first result whose NaN, infinity or sign is not that of the reference, as text."""
    large = (abs(want) > limit * (1 + 1e-6)) & ~np.isnan(want)
    # Beyond the reference's own range the sign of nothing is all that remains.
    bad = (np.isnan(got) != np.isnan(want)) | (large & ~np.isinf(got))
    bad |= (np.signbit(got) != np.signbit(want)) & ~np.isnan(want)
    places = np.nonzero(bad)[0]
    if not len(places):
        return ""
    k = places[0]
    return f"{[float(a[k]) for a in arrays]} gives {got[k]}, not {want[k]}"


def bound(name: str, dtype: str, mode: str) -> float:
    """The stated bound; half a place and what double rounding may add for float16."""
    found = ERRORS[name]
    if dtype == "float16":
        return 0.51
    return found.double if dtype == "float64" else found.fast if mode == "fast" else found.single


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the functions named, or all; 1 where one is worse than stated."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="functions; all without one")
    parser.add_argument("--count", type=int, default=100_000, help="points of each")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--mode", choices=("accurate", "fast"), default="accurate")
    parser.add_argument("--lanes", type=int, default=1)
    args = parser.parse_args(argv)
    failed = False
    for name in args.names or ERRORS:
        for dtype in DTYPES if wide_enough() else DTYPES[:2]:
            error, at, wrong = 0.0, (), ""  # type: tuple[float, tuple[float, ...], str]
            for arrays in _batches(name, dtype, args.count, args.seed):
                found = measure(name, dtype, arrays, args.lanes, args.mode)
                wrong = wrong or found.wrong
                if found.error > error:
                    error, at = found.error, found.at
            limit = bound(name, dtype, args.mode)
            failed |= error > limit or bool(wrong)
            print(f"{name:8} {dtype}  {error:7.3f} of {limit:5.2f}  at {at}  {wrong}", flush=True)
    return int(failed)


def _batches(name: str, dtype: str, count: int, seed: int) -> list[list[Array]] | Any:
    """The points in pieces of a million; for float16 and one argument, all values."""
    if dtype == "float16" and name not in TWO:
        return [[np.arange(65536, dtype=np.uint16).view(np.float16)]]
    size = 1_000_000
    return (points(name, dtype, min(size, count - k), seed + k) for k in range(0, count, size))


if __name__ == "__main__":
    sys.exit(main())
