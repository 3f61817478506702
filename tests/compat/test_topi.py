"""The operators of `tvm.topi` that are there compute what numpy does."""

from __future__ import annotations

import numpy as np
import pytest

from loopwright import compat
from loopwright.errors import UnsupportedError


@pytest.fixture(autouse=True)
def tvm():
    compat.install()
    import tvm

    yield tvm
    compat.uninstall()


def run(function, *arrays):
    """The result of an operator on arrays, by the interpreter."""
    from tvm import te

    tensors = [te.placeholder(x.shape, str(x.dtype), name=f"x{k}") for k, x in enumerate(arrays)]
    made = function(*tensors)
    shape = [int(n) for n in made.shape]
    out = np.zeros(shape, str(made.dtype))
    te.create_prim_func([*tensors, made]).interpret(*arrays, out)
    return out


X = (np.arange(2 * 3 * 5 * 4) * 7 % 23 - 11).astype("float32").reshape(2, 3, 5, 4)
CASES = {
    "sum": (lambda t, x: t.sum(x, axis=[1, -1]), lambda x: x.sum((1, 3))),
    "max": (lambda t, x: t.max(x, axis=2, keepdims=True), lambda x: x.max(2, keepdims=True)),
    "min of all": (lambda t, x: t.min(x), lambda x: x.min()),
    "argmax": (lambda t, x: t.argmax(x, axis=1), lambda x: x.argmax(1)),
    "argmin of two": (lambda t, x: t.argmin(x, axis=[2, 3]), lambda x: x.reshape(2, 3, 20).argmin(2)),
    "all": (lambda t, x: t.all(t.greater(x, -11.0), axis=3), lambda x: (x > -11).all(3)),
    "any": (lambda t, x: t.any(t.greater(x, 9.0), axis=0), lambda x: (x > 9).any(0)),
    "sign": (lambda t, x: t.sign(x), np.sign),
    "clip": (lambda t, x: t.clip(x, -2, 3), lambda x: x.clip(-2, 3)),
    "full_like": (lambda t, x: t.full_like(x, 2), lambda x: np.full_like(x, 2)),
    "logical_not": (lambda t, x: t.logical_not(t.less(x, 0.0)), lambda x: x >= 0),
    "squeeze": (lambda t, x: t.squeeze(t.expand_dims(x, 1, 2)), lambda x: x),
    "expand_dims": (lambda t, x: t.expand_dims(x, -1), lambda x: x[..., None]),
    "broadcast_to": (
        lambda t, x: t.broadcast_to(t.sum(x, axis=1, keepdims=True), (3, 2, 6, 5, 4)),
        lambda x: np.broadcast_to(x.sum(1, keepdims=True), (3, 2, 6, 5, 4)),
    ),
    "concatenate": (
        lambda t, x: t.concatenate([x, t.max(x, axis=2, keepdims=True), x], axis=-2),
        lambda x: np.concatenate([x, x.max(2, keepdims=True), x], 2),
    ),
    "stack": (lambda t, x: t.stack([x, t.negative(x)], axis=2), lambda x: np.stack([x, -x], 2)),
    "flip": (lambda t, x: t.flip(x, axis=2), lambda x: x[:, :, ::-1]),
    "leaky_relu": (lambda t, x: t.nn.leaky_relu(x, 0.5), lambda x: np.where(x > 0, x, x / 2)),
    "global_pool": (lambda t, x: t.nn.global_pool(x, "avg"), lambda x: x.mean((2, 3), keepdims=True)),
}


@pytest.mark.parametrize("name", CASES)
def test_operators_compute_what_numpy_does(tvm, name):
    function, wanted = CASES[name]
    np.testing.assert_allclose(run(lambda x: function(tvm.topi, x), X), wanted(X), rtol=1e-6)


def windows(x, starts, ends, reduce):
    """The reduction of each window of the last two dimensions."""
    rows = [[reduce(x[..., a:b, c:d], (-2, -1)) for c, d in zip(starts[1], ends[1])]
            for a, b in zip(starts[0], ends[0])]  # fmt: skip
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize("size", [(1, 1), (2, 3), (5, 4), (3, 2)])
def test_adaptive_pooling_covers_the_picture(tvm, kind, size):
    found = run(lambda x: tvm.topi.nn.adaptive_pool(x, size, kind), X)
    starts = [[k * n // m for k in range(m)] for n, m in zip((5, 4), size)]
    ends = [[-((k + 1) * n // -m) for k in range(m)] for n, m in zip((5, 4), size)]
    np.testing.assert_allclose(
        found, windows(X, starts, ends, np.max if kind == "max" else np.mean), rtol=1e-6
    )


@pytest.mark.parametrize("ceil", [False, True])
@pytest.mark.parametrize("count", [False, True])
@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (2, 1), (1, 2)])
def test_mean_of_windows(tvm, ceil, count, stride, dilation):
    found = run(
        lambda x: tvm.topi.nn.pool2d(
            x, [3, 2], [stride] * 2, [dilation] * 2, [1, 0, 1, 1], "avg", ceil, "NCHW", count
        ),
        X,
    )
    rows = [range(k * stride - 1, k * stride - 1 + 3 * dilation, dilation) for k in range(found.shape[2])]
    columns = [range(k * stride, k * stride + 2 * dilation, dilation) for k in range(found.shape[3])]
    last_row = (5 + 2 + (stride - 1 if ceil else 0)) - (2 * dilation + 1)
    assert found.shape[2] == last_row // stride + 1
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            inside = [X[:, :, r, c] for r in row for c in column if 0 <= r < 5 and 0 <= c < 4]
            padded = [0 for r in row for c in column if -1 <= r < 6 and 0 <= c < 5]
            number = len(padded) if count else max(len(inside), 1)
            np.testing.assert_allclose(found[:, :, i, j], sum(inside) / number, rtol=1e-5)


def test_layouts_with_split_height_are_refused(tvm):
    a = tvm.te.placeholder((1, 2, 4, 4, 2), "float32")
    tvm.topi.nn.adaptive_pool(a, [1, 1], "avg", "NCHW2c")
    with pytest.raises(UnsupportedError, match="NCHW2h"):
        tvm.topi.nn.adaptive_pool(a, [1, 1], "avg", "NCHW2h")


def test_pictures_in_another_size(tvm):
    def nearest(x):
        return tvm.topi.image.resize2d(
            x, (0, 0, 0, 0), (10, 8), "NCHW", "nearest_neighbor", "asymmetric", "floor"
        )

    np.testing.assert_array_equal(run(nearest, X), X.repeat(2, 2).repeat(2, 3))

    def corners(x):
        return tvm.topi.image.resize2d(x, (0, 0, 0, 0), (9, 7), "NCHW", "linear", "align_corners")

    found = run(corners, X)
    np.testing.assert_allclose(found[:, :, ::2, ::2], X, rtol=1e-6)
    np.testing.assert_allclose(found[:, :, 1::2, ::2], (X[:, :, 1:] + X[:, :, :-1]) / 2, atol=1e-5)
    with pytest.raises(UnsupportedError, match="cubic"):
        tvm.topi.image.resize2d(tvm.te.placeholder(X.shape), (0, 0, 0, 0), (9, 7), method="cubic")


@pytest.mark.parametrize("axis", [1, -1])
def test_softmax(tvm, axis):
    x = X / 8
    grown = np.exp(x - x.max(axis, keepdims=True))
    want = grown / grown.sum(axis, keepdims=True)
    np.testing.assert_allclose(run(lambda t: tvm.topi.nn.softmax(t, axis), x), want, rtol=1e-5)
    np.testing.assert_allclose(
        run(lambda t: tvm.topi.nn.log_softmax(t, axis), x), np.log(want), rtol=1e-4, atol=1e-5
    )
    np.testing.assert_allclose(run(lambda t: tvm.topi.nn.fast_softmax(t, axis), x), want, rtol=1e-4)
