"""Cases of matrix products and of reductions."""

from __future__ import annotations

import numpy as np

from .spec import case, tensor

X = tensor("n", 4, "m")
_HALF = tensor("n", 5, dtype="float16")


def _extreme(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers and infinities; rows of one kind too."""
    return rng.choice([-np.inf, np.inf, 1.0, -2.0], shape[:-1] + (1,)) + np.zeros(shape)


CASES = (
    case("relax.matmul", tensor("n", 4), tensor(4, "m")),
    case("relax.matmul", tensor("n", 3, 4), tensor(4, 5)),
    case("relax.matmul", tensor(1, 3, "k"), tensor("n", "k", 2)),
    case("relax.matmul", tensor(6, 2, 4), tensor("n", 6, 4, 5)),
    case("relax.matmul", tensor("n"), tensor("n"), reduces=True),
    case("relax.matmul", tensor("n"), tensor("n", "m"), reduces=True),
    case("relax.matmul", tensor(2, "n"), tensor("n"), reduces=True),
    case("relax.matmul", tensor("n", 4, dtype="int8"), tensor(4, 5, dtype="int8"), out_dtype="int32"),
    case("relax.matmul", tensor("n", 4, dtype="float16"), tensor(4, 5, dtype="float16"), out_dtype="float32"),
    case("relax.matmul", tensor("n", 4, dtype="bfloat16"), tensor(4, 3, dtype="bfloat16"), ulps=4),
    case("relax.outer", tensor("n"), tensor("m")),
    case("relax.outer", tensor("n", dtype="int32"), tensor(3, dtype="int32")),
    case("relax.einsum", [tensor("n", 3), tensor(3, "m")], subscripts="ij,jk->ik"),
    case("relax.einsum", [tensor("n", 3), tensor(3, "m")], subscripts="ij, jk"),
    case("relax.einsum", [tensor("n", 2, 3), tensor(3, "m")], subscripts="...j,jk->...k"),
    case("relax.einsum", [tensor(3, 3)], subscripts="ii"),
    case("relax.einsum", [tensor(3, 3, dtype="int32")], subscripts="ii->i"),
    case("relax.einsum", [tensor("n", "m")], subscripts="ab->ba"),
    case("relax.einsum", [tensor("n"), tensor("n"), tensor("n")], subscripts="i,i,i->", reduces=True),
    case("relax.sum", X, reduces=True),
    case("relax.sum", X, axis=(0, -1), reduces=True),
    case("relax.sum", X, axis=1, keepdims=True, reduces=True),
    case("relax.sum", X, axis=(), reduces=True),
    case("relax.sum", tensor("n", 3, dtype="int8"), axis=1, reduces=True),
    case("relax.sum", tensor("n", 3, dtype="bool", values="bools"), axis=0, reduces=True),
    case("relax.sum", _HALF, axis=-1, reduces=True),
    case("relax.sum", tensor(), reduces=True),
    case("relax.prod", X, axis=1, reduces=True),
    case("relax.prod", tensor("n", 3, dtype="uint8"), axis=-1, keepdims=True, reduces=True),
    case("relax.prod", tensor("n", 3, dtype="bool", values="bools"), axis=0, reduces=True),
    case("relax.mean", X, axis=(1, 2), ulps=4, reduces=True),
    case("relax.mean", X, keepdims=True, ulps=4, reduces=True),
    case("relax.mean", tensor("n", 3, dtype="int32"), axis=1, reduces=True),
    case("relax.mean", tensor(2, 4, dtype="float64"), axis=0, ulps=2, reduces=True),
    case("relax.max", X, axis=0, reduces=True),
    case("relax.max", tensor(4, "n", values=_extreme), axis=0, reduces=True),
    case("relax.max", tensor("n", 3, dtype="int16"), axis=-1, keepdims=True, reduces=True),
    case("relax.max", tensor("n", 3, dtype="bool", values="bools"), reduces=True),
    case("relax.min", X, reduces=True),
    case("relax.min", tensor(4, "n", values=_extreme), axis=(0, 1), reduces=True),
    case("relax.min", tensor("n", 3, dtype="bfloat16"), axis=0, reduces=True),
    case("relax.min", tensor("n", 3, dtype="uint8"), axis=(0, 1), reduces=True),
    case("relax.variance", X, axis=(0, 1), ulps=16, reduces=True),
    case("relax.variance", tensor(3, 5, values="normal"), axis=-1, keepdims=True, ulps=16, reduces=True),
    case("relax.std", tensor(3, 5, values="normal"), axis=-1, ulps=16, reduces=True),
    case("relax.std", X, ulps=16, reduces=True),
)
