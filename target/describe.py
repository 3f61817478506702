"""Descriptions of targets: read from text, tags looked up, attributes checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from ..errors import Diagnostic, Span, TargetError, suggest
from .kinds import CHOICES, KINDS, keys_of, spelling
from .tags import tags

_WORDS: Final = {"true": True, "1": True, "false": False, "0": False}
_SHAPES: Final = {tuple: "a list", bool: "true or false", int: "an integer", str: "a string"}


class Description:
    """A description on its way to a target, with the text that it came from."""

    def __init__(self, spec: Any) -> None:
        """Read `spec`: text, or a mapping. Raises TargetError for what describes no target."""
        self.text = ""
        self.places: dict[str, Span] = {}
        if isinstance(spec, str):
            self.text = spec.strip()
            spec = self._read()
        if not isinstance(spec, Mapping):
            raise self.fault("target", f"a {type(spec).__name__} is not a description of a target")
        self.config = dict(spec)
        self._look_up_tag()
        if not isinstance(self.config.get("kind"), str):
            raise self.fault("target", "a description of a target needs a `kind`")
        self.kind: str = self.config.pop("kind")
        if self.kind not in KINDS:
            message = f"`{self.kind}` is not a kind of target"
            raise self.fault("unknown-target", message, "kind", suggest(self.kind, [*KINDS, *tags()]))

    def fault(self, code: str, message: str, name: str = "", help: Iterable[str] = ()) -> TargetError:
        """An error about the part of the description that `name` gives."""
        span = self.places.get(name)
        return TargetError(
            Diagnostic(code, message, span, help=tuple(help), source=self.text if span is not None else None)
        )

    def _read(self) -> Any:
        if not self.text:
            raise TargetError(Diagnostic("target", "an empty string is not a target"))
        if self.text in KINDS or self.text in tags():
            return {"kind": self.text}
        from ..grammar import read_target_string

        return read_target_string(self.text, self.places)

    def _look_up_tag(self) -> None:
        """Let the description of a tag stand for what is not said otherwise."""
        config = self.config
        head = config.get("kind")
        if isinstance(head, str) and head not in KINDS and head in tags():
            config["tag"] = config.pop("kind")
        tag = config.get("tag")
        if not tag or "kind" in config:
            return
        if not isinstance(tag, str) or tag not in tags():
            help = suggest(tag, tags()) if isinstance(tag, str) else ()
            raise self.fault("unknown-target", f"there is no tag `{tag}`", "tag", help)
        self.config = {**tags()[tag], **config}

    def values(self, make: Callable[[Any], Any]) -> dict[str, Any]:
        """The attributes with their values, keys included; `make` builds targets that occur as values.

        Raises TargetError with near names for unknown attributes and for values of the wrong type.
        """
        kind = KINDS[self.kind]
        out = dict(kind.defaults)
        for name, value in self.config.items():
            if name.startswith("feature."):
                out[name] = value
                continue
            known = spelling(name, kind.attrs)
            if known is None:
                help = suggest(name, kind.attrs) or (f"it has: {', '.join(sorted(kind.attrs))}",)
                message = f"a target of kind `{self.kind}` has no attribute `{name}`"
                raise self.fault("unknown-attribute", message, name, help)
            if value is not None:
                out[known] = self._value(name, known, value, kind.attrs[known], make)
        out.setdefault("keys", keys_of(self.kind, out))
        if self.kind == "webgpu":
            self._subgroups(out)
        return out

    def _value(self, name: str, known: str, value: Any, wanted: type, make: Callable[[Any], Any]) -> Any:
        if wanted is tuple:
            parts = value.split(",") if isinstance(value, str) else value
            if isinstance(parts, list | tuple):
                is_target = known == "devices"
                return tuple([make(p) if is_target or isinstance(p, Mapping) else p for p in parts])
        elif wanted is bool:
            if isinstance(value, bool) or value in (0, 1):
                return bool(value)
            if isinstance(value, str) and value.lower() in _WORDS:
                return _WORDS[value.lower()]
        elif wanted is int:
            if isinstance(value, str) and value.lstrip("-").isdecimal():
                return int(value)
            if isinstance(value, int) and not isinstance(value, bool):
                return int(value)
        elif isinstance(value, str):
            allowed = CHOICES.get(known, (value,))
            if value not in allowed:
                message = f"the attribute `{known}` is {' or '.join(allowed)}, not `{value}`"
                raise self.fault("target-value", message, name, suggest(value, allowed))
            return value
        message = f"the attribute `{known}` takes {_SHAPES[wanted]}, not `{value!r}`"
        raise self.fault("target-value", message, name)

    def _subgroups(self, out: dict[str, Any]) -> None:
        """A warp of more than one thread is what subgroups are."""
        if "thread_warp_size" not in self.config and out["supports_subgroups"]:
            out["thread_warp_size"] = 32
        if out["thread_warp_size"] > 1 and not out["supports_subgroups"]:
            message = f"thread_warp_size={out['thread_warp_size']} requires supports_subgroups=true"
            raise self.fault("target-value", message, "thread_warp_size")


__all__ = ["Description"]
