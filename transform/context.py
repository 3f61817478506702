"""Settings and instruments that passes run under."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TextIO

from ..errors import Diagnostic, PassError, suggest
from ..ir import IRModule

if TYPE_CHECKING:
    from .registry import Pass

CONFIG: dict[str, tuple[type | tuple[type, ...], Any, str]] = {
    "tirx.disable_vectorize": (bool, False, "vectorized loops run serially"),
    "tirx.disable_assert": (bool, False, "assertions are dropped"),
    "tirx.UnrollLoop": (Mapping, {}, "auto_max_step, auto_max_extent, explicit_unroll, max_nodes"),
    "tirx.vectorize_max_lanes": (int, 64, "longer vectorized loops are split"),
    "tirx.noalias": (bool, True, "functions may assume that their buffers do not overlap after the check"),
}
"""Every setting: type, default, meaning."""


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
        return {key: text for key, (_, _, text) in CONFIG.items()}

    def get(self, key: str) -> Any:
        """The value of a setting, its default where it is not set."""
        if key not in CONFIG:
            raise _unknown_setting(key)
        return self.config.get(key, CONFIG[key][1])

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
    kind = CONFIG[key][0]
    if not isinstance(value, kind):
        wanted = getattr(kind, "__name__", str(kind))
        raise PassError(Diagnostic("setting-type", f"the setting `{key}` needs a {wanted}, not {value!r}"))


_DEFAULT = PassContext()


class PassTiming(Instrument):
    """Records how long each pass took; `render()` gives a table."""

    def __init__(self) -> None:
        self.times: list[tuple[str, float]] = []
        self._started: list[float] = []

    def run_before_pass(self, mod: IRModule, one: Pass) -> None:
        self._started.append(time.perf_counter())

    def run_after_pass(self, mod: IRModule, one: Pass) -> None:
        self.times.append((one.name, time.perf_counter() - self._started.pop()))

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
