"""Own kernels in models: tensor expressions, loop programs, external functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...errors import Diagnostic, IRError
from ...ir import Expr, PrimFunc, TupleType, Type, Var
from ...ir.relax import BlockBuilder, ShapeExpr, get_op
from ...ir.relax.op import as_argument
from .tensor import Object, Tensor, expr_of, wrap_nested


def _builder(what: str) -> BlockBuilder:
    builder = BlockBuilder.current()
    if builder is None:
        raise IRError(
            Diagnostic(
                "graph-builder",
                f"`nn.op.{what}` adds a kernel to a module, so it is used in a method that is being exported",
                help=("call the method through `module.export_tvm(spec)`",),
            )
        )
    return builder


def tensor_expr_op(
    tensor_expr_func: Callable[..., Any],
    name_hint: str,
    args: Sequence[Tensor | Var | int],
    *,
    attrs: Mapping[str, Any] | None = None,
) -> Any:
    """What a function of te tensors computes, as a kernel of this name.

    The function gets te tensors for tensors and other arguments as they are.
    """
    builder = _builder("tensor_expr_op")
    call = builder.call_te(
        tensor_expr_func, *expr_of(list(args)), primfunc_name_hint=name_hint, primfunc_attrs=attrs
    )
    return wrap_nested(call, name_hint)


def tensor_ir_op(func: PrimFunc, name_hint: str, args: Any, out: Any) -> Any:
    """What a loop program writes into new tensors of the shapes and dtypes of `out`."""
    builder = _builder("tensor_ir_op")
    call = get_op("relax.call_tir")(_kernel(builder, func, name_hint), _arguments(args), _types(out))
    return wrap_nested(call, name_hint)


def tensor_ir_inplace_op(
    func: PrimFunc, name_hint: str, args: Any, inplace_indices: int | Sequence[int], out: Any
) -> Any:
    """As `tensor_ir_op`; result i is written into argument `inplace_indices[i]`, or is new for -1."""
    builder = _builder("tensor_ir_inplace_op")
    gvar = _kernel(builder, func, name_hint)
    call = get_op("relax.call_tir_inplace")(gvar, _arguments(args), inplace_indices, _types(out))
    return wrap_nested(call, name_hint)


def _kernel(builder: BlockBuilder, func: PrimFunc, name: str) -> Any:
    return builder.add_func(func.without_attr("global_symbol"), name)


def extern(name: str, args: Sequence[Any], out: Any) -> Any:
    """What an external function writes into new tensors of the shapes and dtypes of `out`."""
    call = get_op("relax.call_dps_packed")(name, _arguments(args), _types(out))
    return wrap_nested(call, name.rpartition(".")[2])


def _arguments(args: Any) -> list[Expr]:
    """Tensors, then scalars; the sizes of a shape are scalars."""
    given = [args] if isinstance(args, Tensor | Object | Expr) else list(args)
    made: list[Expr] = []
    for value in given:
        expr = as_argument(expr_of(value))
        made += expr.values if isinstance(expr, ShapeExpr) else [expr]
    return made


def _types(out: Any) -> Type:
    """The type of the result that placeholders describe."""
    if isinstance(out, list | tuple):
        return TupleType([_types(o) for o in out])
    ty: Type = out._expr.ty
    return ty


__all__ = ["extern", "tensor_expr_op", "tensor_ir_inplace_op", "tensor_ir_op"]
