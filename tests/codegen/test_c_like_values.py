"""The law of the C-like back ends: what a source computes is what the oracle computes, by operator and dtype.

All kernels of one language are one source, which is compiled once.  A sample of the dtypes is checked here;
`LOOPWRIGHT_DTYPES=all` takes all of them.
"""

from __future__ import annotations

import functools
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

from loopwright import ir
from loopwright.dtype import DType, nearest
from loopwright.ir import (
    AttrStmt,
    BufferLoad,
    BufferStore,
    BufferType,
    Call,
    Cast,
    DeclBuffer,
    Expr,
    For,
    IterVar,
    PointerType,
    PrimFunc,
    PrimType,
    Range,
    SeqStmt,
    Var,
    const,
    find_record,
)

ALL = os.environ.get("LOOPWRIGHT_DTYPES") == "all"
INTS: tuple[str, ...] = ("int8", "int32", "int64", "uint32")
NARROW: tuple[str, ...] = ("int4",)
SMALL: tuple[str, ...] = ("float8_e4m3fn", "float4_e2m1fn")
WIDE = ("float16", "bfloat16", "float32", "float64")
VECTORS = {"int8": 4, "float16": 8, "float32": 4}
"""The lanes of the dtypes that are checked as vectors too."""
if ALL:
    INTS += ("int16", "uint8", "uint16", "uint64")
    NARROW += ("uint4", "int2", "uint2", "int1", "uint1")
    SMALL += ("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2")
    SMALL += ("float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn")
    VECTORS |= {"int32": 3, "uint8": 16, "float64": 4, "int4": 8, "uint64": 5}
COUNT = 512 if ALL else 64
"""Elements of each array."""
Make = Callable[..., Expr]
Row = tuple[str, str, Make]
"""An output: what messages call it, its dtype, and the expression of the inputs."""


class Case(NamedTuple):
    """A kernel: for each element of the inputs, some expressions of them."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[Row, ...]
    lanes: int = 1

    @property
    def threads(self) -> int:
        """The threads of each of the two blocks."""
        return COUNT // self.lanes // 2

    @property
    def length(self) -> int:
        """The elements of each array: those that whole vectors cover."""
        return 2 * self.threads * self.lanes

    def program(self) -> PrimFunc:
        """The loop that the oracle runs."""
        i = Var("i", "int32")
        params = [Var(f"p{k}", BufferType(d, (self.length,))) for k, d in enumerate(self.dtypes)]
        loop = For(i, 0, 2 * self.threads, "serial", self.stores(params, i))
        return PrimFunc(params, loop, None, {"global_symbol": self.name})

    def kernel(self) -> PrimFunc:
        """The same as a device function, a thread for each element or vector."""
        i, b = Var("tx", "int32"), Var("bx", "int32")
        pointers, views, buffers = [], [], []
        for k, d in enumerate(self.dtypes):
            pointers.append(Var(f"p{k}_data", PointerType(PrimType(d), "global")))
            buffers.append(Var(f"p{k}", BufferType(d, (self.length,))))
            views.append(DeclBuffer(buffers[-1], pointers[-1]))
        body: Any = self.stores(buffers, ir.Add(ir.Mul(b, const(self.threads, "int32")), i))
        for var, tag, extent in ((i, "threadIdx.x", self.threads), (b, "blockIdx.x", 2)):
            axis = IterVar(Range(const(0, "int32"), const(extent, "int32")), var, 1, tag)
            body = AttrStmt(axis, "thread_extent", const(extent, "int32"), body)
        launch = {"tirx.kernel_launch_params": ["blockIdx.x", "threadIdx.x"], "tirx.noalias": True}
        return PrimFunc(pointers, SeqStmt([*views, body]), None, {"global_symbol": self.name, **launch})

    @property
    def dtypes(self) -> list[str]:
        """The dtypes of the arrays, inputs first."""
        return [*self.inputs, *[d for _, d, _ in self.outputs]]

    def stores(self, buffers: Sequence[Var], i: Expr) -> SeqStmt:
        """The stores of all outputs for a thread."""
        index = i if self.lanes == 1 else ir.Ramp(ir.Mul(i, const(self.lanes, "int32")), 1, self.lanes)
        loads = [BufferLoad(b, [index]) for b in buffers[: len(self.inputs)]]
        outputs = zip(buffers[len(self.inputs) :], self.outputs)
        return SeqStmt([BufferStore(b, make(*loads), [index]) for b, (_, _, make) in outputs])


def values(dtype: str, which: int) -> np.ndarray:
    """Values of a dtype: extremes in all pairs, small ones, random ones."""
    rng = np.random.default_rng(zlib.crc32(f"{dtype}{which}".encode()))
    kind = DType(dtype)
    place = np.arange(COUNT)
    if kind.is_bool:
        return rng.integers(0, 2, COUNT).astype(bool)
    if kind.is_integral:
        low, high = int(kind.min_value), int(kind.max_value)
        near = rng.integers(max(low, -40), min(high, 40), COUNT, endpoint=True)
        wild = rng.integers(low, high, COUNT, dtype=np.int64 if low else np.uint64, endpoint=True)
        out = np.where(place % 2 == 0, near.astype(object), wild.astype(object))
        some: Any = [low, high, 0, 1]
    else:
        item = kind.numpy()
        bits = np.dtype(f"u{item.itemsize}")
        wild = rng.integers(0, 1 << min(63, kind.bits), COUNT, dtype=np.uint64).astype(bits).view(item)
        near = nearest(rng.integers(-64, 64, COUNT) / 8.0, kind)
        out = np.where(place % 2 == 0, near, wild)
        some = nearest(np.array([0.0, -1.5, np.inf, np.nan]), kind)
    for k in range(16):
        out[k] = some[(k // 4 if which else k) % 4]
    return np.array([int(x) for x in out], object).astype(kind.numpy()) if kind.is_integral else out


@functools.cache
def wanted(name: str) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The inputs of a case, and what the oracle makes of them."""
    case = CASES[name]
    inputs = [values(d, k)[: case.length] for k, d in enumerate(case.inputs)]
    outputs = [np.zeros(case.length, DType(d).numpy()) for _, d, _ in case.outputs]
    case.program().interpret(*inputs, *outputs)
    return inputs, outputs


def of(kind: type, *fixed: float) -> Make:
    """The operator on the inputs; on the first one and a constant where one is given."""
    return lambda a, b: kind(a, const(fixed[0], a.dtype) if fixed else b)


def arithmetic() -> Iterator[Case]:
    """Operators on two values of a dtype."""
    tests = (ir.EQ, ir.NE, ir.LT, ir.LE, ir.GT, ir.GE)
    divisions = (ir.Div, ir.Mod, ir.FloorDiv, ir.FloorMod)
    for dtype in (*INTS, *NARROW, *WIDE, *SMALL):
        rows: list[Row] = [(k.__name__, dtype, of(k)) for k in (ir.Add, ir.Sub, ir.Mul, ir.Min, ir.Max)]
        rows += [(k.__name__, "bool", of(k)) for k in tests]
        rows += [("choice", dtype, lambda a, b: ir.Select(ir.LT(a, b), b, a))]
        if DType(dtype).is_float:
            rows += [(k.__name__, dtype, of(k)) for k in divisions]
        else:
            most = DType(dtype).max_value
            rows += [(k.__name__, dtype, of(k)) for k in (ir.BitwiseAnd, ir.BitwiseOr, ir.BitwiseXor)]
            rows += [("invert", dtype, lambda a, b: ir.BitwiseNot(a))]
            rows += [(f"{k.__name__} 1", dtype, of(k, 1)) for k in (ir.LShift, ir.RShift) if most > 1]
            rows += [(f"{k.__name__} {n}", dtype, of(k, n)) for k in divisions for n in (3, 4) if n <= most]
        if dtype not in ("float32", "float64"):  # these need not round in between
            rows += [("mixed", dtype, lambda a, b: (a + b) * a - b * (a - b))]
        yield Case(f"arith_{dtype}", (dtype, dtype), tuple(rows))
        if dtype in VECTORS:
            yield Case(f"lanes_{dtype}", (dtype, dtype), tuple(rows), VECTORS[dtype])


def casts() -> Iterator[Case]:
    """Casts from each dtype to each other one."""
    every = ("bool", *INTS, *NARROW, *WIDE, *SMALL)
    for source in every:
        rows = [(f"to {d}", d, lambda a, d=d: Cast(DType(d).with_lanes(a.dtype.lanes), a)) for d in every]
        yield Case(f"cast_{source}", (source,), tuple(rows))
        if source in VECTORS:
            yield Case(f"vector_cast_{source}", (source,), tuple(rows[:6]), VECTORS[source])


REAL = """exp exp2 exp10 log log2 log10 log1p sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh sqrt
    rsqrt sigmoid erf""".split()
REAL_TWO = ["pow", "atan2", "fmod", "hypot", "nextafter"]
EXACT = ["floor", "ceil", "trunc", "fabs", "round", "nearbyint"]


def op(name: str, *args: Expr, dtype: str | None = None) -> Call:
    """The call of an operator, in the namespace that has it."""
    full = f"prim.{name}" if find_record(f"prim.{name}") is not None else f"tirx.{name}"
    ty = args[0].ty if dtype is None else PrimType(DType(dtype).with_lanes(args[0].dtype.lanes))
    return Call(full, args, ty)


def like(a: Expr, value: float) -> Expr:
    """A constant of the type of an expression."""
    return const(value, a.dtype)


def functions() -> Iterator[Case]:
    """Functions of real numbers."""
    for dtype in (*WIDE, *SMALL[2:]):
        rows: list[Row] = [(f, dtype, lambda a, b, f=f: op(f, a)) for f in REAL + EXACT]
        rows += [(f, dtype, lambda a, b, f=f: op(f, a, b)) for f in (*REAL_TWO, "copysign")]
        rows += [
            (f, "bool", lambda a, b, f=f: op(f, a, dtype="bool")) for f in ("isnan", "isinf", "isfinite")
        ]
        rows += [("fma", dtype, lambda a, b: op("fma", a, b, a))]
        rows += [("ldexp", dtype, lambda a, b: op("ldexp", a, const(3, "int32")))]
        yield Case(f"real_{dtype}", (dtype, dtype), tuple(rows))


def whole_numbers() -> Iterator[Case]:
    """What may go wrong with integers: divisions and shifts by any amount, bits, lazy choices."""

    def divisor(b: Expr) -> Expr:
        unfit = ir.Or(ir.EQ(b, like(b, 0)), ir.EQ(b, like(b, b.dtype.wrap(-1))))
        return ir.Select(unfit, like(b, 7), b)

    def lazy(a: Expr, b: Expr) -> Expr:
        return op("if_then_else", ir.NE(b, like(b, 0)), ir.FloorMod(like(a, 100), b), a, dtype=str(a.dtype))

    for dtype in INTS:
        rows: list[Row] = [
            (f, dtype, lambda a, b, f=f: op(f, a)) for f in ("popcount", "exp2", "sqrt", "sin")
        ]
        clz = "int64" if dtype == "int64" else "int32"
        rows += [("clz", clz, lambda a, b, clz=clz: op("clz", a, dtype=clz))]
        rows += [("fma", dtype, lambda a, b: op("fma", a, b, a)), ("lazy", dtype, lazy)]
        for k in (ir.LShift, ir.RShift):
            rows += [(k.__name__, dtype, lambda a, b, k=k: k(a, ir.BitwiseAnd(b, like(b, 127))))]
        for k in (ir.Div, ir.Mod, ir.FloorDiv, ir.FloorMod):
            rows += [(k.__name__, dtype, lambda a, b, k=k: k(a, divisor(b)))]
        yield Case(f"whole_{dtype}", (dtype, dtype), tuple(rows))


PAIRS = (
    *(("float32", "int32"), ("float64", "uint64"), ("float16", "int16"), ("bfloat16", "uint16")),
    *(("float8_e4m3fn", "uint8"), ("bool", "int8"), ("float32", "uint32")),
)


def bits() -> Iterator[Case]:
    """Bits read as another type."""
    for one, two in PAIRS:
        there: Row = ("there", two, lambda a, b, two=two: op("reinterpret", a, dtype=two))
        back: Row = ("back", one, lambda a, b, one=one: op("reinterpret", b, dtype=one))
        yield Case(f"bits_{one}_{two}", (one, two), (there, back))


CASES = {c.name: c for make in (arithmetic, casts, functions, whole_numbers, bits) for c in make()}


def same(what: str, got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Where values agree: in bits, NaNs being alike; functions of reals in all but the last places."""
    with np.errstate(all="ignore"):
        g, w = got.astype(np.float64), want.astype(np.float64)
        raw = np.dtype(f"u{got.itemsize}")
        good = (got.view(raw) == want.view(raw)) | (np.isnan(g) & np.isnan(w))
        kind = str(got.dtype)
        if kind.startswith(("float6_", "float4_")):
            return good | ((g == 0) & (w == 0))  # NaN becomes a zero of the sign that it has
        if what not in (*REAL, *REAL_TWO):
            return good
        if got.dtype.kind in "iu":
            return good | (np.abs(g - w) <= 1)
        unit = {"float32": 2.0**-23, "float64": 2.0**-52, "float16": 2.0**-10, "bfloat16": 2.0**-7}.get(
            kind, 0
        )
        return good | (np.abs(g - w) <= 16 * unit * np.abs(w)) | (np.abs(g - w) < 1e-40)


@pytest.mark.parametrize("name", list(CASES))
def test_values(language: str, load: Callable[..., Any], name: str) -> None:
    case = CASES[name]
    launch = load(language, {c.name: c.kernel() for c in CASES.values()})
    inputs, outputs = wanted(name)
    given = [a.copy() for a in inputs] + [np.zeros_like(a) for a in outputs]
    launch(name, 2, case.threads, given)
    faults = []
    for (what, _, _), got, want in zip(case.outputs, given[len(inputs) :], outputs):
        good = same(what, got, want)
        if what == "there":  # which NaN it is, a format that the language lacks need not keep
            with np.errstate(invalid="ignore"):
                good |= np.isnan(inputs[0].astype(np.float64))
        if not good.all():
            k = np.flatnonzero(~good)[0]
            text = f"{what} of {[str(a[k]) for a in inputs]} gave {got[k]}, not {want[k]}"
            faults.append(f"{text} ({(~good).sum()} such)")
    assert not faults, "\n".join(faults)
