"""Vectors in compiled code: branches by lane, scattered access, tails, reductions, scalable vectors, limits."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from loopwright import ir
from loopwright.codegen import build
from loopwright.codegen.llvm import core, jit
from loopwright.dtype import DType
from loopwright.errors import CodegenError
from loopwright.ir import PrimFunc
from loopwright.script import parse
from loopwright.testing import fuzz_kernels
from loopwright.testing.results import assert_same_results, copies
from loopwright.transform import lower


def program(body: str, n: int, dtype: str = "float32") -> PrimFunc:
    """A function of `A`, `B`, `C` of n elements and the positions `P`."""
    buffers = ", ".join([f'{name}: T.Buffer(({n},), "{dtype}")' for name in "ABC"])
    head = f'@T.prim_func\ndef f({buffers}, P: T.Buffer(({n},), "int32")):\n'
    func = parse(head + "\n".join(["    " + line for line in body.strip("\n").splitlines()]) + "\n")
    assert isinstance(func, PrimFunc)
    return func


def arguments(n: int, dtype: str = "float32") -> list[Any]:
    rng = np.random.default_rng(n)
    arrays = [rng.integers(-4, 5, n).astype(dtype) for _ in range(3)]
    return [*arrays, rng.permutation(n).astype("int32")]


def agrees(func: PrimFunc, n: int, dtype: str = "float32", masked: bool | None = None) -> str:
    """Check against the oracle, lowered too; the LLVM text."""
    args = arguments(n, dtype)
    lowered = lower(func)
    assert_same_results(func, lowered, *copies(args), name="f")
    lib = build(func)
    assert_same_results(func, lib["f"], *copies(args))
    assert_same_results(func, build(func, checked=True)["f"], *copies(args))
    if masked is not None:
        assert ("masked_store" in lowered.script()) == masked
    text: str = lib.inspect_source("llvm")
    return text


BRANCHES = {
    "one side": "if A[i] > 0:\n    C[i] = A[i] * B[i]",
    "two sides": "if A[i] > 0:\n    C[i] = A[i]\nelse:\n    C[i] = B[i] - A[i]",
    "one in another": "if A[i] > 0:\n    C[i] = A[i]\n    if B[i] < 0:\n        C[i] = B[i]",
    "a loop inside": "if A[i] > 0:\n    for k in range(3):\n        C[i] = C[i] + B[i]",
    "a value": "if A[i] > 0:\n    t: T.let[T.float32] = B[i] + A[i]\n    C[i] = t * t",
    "outside the buffer": "if P[i] < 19 and A[P[i] + 1] > 0:\n    C[i] = B[P[i] + 1]",
    "a choice": "C[i] = T.if_then_else(P[i] < 19, A[P[i] + 1], B[i])",
    "a scalar": "if P[i] > 30:\n    C[i] = A[P[0] + 100]",
    "a division": "if P[i] > 0:\n    C[i] = T.Cast('float32', 7 // P[i])",
}


@pytest.mark.parametrize("name", sorted(BRANCHES))
def test_branches_by_lane_become_masks(name: str) -> None:
    lines = "\n".join(["    " + line for line in BRANCHES[name].splitlines()])
    func = program(f"for i in T.vectorized(20):\n{lines}", 20)
    agrees(func, 20, masked=None if name == "a choice" else True)


@pytest.mark.parametrize("n", [67, 97, 129, 191])
def test_extents_without_a_good_divisor_keep_vectors(n: int) -> None:
    text = agrees(program(f"for i in T.vectorized({n}):\n    C[i] = A[i] + B[i]", n), n)
    assert re.search(r"<(4[3-9]|[56]\d) x float>", text)


@pytest.mark.parametrize("width", [3, 5, 8, 16])
def test_the_guarded_tail_of_a_split_is_masked(width: int) -> None:
    body = f"for o in range({-(-29 // width)}):\n    for i in T.vectorized({width}):\n"
    body += f"        if o * {width} + i < 29:\n            C[o * {width} + i] = A[o * {width} + i] * B[0]"
    agrees(program(body, 29), 29, masked=True)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int8", "float16", "bool"])
def test_scattered_reads_and_writes(dtype: str) -> None:
    value = "A[P[i]]" if dtype == "bool" else "A[P[i]] + B[i // 3]"
    func = program(f"for i in T.vectorized(24):\n    C[P[i]] = {value}", 24, dtype)
    agrees(func, 24, dtype)
    func = program(f"for i in T.vectorized(24):\n    C[i] = {value}", 24, dtype)
    text = agrees(func, 24, dtype)
    assert ("llvm.masked.gather" in text) == (dtype in ("float32", "float64", "int32"))


def test_masked_lanes_are_not_touched() -> None:
    func = program("for i in T.vectorized(16):\n    if i < P[0]:\n        C[i] = A[i]", 16)
    lib = build(func)["f"]
    for count in range(17):
        whole = np.full(32, 7, np.float32)
        lib(np.ones(16, np.float32), np.ones(16, np.float32), whole[8:24], np.full(16, count, np.int32))
        assert (whole[8 : 8 + count] == 1).all() and (whole[8 + count :] == 7).all()
        assert (whole[:8] == 7).all()


@pytest.mark.parametrize(
    ("dtype", "op"), [("float32", "+"), ("int32", "+"), ("int32", "*"), ("float64", "+")]
)
@pytest.mark.parametrize("n", [4, 13, 100])
def test_vectorized_reductions(dtype: str, op: str, n: int) -> None:
    func = program(f"for i in T.vectorized({n}):\n    C[1] = C[1] {op} A[i]", n, dtype)
    text = agrees(func, n, dtype)
    assert "x float>" in text or "x double>" in text or "x i32>" in text


@pytest.mark.parametrize("name", ["min", "max"])
def test_vectorized_extremes_of_integers(name: str) -> None:
    agrees(
        program(f"for i in T.vectorized(24):\n    C[0] = T.{name}(C[0], A[i] - B[i])", 24, "int32"),
        24,
        "int32",
    )


@pytest.mark.skipif(jit.host().arch != "x86_64", reason="names an x86 processor")
@pytest.mark.parametrize("dtype", ["float32", "int8", "float64", "bool", "bfloat16"])
def test_machines_without_masks(dtype: str) -> None:
    kind = DType(dtype).numpy()
    body = (
        "for i in T.vectorized(24):\n    if P[i] % 3 == 1 and P[i] < 20:\n        C[P[i] + 1] = A[P[i] + 3]"
    )
    body += "\nfor i in T.vectorized(24):\n    if P[i] > 7:\n        C[i] = B[i]"
    func = program(body, 24, dtype)
    args = [a.astype(kind) if a.dtype == "float32" else a for a in arguments(24)]
    lib = build(func, "llvm -mcpu=x86-64")
    assert "@lw.masked." in lib.inspect_source("llvm")
    assert_same_results(func, lib["f"], *args)


@pytest.mark.parametrize("lanes", [4, 8, 16, 24])
@pytest.mark.parametrize("dtype", ["int8", "int32", "float8_e3m4", "bfloat16", "int4"])
def test_a_mask_of_one_lane_leaves_the_neighbours(dtype: str, lanes: int) -> None:
    source = "int64" if dtype.startswith("int") else "float32"
    func = parse(f"""
@T.prim_func
def f(A: T.Buffer(({lanes},), "{source}"), C: T.Buffer(({lanes},), "{dtype}")):
    for i in T.vectorized({lanes}):
        C[i] = T.Cast("{dtype}", A[i])
    for i in T.vectorized({lanes}):
        if i < 1:
            C[i] = T.Cast("{dtype}", A[{lanes - 1} - i])
""")
    values = (np.arange(lanes) % 7).astype(source)
    assert_same_results(func, build(func)["f"], values, np.zeros(lanes, DType(dtype).numpy()))


SCALABLE = """
@T.prim_func
def f(A: T.Buffer((1024,), "float32"), B: T.Buffer((1024,), "float32")):
    for i in range(T.ceildiv(1000, T.vscale() * 4)):
        T.masked_store(
            B,
            T.masked_load(
                "float32xvscalex4",
                A,
                T.Ramp(i * T.vscale() * 4, 1, T.vscale() * 4),
                T.get_active_lane_mask("uint1xvscalex4", i * T.vscale() * 4, 1000),
            )
            * T.Broadcast(T.float32(2), T.vscale() * 4),
            T.Ramp(i * T.vscale() * 4, 1, T.vscale() * 4),
            T.get_active_lane_mask("uint1xvscalex4", i * T.vscale() * 4, 1000),
        )
"""


def test_scalable_vectors_on_aarch64() -> None:
    lib = build(parse(SCALABLE), "llvm -mtriple=aarch64-linux-gnu -mattr=+sve")
    text, listing = lib.inspect_source("llvm"), lib.inspect_source("asm")
    assert "<vscale x 4 x float>" in text and "llvm.masked.load.nxv4f32" in text
    assert re.search(r"fadd\s+z\d+\.s|fmul\s+z\d+\.s", listing) and re.search(r"ld1w", listing)


def test_scalable_vectors_elsewhere_are_refused_at_their_place() -> None:
    with pytest.raises(CodegenError, match="need a target with SVE") as caught:
        build(parse(SCALABLE), "llvm -mcpu=x86-64 -mtriple=x86_64-linux-gnu")
    assert caught.value.diagnostics[0].span is not None


def test_too_many_lanes_are_refused_at_their_place() -> None:
    func = program("C[T.Ramp(0, 1, 2048)] = T.Broadcast(T.float32(1), 2048)", 2048)
    with pytest.raises(CodegenError, match="more than 1024 lanes") as caught:
        build(func)
    assert caught.value.diagnostics[0].span is not None


def test_too_much_code_is_refused_by_the_name_of_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "CODE_LIMIT", 500)
    monkeypatch.setenv("LOOPWRIGHT_CACHE", "0")
    func = program("for outer in range(7):\n    for i in T.unroll(97):\n        C[i] = A[i] + B[outer]", 97)
    with pytest.raises(CodegenError, match="more than 500 instructions in the loop over `outer`"):
        build(func)


def test_shared_expressions_do_not_run_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "CODE_LIMIT", 5000)
    x = ir.Var("x", "int32")
    value: ir.Expr = x
    for _ in range(14):
        value = ir.Add(value, ir.Mul(value, x))
    with pytest.raises(CodegenError, match="instructions"):
        build(PrimFunc([x], ir.Return(value), "int32", {}))


def test_random_kernels() -> None:
    for number in range(6):
        fuzz_kernels.check(fuzz_kernels.Kernel(3, number).text, number)


def test_the_fuzzer_reports_what_goes_wrong(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(fuzz_kernels, "check", lambda text, seed: (_ for _ in ()).throw(ValueError(text)))
    fuzz_kernels.work(1, 5, 2)
    words = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert words == ["start", "fault", "start", "fault"]


def test_not_a_number_to_two_bits_in_code_that_llvm_turns_into_vectors():
    # LLVM's own conversion to fewer than eight bits forgets what is not a number
    fuzz_kernels.check(fuzz_kernels.Kernel(1, 1589).text, 1589)
