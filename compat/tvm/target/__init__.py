"""`tvm.target`: targets."""

from __future__ import annotations

from typing import Any

from ....target import Target, list_tags, register_tag
from ...adapters import lacking
from ...methods import extend
from . import codegen


class TargetKind(str):
    """The kind of a target: its name, which the peer asks for as `name`."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name."""
        return str(self)


_KIND: Any = Target.__dict__["kind"]


def _kind(self: Target) -> TargetKind:
    return TargetKind(_KIND.__get__(self, Target))


def _set_kind(self: Target, value: str) -> None:
    _KIND.__set__(self, value)


extend((Target, "kind", property(_kind, _set_kind)))

__getattr__ = lacking("tvm.target")

__all__ = ["Target", "TargetKind", "codegen", "list_tags", "register_tag"]
