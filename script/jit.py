"""Templates: `@T.jit` functions, parsed once for each set of compile-time constants."""

from __future__ import annotations

from typing import Any

from ..errors import ArgumentValueError, Diagnostic, ScriptError
from ..grammar import tree as S
from ..ir import PrimFunc
from ..node import runs_deep
from .builder import Builder
from .expr import evaluate
from .faults import Fault, Poisoned
from .function import FunctionJob
from .names import Outer
from .values import ConstexprNote, Meta, OptionalNote, set_active_builder


class JitFunction:
    """A template; `specialize(**constants)` gives a PrimFunc."""

    def __init__(
        self,
        node: S.FunctionDef,
        outer: Outer,
        *,
        live: bool,
        options: dict[str, Any],
        source: str,
        finish: Any,
    ) -> None:
        self.node = node
        self.outer = outer
        self.live = live
        self.options = options
        self.source = source
        self.finish = finish
        self.cache: dict[Any, PrimFunc] = {}
        self.__name__ = node.name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Specialise with the defaults of all compile-time parameters, and run."""
        names = [p.name for p in self.node.params]
        kinds = self.kinds()
        constants = {k: v for k, v in kwargs.items() if kinds.get(k) == "constexpr"}
        rest = {k: v for k, v in kwargs.items() if k not in constants}
        plain = [n for n in names if kinds.get(n) != "constexpr"]
        absent = {
            n: None
            for i, n in enumerate(plain)
            if kinds.get(n) == "optional" and i >= len(args) and n not in rest
        }
        return self.specialize(**constants, **absent)(*args, **rest)

    def kinds(self) -> dict[str, str]:
        """ "constexpr" or "optional" for the parameters that are so annotated."""
        out = {}
        b = Builder(self.outer, [], live=self.live)
        before = set_active_builder(b)
        try:
            for param in self.node.params:
                note = param.annotation
                base = (
                    note.value
                    if isinstance(note, S.Subscript)
                    else note.func
                    if isinstance(note, S.CallExpr)
                    else note
                )
                if not isinstance(base, S.Attribute | S.Name):
                    continue
                try:
                    found = evaluate(b, base)
                except (Fault, Poisoned):
                    continue
                if isinstance(found, ConstexprNote):
                    out[param.name] = "constexpr"
                elif getattr(found, "script_name", "") == "T.Optional":
                    out[param.name] = "optional"
        finally:
            set_active_builder(before)
        return out

    @runs_deep
    def specialize(self, **constants: Any) -> PrimFunc:
        """The function for these constants; the same object for the same constants.

        An optional parameter given as None is dropped. Raises ArgumentValueError for missing,
        unknown or unhashable constants, ScriptError for faults of the program.
        """
        kinds = self.kinds()
        values = self._values(kinds, constants)
        try:
            key = tuple(
                sorted([(k, type(v).__name__, v) for k, v in values.items()], key=lambda item: item[0])
            )
            found = self.cache.get(key)
        except TypeError as err:
            raise ArgumentValueError(
                Diagnostic("constexpr", f"the constants of `{self.node.name}` must be hashable")
            ) from err
        if found is None:
            found = self.cache[key] = self._parse(values)
        return found

    def _values(self, kinds: dict[str, str], constants: dict[str, Any]) -> dict[str, Any]:
        values = dict(constants)
        for name, value in constants.items():
            kind = kinds.get(name)
            if kind is None or kind == "optional" and value is not None:
                raise ArgumentValueError(
                    Diagnostic("constexpr", f"`{name}` is no compile-time parameter of `{self.node.name}`")
                )
        b = Builder(self.outer, [], live=self.live)
        for param in self.node.params:
            if kinds.get(param.name) == "constexpr" and param.name not in values:
                if param.default is None:
                    raise ArgumentValueError(
                        Diagnostic("constexpr", f"the compile-time parameter `{param.name}` has no value")
                    )
                values[param.name] = evaluate(b, param.default)
        return values

    def _parse(self, values: dict[str, Any]) -> PrimFunc:
        diagnostics: list[Diagnostic] = []
        job = FunctionJob(
            self.node,
            self.outer,
            diagnostics,
            live=self.live,
            options=self.options,
            source=self.source,
            constants=values,
        )
        for name, value in values.items():
            job.builder.names[name] = Meta(value)
        made = job.complete()
        if made is None:
            raise ScriptError(*[d for d in diagnostics if d.severity == "error"])
        checked: PrimFunc = self.finish(made, diagnostics)
        return checked


__all__ = ["JitFunction", "OptionalNote"]
