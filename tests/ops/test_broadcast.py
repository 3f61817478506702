"""Broadcasting of any shapes: the type rule, numpy and the kernel agree, and refuse alike."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from loopwright.errors import LoopwrightError
from loopwright.ir import IRModule, PrimType, Var
from loopwright.ir.relax import Function, TensorType, get_op
from loopwright.testing.graphs import evaluate
from loopwright.transform import get_pass

SYMBOLS = {size: Var(f"n{size}", PrimType("int64")) for size in range(5)}
SIZES = st.sampled_from([0, 1, 1, 2, 3, 4])


@st.composite
def operands(draw: Any) -> tuple[list[tuple[int, ...]], list[TensorType]]:
    """Shapes that often broadcast, and types that write some of their sizes, all equal ones, as symbols."""
    whole = draw(st.lists(SIZES, max_size=4))
    symbolic = draw(st.sets(st.sampled_from([0, 2, 3, 4])))
    shapes = []
    for _ in range(3):
        own = [
            draw(st.sampled_from([size, size, size, 1])) for size in whole[draw(st.integers(0, len(whole))) :]
        ]
        if own and draw(st.integers(0, 9)) == 0:
            own[draw(st.integers(0, len(own) - 1))] = draw(SIZES)
        shapes.append(tuple(own))
    return shapes, [TensorType([SYMBOLS[s] if s in symbolic else s for s in shape]) for shape in shapes]


def _arrays(shapes: list[tuple[int, ...]]) -> list[Any]:
    rng = np.random.default_rng(3)
    return [rng.integers(-4, 5, shape).astype("float32") for shape in shapes]


def _broadcasts(shapes: list[tuple[int, ...]]) -> bool:
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        return False
    return True


@given(operands())
def test_broadcasting(drawn: tuple[list[tuple[int, ...]], list[TensorType]]) -> None:
    shapes, types = drawn
    a, b, c = [Var(name, ty) for name, ty in zip("abc", types)]
    try:
        call = get_op("relax.where")(get_op("relax.less")(a, b), b, c)
    except LoopwrightError:
        assert not _broadcasts(shapes)
        return
    if not _broadcasts(shapes):
        assert call.ty.sizes is None  # symbols that differ, which nobody can know before the program runs
        return
    func = Function([a, b, c], call, None)
    given_arrays = _arrays(shapes)
    want = evaluate(func, *given_arrays)
    x, y, z = given_arrays
    np.testing.assert_array_equal(want, np.where(x < y, y, z))
    if call.ty.sizes is not None:
        lowered = get_pass("relax.LegalizeOps")(IRModule({"main": func}))
        np.testing.assert_array_equal(evaluate(lowered, *given_arrays), want)
