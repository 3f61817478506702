"""Index maps as arguments of primitives."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import LoopwrightError
from ..ir import (
    Cast,
    Expr,
    IndexMap,
    PrimType,
    Rewriter,
    SBlockRealize,
    Var,
    as_expr,
    free_vars,
    type_vars,
)
from ..node import Node
from .handles import SBlockRV
from .refusal import refuse
from .state import State


def index_map_of(given: Any, rank: int, at: Node, *, dtype: Any = "int32") -> IndexMap:
    """An index map from a map or a function of `rank` indices of this dtype to one index or several.

    Raises Refused where it takes another number of indices, or gives something else; axis
    separators belong to a layout that is gone.
    """
    if isinstance(given, IndexMap):
        if len(given.initial_indices) != rank:
            raise _count(len(given.initial_indices), rank, at)
        return given.with_dtype(dtype)
    if not callable(given):
        text = f"an index map is a function or an IndexMap, not a {type(given).__name__}"
        raise refuse("index-map", text, at)
    names = _names(given, rank, at)
    variables = [Var(n, PrimType(dtype)) for n in names]
    found = _called(given, variables, at)
    rows = list(found) if isinstance(found, list | tuple) else [found]
    final: list[Expr] = []
    for row in rows:
        if not isinstance(row, Expr | int) or isinstance(row, bool):
            help = "axis separators no longer exist" if "SEPARATOR" in repr(row).upper() else ""
            raise refuse("index-map", f"an index map gives indices, not {row!r}", at, help=help)
        final.append(as_expr(row, like=variables[0] if variables else None))
    return IndexMap(variables, final)


def _names(function: Callable[..., Any], rank: int, at: Node) -> list[str]:
    """Names for the indices, after the parameters; `*rest` takes as many as there are."""
    names: list[str] = []
    spread: str | None = None
    for p in inspect.signature(function).parameters.values():
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            names.append(p.name)
        elif p.kind is p.VAR_POSITIONAL:
            spread = p.name
    if spread is not None and len(names) <= rank:
        names += [f"{spread}_{k}" for k in range(rank - len(names))]
    if len(names) != rank:
        raise _count(len(names), rank, at)
    return names


def _called(function: Callable[..., Any], variables: list[Var], at: Node) -> Any:
    try:
        return function(*variables)
    except (TypeError, LoopwrightError) as err:
        raise refuse("index-map", f"the index map cannot be computed: {err}", at) from err


def _count(takes: int, rank: int, at: Node) -> Exception:
    return refuse("index-map", f"the index map takes {takes} indices, where there are {rank}", at)


def with_names(index_map: IndexMap, state: State, block: SBlockRV) -> IndexMap:
    """The map with the variables of another program replaced by those of the same name at the block.

    Such are the sizes of the function, and the loops and axes around.  A trace replayed on a fresh
    copy of a program names that copy's variables.
    """
    func = state.func(block)
    seen = [v for p in func.params for v in (p, *type_vars(p.ty))]
    for above in reversed(list(state.ancestors(block))):
        node = above.node
        seen += [a.var for a in node.block.iter_vars] if isinstance(node, SBlockRealize) else [node.loop_var]
    known = {v.name: v for v in seen}
    table = {v: known[v.name] for v in free_vars(index_map) if v not in seen and v.name in known}
    made: IndexMap = _Named(table)(index_map) if table else index_map
    return made


class _Named(Rewriter):
    """Puts variables in place of others, where the type fits, also after a conversion."""

    def __init__(self, table: Mapping[Var, Var]) -> None:
        super().__init__()
        self.table = table

    def visit_Var(self, var: Var) -> Any:
        own = self.table.get(var, var)
        return own if own.ty is var.ty else var

    def visit_Cast(self, e: Cast) -> Any:
        own = self.table.get(e.value) if isinstance(e.value, Var) else None
        return own if own is not None and own.ty is e.ty else self.visit_fields(e)


def read_map(value: Any) -> Any:
    """The map that a trace holds as JSON, ours or the peer's; anything else as it is."""
    if isinstance(value, str):
        from .trace_json import read_node

        return read_node(value)
    return value
