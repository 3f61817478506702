"""The decorators as values: what `@T.prim_func(private=True)` means to a reader, and to Python itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import Diagnostic, Span, UnsupportedError


class Decorator:
    """A decorator of the language with its options."""

    __slots__ = ("apply", "kind", "names", "options", "script_name", "unsupported")

    def __init__(
        self,
        script_name: str,
        kind: str,
        names: tuple[str, ...],
        apply: Callable[[Any, dict[str, Any], int], Any],
        options: dict[str, Any] | None = None,
        unsupported: Diagnostic | None = None,
    ) -> None:
        self.script_name = script_name
        self.kind = kind
        self.names = names
        self.apply = apply
        self.options = options or {}
        self.unsupported = unsupported

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Decorate a function or class, or take options and decorate later.

        Raises TypeError for unknown options and for what is no function or class.
        """
        if self.unsupported is not None:
            raise UnsupportedError(self.unsupported)
        if len(args) > 1 and not options:
            options = dict(zip(self.names, args[1:]))
            args = args[:1]
        if args and args[0] is None:
            args = ()
        with_options = self._with(options)
        if not args:
            return with_options
        return self.apply(args[0], with_options.options, 2)

    def _with(self, options: dict[str, Any]) -> Decorator:
        for name in options:
            if name not in self.names:
                raise TypeError(f"{self.script_name} has no option {name!r}; it has {', '.join(self.names)}")
        if not options:
            return self
        return Decorator(
            self.script_name, self.kind, self.names, self.apply, {**self.options, **options}, self.unsupported
        )

    def expand_in(self, b: Any, args: list[Any], kwargs: dict[str, Any], span: Span | None) -> Decorator:
        """`T.prim_func(private=True)` in a text: the same decorator with options."""
        return self._with({**dict(zip(self.names, [a for a in args if a is not None])), **kwargs})

    def __repr__(self) -> str:
        return f"<decorator {self.script_name}>"
