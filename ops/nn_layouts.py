"""How operators of networks are computed in other layouts: their rules of layout conversion.

See `layout_rules.py` for what a rule is given and gives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..ir.relax import TensorType
from .layout import find_layout
from .layout_rules import Choice, dimensions, plain, whole_dimensions

Values = Mapping[str, Any]


def named(layout: str, base: str) -> str:
    """A layout in the letters of a base: "ACDB" of "NCHW" is "NHWC"."""
    table = dict(zip(plain(len(base)), base))
    return "".join([table.get(c, table.get(c.upper(), c).lower()) if c.isalpha() else c for c in layout])


def unnamed(text: str, base: str) -> str:
    """A layout in the terms of rules: "NHWC" of "NCHW" is "ACDB"."""
    table = dict(zip(base, plain(len(base))))
    return "".join([table.get(c, table.get(c.upper(), c).lower()) if c.isalpha() else c for c in text])


def _all_plain(layouts: Sequence[Any]) -> tuple[Any, ...]:
    return tuple([plain(len(whole_dimensions(x))) if isinstance(x, str) else x for x in layouts])


def convolution(values: Values, layouts: Sequence[Any], desired: Any = None) -> Choice:
    """As is desired: (layout of the data, of the kernel, of the result, by default that of the data)."""
    names = ("data_layout", "kernel_layout", "out_layout")
    base = [values[name] for name in names]
    as_it_is = Choice(_all_plain(layouts), plain(len(dimensions(base[2]))))
    if not desired or not all(text.isalpha() for text in base):
        return as_it_is
    wanted = [desired[0], desired[1] if len(desired) > 1 else base[1]]
    wanted.append(desired[2] if len(desired) > 2 else wanted[0])
    types = [values["data"].ty, values["weight"].ty]
    if not all(_fits(ty, have, want) for ty, have, want in zip(types, base, wanted)):
        return as_it_is
    data, weight, out = [unnamed(want, have) for want, have in zip(wanted, base)]
    return Choice((data, weight), out, dict(zip(names, wanted)))


def _fits(ty: TensorType, have: str, want: str) -> bool:
    """Whether a tensor can be brought to the layout: split dimensions have known multiples as sizes."""
    found = find_layout(want)
    if found is None or sorted(found.letters) != sorted(have):
        return False
    if found.is_plain:
        return True
    if ty.sizes is None:
        return False
    sizes = dict(zip(have, ty.sizes))
    known = all(hasattr(sizes[letter], "value") for letter, part in found.axes if part is not None)
    return known and found.divides(sizes)


def spatial(values: Values, layouts: Sequence[Any], desired: Any = None) -> Choice:
    """Of operators with an attribute `layout`, such as pooling: the layout of the data."""
    layout, base = layouts[0], values["layout"]
    kept = _all_plain(layouts)
    same = values.get("out_layout", base) == base
    if not isinstance(layout, str) or not base.isalpha() or not same:
        return Choice(kept, plain(len(dimensions(base))))
    text = named(layout, base)
    attrs = {name: text for name in ("layout", "out_layout") if name in values}
    return Choice((layout, *kept[1:]), layout, attrs)


def along_axes(*names: str, results: int = 1) -> Callable[..., Choice]:
    """Of normalisations: the layout of the data, these attributes moved along; parameters stay plain.

    Where a dimension that an attribute names is split, the data become plain.
    """

    def rule(values: Values, layouts: Sequence[Any], desired: Any = None) -> Choice:
        layout, *rest = layouts
        kept = _all_plain(rest)
        if not isinstance(layout, str):
            return Choice((layout, *kept), layout if results == 1 else (layout, *kept[-results + 1 :]))
        whole = plain(len(whole_dimensions(layout)))
        letters = {name: [whole[a % len(whole)] for a in _listed(values[name])] for name in names}
        if any(letter.lower() in layout for found in letters.values() for letter in found):
            layout = whole
        order = dimensions(layout)
        attrs: dict[str, Any] = {}
        for name, found in letters.items():
            places = tuple([order.index(x) for x in found])
            attrs[name] = places if isinstance(values[name], tuple) else places[0]
        return Choice((layout, *kept), layout if results == 1 else (layout, *["A"] * (results - 1)), attrs)

    return rule


def _listed(value: Any) -> tuple[int, ...]:
    return value if isinstance(value, tuple) else (value,)


def twice(values: Values, layouts: Sequence[Any], desired: Any = None) -> Choice:
    """Of operators on elements with two results: the layout of the data."""
    return Choice(tuple(layouts), (layouts[0], layouts[0]))


__all__ = ["along_axes", "convolution", "named", "spatial", "twice", "unnamed"]
