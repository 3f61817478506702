from __future__ import annotations

import textwrap

import pytest

from loopwright.errors import UnsupportedError
from loopwright.ir import (
    LT,
    Add,
    BufferLoad,
    BufferRegion,
    BufferStore,
    BufferType,
    Evaluate,
    FloatImm,
    For,
    IntImm,
    IterVar,
    MatchBufferRegion,
    PrimFunc,
    Range,
    SBlock,
    SBlockRealize,
    SeqStmt,
    Var,
)
from loopwright.printer import script

TRUE = IntImm("bool", 1)
A = Var("A", BufferType("float32", (16, 16)))
B = Var("B", BufferType("float32", (16,)))


def block(text):
    return textwrap.dedent(text).strip("\n")


def body(node, **options):
    """The printed body of a function of A and B."""
    text = script(PrimFunc((A, B), node, None, {"s_tir": True}), **options)
    return textwrap.dedent(text.split('"float32")):\n')[1])


def realize(inner, axes=(), values=(), predicate=TRUE, name="b", **more):
    return SBlockRealize(values, predicate, SBlock(axes, (), (), name, inner, **more))


def axis(name, extent, kind=IterVar.DATA_PAR, start=0, dtype="int32"):
    return IterVar(Range(start, extent), Var(name, dtype), kind)


def sum_rows(name="sum"):
    i, k = Var("i"), Var("k")
    vi, vk = axis("vi", 16), axis("vk", 16, IterVar.COMM_REDUCE)
    a, b = BufferLoad(A, (vi.var, vk.var)), BufferLoad(B, (vi.var,))
    inner = SBlock(
        (vi, vk),
        (BufferRegion(A, (Range(vi.var, 1), Range(vk.var, 1))),),
        (BufferRegion(B, (Range(vi.var, 1),)),),
        name,
        BufferStore(B, Add(b, a), (vi.var,)),
        BufferStore(B, FloatImm("float32", 0), (vi.var,)),
        annotations={"k": 1},
    )
    return For(i, 0, 16, 0, For(k, 0, 16, 0, SBlockRealize((i, k), LT(i, 3), inner)))


def root(inner, **more):
    return realize(inner, name="root", **more)


def test_the_order_inside_a_block():
    assert body(root(sum_rows())) == block("""
        # with T.sblock("root"):
        for i, k in T.grid(16, 16):
            with T.sblock("sum"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.where(i < 3)
                T.reads(A[vi, vk])
                T.writes(B[vi])
                T.sblock_attr({"k": 1})
                with T.init():
                    B[vi] = T.float32(0.0)
                B[vi] = B[vi] + A[vi, vk]
    """)


def test_without_sugar_all_is_in_full():
    assert body(root(sum_rows()), syntax_sugar=False) == block("""
        with T.sblock("root"):
            T.reads()
            T.writes()
            for i in range(16):
                for k in range(16):
                    with T.sblock("sum"):
                        vi = T.axis.spatial(16, i)
                        vk = T.axis.reduce(16, k)
                        T.where(i < 3)
                        T.reads(A[vi, vk])
                        T.writes(B[vi])
                        T.sblock_attr({"k": 1})
                        with T.init():
                            B[vi] = T.float32(0.0)
                        B[vi] = B[vi] + A[vi, vk]
    """)


@pytest.mark.parametrize("name", ["b", "", 'say "hi"', "two\nlines", "back\\slash", "ключ", "for"])
def test_block_names_are_data(name):
    from loopwright.grammar import read

    text = script(SeqStmt([realize(Evaluate(0), name=name), realize(Evaluate(0), name=name)]))
    stmts = read(text, start="statements").tree.body
    assert [s.items[0].context.args[0].value for s in stmts] == [name, name]


@pytest.mark.parametrize(
    "changed",
    [
        realize(sum_rows(), name="other"),
        root(sum_rows(), annotations={"k": 1}),
        root(sum_rows(), init=Evaluate(0)),
        root(sum_rows(), predicate=LT(IntImm("int32", 1), IntImm("int32", 2))),
        root(Evaluate(0)),
        root(realize(Evaluate(0))),
    ],
)
def test_a_root_that_the_reader_would_not_add_is_explicit(changed):
    assert body(changed).startswith("with T.sblock(")


def test_allocations_alone_need_a_root():
    C = Var("C", BufferType("int8", (4,), storage_scope="local"))
    assert body(root(Evaluate(0), alloc_buffers=(C,))) == block("""
        # with T.sblock("root"):
        C = T.sblock_alloc_buffer((4,), "int8", scope="local")
        T.evaluate(0)
    """)


def test_axes():
    i = Var("i")
    axes = (
        axis("va", 16),
        axis("vb", 7, IterVar.COMM_REDUCE, 1),
        axis("vc", 4, IterVar.ORDERED),
        axis("vd", 4, IterVar.OPAQUE),
        IterVar(Range(0, 4), Var("ve", "int64"), 0),
    )
    text = script(For(i, 0, 4, 0, realize(Evaluate(0), axes, (i, i, i, i, i))))
    assert text.split("\n")[2:7] == [
        "        va = T.axis.spatial(16, i)",
        "        vb = T.axis.reduce((1, 8), i)",
        "        vc = T.axis.scan(4, i)",
        "        vd = T.axis.opaque(4, i)",
        '        ve = T.axis.spatial(4, i, dtype="int64")',
    ]
    bad = realize(Evaluate(0), (axis("v", 4, IterVar.THREAD_INDEX),), (i,))
    with pytest.raises(UnsupportedError, match="axis `v`"):
        script(bad)


def test_only_what_follows_its_loop_is_remapped():
    i, j = Var("i"), Var("j")
    axes = (axis("va", 4), axis("vb", 8), axis("vc", 9), axis("vd", 8))
    inner = realize(Evaluate(0), axes, (i, j, j, j))
    text = script(For(i, 0, 4, 0, For(j, 0, 8, 0, inner)))
    assert '        va, vb = T.axis.remap("SS", [i, j])\n        vc = T.axis.spatial(9, j)' in text
    assert "        vd = T.axis.spatial(8, j)" in text
    stepped = script(For(i, 0, 4, 0, For(j, 0, 8, 0, inner, step=2)))
    assert "remap" not in stepped
    shifted = script(For(i, 1, 4, 0, For(j, 0, 8, 0, inner)))
    assert "remap" not in shifted


def test_matches():
    s, off = Var("s"), Var("off")
    ty = BufferType("float32", (4, 4), (s, 1), off)
    match = MatchBufferRegion(Var("M", ty), BufferRegion(A, (Range(0, 4), Range(2, 4))))
    assert body(root(realize(Evaluate(Add(s, off)), match_buffers=(match,)), alloc_buffers=())) == block("""
        with T.sblock("root"):
            T.reads()
            T.writes()
            with T.sblock("b"):
                T.reads()
                T.writes()
                M = T.match_buffer(A[0:4, 2:6], (4, 4), strides=("s", 1), offset_factor=1)
                T.evaluate(M.strides[0] + M.elem_offset)
    """)


def test_a_block_alone():
    assert script(SBlock((axis("v", 4),), (), (), "b", Evaluate(0))) == block("""
        with T.sblock("b", no_realize=True):
            v = T.axis.spatial(4)
            T.reads()
            T.writes()
            T.evaluate(0)
    """)
