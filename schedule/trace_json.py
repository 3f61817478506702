"""Traces as JSON-like lists, in the peer's form; the peer's own lists are read, too."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..dtype import DType
from ..errors import Diagnostic, ScheduleError
from ..ir import Expr, FloatImm, IndexMap, IntImm, StringImm, Var, from_json, to_json
from ..node import Node
from .handles import MARKS, LoopRV, SBlockRV
from .instruction import Instruction, InstructionKind
from .names import Names
from .registry import Primitive
from .trace import Trace


def to_lists(insts: Sequence[Instruction], decisions: Mapping[Instruction, Any]) -> list[Any]:
    """`[[[kind, inputs, attrs, outputs], ...], [[index, decision], ...]]`."""
    names = Names()
    rows: list[Any] = []
    chosen: list[Any] = []
    for k, inst in enumerate(insts):
        prim = inst.kind.primitive
        inputs, attrs = _inputs_and_attrs(prim, inst)
        inputs, attrs = [_input(v, names) for v in inputs], [_plain(v) for v in attrs]
        rows.append([inst.kind.name, inputs, attrs, [names.add(o) for o in inst.outputs]])
        if decisions.get(inst) is not None:
            chosen.append([k, _plain(decisions[inst])])
    return [rows, chosen]


def _inputs_and_attrs(prim: Primitive, inst: Instruction) -> tuple[list[Any], list[Any]]:
    if prim.encode is not None:
        return prim.encode(dict(inst.arguments))
    return inst.inputs, inst.attrs


def _input(value: Any, names: Names) -> Any:
    if isinstance(value, LoopRV | SBlockRV | Var):
        known = names.of(value)
        if known is not None:
            return known
        return str(value.target) if not isinstance(value, Var) and value.target in MARKS else None
    if value is None:
        return "None"
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, list | tuple):
        return [_input(v, names) for v in value]
    if isinstance(value, Expr) and not isinstance(value, IntImm | FloatImm | StringImm):
        from .trace_text import show_value

        return show_value(value, names)
    return _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, IntImm):
        return bool(value.value) if value.dtype.is_bool else value.value
    if isinstance(value, FloatImm | StringImm):
        return value.value
    if isinstance(value, DType):
        return str(value)
    if isinstance(value, Node):
        return to_json(value, spans=False)
    return value


def from_lists(obj: Any) -> Trace:
    """The trace of such lists. Raises ScheduleError where they are none."""
    try:
        rows, chosen = obj
        names = Names()
        insts = [_instruction(row, names) for row in rows]
        decisions = {insts[int(k)]: d for k, d in chosen}
    except (TypeError, ValueError, KeyError, IndexError) as err:
        if isinstance(err, ScheduleError):
            raise
        raise ScheduleError(Diagnostic("trace", f"this is no trace: {err}")) from err
    return Trace(insts, decisions)


def _instruction(row: Sequence[Any], names: Names) -> Instruction:
    kind_name, inputs, attrs, outputs = row
    kind = InstructionKind.get(kind_name)
    prim = kind.primitive
    arguments = _arguments(prim, [_read_input(v, names) for v in inputs], list(attrs))
    made: list[Any] = []
    for name in outputs:
        from .trace_reader import _handle

        made.append(_handle(name))
        names.add(made[-1], name)
    return Instruction(kind, arguments, made)


def _arguments(prim: Primitive, inputs: list[Any], attrs: list[Any]) -> dict[str, Any]:
    if prim.decode is not None:
        return prim.decode(inputs, attrs)
    found: dict[str, Any] = {}
    for p in prim.params:
        if p.is_input and not p.spread:
            found[p.name] = inputs.pop(0)
    for p in prim.params:
        if p.spread:
            found[p.name] = tuple(inputs) if p.star else inputs
        elif not p.is_input and p.name != "decision":
            found[p.name] = _like(p.default, attrs.pop(0)) if attrs else p.default
    return found


def _like(default: Any, value: Any) -> Any:
    """The peer writes flags as numbers."""
    return bool(value) if isinstance(default, bool) else value


def _read_input(value: Any, names: Names) -> Any:
    if isinstance(value, list):
        return [_read_input(v, names) for v in value]
    if not isinstance(value, str):
        return value
    if value in names.by_name:
        return names.by_name[value]
    if value == "None":
        return None
    if value in MARKS:
        return LoopRV(value)
    if len(value) >= 2 and value.startswith('"') and value.endswith('"'):
        return value[1:-1]
    if value.startswith("{"):
        return read_node(value)
    return _read_expr(value, names)


def _read_expr(text: str, names: Names) -> Any:
    from ..script import parse

    variables = {n: h for n, h in names.by_name.items() if isinstance(h, Var)}
    return parse(text, start="expression", extra_vars=variables)


def read_node(text: str) -> Any:
    """A node in our JSON, or an index map in the peer's."""
    data = json.loads(text)
    if "root_index" in data:
        from .trace_peer import node_of_peer

        return node_of_peer(data)
    return from_json(text)


__all__ = ["IndexMap", "from_lists", "to_lists"]
