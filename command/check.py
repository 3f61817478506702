"""`check`: report the faults of the decorated objects in files."""

from __future__ import annotations

import ast
import json
import operator
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, Final

from ..errors import Diagnostic, LoopwrightError
from ..grammar import read
from ..script import check
from .load import UsageError, load
from .report import FAULTS, OK, complain, count, errors_in, say
from .sources import (
    STDIN,
    Segment,
    Source,
    aliases,
    cut,
    find_segments,
    moved,
    parse_python,
    python_files,
    read_source,
)

_SYMBOL_MAKERS = frozenset({"TypeVar", "load_json"})
_OPERATORS: Final[dict[type, Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_LARGEST: Final = 1 << 64


def check_source(source: Source) -> tuple[list[Diagnostic], int, list[str]]:
    """The faults of a file's decorated objects, how many there are, and those that were only read.

    Nothing is run. Constants of the module are known; an object that uses other values of its
    surroundings is read, but what it means is not checked.
    """
    tree = parse_python(source)
    segments = find_segments(source, tree)
    if tree is None or _is_text(tree, segments):
        text = source.text
        return [_placed(d, source) for d in check(text, filename=source.path)], len(segments), []
    constants = _constants(tree)
    outer = _outer_names(tree, segments) - set(constants) - _language(tree)
    faults: list[Diagnostic] = []
    unsure: list[str] = []
    for segment in segments:
        text = cut(source, segment)
        if _used(tree, segment) & outer:
            unsure.append(segment.name)
            found = list(read(text, filename=source.path).diagnostics)
        else:
            found = check(text, filename=source.path, extra_vars=constants)
        faults += [moved(d, source, segment) for d in found]
    return faults, len(segments), unsure


def _placed(diagnostic: Diagnostic, source: Source) -> Diagnostic:
    return moved(diagnostic, source, Segment("", 0, 0, ""))


def _is_text(tree: ast.Module, segments: list[Segment]) -> bool:
    """Whether the file is script text as the printer writes it: no imports, nothing but the objects and
    the symbols and metadata that they share."""
    ours = {s.name for s in segments}
    return all(_is_script_statement(node, ours) for node in tree.body)


def _is_script_statement(node: ast.stmt, ours: set[str]) -> bool:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return name in ours
        case ast.Expr(value=ast.Constant(value=str())):
            return True
        case ast.Assign(value=ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name))):
            return name in _SYMBOL_MAKERS
    return False


def _constants(tree: ast.Module) -> dict[str, Any]:
    """The numbers, strings and tuples of them that the module gives names to once."""
    known: dict[str, Any] = {}
    again: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name in known:
                again.add(name)
            try:
                known[name] = _value(node.value, known)
            except (ValueError, TypeError, ZeroDivisionError):
                again.add(name)
    return {name: value for name, value in known.items() if name not in again}


def _value(node: ast.expr, known: dict[str, Any]) -> Any:
    match node:
        case ast.Constant(value=bool() | int() | float() | str()):
            return node.value
        case ast.Name(id=name) if name in known:
            return known[name]
        case ast.Tuple(elts=parts):
            return tuple([_value(p, known) for p in parts])
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_value(inner, known)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            a, b = _value(left, known), _value(right, known)
            if isinstance(a, int | float) and isinstance(b, int | float):
                found = _OPERATORS[type(op)](a, b)
                if abs(found) <= _LARGEST:
                    return found
    raise ValueError("not a constant")


def _outer_names(tree: ast.Module, segments: list[Segment]) -> set[str]:
    """Every name that the file defines outside its decorated objects."""
    found: set[str] = set()
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.stmt) and any(s.start < line <= s.end for s in segments):
            continue
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.alias(name=name, asname=own):
                found.add((own or name).split(".")[0])
        pending += ast.iter_child_nodes(node)
    return found


def _language(tree: ast.Module) -> set[str]:
    modules, names = aliases(tree)
    return modules | names


def _used(tree: ast.Module, segment: Segment) -> set[str]:
    """The names that an object reads."""
    return {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and segment.start < node.lineno <= segment.end
    }


def run_check(paths: Sequence[str], *, as_json: bool = False, quiet: bool = False, run: bool = False) -> int:
    """Check files; with `run` each is run as Python does, so that captured values are checked too.

    The exit code is 1 where there is an error.
    """
    files = total = wrong = 0
    unsure: list[str] = []
    for path in python_files(paths):
        files += 1
        source = read_source(path)
        if run and path != STDIN:
            faults, number, part = _run_file(path)
        else:
            faults, number, part = check_source(source)
        total += number
        wrong += errors_in(faults)
        unsure += [f"{source.path}:{name}" for name in part]
        if as_json:
            for fault in faults:
                print(json.dumps({**asdict(fault), "source": None}))
        else:
            complain(*faults)
    if not quiet:
        _summarize(files, total, wrong, unsure)
    return FAULTS if wrong else OK


def _run_file(path: str) -> tuple[list[Diagnostic], int, list[str]]:
    try:
        return [], len(load(path)), []
    except UsageError as err:
        if err.code == "usage":  # no kernels in the file
            return [], 0, []
        return list(err.diagnostics), 0, []
    except LoopwrightError as err:
        return list(err.diagnostics), 1, []


def _summarize(files: int, total: int, wrong: int, unsure: list[str]) -> None:
    faults = count(wrong, "error") if wrong else "no errors"
    say(f"{count(files, 'file')}, {count(total, 'kernel')}, {faults}")
    if unsure:
        shown = ", ".join(unsure[:4]) + (", ..." if len(unsure) > 4 else "")
        say(f"only read, because they use values of their surroundings (`--run` checks them): {shown}")
