"""Lowering when it is needed, under the settings of the build."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from ..ir import IRModule, PrimFunc
from ..target import Target

_PASSES = f"{__package__.rpartition('.')[0]}.transform"


class Lowering:
    """Gives the lowered module when it is called: code from the cache does not need it.

    The passes run under the context that was in force when this was made, with the settings of the
    one around the call added.
    """

    def __init__(
        self,
        module: IRModule,
        target: Target,
        checked: bool,
        schedule: str | None,
        pipeline: Sequence[Callable[[IRModule], IRModule]] | None = None,
    ) -> None:
        self.module, self.target, self.checked = module, target, checked
        self.pipeline = None if pipeline is None else tuple(pipeline)
        self.schedule = None if checked else schedule
        passes = sys.modules.get(_PASSES)
        self.context: Any = None if passes is None else passes.PassContext.current()
        if self.context is not None and self.context.instruments:
            self()  # instruments look at the passes

    @property
    def key(self) -> str | None:
        """What the settings, the passes and the loops that are chosen add to the identity of the code.

        None where no text says what a pass of the pipeline does, since it is not one of ours.
        """
        if self.pipeline is not None and not all(_known(one) for one in self.pipeline):
            return None
        functions = self.module.functions
        kept = [g.name for g, f in functions.items() if isinstance(f, PrimFunc) and f.scheduled]
        parts: list[Any] = [self.schedule, kept]
        if self.context is not None:
            parts += [*sorted(self.context.config.items()), *sorted(self.context.disabled)]
        if self.pipeline is not None:
            parts.append([(one.name, sorted(one.options.items())) for one in self.pipeline])  # type: ignore[attr-defined]
        return str(parts)

    def explain(self) -> str:
        """Which default rule scheduled which block and why, with its steps."""
        from ..schedule.dlight import explain

        return "no default rule was asked" if self.schedule is None else explain(self.module, self.target)

    def __call__(self) -> IRModule:
        """The lowered module. Raises PassError where the program cannot be brought into that form."""
        from ..transform import PassContext

        context = self.context or PassContext.current()
        settings = {**context.config, **PassContext.current().config}
        with PassContext(settings, context.instruments, tuple(context.disabled)):
            if self.schedule is not None:
                from ..schedule.dlight import default_schedule

                return self.lowered(default_schedule(self.module, self.target))
            if not self.checked:
                return self.lowered(self.module)
            from .guards import lower_checked

            return lower_checked(self.module, self.pipeline)

    def lowered(self, module: IRModule) -> IRModule:
        """The scheduled module, lowered."""
        from ..transform import lower

        return lower(module, self.target, self.pipeline)


def _known(one: Any) -> bool:
    """Whether a pass is one of ours with options that a text tells apart; our sources are in every key."""
    function = getattr(one, "function", None)
    home = getattr(getattr(function, "__wrapped__", function), "__module__", "")
    plain = all(isinstance(v, bool | int | float | str | None) for v in getattr(one, "options", {}).values())
    return home.startswith(f"{_PASSES}.") and plain
