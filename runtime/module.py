"""Built code: functions by name, the modules they need, and the texts they came from."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ArgumentValueError, Diagnostic, UnsupportedError, suggest
from .registry import UnknownFunctionError


@dataclass(frozen=True, slots=True)
class BenchmarkResult:
    """Seconds a call took: one figure for each repetition, and what they have in common."""

    results: tuple[float, ...]

    @property
    def mean(self) -> float:
        return statistics.fmean(self.results)

    @property
    def median(self) -> float:
        return statistics.median(self.results)

    @property
    def min(self) -> float:
        return min(self.results)

    @property
    def max(self) -> float:
        return max(self.results)

    @property
    def std(self) -> float:
        return statistics.pstdev(self.results)

    def __str__(self) -> str:
        names = ("mean", "median", "min", "max", "std")
        return ", ".join(f"{name} {_seconds(getattr(self, name))}" for name in names)


def _seconds(value: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= size:
            return f"{value / size:.4g} {unit}"
    return f"{value / 1e-9:.4g} ns"


class Module:
    """Functions by name, ready to be called.

    `kind` says what made them ("llvm", ...); `sources` maps a format ("llvm", "asm") to a
    function that gives the text; `imports` are modules whose functions these may call; `write` makes
    a file of it; `metadata` is what the file that it came from tells; `wait` lets what was started on a
    device end.
    """

    __slots__ = ("__weakref__", "_functions", "_imports", "_sources", "_wait", "_write", "kind", "metadata")

    def __init__(
        self,
        kind: str,
        functions: Mapping[str, Callable[..., Any]],
        *,
        sources: Mapping[str, Callable[[], str]] | None = None,
        imports: Sequence[Module] = (),
        write: Callable[..., Path] | None = None,
        metadata: Mapping[str, Any] | None = None,
        wait: Callable[[], None] | None = None,
    ) -> None:
        self.kind = kind
        self._functions = dict(functions)
        self._sources = dict(sources or {})
        self._imports = list(imports)
        self._write = write
        self._wait = wait or _nothing
        self.metadata = dict(metadata or {})

    def __repr__(self) -> str:
        return f"<Module {self.kind}: {', '.join(self._functions) or 'no functions'}>"

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """The function of this name, here or in an import. Raises UnknownFunctionError with near names."""
        found = self._functions.get(name)
        return found if found is not None else self.get_function(name, query_imports=True)

    def __contains__(self, name: str) -> bool:
        return self.implements_function(name, query_imports=True)

    def __call__(self, *args: Any) -> Any:
        """Call the only function, or the one called `main`."""
        return self[self.entry_name](*args)

    @property
    def entry_name(self) -> str:
        """The function that calling the module means. Raises UnknownFunctionError where it is not clear."""
        if len(self._functions) == 1:
            return next(iter(self._functions))
        if "main" in self._functions:
            return "main"
        raise UnknownFunctionError(
            Diagnostic(
                "unknown-function",
                "the module has no function `main`, so calling it says too little",
                help=(f"take one by name: {', '.join(self._functions)}",) if self._functions else (),
            )
        )

    @property
    def functions(self) -> Mapping[str, Callable[..., Any]]:
        """A copy of the module's own functions by name."""
        return dict(self._functions)

    def get_function(self, name: str, query_imports: bool = False) -> Callable[..., Any]:
        """The function of this name. Raises UnknownFunctionError with near names when there is none."""
        found = self._find(name, query_imports)
        if found is None:
            known = self._names(query_imports)
            notes = (f"it has: {', '.join(known[:8])}",) if known else ("it has no functions",)
            message = f"the module has no function `{name}`"
            raise UnknownFunctionError(
                Diagnostic("unknown-function", message, notes=notes, help=suggest(name, known))
            )
        return found

    def implements_function(self, name: str, query_imports: bool = False) -> bool:
        """Whether there is a function of this name."""
        return self._find(name, query_imports) is not None

    def _find(self, name: str, query_imports: bool) -> Callable[..., Any] | None:
        found = self._functions.get(name)
        if found is None and query_imports:
            for module in self._imports:
                found = module._find(name, True)
                if found is not None:
                    break
        return found

    def _names(self, query_imports: bool) -> list[str]:
        names = list(self._functions)
        if query_imports:
            for module in self._imports:
                names += module._names(True)
        return names

    @property
    def imports(self) -> tuple[Module, ...]:
        """The imported modules, in order."""
        return tuple(self._imports)

    def import_module(self, module: Module) -> None:
        """Let this module's users find the functions of `module`. Raises ArgumentValueError for a cycle."""
        if module is self or module._reaches(self):
            raise ArgumentValueError(Diagnostic("import-cycle", "the module would import itself"))
        self._imports.append(module)

    def clear_imports(self) -> None:
        """Forget all imports."""
        self._imports.clear()

    def _reaches(self, other: Module) -> bool:
        return any(m is other or m._reaches(other) for m in self._imports)

    @property
    def source_formats(self) -> tuple[str, ...]:
        """The formats that `source` knows."""
        return tuple(self._sources)

    def source(self, format: str = "") -> str:
        """The code as text, in the first format if none is named. Raises ArgumentValueError for others."""
        name = format or next(iter(self._sources), "")
        make = self._sources.get(name)
        if make is None:
            message = f"a module of kind `{self.kind}` has no source" + (
                f" in format `{name}`" if name else ""
            )
            known = ", ".join(f"`{k}`" for k in self._sources)
            help = (f"formats: {known}",) if known else ()
            raise ArgumentValueError(Diagnostic("unknown-format", message, help=help))
        return make()

    def inspect_source(self, format: str = "") -> str:
        """The same as `source`, by the name other compilers use."""
        return self.source(format)

    def explain(self) -> str:
        """Which default rule scheduled which block and why, with the steps: a start for a schedule by hand.

        Raises ArgumentValueError for a module that says nothing of it.
        """
        return self.source("schedule")

    def export(self, path: str | os.PathLike[str], *, linker: str | None = None) -> Path:
        """Write the module to a file of the kind that the suffix says; gives back its path.

        `.so` is a shared library, made with `linker`, the variable CC, or a compiler or linker that is
        found; `.o` an object file, `.s` assembly, `.ll` LLVM assembly, `.h` the C header, which also comes
        with the first two. `load_module` loads libraries and objects. Raises CodegenError for what cannot
        be written, UnsupportedError for a module that was not built here.
        """
        if self._write is None:
            message = f"a module of kind `{self.kind}` cannot be exported"
            raise UnsupportedError(Diagnostic("unsupported-export", message))
        return self._write(Path(path), linker=linker)

    def time(
        self,
        name: str,
        *args: Any,
        number: int = 10,
        repeat: int = 3,
        min_repeat_ms: float = 0,
    ) -> BenchmarkResult:
        """Time calls of a function: `repeat` figures, each the mean of `number` calls.

        One call before the clock starts warms caches; the clock stops when the device is done.  With
        `min_repeat_ms`, `number` grows until one repetition takes at least that long.
        """
        if number < 1 or repeat < 1:
            raise ArgumentValueError("`number` and `repeat` must be at least 1")
        function = self[name]
        _run(function, args, 1, self._wait)
        results = []
        for _ in range(repeat):
            seconds = _run(function, args, number, self._wait)
            while seconds * 1e3 < min_repeat_ms:
                number = max(
                    number + 1, int(number * min(10.0, 1.2 * min_repeat_ms / max(seconds * 1e3, 1e-6)))
                )
                seconds = _run(function, args, number, self._wait)
            results.append(seconds / number)
        return BenchmarkResult(tuple(results))

    def time_evaluator(
        self,
        func_name: str,
        dev: Any = None,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: float = 0,
    ) -> Callable[..., BenchmarkResult]:
        """A function that times calls with the arguments it gets (the peer's form of `time`)."""
        self.get_function(func_name, query_imports=True)

        def evaluate(*args: Any) -> BenchmarkResult:
            return self.time(func_name, *args, number=number, repeat=repeat, min_repeat_ms=min_repeat_ms)

        return evaluate


def _nothing() -> None:
    pass


def _run(function: Callable[..., Any], args: tuple[Any, ...], number: int, wait: Callable[[], None]) -> float:
    calls = range(number)
    start = time.perf_counter()
    for _ in calls:
        function(*args)
    wait()
    return time.perf_counter() - start
