"""Copies that threads share, permuted rows and registers of fragments: programs compute the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopwright.errors import PassError
from loopwright.ir import For, IRModule, check_well_formed, walk
from loopwright.script import parse
from loopwright.testing.results import assert_same_results
from loopwright.transform import get_pass


def module(text):
    return IRModule.from_expr(parse(text))


def run(mod, name):
    new = get_pass(name)(mod)
    assert check_well_formed(new) == []
    return new


@st.composite
def shared_copies(draw):
    """A tile that goes to shared memory and back, in orders, with threads and vectors as drawn."""
    rows, columns = draw(st.sampled_from([(4, 8), (3, 8), (5, 6), (1, 3)]))
    threads = draw(
        st.dictionaries(st.sampled_from("xyz"), st.sampled_from([1, 2, 3]), min_size=1, max_size=2)
    )
    marks = {"auto_copy": True}
    size = draw(st.sampled_from([None, 4, 16]))
    if size is not None:
        marks["vector_bytes"] = size
    if draw(st.booleans()):
        marks["local_stage"] = True
    lines = [
        "@T.prim_func(s_tir=True)",
        f"def main(A: T.Buffer(({rows}, {columns}), 'float32'), C: T.Buffer(({rows}, {columns}), 'float32')):",
        "    with T.sblock('root'):",
        "        T.reads()",
        "        T.writes()",
        f"        T.sblock_attr({{'warp_execution': {not draw(st.integers(0, 5))}}})",
    ]
    depth = 2
    for axis, extent in threads.items():
        lines.append(
            "    " * depth + f"for t{axis} in T.thread_binding({extent}, thread='threadIdx.{axis}'):"
        )
        depth += 1
    pad = "    " * depth
    turned = draw(st.booleans())
    shape = (columns, rows) if turned else (rows, columns)
    at = "j, i" if turned else "i, j"
    loops = [f"for i, j in T.grid({rows}, {columns}):", f"for j, i in T.grid({columns}, {rows}):"]
    lines += [pad + "with T.sblock(''):", pad + f"    S = T.sblock_alloc_buffer({shape}, scope='shared')"]
    sum_ = draw(st.sampled_from(["A[i, j]", "A[i, j] + A[0, j]"]))
    for target, source in ((f"S[{at}]", sum_), ("C[i, j]", f"S[{at}]")):
        lines += [pad + "    with T.sblock('copy'):"]
        if draw(st.integers(0, 3)):
            lines += [pad + f"        T.sblock_attr({marks})"]
        lines += [pad + f"        {draw(st.sampled_from(loops))}", pad + f"            {target} = {source}"]
    return module("\n".join(lines)), (rows, columns)


@settings(max_examples=30)
@given(shared_copies())
def test_copies_shared_among_threads_copy_all(drawn):
    mod, shape = drawn
    new = run(mod, "s_tir.LowerAutoCopy")
    a = np.arange(shape[0] * shape[1], dtype="float32").reshape(shape)
    assert_same_results(mod, new, a, np.zeros(shape, "float32"))
    if '"auto_copy"' in mod.script():
        assert any(n.thread_binding is not None for n in walk(new) if isinstance(n, For))
    assert run(new, "s_tir.LowerAutoCopy").script() == new.script()


def test_rows_are_padded_until_threads_use_different_banks():
    text = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((32, 32), "float32"), C: T.Buffer((32, 32), "float32")):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        with T.sblock(""):
            S = T.sblock_alloc_buffer((32, 32), scope="shared")
            with T.sblock("in"):
                T.sblock_attr({"auto_copy": True})
                for i, j in T.grid(32, 32):
                    S[PLACE] = A[i, j]
            with T.sblock("out"):
                T.sblock_attr({"auto_copy": True})
                for i, j in T.grid(32, 32):
                    C[i, j] = S[i, j]
"""
    for place, stride in (("i, j", 32), ("j, i", 33)):
        new = run(module(text.replace("PLACE", place)), "s_tir.LowerAutoCopy")
        assert f"strides=({stride}, 1)" in new.script()


@pytest.mark.parametrize(
    "body, message",
    [
        ("for i in range(n):\n                    S[i] = A[i]", "constant extent"),
        ("S[0] = A[0]\n                S[1] = A[1]", "no store in loops"),
        ("for i in range(4):\n                    A[i] = T.float32(1)", "no copy from `nothing` to `global`"),
    ],
)
def test_what_is_no_copy_is_refused(body, message):
    mod = module(f"""
@T.prim_func(s_tir=True)
def main(A: T.Buffer((32,), "float32"), n: T.int32):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        with T.sblock("root"):
            S = T.sblock_alloc_buffer((32,), scope="shared")
            with T.sblock("copy"):
                T.sblock_attr({{"auto_copy": True}})
                {body}
""")
    with pytest.raises(PassError, match=message) as info:
        get_pass("s_tir.LowerAutoCopy")(mod)
    assert info.value.code == "auto-copy"
    assert info.value.diagnostics[0].span is not None


@settings(max_examples=12)
@given(st.sampled_from([32, 64, 128]), st.sampled_from([3, 8, 9]), st.booleans())
def test_permuted_rows_hold_the_same(columns, rows, turned):
    use = "C[j, i] = B[i, j]" if turned else "C[i, j] = B[i, j]"
    shape = (columns, rows) if turned else (rows, columns)
    mod = module(f"""
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({rows}, {columns}), "float16"), C: T.Buffer({shape}, "float16")):
    B = T.sblock_alloc_buffer(({rows}, {columns}), "float16", scope="shared")
    for i, j in T.grid({rows}, {columns}):
        with T.sblock("load"):
            T.sblock_attr({{"permuted_layout": 1}})
            B[i, j] = A[i, j]
    for i, j in T.grid({rows}, {columns}):
        with T.sblock("use"):
            T.sblock_attr({{"permuted_layout": 1}})
            {use}
""")
    new = run(mod, "s_tir.InjectPermutedLayout")
    a = np.arange(rows * columns, dtype="float16").reshape(rows, columns)
    assert_same_results(mod, new, a, np.zeros(shape, "float16"))


@pytest.mark.parametrize("columns, marks, message", [(48, "1", "rows of `B`"), (64, "0", "in some blocks")])
def test_layouts_that_cannot_be_permuted_are_refused(columns, marks, message):
    mod = module(f"""
@T.prim_func(s_tir=True)
def main(C: T.Buffer((8, {columns}), "float16")):
    B = T.sblock_alloc_buffer((8, {columns}), "float16", scope="shared")
    for i, j in T.grid(8, {columns}):
        with T.sblock("load"):
            T.sblock_attr({{"permuted_layout": 1}})
            B[i, j] = T.float16(1)
    for i, j in T.grid(8, {columns}):
        with T.sblock("use"):
            T.sblock_attr({{"permuted_layout": {marks}}})
            C[i, j] = B[i, j]
""")
    with pytest.raises(PassError, match=message) as info:
        get_pass("s_tir.InjectPermutedLayout")(mod)
    assert info.value.code == "permuted-layout"


def test_each_thread_holds_its_part_of_a_fragment():
    """Threads that fill and read the elements they own see what they wrote, in registers of a tile's size."""
    mod = module("""
@T.prim_func(s_tir=True)
def main(C: T.Buffer((32, 16), "float32")):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        with T.sblock("root"):
            M = T.sblock_alloc_buffer((32, 16), scope="m16n8k8.matrixC")
            for i, j, v in T.grid(4, 2, 2):
                with T.sblock("fill"):
                    M[i * 8 + tx // 4, j * 8 + tx % 4 * 2 + v] = T.Cast("float32", i * 1000 + j * 100 + v * 50 + tx)
            for i, j, v in T.grid(4, 2, 2):
                with T.sblock("store"):
                    C[i * 8 + tx // 4, j * 8 + tx % 4 * 2 + v] = M[i * 8 + tx // 4, j * 8 + tx % 4 * 2 + v]
""")
    new = run(mod, "s_tir.TransformMmaBufferLayout")
    assert "(2, 2, 2, 2)" in new.script() and 'scope="local"' in new.script()
    assert_same_results(mod, new, np.zeros((32, 16), "float32"))


def test_fragments_of_different_shapes_are_refused():
    text = """
@T.prim_func
def main(A: T.Buffer((256,), "float16")):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        X = T.alloc_buffer((256,), "float16", scope="wmma.matrix_a")
        Y = T.alloc_buffer((256,), "float16", scope="wmma.matrix_b")
        Z = T.alloc_buffer((256,), "float32", scope="wmma.accumulator")
        T.tvm_fill_fragment(Z.data, 16, 16, 16, 0, T.float32(0))
        T.tvm_load_matrix_sync(X.data, SHAPE, 0, T.address_of(A[0]), 16, "row_major")
        T.tvm_load_matrix_sync(Y.data, 16, 16, 16, 0, T.address_of(A[0]), 16, "col_major")
        T.tvm_mma_sync(Z.data, 0, X.data, 0, Y.data, 0, Z.data, 0)
"""
    new = run(module(text.replace("SHAPE", "16, 16, 16")), "s_tir.InferFragment")
    assert new.script().count('"fragment_shape": "16, 16, 16"') == 3
    assert new.script().count('"fragment_layout": "col_major"') == 1
    with pytest.raises(PassError, match="cannot be multiplied"):
        get_pass("s_tir.InferFragment")(module(text.replace("SHAPE", "32, 8, 16")))
