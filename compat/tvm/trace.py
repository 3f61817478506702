"""Calls that trace a value, as packed calls that the back end has."""

from __future__ import annotations

from typing import Any, Final

from ...ir import Call, IRModule, Rewriter, StringImm
from ...runtime import get_global_func, register_func

_TRACE: Final = "tirx.tvm_call_trace_packed"
DEFAULT: Final = "tvm.default_trace_action"


def plain_traces(mod: IRModule) -> IRModule:
    """The module with each trace as a packed call of a function that gives the traced value's successor.

    It is what the action of the trace gives, or the traced value itself where the action gives None.
    """
    made: IRModule = _Traces()(mod)
    return made


class _Traces(Rewriter):
    def visit_Call(self, call: Call) -> Any:
        call = self.visit_fields(call)
        if call.op != _TRACE and getattr(call.op, "name", None) != _TRACE:
            return call
        action, *values = call.args
        assert isinstance(action, StringImm)
        return Call("tirx.tvm_call_packed", [StringImm(_valued(action.value)), *values], call.ty)


def _valued(action: str) -> str:
    """The name of the registered function that calls an action and always gives a value."""
    name = f"{action}.valued"

    def valued(*values: Any) -> Any:
        found = get_global_func(action)(*values)
        return values[-1] if found is None else found

    if get_global_func(name, allow_missing=True) is None:
        register_func(name, valued)
    return name


def _print(*values: Any) -> None:
    print(*values)


if get_global_func(DEFAULT, allow_missing=True) is None:
    register_func(DEFAULT, _print)

__all__ = ["DEFAULT", "plain_traces"]
