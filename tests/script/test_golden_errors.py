"""Each file in golden/errors is a text; `# error: code` marks the lines where faults are found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from loopwright.errors import ScriptError
from loopwright.script import check, parse

FOLDER = Path(__file__).parents[1] / "golden" / "errors"
FILES = sorted(FOLDER.glob("*.py"))
_MARK = re.compile(r"#\s*error:\s*([\w-]+(?:\s*,\s*[\w-]+)*)")


def expected(text: str) -> set[tuple[int, str]]:
    found = set()
    for number, line in enumerate(text.splitlines(), 1):
        mark = _MARK.search(line)
        if mark:
            found |= {(number, code.strip()) for code in mark[1].split(",")}
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_faults_are_found_where_they_are(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    with pytest.raises(ScriptError) as caught:
        parse(text, filename=path.name)
    found = {(d.span.line, d.code) for d in caught.value.diagnostics if d.span is not None}
    assert found == expected(text), str(caught.value)
    for diagnostic in caught.value.diagnostics:
        assert diagnostic.span is not None and diagnostic.span.file == path.name
        assert len(diagnostic.render().splitlines()) <= 12


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_check_finds_the_same(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    errors = {(d.span.line, d.code) for d in check(text) if d.severity == "error" and d.span is not None}
    assert errors == expected(text)


def test_there_are_golden_files() -> None:
    assert len(FILES) >= 20
