"""Well-formed graphs: every rule has a program that breaks it, and generated programs break none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from loopwright import ir
from loopwright.errors import IRError
from loopwright.ir import Call, ExternFunc, GlobalVar, IRModule, Tuple, Var
from loopwright.ir.relax import (
    BindingBlock,
    DataflowBlock,
    DataflowVar,
    Function,
    If,
    MatchCast,
    SeqExpr,
    TensorType,
    VarBinding,
    get_op,
    tensor_constant,
)
from loopwright.testing.strategies import relax_functions, relax_modules

EXP, ADD = get_op("relax.exp"), get_op("relax.add")
FOUR = TensorType((4,), "float32")


def tensor(name: str = "x", *shape: Any, dtype: str = "float32") -> Var:
    return Var(name, TensorType(shape or (4,), dtype))


def function(params: Any, bindings: Any, result: Any, ret: Any = None, **more: Any) -> Function:
    block = more.pop("block", BindingBlock)
    return Function(params, SeqExpr([block(bindings)], result), ret, **more)


def codes(program: Any) -> list[str]:
    return [d.code for d in ir.check_well_formed(program)]


def test_a_plain_function_is_well_formed() -> None:
    x, y = tensor(), tensor("y")
    assert codes(function([x], [VarBinding(y, EXP(x))], y)) == []


def test_a_variable_is_defined_once_and_used_where_it_is_visible() -> None:
    x, y = tensor(), tensor("y")
    assert codes(function([x], [VarBinding(y, EXP(x)), VarBinding(y, EXP(x))], y)) == ["duplicate-definition"]
    assert codes(function([x, x], [], x)) == ["duplicate-parameter"]
    assert codes(function([x], [VarBinding(y, EXP(tensor("z")))], y)) == ["undefined-name"]
    cond = Var("cond", "bool")
    inner, out = tensor("inner"), tensor("out")
    branch = SeqExpr([BindingBlock([VarBinding(inner, EXP(x))])], inner)
    leak = function([x, cond], [VarBinding(out, If(cond, branch, x)), VarBinding(y, EXP(inner))], y)
    assert codes(leak) == ["undefined-name"]


def test_two_functions_of_a_module_share_no_variable() -> None:
    x = tensor()
    twice = IRModule({"f": Function([x], x, None), "g": Function([x], x, None)})
    assert codes(twice) == ["duplicate-definition"]
    assert codes(ir.renew_definitions(twice)) == []


def test_dataflow_variables_stay_in_their_block() -> None:
    x, y = tensor(), DataflowVar("y", FOUR)
    assert codes(function([x], [VarBinding(y, EXP(x))], y, block=DataflowBlock)) == ["dataflow-variable"]
    assert codes(function([x], [VarBinding(y, EXP(x))], x)) == ["dataflow-variable"]
    assert codes(function([y], [], y)) == ["dataflow-variable"]
    assert codes(function([x], [VarBinding(y, EXP(x))], x, block=DataflowBlock)) == []


def test_dataflow_blocks_hold_no_branches() -> None:
    x, cond, y = tensor(), Var("cond", "bool"), tensor("y")
    assert codes(function([x, cond], [VarBinding(y, If(cond, x, x))], y, block=DataflowBlock)) == [
        "dataflow-block"
    ]


def test_symbols_are_defined_by_parameters_or_casts() -> None:
    n, m = Var("n", "int64"), Var("m", "int64")
    alone, computed = tensor("x", n), tensor("y", n + 1)
    assert codes(Function([alone, computed], alone, None)) == []
    assert codes(Function([computed], computed, None)) == ["undefined-name"]
    cast = tensor("z", m)
    assert codes(function([alone], [MatchCast(cast, alone, cast.ty)], alone)) == []
    assert codes(function([alone], [VarBinding(cast, alone)], alone)) == ["undefined-name"]
    assert codes(function([alone], [MatchCast(cast, alone, cast.ty)], cast, FOUR)) == []
    assert codes(function([alone], [MatchCast(cast, alone, cast.ty)], cast, cast.ty)) == ["undefined-name"]


def test_casts_that_never_hold() -> None:
    x, y = tensor(), tensor("y", 5)
    assert codes(function([x], [MatchCast(y, x, y.ty)], y)) == ["type-mismatch"]
    weak = Var("w", TensorType(None, "float32", None, 1))
    assert codes(function([weak], [MatchCast(y, weak, y.ty)], y)) == []
    other = tensor("y", 6)
    assert codes(function([weak], [MatchCast(other, weak, y.ty)], weak)) == ["type-mismatch"]


def test_values_are_in_normal_form() -> None:
    x, y = tensor(), tensor("y")
    assert codes(function([x], [VarBinding(y, EXP(EXP(x)))], y)) == ["normal-form"]
    assert codes(Function([x], EXP(x), None)) == ["normal-form"]
    pair = Var("p", Tuple([EXP(x)]).ty)
    assert codes(function([x], [VarBinding(pair, Tuple([EXP(x)]))], x)) == ["normal-form"]
    assert codes(function([x], [VarBinding(y, SeqExpr([], x))], y)) == ["normal-form"]


def test_pure_functions_have_no_effects() -> None:
    x, y = tensor(), tensor("y")
    call = Call(ExternFunc("f"), (x,), FOUR, None, (FOUR,))
    assert codes(function([x], [VarBinding(y, call)], y)) == ["impure-call"]
    assert codes(function([x], [VarBinding(y, call)], y, is_pure=False)) == []
    assert codes(function([x], [VarBinding(y, call)], y, attrs={"relax.force_pure": True})) == []
    assert codes(function([x], [VarBinding(y, call)], y, is_pure=False, block=DataflowBlock)) == [
        "impure-call"
    ]


def test_recorded_types_agree_with_derived_ones() -> None:
    x, y = tensor(), tensor("y")
    wrong = EXP(x).replace(ty=TensorType((5,), "float32"))
    assert codes(function([x], [VarBinding(Var("y", wrong.ty), wrong)], x)) == ["type-mismatch"]
    assert codes(function([x], [VarBinding(Var("y", TensorType((5,), "float32")), EXP(x))], x)) == [
        "type-mismatch"
    ]
    misfit = ADD(x, x).replace(args=(x, tensor("z", dtype="int32")))
    assert "operator-types" in codes(function([x], [VarBinding(y, misfit)], y))


def test_results_fit_the_declared_type() -> None:
    x = tensor()
    assert codes(Function([x], x, TensorType((5,), "float32"))) == ["return-type"]
    assert codes(Function([x], x, TensorType(None, "float32"))) == []


def test_branches_fit_the_type_of_the_variable() -> None:
    cond, x, y = Var("cond", "bool"), tensor(), tensor("y", 8)
    wrong = function([cond, x, y], [VarBinding(Var("z", FOUR), If(cond, x, y))], x)
    assert codes(wrong) == ["branch-type"]
    assert codes(function([x], [VarBinding(Var("z", FOUR), If(x, x, x))], x)) == ["condition-type"]


def kernel(*shape: Any) -> ir.PrimFunc:
    buffers = [Var(name, ir.BufferType("float32", shape)) for name in "AB"]
    return ir.PrimFunc(buffers, ir.Evaluate(0))


def test_kernels_take_what_they_are_called_with() -> None:
    x, y = tensor(), tensor("y")
    call = get_op("relax.call_tir")(GlobalVar("k"), [x], FOUR)
    graph = function([x], [VarBinding(y, call)], y)
    assert codes(IRModule({"main": graph, "k": kernel(4)})) == []
    assert codes(IRModule({"main": graph, "k": kernel(4, 4)})) == ["argument-type", "argument-type"]
    assert codes(IRModule({"main": graph, "other": kernel(4)})) == ["unknown-function"]
    more = get_op("relax.call_tir")(GlobalVar("k"), [x, x], FOUR)
    assert codes(IRModule({"main": function([x], [VarBinding(y, more)], y), "k": kernel(4)})) == [
        "argument-count"
    ]


def test_operators_exist() -> None:
    x, y = tensor(), tensor("y")
    assert codes(function([x], [VarBinding(y, Call("relax.nothing", (x,), FOUR))], y)) == ["unknown-operator"]


def test_messages_name_place_and_types() -> None:
    x = tensor()
    (found,) = ir.check_well_formed(Function([x], x, TensorType((5,), "float32")))
    assert 'returns `R.Tensor((5,), dtype="float32")`' in found.message
    assert found.notes == ("at <root>.body",)
    with pytest.raises(IRError, match="return-type"):
        ir.assert_well_formed(Function([x], x, TensorType((5,), "float32")))


def test_a_constant_condition() -> None:
    x, y = tensor(), tensor("y")
    assert codes(function([x], [VarBinding(y, If(tensor_constant(True), x, x))], y)) == []


@settings(max_examples=60)
@given(relax_functions())
def test_generated_functions_are_well_formed(func: Function) -> None:
    assert ir.check_well_formed(func) == []


@settings(max_examples=40)
@given(relax_modules())
def test_generated_modules_are_well_formed(module: IRModule) -> None:
    assert ir.check_well_formed(module) == []
    assert ir.check_well_formed(ir.renew_definitions(module)) == []
