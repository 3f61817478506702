"""`tvm.error`: the peer's error names. A parse error is our ScriptError.

The peer raises its InternalError wherever a check finds a program wrong, so the name means all of ours.
"""

from __future__ import annotations

from ...errors import LoopwrightError, ScriptError, UnsupportedError
from ..adapters import lacking

DiagnosticError = ScriptError
InternalError = LoopwrightError
TVMError = LoopwrightError
OpError = LoopwrightError
OpNotImplemented = UnsupportedError

__getattr__ = lacking("tvm.error")

__all__ = ["DiagnosticError", "InternalError", "OpError", "OpNotImplemented", "TVMError"]
