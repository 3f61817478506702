"""`tvm.topi.testing`: numpy meanings for tests. Ours stand in the operators' records, so none is here."""

from __future__ import annotations

from ...adapters import lacking

__getattr__ = lacking("tvm.topi.testing", "the numpy meaning of an operator is `find_op(name).numpy`")

__all__: list[str] = []
