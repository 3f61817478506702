"""Commutative reducers: reading from a block what it combines, and with what."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ..ir import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    Add,
    And,
    Bind,
    BitwiseAnd,
    BitwiseOr,
    BufferLoad,
    BufferStore,
    Cast,
    Expr,
    FloatImm,
    IntImm,
    Max,
    Min,
    Mul,
    Or,
    SBlock,
    Select,
    Stmt,
    Var,
    const,
    max_value,
    min_value,
    structural_equal,
    substitute,
    walk,
)
from ..ir.stmt import SeqStmt
from ..ir.visitor import Rewriter
from .refusal import Refused, refuse


@dataclass(frozen=True, slots=True)
class Reduction:
    """What a reduction block does: `buffers[indices] = combine(buffers[indices], terms)`.

    `results` are over the variables `left` (what was combined so far) and `right` (the next term).
    `names` are those of the `let` variables, where the results go through such.
    """

    buffers: tuple[Var, ...]
    indices: tuple[Expr, ...]
    terms: tuple[Expr, ...]
    left: tuple[Var, ...]
    right: tuple[Var, ...]
    results: tuple[Expr, ...]
    starts: tuple[Expr, ...]
    names: tuple[str, ...]

    def combined(self, left: Sequence[Expr], right: Sequence[Expr]) -> list[Expr]:
        """The results for these values."""
        mapping: dict[Var, Expr] = {**dict(zip(self.left, left)), **dict(zip(self.right, right))}
        return [substitute(e, mapping) for e in self.results]


def reduction_of(block: SBlock) -> Reduction:
    """What the block combines, by a reducer that is known. Raises Refused for other blocks."""
    assert block.init is not None
    inits = _stores(block.init, block)
    values, names = _updates(block)
    buffers = tuple([s.buffer for s, _ in values])
    indices = values[0][0].indices
    starts: list[Expr] = []
    for store, _ in values:
        own = [s for s in inits if s.buffer is store.buffer]
        if len(own) != 1 or not _same(own[0].indices, indices) or not _same(store.indices, indices):
            raise _unknown(block, "its initialiser and its updates do not store the same elements")
        starts.append(own[0].value)
    if len(inits) != len(values) or len(set(buffers)) != len(buffers):
        raise _unknown(block, "its initialiser and its updates do not store the same buffers")
    shapes = [b.ty.shape for b in buffers]  # type: ignore[attr-defined]
    if not all(_same(s, shapes[0]) for s in shapes):
        raise _unknown(block, "the buffers that it writes have different shapes")
    left = tuple([Var(f"x{k}", s.value.ty) for k, (s, _) in enumerate(values)])
    right = tuple([Var(f"y{k}", s.value.ty) for k, (s, _) in enumerate(values)])
    taken = [_Own(dict(zip(buffers, left)), indices)(v) for _, v in values]
    if len(taken) == 1:
        found = _single(taken[0], left[0], starts[0])
    else:
        found = _tuple(taken, left, starts) or _first_extreme(block, taken, left, starts)
    if found is None:
        raise _unknown(block, "it combines values by no commutative reducer that is known")
    results, terms = found
    own_results = set(left)
    for term in terms:
        if any(n in own_results for n in walk(term) if isinstance(n, Var)):
            raise _unknown(block, "what it adds depends on the result so far")
    made = [make(right) for make in results]
    return Reduction(buffers, indices, tuple(terms), left, right, tuple(made), tuple(starts), tuple(names))


def _unknown(block: SBlock, why: str) -> Refused:
    return refuse(
        "unknown-reducer",
        f"the reduction of block `{block.name_hint}` is not understood: {why}",
        block,
        note="known are sums, products, minima and maxima from their neutral values, and argmin and argmax",
    )


def _same(a: Sequence[Expr], b: Sequence[Expr]) -> bool:
    return len(a) == len(b) and all(structural_equal(x, y) for x, y in zip(a, b))


def _stores(stmt: Stmt, block: SBlock) -> list[BufferStore]:
    parts = stmt.seq if isinstance(stmt, SeqStmt) else (stmt,)
    found = [s for s in parts if isinstance(s, BufferStore)]
    if len(found) != len(parts):
        raise _unknown(block, "its initialiser is more than stores")
    return found


def _updates(block: SBlock) -> tuple[list[tuple[BufferStore, Expr]], list[str]]:
    """The stores of the body with their values, `let` variables resolved, in the order of these."""
    parts = block.body.seq if isinstance(block.body, SeqStmt) else (block.body,)
    binds = [s for s in parts if isinstance(s, Bind)]
    stores = [s for s in parts if isinstance(s, BufferStore)]
    split = len(binds)
    if len(binds) + len(stores) != len(parts) or any(not isinstance(s, Bind) for s in parts[:split]):
        raise _unknown(block, "its body is more than `let` and stores after them")
    if not binds:
        if len(stores) != 1:
            raise _unknown(block, "its body is not a single store")
        return [(stores[0], stores[0].value)], []
    known: dict[Var, Expr] = {}
    for b in binds:
        known[b.var] = substitute(b.value, known)
    if len(stores) == 1 and stores[0].value not in known:
        return [(stores[0], substitute(stores[0].value, known))], []
    found: list[tuple[BufferStore, Expr]] = []
    names: list[str] = []
    for b in binds:
        own = [s for s in stores if s.value is b.var]
        if len(own) > 1:
            raise _unknown(block, f"`{b.var.name}` is stored more than once")
        if own:
            found.append((own[0], known[b.var]))
            names.append(b.var.name)
    if len(found) != len(stores):
        raise _unknown(block, "it stores more than its `let` variables")
    return found, names if len(found) > 1 else []


class _Own(Rewriter):
    """Replaces loads of the results so far by variables."""

    def __init__(self, left: Mapping[Var, Var], indices: Sequence[Expr]) -> None:
        super().__init__()
        self.left = left
        self.indices = indices

    def visit_BufferLoad(self, e: BufferLoad) -> Expr:
        if e.buffer in self.left and _same(e.indices, self.indices):
            return self.left[e.buffer]
        made: Expr = self.visit_fields(e)
        return made


_NEUTRAL: dict[type[Expr], Callable[[Expr], Expr]] = {
    Add: lambda e: const(0, e.dtype),
    Mul: lambda e: const(1, e.dtype),
    Min: lambda e: max_value(e.dtype),
    Max: lambda e: min_value(e.dtype),
}

Found = tuple[list[Callable[[Sequence[Var]], Expr]], list[Expr]]


def _single(value: Expr, left: Var, start: Expr) -> Found | None:
    """The reducer of one value from its neutral element."""
    if not isinstance(value, Add | Mul | Min | Max) or not _is_neutral(type(value), start):
        return None
    kind = type(value)
    if value.a is left and not _uses(value.b, left):
        return [lambda right: kind(left, right[0])], [value.b]
    if value.b is left and not _uses(value.a, left):
        return [lambda right: kind(right[0], left)], [value.a]
    return None


def _uses(e: Expr, var: Var) -> bool:
    return any(n is var for n in walk(e))


def _is_neutral(kind: type[Expr], start: Expr) -> bool:
    wanted = _NEUTRAL[kind](start)
    if isinstance(start, FloatImm) and isinstance(wanted, FloatImm):
        infinite = (kind is Min and start.value == float("inf")) or (
            kind is Max and start.value == float("-inf")
        )
        return start.value == wanted.value or infinite
    if isinstance(start, IntImm) and isinstance(wanted, IntImm):
        return start.value == wanted.value
    return structural_equal(start, wanted)


def _tuple(values: Sequence[Expr], left: Sequence[Var], starts: Sequence[Expr]) -> Found | None:
    """The reducer of several values together: sums, or the place of an extreme value with it."""
    if all(isinstance(v, Add) for v in values):
        parts = [_single(v, x, s) for v, x, s in zip(values, left, starts)]
        if any(p is None for p in parts):
            return None

        def add(k: int) -> Callable[[Sequence[Var]], Expr]:
            part = parts[k]
            assert part is not None
            return lambda right: part[0][0]([right[k]])

        return [add(k) for k in range(len(values))], [p[1][0] for p in parts if p is not None]
    if len(values) == 2 and all(isinstance(v, Select) for v in values):
        return _extreme(values, left, starts)
    return None


def _extreme(values: Sequence[Expr], left: Sequence[Var], starts: Sequence[Expr]) -> Found | None:
    first, second = values
    assert isinstance(first, Select) and isinstance(second, Select)
    x0, x1 = left
    if first.true_value is not x0 or second.true_value is not x1:
        return None
    y0, y1 = first.false_value, second.false_value
    for weak, strict, worst in ((GE, GT, min_value), (LE, LT, max_value)):
        if not _is_worst(starts[1], worst(starts[1].dtype)):
            continue
        ties = Or(strict(x1, y1), And(EQ(x1, y1), LT(x0, y0)))
        for one, two in ((weak(x1, y1), weak(x1, y1)), (ties, strict(x1, y1))):
            if structural_equal(first.condition, one) and structural_equal(second.condition, two):
                return _select_results(left, weak, strict, two), [y0, y1]
    return None


def _first_extreme(
    block: SBlock, values: Sequence[Expr], left: Sequence[Var], starts: Sequence[Expr]
) -> Found | None:
    """The first place of an extreme value, found by going through the places in order.

    In any other order the smaller place of equal values has to be asked for.  The value so far stays
    where the next one is no number, as it does in order.
    """
    if len(values) != 2 or not all(isinstance(v, Select) for v in values):
        return None
    first, second = values
    assert isinstance(first, Select) and isinstance(second, Select)
    x0, x1 = left
    y0, y1 = first.true_value, second.true_value
    axes = [a.var for a in block.iter_vars if a.iter_type != a.DATA_PAR]
    place = y0.value if isinstance(y0, Cast) else y0
    if first.false_value is not x0 or second.false_value is not x1 or axes != [place]:
        return None
    for strict, swapped, worst in ((GT, LT, min_value), (LT, GT, max_value)):
        wanted = (strict(y1, x1), swapped(x1, y1))
        told = [any(structural_equal(v.condition, w) for w in wanted) for v in (first, second)]
        if all(told) and _is_worst(starts[1], worst(starts[1].dtype)):
            return _first_results(left, strict), [y0, y1]
    return None


def _first_results(left: Sequence[Var], strict: type[Expr]) -> list[Callable[[Sequence[Var]], Expr]]:
    # both sides of each connective are safe to evaluate, which makes vectors possible
    x0, x1 = left
    return [
        lambda y: Select(BitwiseOr(strict(y[1], x1), BitwiseAnd(EQ(y[1], x1), LT(y[0], x0))), y[0], x0),
        lambda y: Select(strict(y[1], x1), y[1], x1),
    ]


def _select_results(
    left: Sequence[Var], weak: type[Expr], strict: type[Expr], two: Expr
) -> list[Callable[[Sequence[Var]], Expr]]:
    x0, x1 = left
    if isinstance(two, weak):
        return [
            lambda y: Select(weak(x1, y[1]), x0, y[0]),
            lambda y: Select(weak(x1, y[1]), x1, y[1]),
        ]
    return [
        lambda y: Select(Or(strict(x1, y[1]), And(EQ(x1, y[1]), LT(x0, y[0]))), x0, y[0]),
        lambda y: Select(strict(x1, y[1]), x1, y[1]),
    ]


def _is_worst(start: Expr, worst: Expr) -> bool:
    if isinstance(start, FloatImm) and isinstance(worst, FloatImm):
        return start.value == worst.value or start.value == (
            float("-inf") if worst.value < 0 else float("inf")
        )
    if isinstance(start, IntImm) and isinstance(worst, IntImm):
        return start.value == worst.value
    return structural_equal(start, worst)
