"""Timelines as one HTML page that loads nothing: bars drawn by CSS, programs to unfold."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .timeline import Span, Timeline

_STYLE: Final = """
:root { color-scheme: light dark; --bar: #3b7dd8; --part: #e08a2c; --line: #8885; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: .1rem .5rem; text-align: left; border-bottom: 1px solid var(--line); vertical-align: top; }
td.time { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.name { white-space: nowrap; }
td.name.part { padding-left: 1.6rem; }
td.track { width: 55%; }
.track div { position: relative; height: 1.1rem; }
.track i { position: absolute; top: .15rem; bottom: .15rem; min-width: 2px; background: var(--bar); }
.track i.part { background: var(--part); }
pre { overflow-x: auto; padding: .5rem; border: 1px solid var(--line); font-size: 12px; line-height: 1.4; }
summary { cursor: pointer; }
"""

_HEAD: Final = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Timeline of passes</title>
<style>{style}</style>
</head>
<body>
<h1>Timeline of passes</h1>
<p>Blue bars are phases, orange ones the passes within <code>lower</code>. Unfold a name to see the program
that came out; passes without one changed nothing.</p>
"""


def page(timelines: Sequence[Timeline]) -> str:
    """The page with a section for each timeline."""
    sections = [_section(t) for t in timelines]
    return "".join([_HEAD.format(style=_STYLE), *sections, "</body>\n</html>\n"])


def _section(t: Timeline) -> str:
    end = max(s.start + s.seconds for s in t.spans)
    rows = "".join([_row(s, t.seconds, end) for s in t.spans])
    return (
        f"<h2>{html.escape(t.title)}</h2>\n<p>{t.seconds * 1e3:.1f} ms in all</p>\n<table>\n"
        "<thead><tr><th>Phase or pass</th><th>ms</th><th>Share</th><th>When</th></tr></thead>\n"
        f"<tbody>\n{rows}</tbody>\n</table>\n"
    )


def _row(s: Span, total: float, end: float) -> str:
    part = " part" if s.depth else ""
    name = f"<code>{html.escape(s.name)}</code>"
    if s.program is not None:
        name = f"<details><summary>{name}</summary><pre>{html.escape(s.program)}</pre></details>"
    times = f"{s.seconds * 1e3:.3f}"
    place = f"left:{s.start / end:.3%};width:{s.seconds / end:.3%}"
    return (
        f'<tr><td class="name{part}">{name}</td><td class="time">{times}</td>'
        f'<td class="time">{s.seconds / total:.1%}</td>'
        f'<td class="track"><div title="{html.escape(s.name)}: {times} ms">'
        f'<i class="bar{part}" style="{place}"></i></div></td></tr>\n'
    )
