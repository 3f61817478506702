"""What a sum can be made simpler by, its terms taken together; each step says to which class it belongs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...dtype import DType
from ..expr import Add, Div, Expr, FloorDiv, FloorMod, IntImm, Max, Min, Mod, Mul, Select, Sub, const
from .linear import Linear, leaves, linear, rebuild

if TYPE_CHECKING:
    from .analyzer import Analyzer

_QUOTIENTS: dict[type, type] = {FloorDiv: FloorMod, Div: Mod}
_CHOICES = (Min, Max, Select)


def refine(ana: Analyzer, total: Linear, dtype: DType, wraps: bool) -> None:
    """Simplify the sum in place; its value stays."""
    if len(total.terms) + (total.const != 0) < 2:
        return
    quotients = remainders = choices = products = 0
    for _, term in total.terms.values():
        kind = type(term)
        if kind in _QUOTIENTS:
            quotients += 1
        elif kind is FloorMod:
            remainders += 1
        elif kind in _CHOICES:
            choices += 1
        elif kind is Mul:
            products += 1
    if quotients and len(total.terms) > 1:
        _align(ana, total)
        _remainders(ana, total)
    if quotients + remainders > 1:
        _halves(ana, total)
    if choices:
        _into_choice(ana, total, dtype, wraps)
    if products and len(total.terms) > 1:
        _cancel_products(ana, total)
        _factor(ana, total, dtype, wraps)


def _note(ana: Analyzer, name: str) -> None:
    if ana.fired is not None:
        ana.fired.add(name)


def _replace(total: Linear, other: Linear) -> None:
    total.terms, total.const = other.terms, other.const


def _align(ana: Analyzer, total: Linear) -> None:
    """`(x + 5) // 3 - (x + 2) // 3` becomes 1: quotients of sums that differ by multiples (class INDEX)."""
    first: dict[tuple[object, ...], tuple[int, int]] = {}
    for key, (coeff, term) in list(total.terms.items()):
        if type(term) is not FloorDiv or type(term.b) is not IntImm or term.b.value <= 0:
            continue
        c = term.b.value
        inner = linear(ana, term.a)
        terms = sorted([(k, x) for k, (x, _) in inner.terms.items()])
        group = (c, inner.const % c, *terms)
        known = first.setdefault(group, (key, inner.const))
        if known[0] != key:
            base = total.terms.get(known[0])
            del total.terms[key]
            kept = base[1] if base is not None else term
            total.add_term(known[0] if base is not None else key, coeff, kept)
            total.const += coeff * ((inner.const - known[1]) // c) if base is not None else 0
            _note(ana, "align-quotients")


def _halves(ana: Analyzer, total: Linear) -> None:
    """`(x + 1) // 2 = x // 2 + x % 2` and `(x + 1) % 2 = 1 - x % 2`, used where terms go (class INDEX)."""
    groups: dict[tuple[tuple[int, int], ...], list[_Half]] = {}
    for key, (_, term) in total.terms.items():
        if type(term) is not FloorDiv and type(term) is not FloorMod:
            continue
        if type(term.b) is not IntImm or term.b.value != 2:
            continue
        inner = linear(ana, term.a)
        group = tuple(sorted([(k, x) for k, (x, _) in inner.terms.items()]))
        # by the quotient q and the remainder r of the sum without its constant
        if type(term) is FloorDiv:
            half = _Half(key, term, 1, inner.const % 2, inner.const // 2)
        else:
            half = _Half(key, term, 0, -1 if inner.const % 2 else 1, inner.const % 2)
        groups.setdefault(group, []).append(half)
    for group, halves in groups.items():
        if len(halves) < 2:
            continue
        inner = linear(ana, halves[0].term.a)  # type: ignore[attr-defined]
        bases = _bases(ana, Linear({k: inner.terms[k] for k, _ in group}), halves[0].term)
        best = total
        for i, a in enumerate(bases):
            for b in bases[i + 1 :]:
                made = _in_terms_of(total, halves, a, b)
                if made is not None and len(made.terms) < len(best.terms):
                    best = made
        if best is not total:
            _replace(total, best)
            _note(ana, "halves")


def _bases(ana: Analyzer, inner: Linear, like: Expr) -> list[_Half]:
    """x // 2, x % 2 and (x + 1) // 2, where their sums are fine."""
    made: list[_Half] = []
    two = const(2, like.dtype)
    for kind, shift in ((FloorDiv, 0), (FloorMod, 0), (FloorDiv, 1)):
        e = rebuild(Linear(inner.terms, shift), like.dtype, ana.wraps(like))
        if e is not None and _fine(ana, e, ana.wraps(like)):
            node = kind(e, two)
            quotient = int(kind is FloorDiv)
            made.append(_Half(ana.keys.key(node), node, quotient, shift if quotient else 1, 0))
    return made


class _Half(NamedTuple):
    """A half of x as `quotients * (x // 2) + remainders * (x % 2) + rest`."""

    key: int
    term: Expr
    quotients: int
    remainders: int
    rest: int


def _in_terms_of(total: Linear, halves: list[_Half], a: _Half, b: _Half) -> Linear | None:
    """The sum with each half as `p * a + q * b + r`, or by one of the two where they say the same."""
    det = a.quotients * b.remainders - a.remainders * b.quotients
    if abs(det) > 1:
        return None
    made = total.copy()
    for half in halves:
        del made.terms[half.key]
    for half in halves:
        coeff = total.terms[half.key][0]
        if det:
            p = (half.quotients * b.remainders - half.remainders * b.quotients) * det
            q = (a.quotients * half.remainders - a.remainders * half.quotients) * det
        else:
            p, q = (half.quotients or half.remainders) * (a.quotients or a.remainders), 0
            if (p * a.quotients, p * a.remainders) != (half.quotients, half.remainders):
                return None
        made.const += coeff * (half.rest - p * a.rest - q * b.rest)
        for other, factor in ((a, p), (b, q)):
            if factor:
                made.add_term(other.key, coeff * factor, other.term)
    return made


def _remainders(ana: Analyzer, total: Linear) -> None:
    """`x - x // c * c` becomes `x % c`: of either kind, where terms go (class RING)."""
    from .simplify import simplify

    for key, (coeff, term) in list(total.terms.items()):
        wanted = _QUOTIENTS.get(type(term))
        if wanted is None or type(term.b) is not IntImm or key not in total.terms:  # type: ignore[attr-defined]
            continue
        divisor = term.b.value  # type: ignore[attr-defined]
        if divisor == 0 or coeff % divisor:
            continue
        scale = coeff // divisor
        node = simplify(ana, wanted(term.a, term.b))  # type: ignore[attr-defined]
        other = total.copy()
        del other.terms[key]
        other.add(linear(ana, term.a, ring=True), scale)  # type: ignore[attr-defined]
        other.add(linear(ana, node, ring=True), -scale)
        if len(other.terms) < len(total.terms) or (
            len(other.terms) == len(total.terms) and _cancels(ana, total, key, term, scale)
        ):
            _replace(total, other)
            _note(ana, "remainder")


def _cancels(ana: Analyzer, total: Linear, key: int, term: Expr, scale: int) -> bool:
    """Whether the dividend takes away a variable's term entirely."""
    for k, (c, _) in linear(ana, term.a, ring=True).terms.items():  # type: ignore[attr-defined]
        own = total.terms.get(k)
        if own is not None and own[0] == -c * scale and k != key:
            return True
    return False


def _weight(total: Linear) -> int:
    return len(total.terms) + (total.const != 0)


def _into_choice(ana: Analyzer, total: Linear, dtype: DType, wraps: bool) -> None:
    """`min(a, b) + r` becomes `min(a + r, b + r)` where that is shorter; alike max, Select (class INDEX).

    `Select(c, a, b) + Select(c, d, e)` becomes `Select(c, a + d, b + e)`; `min(a, b) + max(a, b)` a + b.
    """
    for key, (coeff, term) in list(total.terms.items()):
        if type(term) not in _CHOICES or abs(coeff) != 1 or key not in total.terms:
            continue
        rest = total.copy()
        del rest.terms[key]
        partner = _partner(ana, rest, term, coeff)
        sides = _sides(ana, term)
        if partner is not None:
            other_key, merged = partner
            del rest.terms[other_key]
            if merged is None:
                _replace(total, rest.add(linear(ana, term.a)).add(linear(ana, term.b)))  # type: ignore[attr-defined]
                _note(ana, "min-plus-max")
                return
            moved = [side.scaled(coeff).add(extra) for side, extra in zip(sides, merged, strict=True)]
            done = _choice(ana, term, coeff, moved, dtype, wraps)
        else:
            moved = [side.scaled(coeff).add(rest) for side in sides]
            if _weight(moved[0]) + _weight(moved[1]) >= _weight(sides[0]) + _weight(sides[1]) + _weight(rest):
                continue
            done = _choice(ana, term, coeff, moved, dtype, wraps)
            rest = Linear()
        if done is not None:
            _note(ana, "sum-into-choice")
            rest.add(done)
            _replace(total, rest)
            return


def _sides(ana: Analyzer, term: Expr) -> list[Linear]:
    if isinstance(term, Select):
        return [linear(ana, term.true_value), linear(ana, term.false_value)]
    assert isinstance(term, Min | Max)
    return [linear(ana, term.a), linear(ana, term.b)]


def _partner(ana: Analyzer, rest: Linear, term: Expr, coeff: int) -> tuple[int, list[Linear] | None] | None:
    """Another choice by the same condition, with its sides; or the opposite extreme of the same two."""
    for key, (c, other) in rest.terms.items():
        if isinstance(term, Select) and isinstance(other, Select) and abs(c) == 1:
            if ana.keys.same(term.condition, other.condition):
                return key, [side.scaled(c) for side in _sides(ana, other)]
        if isinstance(term, Min) and isinstance(other, Max) and c == coeff == 1:
            if ana.keys.same(Min(other.a, other.b), term):
                return key, None
    return None


def _choice(
    ana: Analyzer, term: Expr, coeff: int, moved: list[Linear], dtype: DType, wraps: bool
) -> Linear | None:
    from .simplify import simplify

    built: list[Expr] = []
    for side in moved:
        e = rebuild(side, dtype, wraps)
        if e is None or not _fine(ana, e, wraps):
            return None
        built.append(e)
    if isinstance(term, Select):
        made: Expr = Select(term.condition, built[0], built[1])
    else:
        turned = (Max if isinstance(term, Min) else Min) if coeff < 0 else type(term)
        made = turned(built[0], built[1])
    return linear(ana, simplify(ana, made))


def _fine(ana: Analyzer, e: Expr, wraps: bool) -> bool:
    """Whether the new sum has its integer value, and overflows nowhere where that counts."""
    from .simplify import _inside

    if wraps:
        return ana.is_exact(e)
    return not ana.strict or _inside(ana, e)


def _cancel_products(ana: Analyzer, total: Linear) -> None:
    """`(x + 1) * n - x * n` becomes n: products of sums in full where terms go (class RING)."""
    expanded = Linear({}, total.const)
    count = 0
    for key, (coeff, term) in total.terms.items():
        if type(term) is Mul and (type(term.a) in _SUMS or type(term.b) in _SUMS):
            count += 1
            for c, x in leaves(term.a, coeff):
                for d, y in leaves(term.b):
                    _add_product(ana, expanded, c * d, x, y)
        else:
            expanded.add_term(key, coeff, term)
    if count and len(expanded.terms) < len(total.terms):
        _replace(total, expanded)
        _note(ana, "cancel-products")


_SUMS = (Add, Sub)


def _add_product(ana: Analyzer, out: Linear, coeff: int, x: Expr, y: Expr) -> None:
    if type(x) is IntImm and type(y) is IntImm:
        out.const += coeff * x.value * y.value
    elif type(x) is IntImm or type(y) is IntImm:
        number, term = (x, y) if type(x) is IntImm else (y, x)
        if coeff * number.value:  # type: ignore[attr-defined]
            out.add_term(ana.keys.key(term), coeff * number.value, term)  # type: ignore[attr-defined]
    elif coeff:
        node = Mul(x, y)
        out.add_term(ana.keys.key(node), coeff, node)


def _factor(ana: Analyzer, total: Linear, dtype: DType, wraps: bool) -> None:
    """`x * y + x * 10` becomes `(y + 10) * x`, `x * y - x * z` becomes `(y - z) * x` (class RING)."""
    for _ in range(len(total.terms)):
        if not _factor_one(ana, total, dtype, wraps):
            return


def _factor_one(ana: Analyzer, total: Linear, dtype: DType, wraps: bool) -> bool:
    items = list(total.terms.items())
    for i, (key, (coeff, term)) in enumerate(items):
        if type(term) is not Mul or abs(coeff) != 1:
            continue
        for other_key, (c, other) in items[i + 1 :] + items[:i]:
            for common, cofactor in ((term.a, term.b), (term.b, term.a)):
                rest = _cofactor(ana, common, c, other)
                if rest is None:
                    continue
                inner = Linear()
                inner.add(linear(ana, cofactor, ring=True), coeff).add(rest)
                node = rebuild(inner, dtype, wraps)
                if node is None or type(node) is IntImm or not _fine(ana, node, wraps):
                    continue
                product = Mul(node, common)
                del total.terms[key], total.terms[other_key]
                total.add_term(ana.keys.key(product), 1, product)
                _note(ana, "factor")
                return True
    return False


def _cofactor(ana: Analyzer, common: Expr, coeff: int, term: Expr) -> Linear | None:
    """What `coeff * term` is the product of with `common`."""
    if ana.keys.same(common, term):
        return Linear({}, coeff)
    if type(term) is Mul and abs(coeff) == 1:
        for one, other in ((term.a, term.b), (term.b, term.a)):
            if ana.keys.same(one, common):
                return linear(ana, other, ring=True).scaled(coeff)
    return None
