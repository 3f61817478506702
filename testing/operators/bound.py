"""Whether every operator runs on threads: what default schedules for devices leave to the host.

`python -m loopwright.testing.operators.bound cuda -arch=sm_90` asks that of every case of every operator,
with sizes as numbers and as symbols.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from ...ir import AttrStmt, BufferStore, For, ForKind, IRModule, PrimFunc, SBlockRealize, Stmt, children
from ...schedule.dlight import default_schedule
from ...target import Target
from .check import SIZES, graph, legalized
from .spec import Case


def unbound_stores(func: PrimFunc) -> list[BufferStore]:
    """The stores of a function that stand below no thread axis."""
    return list(_unbound(func.body))


def _unbound(stmt: Stmt) -> Iterator[BufferStore]:
    if isinstance(stmt, BufferStore):
        yield stmt
    elif isinstance(stmt, SBlockRealize):
        block = stmt.block
        for part in (block.body,) if block.init is None else (block.init, block.body):
            yield from _unbound(part)
    elif not _is_bound(stmt):
        for below in children(stmt):
            if isinstance(below, Stmt):
                yield from _unbound(below)


def _is_bound(stmt: Stmt) -> bool:
    if isinstance(stmt, For):
        return stmt.kind is ForKind.THREAD_BINDING
    return isinstance(stmt, AttrStmt) and stmt.attr_key == "thread_extent"


def scheduled(case: Case, target: Target | str, symbolic: bool) -> IRModule:
    """The legalized operator with default schedules, as loop programs."""
    with Target(target):
        mod = legalized(graph(case, None if symbolic else SIZES[0]))
    return default_schedule(mod, target)


def check_bound(case: Case, target: Target | str) -> None:
    """Check that threads do all that the operator computes. Raises AssertionError."""
    for symbolic in (True, False):
        for name, func in scheduled(case, target, symbolic).functions.items():
            if isinstance(func, PrimFunc):
                left = sorted({s.buffer.name for s in unbound_stores(func)})
                assert not left, f"{case.id}: the host would write {', '.join(left)} in `{name.name}`"


def main(words: list[str]) -> int:
    """Check every case; says which fail."""
    from . import all_cases

    target = " ".join(words) or "cuda -arch=sm_90"
    failed = 0
    for case in all_cases():
        try:
            check_bound(case, target)
        except Exception as err:
            failed += 1
            print(f"{case.id}: {type(err).__name__}: {str(err).splitlines()[0]}")
    print(f"{len(all_cases()) - failed} of {len(all_cases())} cases run on threads of {target}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
