"""The class `Target`, and tags for complete descriptions."""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Callable, Mapping
from typing import Any, overload

from ..errors import Diagnostic, TargetError
from .describe import Description
from .host import core_count, describe, vector_width
from .kinds import KINDS, spelling
from .tags import tags


class _Host:
    """`target.host` is the target of the host code, or None; `Target.host()` is this machine."""

    @overload
    def __get__(self, target: None, owner: type[Target]) -> Callable[[], Target]: ...
    @overload
    def __get__(self, target: Target, owner: type[Target]) -> Target | None: ...

    def __get__(self, target: Target | None, owner: type[Target]) -> Any:
        return _here if target is None else target._host


class Target:
    """A kind of target with its attributes, immutable and hashable by value.

    `target` is a kind, a tag, a command-line form (`"llvm -mcpu=znver4"`), a dict with "kind" (or "tag"),
    or its text. `Target.host()` is the processor this runs on: kind llvm with cpu, features, triple,
    cores, width of vectors and caches. Raises TargetError, in the text where there is one, with near
    names for unknown kinds, attributes and values.
    """

    __slots__ = ("_host", "_key", "attrs", "keys", "kind", "tag")

    _key: tuple[Any, ...]
    _host: Target | None
    kind: str
    tag: str
    keys: tuple[str, ...]
    attrs: Mapping[str, Any]
    host = _Host()

    def __init__(
        self, target: str | Target | Mapping[str, Any], host: str | Target | Mapping[str, Any] | None = None
    ) -> None:
        description = Description(target.export() if isinstance(target, Target) else target)
        inner = description.config.pop("host", None)
        outer = host if host is not None else inner
        values = description.values(Target)
        put = object.__setattr__
        put(self, "kind", description.kind)
        put(self, "tag", values.pop("tag", ""))
        put(self, "keys", values.pop("keys"))
        put(self, "attrs", values)
        put(self, "_host", None if outer is None else Target(outer))
        put(self, "_key", (self.kind, self.keys, tuple(sorted(values.items())), self._host))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("Target is immutable")

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Target) and self._key == other._key)

    def __hash__(self) -> int:
        return hash(self._key)

    def __str__(self) -> str:
        return json.dumps(self.export())

    def __repr__(self) -> str:
        return f"Target({self.export()!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Target, (self.export(),)

    def export(self) -> dict[str, Any]:
        """The target as a dict of JSON values, from which `Target` makes an equal one."""
        out: dict[str, Any] = {"kind": self.kind, "tag": self.tag, "keys": list(self.keys)}
        if self._host is not None:
            out["host"] = self._host.export()
        for name, value in self.attrs.items():
            out[name] = (
                [v.export() if isinstance(v, Target) else v for v in value]
                if isinstance(value, tuple)
                else value
            )
        return out

    def get(self, name: str, default: Any = None) -> Any:
        """The attribute of this name, `-` and `_` being the same, or the default."""
        found = spelling(name, self.attrs)
        return KINDS[self.kind].limits.get(name, default) if found is None else self.attrs[found]

    def with_host(self, host: str | Target | Mapping[str, Any]) -> Target:
        """The same target with another host."""
        return Target(self, host=host)

    @property
    def device_kind(self) -> str:
        """The kind of device the code runs on, as `runtime.Device` names it."""
        return KINDS[self.kind].device

    @property
    def mcpu(self) -> str:
        """The processor's name as LLVM knows it; empty where none is given."""
        return str(self.get("mcpu", ""))

    @property
    def features(self) -> tuple[str, ...]:
        """The processor's features as LLVM spells them (`+avx2`), as far as given."""
        return tuple(self.get("mattr", ()))

    @property
    def num_cores(self) -> int:
        """The cores given, or those of this machine."""
        return int(self.get("num-cores", 0)) or core_count()

    @property
    def vector_width(self) -> int:
        """The bits of the widest vectors: as given, or what the features given tell; at least 128."""
        on = [f[1:] for f in self.features if f.startswith("+")]
        return int(self.get("vector-width", 0)) or vector_width(on)

    @staticmethod
    def detect() -> Target:
        """The processor this runs on, as `Target.host()` gives it."""
        return _here()

    @staticmethod
    def current(allow_none: bool = True) -> Target | None:
        """The innermost target of a `with` block in this thread.

        Without one: None, or TargetError unless `allow_none`.
        """
        stack = getattr(_scope, "stack", None)
        if stack:
            found: Target = stack[-1]
            return found
        if allow_none:
            return None
        raise TargetError(
            Diagnostic("no-target", "no target is in scope", help=('use `with Target("llvm"):`',))
        )

    def __enter__(self) -> Target:
        _scope.__dict__.setdefault("stack", []).append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _scope.stack.pop()


_scope = threading.local()


@functools.cache
def _here() -> Target:
    return Target(describe())


def register_tag(name: str, config: Mapping[str, Any], override: bool = False) -> Target:
    """Give a description a name. Raises TargetError when it is taken or the description is wrong."""
    if (name in tags() or name in KINDS) and not override:
        raise TargetError(
            Diagnostic("duplicate-tag", f"the tag `{name}` is taken", help=("pass `override=True`",))
        )
    made = Target(config)
    tags()[name] = dict(config)
    return made


def list_tags() -> dict[str, Target]:
    """All tags with their targets."""
    return {name: Target(name) for name in tags()}


__all__ = ["Target", "list_tags", "register_tag"]
