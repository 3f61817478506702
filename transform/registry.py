"""Passes by name: a pass is a function from IRModule to IRModule, valid in, valid out."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..errors import Diagnostic, PassError, suggest
from ..ir import IRModule, PrimFunc
from ..node import deep
from .context import PassContext

PassFunction = Callable[..., IRModule]


class Pass:
    """A named pass: call it on a module, with its options as keywords.

    Runs under the current `PassContext`: a pass that the context disables gives the module back,
    and the context's instruments see what goes in and comes out.
    """

    def __init__(self, name: str, function: PassFunction, options: dict[str, Any] | None = None) -> None:
        self.name = name
        self.function = function
        self.options = options or {}
        self.__doc__ = function.__doc__

    def __call__(self, mod: IRModule, **options: Any) -> IRModule:
        """The module after the pass.

        Raises PassError where the pass refuses the program, TypeError for what is no module.
        """
        if not isinstance(mod, IRModule):
            raise TypeError(f"pass {self.name} needs an IRModule, not a {type(mod).__name__}")
        context = PassContext.current()
        if not context.enabled(self, mod):
            return mod
        for one in context.instruments:
            one.run_before_pass(mod, self)
        with deep():
            result = self.function(mod, **{**self.options, **options})
        for one in context.instruments:
            one.run_after_pass(result, self)
        return result

    def with_options(self, **options: Any) -> Pass:
        """The same pass with these options set."""
        return Pass(self.name, self.function, {**self.options, **options})

    def __repr__(self) -> str:
        return f"<pass {self.name}>"


_PASSES: dict[str, Pass] = {}
_ALIASES: dict[str, str] = {}


def register_pass(name: str, *aliases: str) -> Callable[[PassFunction], Pass]:
    """Decorator that registers a function on modules as the pass of this name."""

    def enter(function: PassFunction) -> Pass:
        if name in _PASSES:
            raise PassError(Diagnostic("duplicate-pass", f"the pass `{name}` is registered already"))
        made = _PASSES[name] = Pass(name, function)
        for alias in aliases:
            _ALIASES[alias] = name
        return made

    return enter


def prim_func_pass(name: str, *aliases: str) -> Callable[[Callable[..., PrimFunc]], Pass]:
    """Decorator that registers a function on PrimFuncs as a pass over all of a module's."""

    def enter(change: Callable[..., PrimFunc]) -> Pass:
        def function(mod: IRModule, **options: Any) -> IRModule:
            return mod.map_prim_funcs(lambda func: change(func, **options))

        function.__doc__ = change.__doc__
        function.__wrapped__ = change  # type: ignore[attr-defined]
        return register_pass(name, *aliases)(function)

    return enter


def get_pass(name: str, **options: Any) -> Pass:
    """The pass of this name, with options set. Raises PassError with near names when there is none."""
    _load(name)
    found = _PASSES.get(_ALIASES.get(name, name))
    if found is None:
        from .s_tir import FOR_DEVICES

        if name.removeprefix("s_tir.") in FOR_DEVICES:
            text = f"the pass `{name}` is not there yet: it comes with the targets that need it"
            raise PassError(Diagnostic("unknown-pass", text))
        known = [*_PASSES, *_ALIASES]
        raise PassError(Diagnostic("unknown-pass", f"there is no pass `{name}`", help=suggest(name, known)))
    return found.with_options(**options) if options else found


def list_passes() -> tuple[str, ...]:
    """The names of all passes, sorted."""
    _load()
    return tuple(sorted(_PASSES))


def sequential(*passes: Pass | Callable[[IRModule], IRModule]) -> Callable[[IRModule], IRModule]:
    """One function that runs the passes in order."""

    def run(mod: IRModule) -> IRModule:
        for one in passes:
            mod = one(mod)
        return mod

    run.__doc__ = "Runs " + ", ".join(
        getattr(p, "name", getattr(p, "__name__", "a function")) for p in passes
    )
    return run


def example_of(one: Pass) -> tuple[str, str] | None:
    """The scripts under `before:` and `after:` in a pass's docstring, or None."""
    text = inspect.cleandoc(one.__doc__ or "")
    if "before:" not in text or "after:" not in text:
        return None
    before, after = text.split("before:", 1)[1].split("after:", 1)
    return inspect.cleandoc(before), inspect.cleandoc(after)


def options_of_example(one: Pass) -> str:
    """The options that the example in a pass's docstring is run with, as Python's keyword arguments."""
    text = inspect.cleandoc(one.__doc__ or "").partition("before:")[0]
    return text.partition("with: ")[2].partition("\n")[0]


def _load(name: str = "") -> None:
    """Load the passes that lowering needs; all of them unless they hold the one of this name."""
    from . import relax, s_tir, tirx  # the passes register themselves on import

    if name not in _PASSES and name not in _ALIASES:
        if name.startswith("relax.") or not name:
            relax.load_all()
        if not name.startswith("relax."):
            tirx.load_all()
            s_tir.load_all()
