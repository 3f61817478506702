"""BlockBuilder: names, normal form, functions, kernels from tensor expressions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright import te
from loopwright.errors import DTypeError, IRError
from loopwright.ir import (
    BufferType,
    Call,
    For,
    GlobalVar,
    IntImm,
    PrimFunc,
    Tuple,
    TupleGetItem,
    TupleType,
    Var,
    walk,
)
from loopwright.ir.analysis import check_well_formed
from loopwright.ir.relax import (
    BlockBuilder,
    DataflowBlock,
    DataflowVar,
    Function,
    If,
    MatchCast,
    SeqExpr,
    ShapeExpr,
    TensorType,
    VarBinding,
    call_function,
    const,
    get_op,
)
from loopwright.ir.relax.normal_form import is_atom
from loopwright.testing.graphs import evaluate

exp, add, negative = [get_op(f"relax.{n}") for n in ("exp", "add", "negative")]
N, M = Var("n", "int64"), Var("m", "int64")
X = Var("x", TensorType([N, M]))


def bindings(func: Any) -> list[Any]:
    return [b for block in func.body.blocks for b in block.bindings]


def main_of(bb: BlockBuilder) -> Any:
    return bb.get()["main"]


def test_names_and_blocks() -> None:
    bb = BlockBuilder()
    with bb.function("main", [X]):
        with bb.dataflow():
            assert bb.current_block_is_dataflow() and BlockBuilder.current() is bb
            a = bb.emit(exp(X))
            b = bb.emit_output(add(a, a))
        c = bb.emit(exp(b))
        gvar = bb.emit_func_output(c)
    assert BlockBuilder.current() is None
    assert [v.name for v in (a, b, c)] == ["lv", "gv", "gv1"] and gvar.name == "main"
    assert type(a) is DataflowVar and type(b) is Var and type(c) is Var
    func = main_of(bb)
    assert [type(block) is DataflowBlock for block in func.body.blocks] == [True, False]
    assert func.attrs["global_symbol"] == "main" and func.ret_ty == X.ty
    assert bb.lookup_binding(b).op.name == "relax.add" and bb.lookup_binding(X) is None
    assert not [d for d in check_well_formed(bb.get()) if d.severity == "error"]


def test_values_get_names_before_they_are_arguments() -> None:
    bb = BlockBuilder()
    with bb.function("main", [X], private=True):
        with bb.dataflow():
            out = bb.emit_output((add(exp(X), X), TupleGetItem(Tuple([exp(X), X]), 0)))
        bb.emit_func_output(out)
    func = main_of(bb)
    assert "global_symbol" not in func.attrs
    for binding in bindings(func):
        for part in getattr(binding.value, "args", ()) or getattr(binding.value, "fields_", ()):
            assert is_atom(part)
    x = np.ones((2, 3), np.float32)
    found = evaluate(func, x)
    assert np.allclose(found[0], np.exp(x) + x) and np.allclose(found[1], np.exp(x))


def test_branches_have_scopes_of_their_own() -> None:
    flag = Var("flag", TensorType([], "bool"))
    bb = BlockBuilder()
    with bb.function("main", [flag, X]):
        out = bb.emit(If(flag, exp(exp(X)), X))
        bb.emit_func_output(out)
    func = main_of(bb)
    (binding,) = bindings(func)
    assert [len(b.blocks) for b in (binding.value.true_branch, binding.value.false_branch)] == [1, 0]
    x = np.full((1, 2), 0.5, np.float32)
    assert np.allclose(evaluate(func, np.array(True), x), np.exp(np.exp(x)))
    assert np.allclose(evaluate(func, np.array(False), x), x)


def test_a_sequence_is_spliced_into_the_open_block() -> None:
    inner = Var("inner", X.ty)
    seq = SeqExpr([DataflowBlock([VarBinding(inner, exp(X))])], add(inner, inner))
    bb = BlockBuilder()
    with bb.function("main", [X]):
        bb.emit_func_output(bb.emit(seq))
    func = main_of(bb)
    assert [b.var.name for b in bindings(func)] == ["inner", "gv"]
    x = np.zeros((1, 1), np.float32)
    assert evaluate(func, x)[0, 0] == 2


def test_results_forget_sizes_known_only_inside() -> None:
    k = Var("k", "int64")
    bb = BlockBuilder()
    with bb.function("main", [X]):
        with bb.dataflow():
            cast = bb.match_cast(X, TensorType([k, M]))
            out = bb.emit_output(exp(cast))
        bb.emit_func_output(out)
    func = main_of(bb)
    assert isinstance(bindings(func)[0], MatchCast) and out.ty == TensorType([k, M])
    assert func.ret_ty == TensorType(None, "float32", None, 2)


def test_equal_functions_share_a_name() -> None:
    bb = BlockBuilder()

    def double(a: Any) -> Any:
        return te.compute(a.shape, lambda i, j: a[i, j] * 2, name="y")

    first, second = bb.call_te(double, X), bb.call_te(double, Var("z", TensorType([N, M])))
    other = bb.call_te(double, Var("z", TensorType([N, 4])))
    assert first.args[0] is second.args[0] and other.args[0] is not first.args[0]
    assert [g.name for g in bb.get().functions] == ["double", "double1"]


def test_what_a_te_function_gets() -> None:
    seen: list[Any] = []

    def function(a: Any, pair: Any, shape: Any, count: Any, plain: int, text: str = "") -> Any:
        seen.extend([pair, shape, count, plain, text])
        return [te.compute((count,), lambda i: a[i, 0] + pair[0][i, 0] + plain), pair[1]]

    y = Var("y", TensorType([N, M]))
    bb = BlockBuilder()
    with bb.function("main", [X, y]):
        call = bb.call_te(function, X, (y, y), ShapeExpr([N, 2]), N * 2, 3, text="t", primfunc_name_hint="k")
        bb.emit_func_output(bb.emit(call))
    pair, shape, count, plain, text = seen
    assert all(isinstance(p, te.Tensor) for p in pair) and len(pair) == 2
    assert shape[0] is N and shape[1].value == 2 and (plain, text) == (3, "t")
    assert [a.name for a in call.args[1].fields_] == ["x", "y", "y"] and call.args[0].name == "k"
    assert call.ty == TupleType([TensorType([N * 2]), TensorType([N, M])])


def test_symbols_that_no_shape_defines_are_scalars() -> None:
    y = Var("y", TensorType([N + 1]))
    k = Var("k", "int32")
    bb = BlockBuilder()
    call = bb.call_te(lambda a, k: te.compute(a.shape, lambda i: a[i] * k, name="z"), y, k)
    assert [a.name for a in call.args[1].fields_] == ["y", "n", "k"]
    (func,) = bb.get().functions.values()
    assert isinstance(func, PrimFunc) and [p.name for p in func.params] == ["y", "n", "k", "z"]
    assert "global_symbol" not in func.attrs and func.attrs["tirx.noalias"]


def test_equal_operators_share_a_kernel_whatever_their_symbols() -> None:
    bb = BlockBuilder()
    y = Var("y", TensorType([M + 1, M]))
    z = Var("z", TensorType([N + 1, N]))
    first, second = bb.call_kernel(exp(y)), bb.call_kernel(exp(z))
    assert first.args[0] is second.args[0] and len(bb.get().functions) == 1
    assert second.ty == z.ty and second.args[1].fields_[0] is z
    rectangle = bb.call_kernel(exp(Var("w", TensorType([N + 1, M]))))
    assert rectangle.args[0] is not first.args[0]
    with pytest.raises(IRError, match="no tensor expression"):
        bb.call_kernel(get_op("relax.print")(X))


def test_an_input_given_back_is_copied() -> None:
    bb = BlockBuilder()
    with bb.function("main", [X]):
        bb.emit_func_output(bb.emit_te(lambda a: a, X))
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert np.array_equal(evaluate(bb.get(), x), x)


@pytest.mark.parametrize("unknown", [TensorType(None, "float32", None, 2), TensorType([4], None)])
def test_kernels_need_shapes_and_dtypes(unknown: TensorType) -> None:
    with pytest.raises(DTypeError, match="a kernel needs the"):
        BlockBuilder().call_te(lambda a: a, Var("x", unknown))


def test_te_functions_give_tensors() -> None:
    with pytest.raises(DTypeError, match="must give tensors of te"):
        BlockBuilder().call_te(lambda a: 3, X)


def test_misuse() -> None:
    bb = BlockBuilder()
    with pytest.raises(IRError, match="no function to put a binding into"):
        bb.emit(exp(X))
    with pytest.raises(IRError, match="has no result"), bb.function("main", [X]):
        bb.emit(exp(X))
    with (
        pytest.raises(IRError, match="inside of `main`"),
        bb.function("main", [X]),
        bb.function("other", [X]),
    ):
        pass
    with pytest.raises(IRError, match="inside of another"), bb.function("main", [X]):
        with bb.dataflow(), bb.dataflow():
            pass
    with pytest.raises(IRError, match="outside of a dataflow block"), bb.function("main", [X]):
        bb.emit_output(exp(X))
    with pytest.raises(IRError, match="is not ended"), bb.function("main", [X]), bb.dataflow():
        bb.emit_func_output(X)
    with pytest.raises(IRError, match="given twice"), bb.function("main", [X]):
        bb.emit_func_output(X, [X])
    with pytest.raises(IRError, match="is a variable"), bb.function("main", [3]):  # type: ignore[list-item]
        pass
    with pytest.raises(IRError, match="no function `gone`"):
        bb.update_func(GlobalVar("gone"), Function([X], X, X.ty))
    with bb.function("main", [X]):
        bb.emit_func_output(X)
    with bb.function("main", [X]):
        assert bb.emit_func_output(exp(X)).name == "main1"
    with pytest.raises(RuntimeError, match="are not given"), bb.function("other"):
        bb.emit_func_output(X)


def test_public_functions_keep_their_names_in_the_end() -> None:
    bb = BlockBuilder()
    with bb.function("f", [X], private=True):
        first = bb.emit_func_output(exp(X))
    y = Var("y", TensorType([2, 3]))
    with bb.function("f", [y]):
        bb.emit_func_output(bb.emit(call_function(first, [y])))
    final = bb.finalize()
    assert [g.name for g in bb.get().functions] == ["f", "f1"] and [g.name for g in final.functions] == [
        "f1",
        "f",
    ]
    assert final["f"].body.blocks[0].bindings[0].value.op.name == "f1"  # type: ignore[attr-defined]
    assert not [d for d in check_well_formed(final) if d.severity == "error"]


def test_sequences_in_dataflow_blocks_become_part_of_them() -> None:
    inner = Var("inner", X.ty)
    seq = SeqExpr([DataflowBlock([VarBinding(inner, exp(X))])], add(inner, inner))
    bb = BlockBuilder()
    with bb.function("main", [X]):
        with bb.dataflow():
            before = bb.emit(exp(X))
            out = bb.emit_output(add(before, seq))
        bb.emit_func_output(out)
    assert len(main_of(bb).body.blocks) == 1
    assert not [d for d in check_well_formed(bb.get()) if d.severity == "error"]


def test_indices_of_kernels_are_as_wide_as_sizes() -> None:
    k = Var("k", "int32")
    bb = BlockBuilder()
    call = bb.call_te(lambda a, k: te.compute((4, 4), lambda i, j: a[i, j] * k), X, k)
    func = bb.get()[call.args[0].name]
    assert isinstance(func, PrimFunc)
    loops = [n for n in walk(func) if isinstance(n, For)]
    assert {str(loop.loop_var.dtype) for loop in loops} == {"int64"}
    given = call.args[1].fields_
    assert [str(p.dtype) for p in func.params if not isinstance(p.ty, BufferType)] == [str(given[1].dtype)]


def test_scopes_outside_of_functions() -> None:
    bb = BlockBuilder()
    with bb.testing_scope([N, M]):
        var = bb.emit(exp(X))
    assert bb.lookup_binding(var).op.name == "relax.exp"
    call = bb.normalize(exp(X))
    assert bb.normalize(call) is call
    bb.begin_scope()
    bb.emit(exp(exp(X)))
    (block,) = bb.end_scope()
    assert len(block.bindings) == 2


def trees(depth: int) -> st.SearchStrategy[Any]:
    """Expressions of nested calls, with the same on numpy."""
    leaf = st.sampled_from([(X, lambda x: x), (const(2.0), lambda x: np.float32(2))])
    unary = st.deferred(lambda: trees(depth - 1)).map(lambda t: (negative(t[0]), lambda x: -t[1](x)))
    pair = st.tuples(st.deferred(lambda: trees(depth - 1)), st.deferred(lambda: trees(depth - 1)))
    binary = pair.map(lambda p: (add(p[0][0], p[1][0]), lambda x: p[0][1](x) + p[1][1](x)))
    field = pair.map(lambda p: (TupleGetItem(Tuple([p[0][0], p[1][0]]), 1), p[1][1]))
    return leaf if depth == 0 else leaf | unary | binary | field


@given(trees(4))
def test_nested_expressions_mean_the_same_in_normal_form(tree: Any) -> None:
    expr, meaning = tree
    bb = BlockBuilder()
    with bb.function("main", [X]):
        bb.emit_func_output(bb.emit(expr))
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    func = main_of(bb)
    assert np.array_equal(evaluate(func, x), meaning(x))
    again = BlockBuilder()
    again.begin_scope()
    assert again.normalize(func) is func
    assert all(isinstance(b.value, Call | Tuple | TupleGetItem) or is_atom(b.value) for b in bindings(func))


def test_call_te_with_grad() -> None:
    call = BlockBuilder().call_te_with_grad(
        lambda a: te.compute(a.shape, lambda *i: a(*i) + 1), X, te_grad_name="g", te_grad_kwargs={"k": 1}
    )
    assert call.op.name == "relax.call_tir_with_grad" and call.attrs["te_grad_name"] == "g"
    assert isinstance(call.attrs["te_grad_kwargs"]["k"], int | IntImm)
