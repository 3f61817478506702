"""Means to give our classes the peer's signatures, and to say what is lacking."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Adapted(type):
    """The type of an adapted class: calling it builds a node, `isinstance` asks for the real class."""

    real: type
    build: Callable[..., Any]

    def __call__(cls, *args: Any, **keywords: Any) -> Any:
        return cls.build(*args, **keywords)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.real)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return subclass is cls or issubclass(subclass, cls.real)

    def __getattr__(cls, name: str) -> Any:
        if name in ("real", "build"):
            raise AttributeError(name)
        return getattr(cls.real, name)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is cls.real

    def __hash__(cls) -> int:
        return hash(cls.real)


def adapt(real: type, build: Callable[..., Any], **names: Any) -> Any:
    """`real` with the signature of `build`; `names` are further attributes."""
    body = {"real": real, "build": staticmethod(build), "__doc__": real.__doc__, **names}
    return Adapted(real.__name__, (), {"__module__": real.__module__, **body})


def adapts(real: type, **names: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorator: the function becomes the constructor of an adapted `real`."""

    def enter(build: Callable[..., Any]) -> Any:
        return adapt(real, build, **names)

    return enter


def lacking(module: str, why: str = "") -> Callable[[str], Any]:
    """A module's `__getattr__` that says, by its name, that an attribute is not there yet."""

    def missing(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
        text = f"loopwright has no counterpart of `{module}.{name}` yet"
        raise AttributeError(f"{text}: {why}" if why else text, name=name)

    return missing
