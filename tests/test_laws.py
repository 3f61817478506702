"""The system's laws in one place, as properties over generated programs.

`--hypothesis-profile=thorough` runs 20,000 programs of each; see CONTRIBUTING.md.
"""

from __future__ import annotations

import pickle
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import loopwright
from loopwright import grammar, ir
from loopwright.grammar.lark_reader import read_lark
from loopwright.printer import layout
from loopwright.testing.results import assert_same_results, copies, sample_arguments
from loopwright.testing.roundtrip import assert_roundtrip
from loopwright.testing.strategies import expressions, modules, prim_funcs, statements
from loopwright.transform import lower


@given(modules())
def test_printing_and_parsing_give_the_same_module(module: ir.IRModule) -> None:
    assert_roundtrip(module)


@given(prim_funcs())
def test_printing_and_parsing_give_the_same_function(func: ir.PrimFunc) -> None:
    assert_roundtrip(func)


@given(st.one_of(statements(), expressions()))
def test_printing_and_parsing_give_the_same_fragment(node: Any) -> None:
    assert_roundtrip(node)


@given(prim_funcs())
def test_both_readers_give_the_same_tree(func: ir.PrimFunc) -> None:
    text = func.script(show_meta=True)
    fast, exact = grammar.read(text), read_lark(text)
    assert not fast.diagnostics and not exact.diagnostics
    assert grammar.same_tree(fast.tree, exact.tree, spans=True)
    assert grammar.same_tree(grammar.read(layout(fast.tree, width=100)).tree, fast.tree)


@given(modules())
def test_json_and_pickle_keep_the_module(module: ir.IRModule) -> None:
    assert ir.structural_equal(ir.from_json(ir.to_json(module)), module)
    assert ir.structural_equal(pickle.loads(pickle.dumps(module)), module)


@given(modules())
def test_renewed_definitions_are_equal_and_hash_alike(module: ir.IRModule) -> None:
    renewed = ir.renew_definitions(module)
    assert ir.structural_equal(module, renewed)
    assert ir.structural_hash(module) == ir.structural_hash(renewed)
    assert ir.explain_difference(module, renewed) is None


@given(prim_funcs(), st.data())
def test_using_another_variable_is_another_program_with_another_hash(func: ir.PrimFunc, data: Any) -> None:
    found = {id(v): v for v in ir.walk(func.body) if isinstance(v, ir.Var)}
    kinds: dict[int, list[ir.Var]] = {}
    for v in (*found.values(), *func.params):
        kinds.setdefault(id(v.ty), []).append(v)
    pairs = [(a, b) for alike in kinds.values() for a in alike for b in alike if a is not b]
    if not pairs:
        return
    old, new = data.draw(st.sampled_from(pairs))
    other = func.replace(body=ir.substitute(func.body, {old: new}))
    if ir.check_well_formed(other) == []:
        assert ir.structural_equal(func, other) == (ir.structural_hash(func) == ir.structural_hash(other))


@given(modules())
def test_generated_programs_are_well_formed(module: ir.IRModule) -> None:
    assert ir.check_well_formed(module) == []


@given(prim_funcs(executable=True), st.integers(0, 3))
def test_lowering_keeps_the_meaning(func: ir.PrimFunc, seed: int) -> None:
    arguments = sample_arguments(func, seed)
    lowered = lower(ir.IRModule.from_expr(func))
    name = str(func.attrs.get("global_symbol", "main"))
    assert_same_results(func, lowered, *arguments, name=name)


@given(prim_funcs(executable=True), st.integers(0, 3))
def test_machine_code_agrees_with_the_oracle(func: ir.PrimFunc, seed: int) -> None:
    arguments = sample_arguments(func, seed)
    lib = loopwright.build(func)
    name = str(func.attrs.get("global_symbol", "main"))
    assert_same_results(func, lib[name], *copies(arguments))
