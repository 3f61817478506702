"""Expressions and index maps in the peer's JSON, as its traces hold them."""

from __future__ import annotations

from typing import Any

from .. import ir
from ..errors import Diagnostic, ScheduleError
from ..ir import Expr, FloatImm, IndexMap, IntImm, PrimType, Var

_BINARY = (
    "Add", "Sub", "Mul", "Div", "Mod", "FloorDiv", "FloorMod", "Min", "Max",
    "EQ", "NE", "LT", "LE", "GT", "GE", "And", "Or",
)  # fmt: skip


def node_of_peer(data: dict[str, Any]) -> Any:
    """The node that a graph of the peer's says. Raises ScheduleError naming what is not known here."""
    rows = data["nodes"]
    made: dict[int, Any] = {}

    def get(index: int) -> Any:
        if index not in made:
            made[index] = _node(rows[index], get)
        return made[index]

    return get(int(data["root_index"]))


def _node(row: dict[str, Any], get: Any) -> Any:
    kind: str = row["type"]
    data: Any = row.get("data")
    short = kind.rsplit(".", 1)[-1]
    if short == "None":
        return None
    if short in ("String", "int", "float", "bool"):
        return data
    if short == "Array":
        assert isinstance(data, list)
        return tuple([get(i) for i in data])
    assert isinstance(data, dict)
    if short == "PrimType":
        return PrimType(data["dtype"])
    if short == "Var":
        return Var(get(data["name"]), get(data["ty"]))
    if short in ("IntImm", "FloatImm"):
        value = data["value"]
        if short == "IntImm":
            return IntImm(_type(data, get), get(value))
        return FloatImm(_type(data, get), value)
    if short in _BINARY:
        cls: type[Expr] = getattr(ir, short)
        return cls(get(data["a"]), get(data["b"]))
    if short == "IndexMap":
        return IndexMap(get(data["initial_indices"]), get(data["final_indices"]))
    raise ScheduleError(Diagnostic("trace", f"`{kind}` is not known in traces of the peer"))


def _type(data: dict[str, Any], get: Any) -> Any:
    return get(data["ty"]) if "ty" in data else PrimType(data["dtype"])
