"""Parameters: bound, bundled, lifted, loaded one by one; signatures of private functions."""

from __future__ import annotations

import numpy as np
import pytest

from loopwright.errors import PassError
from loopwright.ir.analysis import assert_well_formed
from loopwright.runtime import register_func
from loopwright.testing.graph_inputs import arguments
from loopwright.testing.graphs import evaluate
from loopwright.transform import get_pass

MODEL = """
    @R.function
    def main(
        x: R.Tensor((2, 3), "float32"),
        w1: R.Tensor(("m", 3), "float32"),
        w2: R.Tensor(("m",), "float32"),
        w3: R.Tensor(("m",), "float32"),
    ):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            t = R.permute_dims(w1)
            s = R.add(w2, w3)
            y = R.matmul(x, t)
            z = R.add(y, s)
            u = R.add(z, w3)
            R.output(u)
        return u
"""


def run(name, mod, **options):
    made = get_pass(f"relax.{name}")(mod, **options)
    assert_well_formed(made)
    return made


def test_parameters_are_bound(graphs):
    mod = graphs.module(MODEL)
    x, w1, w2, w3 = arguments(mod["main"])
    want = evaluate(mod, x, w1, w2, w3)
    made = run("BindParams", mod, func_name="main", params={"w1": w1, mod["main"].params[3]: w3})
    assert [p.name for p in made["main"].params] == ["x", "w2"]
    assert int(made["main"].params[1].ty.sizes[0]) == len(w2)
    graphs.same(evaluate(made, x, w2), want)
    with pytest.raises(PassError, match="no parameter `w4`"):
        run("BindParams", mod, func_name="main", params={"w4": w1})


def test_sizes_are_bound(graphs):
    mod = graphs.module(MODEL)
    made = run("BindSymbolicVars", mod, binding_map={"m": 5})
    assert int(made["main"].body.ty.sizes[1]) == 5
    args = arguments(made["main"])
    graphs.same(evaluate(made, *args), evaluate(mod, *args))
    with pytest.raises(PassError, match="the size `k`"):
        run("BindSymbolicVars", mod, binding_map={"k": 5})


def test_weights_are_bundled(graphs):
    mod = graphs.module(MODEL)
    x, *weights = arguments(mod["main"])
    made = run("BundleModelParams", mod, param_tuple_name="weights")
    assert [p.name for p in made["main"].params] == ["x", "weights"]
    graphs.same(evaluate(made, x, tuple(weights)), evaluate(mod, x, *weights))


@pytest.mark.parametrize("shared", [False, True])
def test_what_weights_give_is_lifted(graphs, shared):
    mod = graphs.module(MODEL)
    x, *weights = arguments(mod["main"])
    made = run("LiftTransformParams", mod, shared_transform=shared)
    assert graphs.calls(made) == ["matmul", "add", "add"]
    name = "transform_params" if shared else "main_transform_params"
    early = evaluate(made, tuple(weights), name=name)
    graphs.same(evaluate(made, x, *early), evaluate(mod, x, *weights))


def test_lifting_stops_where_it_is_told(graphs):
    text = MODEL.replace(
        "s = R.add(w2, w3)", "p = R.builtin.stop_lift_params(w2)\n            s = R.add(p, w3)"
    )
    made = run("LiftTransformParams", graphs.module(text))
    assert "permute_dims" not in graphs.calls(made) and "add" in graphs.calls(made)


def test_weights_are_asked_for(graphs):
    mod = graphs.module(MODEL)
    x, *weights = arguments(mod["main"])
    asked = []

    def get(i, name):
        asked.append(name)
        return weights[i]

    made = run("LazyGetInput", mod)
    graphs.same(evaluate(made, x, get), evaluate(mod, x, *weights))
    assert asked == ["w1", "w2", "w3"]


def test_results_are_handed_out(graphs):
    mod = graphs.module(MODEL)
    x, *weights = arguments(mod["main"])
    got = {}
    made = run("LazySetOutput", mod)
    assert evaluate(made, x, lambda i, v: got.update({i: v}) or (), *weights) == ()
    graphs.same(got[0], evaluate(mod, x, *weights))


def test_weights_are_transformed_one_by_one(graphs):
    mod = graphs.module(MODEL)
    x, *weights = arguments(mod["main"])
    lifted = run("LiftTransformParams", mod)
    want = evaluate(lifted, tuple(weights), name="main_transform_params")
    made = run("LazyTransformParams", lifted, fget_item="test.get_item", fset_item="test.set_item")
    got = {}
    register_func("test.get_item", lambda i: weights[int(i)], override=True)
    register_func("test.set_item", lambda i, v: got.update({int(i): v}), override=True)
    evaluate(made, name="main_transform_params")
    graphs.same(tuple(np.asarray(got[i]) for i in range(len(want))), want)


SIGNATURES = """
    @R.function(private=True)
    def f(t: R.Tuple(R.Tensor(("n",), "float32"), R.Tensor(("m",), "float32")), u: R.Tensor(("k",), "float32")):
        a = t[0]
        b = R.add(a, a)
        c = R.exp(a)
        s = R.zeros(R.shape([k]), "float32")
        out = (b, c, s)
        return out

    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")):
        cls = Module
        r = cls.f((x, y), y)
        p = r[0]
        q = r[2]
        return (p, q)
"""


def test_tuples_are_taken_apart(graphs):
    made = graphs.check(SIGNATURES, "ExpandTupleArguments")
    assert [p.name for p in made["f"].params] == ["t_0", "t_1", "u"]


def test_unused_parameters_are_gone(graphs):
    made = graphs.check(
        get_pass("relax.ExpandTupleArguments")(graphs.module(SIGNATURES)), "CanonicalizeBindings"
    )
    made = graphs.check(made, "DeadCodeElimination")
    made = graphs.check(made, "RemoveUnusedParameters")
    assert [p.name for p in made["f"].params] == ["t_0", "sizes"]


def test_unused_results_are_gone(graphs):
    made = graphs.check(SIGNATURES, "RemoveUnusedOutputs")
    assert len(made["f"].ret_ty.fields_) == 2
