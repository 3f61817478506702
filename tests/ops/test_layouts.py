"""An operator computes the same in each layout that its rule of layout conversion chooses."""

from __future__ import annotations

import pytest

from loopwright.ir.relax import get_op
from loopwright.testing.operators import Case, all_cases
from loopwright.testing.operators.layouts import check_layout

CASES = [case for case in all_cases() if get_op(case.name).layout is not None]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.id)
def test_layouts(case: Case) -> None:
    for seed in range(3):
        check_layout(case, seed)
