"""`format`: lay out the decorated objects of files, and nothing else in them."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Sequence

from ..errors import Diagnostic
from ..grammar import read
from ..printer import layout
from .report import FAULTS, OK, complain, count, errors_in, say
from .sources import (
    STDIN,
    Segment,
    Source,
    cut,
    find_segments,
    moved,
    parse_python,
    paste,
    python_files,
    read_source,
    write_source,
)


def format_source(source: Source, width: int = 100) -> tuple[str, list[Diagnostic]]:
    """The text of a file with its decorated objects laid out anew, and the faults met.

    An object with a fault stays as it is. Formatting the result again changes nothing.
    """
    faults: list[Diagnostic] = []
    text = source.text
    for segment in reversed(find_segments(source, parse_python(source))):
        now = Source(source.path, text, source.encoding, source.newline)
        new, found = _format_segment(now, segment, width)
        faults = found + faults
        if new is not None:
            text = paste(now, segment, new)
    return text, faults


def _format_segment(source: Source, segment: Segment, width: int) -> tuple[str | None, list[Diagnostic]]:
    old = cut(source, segment)
    reading = read(old, filename=source.path)
    faults = [moved(d, source, segment) for d in reading.diagnostics]
    if errors_in(faults):
        return None, faults
    return str(layout(reading.tree, width=max(width - len(segment.indent), 40))), faults


def run_format(paths: Sequence[str], *, check: bool = False, diff: bool = False, width: int = 100) -> int:
    """Format files in place; with `check` or `diff` only say what would change.

    Standard input (`-`) goes to standard output. The exit code is 1 where a file has faults, or with
    `check` or `diff` where one would change.
    """
    changed = faulty = total = 0
    for path in python_files(paths):
        total += 1
        source = read_source(path)
        text, faults = format_source(source, width)
        complain(*faults)
        faulty += errors_in(faults) > 0
        differs = text != source.text
        changed += differs
        if diff and differs:
            sys.stdout.writelines(_diff(source, text))
        if check or diff:
            if differs and not diff:
                print(f"would change {source.path}")
        elif path == STDIN:
            sys.stdout.buffer.write(source.encode(text))
            sys.stdout.flush()
        elif differs:
            write_source(path, source, text)
            print(f"changed {path}")
    if paths != [STDIN]:
        word = "would change" if check or diff else "changed"
        say(f"{count(total, 'file')}, {changed} {word}" + (f", {faulty} with faults" if faulty else ""))
    return FAULTS if faulty or ((check or diff) and changed) else OK


def _diff(source: Source, text: str) -> list[str]:
    old, new = source.lines, Source(source.path, text).lines
    rows = difflib.unified_diff(old, new, source.path, source.path)
    return [row if row.endswith("\n") else f"{row}\n\\ No newline at end of file\n" for row in rows]
