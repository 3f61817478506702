"""What compiling a program consists of and how long each part takes: reading, loops, passes, code."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from ..ir import BaseFunc, IRModule
from ..node import runs_deep
from ..target import Target
from ..transform import Pass, PassContext, PassTiming, Pipeline, lower
from .build import as_module

PHASES = ("parse", "schedule", "lower", "emit", "llvm")


@dataclass(frozen=True, slots=True)
class Span:
    """A phase, or a pass within the phase `lower`: seconds since the beginning, and how long it took.

    `depth` is 0 for phases; `program` is the text that came out where it differs from what went in.
    """

    name: str
    start: float
    seconds: float
    depth: int = 0
    program: str | None = None


@dataclass(frozen=True, slots=True)
class Timeline:
    """The spans of compiling one program, in the order of their beginnings."""

    title: str
    spans: tuple[Span, ...]

    @property
    def seconds(self) -> float:
        """How long all phases took."""
        return sum(s.seconds for s in self.spans if s.depth == 0)

    def render(self) -> str:
        """A table: milliseconds, share of the whole, a bar, and the name."""
        return "\n".join(
            [self.title, *map(self._row, self.spans), f"{self.seconds * 1e3:9.3f} ms         total"]
        )

    def _row(self, span: Span) -> str:
        share = span.seconds / self.seconds
        bar = "#" * round(share * 30)
        return f"{span.seconds * 1e3:9.3f} ms {share:6.1%}  {'  ' * span.depth}{span.name:44} {bar}".rstrip()

    def html(self) -> str:
        """A page that needs nothing else: bars, and the program after each pass that changed it."""
        from .timeline_page import page

        return page([self])


class _Clock:
    """Seconds since it was made, and the spans that were measured."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self._zero = time.perf_counter()

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.add(name, start, time.perf_counter() - start)

    def result(self, program: str) -> None:
        """What the last phase gave."""
        self.spans[-1] = replace(self.spans[-1], program=program)

    def add(
        self, name: str, start: float, seconds: float, depth: int = 0, program: str | None = None
    ) -> None:
        self.spans.append(Span(name, start - self._zero, seconds, depth, program))


class _Watch(PassTiming):
    """Keeps what passes give, beside the times."""

    def __init__(self) -> None:
        super().__init__()
        self.results: list[IRModule] = []

    def run_after_pass(self, mod: IRModule, one: Pass) -> None:
        super().run_after_pass(mod, one)
        self.results.append(mod)


@runs_deep
def timeline(
    mod: IRModule | BaseFunc,
    target: Target | str = "llvm",
    *,
    title: str = "",
    schedule: str | None = "default",
    pipeline: Pipeline | None = None,
) -> Timeline:
    """Compile a program for a target, past all caches, and measure the phases and passes.

    The phase `parse` reads the program's printed text; `schedule` chooses loops where nobody did, as
    `build` does; `lower` runs the passes of the pipeline; `emit` writes LLVM assembly; `llvm` makes machine
    code of it.  What is loaded on first use is loaded before.  Raises what `build` raises.
    """
    from ..schedule.dlight import default_schedule
    from ..script import parse
    from .llvm import jit
    from .llvm.emit import emit_module
    from .llvm.machine import machine_for

    module, target = as_module(mod), Target(target)
    machine = machine_for(target, jit.host(), jit.host_features(), jit.known_names)
    text = module.script(show_meta=True)
    watch, clock = _Watch(), _Clock()
    with clock.phase("parse"):
        parse(text, check_well_formed=False)
    if schedule is not None:
        with clock.phase("schedule"):
            scheduled = default_schedule(module, target)
        if scheduled is not module:
            clock.result(scheduled.script(show_meta=True))
        module = scheduled
    with clock.phase("lower"), _watched(watch):
        module = lower(module, target, pipeline)
    for event, result in zip(watch.events, watch.results, strict=True):
        program = result.script(show_meta=True) if event.changed else None
        clock.add(event.name, event.start, event.seconds, event.depth + 1, program)
    with clock.phase("emit"):
        emitted = emit_module(module, machine)
    clock.result(emitted.text)
    with clock.phase("llvm"):
        jit.compile_object(emitted.text, machine)
    spans = sorted(clock.spans, key=lambda s: (s.start, s.depth))
    return Timeline(title or next(iter(module)).name, tuple(spans))


def _watched(watch: PassTiming) -> Any:
    """The present settings, with one more instrument."""
    now = PassContext.current()
    return PassContext(now.config, (*now.instruments, watch), tuple(now.disabled))
