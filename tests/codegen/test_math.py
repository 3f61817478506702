from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from loopwright import ir
from loopwright.codegen import build
from loopwright.codegen.llvm import jit
from loopwright.codegen.llvm.math import ERRORS, KNOWN, TWO
from loopwright.errors import TargetError
from loopwright.testing import math_errors
from loopwright.testing.math_errors import bound, kernel, measure, points

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "math.md"
PRECISE = pytest.mark.skipif(not math_errors.wide_enough(), reason="long double is double here")


def holds(name: str, dtype: str, arrays: list[np.ndarray], lanes: int, mode: str = "accurate") -> None:
    found = measure(name, dtype, arrays, lanes, mode)
    assert not found.wrong, found.wrong
    assert found.error <= bound(name, dtype, mode), found


@pytest.mark.parametrize("name", sorted(ERRORS))
def test_all_values_of_float16_are_rounded_rightly(name: str) -> None:
    every = np.arange(65536, dtype=np.uint16).view(np.float16)
    arrays = points(name, "float16", 20_000) if name in TWO else [every]
    holds(name, "float16", arrays, 8)


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("name", sorted(ERRORS))
def test_float32_keeps_the_stated_errors(name: str, lanes: int) -> None:
    holds(name, "float32", points(name, "float32", 16_000, seed=lanes), lanes)


@PRECISE
@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("name", sorted(ERRORS))
def test_float64_keeps_the_stated_errors(name: str, lanes: int) -> None:
    holds(name, "float64", points(name, "float64", 8_000, seed=lanes), lanes)


@pytest.mark.parametrize("name", ["tanh", "erf", "exp", "sin"])
def test_the_fast_mode_keeps_its_errors(name: str) -> None:
    holds(name, "float32", points(name, "float32", 16_000, seed=9), 8, "fast")


def test_the_modes_have_names() -> None:
    with pytest.raises(TargetError, match="accurate or fast"):
        build(ir.PrimFunc([], ir.Evaluate(0), None, {}), "llvm -math=quick")


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=PRECISE)])
def test_large_angles_among_small_ones(name: str, dtype: str) -> None:
    rng = np.random.default_rng(3)
    top = np.finfo(dtype).maxexp
    x = rng.choice([1.0, 1e5, 2.0 ** (top - 1), 1e22, 1e37], 4096) * rng.uniform(-1, 1, 4096)
    holds(name, dtype, [x.astype(dtype)], 8)
    holds(name, dtype, [x.astype(dtype)], 1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_powers_of_special_numbers(dtype: str) -> None:
    special = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 2.0, -2.0, 3.0, -3.0, 0.5, -0.5, 1e30, -1e30]
    special += [2.0**53, 2.0**53 + 2, 2.0**24 + 1, 1e-320, -1e-40, np.finfo(dtype).max]
    x, y = np.meshgrid(*[np.array(special).astype(dtype)] * 2)
    arrays = [x.ravel(), y.ravel()]
    got = np.zeros_like(arrays[0])
    kernel("pow", dtype)(*arrays, got)
    with np.errstate(all="ignore"):
        want = np.power(*arrays)
    np.testing.assert_allclose(got, want, rtol=1e-6)
    np.testing.assert_array_equal(np.signbit(got[~np.isnan(want)]), np.signbit(want[~np.isnan(want)]))
    for name in ("atan2", "hypot"):
        kernel(name, dtype)(*arrays, got)
        with np.errstate(all="ignore"):
            want = {"atan2": np.arctan2, "hypot": np.hypot}[name](*arrays)
        np.testing.assert_allclose(got, want, rtol=1e-6, err_msg=name)
        np.testing.assert_array_equal(np.signbit(got[~np.isnan(want)]), np.signbit(want[~np.isnan(want)]))


@pytest.mark.parametrize("lanes", [3, 5, 16, 33])
def test_odd_numbers_of_lanes(lanes: int) -> None:
    x = np.linspace(-3, 3, lanes * 4).astype(np.float32)
    got = np.zeros_like(x)
    kernel("exp", "float32", lanes)(x, got)
    np.testing.assert_allclose(got, np.exp(x), rtol=2e-7)


@pytest.mark.skipif(jit.host().arch != "x86_64" or jit.host().vector_bits < 256, reason="needs AVX")
@pytest.mark.parametrize("name", ["exp", "tanh", "sin", "pow", "atan2"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_loops_over_single_calls_become_vectors(name: str, dtype: str) -> None:
    n, i = ir.Var("n", "int32"), ir.Var("i", "int32")
    inputs = [ir.Var(f"x{k}", ir.BufferType(dtype, (n,))) for k in range(2 if name in TWO else 1)]
    y = ir.Var("y", ir.BufferType(dtype, (n,)))
    loads = [ir.BufferLoad(x, [i]) for x in inputs]
    store = ir.BufferStore(y, ir.Call(f"tirx.{name}", loads, loads[0].ty), [i])
    func = ir.PrimFunc([*inputs, y], ir.For(i, 0, n, "serial", store), None, {"global_symbol": "f"})
    text = build(ir.IRModule({"f": func})).inspect_source("asm")
    assert re.search(r"\bv\w*(mul|fmadd\w*)p[sd]\s.*[yz]mm", text)
    library = re.findall(rf"call\w*\s+\"?{name}f?\b(?!\.)", text)
    assert not library, library


def test_no_function_is_left_to_a_library() -> None:
    x = ir.Var("x", ir.BufferType("float64", (4,)))
    load = ir.BufferLoad(x, [ir.Ramp(0, 1, 4)])
    calls = [ir.Call(f"tirx.{name}", [load] * (2 if name in TWO else 1), load.ty) for name in sorted(KNOWN)]
    stores = [ir.BufferStore(x, call, [ir.Ramp(0, 1, 4)]) for call in calls]
    text = build(ir.PrimFunc([x], ir.SeqStmt(stores), None, {})).inspect_source("llvm")
    declared = re.findall(r"^declare \S+(?: x \w+>)? @(\S+?)\(", text, re.MULTILINE)
    assert "llvm.sqrt.v4f64" in declared
    assert [d for d in declared if not d.startswith(("llvm.", "Py"))] == []


def test_intrinsics_of_llvm_are_ours() -> None:
    x = ir.Var("x", ir.BufferType("float32", (8,)))
    load = ir.BufferLoad(x, [ir.Ramp(0, 1, 8)])
    value = ir.Call("tirx.call_llvm_pure_intrin", [ir.StringImm("llvm.exp"), load], load.ty)
    lib = build(ir.PrimFunc([x], ir.BufferStore(x, value, [ir.Ramp(0, 1, 8)]), None, {}))
    assert "llvm.exp" not in lib.inspect_source("llvm")
    values = np.linspace(-1, 1, 8, dtype=np.float32)
    got = values.copy()
    lib["main"](got)
    np.testing.assert_allclose(got, np.exp(values), rtol=2e-7)


def test_the_guide_states_the_same_errors() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE))
    assert rows == {name: " | ".join([f"{e:g}" for e in errors]) for name, errors in ERRORS.items()}
