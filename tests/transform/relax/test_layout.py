"""Layout conversion."""

from __future__ import annotations

import pytest

from loopwright.errors import PassError
from loopwright.transform import get_pass

NET = """
    @R.function
    def main(
        x: R.Tensor((1, 4, 8, 8), "float32"),
        w: R.Tensor((8, 4, 3, 3), "float32"),
        v: R.Tensor((4, 8, 3, 3), "float32"),
        b: R.Tensor((1, 8, 1, 1), "float32"),
    ):
        with R.dataflow():
            c = R.nn.conv2d(x, w, padding=(1, 1))
            d = R.add(c, b)
            e = R.nn.relu(d)
            p = R.nn.max_pool2d(e, pool_size=(2, 2), strides=(2, 2))
            f = R.nn.conv2d(p, v, padding=(1, 1))
            s = R.split(f, 2, axis=1)
            g = s[0]
            h = s[1]
            j = R.concat((h, g), axis=1)
            k = R.mean(j, axis=[2, 3])
            m = R.nn.softmax(k, axis=-1)
            n = R.reshape(j, (1, 64))
            out = (m, n, j)
            R.output(out)
        return out
"""


@pytest.mark.parametrize("layouts", [["NHWC", "OHWI"], ["NHWC", "HWIO"], ["NCHW4c", "OIHW4o"]])
def test_a_network_is_the_same_in_other_layouts(graphs, layouts):
    made = graphs.check(
        NET, "ConvertLayout", again=False, desired_layouts={"relax.nn.conv2d": layouts}, rtol=1e-4
    )
    if "c" not in layouts[0]:
        found = graphs.calls(made)
        between = found[found.index("nn.conv2d") : found.index("nn.max_pool2d")]
        assert between.count("permute_dims") == 1  # the bias


def test_converting_again_changes_nothing(graphs):
    graphs.check(NET, "ConvertLayout", desired_layouts={"relax.nn.conv2d": ["NHWC", "OHWI"]}, rtol=1e-4)


def test_a_layout_that_is_none_is_refused(graphs):
    with pytest.raises(PassError, match="no layout"):
        get_pass("relax.ConvertLayout")(graphs.module(NET), desired_layouts={"relax.nn.conv2d": ["N?"]})
