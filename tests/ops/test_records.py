"""Every record of a graph operator is complete, or says what it lacks and why."""

from __future__ import annotations

import pytest

from loopwright.ir.relax import RelaxOp, all_ops
from loopwright.testing.operators import all_cases

GRADIENTS = set(
    """abs add astype broadcast_to concat cos cumsum divide equal exp expand_dims full full_like greater
    greater_equal less less_equal log matmul maximum mean minimum multiply negative nn.avg_pool2d nn.conv2d
    nn.cross_entropy_with_logits nn.log_softmax nn.max_pool2d nn.nll_loss nn.relu nn.silu nn.softmax not_equal
    ones ones_like permute_dims power reshape sigmoid sin split sqrt subtract sum take tanh triu variance where
    zeros zeros_like""".split()
)
"""Operators that TVM can derive."""
LAYOUTS = set(
    """abs acos acosh add asin asinh astype atan atan2 atanh bitwise_and bitwise_not bitwise_or bitwise_xor ceil
    concat cos cosh divide dynamic_strided_slice equal erf ewise_fma exp expand_dims flip floor floor_divide
    floor_mod gather_elements greater greater_equal image.resize2d image.resize3d isfinite isinf isnan left_shift
    less less_equal log log_add_exp logical_and logical_not logical_or logical_xor max maximum mean min minimum
    mod multiply negative nn.adaptive_avg_pool1d nn.adaptive_avg_pool2d nn.adaptive_avg_pool3d nn.avg_pool1d
    nn.avg_pool2d nn.avg_pool3d nn.batch_norm nn.conv1d nn.conv1d_transpose nn.conv2d nn.conv2d_transpose
    nn.conv3d nn.conv3d_transpose nn.dropout nn.gelu nn.gelu_tanh nn.group_norm nn.instance_norm nn.layer_norm
    nn.max_pool1d nn.max_pool2d nn.max_pool3d nn.prelu nn.relu nn.rms_norm nn.selu nn.silu nn.softmax not_equal
    permute_dims power prod repeat right_shift round rsqrt scatter_elements scatter_nd sigmoid sign sin sinh split
    sqrt square squeeze stack std strided_slice subtract sum tan tanh tile trunc variance""".split()
)
"""Operators that TVM's layout conversion passes through or changes."""
OPS = all_ops()


def _lacking(rec: RelaxOp) -> set[str]:
    have = {
        "doc": bool(rec.doc.strip()),
        "te": rec.te is not None or rec.legalize is not None,
        "numpy": rec.numpy is not None,
        "pattern": rec.pattern is not None,
        "gradient": rec.gradient is not None or rec.script not in GRADIENTS,
        "layout": rec.layout is not None or rec.script not in LAYOUTS,
    }
    return {part for part, there in have.items() if not there}


@pytest.mark.parametrize("rec", OPS, ids=lambda r: r.script)
def test_a_record_has_every_part_or_a_reason(rec: RelaxOp) -> None:
    lacking = _lacking(rec)
    assert lacking <= set(rec.lacks), f"{rec.name} lacks {lacking - set(rec.lacks)} without a reason"
    assert all(len(reason) > 10 for reason in rec.lacks.values())


def test_every_operator_that_computes_has_cases() -> None:
    have = {case.name for case in all_cases()}
    wanted = {r.name for r in OPS if r.numpy is not None and (r.te is not None or r.legalize is not None)}
    assert not wanted - have, f"operators without a case in testing/operators: {sorted(wanted - have)}"


def test_the_operators_that_others_have_are_there() -> None:
    missing = (GRADIENTS | LAYOUTS) - {r.script for r in OPS}
    assert not missing, f"not registered: {sorted(missing)}"
