"""Rules of layout conversion against the numpy meaning."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from ...ir import Expr, Tuple, Var
from ...ir.relax import Function, TensorType, get_op
from ...ops.layout_rules import Layout, plain
from ..graphs import evaluate
from .check import SIZES, arguments, compare, graph
from .spec import Case


def check_layout(case: Case, seed: int = 0) -> None:
    """Check that a call whose operands are kept in the layouts that the rule asks for gives the same result.

    The rule is asked with a random order of the dimensions of each operand.
    """
    func = graph(case, SIZES[0])
    call: Any = func.body.body
    rec = get_op(case.name)
    values = rec.values(call)
    assert rec.layout is not None
    names = [p.name for p in rec.params if p.is_operand]
    draw = random.Random(seed)
    asked = [_shuffled(values[name], draw) for name in names]
    choice = rec.layout(values, asked, None)

    kept: dict[Var, tuple[Var, str]] = {}
    new = {n: _kept(values[n], layout, kept) for n, layout in zip(names, choice.operands, strict=True)}
    params = [kept[p][0] if p in kept else p for p in func.params]
    again = Function(params, rec.make({**values, **new, **choice.attrs}), None)
    given = arguments(case, SIZES[0], symbolic=False)
    moved = [_order(x, kept[p][1]) if p in kept else x for p, x in zip(func.params, given)]
    compare(case, _plainly(evaluate(again, *moved), choice.result), evaluate(func, *given), max(case.ulps, 4))


def _shuffled(value: Any, draw: random.Random) -> Layout:
    """A layout in which an operand may be kept."""
    if isinstance(value, Tuple):
        layouts = [_shuffled(f, draw) for f in value.fields_]
        return tuple(layouts)
    if not isinstance(value, Expr) or not isinstance(value.ty, TensorType):
        return None
    letters = list(plain(value.ty.ndim))
    draw.shuffle(letters)
    return "".join(letters)


def _kept(value: Any, layout: Layout, kept: dict[Var, tuple[Var, str]]) -> Any:
    """The operand as a variable of the layout; `kept` gets the variables of new ones."""
    if isinstance(value, Tuple):
        return Tuple([_kept(f, one, kept) for f, one in zip(value.fields_, layout, strict=True)])
    if not isinstance(value, Var) or not isinstance(layout, str) or layout == plain(len(layout)):
        return value
    ty: Any = value.ty
    sizes = [ty.sizes[plain(len(layout)).index(letter)] for letter in layout]
    kept[value] = Var(value.name, TensorType(sizes, ty.dtype)), layout
    return kept[value][0]


def _order(x: Any, layout: str) -> Any:
    """A plain array in the layout."""
    return np.ascontiguousarray(x.transpose([plain(x.ndim).index(letter) for letter in layout]))


def _plainly(value: Any, layout: Layout) -> Any:
    """An array of the layout as the program has it."""
    if isinstance(value, tuple):
        layouts = layout if isinstance(layout, tuple) else [layout] * len(value)
        return tuple([_plainly(v, one) for v, one in zip(value, layouts, strict=True)])
    return value.transpose([layout.index(c) for c in plain(value.ndim)]) if isinstance(layout, str) else value


__all__ = ["check_layout"]
