"""Index maps at work: mapping indices and shapes, and inverting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from ..dtype import DType
from ..errors import ArgumentValueError, Diagnostic

if TYPE_CHECKING:
    from . import expr as E
    from .arith import Analyzer


class IndexMapMethods:
    """Methods of IndexMap."""

    __slots__ = ()

    def map_indices(self, indices: Sequence[Any], analyzer: Analyzer | None = None) -> list[E.Expr]:
        """The new indices for these old ones, simplified; their dtype is that of the old ones.

        Raises ArgumentValueError for another number of indices than the map takes.
        """
        from .arith import Analyzer
        from .visitor import substitute

        own = cast("E.IndexMap", self)
        values = _values(own, indices)
        own = _retyped(own, values)
        table = dict(zip(own.initial_indices, values, strict=True))
        ana = analyzer if analyzer is not None else Analyzer()
        return [ana.simplify(substitute(e, table)) for e in own.final_indices]

    def map_shape(self, shape: Sequence[Any], analyzer: Analyzer | None = None) -> list[E.Expr]:
        """The shape that holds every new index, for old indices inside of `shape`.

        Raises ArgumentValueError where an index has no upper end that could be found.
        """
        from .arith.iter_build import IterBuilder, NotAffine
        from .arith.iter_map import one_split, scoped

        own, iters = _domain(cast("E.IndexMap", self), shape)
        ana = scoped(analyzer, iters)
        builder = IterBuilder(iters, ana, tiles=True)
        result = []
        for e in own.final_indices:
            try:
                total = one_split(builder, builder.normalize(e))
            except NotAffine:
                result.append(_interval_end(own, e, iters, ana))
                continue
            end = builder.sizes.add(total.base, 1)
            for s in total.args:
                span = builder.sizes.mul(builder.sizes.sub(s.extent, 1), s.scale)
                end = builder.sizes.add(end, span)
            result.append(ana.simplify(builder.sizes.expr(end, e.dtype)))
        return result

    def inverse(self, shape: Sequence[Any], analyzer: Analyzer | None = None) -> E.IndexMap:
        """The map from new indices to old ones, for old indices inside of `shape` (extents or ranges).

        Raises ArgumentValueError where the map is not bijective there.
        """
        return _invert(cast("E.IndexMap", self), shape, analyzer, padding=False)[0]

    def non_surjective_inverse(
        self, shape: Sequence[Any], analyzer: Analyzer | None = None
    ) -> tuple[E.IndexMap, E.Expr]:
        """The inverse, and the condition on the new indices under which they stand for no old ones.

        Raises ArgumentValueError where the map is not affine, or not injective.
        """
        return _invert(cast("E.IndexMap", self), shape, analyzer, padding=True)

    def with_dtype(self, dtype: DType | str) -> E.IndexMap:
        """The same map on indices of this dtype."""
        from . import expr as E

        own = cast("E.IndexMap", self)
        if not own.initial_indices:
            return E.IndexMap([], [_with_dtype(e, DType(dtype), {}) for e in own.final_indices])
        return _retyped(own, [E.const(0, dtype) for _ in own.initial_indices])

    def is_equivalent_to(self, other: E.IndexMap, analyzer: Analyzer | None = None) -> bool:
        """Whether both maps are provably the same function."""
        from .arith import Analyzer

        own = cast("E.IndexMap", self)
        if len(own.initial_indices) != len(other.initial_indices):
            return False
        if len(own.final_indices) != len(other.final_indices):
            return False
        ana = analyzer if analyzer is not None else Analyzer()
        mapped = _retyped(own, other.initial_indices)
        values = mapped.map_indices(other.initial_indices, ana)
        for a, b in zip(values, other.final_indices, strict=True):
            b = ana.simplify(b)
            if a.ty is not b.ty:
                a, b = _aligned(a, b)
            if not ana.can_prove_equal(a, b):
                return False
        return True

    def map_array(self, array: Any) -> Any:
        """A numpy array with its elements at their new places; zeros where the map pads."""
        import numpy as np

        own = cast("E.IndexMap", self)
        shape = [int(cast("E.IntImm", e).value) for e in own.map_shape([int(n) for n in array.shape])]
        grid = np.indices(array.shape, dtype=np.int64)
        from .arith.numeric import evaluate_on_grid

        values = dict(zip(own.initial_indices, grid, strict=True))
        out = np.zeros(shape, dtype=array.dtype)
        out[tuple([evaluate_on_grid(e, values) for e in own.final_indices])] = array
        return out


def _values(own: E.IndexMap, indices: Sequence[Any]) -> list[E.Expr]:
    from . import expr as E

    if len(indices) != len(own.initial_indices):
        raise ArgumentValueError(
            Diagnostic("index-count", f"the map takes {len(own.initial_indices)} indices, not {len(indices)}")
        )
    given = [i for i in indices if isinstance(i, E.Expr)]
    like = given[0] if given else None
    return [
        E.as_expr(i, like=like if like is not None else v)
        for i, v in zip(indices, own.initial_indices, strict=True)
    ]


def _domain(own: E.IndexMap, shape: Sequence[Any]) -> tuple[E.IndexMap, dict[E.Var, E.Range]]:
    """The map in the dtype of the shape, and its old indices' ranges."""
    from . import expr as E

    extents = [dom.extent if isinstance(dom, E.Range) else dom for dom in shape]
    values = _values(own, extents)
    own = _retyped(own, values)
    iters: dict[E.Var, E.Range] = {}
    for var, dom, extent in zip(own.initial_indices, shape, values, strict=True):
        low = dom.min if isinstance(dom, E.Range) else E.const(0, var.dtype)
        iters[var] = E.Range(low, extent)
    return own, iters


def _retyped(own: E.IndexMap, like: Sequence[E.Expr]) -> E.IndexMap:
    """The map with indices of the dtype of these expressions, where they all have one."""
    from . import expr as E
    from .types import PrimType

    types = {e.dtype for e in like}
    if len(types) != 1 or not own.initial_indices:
        return own
    wanted = types.pop()
    if all(v.dtype is wanted for v in own.initial_indices) or not wanted.is_integral:
        return own
    table = {v: E.Var(v.name, PrimType(wanted)) for v in own.initial_indices}
    final = [_with_dtype(e, wanted, table) for e in own.final_indices]
    return E.IndexMap(list(table.values()), final)


def _with_dtype(e: Any, wanted: DType, table: dict[E.Var, E.Var]) -> E.Expr:
    """Index arithmetic rebuilt in another dtype."""
    from . import expr as E
    from .types import PrimType

    if isinstance(e, E.Var):
        return table[e] if e in table else e if e.dtype is wanted else E.Cast(PrimType(wanted), e)
    if isinstance(e, E.IntImm):
        return E.const(e.value, wanted)
    if isinstance(e, E.BinaryOp) and not isinstance(e, E.Comparison | E.And | E.Or):
        return type(e)(_with_dtype(e.a, wanted, table), _with_dtype(e.b, wanted, table))
    from .visitor import substitute

    plain = {old: E.Cast(old.ty, new) for old, new in table.items()}
    return E.Cast(PrimType(wanted), substitute(e, plain))


def _aligned(a: E.Expr, b: E.Expr) -> tuple[E.Expr, E.Expr]:
    from . import expr as E

    wide = a.ty if a.dtype.bits >= b.dtype.bits else b.ty
    return (a if a.ty is wide else E.Cast(wide, a)), (b if b.ty is wide else E.Cast(wide, b))


def _interval_end(own: E.IndexMap, e: E.Expr, iters: dict[E.Var, E.Range], ana: Analyzer) -> E.Expr:
    from . import expr as E
    from .arith.intset import IntervalSet, eval_set

    domain = {var: IntervalSet.of_range(dom, ana) for var, dom in iters.items()}
    found = eval_set(e, domain, ana)
    if found.max is None:
        from .text import text

        raise ArgumentValueError(
            Diagnostic("index-map", f"the index `{text(e)}` has no upper end that could be found")
        )
    return ana.simplify(E.Add(found.max, E.const(1, found.max.dtype)))


def _invert(
    own: E.IndexMap, shape: Sequence[Any], analyzer: Analyzer | None, *, padding: bool
) -> tuple[E.IndexMap, E.Expr]:
    from . import expr as E
    from .arith.iter_build import NotAffine
    from .arith.iter_pad import padded_inverse

    if own.inverse_index_map is not None and not padding:
        return own.inverse_index_map, E.const(0, "bool")
    own, iters = _domain(own, shape)
    outputs = []
    for i, e in enumerate(own.final_indices):
        passed = isinstance(e, E.Var) and e in iters
        outputs.append(E.Var(e.name if isinstance(e, E.Var) and passed else f"axis{i}", e.ty))
    try:
        found = padded_inverse(own.final_indices, iters, outputs, padding=padding, analyzer=analyzer)
    except NotAffine as err:
        what = "an injective" if padding else "a bijective"
        raise ArgumentValueError(
            Diagnostic("index-map", f"the map is not known to be {what} affine one on this shape: {err}")
        ) from None
    values = [found.iterators[v] for v in own.initial_indices]
    return E.IndexMap(outputs, values), found.padding
