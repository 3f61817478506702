"""Vectors: halves, masks, scalable lengths, predicated access."""

from __future__ import annotations

from typing import Any

from ...errors import Diagnostic, DTypeError
from ..buffer import buffer_type
from ..expr import Call
from ..op import Effect
from ..operators import call_type
from ..types import INT32, VOID
from . import numerics as num
from .define import buffer_of, define, make

define("prim.vscale", "", INT32, "How many times the smallest vector register the machine's holds.")
define(
    "tirx.get_active_lane_mask",
    "dtype, base, limit",
    "dtype",
    "A mask: lane i is true where base + i < limit.",
)
define("tirx.vectorlow", "dtype, vec", "dtype", "The first half of a vector.", numpy=num.low_half)
define("tirx.vectorhigh", "dtype, vec", "dtype", "The second half of a vector.", numpy=num.high_half)
define(
    "tirx.vectorcombine", "dtype, vec1, vec2", "dtype", "Two vectors one after the other.", numpy=num.joined
)


def _check_masked(name: str, buffer: Any, rest: tuple[Any, ...]) -> None:
    found = buffer_of(buffer)
    if found is None:
        raise DTypeError(
            Diagnostic("not-a-buffer", f"T.{name} needs a buffer, not a {type(buffer).__name__}")
        )
    rank = len(buffer_type(found, "shape").shape)
    if len(rest) != rank + 1:
        raise DTypeError(
            Diagnostic(
                "index-count",
                f"T.{name} of `{found.name}` takes {rank} indices and a mask, {len(rest)} values were given",
            )
        )


def _masked_load(dtype: Any, buffer: Any, *rest: Any) -> Call:
    _check_masked("masked_load", buffer, rest)
    return make("tirx.masked_load", (buffer, *rest), call_type(dtype))


def _masked_store(buffer: Any, value: Any, *rest: Any) -> Call:
    _check_masked("masked_store", buffer, rest)
    return make("tirx.masked_store", (buffer, value, *rest), VOID)


define(
    "tirx.masked_load",
    "dtype, buffer, *indices_and_mask",
    "dtype",
    "The lanes of a buffer where the mask, the last argument, is true; the others are undefined.",
    Effect.READ,
    rule=_masked_load,
)
define(
    "tirx.masked_store",
    "buffer, value, *indices_and_mask",
    VOID,
    "Stores the lanes where the mask, the last argument, is true.",
    Effect.UPDATE,
    rule=_masked_store,
)
