"""Cutting a loop into consecutive ranges, and running loops side by side as one."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ...ir import (
    Expr,
    For,
    ForKind,
    IntImm,
    SBlock,
    Var,
    add,
    const,
    greater_equal,
    renew_definitions,
    sub,
    substitute,
)
from ...ir.analysis.blocks import child_blocks
from ...ir.analysis.regions import WRITE, block_access_regions, touched_buffers
from ...ir.arith import Analyzer
from ...ir.expr import as_expr
from ...ir.stmt import SBlockRealize, SeqStmt, Stmt, seq
from ..handles import LoopRV
from ..legality import independent_iterations_reason, own_cells, plain_loop_reason, starts_at_zero_reason
from ..refusal import demand, refuse
from ..registry import primitive
from ..rewrite import is_const, simplify_bindings
from ..state import State
from .loops_split import like_loop


@primitive(inputs=("loop", "*factors"))
def loop_partition(
    state: State,
    loop: LoopRV,
    factors: Sequence[int | Expr | None],
    preserve_unit_iters: bool = True,
) -> tuple[State, list[LoopRV]]:
    """Cut a loop into loops over consecutive ranges of these lengths.

    One length may be None or -1 and becomes what is left; without, what is left is a further loop.
    Each loop stands in a block of its own, all of them in one.  Handles of the loop and of what
    stands in it are consumed.

    before:
        for i in range(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi] + 1.0
    steps:
        (i,) = sch.get_loops("B")
        sch.loop_partition(i, [16, None])
    after:
        with T.sblock("root"):
            with T.sblock("B_i_common"):
                T.reads(A[0:64])
                T.writes(B[0:64])
                with T.sblock("B_i0_partition"):
                    T.reads(A[0:16])
                    T.writes(B[0:16])
                    for i0 in range(16):
                        with T.sblock("B_i0"):
                            vi = T.axis.spatial(64, i0)
                            B[vi] = A[vi] + 1.0
                with T.sblock("B_i1_partition"):
                    T.reads(A[16:64])
                    T.writes(B[16:64])
                    for i1 in range(16, 64):
                        with T.sblock("B_i1"):
                            vi = T.axis.spatial(64, i1)
                            B[vi] = A[vi] + 1.0
    """
    node = state.loop(loop)
    demand(plain_loop_reason(node))
    ana = state.analyzer(loop, inside=False)
    lengths = _lengths(node, factors, ana)
    children, _ = child_blocks(node.body)
    if not children:
        raise refuse("no-block-below", f"there is no block below loop `{node.loop_var.name}`", node)
    name = children[0].block.name_hint
    around = state.loops(loop)
    parts: list[Stmt] = []
    made: list[LoopRV] = []
    start: Expr = node.min
    for k, length in enumerate(lengths):
        var = Var(f"{node.loop_var.name}{k}", node.loop_var.ty)
        body = renew_definitions(substitute(node.body, {node.loop_var: var}))
        body = _renamed(body, f"_{var.name}")
        piece = For(var, start, length, node.kind, body)
        piece = piece.replace(
            body=simplify_bindings(body, [*around, piece], preserve_unit_iters=preserve_unit_iters)
        )
        parts.append(_opaque(f"{name}_{var.name}_partition", piece))
        made.append(LoopRV(var))
        start = ana.simplify(add(start, length))
    whole = _opaque(f"{name}_{node.loop_var.name}_common", seq(parts))
    return state.replace(node, whole), made


def _lengths(loop: For, factors: Sequence[int | Expr | None], ana: Analyzer) -> list[Expr]:
    given = [None if f is None or is_const(as_expr(f), -1) else like_loop(f, loop) for f in factors]
    known = [f for f in given if f is not None]
    if not given or len(given) - len(known) > 1:
        raise refuse("partition-factors", "give lengths, of which one may be None or -1", loop)
    for f in known:
        if isinstance(f, IntImm) and f.value <= 0:
            raise refuse("partition-factors", "lengths must be positive", loop)
    rest = loop.extent
    for f in known:
        rest = sub(rest, f)
    rest = ana.simplify(rest)
    if not ana.can_prove(greater_equal(rest, 0)):
        raise refuse(
            "partition-factors", f"the lengths are not known to fit in loop `{loop.loop_var.name}`", loop
        )
    if len(known) < len(given) and not (known and is_const(rest, 0)):
        return [rest if f is None else f for f in given]
    return known if is_const(rest, 0) else [*known, rest]


def _renamed(stmt: Stmt, suffix: str) -> Stmt:
    from ..rewrite import map_realizes

    def rename(realize: SBlockRealize) -> Stmt:
        block = realize.block
        return realize.replace(block=block.replace(name_hint=block.name_hint + suffix))

    return map_realizes(stmt, rename)


def _opaque(name: str, body: Stmt) -> SBlockRealize:
    reads, writes = block_access_regions(body)
    return SBlockRealize((), const(1, "bool"), SBlock((), reads, writes, name, body))


@primitive()
def merge(state: State, *loops: LoopRV) -> tuple[State, LoopRV]:
    """Make one nest of nests that stand side by side, each given by its innermost loop.

    What stood in them keeps its order; names are those of the nest given first.  Handles of the loops of
    all nests are consumed; all others are kept.

    before:
        for i in range(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi] + 1.0
        for i in range(64):
            with T.sblock("C"):
                vi = T.axis.spatial(64, i)
                C[vi] = A[vi] * 2.0
    steps:
        sch.merge(sch.get_loops("B")[0], sch.get_loops("C")[0])
    after:
        for i_m in range(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i_m)
                B[vi] = A[vi] + 1.0
            with T.sblock("C"):
                vi = T.axis.spatial(64, i_m)
                C[vi] = A[vi] * 2.0
    """
    if len(loops) < 2:
        raise refuse("no-loops", "give two loops or more")
    inner = [state.loop(lp) for lp in loops]
    if len({id(n) for n in inner}) != len(inner):
        raise refuse("duplicate-loop", "a loop is given twice", inner[0])
    nests = _nests(state, inner)
    ana = state.analyzer(nests[0][0].loop_var, inside=False)
    _check_nests(nests, ana)
    variables = [Var(lp.loop_var.name + "_m", lp.loop_var.ty) for lp in nests[0]]
    nests = _in_program_order(state, nests)
    bodies = [substitute(nest[-1].body, {lp.loop_var: v for lp, v in zip(nest, variables)}) for nest in nests]
    body = seq(bodies)
    for lp, var in reversed(list(zip(nests[0], variables))):
        body = For(var, const(0, var.dtype), lp.extent, ForKind.SERIAL, body)
    assert isinstance(body, For)
    if state.check:
        merged = _merged(body, len(variables))
        own = own_cells(merged[-1], merged)
        demand(independent_iterations_reason(merged[-1], own))
        _check_writes(nests, own)
    sequence, rest = _without(state, nests, body)
    parent = state.place(nests[0][0].loop_var).parent
    new = state.replace(sequence, rest, inside=parent) if parent is not None else _at_root(state, nests, rest)
    return new, LoopRV(variables[-1])


def _merged(loop: For, depth: int) -> list[For]:
    """The loop and those directly in it, this many."""
    found = [loop]
    while len(found) < depth:
        inner = found[-1].body
        assert isinstance(inner, For)
        found.append(inner)
    return found


def _nests(state: State, inner: Sequence[For]) -> list[list[For]]:
    """For each loop its nest, outermost first, below the innermost loop or block that holds them all."""
    chains: list[list[For]] = []
    for lp in inner:
        chains.append([*state.loops(lp.loop_var), lp])
    roots = {id(state.scope_root(lp.loop_var)) for lp in inner}
    if len(roots) != 1:
        raise refuse("loops-not-siblings", "the loops do not stand in one scope", inner[-1])
    common = 0
    while all(len(c) > common for c in chains) and len({id(c[common]) for c in chains}) == 1:
        common += 1
    nests = [c[common:] for c in chains]
    if len({len(n) for n in nests}) != 1 or not nests[0]:
        raise refuse("loops-not-siblings", "the loops are not of the same depth side by side", inner[-1])
    if len({id(n[0]) for n in nests}) != len(nests):
        raise refuse("loops-not-siblings", "some of the loops stand in one nest", inner[-1])
    return nests


def _in_program_order(state: State, nests: Sequence[list[For]]) -> list[list[For]]:
    """The nests in the order in which they stand in one sequence of statements."""
    by_root = {id(nest[0]): nest for nest in nests}
    found = [by_root[id(s)] for s in _sequence_of(state, nests).seq if id(s) in by_root]
    if len(found) != len(nests):
        raise refuse("loops-not-siblings", "the loops do not stand in one sequence", nests[-1][0])
    return found


def _check_nests(nests: Sequence[Sequence[For]], ana: Analyzer) -> None:
    for nest in nests:
        for k, lp in enumerate(nest):
            demand(plain_loop_reason(lp) or starts_at_zero_reason(lp))
            if not ana.can_prove_equal(lp.extent, nests[0][k].extent):
                raise refuse("extents-differ", f"loop `{lp.loop_var.name}` has another extent", lp)
            if k and nest[k - 1].body is not lp:
                raise refuse(
                    "loop-not-only-child", f"loop `{lp.loop_var.name}` is not alone in its loop", nest[k - 1]
                )


def _check_writes(nests: Sequence[Sequence[For]], own: Collection[Var]) -> None:
    """No two nests write the same buffer, but in cells of an iteration's own."""
    seen: dict[Var, For] = {}
    for nest in nests:
        for buffer, modes in touched_buffers(nest[0]).items():
            if modes & WRITE:
                if buffer in seen and buffer not in own:
                    raise refuse("order-dependence", f"two of the nests write `{buffer.name}`", nest[0])
                seen[buffer] = nest[0]


def _without(state: State, nests: Sequence[Sequence[For]], merged: Stmt) -> tuple[Stmt, Stmt]:
    """The sequence in which the nests stand, and what takes its place.

    Raises Refused when statements between them depend on those that move.
    """
    sequence = _sequence_of(state, nests)
    roots = [nest[0] for nest in nests]
    at = [i for i, s in enumerate(sequence.seq) if any(s is r for r in roots)]
    first, last = at[0], at[-1]
    between: list[Stmt] = []
    for i in range(first, last + 1):
        if i in at:
            continue
        stmt = sequence.seq[i]
        between.append(stmt)
        theirs = touched_buffers(stmt)
        for root in [sequence.seq[k] for k in at if k > i]:
            for buffer, modes in touched_buffers(root).items():
                if buffer in theirs and (modes | theirs[buffer]) & WRITE:
                    text = f"a statement between the loops uses `{buffer.name}`"
                    raise refuse("order-dependence", text, stmt)
    kept = [*sequence.seq[:first], merged, *between, *sequence.seq[last + 1 :]]
    return sequence, seq(kept)


def _sequence_of(state: State, nests: Sequence[Sequence[For]]) -> SeqStmt:
    root = nests[0][0]
    parent = state.place(root.loop_var).parent
    stack: list[Stmt] = []
    if parent is None:
        stack.append(state.func(root.loop_var).body)
    else:
        above = state.place(parent).node
        stack += [above.body] if isinstance(above, For) else [above.block.body]
    while stack:
        top = stack.pop()
        if isinstance(top, SeqStmt):
            if any(s is root for s in top.seq):
                return top
            stack.extend(top.seq)
        else:
            for name in ("body", "then_case", "else_case"):
                below = getattr(top, name, None)
                if isinstance(below, Stmt) and not isinstance(top, For):
                    stack.append(below)
    raise refuse("loops-not-siblings", "the loops do not stand in one sequence", root)


def _at_root(state: State, nests: Sequence[Sequence[For]], rest: Stmt) -> State:
    name = state.place(nests[0][0].loop_var).func
    func = state.func(nests[0][0].loop_var)
    return state.replace_func(name, func.replace(body=rest))
