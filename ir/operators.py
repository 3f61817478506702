"""Python operators on expressions, and the functions behind them: promotion and folding.

Two strengths of folding: `fold="full"`, the Python API's (constants and identities such as x + 0),
and `fold="constants"`, the script's (constant with constant only, so that printing loses nothing).
`fold="none"` promotes only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from ..dtype import DType
from ..errors import Diagnostic, DTypeError
from ..node import NO_ATTRS, Attrs
from . import expr as E
from . import promote
from .fold import eval_binary
from .op import Op
from .types import BOOL, BufferType, PointerType, PrimType, Type, as_type

Fold = Literal["full", "constants", "none"]

_SHIFTS = ("LShift", "RShift")
_BITWISE = ("BitwiseAnd", "BitwiseOr", "BitwiseXor")
_DIVISIONS = ("Div", "Mod", "FloorDiv", "FloorMod")


def binary(cls: type[Any], a: Any, b: Any, fold: Fold = "full", span: Any = None) -> E.Expr:
    """`cls(a, b)` for any class of two operands, after promotion and folding.

    Raises DTypeError when the operands do not combine or the operator has no meaning for them.
    """
    name = cls.__name__
    if name == "And" or name == "Or":
        return _logical(cls, a, b, fold)
    try:
        a, b = promote.match(a, b)
    except DTypeError:
        return _of_tensors(name, a, b)
    dtype = a.dtype
    if not dtype.is_integral:
        _require_integers(name, dtype)
    elif dtype.is_bool and name in _SHIFTS:
        raise DTypeError(Diagnostic("type-mismatch", f"{name} needs integers, not `{dtype}`"))
    if fold != "none":
        if promote.is_constant(a) and promote.is_constant(b):
            value = fold_constants(cls, a, b)
            if value is not None:
                return value
        if fold == "full":
            same = _identity(name, a, b)
            if same is not None:
                return same
    return cls(a, b) if span is None else cls(a, b, span)


def _of_tensors(operation: str, *operands: Any, **attrs: Any) -> E.Expr:
    """The operation on tensors of a graph; elsewhere the error that is being handled goes on."""
    from .relax.arithmetic import is_tensor, on_tensors

    if not any(is_tensor(value) for value in operands):
        raise
    return on_tensors(operation, *operands, **attrs)


def _require_integers(name: str, dtype: DType) -> None:
    if dtype.code == 3:
        raise DTypeError(Diagnostic("type-mismatch", f"{name} has no meaning for `{dtype}`"))
    if name in _SHIFTS or name in _BITWISE:
        raise DTypeError(Diagnostic("type-mismatch", f"{name} needs integers, not `{dtype}`"))


def fold_constants(cls: type[Any], a: Any, b: Any) -> E.Expr | None:
    """The constant that `cls(a, b)` of two constants of one type stands for.

    None where it is left as a node: a division by zero or of the smallest value by -1, a shift by
    a negative amount or by the width or more, arithmetic and bit operations on bools.
    """
    name, dtype = cls.__name__, a.dtype
    x, y = a.value, b.value
    if dtype.is_bool and (name in _BITWISE or name in ("Add", "Sub", "Mul") or name in _DIVISIONS):
        return None
    if name in _DIVISIONS and (y == 0 or (y == -1 and dtype.is_int and x == dtype.min_value)):
        return None
    if name in _SHIFTS and not 0 <= y < dtype.bits:
        return None
    if name in ("And", "Or") and not dtype.is_bool:
        return None
    value = eval_binary(cls, dtype, x, y)
    if type(value) is bool:
        return E.IntImm(BOOL, int(value))
    if dtype.is_float:
        return E.FloatImm(a.ty, value)
    return E.IntImm(a.ty, int(value))


def _identity(name: str, a: Any, b: Any) -> E.Expr | None:
    """x where the operation on x and a constant is x (or a constant) whatever x is, as TVM folds."""
    if name in ("Min", "Max"):
        return a if a is b else None
    if promote.is_constant(b):
        y = b.value
        if y == 0 and name in ("Add", "Sub", "LShift", "RShift"):
            return a
        integral = a.dtype.is_integral
        if y == 1 and (name in ("Mul", "Div") or integral and name == "FloorDiv"):
            return a
        if integral and (y == 0 and name == "Mul" or y == 1 and name in ("Mod", "FloorMod")):
            return E.IntImm(a.ty, 0)
    elif promote.is_constant(a):
        x = a.value
        if name == "Add":
            return b if x == 0 else None
        if name == "Mul":
            if x == 1:
                return b
            return a if x == 0 and a.dtype.is_integral else None
        if name in _DIVISIONS and x == 0 and a.dtype.is_integral:
            return a
    return None


def _logical(cls: type[Any], a: Any, b: Any, fold: Fold) -> E.Expr:
    a, b = _condition(a), _condition(b)
    if a.dtype.is_vector or b.dtype.is_vector:
        return binary(E.BitwiseAnd if cls is E.And else E.BitwiseOr, a, b, fold)
    if fold == "none":
        return cls(a, b)
    if promote.is_constant(a) and promote.is_constant(b):
        return E.IntImm(BOOL, int(eval_binary(cls, a.dtype, a.value, b.value)))
    if fold == "full":
        for one, other in ((a, b), (b, a)):
            if promote.is_constant(one):
                neutral = bool(one.value) == (cls is E.And)
                return other if neutral else one
    return cls(a, b)


def _condition(value: Any) -> Any:
    value = promote.operand(value)
    if not value.dtype.is_bool:
        raise DTypeError(
            Diagnostic(
                "condition-type",
                f"`and`, `or` and `not` need bool operands, not `{value.dtype}`",
                help=("compare with zero, as in `x != 0`",),
            )
        )
    return value


def folds(node: Any) -> bool:
    """Whether spelling this two-operand node as an operator in script would give another node.

    The printer then writes the node's name, as in `T.Add(1, 2)`.
    """
    a, b = node.a, node.b
    if not (isinstance(a.ty, PrimType) and isinstance(b.ty, PrimType)):
        return True
    if type(node) is E.And or type(node) is E.Or:
        return a.dtype.is_vector or not a.dtype.is_bool or (promote.is_constant(a) and promote.is_constant(b))
    try:
        respelled = binary(type(node), a, b, "constants")
    except DTypeError:
        return True
    return type(respelled) is not type(node)


def add(lhs: Any, rhs: Any, span: Any = None, fold: Fold = "full") -> E.Expr:
    """lhs + rhs"""
    return binary(E.Add, lhs, rhs, fold, span)


def sub(lhs: Any, rhs: Any, span: Any = None, fold: Fold = "full") -> E.Expr:
    """lhs - rhs"""
    return binary(E.Sub, lhs, rhs, fold, span)


subtract = sub


def mul(lhs: Any, rhs: Any, span: Any = None, fold: Fold = "full") -> E.Expr:
    """lhs * rhs"""
    return binary(E.Mul, lhs, rhs, fold, span)


multiply = mul


def div(a: Any, b: Any, span: Any = None, fold: Fold = "full") -> E.Expr:
    """a / b of floats. Raises DTypeError for integers, whose division has several meanings."""
    try:
        x, y = promote.match(a, b)
    except DTypeError:
        return _of_tensors("Div", a, b)
    if x.dtype.is_integral:
        raise DTypeError(
            Diagnostic(
                "integer-division",
                "`/` of integers is ambiguous",
                help=(
                    "use `//` (T.floordiv, rounds down) or T.truncdiv (rounds toward zero)",
                    "or cast an operand to a float type first",
                ),
            )
        )
    return binary(E.Div, x, y, fold, span)


def truncdiv(a: Any, b: Any, span: Any = None, fold: Fold = "full") -> E.Expr:
    """a / b of integers, rounded toward zero. Raises DTypeError for floats."""
    x, y = promote.match(a, b)
    if not x.dtype.is_integral:
        raise DTypeError(
            Diagnostic("type-mismatch", f"truncdiv needs integers, not `{x.dtype}`", help=("use `/`",))
        )
    return binary(E.Div, x, y, fold, span)


def truncmod(a: Any, b: Any, span: Any = None, fold: Fold = "full") -> E.Expr:
    """The remainder of `truncdiv`, with the sign of a; for floats C's fmod."""
    return binary(E.Mod, a, b, fold, span)


def floordiv(a: Any, b: Any, span: Any = None, fold: Fold = "full") -> E.Expr:
    """a / b rounded down, as Python's `//`."""
    return binary(E.FloorDiv, a, b, fold, span)


def floormod(a: Any, b: Any, span: Any = None, fold: Fold = "full") -> E.Expr:
    """The remainder of `floordiv`, with the sign of b, as Python's `%`."""
    return binary(E.FloorMod, a, b, fold, span)


indexdiv = floordiv
indexmod = floormod


def ceildiv(lhs: Any, rhs: Any, span: Any = None, fold: Fold = "full") -> E.Expr:
    """lhs / rhs rounded up: the expression (lhs + rhs - 1) // rhs where rhs is surely positive,
    0 - (0 - lhs) // rhs elsewhere.
    """
    a, b = promote.match(lhs, rhs)
    if a.dtype.is_int and not _positive(b):
        return sub(0, floordiv(sub(0, a, fold=fold), b, fold=fold), span, fold)
    return floordiv(sub(add(a, b, fold=fold), 1, fold=fold), again(b), span, fold)


def _positive(e: E.Expr) -> bool:
    """Whether a divisor is positive by its looks."""
    if isinstance(e, E.IntImm):
        return e.value > 0
    if isinstance(e, E.Mul | E.Add | E.Max):
        return _positive(e.a) and _positive(e.b)
    if isinstance(e, E.Cast):
        return _positive(e.value) and e.dtype.bits >= e.value.dtype.bits
    return isinstance(e, E.Call) and isinstance(e.op, Op) and e.op.name == "prim.vscale"


def again(e: E.Expr) -> E.Expr:
    """An operand for a second use beside the first: what it defines inside is defined anew."""
    from .visitor import renew_definitions

    return renew_definitions(e)


def shift_left(x: Any, y: Any, span: Any = None, fold: Fold = "full") -> E.Expr:
    """x << y of integers."""
    return binary(E.LShift, x, y, fold, span)


def shift_right(x: Any, y: Any, span: Any = None, fold: Fold = "full") -> E.Expr:
    """x >> y of integers, arithmetic for signed ones."""
    return binary(E.RShift, x, y, fold, span)


def bitwise_and(x: Any, y: Any, span: Any = None, fold: Fold = "full") -> E.Expr:
    """x & y of integers or bools."""
    return binary(E.BitwiseAnd, x, y, fold, span)


def bitwise_or(x: Any, y: Any, span: Any = None, fold: Fold = "full") -> E.Expr:
    """x | y of integers or bools."""
    return binary(E.BitwiseOr, x, y, fold, span)


def bitwise_xor(x: Any, y: Any, span: Any = None, fold: Fold = "full") -> E.Expr:
    """x ^ y of integers or bools."""
    return binary(E.BitwiseXor, x, y, fold, span)


def bitwise_not(x: Any, span: Any = None) -> E.Expr:
    """~x of an integer or bool; never folded."""
    try:
        value = promote.operand(x)
    except DTypeError:
        return _of_tensors("BitwiseNot", x)
    if not value.dtype.is_integral:
        raise DTypeError(Diagnostic("type-mismatch", f"`~` needs integers, not `{value.dtype}`"))
    return E.BitwiseNot(value, span)


def less(a: Any, b: Any, span: Any = None, fold: Fold = "full") -> E.Expr:
    """a < b"""
    return binary(E.LT, a, b, fold, span)


def less_equal(a: Any, b: Any, span: Any = None, fold: Fold = "full") -> E.Expr:
    """a <= b"""
    return binary(E.LE, a, b, fold, span)


def greater(a: Any, b: Any, span: Any = None, fold: Fold = "full") -> E.Expr:
    """a > b"""
    return binary(E.GT, a, b, fold, span)


def greater_equal(a: Any, b: Any, span: Any = None, fold: Fold = "full") -> E.Expr:
    """a >= b"""
    return binary(E.GE, a, b, fold, span)


def equal(a: Any, b: Any, span: Any = None, fold: Fold = "full") -> E.Expr:
    """a == b; pointers too."""
    return _equality(E.EQ, a, b, fold, span)


def not_equal(a: Any, b: Any, span: Any = None, fold: Fold = "full") -> E.Expr:
    """a != b; pointers too."""
    return _equality(E.NE, a, b, fold, span)


def _equality(cls: type[Any], a: Any, b: Any, fold: Fold, span: Any) -> E.Expr:
    if isinstance(a, E.Expr) and isinstance(b, E.Expr) and isinstance(a.ty, PointerType):
        return cls(a, b, span)
    return binary(cls, a, b, fold, span)


def logical_and(a: Any, b: Any, span: Any = None, fold: Fold = "full") -> E.Expr:
    """a and b of bools, b evaluated only where a is true; `&` of vectors."""
    return _logical(E.And, a, b, fold)


def logical_or(a: Any, b: Any, span: Any = None, fold: Fold = "full") -> E.Expr:
    """a or b of bools, b evaluated only where a is false; `|` of vectors."""
    return _logical(E.Or, a, b, fold)


def logical_not(a: Any, span: Any = None) -> E.Expr:
    """not a, of a bool; never folded."""
    return E.Not(_condition(a), span)


def all_(*args: Any, span: Any = None, fold: Fold = "full") -> E.Expr:
    """The conjunction of the conditions."""
    return _chain(logical_and, args, fold)


def any_(*args: Any, span: Any = None, fold: Fold = "full") -> E.Expr:
    """The disjunction of the conditions."""
    return _chain(logical_or, args, fold)


def _chain(combine: Any, args: tuple[Any, ...], fold: Fold) -> E.Expr:
    if not args:
        raise DTypeError(Diagnostic("argument-count", "all() and any() need at least one condition"))
    result = _condition(args[0])
    for one in args[1:]:
        result = combine(result, one, fold=fold)
    return result


def min_(a: Any, b: Any, span: Any = None, fold: Fold = "full") -> E.Expr:
    """The smaller one: a if a < b else b."""
    return binary(E.Min, a, b, fold, span)


def max_(a: Any, b: Any, span: Any = None, fold: Fold = "full") -> E.Expr:
    """The larger one: a if a > b else b."""
    return binary(E.Max, a, b, fold, span)


def neg(x: Any, span: Any = None, fold: Fold = "full") -> E.Expr:
    """-x, as x * -1 (0 - x for unsigned integers, which have no -1)."""
    try:
        value = promote.operand(x)
    except DTypeError:
        return _of_tensors("Neg", x)
    if value.dtype.is_bool:
        raise DTypeError(Diagnostic("type-mismatch", "`-` has no meaning for bool", help=("use `not`",)))
    if value.dtype.is_uint:
        return binary(E.Sub, 0, value, fold, span)
    return binary(E.Mul, value, -1, fold, span)


negative = neg


def cast(value: Any, dtype: Any, span: Any = None) -> E.Expr:
    """`value` converted to the dtype: constants fold, a scalar is broadcast to a vector type.

    Raises DTypeError for pointers and for vectors of other lanes.
    """
    target = dtype_of(dtype)
    number = value if isinstance(value, E.Expr) else promote.operand(value, like=target.element)
    try:
        return promote.convert(number, target)
    except DTypeError:
        return _of_tensors("Cast", value, dtype=target)


def dtype_of(spec: Any) -> DType:
    """The dtype that a string, DType, PrimType or dtype-like object names."""
    if isinstance(spec, PrimType):
        return spec.dtype
    if isinstance(spec, Type):
        raise DTypeError(Diagnostic("unknown-dtype", f"a {type(spec).__name__} is not a number type"))
    return DType(spec)


def select(condition: Any, true_value: Any, false_value: Any, span: Any = None) -> E.Expr:
    """One of two values, both evaluated; they are promoted to one type."""
    a, b = promote.match(true_value, false_value)
    c = promote.operand(condition)
    return E.Select(c, a, b, span)


def if_then_else(cond: Any, t: Any, f: Any, span: Any = None) -> E.Expr:
    """One of two values, only that one evaluated; a constant condition chooses at once.

    Raises DTypeError when the condition is not a bool or the values do not combine.
    """
    cond = promote.operand(cond)
    if not cond.dtype.is_bool:
        raise DTypeError(Diagnostic("condition-type", f"a condition must be bool, not `{cond.dtype}`"))
    if isinstance(t, E.Expr) and isinstance(f, E.Expr) and isinstance(t.ty, PointerType):
        if not isinstance(f.ty, PointerType):
            raise DTypeError(Diagnostic("type-mismatch", "one value is a pointer, the other is not"))
    else:
        t, f = promote.match(t, f)
    if promote.is_constant(cond):
        return t if cond.value else f
    return E.Call("prim.if_then_else", (cond, t, f), t.ty, NO_ATTRS, (), span)


def power(x: Any, y: Any, span: Any = None) -> E.Expr:
    """x to the power y, of floats. Raises DTypeError for integers."""
    try:
        a, b = promote.match(x, y)
    except DTypeError:
        return _of_tensors("Pow", x, y)
    if not a.dtype.is_float:
        raise DTypeError(
            Diagnostic(
                "type-mismatch", f"a power of `{a.dtype}` is not possible", help=("cast to a float type",)
            )
        )
    return E.Call("tirx.pow", (a, b), a.ty, NO_ATTRS, (), span)


def absolute(x: Any, span: Any = None, fold: Fold = "full") -> E.Expr:
    """|x|: a call of fabs for floats, a Select for signed integers, x itself for unsigned ones."""
    try:
        value = promote.operand(x)
    except DTypeError:
        return _of_tensors("Abs", x)
    dtype = value.dtype
    if dtype.is_float:
        if isinstance(value, E.FloatImm):
            return E.FloatImm(value.ty, abs(value.value))
        return E.Call("tirx.fabs", (value,), value.ty, NO_ATTRS, (), span)
    if dtype.is_uint:
        return value
    if not dtype.is_int:
        raise DTypeError(Diagnostic("type-mismatch", f"`abs` has no meaning for `{dtype}`"))
    negated = binary(E.Sub, 0, again(value), fold)
    if isinstance(value, E.IntImm):
        return value if value.value >= 0 else negated
    return E.Select(binary(E.GE, value, 0, fold), again(value), negated, span)


def _foreign(value: Any) -> bool:
    """Whether this is an object that may know how to combine with us itself."""
    return not isinstance(value, E.Expr) and not promote.is_operand(value)


class OperatorMethods:
    """`+`, `<`, `astype`, ... on scalar and vector expressions.

    They promote and fold as TVM's Python API does.  Comparing with `==` builds a comparison where
    both sides are numbers; with anything else (None, strings, buffers, pointers) it is identity.
    """

    __slots__ = ()
    __array_ufunc__: ClassVar[None] = None
    __iter__: ClassVar[None] = None
    if TYPE_CHECKING:
        ty: Type

    def __add__(self, other: Any) -> Any:
        return NotImplemented if _foreign(other) else binary(E.Add, self, other)

    def __radd__(self, other: Any) -> Any:
        return NotImplemented if _foreign(other) else binary(E.Add, other, self)

    def __sub__(self, other: Any) -> Any:
        return NotImplemented if _foreign(other) else binary(E.Sub, self, other)

    def __rsub__(self, other: Any) -> Any:
        return NotImplemented if _foreign(other) else binary(E.Sub, other, self)

    def __mul__(self, other: Any) -> Any:
        return NotImplemented if _foreign(other) else binary(E.Mul, self, other)

    def __rmul__(self, other: Any) -> Any:
        return NotImplemented if _foreign(other) else binary(E.Mul, other, self)

    def __truediv__(self, other: Any) -> Any:
        return NotImplemented if _foreign(other) else div(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return NotImplemented if _foreign(other) else div(other, self)

    def __floordiv__(self, other: Any) -> Any:
        return NotImplemented if _foreign(other) else binary(E.FloorDiv, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return NotImplemented if _foreign(other) else binary(E.FloorDiv, other, self)

    def __mod__(self, other: Any) -> Any:
        return NotImplemented if _foreign(other) else binary(E.FloorMod, self, other)

    def __rmod__(self, other: Any) -> Any:
        return NotImplemented if _foreign(other) else binary(E.FloorMod, other, self)

    def __pow__(self, other: Any) -> Any:
        return NotImplemented if _foreign(other) else power(self, other)

    def __rpow__(self, other: Any) -> Any:
        return NotImplemented if _foreign(other) else power(other, self)

    def __lshift__(self, other: Any) -> Any:
        return NotImplemented if _foreign(other) else binary(E.LShift, self, other)

    def __rlshift__(self, other: Any) -> Any:
        return NotImplemented if _foreign(other) else binary(E.LShift, other, self)

    def __rshift__(self, other: Any) -> Any:
        return NotImplemented if _foreign(other) else binary(E.RShift, self, other)

    def __rrshift__(self, other: Any) -> Any:
        return NotImplemented if _foreign(other) else binary(E.RShift, other, self)

    def __and__(self, other: Any) -> Any:
        return NotImplemented if _foreign(other) else binary(E.BitwiseAnd, self, other)

    def __rand__(self, other: Any) -> Any:
        return NotImplemented if _foreign(other) else binary(E.BitwiseAnd, other, self)

    def __or__(self, other: Any) -> Any:
        return NotImplemented if _foreign(other) else binary(E.BitwiseOr, self, other)

    def __ror__(self, other: Any) -> Any:
        return NotImplemented if _foreign(other) else binary(E.BitwiseOr, other, self)

    def __xor__(self, other: Any) -> Any:
        return NotImplemented if _foreign(other) else binary(E.BitwiseXor, self, other)

    def __rxor__(self, other: Any) -> Any:
        return NotImplemented if _foreign(other) else binary(E.BitwiseXor, other, self)

    def __getitem__(self, index: Any) -> Any:
        """A field of a tuple in a graph."""
        from .relax.arithmetic import item

        return item(self, index)  # type: ignore[arg-type]

    def __neg__(self) -> Any:
        return neg(self)

    def __pos__(self) -> Any:
        return promote.operand(self)

    def __invert__(self) -> Any:
        return bitwise_not(self)

    def __abs__(self) -> Any:
        return absolute(self)

    def __lt__(self, other: Any) -> Any:
        return NotImplemented if _foreign(other) else binary(E.LT, self, other)

    def __le__(self, other: Any) -> Any:
        return NotImplemented if _foreign(other) else binary(E.LE, self, other)

    def __gt__(self, other: Any) -> Any:
        return NotImplemented if _foreign(other) else binary(E.GT, self, other)

    def __ge__(self, other: Any) -> Any:
        return NotImplemented if _foreign(other) else binary(E.GE, self, other)

    def __eq__(self, other: object) -> Any:
        if not isinstance(self.ty, PrimType) or not promote.is_operand(other):
            return NotImplemented
        return binary(E.EQ, self, other)

    def __ne__(self, other: object) -> Any:
        if not isinstance(self.ty, PrimType) or not promote.is_operand(other):
            return NotImplemented
        return binary(E.NE, self, other)

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        """The truth of a constant. Raises DTypeError for other scalar and vector expressions."""
        if isinstance(self, E.FloatImm):
            return self.value != 0
        if not isinstance(self.ty, PrimType):
            return True
        raise DTypeError(
            Diagnostic(
                "condition-not-constant",
                "the truth of an expression is not known while the program is built",
                help=(
                    "inside script, `if`, `and`, `or` and `not` build nodes",
                    "in Python code use T.And, T.Or, T.Not, T.if_then_else; test for absence with `is None`",
                ),
            )
        )

    def astype(self, dtype: Any, span: Any = None) -> Any:
        """This value converted to the dtype; see `cast`."""
        return cast(self, dtype, span)

    def equal(self, other: Any, span: Any = None) -> Any:
        """The comparison self == other, never identity."""
        return equal(self, other, span)


def call_type(spec: Any) -> Type:
    """The type that the dtype argument of an intrinsic names: "" is void, "handle" a pointer."""
    if isinstance(spec, E.Var):
        return (
            PointerType(spec.ty.dtype, spec.ty.storage_scope) if isinstance(spec.ty, BufferType) else spec.ty
        )
    return as_type("void" if spec == "" else spec)


def call(name: str, args: tuple[Any, ...], ty: Any, attrs: Attrs = NO_ATTRS) -> E.Expr:
    """A call of an operator by name."""
    return E.Call(Op(name), args, call_type(ty), attrs)
