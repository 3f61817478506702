"""Operators of object detection: boxes and their scores, parts of images in one size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import te
from ..dtype import DType
from ..ir import TupleType, Type, const
from ..ir import operators as arith
from ..ir.arith import Analyzer
from ..ir.relax import OpPattern, TensorType, get_op, relax_op
from ..ir.relax.op import Tensor
from .faults import shape_fault, type_fault
from .infer import common_dtype, common_vdevice, constant, float_only, like, show, tensor_type
from .programs import run
from .sizes import product, simplify
from .terms import total
from .vision_programs import of_classes, suppression

INT32, INT64 = DType("int32"), DType("int64")


def _ranked(op: str, value: Tensor, name: str, ndim: int) -> TensorType:
    """The type of an operand of this rank. Raises a ValueError for another rank."""
    ty = tensor_type(op, value, name)
    if ty.ndim not in (-1, ndim):
        shape_fault(op, f"`{name}` must have {ndim} dimensions, not {ty.ndim}")
    return ty


def _sized(op: str, ty: TensorType, name: str, axis: int, wanted: Any, what: str) -> None:
    """Raise a ValueError when a size is known to be another one than is wanted."""
    if ty.sizes is not None and wanted is not None:
        if Analyzer().can_prove(arith.not_equal(ty.sizes[axis], wanted)):
            shape_fault(
                op, f"`{name}` has the shape {show(ty.sizes)}, its size {axis} must be that of {what}"
            )


def _order(scores: te.Tensor) -> te.Tensor:
    """For each line the numbers of its elements, the largest first."""
    sort = get_op("relax.argsort").te
    assert sort is not None
    made: te.Tensor = sort(scores, axis=-1, descending=True, dtype=INT32)
    return made


def _all_class_te(
    boxes: te.Tensor,
    scores: te.Tensor,
    max_output_boxes_per_class: te.Tensor,
    iou_threshold: te.Tensor,
    score_threshold: te.Tensor,
    output_format: str,
) -> list[te.Tensor]:
    batch, classes, n = scores.shape
    by_batch = output_format != "onnx"
    count = product(scores.shape)
    limits = [te.elementwise(t, lambda x: arith.cast(x, "float32")) for t in (iou_threshold, score_threshold)]
    program = of_classes(str(boxes.dtype), str(scores.dtype), str(max_output_boxes_per_class.dtype), by_batch)
    each = product([classes, n])
    shapes = [(batch, each, 2), (batch, each), (batch,)] if by_batch else [(count, 3), (count,), (1,)]
    specs = list(zip(shapes, (INT64, scores.dtype, INT64)))
    given = [boxes, scores, _order(scores), max_output_boxes_per_class, *limits]
    rows, values, number = run(program, given, specs, [batch, classes, n], "all_class_nms")
    return [rows, values, number] if by_batch else [rows, number]


def numpy_overlap(a: Any, b: Any) -> float:
    """Python: how much two boxes share of what they cover together."""
    import numpy as np

    a, b = np.asarray(a, np.float32), np.asarray(b, np.float32)
    low = np.maximum(np.minimum(a[:2], a[2:]), np.minimum(b[:2], b[2:]))
    high = np.minimum(np.maximum(a[:2], a[2:]), np.maximum(b[:2], b[2:]))
    both = np.prod(np.maximum(high - low, 0))
    whole = abs(np.prod(a[2:] - a[:2])) + abs(np.prod(b[2:] - b[:2])) - both
    return float(both / whole) if whole > 0 else 0.0


def _all_class_numpy(
    boxes: Any,
    scores: Any,
    max_output_boxes_per_class: Any,
    iou_threshold: Any,
    score_threshold: Any,
    output_format: str,
) -> Any:
    import numpy as np

    batch, classes, n = scores.shape
    found: list[list[tuple[int, ...]]] = []
    for b in range(batch):
        found.append([])
        for c in range(classes):
            kept: list[int] = []
            for k in np.argsort(-scores[b, c], kind="stable"):
                room = len(kept) < int(max_output_boxes_per_class)
                clear = all(numpy_overlap(boxes[b, k], boxes[b, j]) < float(iou_threshold) for j in kept)
                if room and scores[b, c, k] > score_threshold and clear:
                    kept.append(int(k))
            found[b] += [(b, c, k) for k in kept]
    if output_format == "onnx":
        rows = np.zeros((batch * classes * n, 3), np.int64)
        whole = [row for one in found for row in one]
        rows[: len(whole)] = np.array(whole).reshape(-1, 3)
        return rows, np.array([len(whole)], np.int64)
    rows, values = np.zeros((batch, classes * n, 2), np.int64), np.zeros((batch, classes * n), scores.dtype)
    for b, one in enumerate(found):
        for at, row in enumerate(one):
            rows[b, at], values[b, at] = row[1:], scores[row]
    return rows, values, np.array([len(one) for one in found], np.int64)


@relax_op(
    "relax.vision.all_class_non_max_suppression",
    pattern=OpPattern.OPAQUE,
    te=_all_class_te,
    numpy=_all_class_numpy,
)
def all_class_non_max_suppression(
    boxes: Tensor,
    scores: Tensor,
    max_output_boxes_per_class: Tensor,
    iou_threshold: Tensor,
    score_threshold: Tensor,
    output_format: str = "onnx",
) -> Type:
    """For each class the boxes with high scores that do not overlap each other.

    Boxes (batch, n, 4) are two corners each, scores are (batch, classes, n).  A box is chosen while there
    are fewer than the greatest number, if its score is above the threshold and it shares less than the
    other threshold with each one that was chosen before.  The format "onnx" gives rows of (batch, class,
    box), zeros behind the last one, and how many there are; "tensorflow" gives for each batch rows of
    (class, box), their scores, and how many there are.
    """
    op = "vision.all_class_non_max_suppression"
    if output_format not in ("onnx", "tensorflow"):
        shape_fault(op, f"`output_format` is \"{output_format}\", not one of 'onnx', 'tensorflow'")
    b, s = _ranked(op, boxes, "boxes", 3), _ranked(op, scores, "scores", 3)
    for name, value in (
        ("max_output_boxes_per_class", max_output_boxes_per_class),
        ("iou_threshold", iou_threshold),
        ("score_threshold", score_threshold),
    ):
        ty = tensor_type(op, value, name)
        if ty.sizes is not None and constant(product(ty.sizes)) not in (None, 1):
            shape_fault(op, f"`{name}` must be one number, not of the shape {show(ty.sizes)}")
    _sized(op, b, "boxes", 2, const(4, "int64"), "a box, 4")
    if b.sizes is not None:
        _sized(op, s, "scores", 0, b.sizes[0], "`boxes`")
        _sized(op, s, "scores", 2, b.sizes[1], "`boxes`")
    if output_format == "onnx":
        one = like(b, (const(1, "int64"),), INT64)
        if s.sizes is None:
            return TupleType([like(b, dtype=INT64, ndim=2), one])
        return TupleType([like(b, (product(s.sizes), const(3, "int64")), INT64), one])
    if s.sizes is None:
        return TupleType([like(b, dtype=INT64, ndim=3), like(s, ndim=2), like(b, dtype=INT64, ndim=1)])
    each = product(s.sizes[1:])
    rows = like(b, (s.sizes[0], each, const(2, "int64")), INT64)
    return TupleType([rows, like(s, (s.sizes[0], each)), like(b, (s.sizes[0],), INT64)])


def _valid_te(data: te.Tensor, score_threshold: float, id_index: int, score_index: int) -> list[te.Tensor]:
    batch, n, width = data.shape
    dtype = data.dtype

    def valid(b: Any, i: Any) -> Any:
        good = data(b, i, score_index) > const(score_threshold, dtype)
        if id_index >= 0:
            good = arith.logical_and(good, data(b, i, id_index) >= const(0, dtype))
        return arith.cast(good, INT32)

    flags = te.compute((batch, n), valid, "valid")

    def number(b: Any) -> Any:
        k = te.reduce_axis((0, n), "k")
        return total(flags(b, k), [k])

    counts = te.compute((batch,), number, "valid_count")
    source = _order(flags)

    def box(b: Any, i: Any, e: Any) -> Any:
        value = data(b, source(b, i), e)
        return arith.if_then_else(i < counts(b), value, const(-1, dtype))

    boxes = te.compute(data.shape, box, "boxes")
    places = te.compute(
        (batch, n), lambda b, i: arith.if_then_else(i < counts(b), source(b, i), const(-1, INT32)), "indices"
    )
    return [counts, boxes, places]


def _valid_numpy(data: Any, score_threshold: float, id_index: int, score_index: int) -> Any:
    import numpy as np

    good = data[:, :, score_index] > np.asarray(score_threshold, data.dtype)
    if id_index >= 0:
        good &= data[:, :, id_index] >= 0
    boxes, indices = np.full_like(data, -1), np.full(data.shape[:2], -1, np.int32)
    for b, line in enumerate(good):
        places = np.flatnonzero(line)
        boxes[b, : len(places)] = data[b, places]
        indices[b, : len(places)] = places
    return good.sum(axis=1).astype(np.int32), boxes, indices


@relax_op("relax.vision.get_valid_counts", pattern=OpPattern.OPAQUE, te=_valid_te, numpy=_valid_numpy)
def get_valid_counts(
    data: Tensor, score_threshold: float = 0.0, id_index: int = 0, score_index: int = 1
) -> Type:
    """The boxes whose score is above the threshold and whose class is not negative, in front.

    Gives how many there are, the boxes with -1 behind them, and where each one stood, -1 behind them.  A box
    is a row of the data (batch, n, numbers); without an `id_index` (-1) boxes have no class.
    """
    op = "vision.get_valid_counts"
    ty = float_only(op, _ranked(op, data, "data", 3), "data")
    _numbers(op, ty, {"score_index": (score_index, 0), "id_index": (id_index, -1)})
    if ty.sizes is None:
        return TupleType([like(ty, dtype=INT32, ndim=1), like(ty, ndim=3), like(ty, dtype=INT32, ndim=2)])
    batch, n, _ = ty.sizes
    return TupleType([like(ty, (batch,), INT32), like(ty, ty.sizes), like(ty, (batch, n), INT32)])


def _numbers(op: str, ty: TensorType, places: dict[str, tuple[int, int]]) -> None:
    """Raise a ValueError when an index of a number of a box is out of range; the second is the least one."""
    width = None if ty.sizes is None else constant(ty.sizes[2])
    for name, (at, least) in places.items():
        if at < least or (width is not None and at >= width):
            shape_fault(
                op, f"`{name}` is {at}, but a box has {width if width is not None else 'its'} numbers"
            )


def _nms_te(
    data: te.Tensor,
    valid_count: te.Tensor,
    indices: te.Tensor,
    max_output_size: int,
    iou_threshold: float,
    force_suppress: bool,
    top_k: int,
    coord_start: int,
    score_index: int,
    id_index: int,
    return_indices: bool,
    invalid_to_bottom: bool,
    soft_nms_sigma: float,
    score_threshold: float,
) -> Any:
    batch, n, width = data.shape
    dtype = data.dtype

    def score(b: Any, i: Any) -> Any:
        value = data(b, i, score_index)
        return arith.if_then_else(i < arith.cast(valid_count(b), n.dtype), value, te.min_value(dtype))

    order = _order(te.compute((batch, n), score, "score"))
    places = (force_suppress, coord_start, score_index, id_index, invalid_to_bottom)
    soft = (soft_nms_sigma, score_threshold)
    program = suppression(str(dtype), max_output_size, top_k, iou_threshold, *places, *soft)
    specs = [(data.shape, dtype), ((batch, n), INT32), ((batch, const(1, n.dtype)), INT32)]
    out, chosen, count = run(program, [data, order, valid_count, indices], specs, [batch, n, width], "nms")
    if not return_indices:
        return out
    return [out, chosen, count] if soft_nms_sigma > 0 else [chosen, count]


def _nms_numpy(
    data: Any,
    valid_count: Any,
    indices: Any,
    max_output_size: int,
    iou_threshold: float,
    force_suppress: bool,
    top_k: int,
    coord_start: int,
    score_index: int,
    id_index: int,
    return_indices: bool,
    invalid_to_bottom: bool,
    soft_nms_sigma: float,
    score_threshold: float,
) -> Any:
    import numpy as np

    soft = soft_nms_sigma > 0
    batch, n, _ = data.shape
    out, chosen = np.full_like(data, -1), np.full((batch, n), -1, np.int32)
    count = np.zeros((batch, 1), np.int32)
    for b in range(batch):
        m = min(max(int(valid_count[b]), 0), n)
        ranks = np.argsort(-data[b, :m, score_index], kind="stable")[: top_k if top_k > 0 else None]
        left = {place: np.float32(data[b, k, score_index]) for place, k in enumerate(ranks)}
        kept = 0
        while left and kept < (max_output_size if max_output_size > 0 else n):
            pick = max(left, key=lambda place: (left[place], -place))
            value = left.pop(pick)
            if value <= (score_threshold if soft else 0):
                break
            row = data[b, ranks[pick]].copy()
            row[score_index] = value
            out[b, kept if invalid_to_bottom or soft else pick] = row
            chosen[b, kept] = indices[b, ranks[pick]]
            kept += 1
            for place in list(left):
                other = data[b, ranks[place]]
                if force_suppress or id_index < 0 or other[id_index] == row[id_index]:
                    corners = slice(coord_start, coord_start + 4)
                    shared = np.float32(numpy_overlap(row[corners], other[corners]))
                    if shared >= np.float32(iou_threshold):
                        del left[place]
                    elif soft:
                        left[place] *= np.exp(np.float32(-1 / (2 * soft_nms_sigma)) * shared * shared)
        count[b] = kept
    if not return_indices:
        return out
    return (out, chosen, count) if soft else (chosen, count)


@relax_op("relax.vision.non_max_suppression", pattern=OpPattern.OPAQUE, te=_nms_te, numpy=_nms_numpy)
def non_max_suppression(
    data: Tensor,
    valid_count: Tensor,
    indices: Tensor,
    max_output_size: int = -1,
    iou_threshold: float = 0.5,
    force_suppress: bool = False,
    top_k: int = -1,
    coord_start: int = 2,
    score_index: int = 1,
    id_index: int = 0,
    return_indices: bool = True,
    invalid_to_bottom: bool = False,
    soft_nms_sigma: float = 0.0,
    score_threshold: float = 0.0,
) -> Type:
    """Of boxes of one class (of any, with `force_suppress`) that overlap, the one with the highest score.

    Each batch has `valid_count` boxes, of which the best `top_k` count; up to `max_output_size` with a
    positive score are chosen (-1: all).  With `return_indices` the result is the `indices` of what was chosen
    with -1 behind them, and their number; without, it is the boxes by falling score, -1 in place of the
    others, which go behind them with `invalid_to_bottom`.  A `soft_nms_sigma` above 0 lowers the scores of
    boxes that overlap less than the threshold, chooses those above `score_threshold`, and gives boxes,
    indices and number.
    """
    op = "vision.non_max_suppression"
    ty = float_only(op, _ranked(op, data, "data", 3), "data")
    valid, places = _ranked(op, valid_count, "valid_count", 1), _ranked(op, indices, "indices", 2)
    for name, one in (("valid_count", valid), ("indices", places)):
        if one.dtype is not None and one.dtype != INT32:
            type_fault(op, f"`{name}` must be of `int32`, not of `{one.dtype}`")
    common_vdevice(op, ty, valid, places)
    _numbers(
        op, ty, {"score_index": (score_index, 0), "id_index": (id_index, -1), "coord_start": (coord_start, 0)}
    )
    if ty.sizes is not None:
        _sized(op, valid, "valid_count", 0, ty.sizes[0], "`data`")
        _sized(op, places, "indices", 0, ty.sizes[0], "`data`")
        _sized(op, places, "indices", 1, ty.sizes[1], "`data`")
    out = like(ty, ty.sizes) if ty.sizes is not None else like(ty, ndim=3)
    if not return_indices:
        return out
    if ty.sizes is None:
        chosen, count = like(ty, dtype=INT32, ndim=2), like(ty, dtype=INT32, ndim=2)
    else:
        chosen = like(ty, ty.sizes[:2], INT32)
        count = like(ty, (ty.sizes[0], const(1, "int64")), INT32)
    return TupleType([out, chosen, count] if soft_nms_sigma > 0 else [chosen, count])


def _prepare_multibox(values: dict[str, Any]) -> None:
    """Four numbers, however they are given."""
    numbers = values["variances"]
    values["variances"] = tuple([float(getattr(x, "value", x)) for x in numbers])


def _multibox_te(
    cls_pred: te.Tensor,
    loc_pred: te.Tensor,
    anchor: te.Tensor,
    clip: bool,
    threshold: float,
    variances: Sequence[float],
    keep_background: bool,
    apply_softmax: bool,
) -> list[te.Tensor]:
    dtype = cls_pred.dtype
    batch, _, n = cls_pred.shape

    def box(b: Any, i: Any, side: Any) -> Any:
        def of(k: int) -> Any:
            return anchor(0, i, k)

        found = []
        for k in (1, 0):  # down, across
            size = of(k + 2) - of(k)
            centre = (of(k) + of(k + 2)) * const(0.5, dtype)
            centre = loc_pred(b, i * 4 + k) * const(variances[k], dtype) * size + centre
            half = (
                te.exp(loc_pred(b, i * 4 + k + 2) * const(variances[k + 2], dtype)) * size * const(0.5, dtype)
            )
            found.append((centre - half, centre + half))
        corners = [found[0][0], found[1][0], found[0][1], found[1][1]]
        value = corners[3]
        for k in (2, 1, 0):
            value = arith.select(arith.equal(side, k), corners[k], value)
        if clip:
            value = arith.max_(arith.min_(value, const(1, dtype)), const(0, dtype))
        return value

    boxes = te.compute((batch, n, const(4, n.dtype)), box, "boxes")
    scores = cls_pred
    if apply_softmax:
        soft = get_op("relax.nn.softmax").te
        assert soft is not None
        scores = soft(cls_pred, axis=1)

    def score(b: Any, c: Any, i: Any) -> Any:
        value = scores(b, c, i)
        keep = value >= const(threshold, dtype)
        if not keep_background:
            keep = arith.logical_and(keep, arith.greater(c, 0))
        return arith.select(keep, value, const(0, dtype))

    return [boxes, te.compute(cls_pred.shape, score, "scores")]


def _multibox_numpy(
    cls_pred: Any,
    loc_pred: Any,
    anchor: Any,
    clip: bool,
    threshold: float,
    variances: Sequence[float],
    keep_background: bool,
    apply_softmax: bool,
) -> Any:
    import numpy as np

    moves = loc_pred.reshape(*loc_pred.shape[:1], loc_pred.shape[1] // 4, 4).astype(np.float64) * np.array(
        variances
    )
    size = anchor[..., 2:] - anchor[..., :2]
    centre = moves[..., :2] * size + (anchor[..., :2] + anchor[..., 2:]) / 2
    half = np.exp(moves[..., 2:]) * size / 2
    boxes = np.concatenate([(centre - half)[..., ::-1], (centre + half)[..., ::-1]], axis=-1)
    boxes = np.clip(boxes, 0, 1) if clip else boxes
    scores = cls_pred.astype(np.float64)
    if apply_softmax:
        scores = np.exp(scores - scores.max(axis=1, keepdims=True, initial=-np.inf))
        scores /= scores.sum(axis=1, keepdims=True)
    scores = np.where(scores >= threshold, scores, 0)
    if not keep_background:
        scores[:, :1] = 0
    return boxes.astype(cls_pred.dtype), scores.astype(cls_pred.dtype)


@relax_op(
    "relax.vision.multibox_transform_loc",
    prepare=_prepare_multibox,
    pattern=OpPattern.OPAQUE,
    te=_multibox_te,
    numpy=_multibox_numpy,
)
def multibox_transform_loc(
    cls_pred: Tensor,
    loc_pred: Tensor,
    anchor: Tensor,
    clip: bool = False,
    threshold: float = 0.0,
    variances: Any = (1.0, 1.0, 1.0, 1.0),
    keep_background: bool = True,
    apply_softmax: bool = True,
) -> Type:
    """Boxes from anchors and how a network moves them, and the scores of their classes.

    Anchors (1, n, 4) are left, top, right, bottom; moves (batch, 4 * n) are those of the centre and the
    logarithms of how the size changes, times `variances`.  Boxes are (batch, n, 4): top, left, bottom, right,
    between 0 and 1 with `clip`.  Scores (batch, classes, n) are the softmax over the classes, 0 where they
    are below the threshold and, without `keep_background`, for the first class.
    """
    op = "vision.multibox_transform_loc"
    c = float_only(op, _ranked(op, cls_pred, "cls_pred", 3), "cls_pred")
    moves, anchors = _ranked(op, loc_pred, "loc_pred", 2), _ranked(op, anchor, "anchor", 3)
    for one in (moves, anchors):
        common_dtype(op, c, one)
    common_vdevice(op, c, moves, anchors)
    if len(variances) != 4:
        shape_fault(op, f"`variances` needs 4 numbers, not {len(variances)}")
    _sized(op, anchors, "anchor", 0, const(1, "int64"), "one set, 1")
    _sized(op, anchors, "anchor", 2, const(4, "int64"), "a box, 4")
    if moves.sizes is not None and (constant(moves.sizes[1]) or 0) % 4:
        shape_fault(op, f"the second size of `loc_pred` must be a multiple of 4: {show(moves.sizes)}")
    if c.sizes is None:
        return TupleType([like(c, ndim=3), like(c, ndim=3)])
    _sized(op, moves, "loc_pred", 0, c.sizes[0], "`cls_pred`")
    _sized(op, moves, "loc_pred", 1, simplify(c.sizes[2] * 4), "4 times the boxes of `cls_pred`")
    _sized(op, anchors, "anchor", 1, c.sizes[2], "the boxes of `cls_pred`")
    return TupleType([like(c, (c.sizes[0], c.sizes[2], const(4, "int64"))), like(c, c.sizes)])


__all__ = [
    "all_class_non_max_suppression",
    "get_valid_counts",
    "multibox_transform_loc",
    "non_max_suppression",
]
