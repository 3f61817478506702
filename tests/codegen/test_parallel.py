"""Parallel loops on the thread pool compute what they compute in order."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import loopwright
from loopwright import ir
from loopwright.codegen import as_module
from loopwright.codegen.llvm import jit, parallel, pool
from loopwright.codegen.llvm.build import Compiled
from loopwright.codegen.llvm.support import Support, support
from loopwright.errors import OutOfBoundsError
from loopwright.runtime import register_func, threads
from loopwright.testing.results import assert_same_results, copies, sample_arguments
from loopwright.testing.strategies import prim_funcs
from loopwright.testing.strategies.scheduled import programs
from loopwright.transform import lower


@pytest.fixture(autouse=True)
def small_tasks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each iteration is worth a task, and there are threads even on a machine with one processor."""
    monkeypatch.setattr(parallel, "TASK_WORK", 1)
    threads.set(4)
    yield
    threads.set(None)


def compiled(program: Any, checked: bool = False, limit: int = 0) -> Compiled:
    """Compiled afresh: the disk's cache does not know how small tasks are."""
    from loopwright.codegen.guards import lower_checked

    mod = loopwright.parse(program) if isinstance(program, str) else program
    mod = as_module(mod)
    return Compiled(mod, lambda: lower_checked(mod) if checked else lower(mod), None, checked, None, limit)


def main(program: Any, **options: Any) -> Callable[..., Any]:
    return compiled(program, **options).functions["main"]


def launches(program: Any) -> int:
    """How many loops became functions of their own."""
    return compiled(program).text().count("define internal i32 @lw.task.")


# The law


@pytest.mark.slow
@given(prim_funcs(executable=True), st.integers(0, 3))
def test_generated_programs(func: ir.PrimFunc, seed: int) -> None:
    arguments = sample_arguments(func, seed)
    name = str(func.attrs.get("global_symbol", "main"))
    assert_same_results(func, compiled(func).functions[name], *copies(arguments))


@pytest.mark.slow
@given(programs(), st.data())
def test_scheduled_programs(func: ir.PrimFunc, data: st.DataObject) -> None:
    sch = loopwright.Schedule(func)
    for block in sch.get_child_blocks(sch.get_sblock("root")):
        loops = sch.get_loops(block)
        if loops and data.draw(st.booleans()):
            try:
                sch.parallel(data.draw(st.sampled_from(loops)))
            except loopwright.LoopwrightError:
                continue
    arguments = sample_arguments(func, 1)
    assert_same_results(func, main(sch.mod), *copies(arguments))


# Forms of loops


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "int16"])
@pytest.mark.parametrize(
    ("low", "extent", "step"), [(0, 7, 1), (3, 100, 1), (5, 23, 3), (0, 2, 2), (2, 1, 1)]
)
def test_bounds(dtype: str, low: int, extent: int, step: int) -> None:
    for first, count in ((f"T.{dtype}({low})", f"T.{dtype}({extent})"), ("low", "extent")):
        program = f"""
@T.prim_func
def main(A: T.Buffer((200,), "int32"), low: T.{dtype}, extent: T.{dtype}):
    for i in T.parallel({first}, {first} + {count}, step=T.{dtype}({step})):
        A[i] = A[i] + 1
"""
        a = np.zeros(200, np.int32)
        main(program)(a, low, extent)
        assert np.flatnonzero(a).tolist() == list(range(low, low + extent, step)) and a.max() == 1


@pytest.mark.parametrize("extent", [0, -5, 1, 2, 1000])
def test_lengths_known_at_run_time(extent: int) -> None:
    program = """
@T.prim_func
def main(A: T.Buffer((1000,), "int32"), n: T.int32):
    for i in T.parallel(n):
        A[i] = i + 1
"""
    a = np.zeros(1000, np.int32)
    main(program)(a, extent)
    assert (a[: max(extent, 0)] == np.arange(1, max(extent, 0) + 1)).all() and (
        a[max(extent, 0) :] == 0
    ).all()


def test_values_from_around_the_loop() -> None:
    program = """
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64, 8), "float16"), k: T.int8, flag: T.bool, x: T.bfloat16):
    scale: T.let[T.float32] = T.Cast("float32", k) * T.float32(0.5)
    table = T.alloc_buffer((4,), "float32", scope="local")
    large = T.alloc_buffer((64, 1000), "float32")
    for i in range(4):
        table[i] = scale + T.Cast("float32", i)
    for outer in range(3):
        for i in T.parallel(64):
            own = T.alloc_buffer((16,), "float32", scope="local")
            big = T.alloc_buffer((10000,), "float32")
            for j in range(16):
                own[j] = table[i % 4] * T.Cast("float32", outer)
            big[i * 100] = own[i % 16]
            large[i, 10] = big[i * 100] + T.Cast("float32", x)
            A[i] = A[i] + T.if_then_else(flag, large[i, 10], T.float32(1))
            for j in T.vectorized(8):
                B[i, j] = B[i, j] + T.Cast("float16", A[i])
"""
    func = loopwright.parse(program)
    assert launches(func) == 1
    for flag in (True, False):
        args = [np.zeros(64, np.float32), np.zeros((64, 8), np.float16), 6, flag, 2.0]
        assert_same_results(func, main(func), *args)


def test_vectors_from_around_the_loop() -> None:
    program = """
@T.prim_func
def main(A: T.Buffer((64,), "float32x8"), B: T.Buffer((64,), "float32x16"), k: T.int32):
    wide: T.let[T.float32x8] = T.Broadcast(T.Cast("float32", k), 8)
    wider: T.let[T.float32x16] = T.Broadcast(T.Cast("float32", k + 1), 16)
    mask: T.let[T.boolx8] = T.Broadcast(k > 3, 8)
    for i in T.parallel(64):
        A[i] = T.Select(mask, A[i] + wide, A[i])
        B[i] = B[i] + wider
"""
    func = loopwright.parse(program)
    assert launches(func) == 1
    for k in (3, 5):
        assert_same_results(func, main(func), np.ones((64, 8), np.float32), np.ones((64, 16), np.float32), k)


def test_work_decides_whether_threads_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    program = """
@T.prim_func
def main(A: T.Buffer(({n}, {m}), "float32")):
    for i in T.parallel({n}):
        for j in range({m}):
            A[i, j] = A[i, j] + T.float32(1)
"""
    monkeypatch.setattr(parallel, "TASK_WORK", 16 * 1024)
    assert launches(program.format(n=16, m=16)) == 0
    assert launches(program.format(n=16, m=16384)) == 1
    assert launches(program.format(n=1, m=10**6)) == 0


def test_a_loop_inside_a_parallel_loop_is_no_second_launch() -> None:
    program = """
@T.prim_func
def main(A: T.Buffer((16, 16), "int32")):
    for i in T.parallel(16):
        for j in T.parallel(16):
            A[i, j] = i * j
"""
    a = np.zeros((16, 16), np.int32)
    main(program)(a)
    assert (a == np.outer(np.arange(16), np.arange(16))).all() and launches(program) == 1


def test_pointers_stay_apart_in_the_loop() -> None:
    program = """
@T.prim_func
def main(A: T.Buffer((1024,), "float32"), B: T.Buffer((1024,), "float32")):
    for i in T.parallel(1024):
        B[i] = A[i] * T.float32(2)
"""
    head = next(
        t for t in compiled(program).text().splitlines() if t.startswith("define internal i32 @lw.loop.")
    )
    assert head.count("ptr noalias") == 3  # the report and both buffers


def test_arguments_that_share_memory_are_worked_on_in_order() -> None:
    program = """
@T.prim_func
def main(A: T.Buffer((4096,), "int64"), B: T.Buffer((4096,), "int64")):
    for i in T.parallel(4096):
        B[i] = A[i] + T.int64(1)
"""
    f = main(program)
    memory = np.zeros(4097, np.int64)
    f(memory[:-1], memory[1:])
    assert (memory == np.arange(4097)).all()


def test_python_in_the_body_runs_on_one_thread() -> None:
    seen: list[tuple[int, str]] = []
    register_func(
        "test.parallel.note", lambda i: seen.append((i, threading.current_thread().name)), override=True
    )
    program = """
@T.prim_func
def main(A: T.Buffer((8,), "int32")):
    for i in T.parallel(8):
        A[i] = i
        T.call_packed("test.parallel.note", A[i])
"""
    main(program)(np.zeros(8, np.int32))
    assert seen == [(i, threading.current_thread().name) for i in range(8)]


# Threads


WHO = """
@T.prim_func
def main(A: T.Buffer((64,), "uint64"), spin: T.int32):
    for i in T.parallel(64):
        waste = T.alloc_buffer((1,), "float32", scope="local")
        waste[0] = T.float32(0)
        for j in range(spin):
            waste[0] = T.call_extern("float32", "sinf", waste[0] + T.float32(1))
        A[i] = T.call_extern("uint64", "pthread_self")
"""


def crew(f: Callable[..., Any], tries: int = 200, enough: int = 2) -> int:
    """The most threads that a call was worked on by; no more calls once there were enough."""
    most = 0
    for _ in range(tries):
        if most >= enough:
            break
        a = np.zeros(64, np.uint64)
        f(a, 2000)
        assert a.all()
        most = max(most, len(set(a.tolist())))
    return most


def test_several_threads_share_the_work() -> None:
    assert crew(main(WHO)) > 1
    assert support().pool.running == 4
    assert len([t for t in threading.enumerate() if t.name.startswith("loopwright-")]) == 3


@pytest.mark.parametrize("count", [1, 2])
def test_fewer_threads_on_request(count: int) -> None:
    assert crew(main(WHO, limit=count), 30, count + 1) <= count
    threads.set(count)
    assert crew(main(WHO), 30, count + 1) <= count


def test_num_threads_and_num_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    func = loopwright.parse(WHO)
    assert crew(loopwright.build(func, num_threads=1)["main"], 5) == 1
    assert crew(loopwright.build(func, "llvm -num-cores=1")["main"], 5) == 1
    assert crew(loopwright.build(func, "llvm -num-cores=1", num_threads=4)["main"]) > 1


@pytest.mark.timeout(60)
def test_c_code_in_tasks_may_take_the_gil() -> None:
    program = """
@T.prim_func
def main(A: T.Buffer((64,), "int32")):
    for i in T.parallel(64):
        waste = T.alloc_buffer((1,), "float32", scope="local")
        waste[0] = T.float32(0)
        for j in range(2000):
            waste[0] = T.call_extern("float32", "sinf", waste[0] + T.float32(1))
        state: T.let[T.int32] = T.call_extern("int32", "PyGILState_Ensure")
        A[i] = A[i] + T.Select(waste[0] < T.float32(2), 1, 0)
        T.evaluate(T.call_extern("int32", "PyGILState_Release", state))
"""
    register_func("test.parallel.nothing", lambda: None, override=True)
    python = '    T.evaluate(T.call_packed("test.parallel.nothing"))\n'
    for text in (program, program + python):  # Python in the function, but not in the loop
        f = main(text)
        a = np.zeros(64, np.int32)
        for _ in range(100):
            f(a)
        assert (a == 100).all()


NESTED = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def row(A: T.Buffer((32,), "int32")):
        for i in T.parallel(32):
            A[i] = A[i] + 1

    @T.prim_func
    def main(A: T.Buffer((100, 32), "int32")):
        for i in T.parallel(100):
            Module.row(T.address_of(A[i, 0]))
"""


def test_nested_launches() -> None:
    f = main(NESTED)
    a = np.zeros((100, 32), np.int32)
    for _ in range(50):
        f(a)
    assert (a == 50).all()


def test_launches_from_several_python_threads() -> None:
    f = main(NESTED)
    arrays = [np.zeros((100, 32), np.int32) for _ in range(4)]
    failures: list[BaseException] = []

    def work(a: np.ndarray[Any, Any]) -> None:
        try:
            for _ in range(100):
                f(a)
        except BaseException as err:
            failures.append(err)

    callers = [threading.Thread(target=work, args=(a,)) for a in arrays]
    for t in callers:
        t.start()
    for count in (2, 3, 1, 4):  # other counts while they run
        threads.set(count)
    for t in callers:
        t.join()
    assert not failures and all((a == 100).all() for a in arrays)


# Errors


@pytest.mark.parametrize("bad", [{0}, {63}, {17, 40}, set(range(64)), {5, 6, 50}])
def test_the_first_error_in_the_order_of_the_loop(bad: set[int]) -> None:
    program = """
@T.prim_func
def main(A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32")):
    for i in T.parallel(64):
        B[A[i]] = i
"""
    f = main(program, checked=True)
    a = np.array([1000 + i if i in bad else i for i in range(64)], np.int32)
    for _ in range(20):
        with pytest.raises(OutOfBoundsError, match=f"index {1000 + min(bad)} "):
            f(a, np.zeros(64, np.int32))
    b = np.zeros(64, np.int32)
    f(np.arange(64, dtype=np.int32), b)
    assert (b == np.arange(64)).all()


def test_errors_are_those_of_serial_code() -> None:
    program = """
@T.prim_func
def main(A: T.Buffer((64,), "int32"), n: T.int32):
    for i in T.{kind}(64):
        own = T.alloc_buffer((n,), "int32")
        own[0] = 100 // A[i]
        assert own[0] < 50, "too large"
        A[i] = own[0]
"""
    for values, size in (([4] * 64, 1), ([4, 0] * 32, 1), ([4] * 60 + [1] * 4, 1), ([4] * 64, -1)):
        found = []
        for kind in ("serial", "parallel"):
            a = np.array(values, np.int32)
            try:
                found.append(main(program.format(kind=kind))(a, size))
            except Exception as err:
                found.append((type(err), str(err).splitlines()[0]))
        assert found[0] == found[1]


def test_recursion_inside_tasks_is_bounded() -> None:
    program = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def down(A: T.Buffer((8,), "int32"), n: T.int32):
        if n > 0:
            for i in T.parallel(8):
                A[i] = n
            Module.down(T.address_of(A[0]), n - 1)

    @T.prim_func
    def main(A: T.Buffer((16, 8), "int32"), n: T.int32):
        for i in T.parallel(16):
            Module.down(T.address_of(A[i, 0]), n)
"""
    f = main(program)
    a = np.zeros((16, 8), np.int32)
    f(a, 20)
    assert (a == 1).all()
    with pytest.raises(RecursionError):
        f(a, 100_000)


# The pool by itself


MEET = """
define i32 @meet(i32 %task, i32 %tasks, ptr %env) {
entry:
  %old = atomicrmw add ptr %env, i32 1 seq_cst
  br label %look
look:
  %n = load atomic i32, ptr %env seq_cst, align 4
  %ok = icmp sge i32 %n, %tasks
  br i1 %ok, label %done, label %look
done:
  ret i32 0
}
"""


@pytest.mark.parametrize("platform", [None, "another"])
def test_tasks_meet(platform: str | None) -> None:
    """Each task waits for the other, so two threads must run; also where waiting threads only nap."""
    own = Support(platform)
    assert ("syscall" in pool.text(jit.host().triple, "another")) is False
    code = jit.Loaded(jit.compile_object(MEET, jit.host()), ["meet"])
    kinds = [ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_int64] * 3]
    launch = ctypes.CFUNCTYPE(*kinds)(own.addresses["launch"])
    count = ctypes.c_int32()
    try:
        for k in range(30):
            count.value = 0
            assert launch(code.address("meet"), ctypes.addressof(count), 2, 1, 0) == 0
            assert count.value == 2
            if k % 10 == 9:
                threading.Event().wait(0.01)  # long enough for the helpers to fall asleep
    finally:
        own.pool.close()
    count.value = 1  # after the end the caller does all
    assert launch(code.address("meet"), ctypes.addressof(count), 2, 1, 0) == 0 and count.value == 2


@pytest.mark.parametrize(
    ("triple", "platform", "words"),
    [
        ("x86_64-unknown-linux-gnu", "linux", ("i64 202", "sse2.pause")),
        ("aarch64-unknown-linux-gnu", "linux", ("i64 98", "hint(i32 1)")),
        ("arm64-apple-darwin23", "darwin", ("@usleep", "hint(i32 1)")),
        ("x86_64-pc-windows-msvc", "win32", ("@Sleep", "sse2.pause")),
    ],
)
def test_the_text_of_the_pool(triple: str, platform: str, words: tuple[str, ...]) -> None:
    text = pool.text(triple, platform)
    assert all(w in text for w in words)
    module = jit.binding().parse_assembly(text, jit.binding().create_context())
    module.verify()
