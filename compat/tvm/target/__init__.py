"""`tvm.target`: targets."""

from __future__ import annotations

from typing import Any

from ....runtime import Device
from ....target import Target, list_kinds, list_tags, register_tag
from ...adapters import lacking
from ...methods import extend
from . import codegen
from .features import TargetFeatures


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


def _device_type(self: Target) -> int:
    """The number of the kind of device that code for this target runs on."""
    return int(self.get("target_device_type", 0)) or Device(self.device_kind).device_type


extend(
    (Target, "kind", property(_kind, _set_kind)),
    (Target, "features", property(TargetFeatures)),
    (Target, "get_target_device_type", _device_type),
    (Target, "list_kinds", staticmethod(lambda: list(list_kinds()))),
    (Device, "dlpack_device_type", lambda self: self.device_type),
)

__getattr__ = lacking("tvm.target")

__all__ = ["Target", "TargetFeatures", "TargetKind", "codegen", "list_tags", "register_tag"]
