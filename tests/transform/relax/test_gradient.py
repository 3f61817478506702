"""Gradients against finite differences; half precision."""

from __future__ import annotations

import numpy as np
import pytest

from loopwright.errors import PassError
from loopwright.ir.analysis import assert_well_formed
from loopwright.testing.graphs import evaluate
from loopwright.transform import get_pass

HEAD = """
    @R.function
    def main(x: R.Tensor((3, 4), "float64"), w: R.Tensor((4, 5), "float64"), b: R.Tensor((5,), "float64")):
        with R.dataflow():
"""
BODIES = {
    "dense": """
            p = R.matmul(x, w)
            q = R.add(p, b)
            r = R.tanh(q)
            s = R.sum(r)
            R.output(s)
        return s
""",
    "shared": """
            p = R.matmul(x, w)
            q = R.exp(p)
            r = R.multiply(q, p)
            s = R.sum(R.multiply(r, b))
            R.output(s)
        return s
""",
    "tuples": """
            c = R.split(x, 2, axis=1)
            d = c[0]
            e = c[1]
            f = R.concat((e, d), axis=1)
            t = (f, d)
            g = t[0]
            h = R.matmul(g, w)
            s = R.mean(R.add(R.sin(h), b))
            R.output(s)
        return s
""",
    "checkpoints": """
            start = R.grad.start_checkpoint(x)
            p = R.matmul(start, w)
            q = R.exp(p)
            r = R.sin(q)
            end = R.grad.end_checkpoint(r)
            s = R.sum(R.multiply(end, b))
            R.output(s)
        return s
""",
    "unused": """
            p = R.multiply(x, x)
            s = R.sum(p)
            R.output(s)
        return s
""",
}


@pytest.mark.parametrize("name", BODIES)
def test_gradients_are_those_of_finite_differences(graphs, name):
    mod = graphs.module(HEAD + BODIES[name])
    random = np.random.default_rng(0)
    args = [random.uniform(0.1, 0.9, s) for s in ((3, 4), (4, 5), (5,))]
    made = get_pass("relax.Gradient")(mod, func_name="main")
    assert_well_formed(made)
    value, grads = evaluate(made, *args, name="main_adjoint")
    graphs.same(value, evaluate(mod, *args))
    step = 1e-6
    for i, (arg, grad) in enumerate(zip(args, grads)):
        for place in np.ndindex(*arg.shape):
            moved = [a.copy() for a in args]
            moved[i][place] += step
            high = evaluate(mod, *moved)
            moved[i][place] -= 2 * step
            assert abs((high - evaluate(mod, *moved)) / (2 * step) - grad[place]) < 1e-5


def test_chosen_parameters_only(graphs):
    mod = graphs.module(HEAD + BODIES["dense"])
    made = get_pass("relax.Gradient")(mod, func_name="main", require_grads=mod["main"].params[1])
    assert len(made["main_adjoint"].ret_ty.fields_[1].fields_) == 1


def test_a_result_that_is_no_number_is_refused(graphs):
    mod = graphs.module(HEAD + "            p = R.matmul(x, w)\n            R.output(p)\n        return p\n")
    with pytest.raises(PassError, match="rank 0"):
        get_pass("relax.Gradient")(mod, func_name="main")


def test_products_take_half_precision(graphs):
    made = graphs.check(
        """
    @R.function
    def main(x: R.Tensor((3, 4), "float32"), w: R.Tensor((4, 5), "float32"), b: R.Tensor((5,), "float32")):
        with R.dataflow():
            p = R.matmul(x, w)
            q = R.nn.relu(p)
            r = R.multiply(q, R.const(2.0))
            s = R.add(r, b)
            t = R.matmul(q, R.permute_dims(w))
            out = (s, t)
            R.output(out)
        return out
""",
        "ToMixedPrecision",
    )
    assert graphs.calls(made) == [
        "astype",
        "astype",
        "matmul",
        "astype",
        "nn.relu",
        "multiply",
        "astype",
        "add",
        "permute_dims",
        "astype",
        "matmul",
    ]
