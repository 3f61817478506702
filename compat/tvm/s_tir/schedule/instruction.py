"""`tvm.s_tir.schedule.instruction`: steps of a trace, with the peer's constructor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .....ir import IntImm, StringImm
from .....schedule import instruction as real
from .....schedule.handles import Handle
from .....schedule.names import Names
from .....schedule.trace_json import _arguments
from .....schedule.trace_text import _call, gives_many
from ....adapters import adapts, lacking

InstructionKind = real.InstructionKind


@adapts(real.Instruction)
def Instruction(
    kind: InstructionKind, inputs: Sequence[Any], attrs: Sequence[Any], outputs: Sequence[Any]
) -> real.Instruction:
    """A step: its kind, the handles and numbers it takes, its plain attributes, the handles it gives."""
    arguments = _arguments(kind.primitive, [_plain(v) for v in inputs], [_plain(v) for v in attrs])
    return real.Instruction(kind, arguments, outputs)


def _plain(value: Any) -> Any:
    if isinstance(value, IntImm):
        return bool(value.value) if value.dtype.is_bool else value.value
    if isinstance(value, StringImm):
        return value.value
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value


class _Blank(Names):
    """Knows every handle, as `_`."""

    def of(self, handle: Any) -> str | None:
        return "_" if isinstance(handle, Handle) else super().of(handle)


def text(inst: real.Instruction) -> str:
    """The step as a line of script, handles that come from elsewhere as `_`."""
    call = _call(inst, None, _Blank())
    if not inst.outputs:
        return call
    names = ", ".join(["_"] * len(inst.outputs))
    return f"{names}{',' if gives_many(inst) and len(inst.outputs) == 1 else ''} = {call}"


__getattr__ = lacking("tvm.s_tir.schedule.instruction")

__all__ = ["Instruction", "InstructionKind", "text"]
