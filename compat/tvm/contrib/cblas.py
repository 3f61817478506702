"""`tvm.contrib.cblas`: products by an external function of this name, which the user registers."""

from __future__ import annotations

from typing import Any

from .... import te
from ....script import tirx as T
from ...adapters import lacking


def matmul(lhs: Any, rhs: Any, transa: bool = False, transb: bool = False, **kwargs: Any) -> Any:
    """The product of two matrices, computed by the registered function `tvm.contrib.cblas.matmul`."""
    rows = lhs.shape[1] if transa else lhs.shape[0]
    columns = rhs.shape[0] if transb else rhs.shape[1]

    def call(inputs: Any, outputs: Any) -> Any:
        name = "tvm.contrib.cblas.matmul"
        return T.call_packed(name, inputs[0], inputs[1], outputs[0], transa, transb)

    return te.extern((rows, columns), [lhs, rhs], call, name="C", **kwargs)


__getattr__ = lacking("tvm.contrib.cblas")

__all__ = ["matmul"]
