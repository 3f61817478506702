"""Operators that call a kernel, an external function or a function of the runtime.

The result's type is what the caller states.  Kernels (`call_tir` and its kin) write into tensors that are
allocated for them; several results are a tuple.  Scalars that a kernel takes stand behind its tensors.
"""

from __future__ import annotations

from typing import Any

from ..ir import Expr, GlobalVar, Tuple, TupleType, Type
from ..ir.relax import OpPattern, ShapeType, TensorType, call_packed, relax_op
from ..ir.relax.call_type import stated_result
from ..ir.relax.op import Args, Callee, Ints, Operand, OutType, Types
from ..ir.types import AnyType, PrimType, StringType
from .faults import shape_fault, type_fault
from .infer import describe

NO_PROGRAM = {
    "te": "the function that is called says what is computed",
    "numpy": "the function that is called says what is computed",
    "gradient": "nothing is known of the derivative of the function that is called",
    "layout": "the function that is called expects the layout it was written for",
}


def _kernel(op: str, func: Expr, args: Tuple, result: Type) -> Type:
    if not isinstance(func, GlobalVar):
        type_fault(op, f"`gvar` names a function of the module, it is no {type(func).__name__}")
    return _destination(op, args, result)


def _destination(op: str, args: Tuple, result: Type) -> Type:
    for i, arg in enumerate(args.fields_):
        if not isinstance(arg.ty, TensorType | PrimType | ShapeType | AnyType):
            type_fault(op, f"argument {i} must be a tensor or a scalar, not {describe(arg.ty)}")
    results = result.fields_ if isinstance(result, TupleType) else (result,)
    for ty in results:
        if not isinstance(ty, TensorType):
            type_fault(op, f"`out_ty` must be the type of a tensor or of several, not {describe(ty)}")
        if ty.shape is None or ty.dtype is None:
            type_fault(op, "`out_ty` must state shape and dtype: the result is allocated before the call")
    return result


@relax_op("relax.call_tir", pattern=OpPattern.OPAQUE, lacks=NO_PROGRAM)
def call_tir(gvar: Callee, args: Args, out_ty: OutType) -> Type:
    """The result of a kernel of the module, written into new tensors of the stated type."""
    return _kernel("call_tir", gvar, args, out_ty)


@relax_op("relax.call_tir_inplace", pattern=OpPattern.OPAQUE, lacks=NO_PROGRAM)
def call_tir_inplace(gvar: Callee, args: Args, inplace_indices: Ints, out_ty: OutType) -> Type:
    """As `call_tir`; result i is written into argument `inplace_indices[i]`, or is new where that is -1."""
    result = _kernel("call_tir_inplace", gvar, args, out_ty)
    count = len(out_ty.fields_) if isinstance(out_ty, TupleType) else 1
    if len(inplace_indices) != count:
        shape_fault("call_tir_inplace", f"{len(inplace_indices)} `inplace_indices` for {count} results")
    if all(i == -1 for i in inplace_indices):
        shape_fault("call_tir_inplace", "no result is in place", "call it by `R.call_tir`")
    taken = [i for i in inplace_indices if i != -1]
    for i in taken:
        if not 0 <= i < len(args.fields_):
            shape_fault("call_tir_inplace", f"there is no argument {i} to write into")
        if not isinstance(args.fields_[i].ty, TensorType):
            type_fault("call_tir_inplace", f"argument {i} is written into, so it must be a tensor")
    if len(set(taken)) != len(taken):
        shape_fault("call_tir_inplace", "two results are written into one argument")
    return result


@relax_op(
    "relax.call_tir_with_grad",
    pattern=OpPattern.OPAQUE,
    lacks={**NO_PROGRAM, "gradient": "the kernel named by te_grad_name computes it"},
)
def call_tir_with_grad(
    gvar: Callee, args: Args, out_ty: OutType, te_grad_name: str, te_grad_kwargs: Any | None = None
) -> Type:
    """As `call_tir`; the tensor expression registered under `te_grad_name` computes the gradient."""
    return _kernel("call_tir_with_grad", gvar, args, out_ty)


@relax_op("relax.call_dps_packed", pattern=OpPattern.OPAQUE, lacks=NO_PROGRAM)
def call_dps_packed(func: Callee, args: Args, out_ty: OutType) -> Type:
    """What an external function writes into new tensors of the stated type, handed over behind `args`."""
    return _destination("call_dps_packed", args, out_ty)


@relax_op("relax.call_pure_packed", pattern=OpPattern.OPAQUE, lacks=NO_PROGRAM)
def call_pure_packed(func: Callee, *args: Operand, ty_args: Types) -> Type:
    """What an external function returns; the caller vouches that it has no effect."""
    return stated_result(ty_args)


@relax_op("relax.call_inplace_packed", pattern=OpPattern.OPAQUE, lacks=NO_PROGRAM)
def call_inplace_packed(func: Callee, *args: Operand, inplace_indices: Ints, ty_args: Types) -> Type:
    """What an external function returns; result i is argument `inplace_indices[i]`, or new where it is -1.

    The caller vouches that changing these arguments is the only effect and that nobody reads them later.
    """
    for i in inplace_indices:
        if not -1 <= i < len(args):
            shape_fault("call_inplace_packed", f"there is no argument {i} to write into")
    if all(i == -1 for i in inplace_indices):
        shape_fault("call_inplace_packed", "no result is in place", "call it by `R.call_pure_packed`")
    return stated_result(ty_args)


@relax_op("relax.call_builtin_with_ctx", pattern=OpPattern.OPAQUE, pure=False, lacks=NO_PROGRAM)
def call_builtin_with_ctx(func: Callee, args: Args, ty_args: Types | None = None) -> Type:
    """What a function of the virtual machine returns, which gets the machine as its first argument."""
    return stated_result(ty_args or ())


@relax_op("relax.call_py_func", pattern=OpPattern.OPAQUE, lacks=NO_PROGRAM)
def call_py_func(func: Operand, args: Args, out_ty: OutType) -> Type:
    """What the Python function of this name, known to the virtual machine, returns."""
    if not isinstance(func.ty, StringType):
        type_fault("call_py_func", f"`func` must be the name of a function, not {describe(func.ty)}")
    return out_ty


__all__ = [
    "call_builtin_with_ctx",
    "call_dps_packed",
    "call_inplace_packed",
    "call_packed",
    "call_pure_packed",
    "call_py_func",
    "call_tir",
    "call_tir_inplace",
    "call_tir_with_grad",
    "stated_result",
]
