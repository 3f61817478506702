"""Operators of the graph dialect against their numpy meaning.

A family file here lists cases, such as

    case("relax.concat", [tensor("n", 2), tensor("n", 3)], axis=-1)

Dimensions that are texts are symbols.  Each case is checked in several forms (`check_case`): with sizes
written as numbers and as symbols, with sizes of zero, by the oracle of loop programs and as machine code.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Sequence

from .check import SIZES, check_case, graph, legalized, native
from .spec import Case, OperandSpec, case, tensor

FAMILIES = ("elementwise", "indexing", "networks", "ordering", "pictures", "products", "shaping")
"""The files of this package that list cases, as `CASES`."""


@functools.cache
def all_cases() -> Sequence[Case]:
    """The cases of all families."""
    modules = [importlib.import_module(f"{__name__}.{family}") for family in FAMILIES]
    return tuple([found for module in modules for found in module.CASES])


__all__ = [
    "FAMILIES",
    "SIZES",
    "Case",
    "OperandSpec",
    "all_cases",
    "case",
    "check_case",
    "graph",
    "legalized",
    "native",
    "tensor",
]
