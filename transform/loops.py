"""Questions about loop bodies, and copies of them."""

from __future__ import annotations

from ..ir import Break, Call, Continue, Expr, For, Op, Return, Stmt, Var, While
from ..ir.visitor import children, renew_definitions, substitute, walk
from ..node import Node

_JUMPS = ("tirx.break_loop", "tirx.continue_loop")


def jumps_out(body: Stmt) -> bool:
    """Whether the body breaks or continues the loop that it is the body of."""
    stack: list[Node] = [body]
    while stack:
        node = stack.pop()
        if isinstance(node, Break | Continue):
            return True
        if isinstance(node, Call) and isinstance(node.op, Op) and node.op.name in _JUMPS:
            return True
        if not isinstance(node, For | While):
            stack += children(node)
    return False


def returns(body: Stmt) -> bool:
    """Whether the body may leave the function."""
    for node in walk(body):
        if isinstance(node, Return):
            return True
        if (
            isinstance(node, Call)
            and isinstance(node.op, Op)
            and node.op.name in ("tirx.ret", "tirx.thread_return")
        ):
            return True
    return False


def size_of(node: Node) -> int:
    """How many nodes there are."""
    return sum([1 for _ in walk(node)])


def copy_body(body: Stmt, var: Var, value: Expr, *, fresh: bool) -> Stmt:
    """The body with the loop variable replaced; with new definitions where it is one of several copies."""
    new = substitute(body, {var: value})
    return renew_definitions(new) if fresh else new
