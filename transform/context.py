"""Settings and instruments that passes run under."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TextIO

from ..errors import Diagnostic, PassError, suggest
from ..ir import IRModule
from .settings import CONFIG, check_value

if TYPE_CHECKING:
    from .registry import Pass


class Instrument:
    """Looks at each pass as it runs; override what is of interest."""

    def should_run(self, mod: IRModule, one: Pass) -> bool:
        """Whether the pass may run; all instruments must agree."""
        return True

    def run_before_pass(self, mod: IRModule, one: Pass) -> None:
        """Called with the module that goes in."""

    def run_after_pass(self, mod: IRModule, one: Pass) -> None:
        """Called with the module that came out."""


class PassContext:
    """Settings and instruments for the passes within `with PassContext(...)`.

    Raises PassError for a setting that does not exist or has the wrong type of value.
    """

    _stack: ClassVar[threading.local] = threading.local()

    def __init__(
        self,
        config: Mapping[str, Any] | None = None,
        instruments: Sequence[Instrument] = (),
        disabled_pass: Sequence[str] = (),
    ) -> None:
        self.config = dict(config or {})
        for key, value in self.config.items():
            _check_setting(key, value)
        self.instruments = tuple(instruments)
        self.disabled = frozenset(disabled_pass)

    def __enter__(self) -> PassContext:
        stack = _stack()
        stack.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _stack().pop()

    @staticmethod
    def current() -> PassContext:
        """The innermost context of this thread, or one with defaults."""
        stack = _stack()
        return stack[-1] if stack else _DEFAULT

    @staticmethod
    def list_configs() -> dict[str, str]:
        """Every setting with its meaning."""
        return {key: setting.meaning for key, setting in CONFIG.items()}

    def get(self, key: str) -> Any:
        """The value of a setting, its default where it is not set."""
        if key not in CONFIG:
            raise _unknown_setting(key)
        return self.config.get(key, CONFIG[key].default)

    def option(self, key: str, name: str) -> Any:
        """The value of one option of a setting that has several, its default where it is not set."""
        given = self.get(key)
        return given.get(name, CONFIG[key].options[name])

    def enabled(self, one: Pass, mod: IRModule) -> bool:
        """Whether the pass runs here."""
        if one.name in self.disabled:
            return False
        for instrument in self.instruments:
            if not instrument.should_run(mod, one):
                return False
        return True


def _stack() -> list[PassContext]:
    local = PassContext._stack
    if not hasattr(local, "contexts"):
        local.contexts = []
    found: list[PassContext] = local.contexts
    return found


def _unknown_setting(key: str) -> PassError:
    near = suggest(key, CONFIG)
    return PassError(
        Diagnostic(
            "unknown-setting",
            f"there is no pass setting `{key}`",
            notes=("settings: " + ", ".join(CONFIG),),
            help=near,
        )
    )


def _check_setting(key: str, value: Any) -> None:
    if key not in CONFIG:
        raise _unknown_setting(key)
    check_value(key, value)


_DEFAULT = PassContext()


@dataclass(frozen=True, slots=True)
class PassEvent:
    """One run of a pass: when it began on the clock `time.perf_counter` and how many seconds it took.

    `depth` counts the passes that it ran within; `changed` tells whether it gave another module.
    """

    name: str
    start: float
    seconds: float
    depth: int
    changed: bool


class PassTiming(Instrument):
    """Records each run of a pass, in the order of their ends; `render()` gives a table."""

    def __init__(self) -> None:
        self.events: list[PassEvent] = []
        self._running: list[tuple[IRModule, float]] = []

    def run_before_pass(self, mod: IRModule, one: Pass) -> None:
        self._running.append((mod, time.perf_counter()))

    def run_after_pass(self, mod: IRModule, one: Pass) -> None:
        end = time.perf_counter()
        before, start = self._running.pop()
        self.events.append(PassEvent(one.name, start, end - start, len(self._running), mod is not before))

    @property
    def times(self) -> list[tuple[str, float]]:
        """Name and seconds of each run."""
        return [(e.name, e.seconds) for e in self.events]

    def render(self) -> str:
        """One line a pass: milliseconds and name."""
        return "\n".join(f"{seconds * 1e3:9.3f} ms  {name}" for name, seconds in self.times)


class PrintAfter(Instrument):
    """Prints the module after each pass, or after those named."""

    def __init__(self, *names: str, file: TextIO | None = None) -> None:
        self.names = frozenset(names)
        self.file = file

    def run_after_pass(self, mod: IRModule, one: Pass) -> None:
        if not self.names or one.name in self.names:
            print(f"# after {one.name}\n{mod.script()}", file=self.file or sys.stdout)


class CheckWellFormed(Instrument):
    """Raises PassError when a pass gives a module that is not well formed."""

    def run_after_pass(self, mod: IRModule, one: Pass) -> None:
        from ..ir import check_well_formed

        faults = check_well_formed(mod)
        if faults:
            head = Diagnostic("ill-formed-result", f"pass {one.name} gave a module that is not well formed")
            raise PassError(head, *faults)


class CheckRoundTrip(Instrument):
    """Raises PassError when what a pass gives does not print and parse back to an equal module."""

    def run_after_pass(self, mod: IRModule, one: Pass) -> None:
        from ..ir import explain_difference
        from ..script import parse

        again = parse(mod.script(show_meta=True), check_well_formed=False)
        difference = explain_difference(mod, again)
        if difference is not None:
            raise PassError(
                Diagnostic("round-trip", f"the result of pass {one.name} changes when printed and parsed"),
                Diagnostic("round-trip", difference),
            )
