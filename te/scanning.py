"""`scan`: tensors along whose first dimension each element is computed of those before it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..ir import IterVar, Range, Var, structural_equal
from ..ir import operators as op
from .axes import Axis
from .faults import fault, plural, type_fault
from .operation import ScanOp
from .tensor import Tensor


def scan(
    init: Any,
    update: Any,
    state_placeholder: Any,
    inputs: Any = None,
    name: str = "scan",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
) -> Any:
    """The tensors that start as `init` and go on by `update`, which reads them as `state_placeholder`.

    The first dimension is scanned: `init` has its first elements, `update` the element at `t` of
    those before.  Lists give several tensors, scanned together.  Raises TensorExpressionError when
    counts, dtypes or shapes do not fit.
    """
    starts, steps = _tensors(init, "init"), _tensors(update, "update")
    states = _tensors(state_placeholder, "state_placeholder")
    if not len(starts) == len(steps) == len(states):
        raise fault(
            f"`{name}` has {plural(len(starts), 'start')}, {plural(len(steps), 'update')} "
            f"and {plural(len(states), 'state')}"
        )
    if not starts:
        raise fault(f"`{name}` scans nothing")
    for start, step, state in zip(starts, steps, states):
        _check(name, start, step, state)
    first, last = starts[0].shape[0], steps[0].shape[0]
    dom = Range(first, op.sub(last, first))
    axis = Axis(dom, Var(f"{name}.idx", first.ty), IterVar.ORDERED)
    given = _tensors(inputs, "inputs") if inputs is not None else []
    outputs = ScanOp(name, tag, attrs, axis, starts, steps, states, given).outputs()
    return outputs[0] if len(outputs) == 1 else list(outputs)


def _tensors(value: Any, what: str) -> list[Tensor]:
    found = list(value) if isinstance(value, list | tuple) else [value]
    for one in found:
        if not isinstance(one, Tensor):
            raise type_fault(f"`{what}` of a scan is a {type(one).__name__}, not a tensor")
    return found


def _check(name: str, start: Tensor, step: Tensor, state: Tensor) -> None:
    if not (start.dtype is step.dtype is state.dtype):
        raise fault(
            f"the start, update and state of `{name}` have dtypes "
            f"`{start.dtype}`, `{step.dtype}` and `{state.dtype}`"
        )
    if not (start.ndim == step.ndim == state.ndim):
        raise fault(f"the start, update and state of `{name}` have different numbers of dimensions")
    if state.ndim == 0:
        raise fault(f"the state of `{name}` has no dimension to scan along")
    if not structural_equal(step.shape, state.shape):
        raise fault(f"the update and the state of `{name}` have different shapes")
    if not structural_equal(start.shape[1:], state.shape[1:]):
        raise fault(f"the start and the state of `{name}` differ in more than the first dimension")
