"""`extern` and `extern_primfunc`: tensors that statements compute."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..dtype import DType
from ..ir import (
    BufferType,
    Evaluate,
    Expr,
    PrimFunc,
    PrimType,
    Stmt,
    Var,
    decl_buffer,
    seq,
    structural_equal,
    substitute,
)
from ..ir.analysis.regions import WRITE, touched_buffers
from ..ir.promote import is_operand
from .faults import fault, plural, type_fault
from .operation import ExternOp, as_dtype, as_shape
from .tensor import Tensor


def extern(
    shape: Any,
    inputs: Any,
    fcompute: Callable[..., Any],
    name: str = "extern",
    dtype: Any = None,
    in_buffers: Any = None,
    out_buffers: Any = None,
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
) -> Any:
    """The tensors that `fcompute(ins, outs)` computes: it gives a statement or a call.

    `ins` and `outs` are buffers for the inputs and outputs, `in_buffers` and `out_buffers` where they
    are given.  `shape` is one shape or a list of shapes, `dtype` one dtype or a list; without it the
    outputs have that of the inputs.  Raises TensorExpressionError when they do not fit, and
    TensorTypeError when the function gives neither a statement nor a call.
    """
    tensors = tuple(inputs) if isinstance(inputs, list | tuple) else (inputs,)
    for one in tensors:
        if not isinstance(one, Tensor):
            raise type_fault(f"an input of `{name}` is a {type(one).__name__}, not a tensor")
    shapes = [as_shape(s, name) for s in _shapes(shape)]
    dtypes = _dtypes(dtype, tensors, len(shapes), name)
    if in_buffers is None:
        ins = [_buffer(t.shape, t.dtype, t.name) for t in tensors]
    else:
        ins = _given(in_buffers, [(t.shape, t.dtype) for t in tensors], name, "in_buffers")
    if out_buffers is None:
        outs = [_buffer(s, d, name) for s, d in zip(shapes, dtypes)]
    else:
        outs = _given(out_buffers, list(zip(shapes, dtypes)), name, "out_buffers")
    body = _statement(fcompute(list(ins), list(outs)), name)
    outputs = ExternOp(name, tag, attrs, tensors, ins, outs, body).outputs()
    return outputs[0] if len(outputs) == 1 else list(outputs)


def _shapes(shape: Any) -> list[Any]:
    if not isinstance(shape, list | tuple) or not shape or not isinstance(shape[0], list | tuple):
        return [shape]
    return list(shape)


def _dtypes(dtype: Any, inputs: Sequence[Tensor], count: int, name: str) -> list[DType]:
    if dtype is None:
        found = list(dict.fromkeys([t.dtype for t in inputs]))
        if len(found) != 1:
            have = " and ".join([f"`{d}`" for d in found]) or "no dtype"
            raise fault(
                f"the dtype of the outputs of `{name}` is not known: its inputs have {have}",
                help=("give it: te.extern(..., dtype='float32')",),
            )
        return found * count
    dtypes = [as_dtype(d) for d in (dtype if isinstance(dtype, list | tuple) else [dtype] * count)]
    if len(dtypes) != count:
        raise fault(f"`{name}` has {plural(count, 'output')} but {plural(len(dtypes), 'dtype')}")
    return dtypes


def _buffer(shape: Sequence[Expr], dtype: DType, name: str) -> Var:
    kind = shape[0].ty if shape else PrimType("int32")
    made: Var = decl_buffer(shape, dtype, name, elem_offset=Var("elem_offset", kind))
    return made


def _given(buffers: Any, wanted: Sequence[tuple[Any, DType]], name: str, what: str) -> list[Var]:
    given = list(buffers) if isinstance(buffers, list | tuple) else [buffers]
    if len(given) != len(wanted):
        raise fault(f"`{what}` of `{name}` has {plural(len(given), 'buffer')}, not {len(wanted)}")
    for buffer, (shape, dtype) in zip(given, wanted):
        if not isinstance(buffer, Var) or not isinstance(buffer.ty, BufferType):
            raise type_fault(f"`{what}` of `{name}` has a {type(buffer).__name__}, not a buffer")
        if buffer.dtype is not dtype or not structural_equal(buffer.shape, shape):
            raise fault(f"the buffer `{buffer.name}` of `{name}` has another shape or dtype than its tensor")
    return given


def _statement(result: Any, name: str) -> Stmt:
    if isinstance(result, Stmt):
        return result
    if isinstance(result, Expr) and is_operand(result):
        return Evaluate(result)
    if isinstance(result, list | tuple) and result and all(isinstance(r, Stmt | Expr) for r in result):
        return seq([_statement(r, name) for r in result])
    raise type_fault(
        f"the function of `{name}` gives a {type(result).__name__}, neither a statement nor a call",
        help=("te.extern_primfunc takes the statements from a `T.prim_func`",),
    )


def extern_primfunc(input_tensors: Sequence[Tensor], primfunc: PrimFunc, **kwargs: Any) -> Any:
    """The tensors that a `T.prim_func` computes: the buffers that it writes.

    `input_tensors` take the place of its other parameters, in their order; symbols in the shapes of
    those become the sizes of the tensors.  Keywords are those of operations: name, tag, attrs.
    Raises TensorExpressionError when tensors and parameters do not fit.
    """
    name, tag, attrs = kwargs.pop("name", "extern"), kwargs.pop("tag", ""), kwargs.pop("attrs", None)
    if kwargs:
        raise type_fault(f"extern_primfunc has no option `{next(iter(kwargs))}`")
    if not isinstance(primfunc, PrimFunc):
        raise type_fault(f"extern_primfunc takes a PrimFunc, not a {type(primfunc).__name__}")
    for param in primfunc.params:
        if not isinstance(param.ty, BufferType):
            raise fault(f"the parameter `{param.name}` of the function is no buffer")
    touched = touched_buffers(primfunc.body)
    ins = [p for p in primfunc.params if not touched.get(p, 0) & WRITE]
    outs = [p for p in primfunc.params if touched.get(p, 0) & WRITE]
    if len(ins) != len(input_tensors):
        names = ", ".join([f"`{p.name}`" for p in ins])
        given = plural(len(input_tensors), "tensor")
        raise fault(f"the function reads {plural(len(ins), 'buffer')} ({names}), but {given} is given")
    if not outs:
        raise fault("the function writes to none of its parameters")
    sizes = _sizes(ins, input_tensors)
    mapping: dict[Var, Any] = dict(sizes)
    for param in (*ins, *outs):
        mapping[param] = Var(param.name, substitute(param.ty, sizes))
    body = substitute(primfunc.body, mapping)
    made = ExternOp(
        name, tag, attrs, input_tensors, [mapping[p] for p in ins], [mapping[p] for p in outs], body
    )
    outputs = made.outputs()
    return outputs[0] if len(outputs) == 1 else list(outputs)


def _sizes(params: Sequence[Var], tensors: Sequence[Tensor]) -> dict[Var, Expr]:
    """What the symbols of the parameters' shapes are. Raises TensorExpressionError for other shapes."""
    sizes: dict[Var, Expr] = {}
    for param, tensor in zip(params, tensors):
        if not isinstance(tensor, Tensor):
            raise type_fault(f"the input for `{param.name}` is a {type(tensor).__name__}, not a tensor")
        if param.dtype is not tensor.dtype:
            raise fault(f"`{param.name}` holds `{param.dtype}`, the tensor `{tensor.name}` `{tensor.dtype}`")
        if len(param.shape) != tensor.ndim:
            raise fault(
                f"`{param.name}` has {plural(len(param.shape), 'dimension')}, "
                f"the tensor `{tensor.name}` {tensor.ndim}"
            )
        for have, want in zip(tensor.shape, param.shape):
            if isinstance(want, Var) and want not in sizes and want.ty is have.ty:
                sizes[want] = have
            elif not structural_equal(substitute(want, sizes), have):
                raise fault(f"`{param.name}` has another shape than the tensor `{tensor.name}`")
    return sizes
