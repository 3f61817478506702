"""Looking at a running program, besides `T.print` in `calls.py`."""

from __future__ import annotations

from ..op import Effect
from ..types import VOID
from .define import define

define("tirx.breakpoint", "", VOID, "Stops in the debugger; the oracle alone can.", Effect.UPDATE)
