"""Comparing what programs compute."""

from __future__ import annotations

import numpy as np
import pytest

from loopwright.script import parse
from loopwright.testing.results import assert_same_results


def setting(value: int) -> str:
    return f"@T.prim_func\ndef f(A: T.Buffer((4,), 'int32')):\n    A[0] = {value}\n"


def test_a_difference_is_shown_with_the_programs() -> None:
    first, second = parse(setting(20)), parse(setting(30))
    assert_same_results(first, parse(setting(20)))
    with pytest.raises(AssertionError) as caught:
        assert_same_results(first, second)
    text = str(caught.value)
    assert "argument 0" in text and "A[0] = 20" in text and "A[0] = 30" in text


def test_a_callable_has_no_text() -> None:
    def wrong(a: np.ndarray) -> None:
        a[:] = 0

    with pytest.raises(AssertionError) as caught:
        assert_same_results(parse(setting(20)), wrong, np.ones(4, np.int32))
    assert "the first program" in str(caught.value) and "the second" not in str(caught.value)
