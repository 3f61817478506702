"""`tvm.support.clang`: the compiler clang is not used here."""

from __future__ import annotations

from ...adapters import lacking

__getattr__ = lacking("tvm.support.clang", "the compiler clang is not used")
