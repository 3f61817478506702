"""Default schedules for processors."""

from __future__ import annotations

from typing import Final

from ..rule import Rule
from .columns import columns
from .convolution import convolution
from .elementwise import elementwise
from .inline import inline_producer
from .matmul import matmul
from .rows import rows
from .together import together
from .transpose import transpose

CPU_RULES: Final[tuple[Rule, ...]] = (
    inline_producer,
    together,
    matmul,
    convolution,
    rows,
    columns,
    transpose,
    elementwise,
)
"""The rules for the target kind `llvm`, in the order in which they are tried."""

__all__ = [
    "CPU_RULES",
    "columns",
    "convolution",
    "elementwise",
    "inline_producer",
    "matmul",
    "rows",
    "together",
]
