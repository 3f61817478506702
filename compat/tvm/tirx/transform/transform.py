"""`tvm.tirx.transform.transform`: the passes themselves."""

from __future__ import annotations

from ...passes import finder

__getattr__ = finder("tvm.tirx.transform.transform", "tirx.")
