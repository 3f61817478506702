"""Hypothesis strategies for programs and their parts.

Everything drawn is well formed by construction.  `prim_funcs(executable=True)` also runs: no
access out of bounds, no read before a write, no overflow of index arithmetic, an end.
`relax_functions` and `relax_modules` are the graph dialect's.
"""

from __future__ import annotations

from .calls import calls
from .programs import expressions, modules, prim_funcs, statements
from .relax import operator_calls, relax_functions, relax_modules
from .scalars import dtypes, names, scalar_values

__all__ = [
    "calls",
    "dtypes",
    "expressions",
    "modules",
    "names",
    "operator_calls",
    "prim_funcs",
    "relax_functions",
    "relax_modules",
    "scalar_values",
    "statements",
]
