from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopwright import ir
from loopwright.codegen.llvm.build import Compiled
from loopwright.dtype import DType, nearest
from loopwright.errors import CodegenError, DivisionError
from loopwright.ir import (
    BufferLoad,
    BufferStore,
    BufferType,
    Call,
    Cast,
    DeclBuffer,
    Expr,
    For,
    PrimFunc,
    SeqStmt,
    Var,
)

INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64", "bfloat16", "float8_e5m2", "float8_e4m3fn", "float8_e4m3b11fnuz")
SMALL = (
    *("float16", "bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn"),
    *("float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"),
)

_made: dict[Any, Callable[..., Any]] = {}


def elementwise(
    key: Any, inputs: Sequence[str], outputs: Sequence[tuple[str, Callable[..., Expr]]], lanes: int = 1
):
    """A compiled function of arrays: every output is an expression of the inputs' elements."""
    if key in _made:
        return _made[key]
    n = Var("n", "int32")
    params = [Var(f"x{k}", BufferType(d, (n,))) for k, d in enumerate(inputs)]
    results = [Var(f"y{k}", BufferType(d, (n,))) for k, (d, _) in enumerate(outputs)]
    i = Var("i", "int32")
    index = i if lanes == 1 else ir.Ramp(ir.Mul(i, lanes), 1, lanes)
    decls, views = [], {}
    for p in (*params, *results):
        views[p] = Var(p.name + "v", BufferType(p.ty.dtype, (n,)))
        decls.append(DeclBuffer(views[p], Call("tirx.buffer_data", (p,), "handle")))
    loads = [BufferLoad(views[p], [index]) for p in params]
    stores = [BufferStore(views[r], make(*loads), [index]) for r, (_, make) in zip(results, outputs)]
    count = n if lanes == 1 else ir.FloorDiv(n, lanes)
    body = SeqStmt([*decls, For(i, 0, count, "serial", SeqStmt(stores))])
    func = PrimFunc([*params, *results], body, None, {"global_symbol": "f"})
    compiled = Compiled(ir.IRModule({"f": func}), lambda: ir.IRModule({"f": func}), None, False).functions[
        "f"
    ]

    def run(*arrays: np.ndarray) -> list[np.ndarray]:
        out = [np.zeros(len(arrays[0]), DType(d).numpy()) for d, _ in outputs]
        compiled(*arrays, *out)
        return out

    _made[key] = run
    return run


def same_bits(got: np.ndarray, want: np.ndarray) -> None:
    """Equal bits, except that any NaN is as good as another."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype
    with np.errstate(all="ignore"):
        g, w = got.astype(np.float64), want.astype(np.float64)
    raw = np.dtype(f"u{got.itemsize}")
    bad = ~((got.view(raw) == want.view(raw)) | (np.isnan(g) & np.isnan(w)))
    assert not bad.any(), list(zip(got[bad][:5], want[bad][:5], np.flatnonzero(bad)[:5]))


def all_values(dtype: str) -> np.ndarray:
    kind = DType(dtype).numpy()
    return np.arange(1 << (8 * kind.itemsize), dtype=np.uint32).astype(f"u{kind.itemsize}").view(kind)


def interesting_floats() -> np.ndarray:
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 1 << 32, 20000, dtype=np.uint64).astype(np.uint32)
    special = np.array(
        [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-40, 3.4e38, 65504, 65520, 448, 464, 465], np.float32
    )
    near = (rng.integers(-4000, 4000, 4000) / 64.0).astype(np.float32)
    steps = (2.0 ** rng.integers(-30, 18, 4000) * (1 + rng.integers(0, 64, 4000) / 64)).astype(np.float32)
    return np.concatenate([special, bits.view(np.float32), near, steps, -steps])


def cast_to(dtype: str) -> Callable[[Expr], Expr]:
    return lambda x: Cast(DType(dtype).with_lanes(x.dtype.lanes), x)


@pytest.mark.parametrize("lanes", [1, 8])
def test_float32_to_small_formats_agrees_with_ml_dtypes(lanes: int) -> None:
    x = interesting_floats()
    x = x[: len(x) // 8 * 8]
    run = elementwise(("enc", lanes), ["float32"], [(d, cast_to(d)) for d in SMALL], lanes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for d, got in zip(SMALL, run(x)):
            same_bits(got, x.astype(DType(d).numpy()))


def test_float64_to_small_formats_as_numpy_does() -> None:
    with np.errstate(all="ignore"):
        x = interesting_floats().astype(np.float64)
    with np.errstate(all="ignore"):
        wiggle = np.concatenate([x, np.nextafter(x, np.inf), np.nextafter(x, -np.inf), x * (1 + 2.0**-40)])
    run = elementwise("enc64", ["float64"], [(d, cast_to(d)) for d in (*SMALL, "float32")])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for d, got in zip((*SMALL, "float32"), run(wiggle)):
            same_bits(got, nearest(wiggle, DType(d)))


@pytest.mark.parametrize("dtype", SMALL)
def test_small_formats_to_others(dtype: str) -> None:
    x = all_values(dtype)
    targets = ("float32", "float64", "int32", "int8", "uint8", "bool", "bfloat16", "float16", "float8_e4m3fn")
    run = elementwise(("dec", dtype), [dtype], [(d, cast_to(d)) for d in targets])
    wide = x.astype(np.float32)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for d, got in zip(targets, run(x)):
            if d.startswith(("int", "uint")):
                info = np.iinfo(d)
                want = np.clip(
                    np.nan_to_num(np.trunc(wide), nan=0, posinf=1e30, neginf=-1e30).astype(np.float64),
                    info.min,
                    info.max,
                )
                assert (got.astype(np.float64) == want).all()
            elif d == "bool":
                assert (got == (wide != 0)).all()
            else:
                same_bits(got, wide.astype(DType(d).numpy()))


def test_software_half_agrees_with_the_hardware() -> None:
    from loopwright.codegen.llvm.small_floats import decode, encode
    from loopwright.codegen.llvm.text import Unit

    unit = Unit()
    assert encode(unit, DType("float16"), 1, half=False) == "@lw.encode.float16"
    assert decode(unit, DType("float16"), 1, half=False) == "@lw.decode.float16"
    import ctypes

    from loopwright.codegen.llvm import jit

    unit.functions.append(
        "define void @enc(ptr %x, ptr %y, i64 %n) {\nentry:\n  br label %l\nl:\n"
        "  %i = phi i64 [0, %entry], [%j, %l]\n  %p = getelementptr float, ptr %x, i64 %i\n"
        "  %v = load float, ptr %p\n"
        "  %c = call i16 @lw.encode.float16(float %v)\n  %d = call float @lw.decode.float16(i16 %c)\n"
        "  %q = getelementptr float, ptr %y, i64 %i\n  store float %d, ptr %q\n  %j = add i64 %i, 1\n"
        "  %m = icmp ult i64 %j, %n\n  br i1 %m, label %l, label %e\ne:\n  ret void\n}"
    )
    loaded = jit.Loaded(jit.compile_object(unit.text(), jit.host()), ["enc"])
    x = interesting_floats()
    y = np.zeros_like(x)
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(loaded.address("enc"))
    call(x.ctypes.data, y.ctypes.data, len(x))
    with np.errstate(all="ignore"):
        same_bits(y, x.astype(np.float16).astype(np.float32))


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "BitwiseAnd": np.bitwise_and,
    "BitwiseOr": np.bitwise_or,
    "BitwiseXor": np.bitwise_xor,
    "FloorDiv": np.floor_divide,
    "FloorMod": np.mod,
}
COMPARE = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
}


def integers(dtype: str) -> st.SearchStrategy[list[int]]:
    info = np.iinfo(dtype)
    edge = st.sampled_from(
        sorted({info.min, info.min + 1, 0, 1, 2, 3, info.max, info.max - 1, *([-1, -2] if info.min else [])})
    )
    return st.lists(edge | st.integers(info.min, info.max), min_size=24, max_size=24)


@pytest.mark.parametrize(
    ("dtype", "lanes"), [*[(d, 1) for d in INTS], ("int32", 4), ("int64", 2), ("uint8", 8)]
)
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_integer_operators_agree_with_numpy(dtype: str, lanes: int, data: st.DataObject) -> None:
    outputs: list[tuple[str, Callable[..., Expr]]] = [(dtype, getattr(ir, name)) for name in BINARY]
    outputs += [("bool", getattr(ir, name)) for name in COMPARE]
    outputs += [(dtype, ir.Min), (dtype, ir.Max), (dtype, lambda a, b: ir.BitwiseNot(a))]
    outputs += [(dtype, ir.Div), (dtype, ir.Mod), (dtype, ir.LShift), (dtype, ir.RShift)]
    run = elementwise(("int", dtype, lanes), [dtype, dtype], outputs, lanes)
    a, b = [np.array(data.draw(integers(dtype)), dtype) for _ in range(2)]
    b[b == 0] = 1
    if dtype.startswith("int"):
        b[(b == -1) & (a == np.iinfo(dtype).min)] = 1
    got = iter(run(a, b))
    with np.errstate(all="ignore"):
        for rule in BINARY.values():
            np.testing.assert_array_equal(next(got), rule(a, b))
        for rule in COMPARE.values():
            np.testing.assert_array_equal(next(got), rule(a, b))
        np.testing.assert_array_equal(next(got), np.minimum(a, b))
        np.testing.assert_array_equal(next(got), np.maximum(a, b))
        np.testing.assert_array_equal(next(got), ~a)
    big_a, big_b = [int(v) for v in a], [int(v) for v in b]
    quotient = [abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1) for x, y in zip(big_a, big_b)]
    assert next(got).tolist() == quotient
    assert next(got).tolist() == [x - q * y for x, q, y in zip(big_a, quotient, big_b)]
    kind, bits = DType(dtype), DType(dtype).bits
    amounts = [y if 0 <= y < bits else None for y in big_b]
    assert next(got).tolist() == [0 if s is None else kind.wrap(x << s) for x, s in zip(big_a, amounts)]
    assert next(got).tolist() == [
        (-1 if x < 0 else 0) if s is None else x >> s for x, s in zip(big_a, amounts)
    ]


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint16"])
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_division_by_constants(dtype: str, data: st.DataObject) -> None:
    divisors = [1, 2, 3, 7, 8, 64] + ([-1, -2, -3, -8] if dtype.startswith("int") else [])
    outputs: list[tuple[str, Callable[..., Expr]]] = []
    for d in divisors:
        for node in (ir.FloorDiv, ir.FloorMod):
            outputs.append((dtype, lambda a, d=d, node=node: node(a, ir.IntImm(dtype, d))))
    run = elementwise(("divc", dtype), [dtype], outputs)
    a = np.array(data.draw(integers(dtype)), dtype)
    a[a == np.iinfo(dtype).min] = 5
    got = iter(run(a))
    for d in divisors:
        assert next(got).tolist() == [int(x) // d for x in a]
        assert next(got).tolist() == [int(x) % d for x in a]


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("node", ["Div", "Mod", "FloorDiv", "FloorMod"])
def test_division_reports_errors(node: str, lanes: int) -> None:
    run = elementwise(("diverr", node, lanes), ["int32"] * 2, [("int32", getattr(ir, node))], lanes)
    a = np.full(8, 7, np.int32)
    b = np.full(8, 2, np.int32)
    run(a, b)
    b[5] = 0
    with pytest.raises(DivisionError, match="by zero in `f`"):
        run(a, b)
    b[5], a[5] = -1, np.iinfo(np.int32).min
    with pytest.raises(ZeroDivisionError, match="by -1"):
        run(a, b)


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("dtype", FLOATS)
def test_float_operators_round_once(dtype: str, lanes: int) -> None:
    kind = DType(dtype).numpy()
    rng = np.random.default_rng(1)
    if kind.itemsize <= 2:
        values = all_values(dtype)
        a, b = rng.choice(values, 4096), rng.choice(values, 4096)
    else:
        a, b = rng.normal(size=4096).astype(kind), rng.normal(size=4096).astype(kind)
        a[:8] = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, np.nan, -0.0]
        b[:8] = [1.0, -np.inf, 2.0, -0.0, 0.0, np.nan, np.nan, 0.0]
    wide = np.float64 if dtype == "float64" else np.float32
    x, y = a.astype(wide), b.astype(wide)
    outputs: list[tuple[str, Callable[..., Expr]]] = [(dtype, n) for n in (ir.Add, ir.Sub, ir.Mul, ir.Div)]
    outputs += [(dtype, ir.Min), (dtype, ir.Max)] + [("bool", getattr(ir, name)) for name in COMPARE]
    run = elementwise(("float", dtype, lanes), [dtype] * 2, outputs, lanes)
    got = iter(run(a, b))
    with np.errstate(all="ignore"):
        for rule in (np.add, np.subtract, np.multiply, np.divide):
            same_bits(next(got), rule(x, y).astype(kind))
        same_bits(next(got), np.where(x < y, x, y).astype(kind))
        same_bits(next(got), np.where(x > y, x, y).astype(kind))
        for rule in COMPARE.values():
            np.testing.assert_array_equal(next(got), rule(x, y))


def test_float_division_of_python() -> None:
    rng = np.random.default_rng(2)
    for dtype in ("float32", "float64"):
        a = (rng.integers(-100, 100, 512) / 4).astype(dtype)
        b = (rng.integers(1, 40, 512) / 4 * rng.choice([-1, 1], 512)).astype(dtype)
        run = elementwise(
            ("pydiv", dtype), [dtype] * 2, [(dtype, ir.FloorDiv), (dtype, ir.FloorMod), (dtype, ir.Mod)]
        )
        q, r, m = run(a, b)
        np.testing.assert_array_equal(q, np.floor(a / b))
        same_bits(r, np.mod(a, b))
        np.testing.assert_array_equal(m, np.fmod(a, b))


@pytest.mark.parametrize("source", INTS)
def test_casts_of_integers(source: str) -> None:
    info = np.iinfo(source)
    rng = np.random.default_rng(3)
    x = np.concatenate(
        [
            np.array([info.min, info.max, 0, 1], source),
            rng.integers(info.min, info.max, 500, source, endpoint=True),
        ]
    )
    targets = (*INTS, "float32", "float64", "float16", "bfloat16", "bool")
    run = elementwise(("icast", source), [source], [(d, cast_to(d)) for d in targets])
    with np.errstate(all="ignore"):
        for d, got in zip(targets, run(x)):
            kind = DType(d).numpy()
            want = x.astype(np.float32).astype(kind) if d in ("float16", "bfloat16") else x.astype(kind)
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("source", ["float32", "float64"])
def test_float_to_integer_saturates(source: str) -> None:
    x = np.array(
        [np.nan, np.inf, -np.inf, 0.9, -0.9, 2.5, -2.5, 1e30, -1e30, 300.0, -300.0, 2.0**31, -(2.0**31)],
        source,
    )
    run = elementwise(("fcast", source), [source], [(d, cast_to(d)) for d in INTS])
    for d, got in zip(INTS, run(x)):
        info = np.iinfo(d)
        want = [0 if np.isnan(v) else int(max(min(float(v), 2.0**70), -(2.0**70))) for v in x]
        assert got.tolist() == [max(info.min, min(info.max, w)) for w in want]


def test_bool_logic() -> None:
    a = np.array([0, 0, 1, 1], bool)
    b = np.array([0, 1, 0, 1], bool)
    outputs = [
        ("bool", ir.And),
        ("bool", ir.Or),
        ("bool", lambda a, b: ir.Not(a)),
        ("bool", ir.EQ),
        ("bool", ir.LT),
    ]
    outputs += [("int32", lambda a, b: ir.Select(a, ir.IntImm("int32", 3), ir.IntImm("int32", 4)))]
    for lanes in (1, 4):
        if lanes > 1:
            outputs = outputs[:-1]
        got = elementwise(("bool", lanes), ["bool"] * 2, outputs, lanes)(a, b)
        for g, w in zip(got, [a & b, a | b, ~a, a == b, a < b, np.where(a, 3, 4)]):
            np.testing.assert_array_equal(g, w)


def call(name: str) -> Callable[..., Expr]:
    return lambda *xs: Call(name, xs, xs[0].ty)


SPECIAL = ("exp", "exp2", "log", "log2", "log10", "tanh", "erf", "sigmoid")


def test_specials_of_polynomials() -> None:
    inf, nan = np.inf, np.nan
    x = np.array([0.0, -0.0, inf, -inf, nan, -1.0, 1.0, 1e-45, 200.0, -200.0], np.float32)
    outputs = [("float32", call(f"tirx.{name}")) for name in SPECIAL]
    got = dict(zip(SPECIAL, elementwise(("poly", 1), ["float32"], outputs)(x)))
    e = np.float32(np.e)
    np.testing.assert_allclose(got["exp"], [1, 1, inf, 0, nan, 1 / e, e, 1, inf, 0], rtol=1e-6)
    np.testing.assert_allclose(
        got["log"], [-inf, -inf, inf, nan, nan, nan, 0, np.log(1e-45), np.log(200), nan], rtol=1e-2
    )
    np.testing.assert_allclose(got["tanh"][:4], [0, 0, 1, -1])
    np.testing.assert_array_equal(np.signbit(got["tanh"][:2]), [False, True])
    np.testing.assert_array_equal(np.signbit(got["erf"][:2]), [False, True])
    np.testing.assert_allclose(got["erf"][2:5], [1, -1, nan])
    np.testing.assert_allclose(got["sigmoid"][[0, 2, 3, 4]], [0.5, 1, 0, nan])
    assert got["log"][6] == 0 and got["log2"][6] == 0 and got["exp2"][6] == 2


LIBRARY = {
    "tirx.sqrt": np.sqrt,
    "tirx.floor": np.floor,
    "prim.ceil": np.ceil,
    "tirx.trunc": np.trunc,
    "tirx.round": np.rint,
    "tirx.fabs": np.abs,
    "tirx.sin": np.sin,
    "tirx.cos": np.cos,
    "tirx.tan": np.tan,
    "tirx.sinh": np.sinh,
    "tirx.cosh": np.cosh,
    "tirx.asin": np.arcsin,
    "tirx.acos": np.arccos,
    "tirx.atan": np.arctan,
    "tirx.asinh": np.arcsinh,
    "tirx.acosh": np.arccosh,
    "tirx.atanh": np.arctanh,
    "tirx.log1p": np.log1p,
    "tirx.exp10": lambda x: 10.0**x,
    "tirx.rsqrt": lambda x: 1 / np.sqrt(x),
    "tirx.exp": np.exp,
    "tirx.tanh": np.tanh,
    "tirx.sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "prim.log2": np.log2,
}


@pytest.mark.parametrize(
    ("dtype", "lanes"), [("float64", 1), ("float32", 4), ("float16", 1), ("bfloat16", 8), ("float64", 2)]
)
def test_elementary_functions(dtype: str, lanes: int) -> None:
    kind = DType(dtype).numpy()
    x = np.linspace(-4, 4, 256).astype(kind)
    run = elementwise(("lib", dtype, lanes), [dtype], [(dtype, call(name)) for name in LIBRARY], lanes)
    wide = x.astype(np.float64)
    tolerance = {"float64": 1e-13, "float32": 1e-6, "float16": 1e-3, "bfloat16": 8e-3}[dtype]
    with np.errstate(all="ignore"):
        for (name, rule), got in zip(LIBRARY.items(), run(x)):
            want = rule(wide).astype(kind).astype(np.float64)
            np.testing.assert_allclose(got.astype(np.float64), want, rtol=tolerance, atol=1e-12, err_msg=name)


def test_functions_of_two_numbers() -> None:
    names = {
        "pow": np.power,
        "atan2": np.arctan2,
        "fmod": np.fmod,
        "hypot": np.hypot,
        "copysign": np.copysign,
    }
    names["nextafter"] = np.nextafter
    rng = np.random.default_rng(5)
    for dtype in ("float32", "float64"):
        a = np.abs(rng.normal(size=64)).astype(dtype) + 0.5
        b = rng.normal(size=64).astype(dtype)
        outputs = [(dtype, call(f"tirx.{n}")) for n in names]
        for (name, rule), got in zip(names.items(), elementwise(("two", dtype), [dtype] * 2, outputs)(a, b)):
            np.testing.assert_allclose(got, rule(a, b), rtol=1e-6, err_msg=name)


def test_integers_in_real_functions_and_rounding() -> None:
    x = np.arange(0, 100, dtype=np.int32)
    sqrt, floor = elementwise(
        "isqrt", ["int32"], [("int32", call("tirx.sqrt")), ("int32", call("tirx.floor"))]
    )(x)
    np.testing.assert_array_equal(sqrt, np.sqrt(x).astype(np.int32))
    np.testing.assert_array_equal(floor, x)


def test_bits() -> None:
    rng = np.random.default_rng(6)
    x = np.concatenate([[0, 1, -1], rng.integers(-(2**31), 2**31 - 1, 100)]).astype(np.int32)

    def pop(x):
        return Call("tirx.popcount", (x,), x.ty)

    def clz(x):
        return Call("prim.clz", (x,), "int32")

    def bits(x):
        return Call("tirx.reinterpret", (x,), "float32")

    def back(x):
        return Call("tirx.reinterpret", (Call("tirx.reinterpret", (x,), "float32"),), "int32")

    p, c, f, r = elementwise(
        "bits", ["int32"], [("int32", pop), ("int32", clz), ("float32", bits), ("int32", back)]
    )(x)
    words = x.view(np.uint32)
    assert p.tolist() == [int(w).bit_count() for w in words]
    assert c.tolist() == [32 - int(w).bit_length() for w in words]
    np.testing.assert_array_equal(f.view(np.uint32), words)
    np.testing.assert_array_equal(r, x)
    half = all_values("bfloat16")
    raw = elementwise("rawbf", ["bfloat16"], [("int16", lambda x: Call("tirx.reinterpret", (x,), "int16"))])(
        half
    )[0]
    finite = ~np.isnan(half.astype(np.float32))
    np.testing.assert_array_equal(raw[finite], half.view(np.int16)[finite])


def test_fixed_point() -> None:
    from loopwright.ir.op import record

    rng = np.random.default_rng(7)
    x = rng.integers(-(2**20), 2**20, 64).astype(np.int32)
    y = rng.integers(1 << 30, (1 << 31) - 1, 64).astype(np.int32)
    s = rng.integers(-4, 10, 64).astype(np.int32)
    q = ir.IntImm("int32", 31)

    def rule(x, y, s):
        return Call("tirx.q_multiply_shift", (x, y, q, s), "int32")

    got = elementwise("qms", ["int32"] * 3, [("int32", rule)])(x, y, s)[0]
    numpy = record("tirx.q_multiply_shift").numpy
    assert numpy is not None
    np.testing.assert_array_equal(got, numpy(x, y, np.full(64, 31, np.int32), s))


def test_what_cannot_be_expressed_is_named() -> None:
    with pytest.raises(CodegenError, match="`Add` of `bool`"):
        elementwise(("bad", "bool"), ["bool"] * 2, [("bool", ir.Add)])
    with pytest.raises(CodegenError, match=r"operator `tirx.nonsense` \(in `f`\)"):
        elementwise("nonsense", ["int32"], [("int32", call("tirx.nonsense"))])


def test_ml_dtypes_names() -> None:
    assert all(hasattr(ml_dtypes, d) for d in SMALL if d != "float16")
