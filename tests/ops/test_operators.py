"""Every operator: its type rule, its numpy meaning and its legalized form agree."""

from __future__ import annotations

import os

import pytest

from loopwright.testing.operators import Case, all_cases, check_case, native

EVERYTHING = bool(os.environ.get("LOOPWRIGHT_OPERATORS"))
"""Whether each case is compiled in each form, not only the first of an operator, with symbolic sizes."""


def _compiled() -> list[Case]:
    if EVERYTHING:
        return list(all_cases())
    first: dict[str, Case] = {}
    for case in all_cases():
        first.setdefault(case.name, case)
    return list(first.values())


@pytest.mark.parametrize("case", all_cases(), ids=lambda c: c.id)
def test_by_the_oracle(case: Case) -> None:
    check_case(case, static=3 if EVERYTHING else 1)


@pytest.mark.parametrize("case", _compiled(), ids=lambda c: c.id)
def test_as_machine_code(case: Case) -> None:
    check_case(case, native, static=3 if EVERYTHING else 0)
