"""`tvm.relax`: the graph dialect. Nodes, operators and passes with the peer's signatures."""

from __future__ import annotations

from typing import Any

from ....ir import BaseFunc, DummyGlobalInfo, IRModule, VDevice
from ....node import Attrs
from ...adapters import lacking
from ...methods import extend
from . import analysis, block_builder, dpl, expr, global_info, ir, op, transform, type, utils
from .block_builder import BlockBuilder
from .expr import *  # noqa: F403  the peer's names of nodes
from .expr import __all__ as _nodes
from .type import *  # noqa: F403  the peer's names of types
from .type import __all__ as _types
from .vm import ExecBuilder, VirtualMachine, VMExecutable, build, get_default_pipeline, get_pipeline

_missing = lacking("tvm.relax")


def _with_attrs(self: Any, attrs: Any) -> Any:
    return self.with_attr(attrs)


def _module_attr(self: IRModule, key: Any, value: Any = None) -> IRModule:
    items = {key: value} if isinstance(key, str) else dict(key)
    return self.replace(attrs=Attrs({**self.attrs, **items}))


extend(
    (BaseFunc, "with_attrs", _with_attrs),
    (IRModule, "with_attr", _module_attr),
    (IRModule, "with_attrs", _module_attr),
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
    "VirtualMachine",
    "analysis",
    "block_builder",
    "build",
    "dpl",
    "expr",
    "get_default_pipeline",
    "get_pipeline",
    "global_info",
    "ir",
    "op",
    "transform",
    "type",
    "utils",
]
