"""Parse tables: made by lark without conflicts, kept on disk, and not believed blindly."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from loopwright.grammar import tables
from loopwright.grammar.tables import Table, cache_folder

GRAMMARS = ("script", "target", "shape", "index_map", "pipeline")
START = ("shape",)


def load() -> Table:
    return tables._load("shape", START)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOOPWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.parametrize("name", GRAMMARS)
def test_grammars_have_no_conflicts(name: str, caplog: pytest.LogCaptureFixture) -> None:
    import lark

    start = "module" if name == "script" else name
    lark.logger.setLevel("DEBUG")
    try:
        file = Path(tables.__file__).with_name(f"{name}.lark")
        lark.Lark.open(str(file), parser="lalr", lexer="basic", start=start, debug=True)
    finally:
        lark.logger.setLevel("CRITICAL")
    assert "conflict" not in caplog.text.lower()


def test_a_kept_table_is_the_computed_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = load()
    [file] = folder.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700 or os.name == "nt"
    monkeypatch.setattr(tables, "compute", None)
    assert load() == made
    assert file.name.startswith("grammar-shape-")


@pytest.mark.parametrize(
    "content", ["", "{}", '{"sha256": "0", "table": "{}"}', "\0", '{"table": 1, "sha256": ""}']
)
def test_a_broken_file_is_made_again(folder: Path, content: str) -> None:
    made = load()
    [file] = folder.iterdir()
    whole = file.read_text()
    file.write_text(content)
    assert load() == made
    assert json.loads(file.read_text()) == json.loads(whole)


def test_a_folder_that_others_may_write_to_is_not_used(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)
    assert cache_folder() is None
    assert load().rules
    assert list(folder.iterdir()) == []


def test_reading_works_without_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    for value in ("", str(tmp_path / "file" / "inside")):
        monkeypatch.setenv("LOOPWRIGHT_CACHE_DIR", value)
        assert cache_folder() is None
        assert load().rules
