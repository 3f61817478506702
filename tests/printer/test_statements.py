from __future__ import annotations

import textwrap

import pytest

from loopwright.ir import (
    LT,
    Add,
    AllocBuffer,
    AssertStmt,
    AttrStmt,
    Bind,
    Break,
    Broadcast,
    BufferLoad,
    BufferStore,
    BufferType,
    Call,
    Continue,
    DeclBuffer,
    Evaluate,
    FloatImm,
    For,
    IfThenElse,
    IntImm,
    IterVar,
    Let,
    PointerType,
    PrimType,
    Ramp,
    Range,
    Return,
    SeqStmt,
    StringImm,
    Var,
    While,
)
from loopwright.printer import script

n = Var("n")
A = Var("A", BufferType("float32", (16, 16)))


def local(name="x", dtype="int32", **more):
    return Var(name, BufferType(dtype, (1,), storage_scope="local", **more))


def data(buffer):
    return Call("tirx.buffer_data", (buffer,), PointerType(PrimType(buffer.dtype), buffer.ty.storage_scope))


def lines(node, **options):
    """The printed statements, without declarations of what nothing defines."""
    text = script(node, **options)
    return "\n".join([row for row in text.split("\n") if not row.startswith(("n = T.int32", "A = T.Buffer"))])


def block(text):
    return textwrap.dedent(text).strip("\n")


def test_a_scalar():
    x = local()
    body = SeqStmt(
        [
            AllocBuffer(x),
            BufferStore(x, 3, (0,)),
            BufferStore(x, Add(BufferLoad(x, (0,)), 1), (0,)),
            Evaluate(data(x)),
            Evaluate(BufferLoad(x, (n,))),
        ]
    )
    assert lines(body) == block("""
        x: T.int32 = 3
        x = x + 1
        T.evaluate(x.source.data)
        T.evaluate(x.source[n])
    """)


@pytest.mark.parametrize(
    "buffer",
    [
        local(data_alignment=16),
        local(elem_offset=1),
        local(strides=(1,)),
        Var("x", BufferType("int32", (1,))),
        Var("x", BufferType("int32", (2,), storage_scope="local")),
        Var("x", BufferType("int32", (IntImm("int64", 1),), storage_scope="local")),
    ],
)
def test_what_is_not_quite_a_scalar_is_a_buffer(buffer):
    text = lines(SeqStmt([AllocBuffer(buffer), BufferStore(buffer, 3, (0,))]))
    assert text.endswith("x[0] = 3")


def test_a_scalar_needs_its_store_at_once_and_free_of_itself():
    x = local()
    apart = SeqStmt([AllocBuffer(x), Evaluate(0), BufferStore(x, 3, (0,))])
    assert lines(apart).startswith('x = T.alloc_local((1,), "int32")')
    own = SeqStmt([AllocBuffer(x), BufferStore(x, BufferLoad(x, (0,)), (0,))])
    assert lines(own) == 'x = T.alloc_local((1,), "int32")\nx[0] = x[0]'
    far = SeqStmt([AllocBuffer(x), BufferStore(x, 3, (IntImm("int64", 0),))])
    assert lines(far).endswith("x[T.int64(0)] = 3")
    noted = SeqStmt([AllocBuffer(x, {"k": 1}), BufferStore(x, 3, (0,))])
    assert lines(noted).startswith('x = T.alloc_local((1,), "int32", annotations={"k": 1})')


def test_bindings():
    p = Var("p", PointerType(PrimType("float32"), "global"))
    assert lines(Bind(Var("x"), n)) == "x: T.let[T.int32] = n"
    assert lines(Bind(p, data(A))) == 'p: T.let[T.handle("float32", "global")] = A.data'


def test_buffers():
    whole = BufferType("int8", (4, n), (n, 1), n, "foo", 3, 2)
    assert lines(AllocBuffer(Var("B", whole))) == (
        'B = T.alloc_buffer((4, n), "int8", strides=(n, 1), elem_offset=n, scope="foo", align=3, '
        "offset_factor=2)"
    )
    shared = Var("B", BufferType("float16", (4,), storage_scope="shared"))
    assert lines(AllocBuffer(shared)) == 'B = T.alloc_shared((4,), "float16")'
    p = Var("p", PointerType(PrimType("float32"), "global"))
    plain = DeclBuffer(Var("B", BufferType("float32", (16,))), p)
    assert lines(plain).endswith("B = T.decl_buffer((16,), data=p)")


def test_views():
    def view(ty):
        return lines(DeclBuffer(Var("B", ty), data(A)))

    assert view(BufferType("float32", (256,))) == "B = A.view(256)"
    assert view(BufferType("float32", (8, n))) == "B = A.view(8, n)"
    assert view(BufferType("int32", (16, 16))) == 'B = A.view("int32")'
    assert view(BufferType("float16", (16, 32))) == 'B = A.view("float16")'
    assert view(BufferType("float32", (16, 16))) == "B = T.decl_buffer((16, 16), data=A.data)"
    assert view(BufferType("float32", (256,), data_alignment=128)).startswith("B = T.decl_buffer")
    assert view(BufferType("float16", (16,))).startswith("B = T.decl_buffer")
    assert view(BufferType("float32", (IntImm("int64", 256),))).startswith("B = T.decl_buffer")
    assert view(BufferType("float32", ())).startswith("B = T.decl_buffer")


def test_symbols_of_a_local_buffer_are_parts_of_it():
    s, off = Var("s"), Var("off")
    ty = BufferType("float32", (4, 4), (s, 1), off)
    B = Var("B", ty)
    body = SeqStmt([DeclBuffer(B, data(A)), Evaluate(Add(s, off))])
    assert lines(body) == block("""
        B = T.decl_buffer((4, 4), data=A.data, strides=("s", 1), offset_factor=1)
        T.evaluate(B.strides[0] + B.elem_offset)
    """)
    twice = DeclBuffer(Var("B", BufferType("float32", (4, 4), (s, s))), data(A))
    assert lines(twice) == block("""
        s = T.int32()
        B = T.decl_buffer((4, 4), data=A.data, strides=(s, s))
    """)


def test_stores():
    four = Broadcast(FloatImm("float32", 1), 4)
    base = Var("i")

    def store(index):
        return lines(BufferStore(A, four, (0, index))).split(" = ")[-2].split("\n")[-1]

    assert store(Ramp(0, 1, 4)) == "A[0, 0:4]"
    assert store(Ramp(n, 2, 4)) == "A[0, n:n + 8:2]"
    assert store(Ramp(n, -1, 4)) == "A[0, n:n + -4:-1]"
    assert store(Ramp(n, base, 4)) == "A[0, T.Ramp(n, i, 4)]"
    assert store(Ramp(n, 0, 4)) == "A[0, T.Ramp(n, 0, 4)]"
    assert store(Broadcast(n, 4)) == "A[0, T.Broadcast(n, 4)]"


def test_evaluate():
    assert lines(Evaluate(0)) == "T.evaluate(0)"
    assert lines(Evaluate(Call("tirx.exp", (FloatImm("float32", 2),), "float32"))) == "T.exp(T.float32(2.0))"
    assert lines(Evaluate(data(A))) == "T.evaluate(A.data)"
    assert lines(Evaluate(StringImm("a"))) == 'T.evaluate("a")'


def test_control():
    condition = LT(n, 3)
    assert lines(
        IfThenElse(condition, Evaluate(1), IfThenElse(condition, Evaluate(2), Evaluate(3)))
    ) == block("""
        if n < 3:
            T.evaluate(1)
        else:
            if n < 3:
                T.evaluate(2)
            else:
                T.evaluate(3)
    """)
    assert (
        lines(While(condition, SeqStmt([Break(), Continue()])))
        == "while n < 3:\n    T.Break()\n    T.Continue()"
    )
    assert (
        lines(AssertStmt("ValueError", condition, ("a", "b"))) == 'assert n < 3, ("ValueError", ["a", "b"])'
    )
    assert lines(Return(n)) == "return n"
    assert lines(Return()) == "return"


def loop(extent, kind="serial", start=0, **more):
    return For(n, start, extent, kind, Evaluate(0), **more)


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (loop(8, "serial"), "for n in range(8):"),
        (loop(4, "serial", 1), "for n in range(1, 5):"),
        (loop(16, "serial", step=4), "for n in range(0, 16, 4):"),
        (loop(8, "parallel"), "for n in T.parallel(8):"),
        (loop(8, "vectorized", 2), "for n in T.vectorized(2, 10):"),
        (loop(8, "unrolled", step=2), "for n in T.unroll(8, step=2):"),
        (
            For(
                n,
                0,
                8,
                "thread_binding",
                Evaluate(0),
                thread_binding=IterVar(None, Var("t"), 1, "threadIdx.x"),
            ),
            'for n in T.thread_binding(8, thread="threadIdx.x"):',
        ),
        (
            loop(8, "serial", annotations={"k": (1, 2.5, "x"), "a": None}),
            'for n in T.serial(8, annotations={"a": None, "k": [1, 2.5, "x"]}):',
        ),
        (
            loop(8, "serial", annotations={"pragma_unroll": True}),
            "for n in T.serial(8, unroll=True):",
        ),
        (
            loop(8, "serial", annotations={"pragma_unroll": 3}),
            "for n in T.serial(8, unroll=3):",
        ),
        (
            loop(8, "serial", annotations={"disable_unroll": True}),
            "for n in T.serial(8, unroll=False):",
        ),
        (
            loop(8, "serial", annotations={"disable_unroll": 1}),
            'for n in T.serial(8, annotations={"disable_unroll": 1}):',
        ),
        (
            For(n, IntImm("int64", 0), IntImm("int64", 8), "serial", Evaluate(0)),
            'for n in T.serial(T.int64(8), dtype="int32"):',
        ),
        (For(Var("i", "int64"), 0, 8, "serial", Evaluate(0)), "for i in range(T.int64(8)):"),
    ],
)
def test_loops(node, text):
    assert lines(node).split("\n")[0] == text


def test_grids():
    i, j, k = Var("i"), Var("j"), Var("k")

    def nest(*loops, body):
        for loop in reversed(loops):
            body = For(*loop[:4], body, *loop[4:])
        return body

    store = BufferStore(A, FloatImm("float32", 0), (i, j))
    assert lines(nest((i, 0, 4, 0), (j, 0, n, 0), body=store)).split("\n")[0] == "for i, j in T.grid(4, n):"
    dependent = lines(nest((i, 0, 4, 0), (j, 0, i, 0), (k, 0, 3, 0), body=store))
    assert dependent.split("\n")[:2] == ["for i in range(4):", "    for j, k in T.grid(i, 3):"]
    started = lines(nest((i, 0, 4, 0), (j, 1, 4, 0), body=store))
    assert started.split("\n")[:2] == ["for i in range(4):", "    for j in range(1, 5):"]
    plain = lines(nest((i, 0, 4, 0), (j, 0, 4, 0), body=store), syntax_sugar=False)
    assert plain.split("\n")[:2] == ["for i in range(4):", "    for j in range(4):"]
    parallel = lines(nest((i, 0, 4, 0), (j, 0, 4, 1), body=store))
    assert parallel.split("\n")[:2] == ["for i in range(4):", "    for j in T.parallel(4):"]


def test_attributes():
    inner = AttrStmt(0, "a", 1, AttrStmt(0, "b", "c", Evaluate(1)))
    assert lines(inner) == 'with T.attr({"a": 1, "b": "c"}):\n    T.evaluate(1)'
    loop = For(Var("i"), 0, 4, "serial", inner)
    assert lines(loop) == 'for i in range(4):\n    T.attr({"a": 1, "b": "c"})\n    T.evaluate(1)'
    assert lines(SeqStmt([inner, Evaluate(2)])) == block("""
        with T.attr({"a": 1, "b": "c"}):
            T.evaluate(1)
        T.evaluate(2)
    """)
    assert lines(AttrStmt(A, "k", n, Evaluate(1))) == 'with T.attr(A, "k", n):\n    T.evaluate(1)'
    again = AttrStmt(0, "a", 1, AttrStmt(0, "a", 2, Evaluate(1)))
    assert lines(again) == 'with T.attr({"a": 1}):\n    T.attr({"a": 2})\n    T.evaluate(1)'
    wide = AttrStmt(IntImm("int64", 0), "a", 1, Evaluate(1))
    assert lines(wide) == 'with T.attr(T.int64(0), "a", 1):\n    T.evaluate(1)'


def launch(var, extent, body, tag="threadIdx.x"):
    return AttrStmt(IterVar(Range(0, extent), var, 1, tag), "thread_extent", extent, body)


def test_launches():
    tx = Var("tx")
    alone = launch(tx, IntImm("int32", 4), Evaluate(tx))
    assert lines(alone) == 'with T.launch_thread("threadIdx.x", 4) as tx:\n    T.evaluate(tx)'
    assert lines(SeqStmt([alone, Evaluate(0)])) == block("""
        with T.launch_thread("threadIdx.x", 4) as tx:
            T.evaluate(tx)
        T.evaluate(0)
    """)
    twice = SeqStmt([alone, launch(tx, IntImm("int32", 8), Evaluate(tx))])
    assert lines(twice) == block("""
        tx = T.env_thread("threadIdx.x")
        with T.launch_thread(tx, 4):
            T.evaluate(tx)
        with T.launch_thread(tx, 8):
            T.evaluate(tx)
    """)
    other = AttrStmt(IterVar(None, tx, 1, "threadIdx.x"), "thread_extent", 4, Evaluate(0))
    assert lines(other) == block("""
        tx = T.int32()
        with T.attr(T.iter_var(tx, None, "ThreadIndex", "threadIdx.x"), "thread_extent", 4):
            T.evaluate(0)
    """)


def test_the_variable_of_a_let_is_declared_before_the_statement():
    x, y = Var("x"), Var("y")
    inner = Let(y, x, Add(x, y))
    assert lines(Evaluate(Let(x, IntImm("int32", 3), inner))) == block("""
        x = T.int32()
        y = T.int32()
        T.evaluate(T.Let(T.Let(x + y, where={y: x}), where={x: 3}))
    """)


def test_what_nothing_defines_is_declared_around_its_uses():
    i, x, y = Var("i"), Var("x"), Var("y", "float32")
    loop = For(i, 0, 4, "serial", SeqStmt([Evaluate(x), Evaluate(x)]))
    assert lines(SeqStmt([loop, Evaluate(y)])) == block("""
        for i in range(4):
            x = T.int32()
            T.evaluate(x)
            T.evaluate(x)
        y = T.float32()
        T.evaluate(y)
    """)
    assert lines(SeqStmt([loop, Evaluate(x)])) == block("""
        x = T.int32()
        for i in range(4):
            T.evaluate(x)
            T.evaluate(x)
        T.evaluate(x)
    """)
    assert script(BufferStore(Var("C", BufferType("int8", (x,))), IntImm("int8", 1), (x,))) == block("""
        x = T.int32()
        C = T.Buffer((x,), "int8")
        C[x] = T.int8(1)
    """)
    assert script(Add(x, x)) == "x + x"
    assert script(Add(x, x), verbose_expr=True) == "x = T.int32()\nx + x"
