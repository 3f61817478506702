"""How the command line speaks: results on standard output, faults on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Final

from ..errors import Diagnostic, LoopwrightError

OK: Final = 0
FAULTS: Final = 1
USAGE: Final = 2


def complain(*diagnostics: Diagnostic) -> None:
    """Write diagnostics to standard error."""
    for diagnostic in diagnostics:
        print(diagnostic.render(), end="\n\n", file=sys.stderr)


def complain_of(error: LoopwrightError) -> None:
    """Write an error's diagnostics to standard error."""
    complain(*error.diagnostics)


def say(text: str) -> None:
    """Write a line of summary to standard error, so that it never mixes with results."""
    print(text, file=sys.stderr)


def count(number: int, thing: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {thing}" + ("" if number == 1 else "s")


def errors_in(diagnostics: Iterable[Diagnostic]) -> int:
    """How many of the diagnostics are errors."""
    return sum(d.severity == "error" for d in diagnostics)
