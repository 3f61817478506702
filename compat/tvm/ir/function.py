"""`tvm.ir.function`: functions in general."""

from __future__ import annotations

import enum

from ....ir import BaseFunc
from ...adapters import lacking


class CallingConv(enum.IntEnum):
    """How a function is called (the peer's numbers)."""

    DEFAULT = 0
    C_PACKED_FUNC = 1
    DEVICE_KERNEL_LAUNCH = 2


__getattr__ = lacking("tvm.ir.function")

__all__ = ["BaseFunc", "CallingConv"]
