"""`tvm.error`: the peer's error names. A parse error is our ScriptError."""

from __future__ import annotations

from ...errors import InternalError, LoopwrightError, ScriptError, UnsupportedError
from ..adapters import lacking

DiagnosticError = ScriptError
TVMError = LoopwrightError
OpError = LoopwrightError
OpNotImplemented = UnsupportedError

__getattr__ = lacking("tvm.error")

__all__ = ["DiagnosticError", "InternalError", "OpError", "OpNotImplemented", "TVMError"]
