"""Operators that call, that work on memory, and that look at tensors: types, refusals, round trips."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopwright.errors import DTypeError
from loopwright.ir import (
    BOOL,
    INT64,
    UNIT,
    AnyType,
    ExternFunc,
    GlobalVar,
    PrimType,
    StringImm,
    Tuple,
    TupleType,
    Var,
    VDevice,
    structural_equal,
)
from loopwright.ir.relax import DataTypeImm, ShapeExpr, ShapeType, TensorType, find_op, op_of
from loopwright.ops import calls as K
from loopwright.ops import control as C
from loopwright.ops import memory as M

N, M_ = Var("n", INT64), Var("m", INT64)
X = Var("x", TensorType([2, N]))
Y = Var("y", TensorType([2]))
FLAG = Var("flag", TensorType([], "bool"))
ANY = Var("o", AnyType())
F = GlobalVar("f")
GPU = VDevice("cuda", 0)

MADE = [
    (lambda: K.call_tir(F, X, X.ty), X.ty),
    (lambda: K.call_tir(F, (X, 3), [X.ty, Y.ty]), TupleType([X.ty, Y.ty])),
    (lambda: K.call_tir_inplace(F, (X, Y), [0, -1], [X.ty, Y.ty]), TupleType([X.ty, Y.ty])),
    (lambda: K.call_tir_with_grad(F, X, X.ty, "g", {"k": 1}), X.ty),
    (lambda: K.call_dps_packed("f", X, Y.ty), Y.ty),
    (lambda: K.call_pure_packed("f", X, 1, ty_args=Y.ty), Y.ty),
    (lambda: K.call_pure_packed("f", ty_args=[Y.ty, X.ty]), TupleType([Y.ty, X.ty])),
    (lambda: K.call_inplace_packed("f", X, inplace_indices=0, ty_args=X.ty), X.ty),
    (lambda: K.call_builtin_with_ctx("vm.builtin.f", (X, 3)), AnyType()),
    (lambda: K.call_builtin_with_ctx("vm.builtin.f", (X,), Y.ty), Y.ty),
    (lambda: K.call_py_func("f", X, Y.ty), Y.ty),
    (lambda: C.make_closure(ANY, (X, Y)), AnyType()),
    (lambda: C.invoke_closure(ANY, X, Y.ty), Y.ty),
    (lambda: C.invoke_pure_closure(ANY, (), [Y.ty]), Y.ty),
    (lambda: C.assert_op(FLAG, (X, Y), "x is {}"), UNIT),
    (lambda: C.assert_op(Var("b", BOOL)), UNIT),
    (lambda: C.print(X, 3, format="{} {}"), UNIT),
    (lambda: C.null_value(), AnyType()),
    (lambda: C.to_vdevice(X, GPU), TensorType([2, N], "float32", GPU)),
    (lambda: C.hint_on_device(X, "cuda:0"), X.ty),
    (lambda: C.shape_of(X), ShapeType([2, N])),
    (lambda: C.shape_to_tensor([2, N]), TensorType([2], "int64")),
    (lambda: C.tensor_to_shape(Var("s", TensorType([3], "int64"))), ShapeType(ndim=3)),
    (lambda: C.tensor_to_shape(Var("s", TensorType([N], "int64"))), ShapeType()),
    (lambda: C.size(X), TensorType([], "int64")),
    (lambda: M.alloc_storage([16], 0, "global", "uint8"), AnyType()),
    (lambda: M.alloc_tensor(ANY, 0, [N], "int8"), TensorType([N], "int8")),
    (lambda: M.kill_tensor(X), UNIT),
    (lambda: M.kill_storage(ANY), UNIT),
    (lambda: M.view(Y, [1, 2]), TensorType([1, 2])),
    (lambda: M.view(Y, dtype="int32"), TensorType([2], "int32")),
    (lambda: M.view(Y, dtype="int8"), TensorType([2], "int8")),
    (lambda: M.view(X, [M_], dtype="int8"), TensorType([M_], "int8")),
    (lambda: M.view(Y, [8], "uint8"), TensorType([8], "uint8")),
    (lambda: M.view(Y, [1], None, 4), TensorType([1])),
    (lambda: M.view(X, [N]), TensorType([N])),
    (lambda: M.view(Y, [1]), TensorType([1])),
    (lambda: M.ensure_zero_offset(X), X.ty),
    (lambda: M.vm_alloc_storage([16], 0, "uint8"), AnyType()),
    (lambda: M.vm_alloc_tensor(ANY, 0, [N], "int8"), TensorType([N], "int8")),
    (lambda: M.call_tir_dyn("f", (X,)), UNIT),
    (lambda: M.kill_object(ANY), UNIT),
    (lambda: M.builtin_alloc_tensor([N], "float16", 0), TensorType([N], "float16")),
    (lambda: M.stop_lift_params(X), X.ty),
    (lambda: M.tensor_ndim(X), PrimType("int32")),
    (lambda: M.tensor_shape_i(X, 1), INT64),
    (lambda: M.tensor_dtype_lanes(X), PrimType("uint16")),
]


@pytest.mark.parametrize(("make", "ty"), MADE)
def test_the_type_of_a_call_and_the_way_back(make: Any, ty: Any) -> None:
    call = make()
    assert call.ty == ty
    rec = op_of(call)
    assert rec is not None and rec.make(rec.values(call)).replace(span=None).ty == ty
    assert structural_equal(rec.again(call, call.args), call)


def test_how_arguments_are_kept() -> None:
    call = K.call_dps_packed("f", (X, 3), Y.ty)
    assert isinstance(call.args[0], ExternFunc) and isinstance(call.args[1], Tuple)
    assert str(call.args[1].fields_[1].dtype) == "int64" and call.ty_args == (Y.ty,)
    pair = Var("pair", TupleType([X.ty, Y.ty]))
    unpacked = K.call_tir(F, pair, X.ty).args[1]
    assert [f.ty for f in unpacked.fields_] == [X.ty, Y.ty]
    storage = M.alloc_storage([16], 0, "global", "uint8")
    shape, index, scope, dtype = storage.args
    assert isinstance(shape, ShapeExpr) and isinstance(scope, StringImm) and isinstance(dtype, DataTypeImm)
    assert index.value == 0 and not storage.attrs
    assert C.hint_on_device(X, GPU).attrs["dst_vdevice"] is GPU


def test_packed_calls() -> None:
    call = K.call_packed("f", X, 2, ty_args=Y.ty, mode="fast")
    assert isinstance(call.op, ExternFunc) and call.ty == Y.ty and call.attrs["mode"] == "fast"
    assert K.call_packed("f", X).ty == AnyType() and K.call_packed("f", ty_args=[X.ty, Y.ty]).ty == TupleType(
        [X.ty, Y.ty]
    )
    with pytest.raises(DTypeError, match="must be a function"):
        K.call_packed(X)


REFUSED = [
    (lambda: K.call_tir(X, (), X.ty), "names a function of the module"),
    (lambda: K.call_tir(F, (), INT64), "must be the type of a tensor"),
    (lambda: K.call_tir(F, (), TensorType(None, "float32", None, 2)), "must state shape and dtype"),
    (lambda: K.call_tir(F, ((X, Y),), X.ty), "argument 0 must be a tensor or a scalar"),
    (lambda: K.call_tir_inplace(F, X, -1, X.ty), "no result is in place"),
    (lambda: K.call_tir_inplace(F, X, 1, X.ty), "no argument 1"),
    (lambda: K.call_tir_inplace(F, X, [0, 0], X.ty), "2 `inplace_indices` for 1 results"),
    (lambda: K.call_tir_inplace(F, X, [0, 0], [X.ty, X.ty]), "into one argument"),
    (lambda: K.call_tir_inplace(F, (1,), 0, X.ty), "it must be a tensor"),
    (lambda: K.call_inplace_packed("f", X, inplace_indices=2, ty_args=X.ty), "no argument 2"),
    (lambda: K.call_inplace_packed("f", X, inplace_indices=-1, ty_args=X.ty), "no result is in place"),
    (lambda: K.call_pure_packed("f", X), "`ty_args` is missing"),
    (lambda: K.call_pure_packed("f", X, ty_args=3), "must be types"),
    (lambda: K.call_py_func(X, (), X.ty), "the name of a function"),
    (lambda: C.make_closure(X, ()), "must be a function"),
    (lambda: C.invoke_closure(X, (), X.ty), "must be a closure"),
    (lambda: C.assert_op(X), "a bool or a bool tensor of rank 0"),
    (lambda: C.assert_op(N), "must be a bool"),
    (lambda: C.to_vdevice(X, "cuda"), "a device of the module"),
    (lambda: C.tensor_to_shape(X), "must be of `int64`"),
    (lambda: C.tensor_to_shape(Var("s", TensorType([1, 1], "int64"))), "one dimension, not 2"),
    (lambda: M.view(Y, [1, 3]), r"a view of shape \(1, 3\) reaches 12 bytes, the tensor has 8"),
    (lambda: M.view(Y, [2], None, 4), "reaches 12 bytes"),
    (lambda: M.view(X, [2, N + 1]), "reaches"),
    (lambda: M.view(Var("u", TensorType([N], None)), [N + 1]), "elements, the tensor has n"),
    (lambda: M.view(Y, [2], None, -4), "is negative"),
    (lambda: M.view(Y, dtype="int64"), "as many elements of `int64`"),
    (lambda: M.view(ANY, relative_byte_offset=4), "from byte 4 on do not fit"),
    (lambda: M.tensor_shape_i(X, 2), "none with number 2"),
    (lambda: M.alloc_tensor(ANY, 0, [N], 3), "must be a dtype"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED)
def test_refusals_name_the_operator(make: Any, message: str) -> None:
    with pytest.raises(DTypeError, match=message) as caught:
        make()
    assert "R." in str(caught.value)


def test_numpy_meanings() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)

    def run(name: str, *args: Any, **attrs: Any) -> Any:
        rec = find_op(f"relax.{name}")
        assert rec is not None and rec.numpy is not None
        return rec.numpy(*args, **attrs)

    assert run("shape_of", array) == (2, 3) and run("tensor_to_shape", np.array([4, 5])) == (4, 5)
    assert run("shape_to_tensor", (4, 5)).tolist() == [4, 5] and int(run("size", array)) == 6
    assert run("memory.view", array, (3,), np.dtype("float32"), 12).tolist() == [3, 4, 5]
    assert run("inspect.tensor_stride_i", array, 0) == 3 and run("inspect.tensor_shape_i", array, 1) == 3
    assert [run(f"inspect.tensor_dtype_{part}", array) for part in ("code", "bits", "lanes")] == [2, 32, 1]
