"""The system's laws over generated graph programs; `test_laws.py` has those of kernels.

`--hypothesis-profile=thorough` runs 20,000 programs of each; see CONTRIBUTING.md.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import loopwright
from loopwright import grammar, ir
from loopwright.grammar.lark_reader import read_lark
from loopwright.ir.arith import Analyzer
from loopwright.ir.relax import (
    BindingBlock,
    Function,
    If,
    RelaxOp,
    SeqExpr,
    TensorType,
    VarBinding,
    all_ops,
    get_op,
)
from loopwright.printer import layout
from loopwright.testing.graphs import evaluate
from loopwright.testing.operators import Case, all_cases, graph
from loopwright.testing.roundtrip import assert_roundtrip
from loopwright.testing.strategies import operator_calls, relax_functions, relax_modules
from loopwright.transform import get_pass


@given(relax_modules())
def test_printing_and_parsing_give_the_same_module(module: ir.IRModule) -> None:
    assert_roundtrip(module)


@given(st.one_of(relax_functions(), relax_functions(executable=True)))
def test_printing_and_parsing_give_the_same_function(func: Function) -> None:
    assert_roundtrip(func)


@given(
    relax_functions(),
    st.sampled_from([{"show_all_ty": False}, {"extra_config": {"script.use_pep695": True}}]),
)
def test_the_options_lose_nothing(func: Function, options: Any) -> None:
    assert_roundtrip(func, **options)


@given(relax_functions())
def test_both_readers_give_the_same_tree(func: Function) -> None:
    text = func.script(show_meta=True)
    fast, exact = grammar.read(text), read_lark(text)
    assert not fast.diagnostics and not exact.diagnostics
    assert grammar.same_tree(fast.tree, exact.tree, spans=True)
    assert grammar.same_tree(grammar.read(layout(fast.tree, width=100)).tree, fast.tree)


@given(relax_modules())
def test_json_and_pickle_keep_the_module(module: ir.IRModule) -> None:
    assert ir.structural_equal(ir.from_json(ir.to_json(module)), module)
    assert ir.structural_equal(pickle.loads(pickle.dumps(module)), module)


@given(relax_modules())
def test_renewed_definitions_are_equal_and_hash_alike(module: ir.IRModule) -> None:
    renewed = ir.renew_definitions(module)
    assert ir.structural_equal(module, renewed)
    assert ir.structural_hash(module) == ir.structural_hash(renewed)
    assert not defined(module) & defined(renewed)
    assert ir.free_vars(module) == []


def defined(module: ir.IRModule) -> set[int]:
    """Every variable that the module defines."""
    return {id(v) for n in ir.walk(module) for v in ir.definitions(n)}


@given(relax_functions(), st.data())
def test_using_another_variable_is_another_program_with_another_hash(func: Function, data: Any) -> None:
    found = {id(v): v for n in ir.walk(func) for v in ir.definitions(n)}
    kinds: dict[Any, list[ir.Var]] = {}
    for v in found.values():
        kinds.setdefault((type(v), ir.structural_hash(v.ty)), []).append(v)
    pairs = [(a, b) for alike in kinds.values() for a in alike for b in alike if a is not b]
    if not pairs:
        return
    old, new = data.draw(st.sampled_from(pairs))
    other = Uses({old: new})(func)
    assert ir.structural_equal(func, other) == (ir.structural_hash(func) == ir.structural_hash(other))


class Uses(ir.Substitution):
    """Replaces uses and leaves definitions alone."""

    def define(self, var: ir.Var) -> ir.Var:
        return var


def arguments(func: Function) -> list[Any]:
    """Arrays of small integers for the parameters; symbols are 3."""
    rng, made = np.random.default_rng(0), []
    for p in func.params:
        sizes = [ir.substitute(s, dict.fromkeys(ir.free_vars(s), 3)) for s in p.ty.sizes]
        shape = [Analyzer().simplify(s).value for s in sizes]
        made.append(rng.integers(-3, 4, shape).astype(str(p.ty.dtype)))
    return made


@given(relax_modules(executable=True))
def test_executable_graphs_run_and_mean_the_same_when_read_again(module: ir.IRModule) -> None:
    again = loopwright.parse(module.script(show_meta=True))
    assert isinstance(again, ir.IRModule)
    for name, func in module.functions.items():
        if isinstance(func, Function):
            given = arguments(func)
            want, got = evaluate(module, *given, name=name.name), evaluate(again, *given, name=name.name)
            assert flat(want) == flat(got)


def flat(value: Any) -> list[bytes]:
    return [b for v in value for b in flat(v)] if isinstance(value, tuple) else [np.asarray(value).tobytes()]


def in_normal_form(case: Case) -> Function:
    mod = get_pass("relax.Normalize")(ir.IRModule({"main": graph(case)}))
    func = mod["main"]
    assert isinstance(func, Function)
    return func


@pytest.mark.parametrize("case", all_cases(), ids=lambda c: c.id)
def test_every_case_of_an_operator_prints_and_parses(case: Case) -> None:
    func = in_normal_form(case)
    assert ir.check_well_formed(func) == []
    assert_roundtrip(func)


GOLDEN = Path(__file__).parent / "golden" / "print" / "graph_calls.py"
CASES = {c.name for c in all_cases()}
WITHOUT_CASES = [rec for rec in all_ops() if rec.name not in CASES]


@pytest.mark.parametrize("rec", WITHOUT_CASES, ids=lambda rec: rec.name)
def test_every_other_operator_prints_and_parses(rec: RelaxOp) -> None:
    """By generated operands where some fit; those that need functions, types or devices are in the golden file."""
    made = 0

    @settings(max_examples=40, derandomize=True, database=None, phases=[Phase.generate])
    @given(operator_calls(rec))
    def look(func: Function | None) -> None:
        nonlocal made
        if func is not None and made < 4:
            made += 1
            assert_roundtrip(func)

    look()
    assert made or f"R.{rec.script}(" in GOLDEN.read_text()


def deep_function(count: int) -> Function:
    """A chain of so many bindings, with a condition at each hundredth."""
    x, c = ir.Var("x", TensorType((4,), "float32")), ir.Var("c", "bool")
    bindings, last = [], x
    for i in range(count):
        value = If(c, last, x) if i % 100 == 99 else get_op("relax.exp")(last)
        last = ir.Var("v", x.ty)
        bindings.append(VarBinding(last, value))
    return Function([x, c], SeqExpr([BindingBlock(bindings)], last), None, attrs={"global_symbol": "main"})


@pytest.mark.slow
def test_deep_graphs() -> None:
    func = deep_function(5_000)
    assert ir.check_well_formed(func) == []
    assert_roundtrip(func)
    assert ir.structural_equal(pickle.loads(pickle.dumps(func)), func)
    assert ir.structural_equal(ir.from_json(ir.to_json(func)), func)
    assert ir.structural_hash(ir.renew_definitions(func)) == ir.structural_hash(func)
    assert ir.free_vars(func) == []


def test_branches_in_branches() -> None:
    x, c = ir.Var("x", TensorType((4,), "float32")), ir.Var("c", "bool")
    seq = SeqExpr([], x)
    for _ in range(60):
        y = ir.Var("y", x.ty)
        seq = SeqExpr([BindingBlock([VarBinding(y, If(c, seq, x))])], y)
    func = Function([x, c], seq, None, attrs={"global_symbol": "main"})
    assert ir.check_well_formed(func) == []
    assert_roundtrip(func)
