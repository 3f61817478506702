"""Checking a graph pass on a program."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from loopwright.ir import structural_equal
from loopwright.ir.analysis import assert_well_formed
from loopwright.script import from_source
from loopwright.testing.graph_inputs import arguments
from loopwright.testing.graphs import evaluate
from loopwright.transform import get_pass

HEAD = """
from loopwright.script import ir as I, relax as R, tirx as T

@I.ir_module
class Module:
"""


def module(text):
    """The module of these functions."""
    return from_source(HEAD + text)


def same(got, want, rtol=1e-5):
    """Compare values, tuples field by field."""
    if isinstance(want, tuple):
        assert isinstance(got, tuple) and len(got) == len(want)
        for a, b in zip(got, want):
            same(a, b, rtol)
    else:
        np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=rtol, atol=1e-5)


def check(mod, name, *, entry="main", again=True, args=None, rtol=1e-5, **options):
    """The module after the pass: well-formed, with the same value, and the same when passed again."""
    mod = module(mod) if isinstance(mod, str) else mod
    args = arguments(mod[entry]) if args is None else args
    want = evaluate(mod, *args, name=entry)
    made = get_pass(f"relax.{name}")(mod, **options)
    assert_well_formed(made)
    same(evaluate(made, *args, name=entry), want, rtol)
    if again:
        assert structural_equal(get_pass(f"relax.{name}")(made, **options), made)
    return made


def calls(mod, name="main"):
    """What the calls of a function call, in order."""
    from loopwright.ir import Call, find

    def word(e):
        return getattr(e, "name", type(e).__name__).removeprefix("relax.")

    found = [c for c in find(mod[name], Call) if not getattr(c.op, "name", "").startswith(("tirx.", "prim."))]
    return [word(c.args[0]) if word(c.op).startswith("call_tir") else word(c.op) for c in found]


@pytest.fixture
def graphs():
    """The helpers above."""
    return SimpleNamespace(module=module, same=same, check=check, calls=calls)
