"""Operators of the graph dialect: one record each, with all that is known of an operator.

An operator is written once, below `ops/`, as the function that is its type rule:

    @relax_op("relax.nn.softmax", pattern=OpPattern.OUT_FUSIBLE, te=softmax_te, numpy=softmax_numpy)
    def softmax(data: Tensor, axis: int = -1) -> Type:
        '''exp(data) over its sum along the axis.'''
        ty = float_tensor(data)
        return ty

The parameters whose annotation is one of `Tensor`, `Tensors`, `Shape`, `Scalar`, `Scalars`, `Operand` (or one
of them `| None`) are operands and become `Call.args`; the others are attributes and become `Call.attrs`.  An
attribute's annotation says how it is converted: `int`, `float`, `str`, `bool`, `DType`, `Ints` (one integer
or several, kept as a tuple), `Format` (a text that scripts write as `R.str`), `Any` (kept as it is), each
also `| None`. Operators that call something have parameters of the kinds `Callee` (a function; a text is
the symbol of an external one) and `Args` (the arguments as a tuple), those of the machine `Text` and
`DTypeValue` (a text, a dtype as operands), and types that the caller states, which become `Call.ty_args`:
`Types` (one or several), `OutType` (one; a list means a tuple of results). The type rule gets converted
values; it returns the type of the result, or raises through `ops.faults`. `prepare` may fill in and
normalise the attributes before (the padding of a convolution), so that equal calls are equal nodes.

The decorated name is the record; calling it builds the call: `softmax(x, axis=1)` is a `Call` with its type.
Operands that are absent at the end of the list are left out; where one is absent before a present one, the
call holds `relax.null_value()` in its place.
"""

from __future__ import annotations

import enum
import inspect
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from ...dtype import DType
from ...errors import Diagnostic, DTypeError, IRError, LoopwrightError, noun, suggest
from ...node import Attrs
from ..expr import Call, Expr, GenericConst, StringImm, Tuple, TupleGetItem, as_expr, const
from ..function import ExternFunc
from ..op import Op
from ..types import INT64, AnyType, PrimType, StringType, TupleType, Type
from .expr import DataTypeImm, ShapeExpr
from .types import ShapeType, TensorType

if TYPE_CHECKING:
    from .block_builder import BlockBuilder


class OpPattern(enum.IntEnum):
    """How an operator may be fused (the peer's classes and numbers)."""

    ELEMWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    COMM_REDUCE = 3
    OUT_FUSIBLE = 4
    TUPLE = 7
    OPAQUE = 8


# How type rules annotate their parameters; the names say how an argument is converted.
Tensor: TypeAlias = Expr
Tensors: TypeAlias = Expr
Shape: TypeAlias = Expr
Scalar: TypeAlias = Expr
Scalars: TypeAlias = Expr
Operand: TypeAlias = Expr
Callee: TypeAlias = Expr
Args: TypeAlias = Tuple
Text: TypeAlias = Expr
DTypeValue: TypeAlias = Expr
Ints: TypeAlias = tuple[int, ...]
Format: TypeAlias = str
Types: TypeAlias = tuple[Type, ...]
OutType: TypeAlias = Type

OPERANDS = (
    "Tensor",
    "Tensors",
    "Shape",
    "Scalar",
    "Scalars",
    "Operand",
    "Callee",
    "Args",
    "Text",
    "DTypeValue",
)
STATED_TYPES = ("Types", "OutType")


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter of an operator: its name, what it is, whether it may be absent, its default."""

    name: str
    kind: str
    optional: bool
    default: Any
    variadic: bool = False

    @property
    def is_operand(self) -> bool:
        """Whether it is an argument of the call, not an attribute."""
        return self.kind in OPERANDS

    @property
    def is_type(self) -> bool:
        """Whether it is a type that the caller states, kept in the call's `ty_args`."""
        return self.kind in STATED_TYPES

    @property
    def is_attr(self) -> bool:
        """Whether it is an attribute of the call."""
        return not self.is_operand and not self.is_type

    @property
    def required(self) -> bool:
        """Whether the caller must give it."""
        return self.default is inspect.Parameter.empty and not self.variadic


@dataclass(frozen=True, slots=True, eq=False)
class RelaxOp:
    """All that is known of one graph operator.

    name      registry name, e.g. "relax.nn.conv2d"; script spells it "R.nn.conv2d"
    params    its parameters, operands first
    infer     the type rule: converted operands and attributes -> the type of the result
    prepare   (bound values by name) -> None: fills in and normalises attributes in place; may give another
              operator, of the same parameters, that the call is of
    pattern   how it may be fused
    te        its meaning as tensor expressions: operands in order (te tensors, lists of them, scalars,
              shapes as lists of expressions, None where absent), attributes by name -> a te tensor or several
    kernel    the name of the kernel that `te` makes, where it is not the last word of `name`
    numbers   whether `te` takes constants of rank 0 as numbers, so that they stand in the kernel
    legalize  (BlockBuilder, Call) -> Expr, where `te` does not suffice: other operators, a script program
    numpy     its meaning on numpy arrays, operands and attributes as for `te` (shapes are tuples of int) ->
              an array or several
    gradient  (orig_var, orig_call, output_grad, BlockBuilder) -> a list of gradients by operand, None where
              an operand has none (shapes, indices, conditions)
    layout    how it may be computed in other layouts: (values of the call by name, layouts of the operands,
              desired layouts) -> (layouts that the operands must have, layouts of the results, new values of
              attributes); see `ops/layout_rules.py`
    mixed     what mixed precision does with it: "always", "follow", "never"
    pure      whether evaluating has no effect
    printed   the names of the attributes in the order that calls hold, where it is not that of `params`
    lacks     parts that it does not have, each with the reason
    doc       what it computes, one paragraph
    """

    name: str
    params: tuple[Param, ...]
    infer: Callable[..., Type]
    doc: str
    prepare: Callable[[dict[str, Any]], RelaxOp | None] | None = None
    pattern: OpPattern | None = None
    te: Callable[..., Any] | None = None
    kernel: str = ""
    numbers: bool = False
    legalize: Callable[[BlockBuilder, Call], Expr] | None = None
    numpy: Callable[..., Any] | None = None
    gradient: Callable[..., list[Expr]] | None = None
    layout: Callable[..., Any] | None = None
    mixed: str = "follow"
    pure: bool = True
    printed: tuple[str, ...] = ()
    lacks: Mapping[str, str] = field(default_factory=dict)

    @property
    def script(self) -> str:
        """The spelling below `R`."""
        return self.name.removeprefix("relax.")

    @property
    def op(self) -> Op:
        """The operator node that calls hold."""
        return Op(self.name)

    @property
    def signature(self) -> str:
        """The signature as users read it: `data, axis=-1`."""
        shown = []
        for p in self.params:
            default = "" if p.required or p.variadic else f"={p.default!r}"
            shown.append(("*" if p.variadic else "") + p.name + default)
        return ", ".join(shown)

    def __call__(self, *args: Any, span: Any = None, **kwargs: Any) -> Call:
        """The call of this operator, with its type.

        Raises DTypeError for wrong arguments, and what the type rule raises where types do not fit.
        """
        values = bind(self, args, kwargs)
        if self.prepare is not None:
            return (self.prepare(values) or self).make(values, span)
        return self.make(values, span)

    def make(self, values: dict[str, Any], span: Any = None) -> Call:
        """The call with these bound and normalised values."""
        operands: list[Any] = []
        types: Types = ()
        for p in self.params:
            value = values[p.name]
            if p.is_operand:
                operands += value if p.variadic else [value]
            elif p.kind == "Types":
                types = value or ()
            elif p.kind == "OutType":
                types = (value,)
        while operands and operands[-1] is None:
            operands.pop()
        filled = [null_value() if value is None else value for value in operands]
        names = self.printed or [p.name for p in self.params if p.is_attr]
        attrs = {name: values[name] for name in names}
        return Call(self.op, filled, self._type(values), Attrs(attrs), types, span)

    def _type(self, values: dict[str, Any]) -> Type:
        many = next((i for i, p in enumerate(self.params) if p.variadic), None)
        if many is None:
            return self.infer(**values)
        first = [values[p.name] for p in self.params[:many]]
        rest = {p.name: values[p.name] for p in self.params[many + 1 :]}
        return self.infer(*first, *values[self.params[many].name], **rest)

    def values(self, call: Call) -> dict[str, Any]:
        """Operands, attributes and stated types of a call by parameter name; absent operands are None."""
        out: dict[str, Any] = {}
        args = list(call.args)
        for p in self.params:
            if p.kind == "Types":
                out[p.name] = call.ty_args
            elif p.kind == "OutType":
                out[p.name] = call.ty_args[0]
            elif p.is_attr:
                out[p.name] = call.attrs.get(p.name, None if p.required else p.default)
            elif p.variadic:
                out[p.name], args = tuple(args), []
            else:
                value = args.pop(0) if args else None
                out[p.name] = None if is_null_value(value) else value
        return out

    def split(self, call: Call) -> tuple[list[Any], dict[str, Any]]:
        """Operands in order (None where absent) and attributes by name, as `te` and `numpy` take them."""
        values = self.values(call)
        operands: list[Any] = []
        for p in self.params:
            if p.is_operand:
                operands += values[p.name] if p.variadic else [values[p.name]]
        return operands, {p.name: values[p.name] for p in self.params if p.is_attr}

    def again(self, call: Call, args: Any) -> Call:
        """The same call with other operands, its type derived anew."""
        return self.make(self.values(call.replace(args=args)), call.span)


def null_value() -> Call:
    """What stands for an absent operand before a present one."""
    return Call(Op("relax.null_value"), (), AnyType())


def as_number(value: Expr) -> Expr:
    """A tensor constant of rank 0 as the number that it holds; any other expression itself."""
    if type(value) is not GenericConst or getattr(value.ty, "ndim", None) != 0:
        return value
    dtype = value.ty.dtype  # type: ignore[attr-defined]
    kind = float if dtype.is_float else bool if dtype.is_bool else int
    return const(kind(value.value), dtype)


def is_null_value(value: Any) -> bool:
    """Whether this is the mark of an absent operand."""
    return isinstance(value, Call) and isinstance(value.op, Op) and value.op.name == "relax.null_value"


def bind(rec: RelaxOp, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments by parameter name, converted. Raises DTypeError naming operator and parameter."""
    values: dict[str, Any] = {}
    rest = list(args)
    for p in rec.params:
        if p.variadic:
            values[p.name], rest = tuple([_convert(rec, p, v) for v in rest]), []
        elif rest and p.name in kwargs:
            raise _wrong(rec, f"`{p.name}` is given twice")
        elif rest or p.name in kwargs:
            values[p.name] = _convert(rec, p, rest.pop(0) if rest else kwargs[p.name])
        elif p.required:
            raise _wrong(rec, f"the argument `{p.name}` is missing")
        else:
            values[p.name] = None if p.default is None else _convert(rec, p, p.default)
    if rest:
        raise _wrong(rec, f"there are {len(args)} arguments for {len(rec.params)} parameters")
    unknown = [k for k in kwargs if k not in values]
    if unknown:
        names = [p.name for p in rec.params]
        raise _wrong(rec, f"there is no parameter `{unknown[0]}`", suggest(unknown[0], names))
    return values


def _wrong(rec: RelaxOp, text: str, help: tuple[str, ...] = ()) -> DTypeError:
    return DTypeError(
        Diagnostic(
            "operator-arguments",
            f"R.{rec.script}: {text}",
            help=(*help, f"the signature is `R.{rec.script}({rec.signature})`"),
        )
    )


def _convert(rec: RelaxOp, p: Param, value: Any) -> Any:
    if value is None:
        if p.optional or p.default is None:
            return None
        raise _wrong(rec, f"`{p.name}` must be given, not None")
    try:
        return _CONVERT[p.kind](value)
    except LoopwrightError:
        raise
    except (TypeError, ValueError):
        raise _wrong(rec, f"`{p.name}` must be {_MEANING[p.kind]}, not {noun(value)}") from None


def _tensor(value: Any) -> Expr:
    if isinstance(value, Expr):
        if isinstance(value.ty, TensorType | AnyType | PrimType):
            return value
        raise TypeError
    if isinstance(value, bool | int | float) or hasattr(value, "dtype"):
        return tensor_const(value)
    raise TypeError


def _tensors(value: Any) -> Expr:
    if isinstance(value, list | tuple):
        return Tuple([_tensor(v) for v in value])
    if isinstance(value, Expr) and isinstance(value.ty, TupleType | AnyType | TensorType):
        return value
    raise TypeError


def _shape(value: Any) -> Expr:
    if isinstance(value, list | tuple):
        return ShapeExpr(value)
    if isinstance(value, Expr) and isinstance(value.ty, ShapeType | AnyType | TensorType):
        return value
    if isinstance(value, int) or (isinstance(value, Expr) and isinstance(value.ty, PrimType)):
        return ShapeExpr([value])
    raise TypeError


def _scalar(value: Any) -> Expr:
    if isinstance(value, Expr):
        return value
    if isinstance(value, bool | int | float):
        return prim_value(value)
    raise TypeError


def _scalars(value: Any) -> Expr:
    if isinstance(value, list | tuple):
        return Tuple([_scalar(v) for v in value])
    if isinstance(value, Expr):
        return value
    raise TypeError


def as_callee(value: Any) -> Expr:
    """What is called: a function, an external one by its symbol. Raises TypeError for other things."""
    if isinstance(value, str):
        return ExternFunc(value)
    if isinstance(value, Expr):
        return value
    raise TypeError


def _args(value: Any) -> Tuple:
    if isinstance(value, list | tuple):
        return Tuple([as_argument(v) for v in value])
    if isinstance(value, Tuple):
        return value
    if isinstance(value, Expr) and isinstance(value.ty, TupleType):
        return Tuple([TupleGetItem(value, i) for i in range(len(value.ty.fields_))])
    return Tuple([as_argument(value)])


def as_argument(value: Any) -> Expr:
    """A Python value as an argument: numbers as scalars (int64, float64), arrays as constants, tuples."""
    if isinstance(value, list | tuple):
        return Tuple([as_argument(v) for v in value])
    if isinstance(value, bool | int | float):
        return prim_value(value)
    if hasattr(value, "__array__") and not isinstance(value, Expr):
        return tensor_const(value)
    if isinstance(value, DType):
        return DataTypeImm(value)
    return as_expr(value)


def _text_operand(value: Any) -> Expr:
    if isinstance(value, str):
        return StringImm(value)
    if isinstance(value, Expr) and isinstance(value.ty, StringType | AnyType):
        return value
    raise TypeError


def _dtype_operand(value: Any) -> Expr:
    if isinstance(value, DataTypeImm) or (isinstance(value, Expr) and isinstance(value.ty, AnyType)):
        return value
    if isinstance(value, str | DType | PrimType):
        return DataTypeImm(value.dtype if isinstance(value, PrimType) else value)
    raise TypeError


def as_types(value: Any) -> Types:
    """The types given, one or several. Raises TypeError for other things."""
    types = (value,) if isinstance(value, Type) else tuple(value)
    if not all(isinstance(ty, Type) for ty in types):
        raise TypeError
    return types


def _out_type(value: Any) -> Type:
    return value if isinstance(value, Type) else TupleType(as_types(value))


def _integers(value: Any) -> tuple[int, ...]:
    if isinstance(value, list | tuple):
        return tuple([_integer(v) for v in value])
    return (_integer(value),)


def _integer(value: Any) -> int:
    if isinstance(value, bool):
        raise TypeError
    return operator.index(value)


def _string(value: Any) -> str:
    if isinstance(value, StringImm):
        return value.value
    if not isinstance(value, str):
        raise TypeError
    return value


def _flag(value: Any) -> bool:
    if isinstance(value, bool) or value in (0, 1):
        return bool(value)
    raise TypeError


def _dtype(value: Any) -> DType | None:
    if isinstance(value, PrimType):
        value = value.dtype
    return None if value in ("", "void") else DType(value)


_CONVERT: dict[str, Callable[[Any], Any]] = {
    "Tensor": _tensor,
    "Tensors": _tensors,
    "Shape": _shape,
    "Scalar": _scalar,
    "Scalars": _scalars,
    "Operand": as_argument,
    "Callee": as_callee,
    "Args": _args,
    "Text": _text_operand,
    "DTypeValue": _dtype_operand,
    "Types": as_types,
    "OutType": _out_type,
    "int": _integer,
    "float": float,
    "str": _string,
    "bool": _flag,
    "DType": _dtype,
    "Ints": _integers,
    "Format": _string,
    "Any": lambda value: value,
}
_MEANING = {
    "Tensor": "a tensor",
    "Tensors": "tensors",
    "Shape": "a shape",
    "Scalar": "a scalar",
    "Scalars": "scalars",
    "Operand": "an expression",
    "Callee": "a function or the symbol of an external one",
    "Args": "arguments",
    "Text": "a text",
    "DTypeValue": "a dtype",
    "Types": "types",
    "OutType": "a type, or a list of them",
    "int": "an integer",
    "float": "a number",
    "str": "a text",
    "bool": "a truth value",
    "DType": "a dtype",
    "Ints": "one or several integers",
    "Format": "a text",
    "Any": "a value",
}


def prim_value(value: Any, dtype: Any = None) -> Expr:
    """A scalar constant: integers are int64, floats float64, unless `dtype` says otherwise."""
    if isinstance(value, Expr):
        return value
    if dtype is None and not isinstance(value, bool):
        dtype = INT64.dtype if isinstance(value, int) else DType("float64")
    return const(value, dtype)


def tensor_const(value: Any, dtype: Any = None) -> Expr:
    """A tensor constant of this value; see `tensor_constant`."""
    from .constant import tensor_constant

    return tensor_constant(value, dtype)


_RECORDS: dict[str, RelaxOp] = {}


def relax_op(name: str, **parts: Any) -> Callable[[Callable[..., Any]], RelaxOp]:
    """Register the operator whose type rule the decorated function is; see the head of this module.

    Raises IRError for a name that is taken.
    """

    def register(rule: Callable[..., Any]) -> RelaxOp:
        if name in _RECORDS:
            raise IRError(Diagnostic("duplicate-operator", f"the operator `{name}` is registered already"))
        params = tuple([_param(p) for p in inspect.signature(rule).parameters.values()])
        rec = _RECORDS[name] = RelaxOp(name, params, rule, inspect.getdoc(rule) or "", **parts)
        return rec

    return register


def _param(p: inspect.Parameter) -> Param:
    words = [w.strip() for w in str(p.annotation).split("|")]
    kind = next(w for w in words if w != "None")
    if kind not in _CONVERT:
        raise TypeError(f"`{kind}` is no kind of parameter of an operator")
    return Param(p.name, kind, "None" in words, p.default, p.kind is inspect.Parameter.VAR_POSITIONAL)


def _load() -> None:
    from ... import ops  # noqa: F401  the families register themselves on import


def find_op(name: str) -> RelaxOp | None:
    """The record of a graph operator, or None."""
    if name not in _RECORDS:
        _load()
    return _RECORDS.get(name)


def get_op(name: str) -> RelaxOp:
    """The record of a graph operator. Raises IRError with near names when there is none."""
    found = find_op(name)
    if found is None:
        near = suggest(name, _RECORDS)
        raise IRError(Diagnostic("unknown-operator", f"there is no operator `{name}`", help=near))
    return found


_COMPOSED: dict[str, Callable[..., Expr]] = {}


def composed(name: str) -> Callable[[Callable[..., Expr]], Callable[..., Expr]]:
    """Make a function a word of `R` that stands for calls of operators, and is none itself."""

    def register(function: Callable[..., Expr]) -> Callable[..., Expr]:
        _COMPOSED[name] = function
        return function

    return register


def find_composed(name: str) -> Callable[..., Expr] | None:
    """The function that makes calls of operators for a word of `R`, or None."""
    _load()
    return _COMPOSED.get(name)


def all_ops() -> tuple[RelaxOp, ...]:
    """Every registered graph operator, by name."""
    _load()
    return tuple([_RECORDS[name] for name in sorted(_RECORDS)])


def op_of(call: Any) -> RelaxOp | None:
    """The record of the operator that an expression calls, or None where it calls none."""
    if isinstance(call, Call) and isinstance(call.op, Op):
        return find_op(call.op.name)
    return None


__all__ = [
    "Args",
    "Callee",
    "DTypeValue",
    "Format",
    "Ints",
    "OpPattern",
    "Operand",
    "OutType",
    "Param",
    "RelaxOp",
    "Scalar",
    "Scalars",
    "Shape",
    "Tensor",
    "Tensors",
    "Text",
    "Types",
    "all_ops",
    "as_number",
    "composed",
    "find_composed",
    "find_op",
    "get_op",
    "is_null_value",
    "null_value",
    "op_of",
    "prim_value",
    "relax_op",
    "tensor_const",
]
