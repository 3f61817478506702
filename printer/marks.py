"""What is added to a text for a reader: underlines, comments, line numbers, cut context."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .options import Options
from .paths import find, parse_path, path_text
from .shown import Shown


def decorate(text: Shown, options: Options) -> str:
    """The text with what the options ask for."""
    lines = str(text).split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    marked: set[int] = set()
    under: dict[int, list[tuple[int, int]]] = {}
    notes: dict[int, list[str]] = {}
    head: list[str] = []
    for path in options.path_to_underline:
        steps = parse_path(path)
        place, exact = find(text, steps)
        if options.extra_config.get("render_invisible_path_info", True):
            head += _path_lines(path_text(steps), exact)
        if place is not None:
            _underline(lines, starts, place, under)
    for node in options.obj_to_underline:
        for place in text.places(node):
            _underline(lines, starts, place, under)
    for path, note in _pairs(options.path_to_annotate):
        place, _ = find(text, parse_path(path))
        if place is not None:
            notes.setdefault(_line_of(starts, place[0]), []).append(str(note))
    for node, note in _pairs(options.obj_to_annotate):
        for place in text.places(node):
            notes.setdefault(_line_of(starts, place[0]), []).append(str(note))
    marked.update(under)
    shown = _assemble(lines, under, notes, _visible(lines, marked, options.num_context_lines), options)
    return "\n".join([*head, "", *shown] if head else shown)


def _path_lines(path: str, exact: bool) -> list[str]:
    lines = [f"Access path: {path}"]
    if not exact:
        lines.append("Note: The underlined object is the nearest visible parent of this path.")
    return lines


def _pairs(given: Any) -> Iterable[tuple[Any, Any]]:
    return given.items() if isinstance(given, Mapping) else given


def _line_of(starts: list[int], offset: int) -> int:
    low, high = 0, len(starts) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if starts[middle] <= offset:
            low = middle
        else:
            high = middle
    return low


def _underline(
    lines: list[str], starts: list[int], place: tuple[int, int], under: dict[int, list[tuple[int, int]]]
) -> None:
    """Note the columns to underline on each line that the range covers."""
    start, end = place
    for number in range(_line_of(starts, start), len(lines)):
        line, offset = lines[number], starts[number]
        if offset >= end:
            break
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        first = max(start - offset, len(line) - len(line.lstrip()))
        last = min(end - offset, len(line.rstrip()))
        if last > first:
            under.setdefault(number, []).append((first, last))


def _visible(lines: list[str], marked: set[int], context: int) -> list[bool]:
    """Which lines to keep: all, or those near an underlined one."""
    if context < 0 or not marked:
        return [True] * len(lines)
    keep = [False] * len(lines)
    for number in marked:
        for near in range(max(0, number - context), min(len(lines), number + context + 1)):
            keep[near] = True
    return keep


def _assemble(
    lines: list[str],
    under: dict[int, list[tuple[int, int]]],
    notes: dict[int, list[str]],
    visible: list[bool],
    options: Options,
) -> list[str]:
    digits = len(str(len(lines)))
    shown: list[str] = []

    def number(n: int | None) -> str:
        if not options.print_line_numbers:
            return ""
        return (" " * digits if n is None else str(n).rjust(digits)) + " "

    skipped = 0
    for i, line in enumerate(lines):
        if not visible[i]:
            skipped += 1
            continue
        if skipped:
            shown.append(f"(... {skipped} lines skipped ...)")
            skipped = 0
        indent = line[: len(line) - len(line.lstrip())]
        shown += [f"{number(None)}{indent}# {note}" for note in notes.get(i, ())]
        shown.append(number(i + 1) + line)
        if i in under:
            shown.append(number(None) + _carets(under[i]))
    if skipped:
        shown.append(f"(... {skipped} lines skipped ...)")
    return shown


def _carets(columns: list[tuple[int, int]]) -> str:
    row: list[str] = []
    for first, last in columns:
        row += " " * (last - len(row))
        row[first:last] = "^" * (last - first)
    return "".join(row)
