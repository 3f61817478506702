"""Tensor expressions under the peer's names."""

from __future__ import annotations

import numpy as np
import pytest

from loopwright import compat


@pytest.fixture
def tvm():
    compat.install()
    import tvm
    import tvm.testing

    yield tvm
    compat.uninstall()


def test_a_program_of_tensor_expressions(tvm):
    from tvm import te, topi

    n = te.var("n")
    a = te.placeholder((n, 4), name="A")
    b = te.compute((n, 4), lambda *i: te.exp(a(*i)) + tvm.tirx.expr.ProducerLoad(a, i), name="B")
    k = te.reduce_axis((0, 4), name="k")
    c = te.compute((n,), lambda i: te.sum(topi.add(b, 1.0)[i, k], axis=k), name="C")
    func = tvm.compile(te.create_prim_func([a, c]))
    x = np.zeros((3, 4), dtype=a.dtype.dtype)
    out = tvm.runtime.tensor(np.zeros(3, dtype=c.dtype.dtype))
    func(tvm.runtime.tensor(x), out)
    tvm.testing.assert_allclose(out.numpy(), np.full(3, 8.0, "float32"))


def test_tensors_are_saved_and_loaded(tvm):
    a = tvm.te.placeholder((4,), name="A")
    b = tvm.te.compute((4,), lambda i: a[i] * 2.0, name="B", attrs={"hello": 1})
    again = tvm.ir.load_json(tvm.ir.save_json(b))
    assert isinstance(again, tvm.te.tensor.Tensor) and again.op.attrs["hello"] == 1 and str(again) == str(b)


def test_names_of_blocks_do_not_count(tvm):
    a = tvm.te.placeholder((4,), name="A")
    one, two = [
        tvm.te.create_prim_func([a, tvm.te.compute((4,), lambda i: a[i] * 2.0, name=name)]) for name in "BC"
    ]
    tvm.ir.assert_structural_equal(one, two)
    other = tvm.te.create_prim_func([a, tvm.te.compute((4,), lambda i: a[i] * 3.0, name="B")])
    with pytest.raises(ValueError, match="caused by"):
        tvm.ir.assert_structural_equal(two, other)


def test_operators_that_are_not_there_fail_when_they_are_called(tvm):
    from tvm.topi.nn import conv2d

    with pytest.raises(NotImplementedError, match="topi.nn.conv2d"):
        conv2d(None)
    with pytest.raises(TypeError, match="topi.acos only supports floating-point inputs, but got int16"):
        tvm.topi.acos(tvm.te.placeholder((4,), "int16"))


@pytest.mark.parametrize("shape", [(4, 2), (8,), (2, 2, 2)])
def test_reshaping_keeps_the_order(tvm, shape):
    from tvm import te, topi

    a = te.placeholder((2, 4), "int32", name="A")
    x, out = np.arange(8, dtype="int32").reshape(2, 4), np.zeros(shape, "int32")
    te.create_prim_func([a, topi.reshape(a, shape)]).interpret(x, out)
    np.testing.assert_array_equal(out, x.reshape(shape))
    turned = np.zeros((4, 2), "int32")
    te.create_prim_func([a, topi.transpose(a)]).interpret(x, turned)
    np.testing.assert_array_equal(turned, x.T)
