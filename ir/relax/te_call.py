"""Kernels from tensor expressions: a function of te tensors becomes a PrimFunc and the call of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...dtype import DType
from ...errors import Diagnostic, DTypeError, noun
from ...node import Attrs, Node
from ..expr import Expr, IntImm, Tuple, TupleGetItem, Var
from ..promote import convert
from ..text import text
from ..types import INT64, PrimType, TupleType, Type
from ..visitor import free_vars
from .expr import ShapeExpr
from .types import ShapeType, TensorType

if TYPE_CHECKING:
    from ...te import Tensor
    from ..function import PrimFunc


@dataclass(frozen=True, slots=True, eq=False)
class TeCall:
    """A kernel and how it is called: the tensors and scalars it takes, the type of what it writes."""

    func: PrimFunc
    args: tuple[Expr, ...]
    out_ty: Type


def te_call(
    func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], attrs: Mapping[str, Any]
) -> TeCall:
    """The kernel that computes `func(*args, **kwargs)`, and the arguments of its call.

    The function gets a te tensor for each tensor, a list for each tuple and each shape, scalars as they are.
    Variables that no shape of the kernel's tensors defines are passed as scalars behind the tensors.
    Raises DTypeError for a tensor whose shape or dtype is not known, and when the function gives no tensor.
    """
    from ...te.create import create_prim_func, operations_of

    given = _Arguments()
    result = func(*[given.convert(a) for a in args], **{k: given.convert(v) for k, v in kwargs.items()})
    outputs = _outputs(func, result, [t for t, _ in given.tensors])
    inputs = [tensor for tensor, _ in given.tensors]
    scalars: list[Any] = _undefined([*inputs, *outputs], given.scalars)
    mixed = any(dim.ty is not INT64 for op in operations_of(outputs) for t in op.outputs() for dim in t.shape)
    made = create_prim_func([*inputs, *scalars, *outputs], "int64" if mixed else None)
    scalars = [convert(v, p.dtype) for v, p in zip(scalars, made.params[len(inputs) :])]
    made = made.replace(attrs=Attrs({**made.attrs.without("global_symbol"), **attrs}))
    types = [TensorType(t.shape, t.dtype) for t in outputs]
    out_ty = TupleType(types) if isinstance(result, list | tuple) else types[0]
    return TeCall(made, (*[expr for _, expr in given.tensors], *scalars), out_ty)


@dataclass(slots=True)
class _Arguments:
    """What the function gets for graph expressions, and what was met on the way."""

    tensors: list[tuple[Tensor, Expr]] = field(default_factory=list)
    scalars: list[Expr] = field(default_factory=list)

    def convert(self, value: Any) -> Any:
        """The argument as tensor expressions see it."""
        if isinstance(value, list | tuple):
            return [self.convert(v) for v in value]
        if isinstance(value, dict):
            return {k: self.convert(v) for k, v in value.items()}
        if not isinstance(value, Expr):
            return value
        if isinstance(value, Tuple):
            return [self.convert(f) for f in value.fields_]
        ty = value.ty
        if isinstance(ty, TensorType):
            return self.tensor(value, ty)
        if isinstance(ty, TupleType):
            return [self.convert(TupleGetItem(value, i)) for i in range(len(ty.fields_))]
        if isinstance(ty, ShapeType):
            return [self.scalar(size) for size in _sizes(value, ty)]
        return self.scalar(value) if isinstance(ty, PrimType) else value

    def scalar(self, value: Expr) -> Expr:
        """A scalar expression, whose variables the kernel must know."""
        self.scalars.append(value)
        return value

    def tensor(self, value: Expr, ty: TensorType) -> Tensor:
        """A placeholder of the operand's shape."""
        from ...te import placeholder

        if ty.sizes is None or ty.dtype is None:
            what = "shape" if ty.sizes is None else "dtype"
            raise DTypeError(
                Diagnostic(
                    "operator-shapes",
                    f"a kernel needs the {what} of its operand `{text(value)}`, whose type is `{text(ty)}`",
                    help=("state it before the call: `x = R.match_cast(x, R.Tensor((n, m), dtype))`",),
                )
            )
        name = value.name if isinstance(value, Var) else chr(ord("A") + len(self.tensors) % 26)
        made: Tensor = placeholder(ty.sizes, ty.dtype, name)
        self.tensors.append((made, value))
        return made


def tensors_in(value: Any) -> list[Expr]:
    """The tensors among the arguments of a te function, in the order in which its kernel takes them."""
    if isinstance(value, Expr) and isinstance(value.ty, TensorType):
        return [value]
    if isinstance(value, Tuple):
        value = value.fields_
    elif isinstance(value, Expr) and isinstance(value.ty, TupleType):
        value = [TupleGetItem(value, i) for i in range(len(value.ty.fields_))]
    return [t for v in value for t in tensors_in(v)] if isinstance(value, list | tuple) else []


def _sizes(value: Expr, ty: ShapeType) -> tuple[Expr, ...]:
    found = value.values if isinstance(value, ShapeExpr) else ty.values
    if found is None:
        raise DTypeError(
            Diagnostic(
                "operator-shapes",
                f"a kernel needs the sizes of the shape `{text(value)}`, which are not known",
                help=("name them before the call: `s = R.match_cast(s, R.Shape([n, m]))`",),
            )
        )
    return found


def _outputs(func: Any, result: Any, inputs: list[Tensor]) -> list[Tensor]:
    """The tensors that the function gave; a copy of what is an input, or stands twice."""
    from ...te import Tensor, compute

    outputs: list[Tensor] = []
    for tensor in result if isinstance(result, list | tuple) else (result,):
        if not isinstance(tensor, Tensor):
            name = getattr(func, "__name__", "the function")
            raise DTypeError(
                Diagnostic("type-mismatch", f"`{name}` must give tensors of te, it gave {noun(tensor)}")
            )
        if tensor in inputs or tensor in outputs:
            tensor = compute(tensor.shape, lambda *i, t=tensor: t(*i), name="copy")
        outputs.append(tensor)
    return outputs


def _undefined(tensors: Iterable[Tensor], scalars: Iterable[Expr]) -> list[Var]:
    """The variables that the kernel mentions and that stand alone in no shape of its tensors."""
    used: dict[Var, None] = {}
    defined: set[Any] = set()
    for tensor in tensors:
        for size in tensor.shape:
            if isinstance(size, Var):
                defined.add(size)
            elif not isinstance(size, IntImm):
                used.update(dict.fromkeys(free_vars(size)))
    for value in scalars:
        used.update(dict.fromkeys(free_vars(value)))
    return [v for v in used if v not in defined]


class Unkeyed(Exception):
    """A value that has no key, so that what depends on it is made anew."""


class Key:
    """Turns what a kernel depends on into a hashable key, in which variables are numbers.

    Two lists of values with equal keys differ in the names and identities of their variables at most;
    `symbols` are these in order.
    """

    def __init__(self) -> None:
        self.symbols: dict[Var, int] = {}

    def of(self, value: Any) -> Any:
        """The key of a value. Raises Unkeyed where there is none."""
        kind = type(value)
        if kind is IntImm:
            return value.value, value.ty.dtype
        if kind in _PLAIN:
            return kind, value
        if kind is float:
            return kind, value.hex()
        if kind is tuple or kind is list:
            return tuple([self.of(v) for v in value])
        if isinstance(value, Expr) and isinstance(value.ty, TensorType):
            return self.tensor(value.ty)
        if isinstance(value, Var):
            if isinstance(value.ty, PrimType):
                return "symbol", self.symbols.setdefault(value, len(self.symbols)), value.ty.dtype
            return self.of(value.ty)
        if kind is PrimType:
            return value.dtype
        if isinstance(value, Attrs):
            return tuple([(k, self.of(v)) for k, v in value.items()])
        if isinstance(value, Node):
            return kind, tuple([self.of(getattr(value, name)) for name in kind.fields if name != "span"])
        raise Unkeyed

    def tensor(self, ty: TensorType) -> Any:
        """The key of a tensor: its dtype and sizes."""
        return TensorType, ty.dtype, None if ty.sizes is None else tuple([self.of(s) for s in ty.sizes])


_PLAIN = frozenset({int, bool, str, type(None), DType})


__all__ = ["Key", "TeCall", "Unkeyed", "te_call", "tensors_in"]
