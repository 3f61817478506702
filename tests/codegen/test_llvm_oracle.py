from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings

from loopwright.codegen import as_module
from loopwright.codegen.llvm import Compiled
from loopwright.codegen.python import interpret
from loopwright.errors import ExecutionError
from loopwright.ir import PrimFunc
from loopwright.testing import strategies
from loopwright.testing.results import copies, sample_arguments
from loopwright.transform import lower


def equal(x: Any, y: Any) -> bool:
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype.kind in "biuO":
        return bool((x == y).all())
    with np.errstate(all="ignore"):
        return np.array_equal(x.astype(np.float64), y.astype(np.float64), equal_nan=True)


@settings(max_examples=12, deadline=None)
@given(strategies.prim_funcs(executable=True))
def test_compiled_code_does_what_the_oracle_does(func: PrimFunc) -> None:
    assume(len({p.name for p in func.params}) == len(func.params))
    arguments = sample_arguments(func)
    expected, got = copies(arguments), copies(arguments)
    module = as_module(func)
    compiled = Compiled(module, lambda: lower(module), None, False)
    (call,) = set(compiled.functions.values())
    try:
        want = interpret(func, expected)
    except ExecutionError:
        return  # what the language leaves open, such as reading a cell that nothing was written to
    except Exception as err:
        with pytest.raises(type(err)):
            call(*got)
        return
    result = call(*got)
    assert equal(want, result) if want is not None else result is None
    for x, y in zip(expected, got):
        assert equal(x, y)
