"""The programs that tensor expressions become, as script."""

from __future__ import annotations

import numpy as np
import pytest

import loopwright
from loopwright import te
from loopwright.ir import Add, Call, IRModule, check_well_formed, explain_difference, find
from loopwright.script import tirx as T


def same(func, text):
    """The function is what the text says; it is well formed, and its own text says it too."""
    wanted = loopwright.parse(text)
    assert explain_difference(func, wanted) is None, explain_difference(func, wanted)
    assert check_well_formed(IRModule({"main": func})) == []
    assert loopwright.parse(func.script()).script() == func.script()


def test_a_matrix_product():
    a, b = te.placeholder((4, 5), name="A"), te.placeholder((5, 6), name="B")
    k = te.reduce_axis((0, 5), "k")
    c = te.compute((4, 6), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    same(
        te.create_prim_func([a, b, c]),
        """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4, 5), "float32"), B: T.Buffer((5, 6), "float32"), C: T.Buffer((4, 6), "float32")):
    T.func_attr({"tirx.noalias": True})
    for i, j, k in T.grid(4, 6, 5):
        with T.sblock("C"):
            v_i, v_j, v_k = T.axis.remap("SSR", [i, j, k])
            T.reads(A[v_i, v_k], B[v_k, v_j])
            T.writes(C[v_i, v_j])
            with T.init():
                C[v_i, v_j] = T.float32(0)
            C[v_i, v_j] = C[v_i, v_j] + A[v_i, v_k] * B[v_k, v_j]
""",
    )


def test_a_chain_with_a_buffer_between_and_names_used_twice():
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: a[i] * 2.0, name="X")
    c = te.compute((4,), lambda i: b[i] + 1.0, name="X")
    same(
        te.create_prim_func([a, c]),
        """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4,), "float32"), X: T.Buffer((4,), "float32")):
    T.func_attr({"tirx.noalias": True})
    X_1 = T.sblock_alloc_buffer((4,))
    for i in range(4):
        with T.sblock("X"):
            v_i = T.axis.spatial(4, i)
            X_1[v_i] = A[v_i] * T.float32(2)
    for i in range(4):
        with T.sblock("X_1"):
            v_i = T.axis.spatial(4, i)
            X[v_i] = X_1[v_i] + T.float32(1)
""",
    )


def test_several_outputs_share_their_loops_and_a_reduction_shares_its_block():
    n = te.var("n")
    a = te.placeholder((n,), "int32", "A")
    b0, b1 = te.compute((n,), lambda i: (a[i] + 1, a[i] * 2), name="B")
    k = te.reduce_axis((0, n), "k")
    both = te.comm_reducer(
        lambda x, y: (x[0] + y[0], x[1] * y[1]), lambda s, t: (te.const(0, s), te.const(1, t)), "both"
    )
    c0, c1 = te.compute((), lambda: both((b0[k], b1[k]), axis=k), name="C")
    same(
        te.create_prim_func([a, b1, c0, c1]),
        """
@T.prim_func(s_tir=True)
def main(
    A: T.Buffer(("n",), "int32"),
    B_v1: T.Buffer(("n",), "int32"),
    C_v0: T.Buffer((), "int32"),
    C_v1: T.Buffer((), "int32"),
):
    T.func_attr({"tirx.noalias": True})
    n = T.int32()
    B_v0 = T.sblock_alloc_buffer((n,), "int32")
    for i in range(n):
        with T.sblock("B_v0"):
            v_i = T.axis.spatial(n, i)
            B_v0[v_i] = A[v_i] + 1
        with T.sblock("B_v1"):
            v_i = T.axis.spatial(n, i)
            B_v1[v_i] = A[v_i] * 2
    for k in range(n):
        with T.sblock("C"):
            v_k = T.axis.reduce(n, k)
            with T.init():
                C_v0[()] = 0
                C_v1[()] = 1
            v_C_v0: T.let[T.int32] = C_v0[()] + B_v0[v_k]
            v_C_v1: T.let[T.int32] = C_v1[()] * B_v1[v_k]
            C_v0[()] = v_C_v0
            C_v1[()] = v_C_v1
""",
    )


def test_an_axis_that_depends_on_another_stands_in_a_block_inside():
    x = te.placeholder((8, 8), name="x")

    def rows(i):
        r = te.reduce_axis((0, i + 1), "r")
        return te.sum(x[i, r], axis=r)

    same(
        te.create_prim_func([x, te.compute((8,), rows, name="y")]),
        """
@T.prim_func(s_tir=True)
def main(x: T.Buffer((8, 8), "float32"), y: T.Buffer((8,), "float32")):
    T.func_attr({"tirx.noalias": True})
    for i in range(8):
        with T.sblock("y_l1"):
            v_i = T.axis.spatial(8, i)
            T.reads(x[v_i, 0 : v_i + 1])
            T.writes(y[v_i])
            for r in range(v_i + 1):
                with T.sblock("y"):
                    v_i_1 = T.axis.spatial((v_i, v_i + 1), v_i)
                    v_r = T.axis.reduce(v_i + 1, r)
                    T.reads(x[v_i_1, v_r])
                    T.writes(y[v_i_1])
                    with T.init():
                        y[v_i_1] = T.float32(0)
                    y[v_i_1] = y[v_i_1] + x[v_i_1, v_r]
""",
    )


def test_a_single_element_has_an_axis_of_one():
    a, b = te.placeholder((), "int32", "a"), te.placeholder((), "int32", "b")
    same(
        te.create_prim_func([a, b, te.compute((), lambda: a() + b(), name="c")]),
        """
@T.prim_func(s_tir=True)
def main(a: T.Buffer((), "int32"), b: T.Buffer((), "int32"), c: T.Buffer((), "int32")):
    T.func_attr({"tirx.noalias": True})
    with T.sblock("root"):
        T.reads()
        T.writes()
        with T.sblock("c"):
            vi = T.axis.spatial(1, 0)
            c[()] = a[()] + b[()]
""",
    )


def test_the_condition_and_the_start_of_a_reduction_count():
    a, b = te.placeholder((4, 8), "int32", "A"), te.placeholder((4,), "int32", "B")
    k = te.reduce_axis((0, 8), "k")
    c = te.compute((4,), lambda i: te.sum(a[i, k], axis=k, where=k % 2 == 0, init=b[i]), name="C")
    func = te.create_prim_func([a, b, c])
    x, start = np.arange(32, dtype="int32").reshape(4, 8), np.arange(4, dtype="int32")
    out = np.zeros(4, "int32")
    func.interpret(x, start, out)
    np.testing.assert_array_equal(out, start + x[:, ::2].sum(1))
    compiled = np.zeros(4, "int32")
    func(x, start, compiled)
    np.testing.assert_array_equal(compiled, out)


def test_attributes_and_free_layouts():
    a, b = te.placeholder((4,), name="A"), te.placeholder((4,), name="B")
    c = te.compute(
        (4,), lambda i: a[i] + b[i], name="C", attrs={"layout_free_placeholders": [b], "rule": "x"}
    )
    d = te.compute((4,), lambda i: c[i] + b[i], name="D", attrs={"layout_free_placeholders": [c, b]})
    same(
        te.create_prim_func([a, b, d]),
        """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), D: T.Buffer((4,), "float32")):
    T.func_attr({"tirx.noalias": True, "layout_free_buffers": [1]})
    C = T.sblock_alloc_buffer((4,))
    for i in range(4):
        with T.sblock("C"):
            v_i = T.axis.spatial(4, i)
            T.sblock_attr({"rule": "x"})
            C[v_i] = A[v_i] + B[v_i]
    for i in range(4):
        with T.sblock("D"):
            v_i = T.axis.spatial(4, i)
            T.sblock_attr({"layout_free_placeholders": [C]})
            D[v_i] = C[v_i] + B[v_i]
""",
    )


def test_an_extern_operation_is_a_block_of_its_statements():
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: a[i] + 1.0, name="B")
    c = te.extern(
        (4,), [a, b], lambda i, o: T.call_extern("int32", "f", i[0].data, i[1].data, o[0].data), name="C"
    )
    d = te.compute((4,), lambda i: c[i], name="D")
    func = te.create_prim_func([a, d])
    assert check_well_formed(IRModule({"main": func})) == []
    assert [c.args[0].value for c in find(func, Call) if c.op.name == "tirx.call_extern"] == ["f"]
    assert func.params[0].elem_offset.name == "elem_offset"
    assert loopwright.parse(func.script()).script() == func.script()


@T.prim_func
def twice(x: T.handle, y: T.handle):
    n = T.int32()
    X = T.match_buffer(x, (n,))
    Y = T.match_buffer(y, (n,))
    for i in range(n):
        with T.sblock("twice"):
            vi = T.axis.spatial(n, i)
            Y[vi] = X[vi] * T.float32(2)


def test_a_function_of_script_is_an_operation_at_every_size():
    a = te.placeholder((6,), name="A")
    four = te.extern_primfunc([te.extern_primfunc([a], twice, name="two")], twice, name="four")
    b = te.compute((6,), lambda i: four[i] + 1.0, name="B")
    func = te.create_prim_func([a, b])
    assert check_well_formed(IRModule({"main": func})) == []
    x, out = np.arange(6, dtype="float32"), np.zeros(6, "float32")
    func.interpret(x, out)
    np.testing.assert_array_equal(out, 4 * x + 1)


def test_scalars_are_parameters():
    n, scale = te.var("n"), te.var("scale", "float32")
    a = te.placeholder((n,), name="A")
    func = te.create_prim_func([a, scale, te.compute((n,), lambda i: a[i] * scale, name="B")])
    x, out = np.arange(3, dtype="float32"), np.zeros(3, "float32")
    func.interpret(x, 3.0, out)
    np.testing.assert_array_equal(out, 3 * x)
    with pytest.raises(ValueError, match="which nothing defines"):
        te.create_prim_func([a, te.compute((n,), lambda i: a[i] * scale, name="B")])


def test_values_of_an_index_dtype_keep_theirs():
    n = te.var("n")
    a = te.placeholder((n,), "int32", "A")
    b = te.compute((n,), lambda i: a[i] * n + i, name="B")
    text = te.create_prim_func([a, b], index_dtype_override="int64").script()
    assert 'T.Cast("int32", T.Cast("int64", A[v_i]) * n + v_i)' in text


def test_no_operation_and_no_parameter():
    a = te.placeholder((4,), name="A")
    same(
        te.create_prim_func([a]),
        """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4,), "float32")):
    T.func_attr({"tirx.noalias": True})
    T.evaluate(0)
""",
    )
    assert te.create_prim_func([]).params == ()


def test_values_wrap_as_they_were_written():
    a = te.placeholder((2,), "int32", "A")
    b = te.compute((2,), lambda i: a[i] * 2 // 2, name="B")
    x, out = np.array([2**30, 3], "int32"), np.zeros(2, "int32")
    te.create_prim_func([a, b]).interpret(x, out)
    np.testing.assert_array_equal(out, [-(2**30), 3])


def test_a_long_chain_of_tensors():
    t = a = te.placeholder((2,), name="A")
    for _ in range(300):
        t = te.compute((2,), lambda i, t=t: t[i] + 1.0, name="B")
    x, out = np.zeros(2, "float32"), np.zeros(2, "float32")
    te.create_prim_func([a, t]).interpret(x, out)
    np.testing.assert_array_equal(out, [300, 300])


def test_a_deep_expression():
    a = te.placeholder((2,), "int32", "A")

    def deep(i):
        value = a[i]
        for n in range(1000):
            value = te.if_then_else(a[i] < n, value, a[i] + n)
        return value

    func = te.create_prim_func([a, te.compute((2,), deep, name="B")])
    assert find(func, Add)
