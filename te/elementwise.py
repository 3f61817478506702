"""Arithmetic of whole tensors: element by element, dimensions of one stretched to those of the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..ir import Expr, IntImm, structural_equal
from ..ir import const as ir_const
from ..ir import operators as op
from ..ir.promote import is_operand
from .compute import compute
from .faults import fault
from .tensor import Tensor


def elementwise(tensor: Tensor, function: Callable[[Any], Any], name: str = "compute") -> Tensor:
    """The tensor of the function's values at the elements of this one."""
    made: Tensor = compute(tensor.shape, lambda *i: function(tensor(*i)), name, "elemwise")
    return made


def broadcast(function: Callable[[Any, Any], Any], a: Any, b: Any, name: str) -> Any:
    """The function of two tensors, of a tensor and a value, or of two values.

    Shapes are aligned at their ends; a dimension of 1 serves for every index.  Raises
    TensorExpressionError for shapes that do not fit.
    """
    if not isinstance(a, Tensor) and not isinstance(b, Tensor):
        return function(a, b)
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        shape = common_shape(a.shape, b.shape, name)
        return compute(
            shape, lambda *i: function(_at(a, i), _at(b, i)), name, "broadcast", varargs_names=_names(shape)
        )
    tensor = a if isinstance(a, Tensor) else b
    assert isinstance(tensor, Tensor)
    return compute(
        tensor.shape,
        lambda *i: function(tensor(*i) if a is tensor else a, tensor(*i) if b is tensor else b),
        name,
        "elemwise",
        varargs_names=_names(tensor.shape),
    )


def _names(shape: Sequence[Any]) -> list[str]:
    return [f"ax{i}" for i in range(len(shape))]


def common_shape(a: Sequence[Expr], b: Sequence[Expr], name: str) -> list[Expr]:
    """The shape that two are stretched to. Raises TensorExpressionError where they do not fit."""
    rank = max(len(a), len(b))
    dims: list[Expr] = []
    for x, y in zip([None] * (rank - len(a)) + list(a), [None] * (rank - len(b)) + list(b)):
        if x is None or y is None:
            dims.append(y if x is None else x)  # type: ignore[arg-type]
        elif structural_equal(x, y) or is_one(y):
            dims.append(x)
        elif is_one(x) or (isinstance(x, IntImm) and isinstance(y, IntImm) and x.value == y.value):
            dims.append(y)
        else:
            shapes = f"{tuple(a)!r} and {tuple(b)!r}" if rank > 4 else f"{_shown(a)} and {_shown(b)}"
            raise fault(f"the shapes {shapes} of `{name}` do not fit together")
    return dims


def _shown(shape: Sequence[Expr]) -> str:
    from ..printer import script

    texts = [str(s.value) if isinstance(s, IntImm) else script(s) for s in shape]
    return f"({', '.join(texts)})"


def is_one(e: Expr) -> bool:
    """Whether a size is the number 1."""
    return isinstance(e, IntImm) and e.value == 1


def _at(tensor: Tensor, indices: Sequence[Expr]) -> Expr:
    """The element that stands for these indices of the common shape."""
    own = indices[len(indices) - tensor.ndim :]
    return tensor(*[ir_const(0, i.dtype) if is_one(dim) else i for dim, i in zip(tensor.shape, own)])


def _operator(function: Callable[..., Any], name: str, *, swapped: bool = False) -> Callable[..., Any]:
    def method(self: Tensor, other: Any) -> Any:
        if not isinstance(other, Tensor) and not is_operand(other):
            return NotImplemented
        return broadcast(function, other, self, name) if swapped else broadcast(function, self, other, name)

    return method


def _negative(self: Tensor) -> Any:
    """The tensor of the negated elements."""
    return broadcast(op.mul, self, -1, "T_multiply")


def _astype(self: Tensor, dtype: Any, span: Any = None) -> Any:
    """The tensor of the elements converted to the dtype."""
    return elementwise(self, lambda x: op.cast(x, dtype))


def _give_operators() -> None:
    """Operators of tensors, defined here since `compute` needs tensors first."""
    for word, function, name in (
        ("add", op.add, "T_add"),
        ("sub", op.sub, "T_subtract"),
        ("mul", op.mul, "T_multiply"),
        ("truediv", op.div, "T_divide"),
    ):
        setattr(Tensor, f"__{word}__", _operator(function, name))
        setattr(Tensor, f"__r{word}__", _operator(function, name, swapped=True))
    for method, given in (("__neg__", _negative), ("astype", _astype)):
        setattr(Tensor, method, given)


_give_operators()

__all__ = ["broadcast", "common_shape", "elementwise"]
