"""The gradient of an operator is what differences of its values tend to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from loopwright.ir.relax import get_op
from loopwright.testing.operators import Case, OperandSpec, all_cases
from loopwright.testing.operators.gradients import check_gradient, smooth


def _has_floats(case: Case) -> bool:
    operands = [o for given in case.operands for o in (given if isinstance(given, list) else [given])]
    return any(isinstance(o, OperandSpec) and str(o.dtype) == "float32" for o in operands)


def _cases() -> Iterator[Case]:
    for case in all_cases():
        if case.name != "relax.grad.no_grad" and get_op(case.name).gradient is not None and _has_floats(case):
            made = smooth(case)
            if made is not None:
                yield made


@pytest.mark.parametrize("case", list(_cases()), ids=lambda c: c.id)
def test_gradients(case: Case) -> None:
    check_gradient(case)
