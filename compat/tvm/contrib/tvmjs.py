"""`tvm.contrib.tvmjs`: parameters in files. Ours are kept by `loopwright.runtime`'s own formats."""

from __future__ import annotations

from ...adapters import lacking

__getattr__ = lacking("tvm.contrib.tvmjs")

__all__: list[str] = []
