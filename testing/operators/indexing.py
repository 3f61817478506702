"""Cases of the operators that read elements by index."""

from __future__ import annotations

import numpy as np

from .spec import OperandSpec, case, tensor


def below(*dims: int | str, end: int, low: int = 0, dtype: str = "int64") -> OperandSpec:
    """Indices from `low` up to `end`, without it."""
    return tensor(*dims, dtype=dtype, values=lambda rng, shape: rng.integers(low, end, shape))


def listed(*values: int) -> OperandSpec:
    """A vector of these int64."""
    return tensor(values=np.array(values, "int64"), dtype="int64")


X = tensor("n", 5, "m")
CASES = (
    case("relax.take", X, below(3, end=5), axis=1),
    case("relax.take", X, below("k", 2, end=5, dtype="int32"), axis=-2),
    case("relax.take", tensor(4), below("k", end=4, dtype="uint8")),
    case("relax.take", tensor(4, "n", dtype="int8"), below(end=4), axis=0),
    case("relax.take", tensor("n", 4), 3, axis=1),
    case("relax.take", X, below(6, end=20, low=-20), axis=1, mode="wrap"),
    case("relax.take", X, below(6, end=20, low=-20), axis=1, mode="clip"),
    case("relax.take", X, below(6, end=20, low=-20, dtype="int32"), axis=1, mode="nan"),
    case("relax.strided_slice", X, (1,), (1,), (4,)),
    case("relax.strided_slice", X, (0, -2), (0, 4), (2, -9), (1, -2)),
    case("relax.strided_slice", X, (0,), (1,), (8,), (2,)),
    case("relax.strided_slice", X, (0,), (-1,), (-9,), (-1,)),
    case("relax.strided_slice", X, (0, 1), (-2, -3), (-1, -1)),
    case("relax.strided_slice", X, (1,), (3,), (1,)),
    case("relax.strided_slice", X, (1,), (1,), (5,), (3,), assume_inbound=True),
    case("relax.strided_slice", X, (1,), (-3,), (-1,), assume_inbound=True),
    case("relax.strided_slice", tensor("n", "m"), (0, 1), (0, 1), ("m", "n")),
    case("relax.strided_slice", tensor("n", "m", dtype="bool", values="bools"), (1,), (2,), (9,), (3,)),
    case("relax.index_tensor", tensor(4, 5, "n"), [below(2, 1, end=4, low=-4), below(3, end=5, low=-5)]),
    case("relax.index_tensor", tensor(4, "n"), [below("k", end=4, dtype="int32")]),
    case("relax.index_tensor", tensor(4), [below(end=4, low=-4)]),
    case("relax.gather_elements", tensor("n", 5), below("n", "k", end=5, low=-5), axis=-1),
    case("relax.gather_elements", tensor(4, 3, "n", dtype="int16"), below(6, 2, "n", end=4, dtype="int32")),
    case("relax.gather_nd", tensor(4, 5, "n"), below("k", 2, end=4, low=-4)),
    case("relax.gather_nd", tensor("n", 3, 4, 5), below("n", 6, 2, end=3, low=-3), batch_dims=1),
    case("relax.gather_nd", tensor(4, "n"), below(1, end=4)),
    case("relax.gather_nd", tensor("n", 3), below("n", 2, 1, end=3), batch_dims=1),
)
