"""Cases of the operators of images and of object detection."""

from __future__ import annotations

from typing import Any

import numpy as np

from .spec import case, tensor

IMAGE = tensor("n", 2, "k", 5)
_GRID = tensor("n", 2, 3, "m", values=lambda rng, shape: rng.uniform(-2.3, 2.3, shape))
_SPACE = tensor("n", 3, 2, 2, 1, values=lambda rng, shape: rng.uniform(-1.9, 1.9, shape))
_MODES = ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn")


def _boxes(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Rows of class, score and two corners."""
    classes, scores = rng.choice([-1.0, 0.0, 1.0], shape[:-1]), rng.uniform(-0.2, 1, shape[:-1])
    low = rng.uniform(0, 4, (*shape[:-1], 2))
    return np.concatenate(
        [classes[..., None], scores[..., None], low, low + rng.uniform(1, 4, low.shape)], -1
    )


def _regions(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Rows of an image's number and two corners."""
    low = rng.uniform(-2, 5, (shape[0], 2))
    numbers = rng.integers(0, 2, (shape[0], 1))
    return np.concatenate([numbers, low, low + rng.uniform(0, 7, low.shape)], 1)


_DATA = tensor("n", 7, 6, values=_boxes)
_VALID = tensor("n", dtype="int32", values=lambda rng, shape: rng.integers(0, 9, shape))
_PLACES = tensor(
    "n",
    7,
    dtype="int32",
    values=lambda rng, shape: rng.permuted(np.broadcast_to(np.arange(7), shape), axis=-1),
)
_CORNERS = tensor("n", "m", 4, values=lambda rng, shape: rng.uniform(0, 3, shape))
_SCORES = tensor("n", 2, "m", values="unit")
_LIMITS = [
    tensor(dtype="int64", values=np.array(2)),
    tensor(values=np.array(0.3)),
    tensor(values=np.array(-0.5)),
]
_ROIS = tensor("n", 5, values=_regions)

RESIZES = (
    *[
        case("relax.image.resize2d", IMAGE, (4, "m"), coordinate_transformation_mode=m, ulps=8)
        for m in _MODES
    ],
    *[
        case(
            "relax.image.resize2d",
            *[IMAGE, ("m", 7)],
            method="nearest_neighbor",
            coordinate_transformation_mode=m,
            rounding_method=r,
        )
        for m, r in zip(_MODES, ("round", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"))
    ],
    case("relax.image.resize2d", IMAGE, (4, "m"), method="cubic", ulps=32),
    case("relax.image.resize2d", IMAGE, (4, "m"), method="cubic", cubic_exclude=1, cubic_alpha=-0.5, ulps=32),
    case(
        "relax.image.resize2d",
        *[tensor("n", "k", 5, 2, dtype="float16"), (4, 3)],
        layout="NHWC",
        out_dtype="float32",
        ulps=8,
    ),
    case(
        "relax.image.resize2d",
        *[IMAGE, (4, 3)],
        roi=(0.13, -0.21, 0.71, 1.3),
        coordinate_transformation_mode="tf_crop_and_resize",
        extrapolation_value=2.5,
        ulps=16,
    ),
    case(
        "relax.image.resize2d",
        tensor("n", 1, "k", 4, 2, dtype="uint8"),
        3,
        layout="NCHW2c",
        method="nearest_neighbor",
    ),
    case("relax.image.resize3d", tensor("n", 1, "k", 2, 3), (3, 3, 2), ulps=16),
    case(
        "relax.image.resize3d",
        *[tensor("n", 1, "k", 2, 3), 3],
        method="nearest_neighbor",
        coordinate_transformation_mode="asymmetric",
    ),
)

GRIDS = (
    *[
        case(
            "relax.image.grid_sample",
            tensor("n", 2, 3, 4),
            _GRID,
            method=m,
            padding_mode=p,
            align_corners=a,
            ulps=64,
        )
        for m, p, a in (
            ("bilinear", "zeros", False),
            ("bilinear", "border", True),
            ("bilinear", "reflection", False),
            ("nearest", "reflection", True),
            ("bicubic", "zeros", True),
            ("bicubic", "reflection", False),
        )
    ],
    case("relax.image.grid_sample", tensor("n", 2, 3, 4, 1), _SPACE, layout="NDHWC", ulps=64),
    case("relax.image.affine_grid", tensor("n", 2, 3), (3, "m"), ulps=8),
    case("relax.image.affine_grid", tensor("n", 3, 4), (2, 1, "m"), align_corners=False, ulps=8),
)

DETECTION = (
    case("relax.vision.get_valid_counts", _DATA, score_threshold=0.3),
    case("relax.vision.get_valid_counts", _DATA, score_threshold=0.3, id_index=-1),
    case("relax.vision.non_max_suppression", _DATA, _VALID, _PLACES, iou_threshold=0.2),
    case(
        "relax.vision.non_max_suppression",
        *[_DATA, _VALID, _PLACES],
        iou_threshold=0.2,
        force_suppress=True,
        top_k=5,
        return_indices=False,
    ),
    case(
        "relax.vision.non_max_suppression",
        *[_DATA, _VALID, _PLACES],
        iou_threshold=0.1,
        max_output_size=2,
        id_index=-1,
        return_indices=False,
        invalid_to_bottom=True,
    ),
    case(
        "relax.vision.non_max_suppression",
        *[_DATA, _VALID, _PLACES],
        iou_threshold=0.6,
        force_suppress=True,
        soft_nms_sigma=0.25,
        score_threshold=0.1,
        ulps=16,
    ),
    case("relax.vision.all_class_non_max_suppression", _CORNERS, _SCORES, *_LIMITS),
    case(
        "relax.vision.all_class_non_max_suppression", _CORNERS, _SCORES, *_LIMITS, output_format="tensorflow"
    ),
    case(
        "relax.vision.multibox_transform_loc",
        *[tensor("n", 3, 2), tensor("n", 8, values="unit"), tensor(1, 2, 4, values="unit")],
        clip=True,
        threshold=0.3,
        variances=(0.1, 0.2, 0.3, 0.4),
        ulps=32,
    ),
    case(
        "relax.vision.multibox_transform_loc",
        *[tensor("n", 3, 2), tensor("n", 8, values="unit"), tensor(1, 2, 4, values="unit")],
        keep_background=False,
        apply_softmax=False,
        ulps=32,
    ),
    case(
        "relax.vision.roi_align", tensor(2, 2, 5, 6), _ROIS, pooled_size=(2, 3), spatial_scale=0.7, ulps=128
    ),
    case(
        "relax.vision.roi_align",
        *[tensor(2, 5, 6, 2), _ROIS],
        pooled_size=2,
        spatial_scale=0.5,
        sample_ratio=2,
        aligned=True,
        layout="NHWC",
        mode="max",
        ulps=128,
    ),
    case("relax.vision.roi_pool", tensor(2, 2, 5, 6), _ROIS, pooled_size=(2, 3), spatial_scale=0.7),
)

CASES = (*RESIZES, *GRIDS, *DETECTION)
