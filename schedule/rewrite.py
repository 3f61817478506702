"""Rewriting helpers that primitives share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..ir import (
    And,
    Expr,
    For,
    ForKind,
    IfThenElse,
    IntImm,
    Range,
    Var,
    const,
    structural_equal,
    substitute,
)
from ..ir.arith import Analyzer
from ..ir.arith.iter_map import iter_map_simplify
from ..ir.stmt import AttrStmt, SBlockRealize, SeqStmt, Stmt, While, seq


def is_const(e: Expr | None, value: int) -> bool:
    """Whether this is the integer constant."""
    return isinstance(e, IntImm) and e.value == value


def is_true(e: Expr) -> bool:
    """Whether this is the constant true."""
    return isinstance(e, IntImm) and bool(e.value)


def both(a: Expr, b: Expr) -> Expr:
    """`a and b`, without constants that are true."""
    return b if is_true(a) else a if is_true(b) else And(a, b)


def conjuncts(e: Expr) -> list[Expr]:
    """The conditions that a condition joins by `and`; none for true."""
    if isinstance(e, And):
        return conjuncts(e.a) + conjuncts(e.b)
    return [] if is_true(e) else [e]


def bind_loop(ana: Analyzer, loop: For) -> None:
    """Let the analyzer know the range of a loop's variable."""
    ana.bind(loop.loop_var, Range(loop.min, loop.extent))


def loops_around(loops: Sequence[For], body: Stmt) -> Stmt:
    """The body under copies of these loops (outermost first); all but their bodies stays as it is."""
    for loop in reversed(loops):
        body = loop.replace(body=body)
    return body


def serial_loops(variables: Sequence[Var], extents: Sequence[Expr], body: Stmt) -> Stmt:
    """The body under new serial loops from zero, the first outermost."""
    for var, extent in reversed(list(zip(variables, extents))):
        body = For(var, const(0, var.dtype), extent, ForKind.SERIAL, body)
    return body


def map_realizes(stmt: Stmt, change: Callable[[SBlockRealize], Stmt]) -> Stmt:
    """The statement with each block of this scope (not those inside blocks) changed; same object if none."""
    if isinstance(stmt, SBlockRealize):
        return change(stmt)
    if isinstance(stmt, SeqStmt):
        made = [map_realizes(s, change) for s in stmt.seq]
        return stmt if all(a is b for a, b in zip(made, stmt.seq)) else seq(made)
    if isinstance(stmt, For | AttrStmt | While):
        body = map_realizes(stmt.body, change)
        return stmt if body is stmt.body else stmt.replace(body=body)
    if isinstance(stmt, IfThenElse):
        then = map_realizes(stmt.then_case, change)
        other = None if stmt.else_case is None else map_realizes(stmt.else_case, change)
        if then is stmt.then_case and other is stmt.else_case:
            return stmt
        return stmt.replace(then_case=then, else_case=other)
    return stmt


def guard(stmt: Stmt, condition: Expr) -> Stmt:
    """The statement run only where the condition holds: joined to the blocks' predicates.

    Statements outside blocks come under an `if`.
    """
    if is_true(condition):
        return stmt
    if isinstance(stmt, SBlockRealize):
        return stmt.replace(predicate=both(stmt.predicate, condition))
    if isinstance(stmt, For) or (isinstance(stmt, AttrStmt) and has_blocks(stmt)):
        return stmt.replace(body=guard(stmt.body, condition))
    if isinstance(stmt, SeqStmt) and has_blocks(stmt):
        return stmt.replace(seq=[guard(s, condition) for s in stmt.seq])
    return IfThenElse(condition, stmt)


def has_blocks(stmt: Stmt) -> bool:
    """Whether a block stands anywhere in the statement."""
    stack = [stmt]
    while stack:
        top = stack.pop()
        if isinstance(top, SBlockRealize):
            return True
        if isinstance(top, SeqStmt):
            stack.extend(top.seq)
        elif isinstance(top, For | AttrStmt | While):
            stack.append(top.body)
        elif isinstance(top, IfThenElse):
            stack.append(top.then_case)
            if top.else_case is not None:
                stack.append(top.else_case)
    return False


def rebind(
    stmt: Stmt, mapping: Mapping[Var, Expr], outer: Sequence[For], *, preserve_unit_iters: bool = True
) -> Stmt:
    """The statement with loop variables replaced, and bindings and predicates of its blocks simplified.

    `outer` are the loops that will stand around it (with the ranges of new variables).  With
    `preserve_unit_iters` variables of loops that run once stay in the bindings.
    """
    made = substitute(stmt, mapping)
    return simplify_bindings(made, outer, preserve_unit_iters=preserve_unit_iters)


def simplify_bindings(stmt: Stmt, outer: Sequence[For], *, preserve_unit_iters: bool = True) -> Stmt:
    """The statement with bindings and predicates of the blocks in it simplified; bodies stay."""
    return _simplified(stmt, list(outer), preserve_unit_iters)


def _simplified(stmt: Stmt, loops: list[For], keep: bool) -> Stmt:
    if isinstance(stmt, For):
        loops.append(stmt)
        body = _simplified(stmt.body, loops, keep)
        loops.pop()
        return stmt if body is stmt.body else stmt.replace(body=body)
    if isinstance(stmt, SBlockRealize):
        return _simplify_realize(stmt, loops, keep)
    if isinstance(stmt, SeqStmt):
        made = [_simplified(s, loops, keep) for s in stmt.seq]
        return stmt if all(a is b for a, b in zip(made, stmt.seq)) else stmt.replace(seq=made)
    if isinstance(stmt, AttrStmt | While):
        body = _simplified(stmt.body, loops, keep)
        return stmt if body is stmt.body else stmt.replace(body=body)
    if isinstance(stmt, IfThenElse):
        then = _simplified(stmt.then_case, loops, keep)
        other = None if stmt.else_case is None else _simplified(stmt.else_case, loops, keep)
        if then is stmt.then_case and other is stmt.else_case:
            return stmt
        return stmt.replace(then_case=then, else_case=other)
    return stmt


def _simplify_realize(realize: SBlockRealize, loops: Sequence[For], keep: bool) -> SBlockRealize:
    ana = Analyzer()
    for lp in loops:
        bind_loop(ana, lp)
    predicate = realize.predicate
    if not is_true(predicate):
        predicate = _simplify_condition(predicate, ana)
    values = _simplify_values(realize.iter_values, predicate, loops, keep, ana)
    if predicate is realize.predicate and all(a is b for a, b in zip(values, realize.iter_values)):
        return realize
    return realize.replace(iter_values=values, predicate=predicate)


def _simplify_values(
    values: Sequence[Expr], predicate: Expr, loops: Sequence[For], keep: bool, ana: Analyzer
) -> Sequence[Expr]:
    """The bindings in the form of an affine map where they are one, else simplified one by one."""
    if keep and all(isinstance(v, Var) for v in values):
        return values
    domains = {lp.loop_var: Range(lp.min, lp.extent) for lp in loops}
    made = iter_map_simplify(values, domains, predicate, simplify_trivial_iterators=not keep)
    if not all(a is b for a, b in zip(made, values)):
        if not all(is_const(lp.min, 0) for lp in loops):
            made = [ana.simplify(v) for v in made]
        if not keep:
            with ana.assume(predicate):
                made = [_only_value(v, ana) for v in made]
        return [a if structural_equal(a, b) else b for a, b in zip(values, made)]
    wide = Analyzer()
    for lp in loops:
        # A wider range is as true, and keeps variables of loops that run once in sight.
        once = keep and is_const(lp.extent, 1)
        wide.bind(lp.loop_var, Range(lp.min, const(2, lp.extent.dtype) if once else lp.extent))
    with wide.assume(predicate):
        return [v if isinstance(v, Var) and keep else wide.simplify(v) for v in values]


def _only_value(e: Expr, ana: Analyzer) -> Expr:
    """The constant that the expression is where it can have no other value; else itself."""
    bound = ana.const_int_bound(e)
    return const(bound.min, e.dtype) if bound.min == bound.max else e


def _simplify_condition(predicate: Expr, ana: Analyzer) -> Expr:
    """Drop the parts that certainly hold; the others stay as they are written."""
    parts = conjuncts(predicate)
    kept = [p for p in parts if not is_true(ana.simplify(p))]
    if len(kept) == len(parts):
        return predicate
    if not kept:
        return const(1, "bool")
    joined = kept[0]
    for p in kept[1:]:
        joined = And(joined, p)
    return joined
