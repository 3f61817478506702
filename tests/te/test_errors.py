"""What is put together wrongly is refused where the user wrote it, by a message that says what is wrong."""

from __future__ import annotations

import linecache

import pytest

from loopwright import LoopwrightError, te
from loopwright.script import tirx as T

A = te.placeholder((8, 8), name="A")
V = te.placeholder((8,), name="V")
K = te.reduce_axis((0, 8), "k")


@T.prim_func
def double(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("double"):
            vi = T.axis.spatial(8, i)
            Y[vi] = X[vi] * T.float32(2)


CASES = {
    "rank": (lambda: A[0, 0, 0], "`A` has 2 dimensions but 3 indices"),
    "rank of a call": (lambda: A(0), "`A` has 2 dimensions but 1 index"),
    "float index": (lambda: V[1.5], "an index of `V` is an integer, not a value of type `float32`"),
    "slice": (lambda: V[0:2], "an element, not a range"),
    "tensor as index": (lambda: V[A[0]], "an element, not the tensor `A`"),
    "shape": (lambda: te.placeholder((8, "n"), name="B"), "an extent of `B` is an integer, not 'n'"),
    "float extent": (lambda: te.placeholder((8.0,), name="B"), "an extent of `B` is an integer"),
    "negative extent": (lambda: te.compute((-1,), lambda i: i, name="B"), "an extent of `B` is negative"),
    "arity": (lambda: te.compute((8,), lambda i, j: i, name="B"), "takes 2 indices, but its shape has 1 dim"),
    "too few": (lambda: te.compute((8, 8), lambda i: i, name="B"), "takes 1 index, but its shape has 2 dim"),
    "keyword only": (lambda: te.compute((8,), lambda *, i: i), "parameters that only keywords reach"),
    "names": (
        lambda: te.compute((8, 8), lambda *i: 1, name="B", varargs_names=["x"]),
        "`varargs_names` of `B` has 1 name, but 2 dimensions need one",
    ),
    "no function": (lambda: te.compute((8,), 1.0, name="B"), "`B` needs a function of its indices"),
    "no value": (lambda: te.compute((8,), lambda i: None, name="B"), "the function of `B` gives no value"),
    "empty": (lambda: te.compute((8,), lambda i: [], name="B"), "the function of `B` gives no value"),
    "tensor": (lambda: te.compute((8,), lambda i: A[i], name="B"), "is the tensor `A`, not an element of it"),
    "string": (lambda: te.compute((8,), lambda i: "x", name="B"), "is a str, not an expression"),
    "nested": (
        lambda: te.compute((8,), lambda i: te.sum(A[i, K], axis=K) + 1.0, name="B"),
        "`B` uses a reduction within an expression",
    ),
    "reduced twice": (
        lambda: te.compute((8,), lambda i: te.sum(te.sum(A[i, K], axis=K), axis=K), name="B"),
        "`B` uses a reduction within an expression",
    ),
    "one reduction of two": (
        lambda: te.compute((8,), lambda i: (te.sum(A[i, K], axis=K), V[i]), name="B"),
        "one output of `B` is a reduction and another is not",
    ),
    "two reductions": (
        lambda: te.compute((8,), lambda i: (te.sum(A[i, K], axis=K), te.max(A[i, K], axis=K)), name="B"),
        "the outputs of `B` are different reductions",
    ),
    "part of a reduction": (
        lambda: te.compute((8,), lambda i: _pair()((A[i, K], A[K, i]), axis=K)[0], name="B"),
        "`B` reduces 2 values together but gives 1 output",
    ),
    "spatial axis": (lambda: te.compute((8,), lambda i: te.sum(A[i, K], axis=[i])), "not over `i`"),
    "thread axis": (lambda: te.sum(V[0], axis=te.thread_axis("threadIdx.x")), "is another kind of axis"),
    "axis twice": (lambda: te.sum(V[K], axis=[K, K]), "an axis stands twice"),
    "no axis": (lambda: te.sum(V[K]), "`sum` needs the axes to reduce over"),
    "condition": (lambda: te.sum(V[K], axis=K, where=V[K]), "the condition of `sum` must be a bool"),
    "start": (lambda: te.sum(V[K], axis=K, init=A[0, 0].astype("int32")), "`init` of `sum` is `int32`"),
    "starts": (
        lambda: te.sum(V[K], axis=K, init=[0.0, 0.0]),
        "but `init` has 2 values",
    ),
    "combination": (
        lambda: te.comm_reducer(lambda x, y: x > y, lambda t: te.const(0, t), "gt")(V[K], axis=K),
        "the combination of `gt` for a `float32` is `bool`",
    ),
    "neutral value": (
        lambda: te.comm_reducer(lambda x, y: x + y, lambda t: te.const(0, "int8"), "add")(V[K], axis=K),
        "the neutral value of `add` for a `float32` is `int8`",
    ),
    "domain": (lambda: te.reduce_axis(8, "k"), "the domain of the reduction axis `k` is a pair of integers"),
    "domain of floats": (lambda: te.reduce_axis((0, 1.5), "k"), "is a pair of integers"),
    "no tag": (lambda: te.thread_axis((0, 8)), "a thread axis needs a tag"),
    "math on a tensor": (lambda: te.exp(A), "`exp` takes a value, not the tensor"),
    "missing placeholder": (
        lambda: te.create_prim_func([te.compute((8,), lambda i: V[i] + 1.0, name="B")]),
        "the placeholder `V` is no parameter of the function. It is read by `B`.",
    ),
    "twice": (lambda: te.create_prim_func([V, V]), "`V` stands twice among the parameters"),
    "no tensor": (
        lambda: te.create_prim_func([1]),
        "the parameters are tensors and scalar var",
    ),
    "free axis": (
        lambda: te.create_prim_func([V, te.compute((8,), lambda i: V[K], name="B")]),
        "`B` uses the variable `k`, which nothing defines",
    ),
    "free size": (
        lambda: te.create_prim_func(
            [V, te.compute((8,), lambda i: te.compute((te.var("n"),), lambda j: V[j], name="C")[i])]
        ),
        "`C` uses the variable `n`, which nothing defines",
    ),
    "scan": (lambda: te.create_prim_func([V, _scan()]), "Unsupported Operation: te.ScanOp."),
    "index dtype": (
        lambda: te.create_prim_func([V], index_dtype_override="float32"),
        "an index has a signed integer type, not `float32`",
    ),
    "extern result": (lambda: te.extern((8,), [V], lambda i, o: None, name="E"), "of `E` gives a NoneType"),
    "extern input": (lambda: te.extern((8,), [1], lambda i, o: None, name="E"), "an input of `E` is a int"),
    "extern dtype": (
        lambda: te.extern((8,), [], lambda i, o: T.evaluate(0), name="E"),
        "the dtype of the outputs of `E` is not known",
    ),
    "extern dtypes": (
        lambda: te.extern([(8,), (8,)], [V], lambda i, o: T.evaluate(0), name="E", dtype=["int8"]),
        "`E` has 2 outputs but 1 dtype",
    ),
    "extern buffers": (
        lambda: te.extern((8,), [V], lambda i, o: T.evaluate(0), name="E", in_buffers=[]),
        "`in_buffers` of `E` has 0 buffers, not 1",
    ),
    "function reads more": (lambda: te.extern_primfunc([], double), "reads 1 buffer (`X`), but 0 tensors"),
    "function of another rank": (
        lambda: te.extern_primfunc([A], double),
        "1 dimension, the tensor `A` 2",
    ),
    "function of another shape": (
        lambda: te.extern_primfunc([te.placeholder((9,), name="W")], double),
        "`X` has another shape than the tensor `W`",
    ),
    "function of another dtype": (
        lambda: te.extern_primfunc([te.placeholder((8,), "int8", "W")], double),
        "`X` holds `float32`, the tensor `W` `int8`",
    ),
    "scan counts": (lambda: te.scan([V], [V, V], [V]), "`scan` has 1 start, 2 updates and 1 state"),
    "scan shapes": (lambda: te.scan(V, V, te.placeholder((9,))), "have different shapes"),
    "scan dtypes": (lambda: te.scan(V, V, te.placeholder((8,), "int8")), "have dtypes"),
    "output": (lambda: A.op.output(1), "`A` has 1 output, none with number 1"),
    "producer": (lambda: te.ProducerLoad(1, []), "a int is no tensor"),
    "json": (lambda: te.save_json(1), "a int is neither a tensor nor an operation"),
    "free layout": (
        lambda: te.create_prim_func(
            [V, te.compute((8,), lambda i: V[i], name="B", attrs={"layout_free_placeholders": [1]})]
        ),
        "`layout_free_placeholders` of `B` lists tensors",
    ),
    "attribute": (
        lambda: te.create_prim_func([V, te.compute((8,), lambda i: V[i], name="B", attrs={"x": A})]),
        "an attribute of `B` names a tensor that is not there",
    ),
}


def _pair():
    return te.comm_reducer(
        lambda x, y: (x[0] + y[0], x[1] * y[1]), lambda a, b: (te.const(0, a), te.const(1, b)), "pair"
    )


def _scan():
    state = te.placeholder((8,), name="state")
    return te.scan(te.compute((1,), lambda i: V[0]), te.compute((8,), lambda t: state[t - 1] + V[t]), state)


@pytest.mark.parametrize("case", CASES)
def test_errors_name_what_is_wrong_and_where(case):
    wrong, message = CASES[case]
    with pytest.raises(LoopwrightError) as caught:
        wrong()
    found = caught.value.diagnostics[0]
    assert message in found.message
    assert found.span is not None and found.span.file == __file__
    line = linecache.getline(__file__, found.span.line)
    assert "te." in line or "A" in line or "V" in line
    assert isinstance(caught.value, ValueError | NotImplementedError)


def test_an_error_marks_the_call():
    with pytest.raises(te.TensorExpressionError) as caught:
        te.compute((8,), lambda i: A[i, i, i], name="B")
    shown = str(caught.value)
    assert "A[i, i, i]" in shown
    (code, mark) = shown.split("\n")[3:5]
    start = code.index("A[i, i, i]")
    assert mark[start : start + len("A[i, i, i]")] == "^" * len("A[i, i, i]")
    assert mark.count("^") == len("A[i, i, i]")


def test_an_undefined_variable_is_shown_where_the_tensor_is_made():
    made = te.compute((8,), lambda i: V[K] + 1.0, name="B")  # here
    with pytest.raises(te.TensorExpressionError) as caught:
        te.create_prim_func([V, made])
    assert linecache.getline(__file__, caught.value.diagnostics[0].span.line).endswith("# here\n")


def test_tags_do_not_nest():
    with te.tag_scope("outer"):
        assert te.compute((1,), lambda i: i).op.tag == "outer"
        with pytest.raises(ValueError, match="tags do not nest"), te.tag_scope("inner"):
            pass
        with pytest.raises(ValueError, match="tags do not nest"):
            te.compute((1,), lambda i: i, tag="own")
    assert te.compute((1,), lambda i: i, tag="own").op.tag == "own"

    @te.tag_scope("decorated")
    def make():
        return te.compute((1,), lambda i: i)

    assert make().op.tag == "decorated"
