"""Names, dtypes and scalar values, the awkward ones among them."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import strategies as st

from ...dtype import DType, known_names
from ...ir import Expr, FloatImm, IntImm, PrimType
from .draw import Source

PLAIN_NAMES = ("i", "j", "k", "x", "y", "A", "B", "n", "v0", "acc")
AWKWARD_NAMES = (
    "for", "class", "None", "match", "print", "T", "R", "I", "cls", "metadata", "TypeVar", "Module", "Axis",
    "main", "x_1", "i_1", "_", "__", "x.y", "a b", "1x", "", "é", "变量", "ﬁ", "a-b", "self", "range",
    "tir", "tirx", "int32", "float32", "tvm", "loopwright", "A_data", "T_1", "lambda", "x'", 'q"', "\\", "\n",
)  # fmt: skip

SCALAR_DTYPES: tuple[DType, ...] = tuple(DType(n) for n in known_names() if n not in ("handle", "void"))
COMMON_DTYPES = tuple(DType(n) for n in ("int32", "float32", "bool", "int64", "float16", "uint8", "float64"))
EXACT_DTYPES = tuple(
    DType(n)
    for n in (
        "int32",
        "float32",
        "int64",
        "float64",
        "int8",
        "uint8",
        "int16",
        "uint16",
        "uint32",
        "uint64",
        "float16",
    )
)


def draw_name(source: Source) -> str:
    """A name: mostly plain, often repeated, sometimes none that Python would take."""
    return source.pick(PLAIN_NAMES) if not source.chance(6) else source.pick(AWKWARD_NAMES)


def names() -> st.SearchStrategy[str]:
    """Names for variables, functions and blocks."""
    return st.one_of(st.sampled_from(PLAIN_NAMES), st.sampled_from(AWKWARD_NAMES), st.text(max_size=4))


def draw_dtype(source: Source, vectors: bool = True) -> DType:
    """A dtype: mostly a common scalar, sometimes any, sometimes a vector."""
    dtype = source.pick(COMMON_DTYPES) if not source.chance(4) else source.pick(SCALAR_DTYPES)
    if vectors and source.chance(12):
        lanes = source.pick((2, 4, 8, 3, 16, 64))
        return dtype.with_lanes(lanes, scalable=source.chance(4))
    return dtype


def dtypes(vectors: bool = True) -> st.SearchStrategy[DType]:
    """Every dtype but handle and void."""

    @st.composite
    def one(draw: Any) -> DType:
        return draw_dtype(Source(draw), vectors)

    return one()


def edge_values(dtype: DType) -> tuple[int | float, ...]:
    """The values of a scalar type where things go wrong: extremes, zeros, subnormals, specials."""
    if dtype.is_bool:
        return (0, 1)
    if dtype.is_integral:
        low, high = int(dtype.min_value), int(dtype.max_value)
        return tuple(dict.fromkeys((0, min(1, high), high, low, max(-1, low), high - 1, high // 2)))
    largest = float(dtype.max_value)
    values: list[float] = [1.0, 0.5, largest]
    if str(dtype) != "float8_e8m0fnu":
        values += [0.0, -0.0, -1.0, -largest]
    if dtype.code in (2, 4):
        values += [math.inf, -math.inf, math.nan, 0.1, 1 / 3, 5e-324, 1e-45, 1e-300]
    return tuple(values)


def draw_scalar(source: Source, dtype: DType) -> Expr:
    """A constant of a scalar dtype: small, or an edge value."""
    if dtype.is_integral:
        if not source.chance(4):
            high = int(min(7, dtype.max_value))
            return IntImm(PrimType(dtype), source.integer(0, high))
        return IntImm(PrimType(dtype), int(source.pick(edge_values(dtype))))
    if not source.chance(3):
        return FloatImm(PrimType(dtype), float(source.pick((1.0, 2.0, 3.0, 4.0))))
    return FloatImm(PrimType(dtype), float(source.pick(edge_values(dtype))))


def scalar_values(dtype: DType | str) -> st.SearchStrategy[Expr]:
    """Constants of this dtype."""

    @st.composite
    def one(draw: Any) -> Expr:
        return draw_scalar(Source(draw), DType(dtype))

    return one()
