"""The tree of loops: what it shows, and that the guide's pictures are what its steps print."""

from __future__ import annotations

import io
import linecache
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

import loopwright
from loopwright.testing.strategies.scheduled import TEMPLATES, program

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "schedule_matmul.md"


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_every_loop_and_block_has_a_line(name: str) -> None:
    sch = loopwright.Schedule(program(name, n=8, m=8, k=8))
    lines = sch.loop_tree().splitlines()
    loops = [n for n in loopwright.ir.walk(sch.mod) if isinstance(n, loopwright.ir.For)]
    blocks = [n for n in loopwright.ir.walk(sch.mod) if isinstance(n, loopwright.ir.SBlock)]
    assert len(lines) == 1 + len(loops) + len([b for b in blocks if b.name_hint != "root"])
    assert all(re.match(r"[│ ]*[├└]─ (block )?\w+", line) for line in lines[1:])


def test_thread_and_kinds_are_shown() -> None:
    sch = loopwright.Schedule(program("elementwise", n=64))
    [loop, *_] = sch.get_loops(sch.get_child_blocks(sch.get_sblock("root"))[0])
    sch.bind(loop, "threadIdx.x")
    assert "thread_binding threadIdx.x" in sch.loop_tree()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(**options: Any) -> str:
    sch = loopwright.Schedule(program("matmul", n=8, m=8, k=8))
    out = Terminal()
    with redirect_stdout(out):
        sch.show(**options)
    text = out.getvalue()
    assert str(sch.trace) in re.sub(r"\x1b\[[0-9;]*m", "", text)
    return text


def test_a_terminal_shows_colours_unless_it_asks_for_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" in shown()
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in shown()
    assert "\x1b[" in shown(style="dark")


def test_long_lines_are_wrapped_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    wide = shown().partition("apply_trace")[0]
    narrow = shown(black_format=True).partition("apply_trace")[0]
    assert max(map(len, wide.splitlines())) > 88 >= max(map(len, narrow.splitlines()))


def test_a_notebook_shows_the_module_and_the_trace() -> None:
    html = loopwright.Schedule(program("elementwise", n=64))._repr_html_()
    assert html.count("<pre") == 2 and "<span style=" in html and "apply_trace" in html


@pytest.mark.slow
def test_pictures_in_the_guide(capsys: pytest.CaptureFixture[str]) -> None:
    scope: dict[str, Any] = {"__name__": "guide"}
    shown = ""
    for k, (language, code) in enumerate(
        re.findall(r"^```(python|text)\n(.*?)^```$", GUIDE.read_text("utf8"), re.M | re.S)
    ):
        if language == "text":
            assert shown.endswith(code)
            continue
        file = f"<guide {k}>"
        linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
        exec(compile(code, file, "exec"), scope)
        shown = capsys.readouterr().out
