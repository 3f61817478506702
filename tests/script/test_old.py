"""Programs in the spelling of older releases are read and printed in the new form."""

from __future__ import annotations

from loopwright import ir
from loopwright.script import parse

MATMUL = """
@T.prim_func
def f(a: T.handle, b: T.handle) -> None:
    A = T.match_buffer(a, [16, 16], "float32")
    B = T.match_buffer(b, [16, 16])
    T.func_attr({"tir.noalias": True})
    C = T.alloc_buffer([16, 16])
    for i, j in T.grid(16, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.block_attr({"x": 1})
            x = A[vi, vj] + 1.0
            C[vi, vj] = x
    for i, j in T.grid(16, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = C[vi, vj]
"""


def test_blocks_allocations_and_lets() -> None:
    func = parse(MATMUL)
    assert func.attrs["tirx.noalias"] is True
    root = func.body.block
    assert [b.name for b in root.alloc_buffers] == ["C"]
    printed = func.script()
    for word in ("T.sblock(", "T.sblock_attr(", "T.sblock_alloc_buffer(", "x: T.let[T.float32]"):
        assert word in printed
    assert ir.structural_equal(parse(printed), func)


def test_the_same_words_are_new_in_a_new_function() -> None:
    func = parse(
        """
@T.prim_func
def f(A: T.Buffer((16,), "float32")):
    C = T.alloc_buffer([16])
    x = A[0] + 1.0
    C[0] = x
"""
    )
    assert isinstance(func.body.seq[0], ir.AllocBuffer)
    assert isinstance(func.body.seq[1], ir.AllocBuffer)


def test_old_allocation_and_scoped_lets() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((16,), "float32"), n: T.int32):
    p = T.allocate([16], "float32", "global")
    P = T.buffer_decl((16,), "float32", data=p)
    P[0] = A[0]
    with T.LetStmt(n + 1) as x:
        A[x] = P[0]
    y = T.var("int32")
    with T.let(y, n + 2):
        A[y] = P[1]
    z = n * 2
    A[z] = 3.0
    z = n * 3
    A[z] = A.vload([0], "float32")
    T.evaluate(T.ret(0))
"""
    func = parse(text, check_well_formed=False)
    kinds = [type(s).__name__ for s in func.body.seq]
    assert kinds.count("Bind") == 4 and kinds.count("AllocBuffer") == kinds.count("DeclBuffer") == 1
    assert kinds[-1] == "Return"
    assert ir.structural_equal(parse(func.script(), check_well_formed=False), func)


def test_the_old_name_of_the_namespace() -> None:
    func = parse('@tir.prim_func\ndef f(A: tir.Buffer((4,), "float32")):\n    x = A[0]\n    A[1] = x\n')
    assert isinstance(func.body.seq[0], ir.Bind)
