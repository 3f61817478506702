"""Constants of rank 0 stand in the kernels of operators on elements."""

from __future__ import annotations

import numpy as np

from loopwright.ir import IRModule, PrimFunc, Tuple, Var
from loopwright.ir.relax import Function, TensorType, const, get_op
from loopwright.testing.graphs import evaluate
from loopwright.transform import get_pass


def test_numbers_stand_in_kernels_and_tell_them_apart() -> None:
    x = Var("x", TensorType((4,)))
    add = get_op("relax.add")
    sums = [add(x, const(value, "float32")) for value in (1.0, 2.0, 1.0)]
    mod = get_pass("relax.LegalizeOps")(IRModule({"main": Function([x], Tuple(sums), None)}))
    kernels = [f for f in mod.functions.values() if isinstance(f, PrimFunc)]
    assert len(kernels) == 2
    assert all(len(f.params) == 2 for f in kernels)
    given = np.arange(4, dtype="float32")
    for got, value in zip(evaluate(mod, given), (1, 2, 1)):
        np.testing.assert_array_equal(got, given + value)
