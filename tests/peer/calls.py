"""Calls of primitives as plain data, and how to make them on a schedule of either side.

A step is a list of calls, each `{"call": name, "args": [...], "kw": {...}}`.  Blocks are named and
loops counted, outermost first: `{"block": "C"}`, `{"loop": ["C", 1]}`.  A function of indices is the
text of a lambda, `{"map": "lambda i, j: [j, i]"}`, in which `f32(0.0)` is a constant; `{"result": 0}`
is what the first call of the step gave.  This module imports neither loopwright nor the peer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Call = dict[str, Any]
Step = list[Call]


def call(name: str, *args: Any, **kw: Any) -> Call:
    """One call as data."""
    return {"call": name, "args": list(args), "kw": kw}


def make(sch: Any, one: Call, results: list[Any], f32: Callable[[float], Any]) -> Any:
    """Make the call on a schedule; gives what it returns. Raises what the schedule raises."""
    args = [_argument(sch, a, results, f32) for a in one["args"]]
    kw = {k: _argument(sch, a, results, f32) for k, a in one["kw"].items()}
    return getattr(sch, one["call"])(*args, **kw)


def _argument(sch: Any, given: Any, results: list[Any], f32: Callable[[float], Any]) -> Any:
    if isinstance(given, list):
        return [_argument(sch, a, results, f32) for a in given]
    match given:
        case {"block": name}:
            return sch.get_sblock(name)
        case {"loop": [name, depth]}:
            return sch.get_loops(sch.get_sblock(name))[depth]
        case {"map": text}:
            return eval(text, {"f32": f32})
        case {"result": index}:
            return results[index]
        case {"pair": [first, second]}:
            return (first, second)
    return given


def outcome(sch: Any, name: str, result: Any) -> Any:
    """What a question answered, as data: the names of blocks, the number of loops, a truth."""
    if name == "get_loops":
        return len(result)
    if name == "get_sblock":
        return sch.get(result).name_hint
    if name in ("get_child_blocks", "get_producers", "get_consumers", "get_output_blocks"):
        return sorted([sch.get(b).name_hint for b in result])
    if name == "can_decompose_padding":
        return bool(result)
    return None
