"""The order of bindings in dataflow blocks."""

from __future__ import annotations

from typing import Any

from ...ir import IRModule
from ...ir.relax import DataflowBlock, DataflowVar
from ...ir.relax.rewrite import rewrite_functions
from ...ir.visitor import symbol_vars, walk
from ..common import refuse
from ..registry import register_pass
from .common import map_dataflow


@register_pass("relax.TopologicalSort")
def topological_sort(mod: IRModule, order: str = "depth-first", direction: str = "from-inputs") -> IRModule:
    """The bindings of each dataflow block stand in another order, each behind those that it uses.

    "depth-first" puts what uses a value (from inputs), or what a value uses (from outputs), next to it;
    "breadth-first" goes by distance.  Idempotent.

    before:
        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            with R.dataflow():
                a = R.exp(x)
                b = R.sin(x)
                c = R.cos(a)
                d = R.add(b, c)
                R.output(d)
            return d

    after:
        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            with R.dataflow():
                a = R.exp(x)
                c = R.cos(a)
                b = R.sin(x)
                d = R.add(b, c)
                R.output(d)
            return d
    """
    if order not in ("depth-first", "breadth-first") or direction not in ("from-inputs", "from-outputs"):
        raise refuse("invalid-argument", f"there is no order `{order}` `{direction}`", mod)
    return rewrite_functions(mod, lambda f: map_dataflow(f, lambda b: _sorted(b, order, direction)))


def _sorted(block: DataflowBlock, order: str, direction: str) -> DataflowBlock:
    place: dict[Any, int] = {}
    needs: list[list[int]] = []
    for i, b in enumerate(block.bindings):
        used = [place[n] for n in walk(b, outer_first=True) if n in place and n is not b.var]
        needs.append(list(dict.fromkeys(used)))
        place[b.var] = i
        for symbol in symbol_vars(b.var) if hasattr(b, "ty") else ():
            place.setdefault(symbol, i)
    users: list[list[int]] = [[] for _ in needs]
    for i, used in enumerate(needs):
        for j in used:
            users[j].append(i)
    if direction == "from-inputs":
        found = _walk(needs, users, order == "depth-first")
    elif order == "depth-first":
        found = _behind(block, needs)
    else:
        found = _walk(users, needs, False)[::-1]
    if found == list(range(len(found))):
        return block
    return block.replace(bindings=[block.bindings[i] for i in found])


def _walk(needs: list[list[int]], users: list[list[int]], depth_first: bool) -> list[int]:
    """Take what needs nothing that is not taken; then what that makes ready, first or last."""
    missing = [len(n) for n in needs]
    ready = [i for i, count in enumerate(missing) if count == 0]
    if depth_first:
        ready.reverse()
    found: list[int] = []
    while ready:
        i = ready.pop() if depth_first else ready.pop(0)
        found.append(i)
        fresh = []
        for user in users[i]:
            missing[user] -= 1
            if missing[user] == 0:
                fresh.append(user)
        ready += reversed(fresh) if depth_first else fresh
    return found


def _behind(block: DataflowBlock, needs: list[list[int]]) -> list[int]:
    """For each output what it needs, then itself; what no output needs comes last."""
    found: list[int] = []
    done: set[int] = set()
    outputs = [i for i, b in enumerate(block.bindings) if not isinstance(b.var, DataflowVar)]
    for start in [*outputs, *range(len(needs))]:
        stack = [(start, False)]
        while stack:
            i, leaving = stack.pop()
            if leaving:
                found.append(i)
            elif i not in done:
                done.add(i)
                stack.append((i, True))
                stack += [(j, False) for j in reversed(needs[i]) if j not in done]
    return found


__all__ = ["topological_sort"]
