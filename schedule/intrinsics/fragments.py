"""Where the elements of a matrix stand in the registers of a warp, for `mma.sync` and `ldmatrix`.

A fragment is a buffer of 32 lanes by the elements that each lane holds.  `ldmatrix` brings tiles of 8 rows
of 16 bytes: lane `4 * row + column` gets 4 bytes of each of them.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from ...errors import ArgumentValueError, Diagnostic, suggest

LANES: Final = 32


class Element(NamedTuple):
    """An element type of the tensor cores: as names of intrinsics, buffers and instructions spell it."""

    short: str
    dtype: str
    ptx: str
    bits: int
    scalar: str

    @property
    def unit(self) -> int:
        """How many elements 16 bytes hold."""
        return 128 // self.bits

    @property
    def packed(self) -> int:
        """How many elements a register holds."""
        return 32 // self.bits

    @property
    def depth(self) -> int:
        """How many elements of a row an instruction takes."""
        return 2 * self.unit

    @property
    def held(self) -> int:
        """How many elements of a tile of 16 rows a lane holds."""
        return 16 * self.depth // LANES


INPUTS: Final = {
    e.short: e
    for e in (
        Element("f16", "float16", "fp16", 16, "f16"),
        Element("bf16", "bfloat16", "bf16", 16, "bf16"),
        Element("tf32", "float32", "tf32", 32, "tf32"),
        Element("i8", "int8", "int8", 8, "s8"),
        Element("e4m3", "float8_e4m3fn", "e4m3", 8, "e4m3"),
        Element("e5m2", "float8_e5m2", "e5m2", 8, "e5m2"),
    )
}
"""What the instructions multiply."""

OUTPUTS: Final = {
    e.short: e
    for e in (
        Element("f16", "float16", "fp16", 16, "f16"),
        Element("f32", "float32", "fp32", 32, "f32"),
        Element("i32", "int32", "int32", 32, "s32"),
    )
}
"""What they add to."""


def input_of(dtype: str) -> Element:
    """The element type of these buffers. Raises ArgumentValueError where tensor cores do not know it."""
    return _by_dtype(INPUTS, dtype)


def output_of(dtype: str) -> Element:
    """The same of results."""
    return _by_dtype(OUTPUTS, dtype)


def _by_dtype(known: dict[str, Element], dtype: str) -> Element:
    found = {e.dtype: e for e in known.values()}
    if dtype not in found:
        help_ = (*suggest(dtype, list(found)), "known are " + ", ".join(found))
        raise ArgumentValueError(
            Diagnostic("tensor-intrin", f"tensor cores do not know the type `{dtype}`", help=help_)
        )
    return found[dtype]


def rows(e: Element, row: Any, column: Any) -> tuple[Any, Any]:
    """The lane and place of an element of a tile of 16 rows, as `ldmatrix` of four matrices loads it."""
    u, p = e.unit, e.packed
    return 4 * (row % 8) + column % u // p, 2 * p * (column // u) + row // 8 * p + column % p


def rows_cell(e: Element, lane: Any, place: Any) -> tuple[Any, Any]:
    """The row and column of what a lane holds of a tile of 16 rows: the inverse of `rows`."""
    p = e.packed
    return place // p % 2 * 8 + lane // 4, place // p // 2 * e.unit + lane % 4 * p + place % p


def columns(e: Element, row: Any, column: Any) -> tuple[Any, Any]:
    """The lane and place of an element of a right operand of 16 columns, stored row by row."""
    u, p = e.unit, e.packed
    return row % u // p + 4 * (column % 8), 2 * p * (column // 8) + row // u * p + row % p


def columns_cell(e: Element, lane: Any, place: Any) -> tuple[Any, Any]:
    """The row and column of what a lane holds of a right operand: the inverse of `columns`."""
    p = e.packed
    return place // p % 2 * e.unit + lane % 4 * p + place % p, place // p // 2 * 8 + lane // 4


def result(row: Any, column: Any) -> tuple[Any, Any]:
    """The lane and place of an element of a result of 16 by 16."""
    return 4 * (row % 8) + column % 8 // 2, 4 * (column // 8) + row // 8 * 2 + column % 2


def result_cell(lane: Any, place: Any) -> tuple[Any, Any]:
    """The row and column of what a lane holds of a result: the inverse of `result`."""
    return 8 * (place % 4 // 2) + lane // 4, 8 * (place // 4) + lane % 4 * 2 + place % 2
