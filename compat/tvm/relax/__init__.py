"""`tvm.relax`: the graph dialect. Nodes, operators and passes with the peer's signatures."""

from __future__ import annotations

from typing import Any

from ....ir import BaseFunc, DummyGlobalInfo, FuncType, GenericConst, IRModule, Type, VDevice
from ....ir.relax import is_base_of
from ....node import Attrs
from ....runtime import Tensor, tensor
from ....script.relax_function import GraphJob
from ...adapters import lacking
from ...methods import extend
from . import (
    analysis,
    backend,
    block_builder,
    dpl,
    expr,
    global_info,
    ir,
    op,
    pipeline,
    transform,
    type,
    utils,
)
from .block_builder import BlockBuilder
from .expr import *  # noqa: F403  the peer's names of nodes
from .expr import __all__ as _nodes
from .pipeline import get_default_pipeline, get_pipeline
from .type import *  # noqa: F403  the peer's names of types
from .type import __all__ as _types
from .vm import ExecBuilder, VirtualMachine, VMExecutable, VMInstrumentReturnKind, build

_missing = lacking("tvm.relax")


def _with_attrs(self: Any, attrs: Any) -> Any:
    return self.with_attr(attrs)


def _module_attr(self: IRModule, key: Any, value: Any = None) -> IRModule:
    items = {key: value} if isinstance(key, str) else dict(key)
    return self.replace(attrs=Attrs({**self.attrs, **items}))


def _declared_result(self: GraphJob, wanted: Type, found: Type) -> Type:
    return found if is_base_of(wanted, found) else wanted


def _same_tensor(self: Tensor, other: Any) -> Any:
    """Whether both are the same memory, seen the same way."""
    if not isinstance(other, Tensor):
        return NotImplemented
    return self is other or _view(self) == _view(other)


def _view(self: Tensor) -> tuple[Any, ...]:
    return self.data_ptr(), self.shape, self.dtype, self.device


def _data(self: GenericConst) -> Any:
    return tensor(self.value)


extend(
    (BaseFunc, "with_attrs", _with_attrs),
    (GraphJob, "declared_result", _declared_result),
    (GenericConst, "data", property(_data)),
    (IRModule, "with_attr", _module_attr),
    (IRModule, "with_attrs", _module_attr),
    (FuncType, "params", property(lambda self: self.arg_types)),
    (FuncType, "ret", property(lambda self: self.ret_type)),
    (Tensor, "__eq__", _same_tensor),
    (Tensor, "__hash__", lambda self: hash(self.data_ptr())),
    (Type, "is_base_of", is_base_of),
)


def __getattr__(name: str) -> Any:
    """Operators by name. Raises AttributeError for what is not there yet."""
    found = None if name.startswith("__") else op.find_operator(name)
    return _missing(name) if found is None else found


__all__ = [
    *_nodes,
    *_types,
    "BlockBuilder",
    "DummyGlobalInfo",
    "ExecBuilder",
    "VDevice",
    "VMExecutable",
    "VMInstrumentReturnKind",
    "VirtualMachine",
    "analysis",
    "backend",
    "block_builder",
    "build",
    "dpl",
    "expr",
    "get_default_pipeline",
    "get_pipeline",
    "global_info",
    "ir",
    "op",
    "pipeline",
    "transform",
    "type",
    "utils",
]
