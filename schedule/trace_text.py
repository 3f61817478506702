"""Traces as script: one call a line, handles numbered in the order of creation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..dtype import DType
from ..ir import Expr, IndexMap, IntImm, StringImm, Var, free_vars, substitute
from .handles import MARKS, LoopRV, SBlockRV
from .instruction import Instruction
from .names import Names


def python_lines(insts: Sequence[Instruction], decisions: Mapping[Instruction, Any]) -> list[str]:
    """A line of script for each instruction."""
    names = Names()
    lines: list[str] = []
    for inst in insts:
        call = _call(inst, decisions.get(inst), names)
        outputs = [names.add(o) for o in inst.outputs]
        if not outputs:
            lines.append(call)
        else:
            several = gives_many(inst)
            target = ", ".join(outputs) + ("," if several and len(outputs) == 1 else "")
            lines.append(f"{target} = {call}")
    return lines


def gives_many(inst: Instruction) -> bool:
    """Whether the primitive hands out a list, by its return annotation."""
    text = str(inst.kind.primitive.signature.return_annotation)
    return "list[" in text.split(",", 1)[-1].split("]")[0] + "]"


def _call(inst: Instruction, decision: Any, names: Names) -> str:
    parts: list[str] = []
    for p in inst.kind.primitive.params:
        if p.name == "decision":
            parts.append(f"decision={show_value(decision, names)}")
        elif p.star:
            parts.extend([show_value(v, names) for v in inst.arguments[p.name]])
        elif p.handles and inst.arguments[p.name] is None:
            continue  # left out, as the peer does
        else:
            parts.append(f"{p.name}={show_value(inst.arguments[p.name], names)}")
    return f"sch.{inst.kind.primitive.name}({', '.join(parts)})"


def show_value(value: Any, names: Names) -> str:
    """An argument as script."""
    if isinstance(value, LoopRV | SBlockRV):
        known = names.of(value)
        if known is not None:
            return known
        return repr(value.target) if value.target in MARKS else "None"
    if isinstance(value, Expr):
        return _expr(value, names)
    if isinstance(value, IndexMap):
        return show_map(value)
    if isinstance(value, list):
        return f"[{', '.join([show_value(v, names) for v in value])}]"
    if isinstance(value, tuple):
        inner = ", ".join([show_value(v, names) for v in value])
        return f"({inner}{',' if len(value) == 1 else ''})"
    if isinstance(value, Mapping):
        rows = [f"{_string(k)}: {show_value(v, names)}" for k, v in value.items()]
        return "{" + ", ".join(rows) + "}"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, DType):
        return _string(str(value))
    return repr(value)


def _string(text: str) -> str:
    shown = repr(text)
    return '"' + shown[1:-1] + '"' if '"' not in text and "'" not in text else shown


def _expr(e: Expr, names: Names) -> str:
    if isinstance(e, Var):
        return names.of(e) or e.name
    if isinstance(e, IntImm) and e.dtype == "int32":
        return str(e.value)
    if isinstance(e, StringImm):
        return _string(e.value)
    from ..ir import walk
    from ..printer import script

    table = {}
    for n in walk(e):
        if isinstance(n, Var):
            known = names.of(n)
            if known is not None and known != n.name:
                table[n] = Var(known, n.ty)
    return script(substitute(e, table) if table else e)


def show_map(index_map: IndexMap) -> str:
    """An index map as a lambda."""
    from ..printer import script

    kinds = {e.dtype for e in (*index_map.initial_indices, *index_map.final_indices)}
    if len(kinds) == 1 and str(*kinds) in ("int32", "int64"):
        # The text says nothing of the indices' dtype: numbers in it are plain.
        own, free = index_map.initial_indices, free_vars(index_map)
        retyped = IndexMap([*own, *free], index_map.final_indices).with_dtype("int32")
        index_map = IndexMap(retyped.initial_indices[: len(own)], retyped.final_indices)
    names = _unique([v.name for v in index_map.initial_indices])
    table = {v: Var(n, v.ty) for v, n in zip(index_map.initial_indices, names)}
    final = [script(substitute(f, table)) for f in index_map.final_indices]
    shown = f"{', '.join(final)}," if final else ""
    return f"lambda {', '.join(names)}: ({shown})" if names else f"lambda: ({shown})"


def _unique(names: list[str]) -> list[str]:
    found: list[str] = []
    for n in names:
        made, k = n, 1
        while made in found:
            made, k = f"{n}_{k}", k + 1
        found.append(made)
    return found
