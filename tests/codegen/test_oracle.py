from __future__ import annotations

import builtins
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright import ir
from loopwright.codegen.python import evaluate, interpret
from loopwright.dtype import DType
from loopwright.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    DivisionError,
    ExecutionError,
    IntegerOverflowError,
    IRError,
    OutOfBoundsError,
    Span,
    UninitializedError,
    UnsupportedError,
)
from loopwright.ir import (
    LT,
    Add,
    AllocBuffer,
    AssertStmt,
    AttrStmt,
    Bind,
    Broadcast,
    BufferLoad,
    BufferRegion,
    BufferStore,
    BufferType,
    Call,
    Cast,
    DeclBuffer,
    Div,
    Evaluate,
    For,
    ForKind,
    GlobalVar,
    IfThenElse,
    IRModule,
    IterVar,
    MatchBufferRegion,
    Mul,
    PrimFunc,
    Ramp,
    Range,
    Return,
    SBlock,
    SBlockRealize,
    SeqStmt,
    StringImm,
    Sub,
    Var,
    While,
)
from loopwright.runtime import Tensor, register_func, remove_global_func, tensor

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
FLOATS = ["float16", "float32", "float64", "bfloat16", "float8_e4m3fn", "float8_e5m2"]


def buffer(name: str, shape: Any, dtype: str = "float32", **more: Any) -> Var:
    return Var(name, BufferType(dtype, shape, **more))


def loops(body: Any, *axes: tuple[Var, Any], kind: str = "serial") -> Any:
    for var, extent in reversed(axes):
        body = For(var, 0, extent, kind, body)
    return body


def kernel(params: list[Var], *body: Any, ret: Any = "void") -> PrimFunc:
    return PrimFunc(params, ir.seq(body), ret)


def data(name: str, *args: Any, ty: Any = "handle") -> Call:
    return Call(name, args, ty)


def elementwise(make: Callable[[Any, Any], Any], dtype: str, n: int, out: str | None = None) -> PrimFunc:
    a, b, c = buffer("A", (n,), dtype), buffer("B", (n,), dtype), buffer("C", (n,), out or dtype)
    i = Var("i")
    store = BufferStore(c, make(BufferLoad(a, (i,)), BufferLoad(b, (i,))), (i,))
    return kernel([a, b, c], loops(store, (i, n)))


def matmul(kind: str = "serial") -> PrimFunc:
    n, m, k = Var("n"), Var("m"), Var("k")
    a, b, c = buffer("A", (n, k)), buffer("B", (k, m)), buffer("C", (n, m))
    x, y, z = Var("x"), Var("y"), Var("z")
    i, j, r = Var("i"), Var("j"), Var("r")
    block = SBlock(
        [
            IterVar(Range(0, n), x, 0),
            IterVar(Range(0, m), y, 0),
            IterVar(Range(0, k), z, IterVar.COMM_REDUCE),
        ],
        [],
        [],
        "C",
        BufferStore(c, Add(BufferLoad(c, (x, y)), Mul(BufferLoad(a, (x, z)), BufferLoad(b, (z, y)))), (x, y)),
        init=BufferStore(c, 0.0, (x, y)),
    )
    return kernel([a, b, c], loops(SBlockRealize([i, j, r], True, block), (i, n), (j, m), (r, k), kind=kind))


# --- results


@given(st.sampled_from(INTEGERS), st.sampled_from([Add, Sub, Mul]), st.data())
def test_integer_data_wraps_as_numpy_does(dtype: str, op: Any, draw: Any) -> None:
    info = np.iinfo(dtype)
    numbers = st.lists(st.integers(info.min, info.max), min_size=1, max_size=4)
    a = np.array(draw.draw(numbers), dtype)
    b = np.resize(np.array(draw.draw(numbers), dtype), a.shape)
    c = np.empty_like(a)
    elementwise(op, dtype, len(a)).interpret(a, b, c)
    with np.errstate(all="ignore"):
        assert (c == {Add: np.add, Sub: np.subtract, Mul: np.multiply}[op](a, b)).all()


@given(
    st.sampled_from(FLOATS),
    st.sampled_from([Add, Sub, Mul]),
    st.lists(st.integers(-4, 4), min_size=2, max_size=6),
)
def test_every_float_type_computes(dtype: str, op: Any, numbers: list[int]) -> None:
    item = DType(dtype).numpy()
    a, b = np.array(numbers, "float32").astype(item), np.array(numbers[::-1], "float32").astype(item)
    c = np.empty_like(a)
    elementwise(op, dtype, len(a)).interpret(a, b, c)
    expected = {Add: np.add, Sub: np.subtract, Mul: np.multiply}[op](a.astype("float32"), b.astype("float32"))
    assert (c == expected.astype(item)).all()


@given(
    st.integers(0, 4),
    st.integers(0, 4),
    st.integers(1, 4),
    st.sampled_from(["serial", "parallel", "unroll", "vectorize"]),
)
def test_matmul_with_symbolic_sizes(n: int, m: int, k: int, kind: str) -> None:
    rng = np.random.default_rng(n + 10 * m)
    a, b = rng.integers(-9, 9, (n, k)).astype("float32"), rng.integers(-9, 9, (k, m)).astype("float32")
    c = np.full((n, m), 99, "float32")
    matmul(kind).interpret(a, b, C=c)
    assert (c == a @ b).all()


@given(
    st.sampled_from(["strided", "negative", "fortran", "big-endian", "tensor", "torch-like"]),
    st.integers(1, 4),
)
def test_every_kind_of_array_is_written_in_place(form: str, n: int) -> None:
    a, b = np.arange(n * n, dtype="float32").reshape(n, n), np.eye(n, dtype="float32")
    whole = np.zeros((2 * n, 2 * n), "float32")
    target: Any = {
        "strided": whole[::2, ::2],
        "negative": whole[:n, :n][::-1, ::-1],
        "fortran": np.zeros((n, n), "float32", order="F"),
        "big-endian": np.zeros((n, n), ">f4"),
        "tensor": tensor(np.zeros((n, n), "float32")),
        "torch-like": memoryview(np.zeros((n, n), "float32")),
    }[form]
    matmul().interpret(a, b, target)
    assert (np.asarray(target) == a).all()


def test_equal_and_overlapping_arguments() -> None:
    add = elementwise(Add, "int32", 4)
    x = np.arange(4, dtype="int32")
    add.interpret(x, x, x)
    assert x.tolist() == [0, 2, 4, 6]
    y = np.arange(8, dtype="int32")
    add.interpret(y[:4], y[4:], y[1:5])  # in order, each store before the next load
    assert y.tolist() == [0, 4, 9, 15, 22, 5, 6, 7]
    z = np.arange(8, dtype="int32")
    add.interpret(z[::2], z[::2], z[::2])
    assert z.tolist() == [0, 1, 4, 3, 8, 5, 12, 7]
    with pytest.raises(ArgumentValueError, match="overlaps"):
        add.interpret(z[::2], z[:4], z[4:])


def test_compiled_programs_are_kept_and_separate() -> None:
    func = matmul()
    one = np.ones((2, 2), "float32")
    for _ in range(2):
        out = np.zeros((2, 2), "float32")
        func.interpret(one, one, out)
        assert (out == 2).all()


def test_control_flow() -> None:
    a, n, i = buffer("A", (8,), "int32"), Var("n"), Var("i")
    x = buffer("x", (1,), "int32", storage_scope="local")
    value = BufferLoad(x, (0,))
    collatz = kernel(
        [n],
        AllocBuffer(x),
        BufferStore(x, n, (0,)),
        While(
            ir.NE(value, 1),
            IfThenElse(
                ir.EQ(ir.FloorMod(value, 2), 0),
                BufferStore(x, ir.FloorDiv(value, 2), (0,)),
                SeqStmt([BufferStore(x, Add(Mul(value, 3), 1), (0,)), ir.Continue()]),
            ),
        ),
        Return(value),
        ret="int32",
    )
    assert collatz.interpret(27) == 1
    skip = IfThenElse(ir.EQ(i, 2), Evaluate(data("tirx.continue_loop", ty="void")))
    stop = IfThenElse(ir.EQ(i, n), Evaluate(data("tirx.break_loop", ty="void")))
    func = kernel(
        [a, n],
        For(i, 0, 8, "serial", SeqStmt([skip, stop, BufferStore(a, 1, (i,))])),
        Return(Add(n, 1)),
        ret="int32",
    )
    out = np.zeros(8, "int32")
    assert func.interpret(out, 4) == 5 and out.tolist() == [1, 1, 0, 1, 0, 0, 0, 0]


def test_steps_and_lets() -> None:
    a, i, x = buffer("A", (10,), "int32"), Var("i"), Var("x")
    body = SeqStmt([Bind(x, Mul(i, i)), BufferStore(a, ir.Let(y := Var("y"), Add(x, 1), Mul(y, 2)), (i,))])
    out = np.zeros(10, "int32")
    kernel([a], For(i, 1, 8, "serial", body, step=3)).interpret(out)
    assert out.tolist() == [0, 4, 0, 0, 34, 0, 0, 100, 0, 0]


def test_thread_loops_run_one_after_another() -> None:
    a, t, b = buffer("A", (2, 4), "int32"), Var("t"), Var("b")
    inner = AttrStmt(
        IterVar(Range(0, 4), t, 1, "threadIdx.x"),
        "thread_extent",
        4,
        BufferStore(a, Add(Mul(b, 10), t), (b, t)),
    )
    leave = IfThenElse(ir.EQ(b, 1), Evaluate(data("tirx.thread_return", ty="void")))
    block = IterVar(Range(0, 2), b, 1, "blockIdx.x")
    out = np.zeros((2, 4), "int32")
    kernel(
        [a], For(b, 0, 2, ForKind.THREAD_BINDING, SeqStmt([leave, inner]), thread_binding=block)
    ).interpret(out)
    assert out.tolist() == [[0, 1, 2, 3], [0, 0, 0, 0]]


@given(st.integers(-99, 99), st.integers(1, 9))
def test_evaluate_takes_an_expression_alone(x: int, y: int) -> None:
    a, b = Var("a"), Var("b")
    assert evaluate(Add(Mul(ir.FloorDiv(a, b), b), ir.FloorMod(a, b)), {a: x, b: y}) == x
    with pytest.raises(IRError, match="`b`"):
        evaluate(Add(a, b), {a: x})


# --- vectors


@given(st.integers(0, 3), st.integers(1, 4), st.integers(-3, 3))
def test_vectors_are_lanes(base: int, stride: int, shift: int) -> None:
    a, b = buffer("A", (16,), "int32"), buffer("B", (16,), "int32")
    lanes = Ramp(base, stride, 4)
    load = BufferLoad(a, (lanes,))
    value = ir.Select(LT(load, Broadcast(5, 4)), Add(load, Broadcast(shift, 4)), Mul(load, Broadcast(2, 4)))
    source, out = np.arange(16, dtype="int32"), np.zeros(16, "int32")
    kernel([a, b], BufferStore(b, value, (lanes,))).interpret(source, out)
    at = base + stride * np.arange(4)
    expected = np.zeros(16, "int32")
    expected[at] = np.where(source[at] < 5, source[at] + shift, source[at] * 2)
    assert (out == expected).all()


def test_masked_accesses_and_vector_parts() -> None:
    a, b, n = buffer("A", (4,), "float32"), buffer("B", (6,), "float32"), Var("n")
    mask = Call("tirx.get_active_lane_mask", (0, n), "boolx4")
    load = Call("tirx.masked_load", (a, Ramp(0, 1, 4), mask), "float32x4")
    swapped = ir.Shuffle([load], [3, 2, 1, 0])
    half = Call("tirx.vectorlow", (swapped,), "float32x2")
    store = Call("tirx.masked_store", (b, load, Ramp(0, 1, 4), mask), "void")
    func = kernel([a, b, n], Evaluate(store), BufferStore(b, half, (Ramp(4, 1, 2),)))
    out = np.full(6, -1, "float32")
    func.interpret(np.arange(1, 5, dtype="float32"), out, 3)
    assert out.tolist() == [1, 2, 3, -1, 0, 3]
    with pytest.raises(OutOfBoundsError):  # the lanes that the mask lets through are checked
        kernel([a, n], Evaluate(Call("tirx.masked_load", (a, Ramp(2, 1, 4), mask), "float32x4"))).interpret(
            np.zeros(4, "float32"), 3
        )


def test_buffers_of_vectors() -> None:
    a, b = buffer("A", (2,), "float32x4"), buffer("B", (8,), "float32")
    func = kernel([a, b], BufferStore(b, BufferLoad(a, (1,)), (Ramp(2, 1, 4),)))
    out = np.zeros(8, "float32")
    func.interpret(np.arange(8, dtype="float32").reshape(2, 4), out)
    assert out.tolist() == [0, 0, 4, 5, 6, 7, 0, 0]


# --- blocks and memory


@given(st.integers(0, 2), st.integers(0, 3), st.integers(1, 2), st.integers(1, 3))
def test_match_buffer_names_a_region(i: int, j: int, n: int, m: int) -> None:
    a = buffer("A", (4, 6), "int32")
    s0, s1, offset = Var("s0"), Var("s1"), Var("offset")
    part = buffer("P", (n, m), "int32", strides=(s0, s1), elem_offset=offset)
    x, y = Var("x"), Var("y")
    store = BufferStore(part, Add(Add(Mul(s0, 100), Mul(s1, 10)), offset), (x, y))
    region = BufferRegion(a, [Range(i, n), Range(j, m)])
    block = SBlock(
        [], [], [region], "b", loops(store, (x, n), (y, m)), match_buffers=[MatchBufferRegion(part, region)]
    )
    out = np.zeros((4, 6), "int32")
    kernel([a], SBlockRealize([], True, block)).interpret(out)
    expected = np.zeros((4, 6), "int32")
    expected[i : i + n, j : j + m] = 610 + i * 6 + j
    assert (out == expected).all()


def test_match_buffer_of_fewer_dimensions_and_outside() -> None:
    a, row, x, i = buffer("A", (3, 4), "int32"), buffer("R", (4,), "int32"), Var("x"), Var("i")
    region = BufferRegion(a, [Range(i, 1), Range(0, 4)])
    block = SBlock(
        [],
        [],
        [],
        "b",
        loops(BufferStore(row, x, (x,)), (x, 4)),
        match_buffers=[MatchBufferRegion(row, region)],
    )
    out = np.zeros((3, 4), "int32")
    func = kernel([a, i], SBlockRealize([], True, block))
    func.interpret(out, 1)
    assert out.tolist() == [[0] * 4, [0, 1, 2, 3], [0] * 4]
    with pytest.raises(OutOfBoundsError, match="`A"):
        func.interpret(out, 3)


def test_predicates_and_axis_ranges() -> None:
    a, v, i = buffer("A", (5,), "int32"), Var("v"), Var("i")
    block = SBlock([IterVar(Range(0, 5), v, 0)], [], [], "b", BufferStore(a, v, (v,)))
    out = np.zeros(5, "int32")
    kernel([a], loops(SBlockRealize([i], LT(i, 5), block), (i, 8))).interpret(out)
    assert out.tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(ExecutionError, match="axis `v` of block `b` has the value 5"):
        kernel([a], loops(SBlockRealize([i], True, block), (i, 8))).interpret(out)


def test_views_over_pointers() -> None:
    a, flat, tail = (
        buffer("A", (2, 3), "int32"),
        buffer("F", (6,), "int32"),
        buffer("T", (2,), "int32", elem_offset=1),
    )
    pointer = data("tirx.buffer_data", a)
    element = data("tirx.address_of", BufferLoad(a, (1, 0)))
    words = buffer("W", (24,), "uint8")
    func = kernel(
        [a],
        DeclBuffer(flat, pointer),
        DeclBuffer(tail, element),
        DeclBuffer(words, pointer),
        BufferStore(flat, 7, (4,)),
        BufferStore(tail, 9, (1,)),
        BufferStore(words, Cast("uint8", 255), (0,)),
    )
    out = np.zeros((2, 3), "int32")
    func.interpret(out)
    assert out.tolist() == [[255, 0, 0], [0, 7, 9]]
    moved = data("tirx.tvm_access_ptr", Call("tirx.type_annotation", (), "int32"), pointer, 7, 1, 1)
    with pytest.raises(OutOfBoundsError, match="28 bytes into the 24 of `A`"):
        kernel([a], Evaluate(moved)).interpret(out)
    odd = data("tirx.handle_add_byte_offset", pointer, 2)
    with pytest.raises(ExecutionError, match="no multiple of 4"):
        kernel([a], DeclBuffer(flat, odd)).interpret(out)
    with pytest.raises(OutOfBoundsError, match="outside the buffer's memory"):
        kernel(
            [a], DeclBuffer(big := buffer("G", (9,), "int32"), pointer), BufferStore(big, 1, (8,))
        ).interpret(out)


def test_handles() -> None:
    h, view, n = Var("h", "handle"), buffer("V", (4,), "float32"), Var("n")
    func = kernel(
        [h, n],
        IfThenElse(data("tirx.isnullptr", h, ty="bool"), Return(0)),
        DeclBuffer(view, h),
        BufferStore(view, 3.0, (n,)),
        Return(1),
        ret="int32",
    )
    out = np.zeros(4, "float32")
    assert func.interpret(None, 0) == 0 and func.interpret(out, 2) == 1 and out[2] == 3
    with pytest.raises(ArgumentTypeError, match="pointer"):
        func.interpret(1.5, 0)


def test_strided_parameters() -> None:
    s, n = Var("s"), Var("n")
    a, i = buffer("A", (n,), "int32", strides=(s,)), Var("i")
    func = kernel([a], loops(BufferStore(a, s, (i,)), (i, n)))
    out = np.zeros(6, "int32")
    func.interpret(out[::-2])
    assert out.tolist() == [0, -2, 0, -2, 0, -2]


# --- calls


def test_functions_of_a_module_call_each_other() -> None:
    n, a = Var("n"), buffer("A", (4,), "int32")
    name, fill = GlobalVar("fact"), GlobalVar("fill")
    again = Mul(n, Call(name, (Sub(n, 1),), "int32"))
    fact = kernel([n], IfThenElse(LT(n, 2), Return(1)), Return(again), ret="int32")
    m, b, i = Var("m"), buffer("B", (k := Var("k"),), "int32"), Var("i")
    filler = kernel([b, m], loops(BufferStore(b, Add(m, k), (i,)), (i, k)))
    main = kernel([a, n2 := Var("n")], Evaluate(Call(fill, (a, Call(name, (n2,), "int32")), "void")))
    module = IRModule({name: fact, fill: filler, GlobalVar("main"): main})
    out = np.zeros(4, "int32")
    interpret(module, (out, 5))
    assert out.tolist() == [124] * 4
    assert interpret(fact, (6,), module=module) == 720
    with pytest.raises(UnsupportedError, match="module"):
        fact.interpret(3)


def test_packed_calls() -> None:
    seen: list[Any] = []

    def spy(*args: Any) -> float:
        seen.extend(args)
        if isinstance(args[0], Tensor):
            args[0].numpy()[:] = 5
        return 2.5

    register_func("tests.spy", spy)
    try:
        a, x = buffer("A", (2,), "float32"), buffer("X", (2,), "int8")
        call = Call("tirx.tvm_call_packed", ("tests.spy", x, a, "word", ir.const(True), 3), "float32")
        func = kernel(
            [a],
            AllocBuffer(x),
            BufferStore(a, call, (0,)),
            BufferStore(a, Cast("float32", BufferLoad(x, (1,))), (1,)),
        )
        out = np.zeros(2, "float32")
        func.interpret(out)
        assert out.tolist() == [2.5, 5] and seen[2:] == ["word", True, 3] and seen[3] is True
        assert np.shares_memory(seen[1].numpy(), out)
        register_func("tests.spy", lambda *_: 1 / 0, override=True)
        with pytest.raises(ZeroDivisionError, match="division by zero"):
            func.interpret(out)
    finally:
        remove_global_func("tests.spy")
    with pytest.raises(KeyError, match="no function is registered as `tests.spy`"):
        func.interpret(out)


def test_external_functions() -> None:
    x = Var("x", "float32")
    func = kernel([x], Return(Call("tirx.call_extern", ("expf", x), "float32")), ret="float32")
    assert func.interpret(1.0) == float(np.exp(np.float32(1)))
    with pytest.raises(UnsupportedError, match="`my_function`"):
        kernel([x], Evaluate(Call("tirx.call_extern", ("my_function", x), "float32"))).interpret(1.0)
    with pytest.raises(UnsupportedError, match="tvm_storage_sync"):
        kernel([], Evaluate(Call("tirx.tvm_storage_sync", ("shared",), "void"))).interpret()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16"])
@pytest.mark.parametrize("name", ["exp", "sqrt", "tanh", "sigmoid", "floor", "sin"])
def test_intrinsics_have_their_numpy_meaning(name: str, dtype: str) -> None:
    a, b, i = buffer("A", (5,), dtype), buffer("B", (5,), dtype), Var("i")
    found = ir.record(f"tirx.{name}")
    func = kernel([a, b], loops(BufferStore(b, found.build(BufferLoad(a, (i,))), (i,)), (i, 5)))
    source = np.array([0.0, -0.0, 1.5, np.inf, np.nan], "float32").astype(DType(dtype).numpy())
    out = np.empty_like(source)
    func.interpret(source, out)
    expected = np.asarray(found.numpy(source)).astype(source.dtype) if found.numpy else None
    assert out.tobytes() == expected.tobytes()  # type: ignore[union-attr]


def test_if_then_else_is_lazy_and_select_is_not() -> None:
    a, n = buffer("A", (4,), "int32"), Var("n")
    load = BufferLoad(a, (n,))
    lazy = kernel([a, n], Return(Call("prim.if_then_else", (LT(n, 4), load, -1), "int32")), ret="int32")
    source = np.arange(4, dtype="int32")
    assert lazy.interpret(source, 2) == 2 and lazy.interpret(source, 9) == -1
    with pytest.raises(OutOfBoundsError):
        kernel([a, n], Return(ir.Select(LT(n, 4), load, -1)), ret="int32").interpret(source, 9)
    both = ir.And(LT(n, 4), LT(load, 2))
    assert kernel([a, n], Return(both), ret="bool").interpret(source, 9) is False


@given(st.floats(width=32), st.integers(-(2**31), 2**31 - 1))
def test_reinterpret_keeps_the_bits(x: float, n: int) -> None:
    f, i = Var("f", "float32"), Var("i")
    to_int = kernel([f], Return(Call("tirx.reinterpret", (f,), "int32")), ret="int32")
    assert to_int.interpret(x) == int(np.float32(x).view(np.int32)) or x != x
    halves = Call("tirx.reinterpret", (i,), "uint16x2")
    first = kernel([i], Return(ir.Shuffle([halves], [0])), ret="uint16")
    assert first.interpret(n) == n & 0xFFFF


def test_print_and_breakpoint(capsys: Any, monkeypatch: Any) -> None:
    a, n = buffer("A", (3,), "int32"), Var("n")
    func = kernel([a, n], Evaluate(Call("tirx.print", ("n is", n, a, Broadcast(n, 2)), "void")))
    func.interpret(np.arange(3, dtype="int32"), 4)
    assert capsys.readouterr().out == "n is 4 [0 1 2] [4, 4]\n"
    found: list[Any] = []
    monkeypatch.setattr(sys, "breakpointhook", lambda: found.append(sys._getframe(1).f_locals["variables"]))
    kernel([a, n], Evaluate(Call("tirx.breakpoint", (), "void"))).interpret(np.arange(3, dtype="int32"), 4)
    assert found[0]["n"] == 4 and found[0]["A"].tolist() == [0, 1, 2]


# --- broken rules


def test_bounds_name_buffer_index_shape_and_place(tmp_path: Any) -> None:
    path = tmp_path / "kernels.py"
    path.write_text("first line\n    x = A[i, 2]\n")
    a, i = buffer("A", (3, 2), "int32"), Var("i")
    load = BufferLoad(a, (i, 2), span=Span(str(path), 2, 9, 2, 16))
    with pytest.raises(OutOfBoundsError) as caught:
        kernel([a], loops(Evaluate(load), (i, 3))).interpret(np.zeros((3, 2), "int32"))
    text = str(caught.value)
    assert "`A[0, 2]` is outside the buffer's shape (3, 2)" in text and "here i = 0" in text
    assert f"{path}:2:9" in text and "    x = A[i, 2]" in text and "^^^^^^^" in text
    with pytest.raises(IndexError):
        kernel([a, i], Evaluate(BufferLoad(a, (i, 0)))).interpret(np.zeros((3, 2), "int32"), -1)


def test_programs_without_a_text_are_printed() -> None:
    a, i = buffer("A", (3,), "int32"), Var("i")
    with pytest.raises(OutOfBoundsError) as caught:
        kernel([a], loops(BufferStore(a, BufferLoad(a, (Add(i, 1),)), (i,)), (i, 3))).interpret(
            np.ones(3, "int32")
        )
    assert "|         A[i] = A[i + 1]\n" in str(caught.value) and "|                ^^^^^^^^" in str(
        caught.value
    )


def test_memory_nothing_was_written_to() -> None:
    x, n, b = buffer("X", (4,), "int32"), Var("n"), buffer("Y", (16,), "uint8")
    fill = BufferStore(x, 1, (2,))
    read = kernel([n], AllocBuffer(x), fill, Return(BufferLoad(x, (n,))), ret="int32")
    assert read.interpret(2) == 1
    with pytest.raises(UninitializedError, match=r"`X\[3\]` is read before"):
        read.interpret(3)
    bytes_ = DeclBuffer(b, data("tirx.buffer_data", x))
    part = kernel([n], AllocBuffer(x), fill, bytes_, Return(BufferLoad(b, (n,))), ret="uint8")
    assert part.interpret(8) == 1
    with pytest.raises(UninitializedError, match="`Y"):
        part.interpret(7)
    loop = loops(SeqStmt([AllocBuffer(x), IfThenElse(LT(n, 1), fill), Evaluate(BufferLoad(x, (2,)))]), (n, 2))
    with pytest.raises(UninitializedError):  # each pass through an allocation gives new memory
        kernel([], loop).interpret()


@given(st.sampled_from(["int8", "int32", "int64", "uint8"]), st.sampled_from([Add, Sub, Mul]), st.data())
def test_index_arithmetic_must_not_overflow(dtype: str, op: Any, draw: Any) -> None:
    info = np.iinfo(dtype)
    x, y = draw.draw(st.integers(info.min, info.max)), draw.draw(st.integers(info.min, info.max))
    exact = {Add: x + y, Sub: x - y, Mul: x * y}[op]
    a, v, w = buffer("A", (1,), "int32"), Var("v", dtype), Var("w", dtype)
    func = kernel([a, v, w], Evaluate(BufferLoad(a, (op(v, w),))))
    error = OutOfBoundsError if info.min <= exact <= info.max else IntegerOverflowError
    if exact == 0:
        func.interpret(np.zeros(1, "int32"), x, y)
        return
    with pytest.raises(error):
        func.interpret(np.zeros(1, "int32"), x, y)
    assert kernel([v, w], Return(op(v, w)), ret=dtype).interpret(x, y) == DType(dtype).wrap(exact)


@pytest.mark.parametrize("op", [Div, ir.Mod, ir.FloorDiv, ir.FloorMod])
def test_division(op: Any) -> None:
    v, w = Var("v"), Var("w")
    func = kernel([v, w], Return(op(v, w)), ret="int32")
    with pytest.raises(DivisionError, match="by zero"):
        func.interpret(3, 0)
    with pytest.raises(ZeroDivisionError, match="by -1"):
        func.interpret(-(2**31), -1)
    expected = {Div: int(-7 / 2), ir.Mod: -1, ir.FloorDiv: -7 // 2, ir.FloorMod: -7 % 2}[op]
    assert func.interpret(-7, 2) == expected


def test_shifts() -> None:
    v, w = Var("v", "int8"), Var("w", "int8")
    left, right = (kernel([v, w], Return(op(v, w)), ret="int8") for op in (ir.LShift, ir.RShift))
    assert left.interpret(1, 7) == -128 and left.interpret(1, 9) == 0 and right.interpret(-3, 9) == -1
    with pytest.raises(ExecutionError, match="shift by -1"):
        left.interpret(1, -1)


@pytest.mark.parametrize("kind", ["ValueError", "AssertionError", "TypeError", "NoSuchKind"])
def test_assertions_raise_the_stated_kind(kind: str) -> None:
    n = Var("n")
    func = kernel([n], AssertStmt(StringImm(kind), LT(n, 3), ["n must be ", "small"]))
    func.interpret(2)
    with pytest.raises(getattr(builtins, kind, RuntimeError), match="n must be small"):
        func.interpret(3)


def test_assumptions_and_undefined_variables() -> None:
    n = Var("n")
    with pytest.raises(ExecutionError, match="assumption"):
        kernel([n], Evaluate(Call("tirx.assume", (LT(n, 3),), "bool"))).interpret(3)
    with pytest.raises(IRError, match="`lost`"):
        kernel([], Evaluate(Var("lost"))).interpret()
    with pytest.raises(UnsupportedError, match="undef"):
        kernel([], Evaluate(Call("tirx.undef", (), "int32"))).interpret()


def test_a_power_of_one_half_is_no_square_root() -> None:
    x, y = Var("x", "float64"), Var("y", "float64")
    for call in (Call("tirx.pow", (x, y), "float64"), Call("tirx.call_extern", ("pow", x, y), "float64")):
        func = kernel([x, y], Return(call), ret="float64")
        assert math.copysign(1.0, func.interpret(-0.0, 0.5)) == 1.0
        assert func.interpret(-math.inf, 0.5) == math.inf


# --- arguments


@pytest.mark.parametrize(
    ("args", "error", "words"),
    [
        ((0, 1), ArgumentTypeError, "misses `C`"),
        ((0, 1, 2, 3), ArgumentTypeError, "takes 3 arguments but 4 were given"),
        ((0, 1, "wide"), ArgumentTypeError, "must have dtype `float32`, not `float64`"),
        ((0, 1, "flat"), ArgumentValueError, "must have 2 dimensions, not 1"),
        ((0, 1, "long"), ArgumentValueError, r"must have shape\[0\] 2 \(`n`\), not 3"),
        ((0, 1, "none"), ArgumentTypeError, "must be an array, not a NoneType"),
        ((0, 1, "frozen"), ArgumentValueError, "read-only"),
    ],
)
def test_wrong_arguments(args: tuple[Any, ...], error: type[Exception], words: str) -> None:
    frozen = np.zeros((2, 2), "float32")
    frozen.flags.writeable = False
    things = {
        "wide": np.zeros((2, 2)),
        "flat": np.zeros(2, "float32"),
        "long": np.zeros((3, 2), "float32"),
        "none": None,
        "frozen": frozen,
    }
    given_ = [things.get(a, np.zeros((2, 2), "float32")) for a in args]
    with pytest.raises(error, match=words):
        matmul().interpret(*given_)


def test_keywords_and_scalars() -> None:
    one = np.ones((1, 1), "float32")
    with pytest.raises(ArgumentTypeError, match="no parameter `c`"):
        matmul().interpret(one, one, c=one)
    with pytest.raises(ArgumentTypeError, match="two values for `A`"):
        matmul().interpret(one, one, A=one)
    n, x, b = Var("n", "int8"), Var("x", "float32"), Var("b", "bool")
    func = kernel([n, x, b], Return(ir.Tuple([n, x, b])), ret=ir.TupleType([n.ty, x.ty, b.ty]))
    assert func.interpret(True, 2, 5) == (1, 2.0, True)
    assert func.interpret(np.int64(3), np.float64(0.1), b=False) == (3, float(np.float32(0.1)), False)
    for bad, error in (((1.5, 1, 1), TypeError), ((1, "x", 1), TypeError), ((128, 1, 1), ValueError)):
        with pytest.raises(error):
            func.interpret(*bad)


def test_deep_programs() -> None:
    n, a = Var("n"), buffer("A", (1,), "int32")
    e: Any = n
    for _ in range(5000):
        e = Add(e, 1)
    assert kernel([n], Return(e), ret="int32").interpret(1) == 5001
    body: Any = BufferStore(a, Add(BufferLoad(a, (0,)), 1), (0,))
    for _ in range(200):
        body = For(Var("i"), 0, 1, "serial", body)
    out = np.zeros(1, "int32")
    kernel([a], SeqStmt([BufferStore(a, Add(BufferLoad(a, (0,)), 1), (0,))] * 5000), body).interpret(out)
    assert out[0] == 5001
