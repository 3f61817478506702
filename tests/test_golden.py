"""The driver of the golden files, `tests/golden/**/*.py`: adding a case is adding a file.

A golden file is script text as the printer writes it, with marker comments:

* without markers: reading and printing the file gives the file back.  Any spelling of the program
  may be written at first; `--update-golden` turns it into the printed one.
* `# option: width=60`, anywhere: an option of `script` for the printed text (a Python literal).
* `# pass: tirx.UnrollLoop` (several names separated by commas) at the top: the passes run on the program
  up to the line `# --- after`, and what follows that line is the printed result.
* `# error: undefined-name` at the end of a line: reading the file must fail, with exactly the codes and
  lines that these comments say.  Such a file is not printed.

    pytest tests/test_golden.py --update-golden        writes the results into the files
    pytest tests/test_golden.py -k print               only those of one folder
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from loopwright.errors import LoopwrightError
from loopwright.printer import script

parse = pytest.importorskip("loopwright.script", reason="needs the script room").parse

GOLDEN = Path(__file__).parent / "golden"
AFTER = "# --- after"
FILES = sorted(GOLDEN.rglob("*.py"))
MARK = re.compile(r"^# (option|pass): (.*)\n", re.MULTILINE)
ERROR = re.compile(r"# error: ([\w-]+)\s*$")


def split(text):
    """The marker lines, the program, and what stands behind `# --- after` (None without it)."""
    program, separator, expected = text.partition(AFTER + "\n")
    marks = MARK.findall(program)
    head = "".join([f"# {kind}: {value}\n" for kind, value in marks])
    return head, marks, MARK.sub("", program).strip("\n") + "\n", expected if separator else None


def options(marks):
    """The printer options that the markers say."""
    found = {}
    for kind, text in marks:
        if kind == "option":
            name, _, value = text.partition("=")
            found[name.strip()] = ast.literal_eval(value.strip())
    return found


def passes(marks):
    """The passes that the markers name, in order."""
    from loopwright.transform import get_pass

    return [get_pass(name.strip()) for kind, text in marks if kind == "pass" for name in text.split(",")]


def printed(node, marks):
    return script(node, show_meta=True, **options(marks)) + "\n"


def faults(text):
    """Pairs of line and code that reading the text reports."""
    try:
        parse(text)
    except LoopwrightError as err:
        return sorted((d.span.line if d.span else 0, d.code) for d in err.diagnostics)
    return []


def update(path, text):
    if path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("path", FILES, ids=[p.relative_to(GOLDEN).as_posix() for p in FILES])
def test_golden(path, request):
    text = path.read_text(encoding="utf-8")
    wanted = [(n, m[1]) for n, line in enumerate(text.splitlines(), 1) if (m := ERROR.search(line))]
    if wanted:
        assert faults(text) == wanted
        return
    head, marks, program, expected = split(text)
    node = parse(program)
    before = printed(node, marks)
    if expected is None:
        if request.config.getoption("--update-golden"):
            update(path, head + before)
        assert path.read_text(encoding="utf-8") == head + before
        return
    for change in passes(marks):
        node = change(node)
    after = printed(node, marks)
    if request.config.getoption("--update-golden"):
        update(path, f"{head}{before}\n{AFTER}\n{after}")
        expected, program = after, before
    assert program == before
    assert expected == after
    parse(after)


def test_there_are_golden_files():
    assert len(FILES) > 10
