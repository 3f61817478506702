"""Operators of networks: layouts, gradients, and what their type rules refuse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopwright.ir import Call, Var
from loopwright.ir.relax import Function, TensorType, get_op, op_of
from loopwright.ops.layout import find_layout, from_plain, to_plain
from loopwright.testing.graphs import evaluate

LAYOUTS = ("NCHW", "NHWC", "CNHW", "NCHW2c", "NHWC4c", "NC2cHW", "NCHW4c2n", "HNCW3h")


def tensor(name: str, *sizes: int) -> Var:
    return Var(name, TensorType(sizes))


def array(*sizes: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-4, 5, sizes).astype("float32")


@given(st.sampled_from(LAYOUTS), st.tuples(*[st.integers(1, 2)] * 4))
@settings(max_examples=30, deadline=None)
def test_a_layout_loses_nothing(text: str, sizes: tuple[int, ...]) -> None:
    layout = find_layout(text)
    assert layout is not None
    n, c, h, w = sizes
    plain = array(2 * n, 8 * c, 3 * h, w)
    kept = from_plain(plain, "NCHW", text)
    np.testing.assert_array_equal(to_plain(kept, text, "NCHW"), plain)
    assert list(kept.shape) == layout.sizes(dict(zip("NCHW", plain.shape)))
    at = [int(i) for i in np.random.default_rng(1).integers(0, kept.shape)]
    whole = layout.join(at)
    assert layout.indices(whole) == at
    assert kept[tuple(at)] == plain[tuple(whole[s] for s in "NCHW")]


@pytest.mark.parametrize("text", ["", "nchw", "NN", "NC4", "N4c", "4cN", "NC0c", "N C"])
def test_texts_that_are_no_layouts(text: str) -> None:
    assert find_layout(text) is None


def value(call: Call, *arrays: np.ndarray) -> object:
    """What a call of variables gives."""
    return evaluate(Function(call.args, call, None), *arrays)


def in_layout(x: np.ndarray, layout: str) -> np.ndarray:
    letters = [c for c in layout if c.isupper()]
    return from_plain(x, "".join(sorted(letters)), layout)


NETWORKS = (
    ("conv2d", [(2, 4, 5, 6), (8, 2, 3, 2)], {"groups": 2, "padding": 1}, ["ABCD", "ABCD"], ["NHWC", "HWIO"]),
    ("conv2d", [(2, 4, 5, 6), (8, 4, 3, 2)], {"strides": 2}, ["ABCD", "ABCD"], ["NCHW4c", "OIHW2o", "NHWC"]),
    ("conv2d_transpose", [(2, 4, 5, 6), (4, 3, 3, 2)], {"strides": 2}, ["ABCD", "ABCD"], ["NHWC", "IOHW"]),
    ("conv1d", [(2, 4, 5), (8, 4, 3)], {}, ["ABC", "ABC"], ["NWC", "WIO"]),
    ("max_pool2d", [(2, 4, 5, 6)], {"pool_size": 2}, ["ACDB"], None),
    ("avg_pool2d", [(2, 4, 5, 6)], {"pool_size": 2, "padding": 1}, ["ABCD2b"], None),
    ("adaptive_avg_pool2d", [(2, 4, 5, 6)], {"output_size": 2}, ["ACDB"], None),
    ("layer_norm", [(2, 4, 6), (6, 4), (6, 4)], {"axes": (-1, 1)}, ["ACB", "AB", "AB"], None),
    ("rms_norm", [(2, 4, 6), (6,)], {}, ["ACB2b", "A"], None),
    (
        "group_norm",
        [(2, 4, 6), (4,), (4,)],
        {"num_groups": 2, "channel_axis": 1, "axes": 2},
        ["ACB", "A", "A"],
        None,
    ),
    ("batch_norm", [(2, 4, 6), *[(4,)] * 4], {"axis": 1, "training": False}, ["ACB", *"AAAA"], None),
    ("dropout", [(2, 4, 6)], {}, ["BCA"], None),
)


@pytest.mark.parametrize(("name", "shapes", "attrs", "layouts", "desired"), NETWORKS)
def test_other_layouts_mean_the_same(name, shapes, attrs, layouts, desired) -> None:
    record = get_op(f"relax.nn.{name}")
    arrays = [np.abs(array(*s, seed=k)) for k, s in enumerate(shapes)]
    call = record(*[tensor(f"x{k}", *s) for k, s in enumerate(shapes)], **attrs)
    values = record.values(call)
    choice = record.layout(values, layouts, desired)
    assert choice.attrs or name == "dropout", "nothing was converted"
    given = [in_layout(x, layout) for x, layout in zip(arrays, choice.operands)]
    kept = {p.name: values[p.name] for p in record.params if p.is_attr}
    again = record(*[tensor(f"y{k}", *x.shape) for k, x in enumerate(given)], **{**kept, **choice.attrs})
    want, got = value(call, *arrays), value(again, *given)
    wants, gots = (want, got) if isinstance(want, tuple) else ((want,), (got,))
    results = choice.result if isinstance(choice.result, tuple) else (choice.result,)
    for x, y, layout in zip(wants, gots, results):
        np.testing.assert_allclose(y, in_layout(x, layout), rtol=1e-5, atol=1e-5)


CONVOLUTIONS = (
    ((2, 3, 5, 6), (4, 3, 3, 2), {}),
    ((2, 3, 5, 7), (4, 3, 2, 2), {"strides": (2, 3), "padding": (1, 0, 2, 1), "dilation": (1, 2)}),
    ((2, 4, 5, 6), (6, 2, 3, 3), {"groups": 2, "strides": 2, "padding": 1}),
    ((2, 5, 6, 4), (3, 2, 2, 6), {"groups": 2, "data_layout": "NHWC", "kernel_layout": "HWIO"}),
    ((2, 5, 6, 4), (3, 2, 4, 6), {"data_layout": "NHWC", "kernel_layout": "HWIO", "out_layout": "NCHW"}),
)


@pytest.mark.parametrize(("data", "weight", "attrs"), CONVOLUTIONS)
def test_the_gradient_of_a_convolution(data, weight, attrs) -> None:
    """It is linear in both operands: the product with the gradient is the same from both sides."""
    x, w = tensor("x", *data), tensor("w", *weight)
    call = get_op("relax.nn.conv2d")(x, w, **attrs)
    g = Var("g", call.ty)
    grads = op_of(call).gradient(None, call, g, None)
    a, b, c = array(*data), array(*weight, seed=1), array(*[n.value for n in call.ty.sizes], seed=2)
    product = (np.asarray(value(call, a, b), "float64") * c).sum()
    for grad, own in zip(grads, (a, b)):
        found = evaluate(Function([x, w, g], grad, None), a, b, c)
        assert found.shape == own.shape
        assert (found.astype("float64") * own).sum() == pytest.approx(product)


@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize("attrs", [{"padding": 1}, {"ceil_mode": True, "strides": (2, 3)}, {"dilation": 2}])
def test_the_gradient_of_pooling(kind: str, attrs: dict) -> None:
    x = tensor("x", 1, 2, 7, 6)
    call = get_op(f"relax.nn.{kind}_pool2d")(x, 3, **{"strides": 2, **attrs})
    g = Var("g", call.ty)
    (grad,) = op_of(call).gradient(None, call, g, None)
    rng = np.random.default_rng(0)
    a, c = rng.permutation(84).astype("float32").reshape(1, 2, 7, 6), array(*[n.value for n in call.ty.sizes])
    step = rng.integers(-8, 9, a.shape).astype("float32") / 64  # too small to change which one is the largest
    found = evaluate(Function([x, g], grad, None), a, c)
    change = (value(call, a + step).astype("float64") - value(call, a)) * c
    assert (found * step).sum() == pytest.approx(change.sum(), abs=1e-2)


REFUSED = (
    ("nn.conv2d", [(2, 3, 8, 8), (4, 4, 3, 3)], {}, "3 channels, but the kernel takes 4"),
    ("nn.conv2d", [(2, 4, 8, 8), (5, 2, 3, 3)], {"groups": 2}, "5 output channels"),
    ("nn.conv2d", [(2, 4, 8), (4, 4, 3, 3)], {}, "`data` has 3 dimensions"),
    ("nn.conv2d", [(2, 4, 2, 8), (4, 4, 4, 3)], {}, 'does not fit into the dimension "H"'),
    ("nn.conv2d", [(2, 4, 8, 8), (4, 4, 3, 3)], {"padding": (1, 2, 3)}, "`padding` needs 1 or 2 or 4"),
    ("nn.conv2d", [(2, 4, 8, 8), (4, 4, 3, 3)], {"data_layout": "NCHWD"}, "no order of the dimensions"),
    ("nn.conv2d", [(2, 4, 8, 8), (6, 4, 3, 3)], {"out_layout": "NCHW4c"}, "have no layout"),
    ("nn.conv2d_transpose", [(2, 4, 8, 8), (4, 4, 3, 3)], {"output_padding": 1}, "must be below `strides`"),
    ("nn.max_pool2d", [(2, 4, 2, 2)], {"pool_size": 4}, "the window does not fit"),
    ("nn.adaptive_avg_pool2d", [(2, 4, 2, 2)], {"output_size": (1, 2, 3)}, "`output_size` needs 1 or 2"),
    ("nn.layer_norm", [(2, 4), (3,), (4,)], {"axes": -1}, "the data needs"),
    ("nn.layer_norm", [(2, 4), (4,), (4,)], {"axes": 2}, "`axes` is 2"),
    (
        "nn.group_norm",
        [(2, 4, 3), (4,), (4,)],
        {"num_groups": 3, "channel_axis": 1, "axes": 2},
        "no 3 groups",
    ),
    ("nn.attention", [(1, 2, 3, 4), (1, 2, 2, 4), (1, 2, 2, 4)], {}, "no multiple"),
    ("nn.attention", [(1, 2, 3, 4), (1, 2, 3, 5), (1, 2, 3, 4)], {}, "different dimensions of heads"),
    ("nn.attention", [(1, 2, 3, 4)] * 3, {"causal_mask": "Left"}, "`causal_mask`"),
    ("nn.pad", [(2, 3)], {"pad_width": (1, 1)}, "2 numbers for 2 dimensions"),
    ("nn.pad", [(2, 3)], {"pad_width": (0, 0, 0, 0), "pad_mode": "edge"}, "`pad_mode`"),
    ("nn.pixel_shuffle", [(2, 3, 4, 4)], {"upscale_factor": 2}, "make no squares"),
    ("nn.batch_flatten", [(3,)], {}, "at least 2 dimensions"),
    ("image.grid_sample", [(2, 3, 4, 4), (2, 3, 4, 4)], {}, "must be 2"),
    ("vision.get_valid_counts", [(2, 3, 4)], {"score_index": 4}, "`score_index` is 4"),
)


@pytest.mark.parametrize(("name", "shapes", "attrs", "text"), REFUSED)
def test_what_does_not_fit_is_refused(name, shapes, attrs, text) -> None:
    operands = [tensor(f"x{k}", *s) for k, s in enumerate(shapes)]
    with pytest.raises(ValueError, match=text) as caught:
        get_op(f"relax.{name}")(*operands, **attrs)
    assert f"R.{name}" in str(caught.value)


def test_attention_with_a_bias_is_an_operator_of_its_own() -> None:
    q, bias = tensor("q", 1, 2, 3, 4), tensor("b", 1, 3, 2, 2)
    call = get_op("relax.nn.attention")(q, q, q, bias)
    assert call.op.name == "relax.nn.attention_bias"
    assert get_op("relax.nn.attention")(q, q, q).op.name == "relax.nn.attention"
