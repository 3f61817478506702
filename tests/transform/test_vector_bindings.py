"""Names bound in vectorized loops."""

from __future__ import annotations

from loopwright import parse
from loopwright.testing.results import assert_same_results
from loopwright.transform import lower

SELECT = """
@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for i in T.vectorized(8):
        x: T.let[T.int32] = T.Select(A[i] > 1 or B[i] > 1, 1, A[i])
        y: T.let[T.int32] = A[i] + 1
        B[i] = x + y
"""


def test_a_name_without_a_vector_form_stays_in_reach_of_its_users() -> None:
    # the right side of `or` reads memory, so it must be left out where the left side holds
    func = parse(SELECT)
    assert_same_results(func, lower(func)["main"])
