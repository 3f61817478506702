"""Visitors and mutators by the peer's names, and changing one dataflow block."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

from loopwright.ir import Call, Expr, IRModule, Var
from loopwright.ir.analysis import check_well_formed
from loopwright.ir.relax import (
    BlockBuilder,
    DataflowBlock,
    DataflowBlockRewrite,
    DataflowVar,
    Function,
    If,
    PyExprMutator,
    PyExprVisitor,
    TensorType,
    VarBinding,
    const,
    get_op,
    mutator,
    visitor,
)
from loopwright.ir.relax.analysis import name_to_binding
from loopwright.testing.graphs import evaluate
from loopwright.testing.strategies.relax import relax_modules

exp, add, subtract = [get_op(f"relax.{n}") for n in ("exp", "add", "subtract")]
X = Var("x", TensorType([4]))


def sample() -> IRModule:
    bb = BlockBuilder()
    with bb.function("main", [X]):
        with bb.dataflow():
            twice = bb.emit(add(X, X), "twice")
            other = bb.emit(exp(X), "other")
            bb.emit(add(other, twice), "unused")
            out = bb.emit_output(exp(twice), "out")
        bb.emit_func_output(bb.emit(If(const(True), exp(out), out), "chosen"))
    return bb.get()


def main_of(mod: IRModule) -> Function:
    func = mod["main"]
    assert isinstance(func, Function)
    return func


@visitor
class Names(PyExprVisitor):
    def __init__(self) -> None:
        self.seen: list[str] = []

    def visit_call_(self, call: Call) -> None:
        self.seen.append(call.op.name)  # type: ignore[union-attr]
        super().visit_call_(call)

    def visit_var_(self, var: Var) -> None:
        self.seen.append(var.name)

    def visit_var_def_(self, var: Var) -> None:
        self.seen.append(f"def {var.name}")

    def visit_dataflow_var_def_(self, var: Var) -> None:
        self.seen.append(f"def lv {var.name}")

    def visit_if_(self, node: If) -> None:
        self.seen.append("if")
        super().visit_if_(node)


def test_visiting() -> None:
    names = Names()
    names.visit_expr(main_of(sample()))
    start = ["def x", "relax.add", "x", "x", "def lv twice", "relax.exp", "x", "def lv other"]
    assert names.seen[: len(start)] == start
    assert "if" in names.seen and names.seen[-2:] == ["def chosen", "chosen"]


@mutator
class Swap(PyExprMutator):
    def visit_call_(self, call: Call) -> Any:
        call = self.visit_expr_post_order(call)
        return subtract(*call.args) if call.op.name == "relax.add" else call  # type: ignore[union-attr]


def test_mutating() -> None:
    mod = sample()
    x = np.arange(4, dtype=np.float32)
    assert np.allclose(evaluate(Swap()(mod), x), np.exp(np.exp(x - x)))
    one = Swap(mod)
    for gvar, func in mod.functions.items():
        one.builder_.update_func(gvar, one.visit_expr(func))
    assert np.allclose(evaluate(one.builder_.get(), x), np.exp(np.exp(x - x)))


def test_renewed_dataflow_variables_are_followed() -> None:
    @mutator
    class Half(PyExprMutator):
        def visit_var_def_(self, var: Var) -> Var:
            if var.name != "x":
                return super().visit_var_def_(var)
            new = self.with_type(var, TensorType([4], "float16"))
            self.set_var_remap(var, new)
            assert self.get_var_remap(var) is new and self.with_type(new, new.ty) is new
            return new

    new = Half()(sample())
    assert not [d for d in check_well_formed(new) if d.severity == "error"]
    assert str(main_of(new).ret_ty.dtype) == "float16"  # type: ignore[union-attr, attr-defined]


def test_values_can_be_looked_up_and_bodies_have_scopes() -> None:
    found: list[Any] = []

    @mutator
    class Look(PyExprMutator):
        def visit_call_(self, call: Call) -> Expr:
            call = self.visit_expr_post_order(call)
            found.extend(self.lookup_binding(a) for a in call.args if isinstance(a, Var))
            return call

        def visit_if_(self, node: If) -> Expr:
            branches = [self.visit_with_new_scope(b) for b in (node.true_branch, node.false_branch)]
            return If(self.visit_expr(node.cond), *branches)

    mod = sample()
    Look()(mod)
    assert found[0] is None and found[-1].op.name == "relax.exp"


@given(relax_modules())
def test_a_mutator_without_methods_changes_nothing(mod: IRModule) -> None:
    assert PyExprMutator()(mod) is mod
    for func in mod.functions.values():
        if isinstance(func, Function):
            PyExprVisitor().visit_expr(func)


def rewrite() -> tuple[DataflowBlockRewrite, Function, dict[str, list[Any]]]:
    func = main_of(sample())
    block = func.body.blocks[0]
    assert isinstance(block, DataflowBlock)
    return DataflowBlockRewrite(block, func), func, name_to_binding(func)  # type: ignore[return-value]


def names(block: DataflowBlock) -> list[str]:
    return [b.var.name for b in block.bindings]  # type: ignore[attr-defined]


def test_bindings_are_added() -> None:
    change, func, _ = rewrite()
    change.add(exp(X), is_dfvar=True)
    change.add(exp(X), "named")
    change.add(VarBinding(Var("own", X.ty), X))
    assert names(change.mutated_dfb())[-3:] == ["tmp", "named", "own"]
    kinds = [type(b.var) for b in change.mutated_dfb().bindings[-2:]]  # type: ignore[attr-defined]
    assert kinds == [Var, Var] and type(change.mutated_dfb().bindings[-3].var) is DataflowVar  # type: ignore[attr-defined]
    assert change.mutated_root_fn().body.blocks[0] is change.mutated_dfb()
    assert change.dfb is func.body.blocks[0] and change.root_fn is func and len(change.dfb.bindings) == 4
    mod = IRModule({"main": func})
    assert change.mutate_irmodule(mod)["main"] is change.mutated_root_fn()


def test_uses_are_replaced() -> None:
    change, _, found = rewrite()
    change.replace_all_uses(found["twice"][0].var, found["other"][0].var)
    x = np.zeros(4, dtype=np.float32)
    assert np.allclose(evaluate(change.mutated_root_fn(), x), np.exp(np.exp(np.exp(x))))
    change.remove_unused(found["twice"][0].var)
    assert "twice" not in names(change.mutated_dfb())
    with pytest.raises(RuntimeError, match="Cannot find `gone`"):
        change.replace_all_uses(Var("gone"), X)
    with pytest.raises(RuntimeError, match="is used by 2 vars, `unused`, `out`"):
        change.remove_unused(found["other"][0].var)
    with pytest.raises(RuntimeError, match="does not bind `gone`"):
        change.remove_unused(Var("gone"))
    change.remove_unused(Var("gone"), allow_undef=True)


def test_what_is_unused_goes() -> None:
    change, _, _ = rewrite()
    change.remove_all_unused()
    assert names(change.mutated_dfb()) == ["twice", "out"]
    block = change.mutated_dfb()
    change.remove_all_unused()
    assert change.mutated_dfb() is block
    with pytest.raises(RuntimeError, match="no part of the function"):
        DataflowBlockRewrite(block, main_of(sample()))


def test_a_block_without_bindings_is_gone() -> None:
    bb = BlockBuilder()
    with bb.function("main", [X]):
        with bb.dataflow():
            unused = bb.emit_output(exp(X))
        bb.emit_func_output(X)
    func = main_of(bb.get())
    change = DataflowBlockRewrite(func.body.blocks[0], func)  # type: ignore[arg-type]
    change.remove_unused(unused)
    assert change.mutated_root_fn().body.blocks == () and change.mutated_dfb().bindings == ()
