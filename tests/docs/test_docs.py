"""Every code block of the documentation runs, every example runs, every error code has its page.

Fenced blocks are tested by their language:

- `python`: the blocks of a page run one after another in one module;
- `script`: the text parses and prints back to itself as a program;
- `script error`: the text fails to parse with the page's own code (its file name);
- `python error`: running it raises a LoopwrightError with the page's own code.
"""

from __future__ import annotations

import linecache
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

import loopwright
from loopwright.testing.roundtrip import assert_roundtrip

DOCS = Path(__file__).parents[2] / "docs"
ROOT = DOCS.parent
PAGES = sorted(p for p in DOCS.rglob("*.md") if "_build" not in p.parts)
BLOCK = re.compile(r"^```(python|script)( error)?\n(.*?)^```$", re.M | re.S)
ROOMS = (
    "grammar",
    "ir",
    "printer",
    "script",
    "transform",
    "codegen",
    "runtime",
    "schedule",
    "te",
    "testing",
    "command",
)


def run_block(code: str, file: str, scope: dict[str, Any]) -> None:
    """Run a block such that decorators find its source."""
    linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
    exec(compile(code, file, "exec"), scope)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(DOCS)))
def test_page(page: Path) -> None:
    scope: dict[str, Any] = {"__name__": f"page_{page.stem.replace('-', '_')}"}
    for k, (language, error, code) in enumerate(BLOCK.findall(page.read_text(encoding="utf8"))):
        file = f"<{page.name} block {k}>"
        if language == "script" and not error:
            assert_roundtrip(loopwright.parse(code))
            continue
        if not error:
            run_block(code, file, scope)
            continue
        with pytest.raises(loopwright.LoopwrightError) as caught:
            if language == "script":
                loopwright.parse(code)
            else:
                run_block(code, file, dict(scope))
        assert page.stem in [d.code for d in caught.value.diagnostics], str(caught.value)


@pytest.mark.parametrize("example", sorted((DOCS / "examples").glob("*.py")), ids=lambda p: p.stem)
def test_example(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out


def codes_in_use() -> set[str]:
    """The codes that the sources give to diagnostics."""
    found: set[str] = set()
    files = [*ROOT.glob("*.py"), *(p for room in ROOMS for p in (ROOT / room).rglob("*.py"))]
    for path in files:
        text = path.read_text(encoding="utf8")
        found |= set(re.findall(r"\bDiagnostic\(\s*\"([a-z0-9-]+)\"", text))
        found |= set(re.findall(r"\bdefault_code\s*=\s*\"([a-z0-9-]+)\"", text))
        found |= set(re.findall(r"\bcode=\"([a-z0-9-]+)\"", text))
    return found


def test_every_code_has_a_page() -> None:
    pages = {p.stem for p in (DOCS / "errors").glob("*.md")} - {"index"}
    assert codes_in_use() - pages == set(), "codes without a page in docs/errors"
