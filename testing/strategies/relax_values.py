"""Values of graph bindings, one function per form; each gives an expression, or None where it cannot."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ...dtype import DType
from ...errors import LoopwrightError
from ...ir import (
    BOOL,
    INT64,
    AnyType,
    Call,
    Expr,
    ExternFunc,
    FloatImm,
    FuncType,
    IntImm,
    PrimFunc,
    PrimType,
    StringImm,
    StringType,
    Tuple,
    TupleGetItem,
    TupleType,
    Type,
    Var,
    free_vars,
    substitute,
)
from ...ir.arith import Analyzer
from ...ir.relax import (
    DataTypeImm,
    OpPattern,
    RelaxOp,
    ShapeExpr,
    ShapeType,
    TensorType,
    all_ops,
    call_function,
    get_op,
    tensor_constant,
)
from ...ir.relax.op import Param
from .relax_scope import Maker
from .relax_types import draw_size, draw_tensor, draw_type
from .scalars import draw_name, draw_scalar

CONSTANT_DTYPES = tuple(
    DType(n) for n in ("float32", "int64", "bool", "int32", "float64", "bfloat16", "uint8")
)


def draw_constant(m: Maker) -> Expr:
    """A tensor constant: mostly one number, sometimes an array or a number without a literal form."""
    source = m.source
    dtype = source.pick(CONSTANT_DTYPES[:4] if m.executable else CONSTANT_DTYPES)
    if source.chance(3):
        shape = [source.integer(0 if not m.executable else 1, 3) for _ in range(source.integer(1, 2))]
        return tensor_constant(np.arange(int(np.prod(shape))).reshape(shape), dtype)
    value: Any = source.pick((1, 0, 3, 2))
    if dtype.is_float and not m.executable and source.chance(3):
        value = source.pick((0.1, -0.0, float("inf"), float("nan"), 1e-45, 1e30))
    return tensor_constant(value, dtype)


def tensor(m: Maker) -> Expr:
    """A tensor: a variable, or a constant."""
    known = m.tensors()
    return m.source.pick(known) if known and not m.source.chance(5) else draw_constant(m)


def scalar(m: Maker) -> Expr:
    """A scalar: a number, a size, or what is computed of one."""
    source = m.source
    known = [v for v in m.scalars() if v.ty is INT64]
    if known and source.chance(2):
        one = source.pick(known)
        return source.pick((one, one + 1, one * 2, one // 2))
    if m.executable or not source.chance(3):
        return IntImm(INT64, source.integer(0, 3))
    return source.pick(
        (IntImm(BOOL, 1), FloatImm("float64", 0.5), IntImm("int32", 7), FloatImm("float32", 2.0))
    )


def argument(m: Maker) -> Expr:
    """Any argument in normal form."""
    source = m.source
    makers = (tensor, scalar, any_value, lambda m: ShapeExpr([draw_size(source, m.symbols)]), text, dtype)
    made = source.pick(makers)(m)
    return Tuple([made, tensor(m)][: source.integer(0, 2)]) if source.chance(6) else made


def any_value(m: Maker) -> Expr:
    """A visible variable of any type."""
    return m.source.pick(m.values) if m.values else tensor(m)


def text(m: Maker) -> Expr:
    """A text."""
    return StringImm(draw_name(m.source))


def dtype(m: Maker) -> Expr:
    """A dtype as a value."""
    return DataTypeImm(m.source.pick(CONSTANT_DTYPES))


# Calls of operators, by their records

_PLAIN = ("Tensor", "Tensors", "Shape", "Scalar", "Scalars")


@cache
def plain_ops(executable: bool) -> list[RelaxOp]:
    """Operators whose operands are tensors, shapes and scalars; those that run on any array of numbers."""
    found = []
    for rec in all_ops():
        if not rec.pure or not all(p.is_attr or p.kind in _PLAIN for p in rec.params):
            continue
        exact = rec.pattern in (OpPattern.ELEMWISE, OpPattern.BROADCAST) and rec.numpy is not None
        if not executable or (exact and rec.name in _EXACT):
            found.append(rec)
    return found


_EXACT_NAMES = "abs add subtract multiply maximum minimum negative sign square equal less greater where"
_EXACT = {f"relax.{name}" for name in _EXACT_NAMES.split()}


def operator(m: Maker) -> Expr | None:
    """A call of some operator, if the types that were drawn fit one of three."""
    ops = plain_ops(m.executable)
    made = (operator_call(m, m.source.pick(ops)) for _ in range(3))
    return next((call for call in made if call is not None), None)


def operator_call(m: Maker, rec: RelaxOp) -> Call | None:
    """A call of this operator, or None where the types that were drawn do not fit."""
    given: list[Any] = []
    for p in rec.params:
        if not p.required and not p.variadic and m.source.chance(2):
            break
        given.append(_operand(m, p) if p.is_operand else _attribute(m, p))
    try:
        call = rec(*given)
    except (LoopwrightError, TypeError, ValueError, OverflowError):
        return None
    loose = isinstance(call.ty, TensorType) and call.ty.shape is None  # sizes that only run time compares
    return None if loose and m.executable else call


def _operand(m: Maker, p: Param) -> Any:
    source = m.source
    if p.optional and source.chance(3):
        return None
    if p.kind == "Tensors":
        first = tensor(m)
        return [first, *[source.pick((first, tensor(m))) for _ in range(source.integer(0, 2))]]
    if p.kind == "Shape":
        return [draw_size(source, m.symbols) for _ in range(source.integer(1, 3))]
    if p.kind == "Scalars":
        return [scalar(m) for _ in range(source.integer(1, 2))]
    return scalar(m) if p.kind == "Scalar" else tensor(m)


def _attribute(m: Maker, p: Param) -> Any:
    source = m.source
    if not p.required and source.chance(2):
        return p.default
    if p.kind == "str":
        return p.default if not p.required else "NCHW"
    choices: dict[str, tuple[Any, ...]] = {
        "int": (0, 1, -1, 2),
        "float": (0.5, 0.0, -1.5),
        "bool": (True, False),
        "DType": ("float32", "int64", "float16"),
        "Ints": ((0,), (1,), (0, 1), (1, 1)),
    }
    return source.pick(choices.get(p.kind, (None,)))


def arithmetic(m: Maker) -> Expr | None:
    """Two tensors of one type, element by element."""
    x = tensor(m)
    alike = [v for v in m.tensors() if v.ty == x.ty]
    rec = get_op(m.source.pick(("relax.add", "relax.subtract", "relax.multiply", "relax.maximum")))
    return _try(rec, x, m.source.pick(alike) if alike else x)


def reduction(m: Maker) -> Expr | None:
    """A reduction along some axes."""
    x = tensor(m)
    rank = x.ty.ndim  # type: ignore[attr-defined]
    rec = get_op(m.source.pick(("relax.sum", "relax.max", "relax.mean", "relax.min")))
    axis = None if rank <= 0 or m.source.chance(3) else [m.source.integer(0, rank - 1)]
    return _try(rec, x, axis, m.source.chance(2))


def product(m: Maker) -> Expr | None:
    """A product of matrices: of a tensor with another, or with its transpose."""
    x = tensor(m)
    if not m.executable and m.source.chance(2):
        return _try(get_op("relax.matmul"), x, tensor(m))
    if x.ty.ndim < 1:  # type: ignore[attr-defined]
        return None
    axes = [*range(x.ty.ndim)]  # type: ignore[attr-defined]
    turned = m.bind(get_op("relax.permute_dims")(x, [*axes[:-2], *axes[:-3:-1]]))
    return _try(get_op("relax.matmul"), x, turned)


def layout(m: Maker) -> Expr | None:
    """A tensor with its elements in other places."""
    source, x = m.source, tensor(m)
    rank = max(getattr(x.ty, "ndim", 0), 0)
    which = source.integer(0, 4)
    if which == 0:
        return _try(get_op("relax.permute_dims"), x, None)
    if which == 1:
        return _try(get_op("relax.flatten"), x)
    if which == 2:
        return _try(get_op("relax.expand_dims"), x, source.integer(0, rank))
    if which == 3:
        axis = source.integer(0, max(rank - 1, 0))
        return _try(get_op("relax.concat"), [x, x], axis)
    return _try(get_op("relax.reshape"), x, [-1])


def pieces(m: Maker) -> Expr | None:
    """A tensor in pieces, as a tuple."""
    x = tensor(m)
    rank = getattr(x.ty, "ndim", 0)
    axis = m.source.integer(0, max(rank - 1, 0))
    sizes = getattr(x.ty, "sizes", None)
    if m.executable and (not sizes or rank < 1 or not isinstance(sizes[axis], IntImm)):
        return None
    where = m.source.pick((1, [1])) if not m.executable else [1]
    return _try(get_op("relax.split"), x, where, axis)


def cast(m: Maker) -> Expr | None:
    """A tensor of another dtype."""
    return _try(get_op("relax.astype"), tensor(m), m.source.pick(("float32", "int64", "int32")))


def filled(m: Maker) -> Expr | None:
    """A tensor of equal elements."""
    shape = [draw_size(m.source, m.symbols) for _ in range(m.source.integer(0, 2))]
    return _try(get_op("relax.zeros"), shape, m.source.pick(("float32", "int64")))


def _try(rec: RelaxOp, *args: Any) -> Expr | None:
    try:
        return rec(*args)
    except (LoopwrightError, TypeError, ValueError):
        return None


# Tuples, names


def pair(m: Maker) -> Expr:
    """A tuple."""
    return Tuple([source_value(m) for _ in range(m.source.integer(0, 3))])


def source_value(m: Maker) -> Expr:
    """A tensor in graphs that run, else any argument."""
    return tensor(m) if m.executable else argument(m)


def field_of(m: Maker) -> Expr | None:
    """A field of a visible tuple."""
    known = [v for v in m.values if isinstance(v.ty, TupleType) and v.ty.fields_]
    if not known:
        return None
    var = m.source.pick(known)
    assert isinstance(var.ty, TupleType)
    return TupleGetItem(var, m.source.integer(0, len(var.ty.fields_) - 1))


def alias(m: Maker) -> Expr:
    """Another name for a value."""
    return any_value(m)


# Calls of functions


def call_graph(m: Maker) -> Expr | None:
    """A call of a function: of the module, or a visible variable."""
    known = [g for g, f in m.around.graphs if f.is_pure or not m.quiet]
    callees: list[Expr] = [
        *known,
        *[v for v in m.values if isinstance(v.ty, FuncType) and (v.ty.purity or not m.quiet)],
    ]
    if not callees:
        return None
    func = m.source.pick(callees)
    wanted: Any = func.ty.arg_types  # type: ignore[attr-defined]
    solved: dict[Any, int] = {}
    args = [source_value(m)] if wanted is None else [value_of(m, ty, solved) for ty in wanted]
    if any(a is None for a in args):
        return None
    try:
        return call_function(func, args)
    except LoopwrightError:
        return None


def value_of(m: Maker, ty: Type, solved: dict[Any, int]) -> Expr | None:
    """An argument of this type; its symbols get small sizes, kept in `solved`."""
    known = [v for v in m.values if v.ty == ty]
    if known:
        return m.source.pick(known)
    match ty:
        case TensorType() if not isinstance(ty.shape, Var):
            rank = max(ty.ndim, 0)
            sizes = [1] * rank if ty.sizes is None else [_solve(s, solved) for s in ty.sizes]
            return m.bind(get_op("relax.zeros")(sizes, ty.dtype or "float32")) if ty.vdevice is None else None
        case ShapeType():
            return ShapeExpr(
                [1] * max(ty.ndim, 0) if ty.values is None else [_solve(s, solved) for s in ty.values]
            )
        case TupleType():
            fields = [value_of(m, f, solved) for f in ty.fields_]
            return None if any(f is None for f in fields) else Tuple(fields)
        case PrimType():
            return draw_scalar(m.source, ty.dtype)
        case StringType():
            return text(m)
        case AnyType():
            return source_value(m)
    return None


def _solve(size: Expr, solved: dict[Any, int]) -> Expr:
    """A size with a small number for each symbol that is not known."""
    numbers = {v: solved.setdefault(v, 2) for v in free_vars(size)}
    return Analyzer().simplify(substitute(size, numbers))


def kernel(m: Maker) -> Expr | None:
    """A call of a kernel of the module, in one of the ways there are."""
    if not m.around.kernels:
        return None
    name, func = m.source.pick(m.around.kernels)
    args = [v for v in m.tensors() if _fits(func, v.ty)]
    if not args:
        buffer: Any = func.params[0].ty
        solved: dict[Any, int] = {}
        args = [m.bind(get_op("relax.zeros")([_solve(s, solved) for s in buffer.shape], "float32"))]
    x = m.source.pick(args)
    out = x.ty
    which = m.source.integer(0, 3)
    if which == 1:
        return get_op("relax.call_tir_inplace")(name, [x, x], [1], out)
    if which == 2:
        extra = {"scale": 1, "names": ["a", 2.5]} if m.source.chance(2) else None
        return get_op("relax.call_tir_with_grad")(name, [x], out, "gradient", extra)
    return get_op("relax.call_tir")(name, [x], out)


def _fits(func: PrimFunc, ty: Type) -> bool:
    buffer = func.params[0].ty
    if not isinstance(ty, TensorType) or ty.sizes is None or ty.dtype != buffer.dtype:  # type: ignore[attr-defined]
        return False
    shape = buffer.shape  # type: ignore[attr-defined]
    return len(shape) == len(ty.sizes) and all(
        not isinstance(a, IntImm) or (isinstance(b, IntImm) and a.value == b.value)
        for a, b in zip(shape, ty.sizes)
    )


def packed(m: Maker) -> Expr:
    """A call of an external function that is known to have no effects."""
    source = m.source
    args = [argument(m) for _ in range(source.integer(0, 3))]
    types: list[Type] = [draw_type(source, m.symbols, m.around.devices) for _ in range(source.integer(1, 2))]
    which = source.integer(0, 2)
    if which == 0:
        return get_op("relax.call_pure_packed")("a.function", *args, ty_args=types)
    if which == 1:
        indices = [source.integer(0, max(len(args) - 1, 0))]
        return get_op("relax.call_inplace_packed")(
            "a.function", *(args or [tensor(m)]), inplace_indices=indices, ty_args=types
        )
    outs = [draw_tensor(source, m.symbols, executable=True) for _ in range(source.integer(1, 2))]
    return get_op("relax.call_dps_packed")("a.function", [tensor(m)], outs[0] if len(outs) == 1 else outs)


def external(m: Maker) -> Expr:
    """A plain call of an external function."""
    from ...ops.calls import call_packed

    source = m.source
    func: Any = source.pick(("a.function", ExternFunc("typed", opaque(m))))
    types = [draw_type(source, m.symbols, m.around.devices)] if source.chance(2) else None
    attrs = {"axis": 3, "name": "x"} if source.chance(2) else {}
    return call_packed(func, *[argument(m) for _ in range(source.integer(0, 3))], ty_args=types, **attrs)


def opaque(m: Maker) -> Type:
    """The type of some function, of which only the result's type is known."""
    return FuncType(None, draw_tensor(m.source, m.symbols), False)


def choice(m: Maker) -> Expr | None:
    """Elements of one tensor or the other."""
    x = tensor(m)
    return _try(get_op("relax.where"), tensor_constant(m.source.chance(2)), x, x)


def effect(m: Maker) -> Expr:
    """A call that may have an effect: of `R.print`, or of an external function."""
    if m.source.chance(2):
        return external(m)
    args = [argument(m) for _ in range(m.source.integer(0, 2))]
    return get_op("relax.print")(*args, format=m.source.pick(("", "{}", draw_name(m.source))))


def device(m: Maker) -> Expr | None:
    """A tensor on another device."""
    if not m.around.devices:
        return None
    return _try(get_op("relax.to_vdevice"), tensor(m), m.source.pick(m.around.devices))


def literal(m: Maker) -> Expr:
    """A scalar of any dtype."""
    source = m.source
    kind = source.pick(("int64", "float32", "bool", "int32", "uint8", "float16", "bfloat16"))
    return draw_scalar(source, DType(kind)) if source.chance(2) else scalar(m)


def shape(m: Maker) -> Expr:
    """A shape."""
    return ShapeExpr([draw_size(m.source, m.symbols) for _ in range(m.source.integer(0, 3))])


PLAIN: tuple[Callable[[Maker], Expr | None], ...] = (
    operator,
    arithmetic,
    reduction,
    product,
    layout,
    layout,
    pieces,
    cast,
    pair,
    field_of,
    draw_constant,
    filled,
    call_graph,
    kernel,
    choice,
)
"""Values of graphs that run, and of others."""
FREE: tuple[Callable[[Maker], Expr | None], ...] = (
    operator,
    packed,
    device,
    literal,
    shape,
    text,
    dtype,
    alias,
    operator,
)
"""Values of graphs that need not run."""
CALLS: tuple[Callable[[Maker], Expr | None], ...] = (call_graph, kernel)
"""Calls of what the module holds."""

__all__ = [
    "CALLS",
    "FREE",
    "PLAIN",
    "any_value",
    "argument",
    "draw_constant",
    "effect",
    "operator_call",
    "tensor",
]
