"""Hypothesis strategies for programs and their parts.

Everything drawn is well formed by construction.  `prim_funcs(executable=True)` also runs: no
access out of bounds, no read before a write, no overflow of index arithmetic, an end.
"""

from __future__ import annotations

from .calls import calls
from .programs import expressions, modules, prim_funcs, statements
from .scalars import dtypes, names, scalar_values

__all__ = [
    "calls",
    "dtypes",
    "expressions",
    "modules",
    "names",
    "prim_funcs",
    "scalar_values",
    "statements",
]
