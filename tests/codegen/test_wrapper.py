from __future__ import annotations

import array
import ctypes
import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopwright import ir
from loopwright.codegen.llvm import layout
from loopwright.codegen.llvm.build import Compiled, compile_module
from loopwright.errors import ArgumentTypeError, ArgumentValueError, LoopwrightError
from loopwright.ir import (
    Add,
    BufferLoad,
    BufferStore,
    BufferType,
    Call,
    Cast,
    DeclBuffer,
    For,
    IRModule,
    Mul,
    PrimFunc,
    Return,
    SeqStmt,
    Var,
)


def buffer(name: str, shape: Any, dtype: str = "float32", **more: Any) -> Var:
    return Var(name, BufferType(dtype, shape, **more))


def flat(b: Var, size: Any) -> tuple[Var, DeclBuffer]:
    v = Var(b.name + "_1", BufferType(b.ty.dtype, (size,)))
    return v, DeclBuffer(v, Call("tirx.buffer_data", (b,), "handle"))


def compiled(func: PrimFunc, name: str = "f") -> Callable[..., Any]:
    mod = IRModule({name: func.with_attr("global_symbol", name)})
    return Compiled(mod, lambda: mod, None, False).functions[name]


def add_function(shape: Any = (16,), dtype: str = "float32", total: Any = 16) -> PrimFunc:
    a, b, c = (buffer(x, shape, dtype) for x in "ABC")
    views = [flat(x, total) for x in (a, b, c)]
    i = Var("i", "int32")
    av, bv, cv = [v for v, _ in views]
    body = For(i, 0, total, "serial", BufferStore(cv, Add(BufferLoad(av, [i]), BufferLoad(bv, [i])), [i]))
    return PrimFunc([a, b, c], SeqStmt([*[d for _, d in views], body]))


def symbolic_add() -> PrimFunc:
    n, m = Var("n", "int32"), Var("m", "int64")
    return add_function((n, m), total=Mul(n, Cast("int32", m)))


@pytest.fixture(scope="module")
def add() -> Callable[..., Any]:
    return compiled(add_function(), "add")


def arrays(n: int = 16, dtype: Any = np.float32) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.arange(n).astype(dtype), np.arange(n).astype(dtype) * 2, np.zeros(n, dtype)


def test_the_fast_path_is_taken(add: Callable[..., Any]) -> None:
    assert layout.fast_calls_possible()
    assert type(add).__name__ == "builtin_function_or_method" and add.__name__ == "add"
    a, b, c = arrays()
    assert add(a, b, c) is None
    np.testing.assert_array_equal(c, a + b)


def test_keywords(add: Callable[..., Any]) -> None:
    a, b, c = arrays()
    add(a, C=c, B=b)
    np.testing.assert_array_equal(c, a + b)


def test_reference_counts_stay(add: Callable[..., Any]) -> None:
    a, b, c = arrays()
    before = [sys.getrefcount(x) for x in (a, b, c)]
    for _ in range(20000):
        add(a, b, c)
        with pytest.raises(TypeError) if _ < 10 else _nothing():
            add(a, b) if _ < 10 else None
    assert [sys.getrefcount(x) for x in (a, b, c)] == before


class _nothing:
    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...


def readonly(x: np.ndarray) -> np.ndarray:
    x = x.copy()
    x.flags.writeable = False
    return x


A, B, C = arrays()
FAULTS: list[tuple[str, tuple[Any, ...], dict[str, Any], type[Exception], str, str]] = [
    ("too few", (A, B), {}, ArgumentTypeError, "argument-count", "`add` misses `C`"),
    ("too many", (A, B, C, C), {}, ArgumentTypeError, "argument-count", "takes 3 arguments but 4 were given"),
    ("unknown keyword", (A, B, C), {"D": C}, ArgumentTypeError, "argument-name", "no parameter `D`"),
    ("twice", (A, B, C), {"A": C}, ArgumentTypeError, "argument-name", "two values for `A`"),
    (
        "dtype",
        (A, B.astype("f8"), C),
        {},
        ArgumentTypeError,
        "argument-dtype",
        r"argument 2 \(B\) must have dtype `float32`, not `float64`",
    ),
    ("int dtype", (A, B, C.astype("i4")), {}, ArgumentTypeError, "argument-dtype", "argument 3"),
    (
        "rank",
        (A, B, C.reshape(4, 4)),
        {},
        ArgumentValueError,
        "argument-rank",
        "must have 1 dimensions, not 2",
    ),
    ("scalar array", (A, B, np.float32(3)), {}, ArgumentValueError, "argument-rank", "not 0"),
    (
        "shape",
        (A[:15], B, C),
        {},
        ArgumentValueError,
        "argument-shape",
        r"argument 1 \(A\) must have shape\[0\] 16, not 15",
    ),
    ("zero size", (A, B, C[:0]), {}, ArgumentValueError, "argument-shape", "not 0"),
    ("read-only output", (A, B, readonly(C)), {}, ArgumentValueError, "argument-readonly", "read-only"),
    ("list", (list(A), B, C), {}, ArgumentTypeError, "argument-type", "must be an array, not a list"),
    ("number", (1.5, B, C), {}, ArgumentTypeError, "argument-type", "not a float"),
    ("none", (None, B, C), {}, ArgumentTypeError, "argument-type", "not a NoneType"),
    ("text", ("abc", B, C), {}, ArgumentTypeError, "argument-type", "not a str"),
    ("bytes", (bytes(64), B, C), {}, ArgumentTypeError, "argument-dtype", "not `uint8`"),
    ("objects", (np.array([None] * 16), B, C), {}, ArgumentTypeError, "argument-dtype", "not `object`"),
    (
        "structured",
        (np.zeros(16, [("x", "f4")]), B, C),
        {},
        ArgumentTypeError,
        "argument-dtype",
        "argument 1",
    ),
]


@pytest.mark.parametrize(
    ("args", "kwargs", "kind", "code", "text"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS]
)
def test_faulty_arguments_are_named(
    add: Callable[..., Any], args: Any, kwargs: Any, kind: type[LoopwrightError], code: str, text: str
) -> None:
    with pytest.raises(kind, match=text) as caught:
        add(*args, **kwargs)
    assert caught.value.code == code
    if code not in ("argument-count", "argument-name"):
        assert "add(A: float32[16], B: float32[16], C: float32[16])" in str(caught.value)


def test_arrays_of_other_layouts_give_the_right_answer(add: Callable[..., Any]) -> None:
    base = np.arange(64, dtype=np.float32)
    odd = np.zeros(65, np.uint8)[1:].view(np.float32) if np.little_endian else None
    layouts = {
        "contiguous": base[:16].copy(),
        "strided": base[::4],
        "negative": base[15::-1],
        "column": base[:64].reshape(16, 4)[:, 1],
        "big-endian": base[:16].astype(">f4"),
        "broadcast": np.broadcast_to(np.float32(3), 16),
        "under-aligned": odd,
        "subclass": base[:16].copy().view(np.matrix).A1 if hasattr(np.matrix, "A1") else base[:16],
        "masked": np.ma.array(base[:16]),
    }
    assert odd is not None and not odd.flags.aligned
    odd[...] = np.arange(16)
    for name, x in layouts.items():
        out = np.zeros(16, np.float32)
        add(x, x, out)
        np.testing.assert_array_equal(out, np.asarray(x, np.float32) * 2, err_msg=name)
    for name, make in {
        "strided": lambda: np.zeros(64, np.float32)[::4],
        "negative": lambda: np.zeros(16, np.float32)[::-1],
        "big-endian": lambda: np.zeros(16, ">f4"),
        "under-aligned": lambda: np.zeros(65, np.uint8)[1:].view(np.float32),
    }.items():
        out = make()
        add(base[:16], base[16:32], out)
        np.testing.assert_array_equal(out, base[:16] + base[16:32], err_msg=name)


def test_overlap_means_what_the_program_says(add: Callable[..., Any]) -> None:
    def expected(x: np.ndarray, at: int) -> np.ndarray:
        y = x.copy()
        for i in range(16):
            y[at + i] = y[i] + y[i]
        return y

    for at in (0, 1, 3, 8, 16):
        x = np.arange(40, dtype=np.float32)
        want = expected(x, at)
        add(x[:16], x[:16], x[at : at + 16])
        np.testing.assert_array_equal(x, want)
    x = np.arange(32, dtype=np.float32)[::2]
    add(x, x, x)
    np.testing.assert_array_equal(x, np.arange(0, 64, 4))
    y = np.arange(40, dtype=np.float32)
    with pytest.raises(ArgumentValueError, match="not contiguous and overlaps argument 3") as caught:
        add(y[0:32:2], np.ones(16, np.float32), y[1:17])
    assert caught.value.code == "argument-overlap"


def test_symbolic_sizes_are_bound_and_checked() -> None:
    f = compiled(symbolic_add())
    for shape in ((3, 4), (1, 1), (0, 5), (4, 0)):
        a = np.ones(shape, np.float32)
        out = np.zeros(shape, np.float32)
        f(a, a, out)
        assert (out == 2).all()
    with pytest.raises(ArgumentValueError, match=r"argument 2 \(B\) must have shape\[1\] 4 \(`m`\), not 5"):
        f(np.ones((3, 4), np.float32), np.ones((3, 5), np.float32), np.ones((3, 4), np.float32))
    t = np.ones((4, 3), np.float32).T
    out = np.zeros((3, 4), np.float32)
    f(t, t, out)
    assert (out == 2).all()
    huge = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (2**31, 0), (0, 0))
    with pytest.raises(ArgumentValueError, match="outside the range of `int32`"):
        f(huge, huge, huge)


def test_compound_sizes() -> None:
    n, k = Var("n", "int64"), Var("k", "int32")
    a, b = buffer("a", (Add(n, 1), Mul(n, 2))), buffer("b", (n, ir.FloorDiv(n, Cast("int64", k))))
    f = compiled(PrimFunc([a, k, b], Return(n), "int64"))

    def one(*s):
        return np.zeros(s, np.float32)

    assert f(one(5, 8), 2, one(4, 2)) == 4
    with pytest.raises(
        ArgumentValueError, match=r"argument 1 \(a\) must have shape\[0\] 5 \(`n \+ 1`\), not 4"
    ):
        f(one(4, 8), 2, one(4, 2))
    with pytest.raises(ArgumentValueError, match=r"`n // k`"):
        f(one(5, 8), 2, one(4, 3))
    with pytest.raises(ArgumentValueError, match="do not determine"):
        f(one(5, 8), 0, one(4, 2))


def test_strides_of_their_own() -> None:
    n, s = Var("n", "int64"), Var("s", "int64")
    a, out = buffer("a", (n,), strides=(s,)), buffer("out", (n,))
    av, d1 = flat(a, Mul(n, s))
    ov, d2 = flat(out, n)
    i = Var("i", "int64")
    f = compiled(
        PrimFunc(
            [a, out],
            SeqStmt([d1, d2, For(i, 0, n, "serial", BufferStore(ov, BufferLoad(av, [Mul(i, s)]), [i]))]),
        )
    )
    x = np.arange(20, dtype=np.float32)
    for view in (x, x[::2], x[::-1], x[:1], x[3:3]):
        out = np.zeros(len(view), np.float32)
        f(view, out)
        np.testing.assert_array_equal(out, view)
    two = buffer("two", (4,), strides=(2,))
    g = compiled(PrimFunc([two], Return(1), "int32"))
    assert g(x[:8:2]) == 1
    with pytest.raises(ArgumentValueError, match=r"strides\[0\] 2, not 1") as caught:
        g(x[:4])
    assert caught.value.code == "argument-strides"


def test_ranks_zero_and_vector_dtypes() -> None:
    a = buffer("a", (), "float64")
    v, d = flat(a, 1)
    f = compiled(PrimFunc([a], SeqStmt([d, BufferStore(v, Add(BufferLoad(v, [0]), 1.0), [0])])))
    x = np.array(2.5)
    f(x)
    assert x == 3.5
    quad, out = buffer("quad", (3,), "float32x4"), buffer("out", (3,), "float32x4")
    qv, d1 = flat(quad, 3)
    ov, d2 = flat(out, 3)
    i = Var("i", "int32")
    g = compiled(
        PrimFunc(
            [quad, out],
            SeqStmt([d1, d2, For(i, 0, 3, "serial", BufferStore(ov, BufferLoad(qv, [ir.Sub(2, i)]), [i]))]),
        )
    )
    y = np.arange(12, dtype=np.float32).reshape(3, 4)
    z = np.zeros_like(y)
    g(y, z)
    np.testing.assert_array_equal(z, y[::-1])
    with pytest.raises(ArgumentValueError, match="lanes"):
        g(np.zeros((3, 5), np.float32), z)


SCALARS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool")


@pytest.mark.parametrize("dtype", SCALARS)
def test_integer_scalars(dtype: str) -> None:
    x = Var("x", dtype)
    f = compiled(PrimFunc([x], Return(x), dtype))
    info = np.iinfo(dtype) if dtype != "bool" else None
    values = [0, 1, True, np.int8(1)] + (
        [info.min, info.max, np.dtype(dtype).type(info.max)] if info else [np.True_, False]
    )
    for v in values:
        assert f(v) == v and type(f(v)) is (bool if dtype == "bool" else int)
    if info:
        for v in (info.min - 1, info.max + 1, 2**70, -(2**70)):
            with pytest.raises(ArgumentValueError, match=f"outside the range of `{dtype}`"):
                f(v)
    for v in (1.0, "1", None, 1j, [1], np.zeros(3)):
        with pytest.raises(ArgumentTypeError, match="must be an int"):
            f(v)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16", "float8_e4m3fn"])
def test_float_scalars(dtype: str) -> None:
    x = Var("x", dtype)
    f = compiled(PrimFunc([x], Return(x), dtype))
    kind = x.dtype.numpy()
    for v in (0.1, -0.0, 1, True, 2**40, float("inf"), np.float32(0.3), np.float64(1e-9), 1e300):
        with np.errstate(all="ignore"):
            want = float(np.float64(v).astype(kind))
        got = f(v)
        assert type(got) is float
        assert got == want or (np.isnan(got) and np.isnan(want))
    assert np.isnan(f(float("nan")))
    for bad in ("1.0", None, 1j, [1.0], np.zeros(2)):
        with pytest.raises(ArgumentTypeError, match="must be a number"):
            f(bad)
    with pytest.raises(ArgumentValueError):
        f(10**400)


def test_handles() -> None:
    h = Var("h", ir.HANDLE)
    f = compiled(PrimFunc([h], Return(Cast("int64", Call("tirx.reinterpret", (h,), "int64"))), "int64"))
    a = np.zeros(4)
    c = ctypes.c_int(5)
    assert [f(None), f(12), f(ctypes.c_void_p(99))] == [0, 12, 99]
    assert (
        f(a) == a.ctypes.data and f(c) == ctypes.addressof(c) and f(ctypes.pointer(c)) == ctypes.addressof(c)
    )
    with pytest.raises(ArgumentTypeError):
        f("text")
    with pytest.raises(ArgumentValueError):
        f(-1)


def test_other_arrays(add: Callable[..., Any]) -> None:
    from loopwright.runtime import tensor

    a, b, _ = arrays()
    out = array.array("f", bytes(64))
    add(memoryview(a), array.array("f", b), out)
    np.testing.assert_array_equal(np.array(out), a + b)
    t = tensor(np.zeros(16, np.float32))
    add(tensor(a), tensor(b), t)
    np.testing.assert_array_equal(t.numpy(), a + b)
    c_array = (ctypes.c_float * 16)()
    add(a, b, c_array)
    assert list(c_array) == (a + b).tolist()
    with pytest.raises(ArgumentValueError, match="read-only"):
        add(a, b, memoryview(a.tobytes()).cast("f"))

    class OnGpu:
        def __dlpack__(self, **_: Any) -> Any:
            raise AssertionError("not asked for")

        def __dlpack_device__(self) -> tuple[int, int]:
            return (2, 0)

    class Exports:
        def __init__(self, x: np.ndarray) -> None:
            self.x = x

        def __dlpack__(self, **more: Any) -> Any:
            return self.x.__dlpack__(**more)

        def __dlpack_device__(self) -> tuple[int, int]:
            return self.x.__dlpack_device__()

    with pytest.raises(ArgumentValueError, match="lies on `cuda:0`") as caught:
        add(a, b, OnGpu())
    assert caught.value.code == "argument-device"
    out2 = np.zeros(16, np.float32)
    add(Exports(a), b, Exports(out2))
    np.testing.assert_array_equal(out2, a + b)


def test_small_dtypes_as_arguments() -> None:
    for dtype in (ml_dtypes.bfloat16, np.float16, ml_dtypes.float8_e5m2):
        f = compiled(add_function(dtype=np.dtype(dtype).name))
        a, b, c = arrays(dtype=dtype)
        f(a, b, c)
        np.testing.assert_array_equal(c, a + b)


ODD = st.sampled_from(
    [
        None,
        1,
        -1,
        1.5,
        True,
        "x",
        b"bytes",
        [],
        {},
        (1, 2),
        object(),
        int,
        2**80,
        float("nan"),
        np.float32(1),
        np.zeros(0),
    ]
    + [np.zeros(16, d) for d in ("f4", "f8", "i4", ">f4", "c8", "?", "U3", "O", "M8[s]")]
    + [
        np.zeros((4, 4), np.float32),
        np.zeros(31, np.float32)[::2],
        np.zeros((), np.float32),
        np.zeros(16, np.float32)[None],
    ]
    + [
        np.zeros(16, np.float32).view(type("Sub", (np.ndarray,), {})),
        memoryview(bytes(64)),
        readonly(C),
        np.float32,
        type,
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(ODD, max_size=5), st.dictionaries(st.sampled_from(["A", "B", "C", "D", ""]), ODD, max_size=2))
def test_odd_arguments_never_do_worse_than_an_error(args: list[Any], kwargs: dict[str, Any]) -> None:
    for f in _odd_functions():
        try:
            f(*args, **kwargs)
        except (ArgumentTypeError, ArgumentValueError):
            pass


def _odd_functions(made: list[Callable[..., Any]] = []) -> list[Callable[..., Any]]:  # noqa: B006
    if not made:
        x, y = Var("A", "int16"), Var("B", "float32")
        made += [
            compiled(add_function(), "add"),
            compiled(symbolic_add()),
            compiled(PrimFunc([x, y], Return(x), "int16")),
        ]
        made.append(compiled(PrimFunc([], Return(3), "int32")))
    return made


def test_callables_keep_their_code_alive_and_let_it_go() -> None:
    import weakref

    mod = IRModule({"add": add_function().with_attr("global_symbol", "add")})
    whole = Compiled(mod, lambda: mod, None, False)
    f = whole.functions["add"]
    library = weakref.ref(whole.library)
    del whole
    gc.collect()
    a, b, c = arrays()
    f(a, b, c)
    add_again = f
    del f
    gc.collect()
    add_again(a, b, c)
    np.testing.assert_array_equal(c, a + b)
    assert library() is not None
    del add_again
    gc.collect()
    assert library() is None


def test_the_ctypes_path_does_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "fast_calls_possible", lambda: False)
    f = compiled(add_function(), "add")
    a, b, c = arrays()
    assert f(a, b, C=c) is None
    np.testing.assert_array_equal(c, a + b)
    f(a, a, a)
    np.testing.assert_array_equal(a, np.arange(16) * 2)
    with pytest.raises(ArgumentValueError):
        f(a, b, c[:3])
    n = Var("n", "int32")
    with pytest.raises(ZeroDivisionError):
        compiled(PrimFunc([n], Return(ir.Div(1, n)), "int32"))(0)


def test_first_calls_from_threads_compile_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("LOOPWRIGHT_CACHE_DIR", str(tmp_path))
    count = []
    mod = IRModule({"add": add_function().with_attr("global_symbol", "add")})

    def lower() -> IRModule:
        count.append(1)
        return mod

    results: list[Any] = []
    threads = [
        threading.Thread(target=lambda: results.append(compile_module(mod, lower, "threads", "here", False)))
        for _ in range(6)
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(count) == 1 and len({id(r) for r in results}) == 1


@pytest.mark.slow
def test_processes_end_cleanly(tmp_path: Any) -> None:
    source = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import test_wrapper as t\n"
        "f = t.compiled(t.add_function(), 'add')\n"
        "a, b, c = t.arrays()\n"
        "f(a, b, c)\n"
        "print(int(c.sum()))\n"
    )
    path = os.pathsep.join([p for p in sys.path if p])
    env = {**os.environ, "PYTHONPATH": path, "LOOPWRIGHT_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", source, os.path.dirname(__file__)],
        capture_output=True,
        text=True,
        env=env,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "360\n", "")


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_uint64),
        ("device", ctypes.c_int32 * 2),
        ("rank", ctypes.c_int32),
        ("dtype", ctypes.c_uint32),
        ("shape", ctypes.c_uint64),
        ("strides", ctypes.c_uint64),
        ("offset", ctypes.c_uint64),
    ]


class Exchanged:
    """A tensor type with an exchange table; counts how often the table is used."""

    asked = 0
    __dlpack_c_exchange_api__: Any = None

    def __init__(
        self, array: np.ndarray, device: int = 1, with_strides: bool = True, offset: int = 0
    ) -> None:
        self.array = array
        self.place = device
        self.dims = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
        self.steps = (ctypes.c_int64 * max(array.ndim, 1))(*[s // array.itemsize for s in array.strides])
        self.with_strides = with_strides
        self.offset = offset

    def __dlpack__(self, **more: Any) -> Any:
        return self.array.__dlpack__(**more)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self.place, 0)


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor))
def _exchange(tensor: Any, out: Any) -> int:
    Exchanged.asked += 1
    view = out.contents
    view.data = tensor.array.ctypes.data - tensor.offset
    view.device[0] = tensor.place
    view.rank = tensor.array.ndim
    view.dtype = {"f": 2, "i": 0}[tensor.array.dtype.kind] | tensor.array.itemsize * 8 << 8 | 1 << 16
    view.shape = ctypes.addressof(tensor.dims)
    view.strides = ctypes.addressof(tensor.steps) if tensor.with_strides else 0
    view.offset = tensor.offset
    return 0


_table = (ctypes.c_uint64 * 7)(1 | 3 << 32, 0, 0, 0, 0, ctypes.cast(_exchange, ctypes.c_void_p).value, 0)
_capsule_name = b"dlpack_exchange_api"  # a capsule keeps no copy
_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype, _capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
Exchanged.__dlpack_c_exchange_api__ = _capsule(ctypes.addressof(_table), _capsule_name, None)


def test_exchange_tables_of_other_packages_are_used() -> None:
    f = compiled(symbolic_add())
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    out = np.zeros((3, 4), np.float32)
    f(Exchanged(a), Exchanged(a), Exchanged(out))  # the slow path sees the type
    Exchanged.asked = 0
    out[...] = 0
    f(Exchanged(a), Exchanged(a, with_strides=False), Exchanged(out, offset=64))
    np.testing.assert_array_equal(out, a * 2)
    assert Exchanged.asked == 3
    f(a, Exchanged(a), out)
    assert Exchanged.asked == 4
    f(Exchanged(out), Exchanged(out), Exchanged(out))
    np.testing.assert_array_equal(out, a * 4)
    f(Exchanged(a.T.copy().T), a, Exchanged(out))
    np.testing.assert_array_equal(out, a * 2)
    one = np.ones((1, 4), np.float32)
    f(Exchanged(np.ones((2, 4), np.float32)[::2]), one, Exchanged(out[:1]))
    np.testing.assert_array_equal(out[:1], one * 2)
    for bad, kind in (
        (Exchanged(a[:2]), ArgumentValueError),
        (Exchanged(a[0]), ArgumentValueError),
        (Exchanged(a.astype(np.int32)), ArgumentTypeError),
        (Exchanged(a, device=2), ArgumentValueError),
    ):
        with pytest.raises(kind):
            f(a, a, bad)
