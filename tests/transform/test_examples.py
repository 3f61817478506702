"""The before and after in the docstring of each pass."""

from __future__ import annotations

import pytest

from loopwright.ir import IRModule, explain_difference
from loopwright.script import parse
from loopwright.transform import get_pass, list_passes
from loopwright.transform.registry import example_of, options_of_example


def module(text):
    found = parse(text)
    return found if isinstance(found, IRModule) else IRModule.from_expr(found)


@pytest.mark.parametrize("name", list_passes())
def test_every_pass_does_what_its_docstring_shows(name):
    example = example_of(get_pass(name))
    assert example is not None, f"pass {name} has no example"
    before, after = example
    options = eval(f"dict({options_of_example(get_pass(name))})")  # the text is our own docstring
    result = get_pass(name)(module(before), **options)
    difference = explain_difference(result, module(after))
    assert difference is None, f"{result.script()}\n{difference}"
