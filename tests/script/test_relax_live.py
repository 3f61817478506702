"""Graph functions as decorated Python."""

from __future__ import annotations

import numpy as np
import pytest

from loopwright import ir, te
from loopwright.errors import ScriptError, UnsupportedError
from loopwright.ir import relax as rx
from loopwright.script import ir as I
from loopwright.script import parse
from loopwright.script import relax as R
from loopwright.script import tirx as T
from loopwright.testing.graphs import evaluate

SCALE = 2.0


@R.macro
def scaled(value):
    found = R.multiply(value, R.const(SCALE, "float32"))
    return found


def helper(value):
    return R.exp(R.negative(value))


def test_values_of_python_are_captured() -> None:
    width, axes, deep = 3, [1, 0], True

    @R.function
    def main(x: R.Tensor(("n", width), "float32")) -> R.Tensor((width, "n"), "float32"):
        if deep:
            y = helper(x)
        else:
            y = x
        z = R.permute_dims(y, axes)
        return scaled(z)

    ir.assert_structural_equal(
        main,
        parse(
            """
@R.function
def main(x: R.Tensor(("n", 3), "float32")) -> R.Tensor((3, "n"), "float32"):
    y = R.exp(R.negative(x))
    z = R.permute_dims(y, [1, 0])
    found = R.multiply(z, R.const(2.0, "float32"))
    return found
"""
        ),
    )
    x = np.arange(6, dtype="float32").reshape(2, 3)
    np.testing.assert_allclose(evaluate(main, x), np.exp(-x).T * 2, rtol=1e-6)


def test_macros_see_what_was_there_when_they_were_defined() -> None:
    number = 1.0

    @R.macro
    def hygienic(x):
        return R.add(x, R.const(number, "float32"))

    @R.macro(hygienic=False)
    def open_to_the_caller(x):
        return R.add(x, y)

    number = 2.0

    @R.function
    def main(x: R.Tensor((2,), "float32")):
        y = R.add(x, R.const(number, "float32"))
        z = hygienic(x)
        return open_to_the_caller(z)

    np.testing.assert_array_equal(evaluate(main, np.zeros(2, "float32")), [3.0, 3.0])


def test_kernels_of_tensor_expressions() -> None:
    def doubled(a):
        return te.compute(a.shape, lambda *i: a[i] * 2.0, name="doubled")

    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor(("n",), "float32")):
            y = R.emit_te(doubled, x)
            z = R.emit_te(lambda a: te.compute(a.shape, lambda i: a[i] + 1.0, name="more"), y)
            return R.emit_te(doubled, z, primfunc_name_hint="last")

    names = {g.name for g in Module.functions}
    assert names == {"main", "doubled", "te_func"}  # an equal kernel is made once
    with pytest.raises(ScriptError, match="this function is in none"):

        @R.function
        def alone(x: R.Tensor((4,), "float32")):
            return R.emit_te(doubled, x)


def test_modules_see_each_other() -> None:
    @I.ir_module
    class Module:
        I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global")]})

        @T.prim_func(private=True)
        def kernel(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
            for i in range(4):
                B[i] = A[i] + T.float32(1)

        @R.function
        def main(x: R.Tensor((4,), "float32", "llvm:0:global")) -> R.Tensor((4,), "float32"):
            with R.dataflow():
                y = R.call_tir(Module.kernel, (x,), R.Tensor((4,), "float32"))
                z = Module.twice(y)
                R.output(z)
            return z

        @R.function(private=True)
        def twice(x: R.Tensor((4,), "float32")):
            return R.add(x, x)

    assert [type(Module[n]).__name__ for n in ("kernel", "main", "twice")] == [
        "PrimFunc",
        "Function",
        "Function",
    ]
    assert Module["main"].body.blocks[0].bindings[1].value.ty == rx.TensorType((4,))


def test_words_in_plain_python() -> None:
    x = ir.Var("x", R.Tensor((2, "n"), "float32"))
    assert x.ty.ndim == 2 and x.ty.shape[1].name == "n"
    call = R.nn.relu(R.add(x, x))
    assert call.ty.ndim == 2 and call.op.name == "relax.nn.relu"
    assert R.Tuple(R.Tensor, None) == ir.TupleType([rx.TensorType(None, None), ir.UNIT])
    assert "relu" in dir(R.nn) and "add" in dir(R)
    with pytest.raises(AttributeError, match="did you mean `add`"):
        R.addd
    with pytest.raises(UnsupportedError, match=r"R\.dist"):
        R.dist.redistribute(x)
    with pytest.raises(UnsupportedError, match="nothing encloses it"):
        R.dataflow()
    with pytest.raises(TypeError, match="decorates functions"):
        R.function(3)
    with pytest.raises(TypeError, match="decorates classes"):
        R.rewriter(3)


def test_rewriters() -> None:
    @R.rewriter
    class Rewriter:
        @R.function
        def pattern(x: R.Tensor((2,), "float32")):
            return R.add(x, x)

        @R.function
        def replacement(x: R.Tensor((2,), "float32")):
            return R.multiply(x, R.const(2, "float32"))

    @R.function
    def main(x: R.Tensor((2,), "float32")):
        return R.exp(R.add(x, x))

    made = Rewriter(main)
    calls = [b.value.op.name for b in made.body.blocks[0].bindings if isinstance(b.value, ir.Call)]
    assert calls == ["relax.multiply", "relax.exp"]


def test_names_from_around_may_be_declared() -> None:
    width = 3

    @R.function
    def main(x: R.Tensor((width,), "float32")):
        nonlocal width
        global SCALE
        return R.multiply(x, R.const(SCALE, "float32"))

    x = np.ones(3, "float32")
    np.testing.assert_array_equal(evaluate(main, x), 2 * x)
    with pytest.raises(ScriptError, match="absent"):

        @R.function
        def wrong(x: R.Tensor((3,), "float32")):
            global absent
            return x


def test_faults_name_the_line() -> None:
    with pytest.raises(ScriptError) as caught:

        @R.function
        def main(x: R.Tensor((2, 3), "float32")):
            y = R.add(x, x)
            return R.add(y, R.const([1.0, 2.0], "float32"))

    (found,) = caught.value.diagnostics
    assert found.code == "operator-shapes"
    assert found.source is not None
    line = found.source.splitlines()[found.span.line - 1]
    assert (
        line[found.span.column - 1 : found.span.end_column - 1] == 'R.add(y, R.const([1.0, 2.0], "float32"))'
    )
