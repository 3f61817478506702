"""Sequences of steps for the programs of the table."""

from __future__ import annotations

from hypothesis import strategies as st

from ...ir import PrimFunc
from .all_steps import STEPS, Step
from .scheduled import AIMS, named_programs


@st.composite
def sequences(draw: st.DrawFn) -> tuple[PrimFunc, list[Step]]:
    """A program with steps to try: some that it was written for, then any, with more of those among them."""
    name, func = draw(named_programs())
    names = sorted(STEPS)
    own = st.sampled_from([n for n in names if {n, STEPS[n].primitive} & set(AIMS.get(name, names))])
    first = draw(st.lists(own, min_size=1, max_size=3))
    one = st.one_of(st.sampled_from(names), st.sampled_from(names), own)
    rest = draw(st.lists(one, min_size=7, max_size=13))
    return func, [STEPS[n] for n in (*first, *rest)]
