"""Expressions: immutable nodes, each with its type in `ty`.

Names and meaning are TVM's.  Constructors check that operand types agree and never promote or
fold; the operators of Python (`a + b`) promote and fold, see `operators.py`.
`a == b` on scalar expressions builds a comparison; `is` and the structural functions compare.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from ..dtype import DType, fits
from ..errors import Diagnostic, DTypeError, Span, noun
from ..node import DERIVED, IGNORED, NO_ATTRS, Attrs, Defines, Node
from .buffer import BufferMethods
from .index_map import IndexMapMethods
from .op import Op
from .operators import OperatorMethods
from .types import (
    BOOL,
    HANDLE,
    INT32,
    STRING,
    AnyType,
    BufferRegionType,
    BufferType,
    FuncType,
    PointerType,
    PrimType,
    TupleType,
    Type,
    as_type,
)

if TYPE_CHECKING:
    # Most fields are declared as plain expressions; that they are scalars is known by their types only.
    class _Operand(OperatorMethods, Node): ...
else:
    _Operand = Node


class Expr(_Operand):
    """Base of all expressions."""

    ty: Type
    span: Annotated[Span | None, IGNORED] = None

    @property
    def dtype(self) -> DType:
        """The dtype of a scalar or vector, the element type of a buffer, `handle` of a pointer.

        Raises DTypeError for other types.
        """
        ty = self.ty
        if type(ty) is PrimType or isinstance(ty, BufferType):
            return ty.dtype
        if isinstance(ty, PointerType):
            return DType("handle")
        raise DTypeError(f"an expression of type {type(ty).__name__} has no dtype")


if TYPE_CHECKING:

    class PrimExpr(Expr):
        """Base of expressions that Python's operators combine."""

else:

    class PrimExpr(OperatorMethods, Expr):
        """Base of expressions that Python's operators combine."""

        __slots__ = ()


class Var(BufferMethods, PrimExpr):
    """A variable, compared by identity; the name is a hint. A buffer is one whose type is BufferType."""

    name: Annotated[str, IGNORED]
    ty: Type = INT32
    span: Annotated[Span | None, IGNORED] = None

    @staticmethod
    def _coerce(name: Any, ty: Any) -> tuple[Any, Any]:
        if not isinstance(name, str):
            raise DTypeError(
                Diagnostic("invalid-argument", f"a variable's name is a text, not a {type(name).__name__}")
            )
        return name, ty if isinstance(ty, Type) else as_type(ty)

    def __repr__(self) -> str:
        return f"Var({self.name!r}, {self.ty!r})" if isinstance(self.ty, PrimType) else f"Var({self.name!r})"

    @property
    def name_hint(self) -> str:
        return self.name


class GlobalVar(Expr):
    """The name of a function of the module; one object per name and module, compared by name."""

    name: str
    ty: Type = AnyType()
    span: Annotated[Span | None, IGNORED] = None

    @property
    def name_hint(self) -> str:
        return self.name

    def __call__(self, *args: Any) -> Call:
        """The call of the graph function of this name; see `loopwright.ir.relax.call_function`."""
        from .relax import call_function

        return call_function(self, args)


class IntImm(PrimExpr):
    """An integer or bool constant; its value lies in the range of its type."""

    ty: Type
    value: int

    @staticmethod
    def _coerce(ty: Any, value: Any) -> tuple[Any, Any]:
        ty = ty if type(ty) is PrimType else PrimType(ty)
        dtype = ty.dtype
        value = int(value)
        if not dtype.is_integral or dtype.is_vector:
            raise DTypeError(Diagnostic("literal-dtype", f"an integer constant cannot have dtype `{dtype}`"))
        if not fits(dtype, value):
            raise DTypeError(Diagnostic("literal-range", f"{value} is outside the range of `{dtype}`"))
        return ty, value

    def __int__(self) -> int:
        return self.value

    def __index__(self) -> int:
        return self.value

    def __bool__(self) -> bool:
        return self.value != 0

    def __repr__(self) -> str:
        return f"IntImm({str(self.dtype)!r}, {self.value})"


class FloatImm(PrimExpr):
    """A float constant. The value is kept as written; back ends round it to the type."""

    ty: Type
    value: float

    @staticmethod
    def _coerce(ty: Any, value: Any) -> tuple[Any, Any]:
        ty = ty if type(ty) is PrimType else PrimType(ty)
        dtype = ty.dtype
        value = float(value)
        if not dtype.is_float or dtype.is_vector:
            raise DTypeError(Diagnostic("literal-dtype", f"a float constant cannot have dtype `{dtype}`"))
        if not fits(dtype, value):
            raise DTypeError(Diagnostic("literal-range", f"{value!r} is outside the range of `{dtype}`"))
        return ty, value

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        return f"FloatImm({str(self.dtype)!r}, {self.value!r})"


class StringImm(Expr):
    """A string constant."""

    value: str
    ty: Annotated[Type, DERIVED] = STRING

    def _derive(self) -> Type:
        return STRING


class GenericConst(Expr):
    """A constant without a literal form, such as a tensor; `value` is a read-only array (ConstData)."""

    ty: Type
    value: Any


def _same_types(name: str, a: Expr, b: Expr) -> None:
    if a.ty is not b.ty and not (isinstance(a.ty, PointerType) and isinstance(b.ty, PointerType)):
        raise DTypeError(
            Diagnostic("type-mismatch", f"operands of {name} have types `{_show(a)}` and `{_show(b)}`")
        )


def _show(e: Expr) -> str:
    ty = e.ty
    return str(ty.dtype) if isinstance(ty, PrimType) else type(ty).__name__


class BinaryOp(PrimExpr):
    """Base of operators on two operands of one type."""

    a: Expr
    b: Expr
    ty: Annotated[Type, DERIVED]
    _takes: ClassVar[str | None] = None
    """What the operands must be other than numbers: "integers", "integers or bools", "bools", "any"."""

    @classmethod
    def _coerce(cls, a: Any, b: Any) -> tuple[Any, Any]:
        if type(a) not in _FAST or type(b) not in _FAST:
            a, b = as_expr(a, like=b), as_expr(b, like=a)
        if a.ty is not b.ty:
            _same_types(cls.__name__, a, b)
        if cls._takes is not None:
            _check_operand(cls, a)
        elif type(a.ty) is not PrimType or a.ty.dtype.code == 3:
            raise DTypeError(Diagnostic("type-mismatch", f"{cls.__name__} needs numbers, not `{_show(a)}`"))
        return a, b

    def _derive(self) -> Type:
        return self.a.ty


def _check_operand(cls: type[Any], a: Expr) -> None:
    """Raise DTypeError unless the node class takes operands of this type."""
    takes, ty = cls._takes, a.ty
    if takes == "any":
        return
    dtype = ty.dtype if isinstance(ty, PrimType) else None
    if dtype is None or not (dtype.is_bool if takes == "bools" else dtype.is_integral):
        raise DTypeError(Diagnostic("type-mismatch", f"{cls.__name__} needs {takes}, not `{_show(a)}`"))
    if takes == "integers" and dtype.is_bool:
        raise DTypeError(Diagnostic("type-mismatch", f"{cls.__name__} needs integers, not `{dtype}`"))


class Add(BinaryOp):
    """a + b"""


class Sub(BinaryOp):
    """a - b"""


class Mul(BinaryOp):
    """a * b"""


class Div(BinaryOp):
    """a / b: of floats, or of integers rounding toward zero (`truncdiv`)."""


class Mod(BinaryOp):
    """The remainder of `Div`: the sign of a (`truncmod`)."""


class FloorDiv(BinaryOp):
    """floor(a / b), Python's `//`."""


class FloorMod(BinaryOp):
    """a - floor(a / b) * b, Python's `%`."""


class Min(BinaryOp):
    """The smaller one: a if a < b else b."""


class Max(BinaryOp):
    """The larger one: a if a > b else b."""


class LShift(BinaryOp):
    """a << b"""

    _takes = "integers"


class RShift(BinaryOp):
    """a >> b, arithmetic for signed types."""

    _takes = "integers"


class BitwiseAnd(BinaryOp):
    """a & b"""

    _takes = "integers or bools"


class BitwiseOr(BinaryOp):
    """a | b"""

    _takes = "integers or bools"


class BitwiseXor(BinaryOp):
    """a ^ b"""

    _takes = "integers or bools"


class Comparison(BinaryOp):
    """Base of comparisons; a bool, or a vector of them."""

    def _derive(self) -> Type:
        dtype = self.a.dtype
        if dtype.is_scalar:
            return BOOL
        return PrimType(DType("bool").with_lanes(dtype.lanes, dtype.scalable))


class EQ(Comparison):
    """a == b; its truth in Python is identity of the operands unless both are constant."""

    _takes = "any"

    def __bool__(self) -> bool:
        return _truth(self.a, self.b)


class NE(Comparison):
    """a != b"""

    _takes = "any"

    def __bool__(self) -> bool:
        return not _truth(self.a, self.b)


def _truth(a: Expr, b: Expr) -> bool:
    if isinstance(a, IntImm | FloatImm) and isinstance(b, IntImm | FloatImm):
        return a.value == b.value
    return a is b


class LT(Comparison):
    """a < b"""


class LE(Comparison):
    """a <= b"""


class GT(Comparison):
    """a > b"""


class GE(Comparison):
    """a >= b"""


class And(BinaryOp):
    """a and b, both bool; b is evaluated only where a is true."""

    _takes = "bools"


class Or(BinaryOp):
    """a or b, both bool; b is evaluated only where a is false."""

    _takes = "bools"


class Not(PrimExpr):
    """not a"""

    a: Expr
    ty: Annotated[Type, DERIVED]

    @staticmethod
    def _coerce(a: Any) -> tuple[Any]:
        a = as_expr(a)
        if not a.dtype.is_bool:
            raise DTypeError(Diagnostic("type-mismatch", f"`not` needs a bool, not `{a.dtype}`"))
        return (a,)

    def _derive(self) -> Type:
        return self.a.ty


class BitwiseNot(PrimExpr):
    """~a"""

    a: Expr
    ty: Annotated[Type, DERIVED]

    @staticmethod
    def _coerce(a: Any) -> tuple[Any]:
        a = as_expr(a)
        if not isinstance(a.ty, PrimType) or not a.ty.dtype.is_integral:
            raise DTypeError(Diagnostic("type-mismatch", f"BitwiseNot needs integers, not `{_show(a)}`"))
        return (a,)

    def _derive(self) -> Type:
        return self.a.ty


class Cast(PrimExpr):
    """`value` converted to the type; lanes must agree."""

    ty: Type
    value: Expr

    @staticmethod
    def _coerce(ty: Any, value: Any) -> tuple[Any, Any]:
        value = as_expr(value)
        ty = ty if isinstance(ty, Type) else as_type(ty)
        if isinstance(ty, PrimType) and isinstance(value.ty, PrimType):
            old, new = value.ty.dtype, ty.dtype
            if (old.lanes, old.scalable) != (new.lanes, new.scalable):
                raise DTypeError(Diagnostic("lanes", f"a cast from `{old}` to `{new}` changes the lanes"))
        return ty, value


class Select(PrimExpr):
    """Both values are evaluated, then one is taken."""

    condition: Expr
    true_value: Expr
    false_value: Expr
    ty: Annotated[Type, DERIVED]

    @staticmethod
    def _coerce(condition: Any, true_value: Any, false_value: Any) -> tuple[Any, Any, Any]:
        true_value, false_value = as_expr(true_value, like=false_value), as_expr(false_value, like=true_value)
        condition = as_expr(condition)
        _same_types("Select", true_value, false_value)
        if not condition.dtype.is_bool:
            raise DTypeError(
                Diagnostic(
                    "type-mismatch", f"the condition of Select has dtype `{condition.dtype}`, not bool"
                )
            )
        return condition, true_value, false_value

    def _derive(self) -> Type:
        return self.true_value.ty


class Ramp(PrimExpr):
    """The vector base, base + stride, ..., of `lanes` lanes (an int, or a multiple of vscale)."""

    base: Expr
    stride: Expr
    lanes: Expr
    ty: Annotated[Type, DERIVED]

    @staticmethod
    def _coerce(base: Any, stride: Any, lanes: Any) -> tuple[Any, Any, Any]:
        base, stride = as_expr(base, like=stride), as_expr(stride, like=base)
        _same_types("Ramp", base, stride)
        return base, stride, as_expr(lanes)

    def _derive(self) -> Type:
        return _vector_type(self.base.dtype, self.lanes)


class Broadcast(PrimExpr):
    """A vector of `lanes` equal lanes."""

    value: Expr
    lanes: Expr
    ty: Annotated[Type, DERIVED]

    @staticmethod
    def _coerce(value: Any, lanes: Any) -> tuple[Any, Any]:
        return as_expr(value), as_expr(lanes)

    def _derive(self) -> Type:
        return _vector_type(self.value.dtype, self.lanes)


def _vector_type(element: DType, lanes: Expr) -> Type:
    if not element.is_scalar:
        raise DTypeError(Diagnostic("lanes", f"a vector of `{element}` elements is not possible"))
    match lanes:
        case IntImm(value=count):
            return PrimType(element.with_lanes(count))
        case Mul(a=Call(op=Op(name="prim.vscale")), b=IntImm(value=count)):
            return PrimType(element.with_lanes(count, scalable=True))
        case Mul(a=IntImm(value=count), b=Call(op=Op(name="prim.vscale"))):
            return PrimType(element.with_lanes(count, scalable=True))
        case Call(op=Op(name="prim.vscale")):
            return PrimType(element.with_lanes(1, scalable=True))
    raise DTypeError(Diagnostic("lanes", "lanes must be a constant or a multiple of T.vscale()"))


class Shuffle(PrimExpr):
    """Lanes picked by constant indices from the concatenation of the vectors."""

    vectors: tuple[Expr, ...]
    indices: tuple[Expr, ...]
    ty: Annotated[Type, DERIVED]

    @staticmethod
    def _coerce(vectors: Any, indices: Any) -> tuple[Any, Any]:
        return tuple([as_expr(v) for v in vectors]), tuple([as_expr(i) for i in indices])

    def _derive(self) -> Type:
        if not self.vectors or not self.indices:
            raise DTypeError(Diagnostic("lanes", "Shuffle needs at least one vector and one index"))
        element = self.vectors[0].dtype.element
        return PrimType(element.with_lanes(len(self.indices)))


class BufferLoad(PrimExpr):
    """The element (or, with a vector as last index, the elements) of a buffer."""

    buffer: Var
    indices: tuple[Expr, ...]
    ty: Annotated[Type, DERIVED]

    @staticmethod
    def _coerce(buffer: Any, indices: Any) -> tuple[Any, Any]:
        return _check_access(buffer, indices)

    def _derive(self) -> Type:
        return access_type(self.buffer, self.indices)


def _check_access(buffer: Any, indices: Any) -> tuple[Var, tuple[Expr, ...]]:
    if not isinstance(buffer, Var) or not isinstance(buffer.ty, BufferType):
        raise DTypeError(Diagnostic("not-a-buffer", f"{_name(buffer)} is not a buffer"))
    indices = tuple([i if isinstance(i, Expr) else as_expr(i) for i in indices])
    rank = len(buffer.ty.shape)
    if len(indices) != rank:
        raise DTypeError(
            Diagnostic("index-count", f"`{buffer.name}` has {rank} dimensions but {len(indices)} indices")
        )
    for index in indices[:-1]:
        if isinstance(index.ty, PrimType) and index.ty.dtype.is_vector:
            raise DTypeError(Diagnostic("vector-index", "only the last index of an access may be a vector"))
    return buffer, indices


def _name(value: Any) -> str:
    return f"`{value.name}`" if isinstance(value, Var) else f"a {type(value).__name__}"


def access_type(buffer: Var, indices: Sequence[Expr]) -> Type:
    """The type of the value at these indices: the element type times the lanes of the last index."""
    ty = buffer.ty
    dtype = ty.dtype if type(ty) is BufferType else buffer.dtype
    if indices:
        last = indices[-1].ty
        if isinstance(last, PrimType) and last.dtype.is_vector:
            lanes = last.dtype.lanes * dtype.lanes
            return PrimType(dtype.element.with_lanes(lanes, last.dtype.scalable or dtype.scalable))
    return PrimType._interned.get(dtype) or PrimType(dtype)


class Range(Node):
    """The integers min, min + 1, ..., min + extent - 1."""

    min: Expr
    extent: Expr
    span: Annotated[Span | None, IGNORED] = None

    @staticmethod
    def _coerce(min: Any, extent: Any) -> tuple[Any, Any]:
        return as_expr(min, like=extent), as_expr(extent, like=min)

    @staticmethod
    def from_min_extent(min: Any, extent: Any) -> Range:
        """The range that starts at `min` and has `extent` elements."""
        return Range(min, extent)


class BufferRegion(Expr):
    """A rectangular part of a buffer."""

    buffer: Var
    region: tuple[Range, ...]
    ty: Annotated[Type, DERIVED]

    @staticmethod
    def _coerce(buffer: Any, region: Any) -> tuple[Any, Any]:
        if not isinstance(buffer, Var) or not isinstance(buffer.ty, BufferType):
            raise DTypeError(Diagnostic("not-a-buffer", f"{_name(buffer)} is not a buffer"))
        region = tuple(region)
        rank = len(buffer.ty.shape)
        if len(region) != rank:
            raise DTypeError(
                Diagnostic("index-count", f"`{buffer.name}` has {rank} dimensions but {len(region)} ranges")
            )
        return buffer, region

    def _derive(self) -> Type:
        return BufferRegionType()


class IterVar(Node):
    """An iteration axis: its variable, domain, kind and, for a thread axis, tag."""

    DATA_PAR: ClassVar[int] = 0
    THREAD_INDEX: ClassVar[int] = 1
    COMM_REDUCE: ClassVar[int] = 2
    ORDERED: ClassVar[int] = 3
    OPAQUE: ClassVar[int] = 4

    dom: Range | None
    var: Annotated[Var, Defines("self")]
    iter_type: int
    thread_tag: str = ""
    span: Annotated[Span | None, IGNORED] = None


class Let(PrimExpr):
    """`body` with `var` standing for `value`."""

    var: Annotated[Var, Defines("body")]
    value: Expr
    body: Expr
    ty: Annotated[Type, DERIVED]

    @staticmethod
    def _coerce(var: Any, value: Any, body: Any) -> tuple[Any, Any, Any]:
        return var, as_expr(value, like=var), as_expr(body)

    def _derive(self) -> Type:
        return self.body.ty


class Call(PrimExpr):
    """A call of an operator, a function of the module, or a function pointer.

    `ty_args` are types that the caller states, such as the result's of a packed call in a graph.
    """

    op: Op | Expr
    args: tuple[Expr, ...]
    ty: Type
    attrs: Attrs = NO_ATTRS
    ty_args: tuple[Type, ...] = ()

    @staticmethod
    def _coerce(op: Any, args: Any, ty: Any, attrs: Any, ty_args: Any) -> tuple[Any, ...]:
        op = Op(op) if isinstance(op, str) else op
        args = tuple([a if isinstance(a, Expr) else as_expr(a) for a in args])
        attrs = attrs if type(attrs) is Attrs else Attrs(attrs or {})
        return op, args, ty if isinstance(ty, Type) else as_type(ty), attrs, tuple(ty_args) if ty_args else ()


class Tuple(Expr):
    """Several values as one."""

    fields_: tuple[Expr, ...]
    ty: Annotated[Type, DERIVED]

    @staticmethod
    def _coerce(fields_: Any) -> tuple[Any]:
        return (tuple([as_expr(f) for f in fields_]),)

    def _derive(self) -> Type:
        return TupleType([f.ty for f in self.fields_])

    def __getitem__(self, index: int) -> Expr:
        return self.fields_[index]


class TupleGetItem(PrimExpr):
    """The index-th field of a tuple."""

    tuple_value: Expr
    index: int
    ty: Annotated[Type, DERIVED]

    def _derive(self) -> Type:
        ty = self.tuple_value.ty
        if not isinstance(ty, TupleType) or not 0 <= self.index < len(ty.fields_):
            raise DTypeError(Diagnostic("tuple-index", f"there is no field {self.index}"))
        return ty.fields_[self.index]


class CommReducer(Node):
    """A commutative reduction: `result` combines `lhs` and `rhs`, `identity_element` is neutral."""

    lhs: Annotated[tuple[Var, ...], Defines("self")]
    rhs: Annotated[tuple[Var, ...], Defines("self")]
    result: tuple[Expr, ...]
    identity_element: tuple[Expr, ...]
    span: Annotated[Span | None, IGNORED] = None

    @staticmethod
    def _coerce(lhs: Any, rhs: Any, result: Any, identity_element: Any) -> tuple[Any, ...]:
        return (
            tuple(lhs),
            tuple(rhs),
            tuple([as_expr(r) for r in result]),
            tuple([as_expr(i) for i in identity_element]),
        )


class Reduce(PrimExpr):
    """A reduction of `source` over `axis` (tensor expressions only)."""

    combiner: CommReducer
    source: tuple[Expr, ...]
    axis: Annotated[tuple[IterVar, ...], Defines("source", "condition", "init")]
    condition: Expr
    value_index: int
    init: tuple[Expr, ...] = ()
    ty: Annotated[Type, DERIVED]

    def _derive(self) -> Type:
        return self.source[self.value_index].ty


class IndexMap(IndexMapMethods, Node):
    """A map from indices to indices: `final_indices` over `initial_indices`."""

    initial_indices: Annotated[tuple[Var, ...], Defines("self")]
    final_indices: tuple[Expr, ...]
    inverse_index_map: IndexMap | None = None
    span: Annotated[Span | None, IGNORED] = None

    @staticmethod
    def _coerce(initial_indices: Any, final_indices: Any, inverse_index_map: Any) -> tuple[Any, ...]:
        return tuple(initial_indices), tuple([as_expr(i) for i in final_indices]), inverse_index_map


_FAST = frozenset(
    {Var, IntImm, FloatImm, Add, Sub, Mul, FloorDiv, FloorMod, BufferLoad, Call, Cast, LT, EQ, And}
)


def as_expr(value: Any, like: Any = None) -> Expr:
    """A Python value as a constant; expressions come back unchanged.

    A number takes the scalar type of `like` where that is an expression the value fits;
    otherwise int32 (int64 where needed), float32, bool.  Raises DTypeError for other values.
    """
    if isinstance(value, Expr):
        return value
    if isinstance(value, str):
        return StringImm(value)
    if isinstance(value, bool):
        return IntImm(BOOL, int(value))
    kind = getattr(value, "dtype", None)
    if kind is not None and getattr(value, "shape", None) == ():
        return const(value.item(), str(kind))
    if isinstance(value, IterVar):
        return value.var
    if isinstance(value, int | float):
        if isinstance(like, Expr) and isinstance(like.ty, PrimType):
            dtype = like.ty.dtype.element
            if dtype.is_float or (dtype.is_integral and not dtype.is_bool and isinstance(value, int)):
                return const(value, dtype)
        if isinstance(value, int):
            return const(value, "int32" if -(1 << 31) <= value < 1 << 31 else "int64")
        return const(value, "float32")
    raise DTypeError(Diagnostic("not-an-expression", f"{noun(value)} is not an expression"))


def as_index(value: Any) -> Expr:
    """An index or extent: an integer expression. Python integers become int32 (int64 where needed)."""
    e = as_expr(value)
    if not isinstance(e.ty, PrimType) or not e.ty.dtype.is_integral:
        raise DTypeError(Diagnostic("type-mismatch", "an index or extent must be an integer expression"))
    return e


def const(value: Any, dtype: DType | str | PrimType | None = None) -> Expr:
    """A constant of this dtype; a vector dtype gives a Broadcast.

    Raises DTypeError when the value is outside the range of the type.
    """
    if dtype is None:
        return as_expr(value)
    if isinstance(dtype, PrimType):
        dtype = dtype.dtype
    dtype = DType(dtype)
    if dtype.is_vector and not dtype.scalable:
        return Broadcast(const(value, dtype.element), IntImm(INT32, dtype.lanes))
    if dtype.is_float:
        return FloatImm(PrimType(dtype), float(value))
    if isinstance(value, float) and not (math.isfinite(value) and value.is_integer()):
        raise DTypeError(Diagnostic("literal-dtype", f"{value!r} is not a value of `{dtype}`"))
    return IntImm(PrimType(dtype), int(value))


def is_prim_expr(value: Any) -> bool:
    """Whether this is an expression of scalar or vector type."""
    return isinstance(value, Expr) and isinstance(value.ty, PrimType)


def func_type(params: Sequence[Var], ret: Type) -> FuncType:
    """The type of a function with these parameters."""
    return FuncType([p.ty for p in params], ret)


def void_pointer() -> PointerType:
    """The type of an untyped pointer."""
    return HANDLE
