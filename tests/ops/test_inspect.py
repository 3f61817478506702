"""What a program reads from a tensor's header, compiled and by numpy."""

from __future__ import annotations

import numpy as np
import pytest

import loopwright
from loopwright.errors import LoopwrightError
from loopwright.ir import INT64, Var
from loopwright.ir.relax import BlockBuilder, TensorType, get_op
from loopwright.runtime.vm import VirtualMachine
from loopwright.testing.graphs import evaluate

FIELDS = {"ndim": 2, "byte_offset": 0, "elem_offset": 0, "dtype_code": 2, "dtype_bits": 32, "dtype_lanes": 1}


def test_numbers_of_a_tensor() -> None:
    x, axis = Var("x", TensorType(None, None)), Var("axis", INT64)
    bb = BlockBuilder()
    with bb.function("main", [x, axis]):
        found = [bb.emit(get_op(f"relax.inspect.tensor_{name}")(x)) for name in FIELDS]
        found += [bb.emit(get_op(f"relax.inspect.tensor_{name}_i")(x, axis)) for name in ("shape", "stride")]
        bb.emit_func_output(tuple(found))
    mod = bb.get()
    machine = VirtualMachine(loopwright.build(mod), "cpu")
    array = np.zeros((3, 5), np.float32)
    for i, more in enumerate([(3, 5), (5, 1)]):
        want = (*FIELDS.values(), *more)
        assert tuple(machine["main"](array, i)) == want and tuple(evaluate(mod, array, i)) == want
    with pytest.raises(LoopwrightError, match="has no axis 2"):
        machine["main"](array, 2)
