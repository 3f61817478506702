"""Normal form, dead code, common values, constants, functions."""

from __future__ import annotations

import numpy as np
import pytest

from loopwright.errors import PassError
from loopwright.ir import GenericConst
from loopwright.ir.relax import DataflowBlock, DataflowVar
from loopwright.testing.graphs import evaluate
from loopwright.transform import get_pass

KEEPS = """
    @T.prim_func(private=True)
    def bump(y: T.Buffer((T.int64(2),), "float32")):
        for i in range(T.int64(2)):
            with T.sblock("y"):
                v = T.axis.spatial(T.int64(2), i)
                y[v] = y[v] + T.float32(1)

    @R.function(private=True)
    def unused(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = R.add(x, x)
        return y

    @R.function(private=True)
    def used(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = R.multiply(x, x)
        return y

    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Module
        dead = R.exp(x)
        y = cls.used(x)
        z = R.call_tir_inplace(cls.bump, (y,), inplace_indices=[0], out_ty=R.Tensor((2,), "float32"))
        return z
"""


def test_dead_code_goes_and_effects_stay(graphs):
    made = graphs.check(KEEPS, "DeadCodeElimination", entry_functions=["main"])
    assert sorted(g.name for g in made.functions) == ["bump", "main", "used"]
    assert graphs.calls(made) == ["used", "bump"]
    with pytest.raises(PassError, match="no function `nobody`"):
        get_pass("relax.DeadCodeElimination")(made, entry_functions=["nobody"])


def test_dead_code_inside_of_branches_and_functions(graphs):
    made = graphs.check(
        """
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        a = R.sin(x)
        u = R.cos(x)
        if c:
            d = R.exp(a)
            y = R.exp(x)
        else:
            y = R.sin(u)
        return y
""",
        "DeadCodeElimination",
        args=[np.array(True), np.ones(2, "float32")],
    )
    assert graphs.calls(made) == ["cos", "exp", "sin"]


def test_casts_stay(graphs):
    made = graphs.check(
        """
    @R.function
    def main(x: R.Tensor(ndim=1, dtype="float32")) -> R.Tensor(ndim=1, dtype="float32"):
        y = R.match_cast(x, R.Tensor((n,), "float32"))
        return x
""".replace("        y =", "        n = T.int64()\n        y ="),
        "DeadCodeElimination",
        args=[np.ones(3, "float32")],
    )
    assert len(made["main"].body.blocks[0].bindings) == 1


ALLOC = """
    @T.prim_func(private=True)
    def fill(v: T.float32, y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            y[i] = v

    @R.function(pure=False)
    def main() -> R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")):
        cls = Module
        p = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        q = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        cls.fill(R.prim_value(T.float32(1)), p)
        cls.fill(R.prim_value(T.float32(1)), q)
        return (p, q)
"""


def test_allocations_are_not_common(graphs):
    mod = graphs.module(ALLOC)
    made = get_pass("relax.EliminateCommonSubexpr")(mod)
    assert graphs.calls(made) == ["builtin.alloc_tensor", "builtin.alloc_tensor", "fill", "fill"]


COMMON = """
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")):
        a = R.exp(x)
        if c:
            b = R.exp(x)
            d = R.sin(b)
            e = R.sin(a)
            y = R.add(d, e)
        else:
            y = R.sin(a)
        z = R.sin(a)
        t = (z, y)
        u = (z, y)
        return (t, u)
"""


def test_common_values_within_their_scope(graphs):
    args = [np.array(True), np.ones(2, "float32")]
    made = graphs.check(COMMON, "EliminateCommonSubexpr", args=args)
    assert graphs.calls(made) == ["exp", "sin", "add", "sin", "sin"]
    made = graphs.check(COMMON, "EliminateCommonSubexpr", args=args, call_only=True)
    assert len(made["main"].body.blocks[-1].bindings) >= 3


def test_names_of_one_value(graphs):
    made = graphs.check(
        """
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            n = T.int64()
            c = R.match_cast(x, R.Tensor((n, 3), "float32"))
            t = (c, c)
            a = t[0]
            b = R.exp(a)
            s = R.split(b, 3, axis=1)
            p = s[0]
            q = s[1]
            r = s[2]
            u = (p, q, r)
            d = b
            R.output(d, u)
        return (d, u)
""",
        "CanonicalizeBindings",
    )
    assert graphs.calls(made) == ["exp", "split"]
    block = made["main"].body.blocks[0]
    assert isinstance(block, DataflowBlock)
    names = [b.var.name for b in block.bindings]
    assert "d" in names and "c" not in names


def test_blocks_of_dataflow(graphs):
    text = """
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")):
        a = R.exp(x)
        b = R.sin(a)
        if c:
            y = R.exp(b)
        else:
            y = b
        z = R.sin(y)
        return z
"""
    args = [np.array(True), np.ones(2, "float32")]
    made = graphs.check(text, "ConvertToDataflow", args=args)
    kinds = [type(b).__name__ for b in made["main"].body.blocks]
    assert kinds == ["DataflowBlock", "BindingBlock"]
    assert isinstance(made["main"].body.blocks[0].bindings[0].var, DataflowVar)
    made = graphs.check(text, "ConvertToDataflow", args=args, min_size=1)
    assert [type(b).__name__ for b in made["main"].body.blocks][-1] == "DataflowBlock"


def test_constants_are_folded(graphs):
    made = graphs.check(
        """
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            a = R.add(R.const([1.0, 2.0, 3.0], "float32"), R.const(1.0))
            b = R.concat((a, a), axis=0)
            s = R.split(b, 2)
            c = s[0]
            d = R.multiply(x, c)
            e = R.zeros(R.shape([2000]), "float32")
            out = (d, e)
            R.output(out)
        return out
""",
        "FoldConstant",
    )
    assert graphs.calls(made) == ["multiply", "zeros"]
    assert any(isinstance(b.value, GenericConst) for b in made["main"].body.blocks[0].bindings)


def test_shapes_from_tensors_are_folded(graphs):
    text = """
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor(ndim=2, dtype="float32"):
        k = R.concat((R.const([3], "int64"), R.const([2], "int64")), axis=0)
        s = R.tensor_to_shape(k)
        y = R.reshape(x, s)
        z = R.add(y, R.const(1, "float32"))
        return z

    @R.function
    def own(x: R.Tensor((2, 3), "float32")) -> R.Tensor(ndim=2, dtype="float32"):
        t = R.shape_to_tensor(R.shape_of(x))
        s = R.tensor_to_shape(t)
        y = R.reshape(x, s)
        z = R.add(y, R.const(1, "float32"))
        return z
"""
    made = graphs.check(text, "FoldConstant")
    for name in ("main", "own"):
        assert made[name].body.blocks[-1].bindings[-1].var.ty.sizes is not None
    legal = get_pass("relax.LegalizeOps")(made)
    assert [w.rstrip("1") for w in graphs.calls(legal, "own")] == ["reshape", "add"]


def test_kernels_are_folded_by_the_evaluator_given(graphs):
    text = """
    @R.function
    def main():
        with R.dataflow():
            a = R.exp(R.const([1.0, 2.0], "float32"))
            R.output(a)
        return a
"""
    seen = []

    def run(kernel, args):
        seen.append(kernel)
        args[-1][...] = 7

    legal = get_pass("relax.LegalizeOps")(graphs.module(text))
    made = get_pass("relax.FoldConstant")(legal, evaluator=run)
    assert len(seen) == 1
    np.testing.assert_array_equal(evaluate(made), [7, 7])


CLOSURES = """
    @R.function
    def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")):
        @R.function
        def outer(a: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            @R.function
            def inner(b: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                c = R.add(R.subtract(b, a), y)
                return c
            d = inner(x)
            return d

        @R.function
        def alone(a: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            b = R.exp(a)
            return b

        e = outer(y)
        f = alone(e)
        return f
"""


def test_local_functions_are_lifted(graphs):
    made = graphs.check(CLOSURES, "LambdaLift")
    assert len(made.functions) == 4
    assert "make_closure" in graphs.calls(made)


def test_sizes_are_captured(graphs):
    made = graphs.check(
        """
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        @R.function
        def inner(a: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
            z = R.zeros(R.shape([n]), "float32")
            b = R.add(a, z)
            return b
        y = inner(x)
        return y
""",
        "LambdaLift",
    )
    assert len(made.functions) == 2


def test_private_functions_are_inlined(graphs):
    made = graphs.check(
        """
    @R.function(private=True)
    def f(x: R.Tensor(("n", "m"), "float32")):
        y = R.exp(x)
        return y

    @R.function(private=True)
    def g(x: R.Tensor(("n", "m"), "float32"), t: R.Tuple(R.Tensor(("n", "m"), "float32"))):
        cls = Module
        y = cls.f(x)
        z = R.add(y, t[0])
        return z

    @R.function
    def main(x: R.Tensor((2, "k"), "float32")):
        cls = Module
        with R.dataflow():
            y = cls.g(x, (x,))
            z = cls.g(y, (x,))
            R.output(z)
        return z
""",
        "InlinePrivateFunctions",
    )
    assert len(made.functions) == 1 and len(made["main"].body.blocks) == 1
    assert graphs.calls(made) == ["exp", "add", "exp", "add"]


def test_recursive_functions_are_not_inlined(graphs):
    mod = graphs.module(
        """
    @R.function(private=True)
    def f(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Module
        y = cls.f(x)
        return y

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Module
        y = cls.f(x)
        return y
"""
    )
    assert get_pass("relax.InlinePrivateFunctions")(mod) is mod
