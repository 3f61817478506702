"""Random choices; the decision is recorded and can be given."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import For, IntImm, Var
from ...ir.analysis.blocks import is_reduction, is_spatial
from ...ir.analysis.cover import shared_loops
from ..handles import INLINE, ROOT, LoopRV, SBlockRV
from ..legality import uses_vars
from ..random import below, unit
from ..refusal import Refused, refuse
from ..registry import PRIMITIVES, primitive
from ..rewrite import is_const
from ..state import State


@primitive(inputs=(), pure=True)
def sample_categorical(
    state: State, candidates: Sequence[int], probs: Sequence[float], decision: int | None = None
) -> tuple[State, Var, int]:
    """One of the candidates, drawn by weight; the decision is its position."""
    if not candidates or len(candidates) != len(probs):
        raise refuse("sample", "`candidates` and `probs` must be of one length, at least 1")
    weights = [float(p) for p in probs]
    if min(weights) < 0 or sum(weights) <= 0:
        raise refuse("sample", "weights are not negative, and not all zero")
    if decision is None:
        seed, number = unit(state.seed)
        state = state.having(seed=seed)
        decision, reached = 0, weights[0]
        while decision + 1 < len(weights) and reached <= number * sum(weights):
            decision += 1
            reached += weights[decision]
    if not 0 <= int(decision) < len(candidates):
        raise refuse("sample", f"there is no candidate number {decision}")
    state, made = state.with_values([int(candidates[int(decision)])])
    return state, made[0], int(decision)


@primitive(inputs=("loop",), pure=True)
def sample_perfect_tile(
    state: State,
    loop: LoopRV,
    n: int,
    max_innermost_factor: int = 16,
    decision: Sequence[int] | None = None,
) -> tuple[State, list[Var], list[int]]:
    """`n` factors whose product is the loop's extent, the innermost at most the limit (-1: none).

    A decision whose product is wrong is repaired from the inside out.  For an extent that is not
    constant the factors are -1, 1, ..., 1.
    """
    extent = _extent(state.loop(loop), n)
    if extent is None:
        chosen = [-1] + [1] * (n - 1)
    elif n == 1:
        chosen = [extent]
    elif decision is not None:
        chosen = _repaired(decision, n, extent)
    else:
        limit = extent if max_innermost_factor == -1 else max_innermost_factor
        fitting = [d for d in range(1, min(limit, extent) + 1) if extent % d == 0] or [1]
        seed, at = below(state.seed, len(fitting))
        seed, outer = _spread(seed, extent // fitting[at], n - 1, range(n - 1))
        state, chosen = state.having(seed=seed), [*outer, fitting[at]]
    state, made = state.with_values(chosen)
    return state, made, chosen


@primitive(inputs=("loop",), pure=True)
def sample_partitioned_tile(
    state: State,
    loop: LoopRV,
    n: int,
    partition_pos: int = 0,
    innerpart_factor: int = 1,
    decision: Sequence[int] | None = None,
) -> tuple[State, list[Var], list[int]]:
    """`n` factors whose product is the loop's extent.

    The product of those from `partition_pos` on is a multiple of `innerpart_factor`; where that
    cannot be, or the extent is not constant, the factors are trivial.
    """
    extent = _extent(state.loop(loop), n)
    if not 0 <= partition_pos <= n or innerpart_factor < 1:
        raise refuse("sample", "`partition_pos` lies between 0 and `n`, `innerpart_factor` is positive")
    if extent is None:
        chosen = [-1] + [1] * (n - 1)
    elif extent % innerpart_factor or (partition_pos == n and innerpart_factor > 1):
        chosen = [extent] + [1] * (n - 1)
    elif (
        decision is not None
        and len(decision) == n
        and _product(decision[partition_pos:]) % innerpart_factor == 0
    ):
        chosen = _repaired(decision, n, extent)
    else:
        seed, chosen = _spread(state.seed, extent // innerpart_factor, n, range(n))
        seed, inner = _spread(seed, innerpart_factor, n, range(partition_pos, n))
        chosen = [a * b for a, b in zip(chosen, inner)]
        state = state.having(seed=seed)
    state, made = state.with_values(chosen)
    return state, made, chosen


@primitive(inputs=("block",), pure=True)
def sample_compute_location(
    state: State, block: SBlockRV, decision: int | None = None
) -> tuple[State, LoopRV, int]:
    """A loop at which the block may be computed, or one of the marks: root (-1), inline (-2).

    The decision counts the candidate loops from the outermost.  A decision that is not possible
    here counts as root.
    """
    places = compute_locations(state, block)
    if decision is None:
        seed, at = below(state.seed, len(places))
        state = state.having(seed=seed)
        chosen = list(places)[at]
    else:
        chosen = int(decision) if int(decision) in places else -1
    return state, places.get(chosen, LoopRV(ROOT)), chosen


def compute_locations(state: State, block: SBlockRV) -> dict[int, LoopRV]:
    """The decisions that `sample_compute_location` may take, with the handles that they stand for.

    Worth a choice are the loops of the consumer outside its innermost tile.  Where there are none,
    the block is inlined if it can be and stays where it is otherwise.
    """
    found: dict[int, LoopRV] = {}
    if _accepts(state, "compute_inline", block):
        found[-2] = LoopRV(INLINE)
    loops = [
        (k, lp) for k, lp in _consumer_tiles(state, block) if _accepts(state, "compute_at", block, LoopRV(lp))
    ]
    if loops or not found:
        found[-1] = LoopRV(ROOT)
    found.update({k: LoopRV(var) for k, var in loops})
    return found


def _consumer_tiles(state: State, block: SBlockRV) -> list[tuple[int, Var]]:
    """Loops around all consumers that run more than once, the innermost tile left out, by position."""
    scope = state.scope_around(block)
    consumers = [scope.children[r] for r in scope.consumers(block.target)]
    if not consumers:
        return []
    common = min([shared_loops(consumers[0].loops, c.loops) for c in consumers])
    loops = consumers[0].loops[:common]
    rows = [(k, lp.loop_var) for k, lp in enumerate(loops) if not is_const(lp.extent, 1)]
    if len(consumers) > 1:
        return rows
    axes = list(zip(consumers[0].block.iter_vars, consumers[0].realize.iter_values))
    reduces = {v: any(is_reduction(a) and uses_vars(e, (v,)) for a, e in axes) for _, v in rows}
    while rows and reduces[rows[-1][1]]:
        rows.pop()
    if not any(reduces[v] for _, v in rows):
        spatial = [a for a, _ in axes if is_spatial(a)]
        return rows if len(rows) > len(spatial) else []
    while rows and not reduces[rows[-1][1]]:
        rows.pop()
    return rows


def _accepts(state: State, name: str, *handles: SBlockRV | LoopRV) -> bool:
    """Whether the primitive would be accepted."""
    if name not in PRIMITIVES:
        return False
    try:
        PRIMITIVES[name].run(state, *handles)
    except Refused:
        return False
    return True


def _extent(loop: For, n: int) -> int | None:
    if n < 1:
        raise refuse("sample", "the number of factors must be positive", loop)
    return loop.extent.value if isinstance(loop.extent, IntImm) else None


def _product(numbers: Sequence[int]) -> int:
    result = 1
    for x in numbers:
        result *= int(x)
    return result


def _repaired(decision: Sequence[int], n: int, extent: int) -> list[int]:
    """The decision, changed from the inside out so that its product is the extent."""
    given = [int(d) for d in decision]
    if len(given) != n:
        raise refuse("sample", f"the decision has {len(given)} factors, not {n}")
    rest = extent
    for k in range(n - 1, 0, -1):
        if given[k] > 0 and rest % given[k] == 0:
            rest //= given[k]
        else:
            given[k], rest = rest, 1
    given[0] = rest
    return given


def _spread(seed: int, number: int, n: int, positions: range) -> tuple[int, list[int]]:
    """The prime factors of a number, each put to a random position; the others hold 1."""
    parts = [1] * n
    prime = 2
    while number > 1:
        if prime * prime > number:
            prime = number
        while number % prime == 0:
            seed, at = below(seed, len(positions))
            parts[positions[at]] *= prime
            number //= prime
        prime += 1
    return seed, parts
