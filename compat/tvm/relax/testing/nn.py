"""`tvm.relax.testing.nn`: the peer's old way of writing models, of which nothing is there."""

from __future__ import annotations

from ....adapters import lacking

__getattr__ = lacking("tvm.relax.testing.nn", "write models with `tvm.relax.frontend.nn`")

__all__: list[str] = []
