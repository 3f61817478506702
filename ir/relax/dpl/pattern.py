"""Patterns of graph expressions, and how they are written.

    conv = is_op("relax.nn.conv2d")(wildcard(), is_const())
    pattern = is_op("relax.nn.relu")(conv) | conv

A pattern is compared by identity: where the same one stands twice, both places must match the same value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ....dtype import DType
from ....errors import Diagnostic, DTypeError, noun
from ...expr import Expr
from ...types import Type
from ..expr import ShapeExpr

if TYPE_CHECKING:
    from ...expr import Var
    from .context import PatternSeq


class Pattern:
    """Base of all patterns."""

    __slots__ = ("__weakref__",)

    def __call__(self, *args: Pattern, varg_default_wildcard: bool = False) -> CallPattern:
        """A call of what this pattern matches; with the switch, arguments beyond those given may follow."""
        return CallPattern(self, args, varg_default_wildcard)

    def __or__(self, other: Pattern) -> OrPattern:
        return OrPattern(self, other)

    def __and__(self, other: Pattern) -> AndPattern:
        return AndPattern(self, other)

    def __invert__(self) -> NotPattern:
        return NotPattern(self)

    def __getitem__(self, index: int) -> TupleGetItemPattern:
        return TupleGetItemPattern(self, index)

    def __xor__(self, other: Pattern | PatternSeq) -> PatternSeq:
        return self.used_by(other)

    def __rshift__(self, other: Pattern | PatternSeq) -> PatternSeq:
        return self.only_used_by(other)

    def has_dtype(self, dtype: str | DType) -> DataTypePattern:
        """This pattern, for tensors of this dtype."""
        return DataTypePattern(self, DType(dtype))

    def has_shape(self, shape: Sequence[Any]) -> ShapePattern:
        """This pattern, for tensors of this shape."""
        return ShapePattern(self, ShapeExpr(shape))

    def has_ty(self, ty: Type) -> TypePattern:
        """This pattern, for values of this type."""
        return TypePattern(self, ty)

    def has_attr(self, attrs: Mapping[str, Any]) -> AttrPattern:
        """This pattern, for calls and functions with these attributes."""
        return AttrPattern(self, attrs)

    def same_shape_as(self, *others: Pattern) -> Pattern:
        """Of this pattern and the others, matched in one context, the shapes are the same; gives itself."""
        from .context import PatternContext

        PatternContext.current().same_shapes.append((self, *others))
        return self

    def optional(self, wrap: Callable[[Pattern], Pattern]) -> Pattern:
        """This pattern, or what the function makes of it."""
        return wrap(self) | self

    def dup(self) -> Pattern:
        """A copy, with copies of the patterns inside, which matches by itself."""
        return _copied(self, {})

    # use of the value

    def used_by(self, other: Pattern | PatternSeq, index: int = -1) -> PatternSeq:
        """In the current context the other's value uses this one's, as its argument `index` (-1: any)."""
        from .context import PatternSeq

        return PatternSeq([self]).used_by(other, index)

    def only_used_by(self, other: Pattern | PatternSeq, index: int = -1) -> PatternSeq:
        """As `used_by`, and nothing else uses it."""
        from .context import PatternSeq

        return PatternSeq([self]).only_used_by(other, index)

    def fork_to(self, *others: Pattern) -> None:
        """Each of the others uses this one's value."""
        for other in others:
            self.used_by(other)

    # matching

    def match(self, expr: Expr, var2val: Mapping[Var, Expr] | None = None) -> bool:
        """Whether the expression is as this pattern says; variables of `var2val` stand for their values."""
        return self.extract_matched_expr(expr, var2val) is not None

    def extract_matched_expr(
        self, expr: Expr, var2val: Mapping[Var, Expr] | None = None
    ) -> dict[Pattern, Expr] | None:
        """What this pattern and those in it match, None where it does not match."""
        from .match import match

        return match(self, expr, var2val)


def _copied(value: Any, done: dict[int, Any]) -> Any:
    """A copy of a pattern, or of a tuple of them; a pattern that stands twice stands twice in the copy."""
    if isinstance(value, tuple):
        return tuple([_copied(v, done) for v in value])
    if not isinstance(value, Pattern):
        return value
    if id(value) not in done:
        cls = type(value)
        made = done[id(value)] = cls.__new__(cls)
        for base in cls.__mro__:
            for name in getattr(base, "__slots__", ()):
                if name != "__weakref__":
                    setattr(made, name, _copied(getattr(value, name), done))
    return done[id(value)]


class ExprPattern(Pattern):
    """An expression equal to this one."""

    __slots__ = ("expr",)

    def __init__(self, expr: Expr) -> None:
        self.expr = expr


class VarPattern(Pattern):
    """A variable, of this name unless it is empty."""

    __slots__ = ("name",)

    def __init__(self, name: str = "") -> None:
        self.name = name


class DataflowVarPattern(VarPattern):
    """A dataflow variable."""

    __slots__ = ()


class GlobalVarPattern(VarPattern):
    """The name of a function of the module."""

    __slots__ = ()


class ExternFuncPattern(Pattern):
    """The external function of this symbol."""

    __slots__ = ("global_symbol",)

    def __init__(self, global_symbol: str) -> None:
        self.global_symbol = global_symbol


class ConstantPattern(Pattern):
    """A tensor constant."""

    __slots__ = ()


class WildcardPattern(Pattern):
    """Anything."""

    __slots__ = ()


class CallPattern(Pattern):
    """A call: of `op`, with these arguments; None for any arguments."""

    __slots__ = ("args", "op", "varg_default_wildcard")

    def __init__(self, op: Pattern, args: Sequence[Pattern] | None, varg_default_wildcard: bool = False):
        self.op = op
        self.args = None if args is None else tuple(args)
        self.varg_default_wildcard = varg_default_wildcard
        from .context import PatternContext

        PatternContext.note(self)


class FunctionPattern(Pattern):
    """A function with these parameters and this body."""

    __slots__ = ("body", "params")

    def __init__(self, params: Sequence[Pattern], body: Pattern) -> None:
        self.params = tuple(params)
        self.body = body


class TuplePattern(Pattern):
    """A tuple of these fields."""

    __slots__ = ("fields",)

    def __init__(self, fields: Sequence[Pattern]) -> None:
        self.fields = tuple(fields)

    def __getitem__(self, index: int | None) -> TupleGetItemPattern:
        count = len(self.fields)
        if index is not None and not -count <= index < count:
            raise IndexError(f"a tuple pattern of {count} fields has no field {index}")
        return TupleGetItemPattern(self, None if index is None else index % count)


class UnorderedTuplePattern(TuplePattern):
    """A tuple of these fields in any order."""

    __slots__ = ()


class TupleGetItemPattern(Pattern):
    """The field of a tuple; any where the index is None."""

    __slots__ = ("index", "tuple")

    def __init__(self, tuple: Pattern, index: int | None = None) -> None:
        self.tuple = tuple
        self.index = index


class OrPattern(Pattern):
    """What the left or the right pattern matches; the left one is tried first."""

    __slots__ = ("left", "right")

    def __init__(self, left: Pattern, right: Pattern) -> None:
        self.left = left
        self.right = right


class AndPattern(Pattern):
    """What both patterns match."""

    __slots__ = ("left", "right")

    def __init__(self, left: Pattern, right: Pattern) -> None:
        self.left = left
        self.right = right


class NotPattern(Pattern):
    """What the pattern does not match."""

    __slots__ = ("rejected",)

    def __init__(self, rejected: Pattern) -> None:
        self.rejected = rejected


class _Refined(Pattern):
    __slots__ = ("pattern",)

    def __init__(self, pattern: Pattern) -> None:
        self.pattern = pattern


class TypePattern(_Refined):
    """What the pattern matches, of this type."""

    __slots__ = ("ty",)

    def __init__(self, pattern: Pattern, ty: Type) -> None:
        super().__init__(pattern)
        self.ty = ty


class DataTypePattern(_Refined):
    """What the pattern matches, of this dtype."""

    __slots__ = ("dtype",)

    def __init__(self, pattern: Pattern, dtype: DType) -> None:
        super().__init__(pattern)
        self.dtype = dtype


class ShapePattern(_Refined):
    """What the pattern matches, of this shape."""

    __slots__ = ("shape",)

    def __init__(self, pattern: Pattern, shape: ShapeExpr) -> None:
        super().__init__(pattern)
        self.shape = shape


class AttrPattern(_Refined):
    """What the pattern matches, with these attributes."""

    __slots__ = ("attrs",)

    def __init__(self, pattern: Pattern, attrs: Mapping[str, Any]) -> None:
        super().__init__(pattern)
        self.attrs = dict(attrs)


class PrimArrPattern(Pattern):
    """A shape of these sizes."""

    __slots__ = ("shape",)

    def __init__(self, shape: ShapeExpr) -> None:
        self.shape = shape

    def __getitem__(self, index: int) -> Any:
        return self.shape.values[index]


def wildcard() -> WildcardPattern:
    """Anything."""
    return WildcardPattern()


def is_var(name: str = "") -> VarPattern:
    """A variable, of this name unless it is empty."""
    return VarPattern(name)


def is_dfv(name: str = "") -> DataflowVarPattern:
    """A dataflow variable."""
    return DataflowVarPattern(name)


def is_gv(name: str = "") -> GlobalVarPattern:
    """The name of a function of the module."""
    return GlobalVarPattern(name)


def is_const() -> ConstantPattern:
    """A tensor constant."""
    return ConstantPattern()


def is_expr(expr: Expr) -> Pattern:
    """An expression equal to this one."""
    if not isinstance(expr, Expr):
        raise DTypeError(Diagnostic("not-an-expression", f"{noun(expr)} is not an expression"))
    return ExprPattern(expr)


def is_op(op_name: str) -> Pattern:
    """The operator of this name; called with patterns of arguments it is the pattern of a call."""
    from ..op import get_op

    return ExprPattern(get_op(op_name).op)  # type: ignore[arg-type]


def is_tuple(fields: Sequence[Pattern], unordered: bool = False) -> TuplePattern:
    """A tuple of these fields, in any order with the switch."""
    return UnorderedTuplePattern(fields) if unordered else TuplePattern(fields)


def is_tuple_get_item(tuple_value: Pattern, index: int | None = None) -> TupleGetItemPattern:
    """The field of a tuple; any where the index is None."""
    return TupleGetItemPattern(tuple_value, index)


def is_shape(shape: Sequence[Any]) -> PrimArrPattern:
    """A shape of these sizes."""
    return PrimArrPattern(ShapeExpr(shape))


def has_dtype(dtype: str | DType, pattern: Pattern | None = None) -> DataTypePattern:
    """Tensors of this dtype."""
    return (pattern or wildcard()).has_dtype(dtype)


def has_attr(attrs: Mapping[str, Any], pattern: Pattern | None = None) -> AttrPattern:
    """Calls and functions with these attributes."""
    return (pattern or wildcard()).has_attr(attrs)


def reject(pattern: Pattern) -> NotPattern:
    """What the pattern does not match."""
    return ~pattern


def _kernel_call(op: str, callee: Pattern, args: Any) -> CallPattern:
    given = TuplePattern(args) if isinstance(args, list | tuple) else args or wildcard()
    return is_op(op)(callee, given, varg_default_wildcard=True)


def is_call_tir(func_name: str, args: Sequence[Pattern] | Pattern | None = None) -> CallPattern:
    """The call of this kernel of the module."""
    return _kernel_call("relax.call_tir", GlobalVarPattern(func_name), args)


def is_call_dps_packed(func_name: str, args: Sequence[Pattern] | Pattern | None = None) -> CallPattern:
    """The call of this external function that writes into its last arguments."""
    return _kernel_call("relax.call_dps_packed", ExternFuncPattern(func_name), args)


def is_call_packed(func_name: str, args: Sequence[Pattern] | None = None) -> CallPattern:
    """The call of this external function."""
    if args is None:
        return CallPattern(ExternFuncPattern(func_name), None)
    return ExternFuncPattern(func_name)(*args)


def make_fused_bias_activation_pattern(
    op_name: str, with_bias: bool = False, activation: str | None = None, allow_reshape: bool = False
) -> Pattern:
    """An operator of two operands, perhaps with a bias added, perhaps with an activation after that.

    With `allow_reshape` the result may be reshaped before the bias is added.
    """
    out: Pattern = is_op(op_name)(wildcard(), wildcard())
    if with_bias:
        if allow_reshape:
            out = is_op("relax.reshape")(out, wildcard()) | out
        out = is_op("relax.add")(out, wildcard())
    if activation:
        out = is_op(activation)(out)
    return out


__all__ = [
    "AndPattern",
    "AttrPattern",
    "CallPattern",
    "ConstantPattern",
    "DataTypePattern",
    "DataflowVarPattern",
    "ExprPattern",
    "ExternFuncPattern",
    "FunctionPattern",
    "GlobalVarPattern",
    "NotPattern",
    "OrPattern",
    "Pattern",
    "PrimArrPattern",
    "ShapePattern",
    "TupleGetItemPattern",
    "TuplePattern",
    "TypePattern",
    "UnorderedTuplePattern",
    "VarPattern",
    "WildcardPattern",
    "has_attr",
    "has_dtype",
    "is_call_dps_packed",
    "is_call_packed",
    "is_call_tir",
    "is_const",
    "is_dfv",
    "is_expr",
    "is_gv",
    "is_op",
    "is_shape",
    "is_tuple",
    "is_tuple_get_item",
    "is_var",
    "make_fused_bias_activation_pattern",
    "reject",
    "wildcard",
]
