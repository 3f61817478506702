"""Default schedules for processors."""

from __future__ import annotations

from typing import Final

from ..rule import Rule
from .byte_product import byte_product
from .columns import columns
from .convolution import convolution
from .elementwise import elementwise
from .inline import inline_producer
from .matmul import matmul
from .rows import rows
from .stencil import stencil
from .together import together
from .total import total
from .transpose import transpose

CPU_RULES: Final[tuple[Rule, ...]] = (
    inline_producer,
    together,
    byte_product,
    matmul,
    convolution,
    stencil,
    total,
    rows,
    columns,
    transpose,
    elementwise,
)
"""The rules for the target kind `llvm`, in the order in which they are tried."""

__all__ = [
    "byte_product",
    "CPU_RULES",
    "columns",
    "convolution",
    "elementwise",
    "inline_producer",
    "matmul",
    "rows",
    "together",
    "total",
]
