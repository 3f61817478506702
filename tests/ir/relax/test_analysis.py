"""Analyses of graphs: variables, effects, recursion, kernels that only reshape."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright import te
from loopwright.ir import (
    INT64,
    UNIT,
    AnyType,
    ExternFunc,
    FuncType,
    GlobalVar,
    IRModule,
    TupleType,
    Var,
    assert_structural_equal,
)
from loopwright.ir.relax import (
    BindingBlock,
    BlockBuilder,
    Function,
    If,
    SeqExpr,
    ShapeType,
    TensorType,
    VarBinding,
    call_function,
    const,
    get_op,
)
from loopwright.ir.relax import analysis as A
from loopwright.ops.calls import call_packed, call_pure_packed
from loopwright.testing.strategies.relax import relax_functions

exp, add, zeros = [get_op(f"relax.{n}") for n in ("exp", "add", "zeros")]
N, M = Var("n", INT64), Var("m", INT64)
X = Var("x", TensorType([N, M]))
P = Var("p", TensorType([N + 1]))
F32 = TensorType([4])


def sample() -> Function:
    """Two used values, one that is not, a cast with a symbol of its own."""
    k = Var("k", INT64)
    bb = BlockBuilder()
    with bb.function("main", [X, P]):
        with bb.dataflow():
            a = bb.emit(add(X, X), "a")
            b = bb.emit(exp(a), "b")
            bb.emit(exp(b), "dead")
            c = bb.emit_output(bb.match_cast(b, TensorType([N, k]), "c"), "out")
        bb.emit_func_output(bb.emit(exp(c), "q"))
    func = bb.get()["main"]
    assert isinstance(func, Function)
    return func


def names(variables: Any) -> list[str]:
    return [v.name for v in variables]


def test_variables() -> None:
    func = sample()
    assert names(A.all_vars(func)) == ["x", "n", "m", "p", "a", "b", "dead", "c", "k", "out", "q"]
    assert names(A.bound_vars(func)) == ["x", "n", "m", "p", "a", "b", "dead", "c", "k", "out", "q"]
    assert names(A.used_vars(func)) == ["x", "a", "b", "c", "out", "q"]
    assert A.free_vars(func) == [] and names(A.free_vars(func.body)) == ["x"]
    assert names(A.defined_symbolic_vars(func)) == ["n", "m", "k"] and A.free_symbolic_vars(func) == []
    assert names(A.free_symbolic_vars(Function([P], P, P.ty))) == ["n"]
    assert list(A.name_to_binding(func)) == ["a", "b", "dead", "c", "out", "q"]
    assert A.get_var2val(func)[A.name_to_binding(func)["b"][0].var].op.name == "relax.exp"  # type: ignore[attr-defined]


@given(relax_functions())
def test_well_formed_functions_have_no_free_variables(func: Function) -> None:
    assert A.free_vars(func) == [] and A.free_symbolic_vars(func) == []
    bound = A.bound_vars(func)
    assert len(set(bound)) == len(bound) and set(A.used_vars(func)) <= set(A.all_vars(func))
    assert set(bound) <= set(A.all_vars(func))


def test_symbols_in_types() -> None:
    assert A.tir_vars_in_type(P.ty) == [N] and A.definable_tir_vars_in_type(P.ty) == []
    assert A.definable_tir_vars_in_type(FuncType([X.ty, X.ty], UNIT)) == [N, M]
    assert A.definable_tir_vars_in_type(ShapeType([M, 3])) == [M]
    assert A.free_symbolic_vars(Function([Var("f", FuncType([X.ty], X.ty))], const(1.0), None)) == []
    found = A.collect_non_negative_expressions(TupleType([X.ty, P.ty, TensorType([4])]))
    assert found[:2] == [N, M] and len(found) == 3


def test_users_of_variables() -> None:
    chain = A.udchain(sample().body.blocks[0])  # type: ignore[arg-type]
    found = {v.name: names(users) for v, users in chain.items()}
    assert found["a"] == ["b"] and found["b"] == ["dead", "c"] and found["dead"] == []
    assert found["x"] == ["a"] and found["n"] == ["a", "b", "dead", "c", "out"]


def test_unused_bindings_go() -> None:
    bb = BlockBuilder()
    with bb.function("main", [X], pure=False):
        with bb.dataflow():
            bb.emit(exp(bb.emit(exp(X), "unused")))
            kept = bb.emit_output(exp(X), "kept")
        bb.emit(call_packed("effect", X), "effect")
        bb.match_cast(kept, TensorType([M, M]), "cast")
        bb.emit_func_output(kept)
    func = bb.get()["main"]
    assert isinstance(func, Function)
    assert list(A.name_to_binding(A.remove_all_unused(func))) == ["kept", "effect", "cast"]
    again = A.remove_all_unused(A.remove_all_unused(func))
    assert A.remove_all_unused(again) is again
    assert A.remove_all_unused(again.body) is again.body
    assert_structural_equal(A.remove_all_unused(func.body), again.body)


def test_effects() -> None:
    x = Var("x", F32)
    pure, impure = FuncType([F32], F32), FuncType([F32], F32, False)
    assert not A.contains_impure_call(exp(x))
    assert A.contains_impure_call(get_op("relax.print")(x))
    assert A.contains_impure_call(call_packed("f", x, ty_args=F32))
    assert not A.contains_impure_call(call_pure_packed("f", x, ty_args=F32))
    assert not A.contains_impure_call(call_function(ExternFunc("f", pure), [x]))
    assert not A.contains_impure_call(call_function(GlobalVar("g", pure), [x]))
    own = GlobalVar("g", impure)
    assert A.contains_impure_call(call_function(own, [x]))
    assert not A.contains_impure_call(call_function(own, [x]), own)
    assert A.contains_impure_call(call_function(Var("h", AnyType()), [x]))
    branch = If(const(True), call_packed("f", x, ty_args=F32), x)
    assert A.contains_impure_call(branch)
    inner = Function([x], SeqExpr([], call_packed("f", x, ty_args=F32)), F32, False)
    holder = SeqExpr([BindingBlock([VarBinding(Var("f", inner.ty), inner)])], x)
    assert not A.contains_impure_call(holder) and A.contains_impure_call(inner)


def test_recursion() -> None:
    x = Var("x", F32)
    ty = FuncType([F32], F32)
    gvars = {n: GlobalVar(n, ty) for n in "abcd"}

    def calling(name: str) -> Function:
        param = Var("x", F32)
        return Function([param], call_function(gvars[name], [param]), F32)

    table = {
        gvars["a"]: calling("b"),
        gvars["b"]: calling("a"),
        gvars["c"]: calling("c"),
        gvars["d"]: calling("a"),
    }
    groups = A.detect_recursion(IRModule(table))
    assert [[g.name for g in group] for group in groups] == [["a", "b"], ["c"]]
    assert A.all_global_vars(calling("a")) == [gvars["a"]]
    assert A.all_global_vars(x) == []


def test_values_known_when_compiling() -> None:
    w = Var("w", TensorType([M, 4]))
    bb = BlockBuilder()
    with bb.function("main", [X, w], attrs={"num_input": 1}):
        twice = bb.emit(add(w, w), "twice")
        bb.emit(exp(X), "late")
        bb.emit(call_packed("f", w, ty_args=F32), "effect")
        bb.emit(zeros([M], dtype="float32"), "filled")
        bb.emit(zeros([N], dtype="float32"), "unknown")
        k = Var("k", INT64)
        bb.match_cast(twice, TensorType([k, 4]), "cast")
        bb.emit(zeros([k], dtype="float32"), "sized")
        bb.emit_func_output(twice)
    func = bb.get()["main"]
    assert isinstance(func, Function)
    assert names(A.computable_at_compile_time(func)) == ["w", "twice", "filled", "cast", "sized"]
    assert A.computable_at_compile_time(sample()) == []


def kernel(source: list[Any], target: list[Any], place: Any) -> Any:
    bb = BlockBuilder()
    call = bb.call_te(
        lambda a: te.compute(target, lambda *i: a(*place(*i)), name="copy"), Var("a", TensorType(source))
    )
    return bb.get()[call.args[0].name]


@given(st.sampled_from([([6], [2, 3]), ([2, 3], [6]), ([4, 6], [2, 3, 4]), ([2, 12], [3, 8])]), st.booleans())
def test_kernels_that_only_reshape(shapes: Any, right: bool) -> None:
    source, target = shapes

    def place(*indices: Any) -> list[Any]:
        flat: Any = 0
        for index, size in zip(indices, target):
            flat = flat * size + index
        flat = flat if right else 23 - flat
        found = []
        for size in reversed(source):
            found.append(flat % size)
            flat = flat // size
        return found[::-1]

    assert A.has_reshape_pattern(kernel(source, target, place)) is right


def test_symbolic_reshapes_and_transposes() -> None:
    assert A.has_reshape_pattern(kernel([N, 4], [N * 4], lambda i: (i // 4, i % 4)))
    assert A.has_reshape_pattern(kernel([N, 4], [1, N, 4], lambda z, i, j: (i, j)))
    assert A.has_reshape_pattern(kernel([1, N], [N], lambda i: (0, i % N)))
    assert A.has_reshape_pattern(kernel([N, 4], [1, N, 4], lambda z, i, j: ((z * N + i) % N, j)))
    assert not A.has_reshape_pattern(kernel([1, N], [N], lambda i: (0, (i + 1) % N)))
    assert not A.has_reshape_pattern(kernel([N, N], [N, N], lambda i, j: (j, i)))
    assert not A.has_reshape_pattern(kernel([8, 8], [4, 8], lambda i, j: (i, j)))
    bb = BlockBuilder()
    call = bb.call_te(lambda a: te.compute(a.shape, lambda i: a[i] + 1), P)
    assert not A.has_reshape_pattern(bb.get()[call.args[0].name])  # type: ignore[arg-type]


def test_each_expression_after_its_operands() -> None:
    seen: list[str] = []
    A.post_order_visit(exp(add(X, X)), lambda e: seen.append(getattr(getattr(e, "op", e), "name", "")))
    assert [n for n in seen if n.startswith(("relax", "x"))] == ["x", "x", "relax.add", "relax.exp"]


@pytest.mark.parametrize("known", [{}, {N: N}, {N: N, M: M}])
def test_types_without_unknown_symbols(known: dict[Any, Any]) -> None:
    want = X.ty if len(known) == 2 else TensorType(None, "float32", None, 2)
    assert A.erase_to_well_defined(X.ty, known) == want
    call = call_function(GlobalVar("f", FuncType([X.ty], X.ty)), [X])
    assert A.derive_call_ret_type(FuncType([X.ty], X.ty), call) == X.ty
