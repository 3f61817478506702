from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from loopwright import ir
from loopwright.codegen.llvm.build import Compiled
from loopwright.errors import ArgumentTypeError, CodegenError, OutOfBoundsError
from loopwright.ir import (
    Add,
    AllocBuffer,
    AssertStmt,
    Bind,
    Break,
    Broadcast,
    BufferLoad,
    BufferStore,
    BufferType,
    Call,
    Cast,
    Continue,
    DeclBuffer,
    Evaluate,
    For,
    GlobalVar,
    IfThenElse,
    IntImm,
    IRModule,
    Let,
    Mul,
    PointerType,
    PrimFunc,
    PrimType,
    Ramp,
    Return,
    SeqStmt,
    Shuffle,
    Stmt,
    StringImm,
    Var,
    While,
)


def buffer(name: str, shape: Sequence[Any], dtype: str = "float32") -> Var:
    return Var(name, BufferType(dtype, shape))


def data(b: Var) -> Call:
    return Call("tirx.buffer_data", (b,), PointerType(PrimType(b.ty.dtype), "global"))


def view(b: Var, size: Any = 1 << 20) -> tuple[Var, Stmt]:
    """A flat alias of a parameter, as lowering makes it."""
    v = Var(b.name + "_1", BufferType(b.ty.dtype, (size,)))
    return v, DeclBuffer(v, data(b))


def module(**funcs: PrimFunc) -> IRModule:
    return IRModule(
        {n: f.with_attr("global_symbol", n) if "private" not in f.attrs else f for n, f in funcs.items()}
    )


def compile(mod: IRModule | PrimFunc, checked: bool = False) -> dict[str, Callable[..., Any]]:
    if isinstance(mod, PrimFunc):
        mod = module(f=mod)
    return Compiled(mod, lambda: mod, None, checked).functions


def func(params: Sequence[Var], *body: Stmt, ret: Any = None, attrs: Any = None) -> PrimFunc:
    return PrimFunc(params, SeqStmt(body), ret, attrs or {})


def load(b: Var, *i: Any) -> BufferLoad:
    return BufferLoad(b, i)


def test_loops_with_steps_break_and_continue() -> None:
    n, out = Var("n", "int32"), buffer("out", (3,), "int32")
    o, decl = view(out)
    i, j, k = (Var(x, "int32") for x in "ijk")

    def add(at, v):
        return BufferStore(o, Add(load(o, at), v), [at])

    f = compile(
        func(
            [n, out],
            decl,
            For(i, 3, n, "serial", add(0, i), step=4),
            For(j, 0, n, "serial", SeqStmt([IfThenElse(ir.GT(j, 5), Break()), add(1, j)])),
            For(
                k,
                0,
                n,
                "serial",
                SeqStmt([IfThenElse(ir.EQ(ir.FloorMod(k, IntImm("int32", 2)), 0), Continue()), add(2, k)]),
            ),
        )
    )["f"]
    for size in (0, 1, 5, 20):
        a = np.zeros(3, np.int32)
        f(size, a)
        want = [sum(range(3, 3 + size, 4)), sum(range(min(size, 6))), sum(range(1, size, 2))]
        assert a.tolist() == want


def test_loop_calls_break_and_continue_by_operator() -> None:
    out = buffer("out", (1,), "int64")
    o, decl = view(out)
    i = Var("i", "int64")
    leave = Evaluate(Call("tirx.break_loop", (), "void"))
    again = Evaluate(Call("tirx.continue_loop", (), "void"))
    body = SeqStmt(
        [
            IfThenElse(ir.EQ(i, 7), leave),
            IfThenElse(ir.EQ(ir.FloorMod(i, IntImm("int64", 2)), 1), again),
            BufferStore(o, Add(load(o, 0), i), [0]),
        ]
    )
    f = compile(func([out], decl, For(i, 0, IntImm("int64", 100), "serial", body)))["f"]
    a = np.zeros(1, np.int64)
    f(a)
    assert a[0] == 0 + 2 + 4 + 6


def test_while_and_early_return() -> None:
    n = Var("n", "int64")
    cell = buffer("x", (2,), "int64")
    f = compile(
        func(
            [n],
            IfThenElse(ir.LT(n, 0), Return(IntImm("int64", -1))),
            AllocBuffer(cell),
            BufferStore(cell, n, [0]),
            BufferStore(cell, 0, [1]),
            While(
                ir.GT(load(cell, 0), 1),
                SeqStmt(
                    [
                        IfThenElse(
                            ir.EQ(ir.FloorMod(load(cell, 0), IntImm("int64", 2)), 0),
                            BufferStore(cell, ir.FloorDiv(load(cell, 0), IntImm("int64", 2)), [0]),
                            BufferStore(cell, Add(Mul(load(cell, 0), 3), 1), [0]),
                        ),
                        BufferStore(cell, Add(load(cell, 1), 1), [1]),
                    ]
                ),
            ),
            Return(load(cell, 1)),
            ret="int64",
        )
    )["f"]
    assert [f(v) for v in (-5, 1, 6, 27)] == [-1, 0, 8, 111]


@pytest.mark.parametrize("size", [16, 100_000])
def test_allocations_on_stack_and_heap(size: int) -> None:
    n, out = Var("n", "int32"), buffer("out", (1,), "int32")
    o, decl = view(out)
    i, j = Var("i", "int32"), Var("j", "int32")
    fixed, dynamic = buffer("fixed", (size,), "int32"), buffer("dynamic", (n, 3), "int32")
    flat = Var("flat", BufferType("int32", (Mul(n, 3),)))
    f = compile(
        func(
            [n, out],
            decl,
            AllocBuffer(fixed),
            AllocBuffer(flat),
            For(i, 0, n, "serial", SeqStmt([BufferStore(fixed, i, [i]), BufferStore(flat, i, [Mul(i, 3)])])),
            For(
                j,
                0,
                n,
                "serial",
                BufferStore(o, Add(load(o, 0), Add(load(fixed, j), load(flat, Mul(j, 3)))), [0]),
            ),
            IfThenElse(ir.EQ(n, 13), Return()),
            AssertStmt("ValueError", ir.NE(n, 14), "fourteen"),
        )
    )["f"]
    assert dynamic.ty.dtype == "int32"
    for count in (0, 5, 13):
        a = np.zeros(1, np.int32)
        f(count, a)
        assert a[0] == count * (count - 1)
    with pytest.raises(ValueError, match="^fourteen$"):
        f(14, np.zeros(1, np.int32))
    with pytest.raises(MemoryError, match="could not allocate"):
        f(-3, np.zeros(1, np.int32))


def test_memory_is_released_on_every_exit() -> None:
    import resource

    n = Var("n", "int32")
    i = Var("i", "int32")
    big = Var("big", BufferType("float64", (Add(n, 1 << 20),)))
    bodies = {
        "normal": Evaluate(0),
        "leave": IfThenElse(ir.GE(n, 0), Return()),
        "fails": AssertStmt("KeyError", ir.LT(n, 0), "no"),
        "loop": IfThenElse(ir.EQ(i, 0), Continue(), Break()),
    }
    i2 = Var("i", "int32")
    mod = module(
        **{
            name: func(
                [n],
                For(
                    i if name == "loop" else i2,
                    0,
                    2,
                    "serial",
                    SeqStmt([AllocBuffer(big), BufferStore(big, 1.0, [Add(n, 1000)]), body]),
                ),
            )
            for name, body in bodies.items()
        }
    )
    functions = compile(mod)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(200):
        for name, f in functions.items():
            if name == "fails":
                with pytest.raises(KeyError):
                    f(1)
            else:
                f(1)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


def test_asserts_raise_their_kind() -> None:
    n = Var("n", "int32")
    f = compile(
        func(
            [n],
            AssertStmt("TypeError", ir.GT(n, 0), ["a ", "b"]),
            AssertStmt(StringImm("NoSuchError"), ir.GT(n, 1), "unknown"),
            AssertStmt("AssertionError", ir.GT(n, 2), ()),
        )
    )["f"]
    for value, kind, text in ((0, TypeError, "a b"), (1, RuntimeError, "unknown"), (2, AssertionError, "")):
        with pytest.raises(kind) as caught:
            f(value)
        assert type(caught.value) is kind and str(caught.value) == text
    assert f(3) is None


def test_lazy_choice_and_short_circuit() -> None:
    a, out, n = buffer("a", (8,), "int32"), buffer("out", (4,), "int32"), Var("n", "int32")
    av, d1 = view(a)
    ov, d2 = view(out)
    safe = Call("prim.if_then_else", (ir.NE(n, 0), ir.Div(100, n), IntImm("int32", -1)), "int32")
    both = ir.And(ir.NE(n, 0), ir.GT(ir.Div(100, n), 5))
    either = ir.Or(ir.EQ(n, 0), ir.GT(ir.Div(100, n), 5))
    x = Var("x", "int32")
    f = compile(
        func(
            [n, a, out],
            d1,
            d2,
            BufferStore(ov, safe, [0]),
            BufferStore(ov, Cast("int32", both), [1]),
            BufferStore(ov, Cast("int32", either), [2]),
            BufferStore(ov, Let(x, Add(n, 1), Mul(x, load(av, x))), [3]),
        )
    )["f"]
    data = np.arange(8, dtype=np.int32)
    for n_, want in ((0, [-1, 0, 1, 1]), (5, [20, 1, 1, 36]), (3, [33, 1, 1, 16])):
        got = np.zeros(4, np.int32)
        f(n_, data, got)
        assert got.tolist() == want


def test_vectors() -> None:
    a, out = buffer("a", (32,)), buffer("out", (48,))
    av, d1 = view(a)
    ov, d2 = view(out)
    v = load(av, Ramp(4, 1, 8))
    strided = load(av, Ramp(0, 3, 8))
    even = load(
        av, Add(Broadcast(IntImm("int32", 2), 4), Mul(Ramp(0, 1, 4), Broadcast(IntImm("int32", 2), 4)))
    )
    low = Call("tirx.vectorlow", (v,), "float32x4")
    high = Call("tirx.vectorhigh", (v,), "float32x4")
    f = compile(
        func(
            [a, out],
            d1,
            d2,
            BufferStore(ov, Add(v, Broadcast(ir.FloatImm("float32", 1), 8)), [Ramp(0, 1, 8)]),
            BufferStore(ov, strided, [Ramp(47, -1, 8)]),
            BufferStore(ov, even, [Ramp(8, 1, 4)]),
            BufferStore(ov, Shuffle([v, strided], [0, 8, 15, 7]), [Ramp(12, 1, 4)]),
            BufferStore(ov, Call("tirx.vectorcombine", (high, low), "float32x8"), [Ramp(16, 1, 8)]),
            BufferStore(ov, Shuffle([v], [3]), [24]),
            BufferStore(ov, Shuffle([load(av, 1), load(av, 2)], [1, 0]), [Ramp(25, 1, 2)]),
            BufferStore(
                ov, Cast("float32x4", Ramp(IntImm("int32", 5), IntImm("int32", 2), 4)), [Ramp(27, 1, 4)]
            ),
        )
    )["f"]
    x = np.arange(32, dtype=np.float32) * 1.5
    y = np.zeros(48, np.float32)
    f(x, y)
    want = np.zeros(48, np.float32)
    w, s = x[4:12], x[0:24:3]
    want[:8], want[40:48], want[8:12] = w + 1, s[::-1], x[2:10:2]
    want[12:16] = [w[0], s[0], s[7], w[7]]
    want[16:24] = np.concatenate([w[4:], w[:4]])
    want[24], want[25:27], want[27:31] = w[3], [x[2], x[1]], [5, 7, 9, 11]
    np.testing.assert_array_equal(y, want)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "bool", "bfloat16"])
@pytest.mark.parametrize("checked", [False, True])
def test_masked_access(dtype: str, checked: bool) -> None:
    kind = ir.PrimType(dtype).dtype.numpy()
    n, a, out = Var("n", "int32"), buffer("a", (Var("m", "int32"),), dtype), buffer("out", (8,), dtype)
    av, d1 = view(a, a.ty.shape[0])
    ov, d2 = view(out, 8)
    mask = Call("tirx.get_active_lane_mask", (IntImm("int32", 0), n), "boolx8")
    value = Call("tirx.masked_load", (av, Ramp(0, 1, 8), mask), f"{dtype}x8")
    store = Evaluate(Call("tirx.masked_store", (ov, value, Ramp(0, 1, 8), mask), "void"))
    f = compile(func([n, a, out], d1, d2, store), checked)["f"]
    for count in (0, 3, 8):
        x = np.ones(count, kind)
        y = np.zeros(8, kind)
        f(count, x, y)
        np.testing.assert_array_equal(y.astype(int), [1] * count + [0] * (8 - count))
    if checked:
        with pytest.raises(OutOfBoundsError, match="index 3 of `a_1`"):
            f(4, np.ones(3, kind), np.zeros(8, kind))


def test_pointers() -> None:
    a, out = buffer("a", (8,), "int32"), buffer("out", (4,), "int32")
    av, d1 = view(a)
    ov, d2 = view(out)
    p = Var("p", PointerType(PrimType("int32"), "global"))
    second, third = buffer("second", (4,), "int32"), buffer("third", (4,), "int32")
    access = Call(
        "tirx.tvm_access_ptr", (Call("tirx.type_annotation", (), "int32"), data(a), 4, 4, 1), "handle"
    )
    f = compile(
        func(
            [a, out],
            d1,
            d2,
            Bind(p, Call("tirx.address_of", (load(av, 2),), "handle")),
            DeclBuffer(second, p),
            DeclBuffer(third, access),
            BufferStore(ov, load(second, 1), [0]),
            BufferStore(ov, load(third, 1), [1]),
            BufferStore(ov, Cast("int32", Call("tirx.isnullptr", (p,), "bool")), [2]),
            DeclBuffer(
                q := buffer("q", (1,), "int32"),
                Call("tirx.ptr_byte_offset", (p, 4, IntImm("int32", 0)), "handle"),
            ),
            BufferStore(ov, load(q, 0), [3]),
        )
    )["f"]
    x, y = np.arange(8, dtype=np.int32), np.zeros(4, np.int32)
    f(x, y)
    assert y.tolist() == [3, 5, 0, 3]


def test_calls_inside_a_module() -> None:
    n, m = Var("n", "int64"), Var("m", "int64")
    fib = GlobalVar("fib")

    def call(e):
        return Call(fib, (e,), "int64")

    one, two = IntImm("int64", 1), IntImm("int64", 2)
    fibonacci = func(
        [n],
        IfThenElse(ir.LT(n, two), Return(n)),
        Return(Add(call(ir.Sub(n, one)), call(ir.Sub(n, two)))),
        ret="int64",
    )
    k = Var("k", "int32")
    src, dst = buffer("src", (k,)), buffer("dst", (k,))
    sv, d1 = view(src)
    dv, d2 = view(dst)
    i = Var("i", "int32")
    scale = func(
        [src, dst],
        d1,
        d2,
        For(i, 0, k, "serial", BufferStore(dv, Mul(load(sv, i), 2.0), [i])),
        attrs={"private": True},
    )
    h = Var("h", "int32")
    a, b = buffer("a", (h,)), buffer("b", (h,))
    use = func(
        [a, b],
        Evaluate(Call(GlobalVar("scale"), (a, b), "void")),
        Evaluate(Call(GlobalVar("scale"), (b, b), "void")),
    )
    forever = func([m], Return(Call(GlobalVar("forever"), (Add(m, one),), "int64")), ret="int64")
    functions = compile(module(fib=fibonacci, scale=scale, use=use, forever=forever))
    assert set(functions) == {"fib", "use", "forever"}
    assert [functions["fib"](v) for v in (0, 1, 10, 20)] == [0, 1, 55, 6765]
    x, y = np.arange(5, dtype=np.float32), np.zeros(5, np.float32)
    functions["use"](x, y)
    np.testing.assert_array_equal(y, x * 4)
    functions["use"](x, x)
    np.testing.assert_array_equal(x, np.arange(5) * 4)
    frozen = np.zeros(5, np.float32)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        functions["use"](x, frozen)
    with pytest.raises(RecursionError, match="`forever` calls itself too deeply"):
        functions["forever"](0)
    assert functions["fib"](15) == 610


def test_external_functions() -> None:
    x = Var("x", "float64")
    root = compile(
        func([x], Return(Call("tirx.call_pure_extern", (StringImm("cbrt"), x), "float64")), ret="float64")
    )["f"]
    assert root(27.0) == pytest.approx(3.0)
    intrinsic = Call("tirx.call_llvm_pure_intrin", (StringImm("llvm.sqrt"), x), "float64")
    assert compile(func([x], Return(intrinsic), ret="float64"))["f"](16.0) == 4.0
    with pytest.raises(CodegenError, match="no_such_symbol_anywhere"):
        compile(
            func(
                [x],
                Return(Call("tirx.call_extern", (StringImm("no_such_symbol_anywhere"), x), "float64")),
                ret="float64",
            )
        )
    with pytest.raises(CodegenError, match=r"llvm\.nvvm"):
        bad = Call("tirx.call_llvm_intrin", (StringImm("llvm.nvvm.barrier0"),), "void")
        compile(func([x], Evaluate(bad)))
    with pytest.raises(CodegenError, match=r"llvm\.sqrt"):
        bad = Call("tirx.call_llvm_intrin", (StringImm("llvm.sqrt"), x, x), "float64")
        compile(func([x], Return(bad), ret="float64"))


@pytest.fixture
def registered() -> Any:
    from loopwright.runtime import register_func, remove_global_func

    seen: list[Any] = []
    names = {"test.llvm.see": lambda *a: seen.append(a), "test.llvm.double": lambda v: v * 2}
    for name, f in names.items():
        register_func(name, f, override=True)
    yield seen
    for name in names:
        remove_global_func(name)


def test_packed_calls(registered: list[Any]) -> None:
    from loopwright.runtime import register_func

    a, n, x = buffer("a", (2, 3)), Var("n", "int32"), Var("x", "float32")

    def packed(name, *args, ret="int32"):
        return Call("tirx.tvm_call_packed", (StringImm(name), *args), ret)

    f = compile(
        func(
            [a, n, x],
            Evaluate(packed("test.llvm.see", a, n, x, StringImm("text"), ir.GT(n, 0))),
            Return(packed("test.llvm.double", n)),
            ret="int32",
        )
    )["f"]
    data = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert f(data, 21, 0.5) == 42
    tensor, *rest = registered[0]
    assert rest == [21, 0.5, "text", True]
    assert tensor.shape == (2, 3) and tensor.dtype == "float32"

    class Mine(Exception):
        pass

    def fails(*_: Any) -> None:
        raise Mine("as raised")

    register_func("test.llvm.see", fails, override=True)
    with pytest.raises(Mine, match="as raised") as caught:
        f(data, 1, 1.0)
    assert caught.traceback[-1].name == "fails"
    register_func("test.llvm.see", lambda *_: None, override=True)
    register_func("test.llvm.double", lambda v: "words", override=True)
    with pytest.raises(ArgumentTypeError, match="gave a str"):
        f(data, 1, 1.0)
    missing = compile(func([n], Evaluate(packed("test.llvm.missing", n))))["f"]
    with pytest.raises(LookupError, match=r"test\.llvm\.missing"):
        missing(1)


def test_printing(capsys: pytest.CaptureFixture[str]) -> None:
    a, n = buffer("a", (3,), "int32"), Var("n", "int32")
    av, decl = view(a)
    f = compile(
        func(
            [a, n],
            decl,
            Evaluate(Call("tirx.print", (StringImm("n ="), n, a, load(av, Ramp(0, 1, 2))), "void")),
        )
    )["f"]
    f(np.array([4, 5, 6], np.int32), 7)
    assert capsys.readouterr().out == "n = 7 [4 5 6] [4, 5]\n"


def test_results_of_every_kind() -> None:
    n, x, b = Var("n", "int64"), Var("x", "float64"), Var("b", "bool")
    several = ir.Tuple([n, x, b, Cast("bfloat16", x), Cast("uint8", n), Cast("uint64", n)])
    f = compile(func([n, x, b], Return(several), ret=several.ty))["f"]
    got = f(-1, 0.3, True)
    assert got == (-1, 0.3, True, 0.30078125, 255, 2**64 - 1)
    assert [type(v) for v in got] == [int, float, bool, float, int, int]
    p = compile(func([a := buffer("a", (2,))], Return(data(a)), ret="handle"))["f"]
    array = np.zeros(2, np.float32)
    assert p(array) == array.ctypes.data


def test_checked_builds_find_accesses_outside() -> None:
    n, a = Var("n", "int32"), buffer("a", (4,), "int32")
    av, decl = view(a, 4)
    f = compile(func([n, a], decl, BufferStore(av, 1, [n])), checked=True)["f"]
    x = np.zeros(4, np.int32)
    f(3, x)
    assert x.tolist() == [0, 0, 0, 1]
    for bad in (-1, 4, 2**31 - 1):
        with pytest.raises(OutOfBoundsError, match=f"index {bad} of `a_1` in `f` is outside its 4 elements"):
            f(bad, x)
    vector = compile(
        func([n, a], decl2 := view(a, 4)[1], BufferStore(decl2.buffer, Broadcast(1, 4), [Ramp(n, 1, 4)])),
        checked=True,
    )["f"]
    vector(0, x)
    with pytest.raises(IndexError):
        vector(1, x)


def test_threads_run_at_the_same_time() -> None:
    n, out = Var("n", "int32"), buffer("out", (1,), "int64")
    ov, decl = view(out)
    i = Var("i", "int32")
    f = compile(
        func([n, out], decl, For(i, 0, n, "serial", BufferStore(ov, Add(load(ov, 0), Cast("int64", i)), [0])))
    )["f"]
    results = [np.zeros(1, np.int64) for _ in range(4)]
    threads = [threading.Thread(target=f, args=(1000 + k, r)) for k, r in enumerate(results)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert [int(r[0]) for r in results] == [sum(range(1000 + k)) for k in range(4)]


def test_deep_programs() -> None:
    n = Var("n", "int32")
    e: ir.Expr = n
    for _ in range(5000):
        e = Add(e, IntImm("int32", 1))
    assert compile(func([n], Return(e), ret="int32"))["f"](5) == 5005
    out = buffer("out", (1,), "int32")
    ov, decl = view(out)
    body: Stmt = BufferStore(ov, Add(load(ov, 0), 1), [0])
    for k in range(200):
        body = For(Var(f"i{k}", "int32"), 0, n if k % 50 == 0 else 1, "serial", body)
    x = np.zeros(1, np.int32)
    compile(func([n, out], decl, body))["f"](2, x)
    assert x[0] == 16


def test_sites_name_the_statement() -> None:
    from loopwright.errors import Span

    span = Span("kernel.py", 7, 9, 7, 20)
    n = Var("n", "int32")
    f = compile(func([n], Return(ir.Div(10, n), span), ret="int32"))["f"]
    assert f(3) == 3
    with pytest.raises(ZeroDivisionError, match=r"kernel.py:7:9"):
        f(0)
    with pytest.raises(CodegenError, match=r"--> kernel.py:7:9"):
        compile(func([n], Evaluate(Call("tirx.unheard_of", (), "int32"), span)))
