"""`tvm.relax.testing.runtime_builtin`: codes of the functions that match and make shapes."""

from __future__ import annotations

from enum import IntEnum

from .....runtime.vm import checks
from ....adapters import lacking


class MatchShapeCode(IntEnum):
    """What is done with a size of a value."""

    ASSERT_EQUAL_TO_IMM = checks.EQUAL
    STORE_TO_HEAP = checks.STORE
    NO_OP = checks.SKIP
    ASSERT_EQUAL_TO_LOAD = checks.SAME


class MakeShapeCode(IntEnum):
    """Where a size of a new shape comes from."""

    USE_IMM = checks.LITERAL
    LOAD_SHAPE = checks.LOAD


__getattr__ = lacking("tvm.relax.testing.runtime_builtin")

__all__ = ["MakeShapeCode", "MatchShapeCode"]
