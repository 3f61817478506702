"""Tensors, axes and operations as objects."""

from __future__ import annotations

import pickle

import pytest

from loopwright import te
from loopwright.ir import PrimType, Range, structural_equal
from loopwright.printer import script


def test_a_tensor_is_an_output_of_its_operation():
    n = te.var("n")
    a = te.placeholder((n, 4), "int8", "A")
    assert a == a.op.output(0) and hash(a) == hash(a.op.output(0)) and {a: 1}[a.op.output(0)] == 1
    assert a != te.placeholder((n, 4), "int8", "A") and a.same_as(a.op.output(0))
    assert a.ndim == 2 and a.dtype == "int8" and a.shape[0] is n and a.name == "A"
    assert isinstance(a.op, te.PlaceholderOp) and a.op.input_tensors == ()
    with pytest.raises(TypeError):
        iter(a)


def test_elements_in_every_spelling():
    a = te.placeholder((4, 5, 6), name="A")
    i = te.var("i")
    wanted = a(i, 1, 2)
    for found in (a[i, 1, 2], a[i][1][2], a[i][1, 2], a[i, 1][2]):
        assert structural_equal(found, wanted)
    assert script(wanted) == "A[i, 1, 2]"
    assert isinstance(a[i], te.TensorSlice) and len(a[i].shape) == 2
    assert a[i, 1, 2].astype("float16").ty == PrimType("float16")
    assert repr(a) == "Tensor(shape=(4, 5, 6), op.name=A)"
    assert script(te.placeholder((), name="s")()) == "s[()]"


def test_axes_stand_in_arithmetic():
    k = te.reduce_axis((1, 5), "k")
    i = te.var("i")
    for made, text in [
        (k + 1, "k + 1"),
        (1 + k, "1 + k"),
        (i + k, "i + k"),
        (k - i, "k - i"),
        (k * k, "k * k"),
        (k // 2, "k // 2"),
        (k % 2, "k % 2"),
        (k < 3, "k < 3"),
        (k >= i, "k >= i"),
        (k == 0, "k == 0"),
        (k != 0, "k != 0"),
        (-k, "k * -1"),
        (k.astype("float32"), 'T.Cast("float32", k)'),
    ]:
        assert script(made) == text
    assert k == k and (k == te.reduce_axis((1, 5), "k")) is False
    assert (k.dom.min.value, k.dom.extent.value) == (1, 4)
    assert k.var.dtype == "int32" and te.reduce_axis(Range(te.const(0, "int64"), 5)).dtype == "int64"


def test_names_of_axes():
    def names(function, rank, **options):
        return [a.var.name for a in te.compute((2,) * rank, function, **options).op.axis]

    assert names(lambda x, y: x + y, 2) == ["x", "y"]
    assert names(lambda *i: i[0], 2) == ["i0", "i1"]
    assert names(lambda x, *rest: x, 3) == ["x", "i0", "i1"]
    assert names(lambda x, *rest: x, 3, varargs_names=["p", "q"]) == ["x", "p", "q"]
    assert names(lambda x, scale=2: x * scale, 1) == ["x"]


def test_an_operation_knows_its_inputs():
    a, b = te.placeholder((4,), name="A"), te.placeholder((4,), name="B")
    k = te.reduce_axis((0, 4), "k")
    c = te.compute((4,), lambda i: te.sum(b[k] + a[i] + b[i], axis=k), name="C", attrs={"x": [1]})
    assert c.op.input_tensors == (b, a)
    assert c.op.reduce_axis == (k,) and c.op.attrs["x"] == (1,)
    assert script(c.op.body[0]).startswith("T.reduce(T.comm_reducer(lambda x, y: x + y, [T.float32(0")


def test_reducers_combine_values():
    x, y, z = te.var("x"), te.var("y"), te.var("z")
    assert script(te.max(x, y)) == "T.max(x, y)"
    assert script(te.sum(x, y)) == "x + y"
    own = te.comm_reducer(lambda a, b: a * b, lambda t: te.const(1, t), name="own")
    assert script(own(x, y, z)) == "x * y * z" and own.__name__ == "own"


def test_functions_of_values():
    a = te.placeholder((4,), name="A")
    assert script(te.exp(a[0])) == "T.exp(A[0])"
    assert (
        script(te.if_then_else(a[0] > 0.0, a[0], 0.0))
        == "T.if_then_else(A[0] > T.float32(0.0), A[0], T.float32(0.0))"
    )
    assert "exp" in dir(te) and "compute" in dir(te)
    with pytest.raises(AttributeError):
        te.no_such_function


def test_a_scan_has_the_shape_of_its_state():
    m, n = te.var("m"), te.var("n")
    x, s = te.placeholder((m, n), name="x"), te.placeholder((m, n), name="s")
    first = te.compute((1, n), lambda _, i: x[0, i])
    step = te.compute((m, n), lambda t, i: s[t - 1, i] + x[t, i])
    result = te.scan(first, step, s, inputs=[x])
    assert tuple(result.shape) == (m, n) and isinstance(result.op, te.ScanOp)
    assert script(result.op.scan_axis.dom.extent) == "m - 1"
    r0, r1 = te.scan([first, first], [step, step], [s, s])
    assert (r0.value_index, r1.value_index) == (0, 1)


def test_tensors_pickle():
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: a[i] + 1.0, name="B")
    assert str(pickle.loads(pickle.dumps(b))) == str(b)
    assert isinstance(pickle.loads(pickle.dumps(b)).op, te.ComputeOp)
