"""Cases of the operators that reshape, join, split, repeat and mirror tensors."""

from __future__ import annotations

import numpy as np

from ...ir import index_map
from .spec import case, tensor

X = tensor("n", 2, "m")


def _lengths(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.integers(0, 2, shape)


CASES = (
    case("relax.reshape", X, ("n", "m", 2)),
    case("relax.reshape", X, (-1,)),
    case("relax.reshape", X, (0, -1)),
    case("relax.reshape", tensor("n", 6, dtype="bool", values="bools"), ("n", 3, 2)),
    case("relax.reshape", tensor(1, 1), ()),
    case("relax.reshape", tensor(), (1, 1)),
    case("relax.flatten", X),
    case("relax.size", X),
    case("relax.flatten", tensor(dtype="int8")),
    case("relax.flatten", tensor("n", dtype="float16")),
    case("relax.squeeze", tensor(1, 3, 1, 2)),
    case("relax.squeeze", tensor(1, "n", 1), axis=-1),
    case("relax.squeeze", tensor(1, "n", 1, dtype="int64"), axis=(0, -1)),
    case("relax.squeeze", tensor(2, "n", 1), axis=(0, 2)),
    case("relax.expand_dims", X, axis=(0, -1)),
    case("relax.expand_dims", tensor(dtype="uint8"), axis=0),
    case("relax.expand_dims", tensor("n"), axis=(1, 2)),
    case("relax.permute_dims", X),
    case("relax.permute_dims", X, axes=(1, -1, 0)),
    case("relax.permute_dims", tensor(), axes=()),
    case("relax.permute_dims", tensor("n", "m", dtype="bfloat16")),
    case("relax.broadcast_to", tensor("n", 1), (3, "n", "m")),
    case("relax.broadcast_to", tensor(), ("n", 2)),
    case("relax.broadcast_to", tensor("m", dtype="int32"), ("n", "m")),
    case("relax.collapse_sum_to", X, (2, 1), reduces=True),
    case("relax.collapse_sum_to", X, ("n", 1, "m"), reduces=True),
    case("relax.collapse_sum_to", X, (), reduces=True),
    case("relax.collapse_sum_like", tensor("n", "m", dtype="int32"), tensor(1, "m"), reduces=True),
    case("relax.layout_transform", tensor(3, 8), index_map=index_map(lambda i, j: (j // 4, i, j % 4))),
    case("relax.layout_transform", tensor("n", "m"), index_map=index_map(lambda i, j: (j, i))),
    case("relax.layout_transform", tensor(7), index_map=index_map(lambda i: (i // 4, i % 4)), pad_value=2),
    case("relax.layout_transform", tensor(6, dtype="int32"), index_map=index_map(lambda i: (i // 4, i % 4))),
    case("relax.concat", [tensor("n", 2), tensor("n", 3), tensor("n", 1)], axis=-1),
    case("relax.concat", [tensor("n", 2), tensor("m", 2)]),
    case("relax.concat", [tensor("n", dtype="int8"), tensor(3, dtype="int8")], axis=None),
    case("relax.concat", [tensor("n", 2)], axis=1),
    case("relax.stack", [tensor("n", 2), tensor("n", 2), tensor("n", 2)], axis=-1),
    case("relax.stack", [tensor(), tensor()]),
    case("relax.split", tensor("n", 7), indices_or_sections=3, axis=1),
    case("relax.split", tensor("n", 7), indices_or_sections=(2, 2, 5), axis=-1),
    case("relax.split", tensor("n", 7), indices_or_sections=(5, 9), axis=-1),
    case("relax.split", tensor("n", 2), indices_or_sections=2),
    case("relax.split", tensor("n", 2), indices_or_sections=(1, 3)),
    case("relax.split", tensor("n", 2), indices_or_sections=1),
    case("relax.split", tensor(9), indices_or_sections=4),
    case("relax.meshgrid", [tensor("n"), tensor("m"), tensor(2)]),
    case("relax.meshgrid", [tensor("n", dtype="int64"), tensor("m", dtype="int64")], indexing="xy"),
    case("relax.meshgrid", [tensor("n")], indexing="xy"),
    case("relax.repeat", X, repeats=2),
    case("relax.repeat", X, repeats=3, axis=-1),
    case("relax.repeat", tensor(dtype="int8"), repeats=2),
    case("relax.tile", X, repeats=2),
    case("relax.tile", tensor("n"), repeats=(2, 1, 3)),
    case("relax.tile", X, repeats=(2, 0)),
    case("relax.flip", X, axis=0),
    case("relax.flip", X, axis=-1),
    case("relax.reverse_sequence", X, tensor("n", dtype="int32", values=_lengths)),
    case("relax.reverse_sequence", tensor(2, 3, 4), tensor(4, dtype="int64", values="counts"), batch_axis=-1),
    case("relax.slice_scatter", tensor(7, "n"), tensor(3, "n"), 1, 6, 2),
    case("relax.slice_scatter", tensor("n", 5), tensor("n", 2), -3, -1, 1, axis=-1),
    case(
        "relax.slice_scatter", tensor("n", 5, dtype="int32"), tensor("n", 5, dtype="int32"), 0, 99, 1, axis=1
    ),
)
