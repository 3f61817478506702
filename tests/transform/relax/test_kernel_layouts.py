"""Kernels for other layouts."""

from __future__ import annotations

from loopwright.ir import find
from loopwright.transform import get_pass

KERNELS = """
    @T.prim_func(private=True)
    def twice(x: T.Buffer((T.int64(4), T.int64(6)), "float32"), y: T.Buffer((T.int64(4), T.int64(6)), "float32")):
        T.func_attr({"operator_name": "twice"})
        for i, j in T.grid(T.int64(4), T.int64(6)):
            with T.sblock("t"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = x[vi, vj] * T.float32(2)

    @R.function
    def main(x: R.Tensor((4, 6), "float32")):
        cls = Module
        with R.dataflow():
            a = R.call_tir(cls.twice, (x,), out_ty=R.Tensor((4, 6), "float32"))
            b = R.call_tir(cls.twice, (a,), out_ty=R.Tensor((4, 6), "float32"))
            R.output(b)
        return b
"""
OTHER = """
    @T.prim_func(private=True)
    def twice(
        x: T.Buffer((T.int64(3), T.int64(4), T.int64(2)), "float32"),
        y: T.Buffer((T.int64(3), T.int64(4), T.int64(2)), "float32"),
    ):
        T.func_attr({"operator_name": "twice"})
        for i, j, k in T.grid(T.int64(3), T.int64(4), T.int64(2)):
            with T.sblock("t"):
                vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                y[vi, vj, vk] = x[vi, vj, vk] * T.float32(2)
"""


def test_kernels_are_exchanged_and_layouts_cancel(graphs):
    kernel = graphs.module(OTHER)["twice"]

    def moved(i, j):
        return j // 2, i, j % 2

    options = {"op_impl_map": {"twice": kernel}, "op_buffer_transforms": {"twice": [moved, moved]}}
    made = graphs.check(KERNELS, "AlterOpImpl", **options, again=False)
    assert graphs.calls(made).count("layout_transform") == 4
    made = graphs.check(made, "OptimizeLayoutTransform")
    assert graphs.calls(made).count("layout_transform") == 2


def test_weights_are_of_free_layout(graphs):
    text = KERNELS.replace(
        'x: R.Tensor((4, 6), "float32")):', 'z: R.Tensor((4, 6), "float32"), x: R.Tensor((4, 6), "float32")):'
    )
    text = text.replace(
        "cls = Module\n        with", 'R.func_attr({"num_input": 1})\n        cls = Module\n        with'
    )
    made = graphs.check(text, "AttachAttrLayoutFreeBuffers")
    free = [f.attrs.get("layout_free_buffers") for f in made.functions.values() if "operator_name" in f.attrs]
    assert sorted(map(str, free)) == ["(0,)", "None"]


PREPROC = """
    @T.prim_func(private=True)
    def f(
        x: T.Buffer((T.int64(4), T.int64(8)), "float32"),
        w: T.Buffer((T.int64(4), T.int64(8)), "float32"),
        y: T.Buffer((T.int64(4), T.int64(8)), "float32"),
    ):
        v = T.sblock_alloc_buffer((T.int64(8), T.int64(4)))
        for i, j in T.grid(T.int64(4), T.int64(8)):
            with T.sblock("layout"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(w[vi, vj])
                T.writes(v[vj, vi])
                T.sblock_attr({"meta_schedule.layout_rewrite_preproc": True})
                v[vj, vi] = w[vi, vj]
        for i, j in T.grid(T.int64(4), T.int64(8)):
            with T.sblock("y"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = x[vi, vj] + v[vj, vi]

    @R.function
    def main(x: R.Tensor((4, 8), "float32"), w: R.Tensor((4, 8), "float32")):
        R.func_attr({"num_input": 1})
        cls = Module
        with R.dataflow():
            a = R.call_tir(cls.f, (x, w), out_ty=R.Tensor((4, 8), "float32"))
            R.output(a)
        return a
"""


def test_copies_of_weights_are_kernels_of_their_own(graphs):
    made = graphs.check(PREPROC, "SplitLayoutRewritePreproc")
    assert graphs.calls(made) == ["f_weight_prepack", "f_prepacked"]
    lifted = get_pass("relax.LiftTransformParams")(made)
    assert graphs.calls(lifted) == ["f_prepacked"]
    assert find(lifted["main_transform_params"], type(lifted["main"].params[0]))
