"""`tvm.ir.attrs`: dictionaries of attributes."""

from __future__ import annotations

from typing import Any

from ....errors import Diagnostic, UnsupportedError
from ....node import Attrs
from ...adapters import lacking


class DictAttrs(Attrs):
    """Attributes by name, which are also Python attributes."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no attribute {name!r}", name=name, obj=self) from None

    def get_str(self, name: str) -> str:
        """An attribute as a string."""
        return str(self[name])

    def get_int(self, name: str) -> int:
        """An attribute as an integer."""
        return int(self[name])


def make_node(type_key: str, **fields: Any) -> Any:
    """A node by the peer's type key. Raises UnsupportedError for other keys than `ir.DictAttrs`."""
    if type_key in ("ir.DictAttrs", "DictAttrs"):
        return DictAttrs(fields)
    from .... import ir

    cls = getattr(ir, type_key.rpartition(".")[2], None)
    if cls is None:
        raise UnsupportedError(Diagnostic("unsupported", f"there is no node for the type key `{type_key}`"))
    return cls(**fields)


__getattr__ = lacking("tvm.ir.attrs")

__all__ = ["Attrs", "DictAttrs", "make_node"]
