"""What type checkers and editors are told of the primitives is what they are."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import loopwright.schedule
from loopwright.schedule import PRIMITIVES, Schedule
from loopwright.schedule.methods_stub import methods_stub

STUB = Path(loopwright.schedule.__file__).with_name("methods.pyi")


def test_the_file_is_up_to_date() -> None:
    command = "python -m loopwright.schedule.methods_stub > schedule/methods.pyi"
    assert STUB.read_text(encoding="utf8") == methods_stub(), f"run: {command}"


def test_every_primitive_has_a_method_with_its_parameters() -> None:
    [methods] = [n for n in ast.parse(STUB.read_text(encoding="utf8")).body if isinstance(n, ast.ClassDef)]
    found = {f.name: f for f in methods.body if isinstance(f, ast.FunctionDef)}
    assert found.keys() == PRIMITIVES.keys()
    for name, function in found.items():
        given = function.args
        names = [a.arg for a in (*given.args, *filter(None, [given.vararg]), *given.kwonlyargs)]
        method = getattr(Schedule, name)
        assert names == list(inspect.signature(method).parameters)
        assert inspect.getdoc(method).startswith(str(ast.get_docstring(function)))  # type: ignore[union-attr]
