"""Legalization and fusion."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest

from loopwright import te
from loopwright.errors import PassError
from loopwright.ir import PrimFunc, SBlock, Var, find
from loopwright.ir.analysis import assert_well_formed
from loopwright.ir.relax import BlockBuilder, Function, OpPattern, TensorType, get_op
from loopwright.ir.relax.dpl import is_op, wildcard
from loopwright.te import create_prim_func
from loopwright.testing.graph_inputs import arguments
from loopwright.testing.graphs import evaluate
from loopwright.transform import PassContext, get_pass
from loopwright.transform.relax.op_pattern import pattern_of

A, B = te.placeholder((4, 5), "float32", "A"), te.placeholder((5, 6), "float32", "B")
V, IDS = te.placeholder((5,), "float32", "V"), te.placeholder((3,), "int64", "IDS")
K = te.reduce_axis((0, 5), "k")
SUMS = te.compute((4,), lambda i: te.sum(A[i, K], axis=K), "sums")
KINDS = {
    "elements": ([A], te.compute((4, 5), lambda i, j: te.exp(A[i, j])), OpPattern.ELEMWISE),
    "a bias": ([A, V], te.compute((4, 5), lambda i, j: A[i, j] + V[j]), OpPattern.ELEMWISE),
    "a constant": ([], te.compute((4, 5), lambda i, j: te.const(1.0)), OpPattern.ELEMWISE),
    "broadcasting": ([V], te.compute((4, 5), lambda i, j: V[j]), OpPattern.BROADCAST),
    "transposing": ([A], te.compute((5, 4), lambda i, j: A[j, i]), OpPattern.INJECTIVE),
    "gathering": ([A, IDS], te.compute((3, 5), lambda i, j: A[IDS[i], j]), OpPattern.INJECTIVE),
    "a sum": ([A], SUMS, OpPattern.COMM_REDUCE),
    "a mean": ([A], te.compute((4,), lambda i: SUMS[i] / 5.0), OpPattern.OUT_FUSIBLE),
    "a product": (
        [A, B],
        te.compute((4, 6), lambda i, j: te.sum(A[i, K] * B[K, j], axis=K)),
        OpPattern.OUT_FUSIBLE,
    ),
    "windows": ([A], te.compute((4, 1), lambda i, j: te.sum(A[i, j + K], axis=K)), OpPattern.OUT_FUSIBLE),
}


@pytest.mark.parametrize("name", KINDS)
def test_kinds_of_kernels(name):
    inputs, output, kind = KINDS[name]
    assert pattern_of(create_prim_func([*inputs, output])) == kind


def fused(mod):
    for name in ("LegalizeOps", "AnnotateTIROpPattern", "FuseOps", "FuseTIR"):
        mod = get_pass(f"relax.{name}")(mod)
        assert_well_formed(mod)
    return mod


HEAD = """
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 4), "float32"), b: R.Tensor((4,), "float32")):
        with R.dataflow():
"""
GRAPHS = {
    "a chain": ("a = R.exp(x); b2 = R.sin(a); out = R.cos(b2)", ["fused_exp_sin_cos"]),
    "what follows a product": (
        "p = R.matmul(x, w); a = R.add(p, b); out = R.nn.relu(a)",
        ["fused_matmul_add_relu"],
    ),
    "what precedes a sum": ("a = R.exp(x); out = R.sum(a, axis=1)", ["fused_exp_sum"]),
    "what follows a sum stays": ("a = R.sum(x, axis=1); out = R.exp(a)", ["sum", "exp"]),
    "a diamond": ("a = R.exp(x); l = R.sin(a); r = R.cos(a); out = R.add(l, r)", ["fused_exp_sin_cos_add"]),
    "two users of a product": (
        "p = R.matmul(x, w); l = R.sin(p); r = R.cos(p); out = R.add(l, r)",
        ["fused_matmul_sin_cos_add"],
    ),
    "a product between": (
        "a = R.exp(x); p = R.matmul(a, w); out = R.add(p, a)",
        ["exp", "fused_matmul_add"],
    ),
    "pieces": (
        "s = R.split(x, 2, axis=1); l = s[0]; r = s[1]; out = R.add(l, r)",
        ["fused_split_add"],
    ),
    "transposing": (
        "a = R.exp(w); t = R.permute_dims(a); out = R.matmul(x, t)",
        ["fused_exp_transpose", "matmul"],
    ),
    "constants are operands": ("a = R.add(x, R.const(2.0)); out = R.exp(a)", ["fused_add_exp"]),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_what_is_fused(graphs, name):
    body, kernels = GRAPHS[name]
    lines = "".join(f"            {line.strip()}\n" for line in body.split(";"))
    mod = graphs.module(f"{HEAD}{lines}            R.output(out)\n        return out\n")
    made = fused(mod)
    assert graphs.calls(made) == kernels
    assert not any(isinstance(f, Function) and "Primitive" in f.attrs for f in made.functions.values())
    args = arguments(mod["main"])
    graphs.same(evaluate(made, *args), evaluate(mod, *args))


def test_the_number_of_fused_operators_is_bounded(graphs):
    mod = graphs.module(
        f"{HEAD}            a = R.exp(x)\n            b2 = R.sin(a)\n            c = R.cos(b2)\n            R.output(c)\n        return c\n"
    )
    with PassContext({"relax.FuseOps.max_depth": 2}):
        assert len(graphs.calls(fused(mod))) == 2
    legal = get_pass("relax.AnnotateTIROpPattern")(get_pass("relax.LegalizeOps")(mod))
    assert get_pass("relax.FuseOps")(legal, fuse_opt_level=0) is legal


def test_sizes_that_no_operand_gives_are_handed_over(graphs):
    mod = graphs.module(
        """
    @R.function
    def main(s: R.Shape(["n"])):
        with R.dataflow():
            z = R.zeros(R.shape([n]), "float32")
            c = R.exp(z)
            R.output(c)
        return c
"""
    )
    made = fused(mod)
    assert graphs.calls(made) == ["fused_zeros_exp"]
    graphs.same(evaluate(made, (3,)), np.ones(3, "float32"))


GROUP = """
    @T.prim_func(private=True)
    def scale(x: T.Buffer((T.int64(4),), "float32"), k: T.int64, y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.sblock("y"):
                v = T.axis.spatial(T.int64(4), i)
                y[v] = x[v] * T.Cast("float32", k)

    @T.prim_func(private=True)
    def twice(x: T.handle, y: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (n,), "float32")
        Y = T.match_buffer(y, (n,), "float32")
        for i in range(n):
            with T.sblock("y"):
                v = T.axis.spatial(n, i)
                Y[v] = X[v] + X[v]

    @R.function(private=True)
    def group(t: R.Tuple(R.Tensor((4,), "float32"), R.Tuple(R.Tensor((4,), "float32"))), s: R.Shape(["k"])):
        R.func_attr({"Primitive": True})
        cls = Module
        with R.dataflow():
            a = t[1]
            b = a[0]
            c = R.call_tir(cls.scale, (b, k), out_ty=R.Tensor((4,), "float32"))
            d = R.call_tir(cls.twice, (c,), out_ty=R.Tensor((4,), "float32"))
            R.output(d)
        return d

    @R.function
    def main(p: R.Tuple(R.Tensor((4,), "float32"), R.Tuple(R.Tensor((4,), "float32")))):
        cls = Module
        y = cls.group(p, R.shape([3]))
        return y
"""


def test_groups_with_tuples_and_scalars_become_kernels(graphs):
    made = graphs.check(GROUP, "FuseTIR")
    [kernel] = [f for f in made.functions.values() if isinstance(f, PrimFunc)]
    assert len(kernel.params) == 3  # the field used, the size, the result


def test_a_group_that_holds_operators_is_refused(graphs):
    with pytest.raises(PassError, match="calls no kernel"):
        get_pass("relax.FuseTIR")(
            graphs.module(
                """
    @R.function(private=True)
    def group(x: R.Tensor((4,), "float32")):
        R.func_attr({"Primitive": True})
        y = R.exp(x)
        return y

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = Module
        y = cls.group(x)
        return y
"""
            )
        )


def test_blocks_of_a_fused_kernel_have_names_of_their_own(graphs):
    mod = graphs.module(
        f"{HEAD}            a = R.exp(x)\n            c = R.exp(a)\n            R.output(c)\n        return c\n"
    )
    [kernel] = [f for f in fused(mod).functions.values() if isinstance(f, PrimFunc)]
    names = [b.name_hint for b in find(kernel.body, SBlock)]
    assert len(set(names)) == len(names)


def chain(count):
    bb = BlockBuilder()
    x, w = Var("x", TensorType((Var("n", "int64"), 16))), Var("w", TensorType((16, 16)))
    matmul, add, exp, relu = [get_op(f"relax.{n}") for n in ("matmul", "add", "exp", "nn.relu")]
    with bb.function("main", [x, w]):
        with bb.dataflow():
            v = x
            for _ in range(count // 5):
                p = bb.emit(matmul(v, w))
                e = bb.emit(exp(p))
                v = bb.emit(exp(bb.emit(add(bb.emit(relu(e)), e))))
            v = bb.emit_output(exp(v))
        bb.emit_func_output(v)
    return bb.get()


def test_a_thousand_operators_are_legalized_and_fused_in_time():
    fused(chain(50))  # what is loaded once
    mod = chain(1000)
    start = time.process_time()
    for name in ("LegalizeOps", "AnnotateTIROpPattern", "FuseOps", "FuseTIR"):
        mod = get_pass(f"relax.{name}")(mod)
    assert time.process_time() - start < 3
    assert len(mod.functions) == 3


# legalization


def test_rules_of_the_user_go_first(graphs):
    mod = graphs.module(
        f"{HEAD}            a = R.add(x, b)\n            c = R.exp(a)\n            R.output(c)\n        return c\n"
    )

    def rule(builder, call):
        return get_op("relax.subtract")(call.args[0], get_op("relax.negative")(call.args[1]))

    made = get_pass("relax.LegalizeOps")(
        mod, customize_legalize_map={"relax.add": rule}, skip_ops=["relax.exp"]
    )
    assert graphs.calls(made) == ["negative", "subtract", "exp"]
    assert [type(f).__name__ for f in made.functions.values()].count("PrimFunc") == 2
    args = arguments(mod["main"])
    graphs.same(evaluate(made, *args), evaluate(mod, *args))


def test_operators_of_unknown_shape_stay(graphs):
    made = graphs.check(
        """
    @R.function
    def main(x: R.Tensor(ndim=2, dtype="float32"), y: R.Tensor((2, 2), "float32")):
        a = R.exp(x)
        c = R.exp(y)
        return (a, c)
""",
        "LegalizeOps",
        args=[np.ones((3, 1), "float32"), np.ones((2, 2), "float32")],
    )
    assert graphs.calls(made) == ["exp", "exp"] and len(made.functions) == 2


def test_a_warning_names_operators_without_a_rule(graphs):
    mod = graphs.module(
        """
    @R.function
    def main(x: R.Tensor((2, 2), "float32")):
        a = R.shape_of(x)
        return a
"""
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        get_pass("relax.LegalizeOps")(mod, enable_warning=True)
    assert "relax.shape_of" in str(caught[0].message)


# by pattern

TWO = f"""{HEAD}
            p = R.matmul(x, w)
            q = R.exp(p)
            r = R.matmul(q, w)
            s = R.exp(r)
            t = R.add(s, p)
            R.output(t)
        return t
"""
PATTERN = ("ext.mmexp", is_op("relax.exp")(is_op("relax.matmul")(wildcard(), wildcard())))


def test_patterns_are_fused_and_regions_merged(graphs):
    made = graphs.check(TWO, "FuseOpsByPattern", patterns=[PATTERN, ("ext.add", "add(_, _)")])
    assert sum("Composite" in f.attrs for f in made.functions.values()) == 3
    made = graphs.check(made, "MergeCompositeFunctions")
    [region] = [f for f in made.functions.values() if "Codegen" in f.attrs]
    assert region.attrs["Codegen"] == "ext" and len(find(region, Function)) == 4
    assert len(graphs.calls(made)) == 1


def test_regions_do_not_need_each_other(graphs):
    made = graphs.check(
        TWO.replace("R.add(s, p)", "R.add(R.sin(s), p)"),
        "FuseOpsByPattern",
        patterns=[PATTERN, ("other.sin", "sin(_)"), ("ext.add", "add(_, _)")],
    )
    made = graphs.check(made, "MergeCompositeFunctions")
    assert sum("Codegen" in f.attrs for f in made.functions.values()) == 3


def test_a_match_that_would_need_itself_is_left(graphs):
    text = f"""{HEAD}
            p = R.exp(x)
            q = R.sin(p)
            t = R.add(p, q)
            R.output(t)
        return t
"""
    made = graphs.check(text, "FuseOpsByPattern", patterns=[("ext.x", "add(exp(_), _)")])
    assert len(made.functions) == 1


def test_checks_and_attributes(graphs):
    seen = []

    def check(context):
        seen.append(context)
        return False

    assert (
        len(
            graphs.check(
                TWO, "FuseOpsByPattern", patterns=[("ext.mm", "matmul(_, weight)", {}, check)]
            ).functions
        )
        == 1
    )
    assert [v.name for v in seen[0].matched_bindings] == ["r"] and seen[0].annotated_expr[
        "weight"
    ].name == "w"
    made = graphs.check(
        TWO,
        "FuseOpsByPattern",
        patterns=[("ext.mm", "matmul(_, weight)", {}, None, lambda found: {"note": len(found)})],
    )
    assert {f.attrs.get("note") for f in made.functions.values()} == {None, 1}


def test_constants_inside_or_as_operands(graphs):
    text = f"{HEAD}            a = R.add(x, R.const(2.0))\n            R.output(a)\n        return a\n"
    for bind in (True, False):
        made = graphs.check(
            text, "FuseOpsByPattern", patterns=[("ext.add", "add(_, const)")], bind_constants=bind
        )
        [group] = [f for f in made.functions.values() if "Composite" in f.attrs]
        assert len(group.params) == (1 if bind else 2)


def test_only_entry_functions(graphs):
    text = TWO + TWO.replace("def main", "def other")
    made = graphs.check(text, "FuseOpsByPattern", patterns=[PATTERN], entry_functions=["other"])
    assert "matmul" in graphs.calls(made) and "matmul" not in graphs.calls(made, "other")
    with pytest.raises(PassError, match="no function `nobody`"):
        get_pass("relax.FuseOpsByPattern")(made, patterns=[PATTERN], entry_functions=["nobody"])


def test_sizes_that_run_time_decides_get_names(graphs):
    text = """
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), k: R.Tensor((2,), "int64"), z: R.Tensor(ndim=2, dtype="float32")):
        s = R.tensor_to_shape(k)
        with R.dataflow():
            y = R.reshape(x, s)
            a = R.add(y, R.const(1.0))
            b = R.exp(z)
            c = R.sin(z)
            out = (a, b, c)
            R.output(out)
        return out
"""
    args = [np.ones((2, 3), "float32"), np.array([3, 2]), np.ones((1, 4), "float32")]
    made = graphs.check(text, "NameSizes", args=args)
    legal = get_pass("relax.LegalizeOps")(made)
    assert graphs.calls(legal) == ["tensor_to_shape", "reshape", "add", "exp", "sin"]
    assert sum(isinstance(f, PrimFunc) for f in legal.functions.values()) >= 3
    graphs.same(evaluate(legal, *args), evaluate(made, *args))
