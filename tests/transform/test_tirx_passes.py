"""Laws of the passes over plain loops, on generated programs; and what each does, on small ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import loopwright
from loopwright.dtype import DType
from loopwright.errors import PassError
from loopwright.ir import (
    AllocBuffer,
    Bind,
    Evaluate,
    For,
    IntImm,
    IRModule,
    PrimFunc,
    SeqStmt,
    Var,
    check_well_formed,
    explain_difference,
    find,
    structural_equal,
)
from loopwright.script import parse
from loopwright.testing.results import assert_same_results, sample_arguments
from loopwright.testing.roundtrip import assert_roundtrip
from loopwright.testing.strategies import prim_funcs
from loopwright.transform import CPU_PIPELINE, PassContext, get_pass, list_passes, lower
from loopwright.transform.settings import CONFIG

TARGET = get_pass("tirx.BindTarget", target="llvm")
FLAT = CPU_PIPELINE[: next(k for k, p in enumerate(CPU_PIPELINE) if p.name == "tirx.VectorizeLoop")]

KEEPING = {
    "simplify": get_pass("tirx.StmtSimplify"),
    "no-ops": get_pass("tirx.RemoveNoOp"),
    "names": get_pass("tirx.CommonSubexprElim"),
    "once": get_pass("tirx.ConvertSSA"),
    "narrow-32": get_pass("tirx.NarrowDataType", target_bits=32),
    "narrow-16": get_pass("tirx.NarrowDataType", target_bits=16),
    "storage": get_pass("tirx.StorageRewrite"),
    "intrinsics": get_pass("tirx.LowerIntrin"),
    "unroll": get_pass("tirx.UnrollLoop"),
    "vectors": get_pass("tirx.PointerValueTypeRewrite"),
}
"""Passes that may run anywhere and change no result."""

AGAIN = ("simplify", "no-ops", "names", "once", "narrow-32", "storage", "unroll")
"""Those that change nothing when they run a second time."""


def module(text: str) -> IRModule:
    found = parse(text)
    return found if isinstance(found, IRModule) else IRModule.from_expr(found)


def only(mod: IRModule) -> PrimFunc:
    (func,) = mod.functions.values()
    assert isinstance(func, PrimFunc)
    return func


def flat(func: PrimFunc) -> IRModule:
    """The function as plain loops with one index an access."""
    mod = TARGET(IRModule.from_expr(func))
    for one in FLAT:
        mod = one(mod)
    return mod


@pytest.mark.parametrize("name", KEEPING)
@given(func=prim_funcs(executable=True), seed=st.integers(0, 3))
def test_a_pass_keeps_the_meaning(name: str, func: PrimFunc, seed: int) -> None:
    mod = flat(func)
    after = KEEPING[name](mod)
    assert check_well_formed(after) == []
    assert_roundtrip(after)
    symbol = str(func.attrs.get("global_symbol", "main"))
    assert_same_results(func, after, *sample_arguments(func, seed), name=symbol)


@pytest.mark.parametrize("name", ["storage", "vectors", "names", "narrow-32", "intrinsics"])
@given(func=prim_funcs(executable=True), seed=st.integers(0, 3))
def test_a_pass_keeps_the_meaning_of_lowered_code(name: str, func: PrimFunc, seed: int) -> None:
    """There are vectors, and no blocks."""
    after = KEEPING[name](lower(TARGET(IRModule.from_expr(func))))
    assert check_well_formed(after) == []
    symbol = str(func.attrs.get("global_symbol", "main"))
    assert_same_results(func, after, *sample_arguments(func, seed), name=symbol)


@pytest.mark.parametrize("name", AGAIN)
@given(func=prim_funcs(executable=True))
def test_a_second_run_changes_nothing(name: str, func: PrimFunc) -> None:
    once = KEEPING[name](flat(func))
    twice = KEEPING[name](once)
    assert structural_equal(once, twice), explain_difference(once, twice)
    assert KEEPING[name](twice) is twice or name == "simplify"


@given(
    func=prim_funcs(executable=True),
    seed=st.integers(0, 3),
    extent=st.integers(0, 4),
    step=st.integers(0, 16),
)
def test_automatic_unrolling_keeps_the_meaning(func: PrimFunc, seed: int, extent: int, step: int) -> None:
    options = {"auto_max_extent": extent, "auto_max_step": step, "unroll_local_access": step % 2 == 1}
    with PassContext(config={"tirx.UnrollLoop": options}):
        after = KEEPING["unroll"](flat(func))
    symbol = str(func.attrs.get("global_symbol", "main"))
    assert_same_results(func, after, *sample_arguments(func, seed), name=symbol)


@given(func=prim_funcs(executable=True), seed=st.integers(0, 3))
def test_conditions_as_clauses_keep_the_meaning(func: PrimFunc, seed: int) -> None:
    with PassContext(config={"tirx.StmtSimplify": {"convert_boolean_to_and_of_ors": True}}):
        after = KEEPING["simplify"](flat(func))
    symbol = str(func.attrs.get("global_symbol", "main"))
    assert_same_results(func, after, *sample_arguments(func, seed), name=symbol)


# small floats

SMALL = [
    "bfloat16",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
]


def small_program(dtype: str) -> IRModule:
    return module(
        f"""
@T.prim_func
def main(A: T.Buffer((256,), "{dtype}"), B: T.Buffer((256,), "{dtype}"), C: T.Buffer((256,), "{dtype}"),
         D: T.Buffer((256,), "{dtype}"), E: T.Buffer((256,), "float64"), F: T.Buffer((256,), "int32"),
         G: T.Buffer((256,), "bool"), H: T.Buffer((256,), "{dtype}")):
    for i in range(256):
        x: T.let = A[i] + B[i]
        C[i] = x * B[i]
        D[i] = T.if_then_else(A[i] < B[i], T.max(A[i], T.Cast("{dtype}", 1.5)), x)
        G[i] = A[i] == B[i]
        H[i] = T.Cast("{dtype}", E[i])
        F[i] = T.Cast("int32", A[i])
"""
    )


def small_arguments(dtype: str, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    bits = DType(dtype).bits
    codes = rng.permutation(256) if bits == 8 else rng.integers(0, 1 << 16, 256)
    kind = DType(dtype).numpy()
    a = codes.astype(f"uint{bits}").view(kind)
    b = rng.permutation(codes).astype(f"uint{bits}").view(kind)
    exact = np.concatenate([a[:128].astype(np.float64), rng.normal(0, 1, 64), rng.normal(0, 1e4, 64)])
    exact[:64] += np.where(rng.random(64) < 0.5, 2.0**-30, 0.0)  # just beside what can be stored
    empty = [np.zeros(256, t) for t in (kind, kind)]
    return [a, b, *empty, exact, np.zeros(256, np.int32), np.zeros(256, bool), np.zeros(256, kind)]


def same_values(x: np.ndarray, y: np.ndarray) -> None:
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(x.astype(np.float64), y.astype(np.float64))


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("dtype", SMALL)
@pytest.mark.parametrize("seed", [0, 1])
def test_legalized_small_floats_keep_every_value(dtype: str, seed: int) -> None:
    kind = "BF16" if dtype == "bfloat16" else "FP8"
    mod = small_program(dtype)
    computed = get_pass(f"tirx.{kind}ComputeLegalize")(mod)
    assert get_pass(f"tirx.{kind}ComputeLegalize")(computed) is computed
    stored = get_pass(f"tirx.{kind}StorageLegalize")(computed)
    assert check_well_formed(stored) == [] and dtype not in stored.script()
    before, after, bits = (small_arguments(dtype, seed) for _ in range(3))
    only(mod).interpret(*before)
    only(computed).interpret(*after)
    unsigned = f"uint{DType(dtype).bits}"
    only(stored).interpret(*[a.view(unsigned) if str(a.dtype) == dtype else a for a in bits])
    for x, y, z in zip(before, after, bits):
        same_values(x, y)
        same_values(x, z)


def test_arithmetic_on_small_floats_must_be_legalized_first() -> None:
    with pytest.raises(PassError, match="BF16ComputeLegalize"):
        get_pass("tirx.BF16StorageLegalize")(small_program("bfloat16"))


def test_a_target_that_computes_small_floats_keeps_them() -> None:
    for arch, keeps in (("sm_75", False), ("sm_80", True), ("sm_90a", True)):
        mod = get_pass("tirx.BindTarget", target={"kind": "cuda", "arch": arch})(small_program("bfloat16"))
        assert (get_pass("tirx.BF16ComputeLegalize")(mod) is mod) is keeps


# functions of a module


PRIVATE = """
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((8,), "int32"), n: T.int32):
        for i in range(4):
            Module.put(A.data, i, n + i)
        A[7] = Module.twice(A[0] + 1)

    @T.prim_func(private=True)
    def put(data: T.handle("int32"), i: T.int32, x: T.int32):
        A = T.decl_buffer((8,), "int32", data=data)
        y: T.let = x * 2
        A[i] = y + Module.twice(y)

    @T.prim_func(private=True)
    def twice(x: T.int32) -> T.int32:
        return x + x
"""


def test_private_functions_are_inlined_through_several_levels() -> None:
    mod = module(PRIVATE)
    after = get_pass("tirx.InlinePrivateFunctions")(mod)
    assert [g.name for g in after.functions] == ["main"]
    assert check_well_formed(after) == []
    assert_same_results(mod, after, np.zeros(8, np.int32), 3)


def test_a_function_that_calls_itself_stays() -> None:
    mod = module(
        """
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((8,), "int32")):
        Module.down(A.data, 7)

    @T.prim_func(private=True)
    def down(data: T.handle("int32"), n: T.int32):
        A = T.decl_buffer((8,), "int32", data=data)
        A[n] = n
        if n > 0:
            Module.down(data, n - 1)
"""
    )
    assert get_pass("tirx.InlinePrivateFunctions")(mod) is mod


def test_a_variable_defined_twice_is_renewed() -> None:
    x = Var("x", "int32")
    one = SeqStmt([Bind(x, 1), Evaluate(x)])
    mod = IRModule.from_expr(PrimFunc([], SeqStmt([one, one])))
    assert check_well_formed(mod)
    after = get_pass("tirx.ConvertSSA")(mod)
    assert check_well_formed(after) == []
    first, second = (s for s in only(after).body.seq if isinstance(s, Bind))  # type: ignore[attr-defined]
    assert first.var is x and second.var is not x
    shared = IRModule({"f": PrimFunc([x], Evaluate(x)), "g": PrimFunc([x], Evaluate(x))})
    f, g = get_pass("tirx.ConvertSSA")(shared).functions.values()
    assert f.params[0] is not g.params[0]  # type: ignore[attr-defined]


# memory


def allocations(mod: IRModule) -> list[AllocBuffer]:
    return find(only(mod).body, AllocBuffer)


def test_memory_is_shared_only_when_it_is_free() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((16,), "float32"), D: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((16,))
    C = T.alloc_buffer((16,))
    for i in range(16):
        B[i] = A[i]
    for i in range(16):
        C[i] = B[15 - i]
    for i in range(16):
        D[i] = C[i]{extra}
"""
    storage = get_pass("tirx.StorageRewrite")
    assert len(allocations(storage(module(text.format(extra=""))))) == 2  # not the same place
    straight = module(text.replace("15 - i", "i").format(extra=""))
    assert len(allocations(storage(straight))) == 1
    later = module(text.replace("15 - i", "i").format(extra=" + B[i]"))
    assert len(allocations(storage(later))) == 2
    repeated = module(
        text.replace(
            "for i in range(16):\n        C[i] = B[15 - i]",
            "for i, k in T.grid(16, 2):\n        C[i] = B[i] * T.float32(2)",
        ).format(extra="")
    )
    assert len(allocations(storage(repeated))) == 2  # the second round would read what the first wrote


def test_allocations_leave_serial_loops_but_not_parallel_ones() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((8, 16), "float32")):
    for i in {kind}(8):
        for j in range(16):
            B = T.alloc_buffer((64,))
            B[0] = A[i, j]
            A[i, j] = B[0] * T.float32(2)
"""
    storage = get_pass("tirx.StorageRewrite")
    outer = only(storage(module(text.format(kind="range")))).body
    assert isinstance(outer, SeqStmt) and isinstance(outer.seq[0], AllocBuffer)
    inner = only(storage(module(text.format(kind="T.parallel")))).body
    assert isinstance(inner, For) and isinstance(inner.body, SeqStmt)
    assert isinstance(inner.body.seq[0], AllocBuffer)
    small = module(text.format(kind="range"))
    assert get_pass("tirx.StorageRewrite", min_bytes=1024)(small) is small


def test_vector_elements_keep_the_meaning() -> None:
    mod = module(
        """
@T.prim_func
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    C = T.alloc_buffer((16,), scope="local")
    for i in range(4):
        C[i * 4:i * 4 + 4] = A[T.Ramp(i * 4, 1, 4)] * T.Broadcast(T.float32(2), 4)
    for i in range(4):
        B[i * 4] = C[i * 4 + 3]
        B[i * 4 + 1] = C[i * 4 + 1] + C[12]
        B[i * 4 + 2:i * 4 + 4] = T.Broadcast(C[i * 4 + 2], 2)
"""
    )
    after = KEEPING["vectors"](mod)
    (one,) = allocations(after)
    assert str(one.buffer.dtype) == "float32x4"
    assert_same_results(mod, after, np.arange(16, dtype=np.float32), np.zeros(16, np.float32), name="f")
    odd = module(
        """
@T.prim_func
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    C = T.alloc_buffer((16,), scope="local")
    for i in range(4):
        C[i * 4:i * 4 + 4] = A[T.Ramp(i * 4, 1, 4)]
    for i in range(16):
        B[i] = C[i]
"""
    )
    assert KEEPING["vectors"](odd) is odd  # which lane is not known


# settings


def test_settings_have_checked_options() -> None:
    with pytest.raises(PassError, match="auto_max_step"):
        PassContext({"tirx.UnrollLoop": {"auto_max_steps": 4}})
    with pytest.raises(PassError, match="needs a int"):
        PassContext({"tirx.UnrollLoop": {"auto_max_step": "4"}})
    with pytest.raises(PassError, match="no pass reads"):
        PassContext({"tirx.enable_debug": True})
    assert PassContext({"tirx.enable_debug": False}).get("tirx.enable_debug") is False


def test_passes_are_switched_off_by_settings() -> None:
    mod = module(
        "@T.prim_func\ndef f(A: T.Buffer((8,), 'int32'), n: T.int32):\n    A[n * 2 + 1] = A[n * 2 + 1] + 1"
    )
    names = get_pass("tirx.CommonSubexprElim")
    assert names(mod) is not mod
    with PassContext({"tirx.disable_cse_tir": True}):
        assert names(mod) is mod


def test_a_constant_that_does_not_fit_keeps_its_type() -> None:
    mod = module(
        "@T.prim_func\ndef f(A: T.Buffer((8,), 'float32'), n: T.int64):\n    A[n + T.int64(1 << 40)] = 1.0"
    )
    after = get_pass("tirx.ForceNarrowIndexToInt32")(mod)
    assert any(isinstance(e, IntImm) and e.value == 1 << 40 for e in find(only(after).body, IntImm))


# conditions


@pytest.mark.parametrize("limit", [2, 6])
def test_clauses_stop_growing(limit: int) -> None:
    parts = " or ".join([f"(A[{2 * k}] and A[{2 * k + 1}])" for k in range(limit)])
    mod = module(
        f"@T.prim_func\ndef f(A: T.Buffer((16,), 'bool'), B: T.Buffer((1,), 'bool')):\n    B[0] = {parts}"
    )
    with PassContext({"tirx.StmtSimplify": {"convert_boolean_to_and_of_ors": True}}):
        after = KEEPING["simplify"](mod)
    assert structural_equal(after, mod) is (limit == 6)
    rng = np.random.default_rng(0)
    for _ in range(8):
        assert_same_results(mod, after, rng.integers(0, 2, 16).astype(bool), np.zeros(1, bool), name="f")


ALWAYS = ("testing.immutable_module", "s_tir.reset_start_id")
"""Settings that ask for what is always so."""


def test_every_setting_is_read_or_refused() -> None:
    """What no source asks for may be given its default only."""
    root = Path(loopwright.__file__).parent
    files = [*(root / "transform").rglob("*.py"), *(root / "codegen").rglob("*.py")]
    texts = [p.read_text(encoding="utf8") for p in files if p.name != "settings.py"]
    for key, setting in CONFIG.items():
        if setting.waiting or key in ALWAYS:
            continue
        asked = [t for t in texts if f'"{key}"' in t]
        assert asked, f"nothing reads `{key}`"


def test_machine_code_with_shared_memory_computes_the_same() -> None:
    """In the pipeline of the CPU large allocations share memory, and leave loops, in parallel ones too."""
    text = """
@T.prim_func
def f(A: T.Buffer((4, 8192), "float32"), D: T.Buffer((4, 8192), "float32")):
    for i in T.parallel(4):
        for r in range(2):
            B = T.alloc_buffer((8192,))
            C = T.alloc_buffer((8192,))
            E = T.alloc_buffer((8192,))
            for j in T.vectorized(8192):
                B[j] = A[i, j] + T.float32(1)
            for j in T.vectorized(8192):
                C[j] = B[j] * T.float32(2)
            for j in range(8192):
                E[j] = C[8191 - j]
            for j in range(8192):
                D[i, j] = E[j] + A[i, j]
"""
    mod = module(text)
    lowered = lower(mod)
    assert len(allocations(lowered)) == 2  # B and C share, E reads C elsewhere
    a = np.random.default_rng(0).integers(-9, 9, (4, 8192)).astype(np.float32)
    d = np.zeros_like(a)
    loopwright.build(mod)["f"](a, d)
    np.testing.assert_array_equal(d, (a[:, ::-1] + 1) * 2 + a)


def test_the_guide_names_every_pass_over_plain_loops() -> None:
    guide = Path(__file__).parents[2] / "docs" / "guide" / "passes.md"
    text = guide.read_text(encoding="utf8")
    names = [name.removeprefix("tirx.") for name in list_passes() if name.startswith("tirx.")]
    assert [name for name in names if f"`{name}`" not in text] == []
