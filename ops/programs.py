"""Operators written as loop programs: scripts over flat memory that serve tensors of every shape.

A program takes its inputs and outputs as buffers of one dimension, then scalars.  `run` makes a tensor
expression of it: the buffers become views of the tensors' memory, the scalars the sizes of the case.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import te
from ..dtype import DType
from ..ir import BufferType, Expr, PrimFunc, SBlockRealize, Stmt, Var, seq, substitute
from ..ir.stmt import DeclBuffer
from .sizes import product, size

Spec = tuple[Sequence[Any], DType | str]


def run(
    program: PrimFunc, inputs: Sequence[te.Tensor], outputs: Sequence[Spec], scalars: Sequence[Any], name: str
) -> list[te.Tensor]:
    """The tensors of these shapes and dtypes that the program writes, given the inputs and scalars."""
    shapes = [tuple(shape) for shape, _ in outputs]
    dtypes = [str(dtype) for _, dtype in outputs]

    def body(ins: Sequence[Var], outs: Sequence[Var]) -> Stmt:
        given = [*ins, *outs]
        count = len(given)
        views = [_view(p, buffer) for p, buffer in zip(program.params, given)]
        table: dict[Var, Any] = dict(zip(program.params[:count], views))
        table.update(zip(program.params[count:], scalars))
        for param, view in zip(program.params, views):
            table.update({v: e for v, e in zip(param.shape, view.shape) if isinstance(v, Var)})
        declared = [DeclBuffer(view, buffer.data) for view, buffer in zip(views, given)]
        return seq([*declared, substitute(_inner(program.body), table)])

    made = te.extern(list(shapes), list(inputs), body, name=name, dtype=dtypes)
    return made if isinstance(made, list) else [made]


def _view(param: Var, buffer: Var) -> Var:
    """A flat buffer for the memory of another."""
    assert isinstance(param.ty, BufferType)
    return Var(param.name, BufferType(param.ty.dtype, (product(buffer.shape),)))


def _inner(body: Stmt) -> Stmt:
    """What stands within the root block, where that does nothing else."""
    if isinstance(body, SBlockRealize) and not body.block.iter_vars and not body.block.alloc_buffers:
        return body.block.body
    return body


def lines(shape: Sequence[Expr], axis: int | None) -> tuple[Expr, Expr, Expr]:
    """A tensor as lines along an axis: how many there are before it, their length, how many side by side.

    Element k of the line (a, b) stands at (a * length + k) * side + b.  Without an axis there is one line.
    """
    if axis is None:
        return size(1), product(shape), size(1)
    return product(shape[:axis]), shape[axis], product(shape[axis + 1 :])


__all__ = ["Spec", "lines", "run"]
