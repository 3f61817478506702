"""Cases of scans, searches, sorting and scattering."""

from __future__ import annotations

import numpy as np

from .indexing import below, listed
from .spec import Case, OperandSpec, case, tensor

X = tensor("n", 5, "m")
FLOATS = ("float32", "float64", "bfloat16", "float8_e4m3fn")
INTEGERS = ("int8", "uint16", "int64")


def _wide(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Integers of many sizes."""
    return rng.integers(-(2**62), 2**62, shape) >> rng.integers(0, 62, shape)


def _table(dtype: str = "float32") -> OperandSpec:
    """Three distributions over four outcomes."""
    rows = [[0.25, 0.25, 0.25, 0.25], [0, 0.5, 0.5, 0], [0.125, 0.5, 0.25, 0.125]]
    return tensor(values=np.array(rows), dtype=dtype)


def scatters(dtype: str, *reductions: str) -> list[Case]:
    """Scatters of this dtype with many updates for each place."""
    values = "bools" if dtype == "bool" else "numbers"
    data, new = tensor("n", 3, dtype=dtype, values=values), tensor("n", 9, dtype=dtype, values=values)
    flat = tensor(3, "n", dtype=dtype, values=values)
    found = []
    for r in reductions:
        found.append(
            case("relax.scatter_elements", data, below("n", 9, end=3, low=-3), new, axis=1, reduction=r)
        )
        if r != "mean":
            row = tensor(9, "n", dtype=dtype, values=values)
            found.append(case("relax.scatter_nd", flat, below(9, 1, end=3, low=-3), row, reduction=r))
    return found


CASES = (
    case("relax.cumsum", X),
    case("relax.cumsum", X, axis=1),
    case("relax.cumsum", X, axis=-1, exclusive=True),
    case("relax.cumsum", X, axis=0, dtype="int32", exclusive=True),
    case("relax.cumsum", tensor("n", dtype="bool", values="bools"), dtype="int32"),
    case("relax.cumsum", tensor("n", 3, dtype="bool", values="bools"), axis=0),
    case("relax.cumsum", tensor("n", 3, dtype="int8"), axis=-1, dtype="int64"),
    case("relax.cumsum", tensor()),
    case("relax.cumprod", X, axis=1),
    case("relax.cumprod", tensor("n", dtype="uint8"), exclusive=True),
    case("relax.cumprod", tensor("n", 4, dtype="float64"), axis=-1),
    case("relax.argmax", X, axis=1),
    case("relax.argmax", X, axis=-2, keepdims=True),
    case("relax.argmax", tensor(3, 4)),
    case("relax.argmax", tensor("n", 9, values="special"), axis=1),
    case("relax.argmax", tensor()),
    case("relax.argmax", tensor("n", 3, dtype="bool", values="bools"), axis=-1),
    case("relax.argmin", X, axis=1),
    case("relax.argmin", tensor(3, 4, dtype="uint8"), keepdims=True),
    case("relax.argmin", tensor("n", 9, values="special"), axis=1),
    case("relax.argmin", tensor("n", 4, dtype="bfloat16"), axis=1),
    case("relax.bucketize", X, tensor(values=np.array([-2, 0, 1, 3], "float32"))),
    case("relax.bucketize", X, tensor(values=np.array([-2, 0, 1, 3], "float32")), out_int32=True, right=True),
    case("relax.bucketize", tensor("n", values="special"), tensor(values=np.array([-2, 0, 1], "float32"))),
    case("relax.bucketize", tensor("n", dtype="int64"), tensor(0, dtype="int64")),
    case("relax.nonzero", X),
    case("relax.nonzero", tensor("n", dtype="bool", values="bools")),
    case("relax.nonzero", tensor(values="nonzero")),
    case("relax.nonzero", tensor("n", "m", dtype="int64", values="counts")),
    *scatters("float32", "update", "add", "mul", "min", "max", "mean"),
    *scatters("int8", "update", "add", "max", "mean"),
    *scatters("bool", "update", "add"),
    case("relax.scatter_elements", tensor(3, "n"), below(2, "n", end=3, dtype="int32"), tensor(2, "n")),
    case(
        "relax.scatter_nd",
        tensor(4, 5, "n"),
        below("k", 3, 2, end=4, low=-4),
        tensor("k", 3, "n"),
        reduction="add",
    ),
    case("relax.scatter_nd", tensor(4, 5), below(2, end=4), tensor(), reduction="max"),
    case("relax.index_put", tensor(4, 5), [below(3, end=4, low=-4), below(2, 1, end=5)], tensor(2, 3)),
    case("relax.index_put", tensor(4), [below("k", end=4, low=-4)], tensor(), accumulate=True),
    case("relax.sort", X, axis=1),
    case("relax.sort", X, axis=-1, descending=True),
    case("relax.sort", tensor("n", 40, values="special"), axis=-1),
    case("relax.sort", tensor(9, "n", values="special"), axis=0, descending=True),
    case("relax.sort", tensor()),
    *[case("relax.sort", tensor("n", 70, dtype=d, values="normal"), axis=-1) for d in FLOATS],
    *[case("relax.sort", tensor("n", 70, dtype=d, values=_wide), axis=1, descending=True) for d in INTEGERS],
    case("relax.sort", tensor("n", 40, dtype="bool", values="bools")),
    case("relax.argsort", X, axis=1),
    case("relax.argsort", tensor("n", 90), axis=-1),
    case("relax.argsort", tensor("n", 90), axis=-1, descending=True, dtype="int64"),
    case("relax.argsort", tensor(90, "n", values="special"), axis=0, descending=True),
    case("relax.argsort", tensor("n", 90, dtype="uint16", values=_wide), axis=-1),
    case("relax.argsort", tensor("n", 30), dtype="float16"),
    case("relax.argsort", tensor(), dtype="int64"),
    case("relax.topk", tensor("n", 5), k=2),
    case("relax.topk", tensor("n", 90), k=7),
    case("relax.topk", tensor("n", 90, values="special"), k=9, largest=False),
    case("relax.topk", tensor(90, "n", dtype="int16"), k=3, axis=0, dtype="int64"),
    case("relax.topk", tensor("n", 30), k=0, ret_type="values"),
    case("relax.topk", tensor("n", 3), k=9, ret_type="indices", largest=False),
    case("relax.topk", tensor("n", 90), k=1, axis=-1),
    case("relax.median", tensor("n", 6), axis=1),
    case("relax.median", X, axis=1, keepdims=True),
    case("relax.median", tensor(4, "n", 9), axis=(0, 2)),
    case("relax.median", tensor(4, 9)),
    case("relax.median", tensor(4, 9, values="special"), axis=0),
    *[
        case(
            "relax.unique",
            tensor("n", "m", dtype=d, values=v),
            return_index=True,
            return_inverse=True,
            **more,
        )
        for d, v, more in (
            ("int32", "counts", {}),
            ("float32", "special", {"return_counts": True}),
            ("int8", "counts", {"sorted": False, "return_counts": True}),
            ("int64", "bools", {"axis": 0, "return_counts": True}),
            ("int64", "bools", {"axis": -1, "sorted": False}),
        )
    ],
    case("relax.unique", tensor("n", dtype="bool", values="bools")),
    case("relax.unique", tensor()),
    case("relax.unique", tensor("n", 2, 2, dtype="float16", values="bools"), axis=0),
    case("relax.multinomial_from_uniform", _table(), tensor("n", 1, values="unit"), below("n", 1, end=3)),
    case(
        "relax.multinomial_from_uniform",
        _table("float64"),
        tensor(values=np.array([[0.25], [0.5], [1.0], [0.0]]), dtype="float64"),
        below(4, 1, end=3, dtype="int32"),
        dtype="int32",
    ),
    case("relax.dynamic_strided_slice", tensor("n", 7), listed(0, 1), listed(9, 6), listed(1, 2)),
    case("relax.dynamic_strided_slice", tensor("n", 7), listed(-1, -2), listed(-9, -8), listed(-1, -3)),
)
