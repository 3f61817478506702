"""Formats of less than a byte, and casts between all of them, against the oracle's arithmetic."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopwright import ir
from loopwright.codegen import build
from loopwright.dtype import DType
from loopwright.ir import BufferLoad, BufferStore, BufferType, Cast, For, IRModule, PrimFunc, Ramp, Var
from loopwright.ir.fold import eval_binary, eval_cast
from loopwright.runtime import tensor
from loopwright.script import parse
from loopwright.script import tirx as T
from loopwright.testing import fuzz_kernels
from loopwright.testing.results import assert_same_results, sample_arguments
from loopwright.transform import get_pass

INTS = ("int1", "int2", "int4", "uint1", "uint2", "uint4")
FLOATS = ("float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn")
BYTES = (
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
)
BYTES = (*BYTES, "float8_e5m2fnuz", "float8_e8m0fnu", "int8", "uint8")
WIDE = ("float16", "bfloat16", "float32", "float64", "int16", "int32", "int64", "uint16", "uint32", "uint64")
ALL = (*INTS, *FLOATS, *BYTES, *WIDE)


def values_of(dtype: str) -> np.ndarray:
    """All values of a narrow format, the difficult ones of another."""
    d = DType(dtype)
    if d.bits <= 8:
        return np.arange(1 << d.bits, dtype=np.uint8).view(d.numpy())
    rng = np.random.default_rng(5)
    if d.is_integral:
        near = [d.min_value, d.max_value, 0, 1, 2, 7, 8, 15, 16, 127, 128, 255, 256, 448]
        return np.array([d.wrap(int(v)) for v in (*near, *rng.integers(-300, 300, 50))], d.numpy())
    with np.errstate(all="ignore"):
        ties = np.arange(-64, 65) / 16
        extra = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e30, 448, 464, 480, 61440, 1e-9, 2.0**-127]
        return np.concatenate([ties, extra, rng.normal(size=200) * 30]).astype(d.numpy())


def compiled(
    inputs: tuple[str, ...], outputs: tuple[str, ...], make: Callable[..., list[ir.Expr]], lanes: int
) -> Any:
    """A function of arrays: what `make` gives for their elements goes into the outputs."""
    n, i = Var("n", "int32"), Var("i", "int32")
    params = [Var(f"x{k}", BufferType(d, (n,))) for k, d in enumerate((*inputs, *outputs))]
    index = i if lanes == 1 else Ramp(ir.Mul(i, lanes), 1, lanes)
    values = make(*[BufferLoad(p, [index]) for p in params[: len(inputs)]])
    stores = [BufferStore(p, v, [index]) for p, v in zip(params[len(inputs) :], values)]
    count = n if lanes == 1 else ir.FloorDiv(n, lanes)
    body = For(i, 0, count, "serial", ir.SeqStmt(stores) if len(stores) > 1 else stores[0])
    func = PrimFunc(params, body, None, {"global_symbol": "f"})
    return build(IRModule({"f": func}), "llvm -opt-level=0")["f"]


def padded(x: np.ndarray, lanes: int) -> np.ndarray:
    return np.concatenate([x, np.repeat(x[:1], -len(x) % lanes)])


def numbers(x: np.ndarray) -> list[Any]:
    kind = float if DType(x.dtype).is_float else int
    return [kind(v) for v in x]


def same(got: np.ndarray, want: list[Any], what: str) -> None:
    for k, (a, b) in enumerate(zip(numbers(got), want)):
        assert a == b or (a != a and b != b), f"{what} at {k}: {a}, not {b}"
        if isinstance(b, float):
            assert np.signbit(a) == np.signbit(b) or a != a, f"{what} at {k}: {a}, not {b}"


def cast(x: ir.Expr, dtype: str) -> ir.Expr:
    return Cast(DType(dtype).with_lanes(x.dtype.lanes), x)


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("narrow", [*INTS, *FLOATS, "float8_e8m0fnu"])
def test_casts_between_all_formats(narrow: str, lanes: int) -> None:
    others = [d for d in (ALL if lanes == 1 else ("int32", "float32", "float8_e4m3fn")) if d != narrow]
    x = padded(values_of(narrow), lanes)
    got = [np.zeros(len(x), DType(d).numpy()) for d in others]
    compiled((narrow,), tuple(others), lambda v: [cast(v, d) for d in others], lanes)(x, *got)
    for target, out in zip(others, got):
        want = [eval_cast(DType(narrow), DType(target), v) for v in numbers(x)]
        same(out, want, f"{narrow} to {target}")

    count = 512
    given = [np.resize(values_of(d), count) for d in others]
    got = [np.zeros(count, DType(narrow).numpy()) for _ in others]
    make = compiled(tuple(others), (narrow,) * len(others), lambda *v: [cast(x, narrow) for x in v], lanes)
    make(*given, *got)
    for source, x, out in zip(others, given, got):
        want = [eval_cast(DType(source), DType(narrow), v) for v in numbers(x)]
        same(out, want, f"{source} to {narrow}")


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("dtype", [*INTS, *FLOATS])
def test_arithmetic_of_all_pairs(dtype: str, lanes: int) -> None:
    every = values_of(dtype)
    pairs = list(itertools.product(range(len(every)), repeat=2))
    a, b = (padded(every[[p[k] for p in pairs]], lanes) for k in (0, 1))
    kinds = (ir.Add, ir.Sub, ir.Mul, ir.Min, ir.Max)
    got = [np.zeros(len(a), every.dtype) for _ in kinds]
    compiled((dtype, dtype), (dtype,) * 5, lambda x, y: [k(x, y) for k in kinds], lanes)(a, b, *got)
    for kind, out in zip(kinds, got):
        want = [eval_binary(kind, DType(dtype), x, y) for x, y in zip(numbers(a), numbers(b))]
        same(out, want, f"{kind.__name__} of {dtype}")


@pytest.mark.parametrize("dtype", ["int1", "uint2", "int4", "uint4", "float4_e2m1fn"])
@pytest.mark.parametrize("count", [1, 3, 8, 13])
def test_packed_tensors_of_odd_lengths(dtype: str, count: int) -> None:
    every = values_of(dtype)
    x = tensor(every[np.arange(count) % len(every)])
    y = tensor(np.zeros(count, every.dtype))
    run = compiled((dtype,), (dtype,), lambda v: [v], 1)
    run(x, y)
    assert x.dtype == dtype and x._array.nbytes == -(-count * DType(dtype).bits // 8)
    np.testing.assert_array_equal(y.numpy().view(np.uint8), x.numpy().view(np.uint8))
    run(x, x)
    same(x.numpy(), numbers(y.numpy()), dtype)


@pytest.mark.parametrize("dtype", ["int4", "uint1", "int2"])
def test_narrow_numbers_as_arguments_and_results(dtype: str) -> None:
    x = Var("x", dtype)
    func = PrimFunc([x], ir.Return(ir.Add(x, ir.IntImm(dtype, DType(dtype).max_value))), dtype, {})
    run = build(func)["main"]
    for v in range(int(DType(dtype).min_value), int(DType(dtype).max_value) + 1):
        want = eval_binary(ir.Add, DType(dtype), v, int(DType(dtype).max_value))
        assert run(v) == want and run(x=v) == want


MASKED = """
@T.prim_func
def f(A: T.Buffer((31,), "float64"), B: T.Buffer((31,), "float4_e2m1fn"), C: T.Buffer((31,), "int16")):
    for o in range(2):
        for i in T.vectorized(16):
            if o * 16 + i < 31:
                C[o * 16 + i] = T.if_then_else(
                    (o * 16 + i) % 3 == 0,
                    T.Cast("int16", A[o * 16 + i]),
                    T.Cast("int16", B[(o * 16 + i) // 2]),
                )
"""


def test_what_llvm_would_die_of_is_made_in_another_way():
    # LLVM 22 ends the process while it combines shuffles of this program on x86 with AVX-512
    func = parse(MASKED)
    assert_same_results(func, build(func)["f"], *sample_arguments(func, 1))


@pytest.mark.parametrize("number", [445, 6279])
def test_what_llvm_would_die_of_was_found_by_the_fuzzer(number):
    # masked vectors; a loop of LLVM's own vectorisation
    fuzz_kernels.check(fuzz_kernels.Kernel(7, number).text, number)


def test_the_smallest_powers_of_two_round_at_their_middle() -> None:
    """Between 2**-127 and 2**-126, where float32 has subnormals, e8m0 rounds half up."""
    x = (np.array([0x400000, 0x5FFFFF, 0x600000, 0x7FFFFF, 0x800000, 0xBFFFFF], np.uint32)).view(np.float32)

    @T.prim_func
    def f(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float8_e8m0fnu")):
        for i in range(6):
            B[i] = T.Cast("float8_e8m0fnu", A[i])

    legal = get_pass("tirx.FP8StorageLegalize")(get_pass("tirx.FP8ComputeLegalize")(IRModule.from_expr(f)))
    for func in (f, next(iter(legal.functions.values()))):
        got = np.zeros(6, np.uint8)
        own = func.params[1].ty.dtype.numpy()
        func.interpret(x, got.view(own))
        assert got.tolist() == [0, 0, 1, 1, 1, 1]
        got[:] = 9
        build(func)["f"](x, got.view(own))
        assert got.tolist() == [0, 0, 1, 1, 1, 1]
