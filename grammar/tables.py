"""Parse tables: computed by lark from a grammar file, kept on disk, read back without lark."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FORMAT = "2"
_LARGEST = 8 << 20  # bytes of a table file that is believed


@dataclass(frozen=True, slots=True)
class Rule:
    """One alternative: the name of what builds it, how many symbols it has, the symbol that it makes.

    `build` is None where the only symbol's value is passed on.
    """

    origin: str
    build: str | None
    length: int


@dataclass(frozen=True, slots=True)
class Table:
    """LALR tables.

    Terminals go by their text where they have one (`for`, `(`), else by name (`NAME`). An action of
    `n >= 0` shifts to state n, one of `-n - 1` reduces by rule n.
    """

    actions: list[dict[str, int]]
    gotos: list[dict[str, int]]
    rules: list[Rule]
    starts: dict[str, int]


_tables: dict[tuple[str, tuple[str, ...]], Table] = {}
_lock = threading.Lock()


def load_table(name: str, starts: tuple[str, ...]) -> Table:
    """The table of the grammar file `name`.lark for these start symbols."""
    key = (name, starts)
    with _lock:
        if key not in _tables:
            _tables[key] = _load(name, starts)
        return _tables[key]


def _load(name: str, starts: tuple[str, ...]) -> Table:
    folder = cache_folder()
    file = folder / f"grammar-{name}-{_fingerprint(starts)}.json" if folder else None
    if file is not None:
        kept = _read(file)
        if kept is not None:
            return kept
    data = compute(name, starts)
    if file is not None:
        _write(file, json.dumps(data, separators=(",", ":")))
    return _from_data(data)


def _fingerprint(starts: tuple[str, ...]) -> str:
    """Changes with the grammars, with how tables are kept, and with the version of lark."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        lark = version("lark")
    except PackageNotFoundError:
        lark = "?"
    made = hashlib.sha256(repr((_FORMAT, lark, starts, sys.version_info[:2])).encode())
    here = Path(__file__).parent
    for file in (*sorted(here.glob("*.lark")), Path(__file__)):
        made.update(file.read_bytes())
    return made.hexdigest()[:24]


def compute(name: str, starts: tuple[str, ...]) -> dict[str, Any]:
    """The table as plain data, computed by lark."""
    from lark import Lark
    from lark.lexer import PatternStr
    from lark.parsers.lalr_analysis import Shift

    grammar = Lark.open(f"{name}.lark", rel_to=__file__, parser="lalr", lexer="basic", start=list(starts))
    literals = {t.name: t.pattern.value for t in grammar.terminals if isinstance(t.pattern, PatternStr)}
    table = grammar.parser.parser._parse_table
    rules = sorted(grammar.rules, key=_rule_key)
    numbers = {rule: n for n, rule in enumerate(rules)}
    place: dict[int, int] = {}
    order: list[int] = []

    def number(state: int) -> int:
        if state not in place:
            place[state] = len(order)
            order.append(state)
        return place[state]

    found = {start: number(table.start_states[start]) for start in starts}
    actions: list[dict[str, int]] = []
    gotos: list[dict[str, int]] = []
    for state in order:  # grows as states are reached, so that numbers do not depend on lark's sets
        mine: dict[str, int] = {}
        onward: dict[str, int] = {}
        for symbol, (action, argument) in sorted(table.states[state].items()):
            terminal = literals.get(symbol) or _short(symbol)
            if action is not Shift:
                mine[terminal] = -numbers[argument] - 1
            elif symbol not in literals and terminal.islower():
                onward[terminal] = number(argument)
            else:
                mine[terminal] = number(argument)
        actions.append(mine)
        gotos.append(onward)
    for start in starts:  # lark accepts in this state; here the end of the text is shifted like any token
        end = place[table.end_states[start]]
        actions[end]["$END"] = end
    made = [[_short(r.origin.name), _builder(r), len(r.expansion)] for r in rules]
    return {"actions": actions, "gotos": gotos, "rules": made, "starts": found}


def _rule_key(rule: Any) -> tuple[Any, ...]:
    return (rule.origin.name, [symbol.name for symbol in rule.expansion], rule.alias or "")


def _short(symbol: str) -> str:
    """A name without the grammar that it was imported from."""
    return str(symbol).rpartition("__")[2]


def _builder(rule: Any) -> str | None:
    if rule.alias:
        return _short(rule.alias)
    return None if len(rule.expansion) == 1 else _short(rule.origin.name)


def _from_data(data: Any) -> Table:
    rules = [Rule(origin, build, length) for origin, build, length in data["rules"]]
    return Table(data["actions"], data["gotos"], rules, data["starts"])


# The folder


def cache_folder() -> Path | None:
    """The user's own folder for what loopwright keeps between runs, or None where there is none.

    `LOOPWRIGHT_CACHE_DIR` names it; empty, nothing is kept. It is created private to the user, and
    one that others may write to is not used.
    """
    named = os.environ.get("LOOPWRIGHT_CACHE_DIR")
    if named == "":
        return None
    try:
        folder = Path(named) if named else _user_caches() / "loopwright"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = folder.stat()
    except (OSError, RuntimeError):
        return None
    if hasattr(os, "getuid") and (
        state.st_uid != os.getuid() or state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    ):
        return None
    return folder


def _user_caches() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _read(file: Path) -> Table | None:
    """A kept table; None if there is none or if it is not one."""
    try:
        if file.stat().st_size > _LARGEST:
            return None
        data = json.loads(file.read_bytes())
        text = data["table"]
        if hashlib.sha256(text.encode()).hexdigest() != data["sha256"]:
            return None
        return _from_data(json.loads(text))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _write(file: Path, text: str) -> None:
    """Keep a table: written aside and renamed, so that nobody reads half of it."""
    whole = json.dumps({"sha256": hashlib.sha256(text.encode()).hexdigest(), "table": text})
    try:
        handle, aside = tempfile.mkstemp(dir=file.parent, suffix=".part")
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(whole)
        os.replace(aside, file)
    except OSError:
        return  # a cache that cannot be written is no fault
