"""`tvm.tirx.function`: functions and index maps."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .... import ir
from ....ir import PrimFunc
from ...adapters import adapt, lacking
from ...methods import extend


def _index_map(initial_indices: Any, final_indices: Any, inverse_index_map: Any = None) -> Any:
    return ir.IndexMap(initial_indices, final_indices, inverse_index_map)


def from_func(
    mapping_function: Callable[..., Any],
    ndim: int | None = None,
    inverse_index_map: Any = None,
    *,
    index_dtype: str = "int64",
) -> Any:
    """An index map from a function; one that takes `*indices` needs `ndim`."""
    params = inspect.signature(mapping_function).parameters.values()
    if any(p.kind is p.VAR_POSITIONAL for p in params):
        if ndim is None:
            raise ValueError("a function of any number of indices needs `ndim`")
        made = [ir.Var(f"i{n}", index_dtype) for n in range(ndim)]
        result = mapping_function(*made)
        results = list(result) if isinstance(result, list | tuple) else [result]
        return ir.IndexMap(made, results, inverse_index_map)
    return ir.index_map(mapping_function, inverse_index_map=inverse_index_map, index_dtype=index_dtype)


def _map_tensor(self: ir.IndexMap, arr_src: Any) -> Any:
    """A tensor with its elements at their new places."""
    from ..runtime import tensor

    return tensor(self.map_array(arr_src.numpy()))


extend((ir.IndexMap, "map_tensor", _map_tensor))
IndexMap = adapt(ir.IndexMap, _index_map, from_func=staticmethod(from_func))

_missing = lacking("tvm.tirx.function")


def __getattr__(name: str) -> Any:
    """Tensor intrinsics stand in `tvm.s_tir`. Raises AttributeError for what is not there yet."""
    return _missing(name)


__all__ = ["IndexMap", "PrimFunc"]
