"""Calls of operators on shapes, indices and axes that do not fit are refused, and say what does not fit."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from loopwright.errors import DTypeError
from loopwright.ir import Var, index_map
from loopwright.ir.relax import TensorType, get_op
from loopwright.ops.infer import show


def t(*shape: Any, dtype: str = "float32") -> Var:
    return Var("x", TensorType(shape, dtype))


def i(*shape: Any) -> Var:
    return t(*shape, dtype="int64")


def op(name: str) -> Callable[..., Any]:
    return get_op(f"relax.{name}")


TYPES = [
    (lambda: op("concat")([t(4), i(4)]), "the dtypes `float32` and `int64`"),
    (lambda: op("take")(t(4), t(2), 0), "`indices` must be of integers, not of `float32`"),
    (lambda: op("take")(i(4), i(2), 0, "nan"), 'mode "nan" needs floats'),
    (lambda: op("gather_elements")(t(4), t(4)), "`indices` must be of integers"),
    (lambda: op("index_tensor")(t(4), [t(4)]), "`indices` must be of integers"),
    (lambda: op("matmul")(t(3, 4), i(4, 5)), "have dtypes `float32` and `int64`"),
    (lambda: op("einsum")([t(3), i(3)], "i,i->i"), "the dtypes `float32` and `int64`"),
    (lambda: op("scatter_elements")(t(4), i(4), i(4)), "have dtypes"),
    (lambda: op("argsort")(t(4), dtype="bool"), "`dtype` must be one of numbers"),
    (lambda: op("dynamic_strided_slice")(t(4), t(1), i(1), i(1)), "`begin` must be of integers"),
    (lambda: op("multinomial_from_uniform")(i(2, 3), t(4, 1), i(4, 1)), "`prob` must be of floats"),
    (lambda: op("strided_slice")(t(4), [0], [0.5], [1]), "`begin` must be integers"),
]
SHAPES = [
    (lambda: op("reshape")(t(2, 3), (4, 2)), r"the shape \(2, 3\) cannot become \(4, 2\)"),
    (lambda: op("reshape")(t(2, 3), (4, -1)), r"cannot become \(4, -1\)"),
    (lambda: op("reshape")(t(2, 3), (-1, -1)), "more than one size is -1"),
    (lambda: op("reshape")(t(2, 3), (6, 0, 0)), "size 2 is 0, but"),
    (lambda: op("reshape")(t(2, 3), (-6, -1)), "a size is -6"),
    (lambda: op("expand_dims")(t(4), [0, 0]), "names a dimension twice"),
    (lambda: op("expand_dims")(t(4), 3), "`axis` is 3, but the tensor has 2"),
    (lambda: op("squeeze")(t(1, 2), 2), "`axis` is 2"),
    (lambda: op("permute_dims")(t(2, 3), [0]), "there are 1 axes for 2 dimensions"),
    (lambda: op("broadcast_to")(t(3), (4,)), r"\(3,\) does not broadcast to \(4,\)"),
    (lambda: op("broadcast_to")(t(3, 1), (3,)), "cannot get only 1"),
    (lambda: op("collapse_sum_to")(t(4, 2), (3, 2)), r"\(3, 2\) does not broadcast to \(4, 2\)"),
    (lambda: op("layout_transform")(t(4), index_map(lambda a, b: (b, a))), "takes 2 indices"),
    (lambda: op("concat")([t(2, 3), t(3, 3)], axis=1), "differ in dimension 0, not only along axis 1"),
    (lambda: op("concat")([t(2), t(2, 3)]), "have 1 and 2 dimensions"),
    (lambda: op("concat")([t(2, 3)], axis=None), "without an axis"),
    (lambda: op("stack")([t(2), t(3)]), "differ in dimension 0"),
    (lambda: op("split")(t(4), 0), "there cannot be 0 sections"),
    (lambda: op("split")(t(4), 2, axis=1), "`axis` is 1"),
    (lambda: op("meshgrid")([t(2, 2)]), "have one dimension, not 2"),
    (lambda: op("meshgrid")([t(2)], "yx"), '`indexing` is "ij" or "xy"'),
    (lambda: op("repeat")(t(2), 0), "`repeats` is 0"),
    (lambda: op("tile")(t(2), [-1]), "has a negative number"),
    (lambda: op("flip")(t(2), 1), "`axis` is 1"),
    (lambda: op("reverse_sequence")(t(2, 3), i(3)), "there are 3 lengths for 2 sequences"),
    (lambda: op("reverse_sequence")(t(2, 3), i(2), 0, 0), "are both 0"),
    (lambda: op("slice_scatter")(t(7), t(4), 1, 6, 2), r"the slice has the shape \(3,\), `src` \(4,\)"),
    (lambda: op("slice_scatter")(t(7), t(4), 1, 6, 0), "`step` must be a constant of at least 1"),
    (lambda: op("take")(t(2, 3), i(2)), "without an axis the tensor has one dimension, not 2"),
    (lambda: op("take")(t(2), i(2), 0, "raise"), '`mode` is "raise"'),
    (lambda: op("strided_slice")(t(2), [0], [0, 1], [1]), "must be equally many"),
    (lambda: op("strided_slice")(t(2), [0], [0], [1], [0]), "a stride is 0"),
    (lambda: op("strided_slice")(t(2), [0, 0], [0, 0], [1, 1]), "names a dimension twice"),
    (lambda: op("dynamic_strided_slice")(t(4, 5), i(1), i(2), i(2)), "`begin` must hold 2 numbers"),
    (lambda: op("index_tensor")(t(4), [i(2), i(2)]), "there are 2 indices for 1 dimensions"),
    (lambda: op("index_put")(t(4, 4), [i(2)], t(2)), "there are 1 tensors of indices for 2"),
    (lambda: op("gather_elements")(t(4, 4), i(5, 4), 1), r"the shape \(5, 4\), the data only \(4, 4\)"),
    (lambda: op("gather_nd")(t(4), i(2, 2)), "each place has 2 indices"),
    (lambda: op("gather_nd")(t(4), i(2, 1), 2), "`batch_dims` is 2"),
    (lambda: op("scatter_elements")(t(4), i(2), t(3)), r"shape \(2,\), the updates \(3,\)"),
    (lambda: op("scatter_elements")(t(4), i(2), t(2), 0, "or"), '`reduction` is "or"'),
    (lambda: op("scatter_nd")(t(4), i(2, 1), t(2), "mean"), '`reduction` is "mean"'),
    (lambda: op("scatter_nd")(t(4), i(2, 1), t(3)), "the updates"),
    (lambda: op("matmul")(t(3, 4), t(5, 6)), r"\(4,\) columns against \(5,\) rows"),
    (lambda: op("matmul")(t(2, 3, 4), t(3, 4, 6)), "do not broadcast: 2 against 3"),
    (lambda: op("matmul")(t(), t(3)), "`x1` is a scalar"),
    (lambda: op("outer")(t(3, 1), t(3)), "`x1` has 2 dimensions"),
    (lambda: op("einsum")([t(3)], "i,j->ij"), "has 2 terms for 1 operands"),
    (lambda: op("einsum")([t(3), t(4)], "i,i->i"), "gives `i` the sizes 3 and 4"),
    (lambda: op("einsum")([t(3)], "ij->i"), "names 2 dimensions in `ij`, the operand has 1"),
    (lambda: op("einsum")([t(3)], "i->j"), "only known ones"),
    (lambda: op("einsum")([t(3)], "1->1"), "may have letters"),
    (lambda: op("sum")(t(3), [0, 0]), "names a dimension twice"),
    (lambda: op("argmax")(t(3), 1), "`axis` is 1"),
    (lambda: op("cumsum")(t(3), 1), "`axis` is 1"),
    (lambda: op("bucketize")(t(3), t(3, 3)), "`boundaries` has 2 dimensions"),
    (lambda: op("topk")(t(3), 1, 0, "all"), '`ret_type` is "both", "values" or "indices"'),
    (lambda: op("unique")(t(3), axis=1), "`axis` is 1"),
    (lambda: op("multinomial_from_uniform")(t(2, 3), t(4, 1), i(5, 1)), "4 uniform values for 5 indices"),
]


@pytest.mark.parametrize("call, text", TYPES, ids=[text for _, text in TYPES])
def test_a_wrong_kind_is_a_type_error(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(DTypeError, match=text) as caught:
        call()
    assert caught.value.diagnostics[0].code == "operator-types"


@pytest.mark.parametrize("call, text", SHAPES, ids=[text for _, text in SHAPES])
def test_a_wrong_shape_is_a_value_error(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(ValueError, match=text) as caught:
        call()
    assert caught.value.diagnostics[0].code == "operator-shapes"  # type: ignore[attr-defined]


def test_symbolic_sizes() -> None:
    n, m = Var("n", "int64"), Var("m", "int64")
    for made, text in (
        (op("reshape")(t(n, m), (-1, 2)), "(n * m // 2, 2)"),
        (op("reshape")(t(n, m, 4), (0, -1)), "(n, m * 4)"),
        (op("concat")([t(n, 3), t(5, 3)]), "(n + 5, 3)"),
        (op("strided_slice")(t(n), [0], [1], [8], [2]), "((min(8, n) + 1 - min(1, n)) // 2,)"),
        (op("strided_slice")(t(n), [0], [n - 1], [n]), "(1,)"),
        (op("strided_slice")(t(n), [0], [1], [m], assume_inbound=True), "(m - 1,)"),
        (op("tile")(t(n, 2), [2, 3]), "(n * 2, 6)"),
        (op("repeat")(t(n, 2), 3), "(n * 6,)"),
        (op("flatten")(t(n, m)), "(n * m,)"),
        (op("matmul")(t(n, 1, 4), t(m, 4, 5)), "None"),
        (op("matmul")(t(3, n), t(m, 4)), "(3, 4)"),
        (op("split")(t(n), 2).ty.fields_[1], "(n - (n + 1) // 2,)"),
    ):
        assert _shown(getattr(made, "ty", made)) == text


def _shown(ty: Any) -> str:
    if ty.sizes is None:
        return "None"
    return re.sub(r"T\.int64\((-?\d+)\)", r"\1", show(ty.sizes)).replace("T.", "")
