"""`tvm.ir.instrument`: what looks at passes as they run."""

from __future__ import annotations

from ...transform import Instrument, PrintAfter
from ..adapters import lacking

PassInstrument = Instrument


def PrintAfterAll() -> PrintAfter:
    """An instrument that prints the module after each pass."""
    return PrintAfter()


__getattr__ = lacking("tvm.ir.instrument")

__all__ = ["PassInstrument", "PrintAfterAll"]
