"""Getting the kernels of a file: by running a Python module, or by reading script text."""

from __future__ import annotations

import ast
import importlib.util
import linecache
import sys
import traceback
from pathlib import Path

from ..errors import Diagnostic, LoopwrightError, ScriptError, Span, suggest
from ..ir import BaseFunc, IRModule
from ..script import parse
from .sources import STDIN, FileError, Source, find_segments, parse_python, read_source


class UsageError(LoopwrightError, ValueError):
    """What was asked for does not exist."""

    default_code = "usage"


def split_name(what: str) -> tuple[str, str | None]:
    """`FILE:name` as its two parts; a file whose own name has a colon is taken as it is."""
    if Path(what).exists() or what == STDIN:
        return what, None
    path, colon, name = what.rpartition(":")
    return (path, name) if colon and name.isidentifier() else (what, None)


def load(path: str) -> dict[str, IRModule | BaseFunc]:
    """The modules and functions of a file by name, in order of definition.

    Raises FileError where it cannot be read, ScriptError where it is faulty, and UsageError where running
    it fails or where there are no kernels in it.
    """
    source = read_source(path)
    tree = parse_python(source)
    if path == STDIN or tree is None or _is_script(tree):
        found = _parsed(source)
    else:
        found = _imported(source, Path(path))
    if not found:
        raise UsageError(Diagnostic("usage", f"there are no kernels in `{source.path}`"))
    return found


def pick(found: dict[str, IRModule | BaseFunc], name: str, path: str) -> IRModule | BaseFunc:
    """The one of this name, a function of a module included. Raises UsageError with near names."""
    if name in found:
        return found[name]
    inner = {g.name: f for m in found.values() if isinstance(m, IRModule) for g, f in m.functions.items()}
    if name in inner:
        return inner[name]
    known = [*found, *inner]
    help = suggest(name, known) or (f"it has: {', '.join(known)}",)
    raise UsageError(Diagnostic("usage", f"`{path}` has no kernel `{name}`", help=help))


def _is_script(tree: ast.Module) -> bool:
    """Whether a module imports nothing and so can only be text of the language."""
    return not any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(tree))


def _parsed(source: Source) -> dict[str, IRModule | BaseFunc]:
    linecache.cache[source.path] = (len(source.text), None, source.lines, source.path)
    found: dict[str, IRModule | BaseFunc] = {}
    segments = find_segments(source, parse_python(source))
    first = min([s.start for s in segments], default=0)
    head = "".join(source.lines[:first])
    for segment in segments:
        # What stands above the first object (symbols, metadata) belongs to each of them; empty lines
        # in place of the other objects keep the line numbers.
        body = "".join(source.lines[segment.start : segment.end])
        text = head + "\n" * (segment.start - first) + body
        value = parse(text, filename=source.path)
        if isinstance(value, IRModule | BaseFunc):
            found[segment.name] = value
    return found


def _imported(source: Source, path: Path) -> dict[str, IRModule | BaseFunc]:
    name = path.stem if path.stem.isidentifier() else "kernels"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise FileError(Diagnostic("file", f"`{path}` is no Python module"))
    module = importlib.util.module_from_spec(spec)
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    sys.modules.setdefault(name, module)
    try:
        spec.loader.exec_module(module)
    except LoopwrightError:
        raise
    except Exception as err:
        raise UsageError(_failure(err, source, str(path))) from err
    finally:
        sys.path.remove(folder)
        if sys.modules.get(name) is module:
            del sys.modules[name]
    return {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, IRModule | BaseFunc) and not key.startswith("_")
    }


def _failure(err: Exception, source: Source, path: str) -> Diagnostic:
    """What went wrong in the user's own code, at the line of the file where it happened."""
    message = f"running `{path}` fails: {type(err).__name__}: {err}"
    frames = [f for f in traceback.extract_tb(err.__traceback__) if f.filename == path]
    line = (
        err.lineno if isinstance(err, SyntaxError) and err.lineno else frames[-1].lineno if frames else None
    )
    if line is None:
        return Diagnostic("import", message)
    text = source.lines[line - 1] if line <= len(source.lines) else ""
    start = len(text) - len(text.lstrip()) + 1
    span = Span(path, line, start, line, max(start + 1, len(text.rstrip()) + 1))
    return Diagnostic("import", message, span, source=source.text)


__all__ = ["ScriptError", "UsageError", "load", "pick", "split_name"]
