"""Algebraic rewritings."""

from __future__ import annotations

import numpy as np


def test_columns_are_taken_from_the_product(graphs):
    made = graphs.check(
        """
    @R.function
    def main(x: R.Tensor(("n", 3), "float32"), w: R.Tensor((3, 4), "float32"), i: R.Tensor((2,), "int64")):
        with R.dataflow():
            t = R.take(w, i, axis=1)
            y = R.matmul(x, t)
            R.output(y)
        return y
""",
        "ReorderTakeAfterMatmul",
    )
    assert graphs.calls(made) == ["matmul", "take"]


def test_transposition_follows_concatenation(graphs):
    made = graphs.check(
        """
    @R.function
    def main(a: R.Tensor((2, 3), "float32"), b: R.Tensor((4, 3), "float32")):
        with R.dataflow():
            x = R.permute_dims(a)
            y = R.permute_dims(b, axes=[1, 0])
            z = R.concat((x, y), axis=1)
            R.output(z)
        return z
""",
        "ReorderPermuteDimsAfterConcat",
    )
    assert graphs.calls(made) == ["concat", "permute_dims"]


SUM = """
    @R.function
    def main(x: R.Tensor(("n", 3), "float32"), a: R.Tensor((3, 4), "float32"), b: R.Tensor((3, 4), "float32")):
        {attr}
        with R.dataflow():
            w = R.add(a, b)
            y = R.matmul(x, w)
            R.output(y)
        return y
"""


def test_a_product_with_a_sum_is_expanded(graphs):
    made = graphs.check(SUM.format(attr=""), "ExpandMatmulOfSum")
    assert graphs.calls(made) == ["matmul", "matmul", "add"]


def test_a_sum_of_weights_stays(graphs):
    made = graphs.check(SUM.format(attr='R.func_attr({"num_input": 1})'), "ExpandMatmulOfSum")
    assert graphs.calls(made) == ["add", "matmul"]


def test_the_cheaper_product_comes_first(graphs):
    text = """
    @R.function
    def main(x: R.Tensor(("n", 64), "float32"), a: R.Tensor((64, 2), "float32"), b: R.Tensor((2, 64), "float32")):
        with R.dataflow():
            w = R.matmul(a, b)
            y = R.matmul(x, w)
            R.output(y)
        return y
"""
    made = graphs.check(text, "AdjustMatmulOrder")
    assert [str(s) for s in made["main"].body.blocks[0].bindings[0].var.ty.sizes[1:]] == [
        str(s) for s in made["main"].params[1].ty.sizes[1:]
    ]


def test_a_product_with_the_transposed_is_one_kernel(graphs):
    made = graphs.check(
        """
    @R.function
    def main(x: R.Tensor((2, "n", 3), "float32"), w: R.Tensor((4, 3), "float32")):
        with R.dataflow():
            t = R.permute_dims(w)
            y = R.matmul(x, t)
            R.output(y)
        return y
""",
        "FuseTransposeMatmul",
    )
    assert graphs.calls(made) == ["NT_matmul"]


PARALLEL = """
    @R.function
    def main(
        x: R.Tensor(("n", 3), "float32"),
        w0: R.Tensor((3, 4), "float32"),
        w1: R.Tensor((3, 2), "float32"),
        b0: R.Tensor((4,), "float32"),
        b1: R.Tensor((2,), "float32"),
    ):
        with R.dataflow():
            p = R.matmul(x, w0)
            q = R.matmul(x, w1)
            r = R.add(p, b0)
            s = R.add(q, b1)
            t = R.nn.relu(r)
            u = R.nn.{second}(s)
            out = (t, u)
            R.output(out)
        return out
"""


def test_parallel_products_are_combined_with_what_follows(graphs):
    made = graphs.check(PARALLEL.format(second="relu"), "CombineParallelMatmul")
    assert graphs.calls(made) == ["concat", "matmul", "concat", "add", "nn.relu", "split"]
    made = graphs.check(PARALLEL.format(second="silu"), "CombineParallelMatmul")
    assert graphs.calls(made) == ["concat", "matmul", "concat", "add", "split", "nn.relu", "nn.silu"]
    made = graphs.check(PARALLEL.format(second="relu"), "CombineParallelMatmul", check=lambda *a: False)
    assert "concat" not in graphs.calls(made)


def test_one_reshape_is_enough(graphs):
    made = graphs.check(
        """
    @R.function
    def main(x: R.Tensor((2, 3, 4), "float32")):
        with R.dataflow():
            a = R.reshape(x, (6, 4))
            b = R.reshape(a, (24,))
            c = R.reshape(b, (24,))
            R.output(c)
        return c
""",
        "RemoveRedundantReshape",
    )
    assert graphs.calls(made) == ["reshape"]


def test_batch_norm_goes_into_the_weights(graphs):
    from loopwright.ir.relax import tensor_constant
    from loopwright.transform import get_pass

    mod = graphs.module(
        """
    @R.function
    def main(
        x: R.Tensor((1, 3, 5, 5), "float32"),
        w: R.Tensor((4, 3, 3, 3), "float32"),
        g: R.Tensor((4,), "float32"),
        b: R.Tensor((4,), "float32"),
        m: R.Tensor((4,), "float32"),
        v: R.Tensor((4,), "float32"),
    ):
        with R.dataflow():
            c = R.nn.conv2d(x, w, padding=(1, 1))
            n = R.nn.batch_norm(c, g, b, m, v, axis=1, training=False)
            y = n[0]
            R.output(y)
        return y
"""
    )
    random = np.random.default_rng(0)
    values = {"w": (4, 3, 3, 3), "g": (4,), "b": (4,), "m": (4,), "v": (4,)}
    made = get_pass("relax.BindParams")(
        mod,
        func_name="main",
        params={k: tensor_constant(random.random(s).astype("float32")) for k, s in values.items()},
    )
    made = graphs.check(made, "FoldBatchnormToConv2D", rtol=1e-4)
    assert graphs.calls(made) == ["nn.conv2d", "add"]


def test_fast_mathematics_is_close(graphs):
    text = """
    @R.function
    def main(x: R.Tensor((9, 41), "float32")):
        with R.dataflow():
            y = R.{name}(x)
            R.output(y)
        return y
"""
    x = np.linspace(-9, 9, 369, dtype="float32").reshape(9, 41)
    for name in ("exp", "tanh", "erf"):
        made = graphs.check(text.format(name=name), "FastMathTransform", args=[x], rtol=1e-4)
        assert graphs.calls(made) == [f"fast_{name}"]
