"""Every code block of the documentation runs, every example runs, every error code has its page.

Fenced blocks are tested by their language:

- `python`: the blocks of a page run one after another in one module;
- `script`: the text parses and prints back to itself as a program;
- `script error`: the text fails to parse with the page's own code (its file name);
- `python error`: running it raises a LoopwrightError with the page's own code.
"""

from __future__ import annotations

import argparse
import ast
import linecache
import re
import runpy
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import loopwright
from loopwright.testing.roundtrip import assert_roundtrip

DOCS = Path(__file__).parents[2] / "docs"
ROOT = DOCS.parent
PAGES = [ROOT / "README.md", *sorted(p for p in DOCS.rglob("*.md") if "_build" not in p.parts)]
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
    "ops",
    "testing",
    "command",
)


def run_block(code: str, file: str, scope: dict[str, Any]) -> None:
    """Run a block such that decorators find its source."""
    linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
    exec(compile(code, file, "exec"), scope)


LONG = {"kernels.md", "testing.md"}  # import PyTorch where it is; draw programs and compile them
MARKED = [pytest.param(p, marks=[pytest.mark.slow] if p.name in LONG else []) for p in PAGES]


@pytest.mark.parametrize("page", MARKED, ids=lambda p: str(p.relative_to(ROOT)))
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


# Functions that make a diagnostic, with the positions where their code may stand.
MAKERS = {
    "Diagnostic": (0,),
    "Failure": (1,),
    "Reason": (0,),
    "broken": (3,),
    "describe": (0,),
    "fault": (0, 1),
    "problem": (1,),
    "refuse": (0,),
    "report": (0,),
    "same_type": (0,),
}
HOLDERS = {"code", "default_code", "LACKING"}
CODE = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
# Codes that a message is given under by a formatted string, where no constant can be found.
COMPUTED = {"argument-shape", "argument-strides"}
SEVERITIES = {"warning", "note"}


def constants(value: ast.expr | None) -> Iterator[str]:
    """The codes that an expression may give."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str) and CODE.fullmatch(value.value):
        yield value.value
    elif isinstance(value, ast.IfExp):
        yield from constants(value.body)
        yield from constants(value.orelse)


def codes_of_call(node: ast.Call) -> Iterator[str]:
    """The codes in a call of one of the makers."""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    for position in MAKERS.get(name, ()):
        if position < len(node.args):
            yield from constants(node.args[position])
    for keyword in node.keywords:
        if keyword.arg == "code":
            yield from constants(keyword.value)


def codes_of_assignment(node: ast.Assign | ast.AnnAssign) -> Iterator[str]:
    """The codes that a name such as `code` is given, alone or first in a tuple."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    for target in targets:
        value = node.value
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            target, value = target.elts[0], value.elts[0]
        name = getattr(target, "id", "")
        if name in HOLDERS:
            yield from constants(value)
        elif name == "CODES" and isinstance(value, ast.Tuple):
            for item in value.elts:
                yield from constants(item)


# Rooms that are being built; take a room out when it is there, and write its pages.
UNFINISHED: set[str] = set()


@cache
def codes_in_use() -> frozenset[str]:
    """The codes that the sources give to diagnostics."""
    found = set(COMPUTED)
    rooms = [p.parent for p in ROOT.glob("*/__init__.py") if p.parent.name not in {"build", *UNFINISHED}]
    for path in [*ROOT.glob("*.py"), *(p for room in rooms for p in room.rglob("*.py"))]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf8"))):
            if isinstance(node, ast.Call):
                found.update(codes_of_call(node))
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                found.update(codes_of_assignment(node))
    return frozenset(found - SEVERITIES)


def pages_of_codes() -> dict[str, Path]:
    return {p.stem: p for p in (DOCS / "errors").glob("*.md") if p.stem != "index"}


@pytest.mark.slow
def test_every_code_has_a_page() -> None:
    missing = codes_in_use() - pages_of_codes().keys()
    assert missing == set(), "codes without a page in docs/errors"


@pytest.mark.slow
def test_every_page_has_a_code() -> None:
    assert pages_of_codes().keys() - codes_in_use() - {"stale-handle"} == set(), (  # from a room being built
        "pages in docs/errors of codes that nothing uses"
    )


def test_every_page_shows_its_code() -> None:
    """By a block that fails with it, or, where the code is that of a warning, by a check in a block."""
    for code, page in pages_of_codes().items():
        text = page.read_text(encoding="utf8")
        assert text.startswith(f"# {code}\n")
        failing = any(error for _, error, _ in BLOCK.findall(text))
        assert failing or f'code == "{code}"' in text, f"{page.name} shows no example that fails"


def test_documented_options_are_those_of_the_command_line() -> None:
    """Every command and option stands in the guide."""
    from loopwright.command.main import _parser

    text = (DOCS / "guide" / "command_line.md").read_text(encoding="utf8")
    [commands] = [a for a in _parser()._actions if isinstance(a, argparse._SubParsersAction)]
    for name, parser in commands.choices.items():
        assert f"## {name}" in text or f"`{name}`" in text
        for action in parser._actions:
            options = [o for o in action.option_strings if o.startswith("--") and o != "--help"]
            assert all(o in text for o in options), f"{name} {options}"
