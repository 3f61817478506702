"""Random graphs: bytecode, joined kernels, the interpreter in Python and numpy agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import loopwright
from loopwright.runtime import Tensor
from loopwright.runtime.vm import VirtualMachine
from loopwright.testing.graphs import evaluate
from loopwright.testing.strategies.graphs import graphs


def plain(value):
    if isinstance(value, tuple):
        return tuple([plain(v) for v in value])
    return value.numpy() if isinstance(value, Tensor) else value


def same(got, want):
    if isinstance(want, tuple):
        assert len(got) == len(want)
        for g, w in zip(got, want):
            same(g, w)
        return
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


def in_python(vm):
    """The machine without its machine code."""
    vm.set_instrument(lambda *args: 0)
    return vm


@pytest.mark.parametrize("mode", ["bytecode", "compiled"])
@pytest.mark.parametrize("pipeline", ["default_build", "default"])
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(graphs())
def test_every_way_of_running_a_graph_gives_what_numpy_gives(pipeline, mode, graph):
    want = evaluate(graph.mod, *graph.args)
    lib = loopwright.build(graph.mod, relax_pipeline=pipeline, exec_mode=mode)
    vm = VirtualMachine(lib)
    for _ in range(2):
        same(plain(vm["main"](*graph.args)), want)
    same(plain(in_python(vm)["main"](*graph.args)), want)
