"""The oracle of the graph dialect: each kind of expression means what it should."""

from __future__ import annotations

import numpy as np
import pytest

from loopwright import te
from loopwright.errors import ArgumentTypeError, ArgumentValueError, UnsupportedError
from loopwright.ir import (
    Call,
    ExternFunc,
    GlobalVar,
    IRModule,
    Op,
    PrimType,
    Tuple,
    TupleGetItem,
    TupleType,
    Var,
)
from loopwright.ir.relax import (
    BindingBlock,
    Function,
    If,
    MatchCast,
    SeqExpr,
    ShapeExpr,
    ShapeType,
    TensorType,
    VarBinding,
    const,
    get_op,
)
from loopwright.runtime import register_func
from loopwright.testing.graphs import evaluate

N = Var("n", PrimType("int64"))
X = Var("x", TensorType((N, 2)))
ARRAY = np.arange(6, dtype="float32").reshape(3, 2)


def function(*bindings: object, result: object, params: object = (X,)) -> Function:
    return Function(params, SeqExpr([BindingBlock(bindings)], result), None)


def double(outputs: int = 1) -> object:
    n = Var("n", PrimType("int64"))
    a = te.placeholder((n, 2), name="a")
    made = [te.compute((n, 2), lambda i, j, k=k: a[i, j] * (2.0 + k), name=f"b{k}") for k in range(outputs)]
    return te.create_prim_func([a, *made])


def test_operators_tuples_and_constants() -> None:
    y = Var("y", X.ty)
    both = Tuple([y, const(ARRAY)])
    pair = Var("pair", both.ty)
    f = function(VarBinding(y, get_op("relax.exp")(X)), VarBinding(pair, both), result=TupleGetItem(pair, 0))
    want = np.exp(ARRAY.astype("float64")).astype("float32")
    np.testing.assert_array_equal(evaluate(f, ARRAY), want)


def test_shapes_bind_symbols_and_arithmetic_uses_them() -> None:
    f = function(result=ShapeExpr([N * 2 + 1, 7]))
    assert evaluate(f, ARRAY) == (7, 7)


def test_a_branch_is_taken() -> None:
    c = Var("c", TensorType((), "bool"))
    f = Function([c], If(c, const(1), const(2)), None)
    assert evaluate(f, np.asarray(True)) == 1
    assert evaluate(f, np.asarray(False)) == 2


def test_match_cast_binds_and_refuses() -> None:
    m = Var("m", PrimType("int64"))
    unknown = Var("u", TensorType(None, "float32", ndim=1))
    y = Var("y", TensorType((m * 2,)))
    known = Var("k", TensorType((m,)))
    first = MatchCast(known, unknown, known.ty)
    f = function(first, result=ShapeExpr([m]), params=(unknown,))
    assert evaluate(f, np.zeros(4, "float32")) == (4,)
    f = function(first, MatchCast(y, known, y.ty), result=ShapeExpr([m]), params=(unknown,))
    with pytest.raises(ArgumentValueError, match=r"`y` has the shape \(4,\), its type says \(8,\)"):
        evaluate(f, np.zeros(4, "float32"))


def test_arguments_are_checked() -> None:
    f = function(result=X)
    with pytest.raises(ArgumentValueError, match=r"parameter `x` of `main` has the rank 1"):
        evaluate(f, np.zeros(4, "float32"))
    with pytest.raises(ArgumentTypeError, match="is of `float64`, its type says `float32`"):
        evaluate(f, np.zeros((4, 2)))
    with pytest.raises(ArgumentTypeError, match="takes 1 arguments but 0"):
        evaluate(f)


def test_a_type_rule_that_is_wrong_shows() -> None:
    wrong = Call(Op("relax.exp"), [X], TensorType((N, 3)))
    with pytest.raises(AssertionError, match=r"`R.exp` has the shape \(3, 2\), its type says \(3, 3\)"):
        evaluate(Function([X], wrong, TensorType(None, "float32", ndim=2)), ARRAY)


def test_nested_functions_see_what_is_around_them() -> None:
    v = Var("v", X.ty)
    inner = Function([v], SeqExpr([], Tuple([v, X])), None)
    local = Var("local", inner.ty)
    f = function(VarBinding(local, inner), result=Call(local, [const(ARRAY + 1)], inner.ret_ty))
    a, b = evaluate(f, ARRAY)
    np.testing.assert_array_equal(a, ARRAY + 1)
    np.testing.assert_array_equal(b, ARRAY)


def test_functions_of_the_module_and_loop_programs() -> None:
    gv = GlobalVar("double")
    out = TensorType((N, 2))
    call = Call(Op("relax.call_tir"), [gv, Tuple([X])], out, {}, [out])
    helper = Function([X], call, None)
    main = Function([X], Call(GlobalVar("helper"), [X], X.ty), X.ty)
    mod = IRModule({gv: double(), "helper": helper, "main": main})
    np.testing.assert_array_equal(evaluate(mod, ARRAY), ARRAY * 2)


def test_several_outputs_and_in_place() -> None:
    gv = GlobalVar("double")
    out = TupleType([TensorType((N, 2))] * 2)
    call = Call(Op("relax.call_tir"), [gv, Tuple([X])], out, {}, [out])
    mod = IRModule({gv: double(2), "main": Function([X], call, None)})
    a, b = evaluate(mod, ARRAY)
    np.testing.assert_array_equal(a, ARRAY * 2)
    np.testing.assert_array_equal(b, ARRAY * 3)

    n = Var("n", PrimType("int64"))
    a = te.placeholder((n, 2), name="a")
    one = te.create_prim_func([te.compute((n, 2), lambda i, j: te.const(1.0, "float32"), name="one")])
    call = Call(
        Op("relax.call_tir_inplace"), [gv, Tuple([X])], X.ty, {"inplace_indices": (0,)}, [TensorType((N, 2))]
    )
    given = ARRAY.copy()
    mod = IRModule({gv: one, "main": Function([X], call, None)})
    np.testing.assert_array_equal(evaluate(mod, given), np.ones((3, 2)))
    np.testing.assert_array_equal(given, ARRAY)


def test_registered_functions() -> None:
    register_func("test_graphs.add_one", lambda x: x.numpy() + 1, override=True)
    call = Call(ExternFunc("test_graphs.add_one"), [X], TensorType(None, "float32", ndim=2))
    np.testing.assert_array_equal(evaluate(Function([X], call, None), ARRAY), ARRAY + 1)


def test_an_operator_without_meaning_is_refused() -> None:
    call = Call(Op("relax.null_value"), [], ShapeType(ndim=1))
    with pytest.raises((UnsupportedError, ValueError), match="null_value"):
        evaluate(Function([], call, None))
