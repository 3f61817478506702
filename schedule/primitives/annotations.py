"""Annotations of loops and blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import suggest
from ...ir import Expr, For
from ...node import Attrs
from ..handles import LoopRV, SBlockRV
from ..refusal import Reason, Refused, refuse
from ..registry import primitive
from ..state import State


@primitive(inputs=("block_or_loop", "ann_val"))
def annotate(
    state: State,
    block_or_loop: LoopRV | SBlockRV,
    ann_key: str,
    ann_val: str | int | float | Expr | Sequence[Any] | Mapping[str, Any],
) -> State:
    """Set an annotation of a loop or block; one that is there already stays as it is.

    Every handle is kept.

    before:
        for i in range(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi] + 1.0
    steps:
        sch.annotate(sch.get_loops("B")[0], "pragma_unroll_explicit", 1)
    after:
        for i in T.serial(64, annotations={"pragma_unroll_explicit": 1}):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi] + 1.0
    """
    if not isinstance(ann_key, str):
        raise refuse("annotation", f"the key of an annotation is a string, not {type(ann_key).__name__}")
    _check_value(ann_val)
    old = _annotations(state, block_or_loop)
    if ann_key in old:
        return state
    return _with_annotations(state, block_or_loop, old.set(**{ann_key: ann_val}))


@primitive()
def unannotate(state: State, block_or_loop: LoopRV | SBlockRV, ann_key: str) -> State:
    """Remove an annotation of a loop or block. Refused when it has none of this key.

    Every handle is kept.

    before:
        for i in T.serial(64, annotations={"pragma_unroll_explicit": 1}):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi] + 1.0
    steps:
        sch.unannotate(sch.get_loops("B")[0], "pragma_unroll_explicit")
    after:
        for i in range(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi] + 1.0
    """
    old = _annotations(state, block_or_loop)
    if ann_key not in old:
        node = state.place(block_or_loop).node
        text = f"there is no annotation `{ann_key}`"
        raise Refused(Reason("no-annotation", text, node, help=suggest(ann_key, old)))
    return _with_annotations(state, block_or_loop, old.without(ann_key))


def _annotations(state: State, handle: LoopRV | SBlockRV) -> Attrs:
    node = state.place(handle).node
    return node.annotations if isinstance(node, For) else node.block.annotations


def _with_annotations(state: State, handle: LoopRV | SBlockRV, annotations: Attrs) -> State:
    node = state.place(handle).node
    if isinstance(node, For):
        return state.replace(node, node.replace(annotations=annotations))
    return state.replace(node, node.replace(block=node.block.replace(annotations=annotations)))


def _check_value(value: Any) -> None:
    if isinstance(value, str | int | float | Expr):
        return
    if isinstance(value, list | tuple):
        for v in value:
            _check_value(v)
        return
    if isinstance(value, Mapping):
        for v in value.values():
            _check_value(v)
        return
    raise refuse(
        "annotation",
        f"an annotation cannot be a {type(value).__name__}",
        help="use a string, number, expression, or lists and dicts of them",
    )
