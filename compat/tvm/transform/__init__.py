"""`tvm.transform` and `tvm.ir.transform`: pass contexts and sequences."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from ....errors import PassError
from ....ir import IRModule
from ....transform import Pass, sequential
from ....transform import PassContext as _PassContext
from ...adapters import lacking


class SettingError(PassError, AttributeError):
    """There is no such setting; the peer's programs expect an AttributeError."""


class PassContext(_PassContext):
    """Settings and instruments, with the peer's arguments."""

    def __init__(
        self,
        opt_level: int = 2,
        required_pass: Sequence[str] | None = None,
        disabled_pass: Collection[str] | None = None,
        instruments: Sequence[Any] | None = None,
        config: Any = None,
        trace_stack: Any = None,
        make_traceable: Any = None,
        num_evals: int = 0,
        tuning_api_database: Any = None,
    ) -> None:
        try:
            super().__init__(config, instruments or (), tuple(disabled_pass or ()))
        except PassError as err:
            raise SettingError(*err.diagnostics) from err
        self.opt_level = opt_level
        self.required_pass = tuple(required_pass or ())

    @property
    def disabled_pass(self) -> tuple[str, ...]:
        """Passes that do not run."""
        return tuple(sorted(self.disabled))

    @staticmethod
    def current() -> Any:
        """The innermost context, or one with defaults."""
        found = _PassContext.current()
        if isinstance(found, PassContext):
            return found
        return PassContext(instruments=found.instruments, config=found.config, disabled_pass=found.disabled)


def Sequential(
    passes: Sequence[Any], opt_level: int = 0, name: str = "sequential", **options: Any
) -> Callable[[IRModule], IRModule]:
    """One pass that runs the passes in order."""
    return sequential(*passes)


def module_pass(pass_func: Any = None, opt_level: int | None = None, **options: Any) -> Any:
    """Decorator: a function of module and context becomes a pass."""

    def enter(function: Callable[..., IRModule]) -> Callable[[IRModule], IRModule]:
        return lambda mod: function(mod, _PassContext.current())

    return enter if pass_func is None else enter(pass_func)


__getattr__ = lacking("tvm.transform")

__all__ = ["Pass", "PassContext", "Sequential", "module_pass"]
