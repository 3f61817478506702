"""Building statements one after another: a faulty one is reported, and building goes on behind it.

The names that a faulty statement would have defined are poisoned, so that one fault is reported once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..grammar import tree as S
from .faults import Fault, Poisoned

if TYPE_CHECKING:
    from .builder import Builder

Table = dict[type, Callable[[Any, Any], None]]


def build_statements(b: Builder, body: Sequence[S.SStmt], table: Table) -> None:
    """Build statements by the functions of a table, by their type; each fault is collected."""
    for node in body:
        b.span = node.span
        try:
            table[type(node)](b, node)
        except Poisoned:
            _poison_targets(b, node)
        except Fault as err:
            b.diagnostics.append(err.diagnostic)
            _poison_targets(b, node)
        except Exception as err:
            b.report(err, node.span)
            _poison_targets(b, node)
        if b.fresh:
            b.fresh.clear()
        if b.local_symbols:
            b.local_symbols.clear()


def _poison_targets(b: Builder, node: S.SStmt) -> None:
    targets: tuple[S.SExpr, ...] = ()
    if isinstance(node, S.Assign):
        targets = node.targets
    elif isinstance(node, S.AnnAssign):
        targets = (node.target,)
    elif isinstance(node, S.FunctionDef):
        b.poison(node.name)
    for name in target_names(targets):
        b.poison(name)


def target_names(targets: Sequence[S.SExpr]) -> list[str]:
    """The plain names among targets."""
    out: list[str] = []
    for target in targets:
        if isinstance(target, S.Name):
            out.append(target.id)
        elif isinstance(target, S.TupleExpr | S.ListExpr):
            out += target_names(target.elts)
        elif isinstance(target, S.Starred):
            out += target_names((target.value,))
    return out


__all__ = ["build_statements", "target_names"]
