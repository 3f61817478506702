"""Evaluating surface expressions: to IR expressions, Python constants, regions, words of the language.

One function per kind of surface node, found in a table by type.  Each call from Python to Python
costs no C stack, so chains of thousands of terms are no trouble.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..errors import Span
from ..grammar import tree as S
from ..ir import (
    INT32,
    BufferLoad,
    BufferRegion,
    BufferType,
    Call,
    Expr,
    IntImm,
    IterVar,
    PrimType,
    Ramp,
    Range,
    Tuple,
    TupleGetItem,
    TupleType,
    Var,
    as_expr,
)
from ..ir.operators import again
from ..node import Attrs
from .arith import binary, compare, logical, unary
from .extent import range_of
from .faults import Fault, Poisoned, describe, fault, located
from .static import MAX_ITEMS, limit
from .values import (
    MISSING,
    POISON,
    Cell,
    Form,
    LazyForm,
    Meta,
    Namespace,
    SliceValue,
    SteppedRegion,
    is_buffer,
)

if TYPE_CHECKING:
    from .builder import Builder

ONE = IntImm(INT32, 1)


def evaluate(b: Builder, node: S.SExpr) -> Any:
    """The value of a surface expression. Raises Fault (located) or Poisoned."""
    return TABLE[type(node)](b, node)


def _name(b: Builder, node: S.Name) -> Any:
    value = b.names.get(node.id, MISSING)
    kind = type(value)
    if kind is Var:
        return value
    if value is MISSING:
        return b.lookup(node.id, node.span)
    if kind is Cell:
        return b.read_cell(value, node.span)
    if value is POISON:
        raise Poisoned
    return value.value if kind is Meta else value


def _constant(b: Builder, node: S.Constant) -> Any:
    return node.value


def _binary(b: Builder, node: S.BinaryExpr) -> Any:
    left, right = node.left, node.right
    a = TABLE[type(left)](b, left)
    c = TABLE[type(right)](b, right)
    try:
        return binary(node.op, a, c, node.span)
    except Exception as err:
        raise located(err, node.span) from None


def _unary(b: Builder, node: S.UnaryExpr) -> Any:
    value = evaluate(b, node.operand)
    try:
        return unary(node.op, value, node.span)
    except Exception as err:
        raise located(err, node.span) from None


def _bool(b: Builder, node: S.BoolExpr) -> Any:
    stop = node.op == "or"
    result: Any = MISSING
    for part in node.values:
        value = TABLE[type(part)](b, part)
        if result is MISSING or not isinstance(result, Expr):
            result = value  # so far Python decided: `True and x` is x
        else:
            try:
                result = logical(node.op, result, value)
            except Exception as err:
                raise located(err, node.span) from None
        if not isinstance(result, Expr) and bool(result) is stop:
            return result
    return result


def _compare(b: Builder, node: S.CompareExpr) -> Any:
    left = evaluate(b, node.left)
    result: Any = MISSING
    for op, part in zip(node.ops, node.rights):
        right = TABLE[type(part)](b, part)
        try:
            one = compare(op, left, right, node.span)
            if result is MISSING:
                result = one
            elif isinstance(result, Expr) or isinstance(one, Expr):
                result = logical("and", result, one)
            else:
                result = result and one
        except Exception as err:
            raise located(err, node.span) from None
        left = again(right) if isinstance(right, Expr) and len(node.ops) > 1 else right
    return result


def _if(b: Builder, node: S.IfExpr) -> Any:
    test = evaluate(b, node.test)
    if not isinstance(test, Expr):
        return evaluate(b, node.body if test else node.orelse)
    if isinstance(test.ty, PrimType) and not test.ty.dtype.is_integral and not test.ty.dtype.is_bool:
        raise fault(
            "condition-type",
            f"a condition must be a bool, not {describe(test)}",
            node.test.span,
            help=("compare it, as in `x != 0`",),
        )
    from .words_expr import if_then_else

    body, orelse = evaluate(b, node.body), evaluate(b, node.orelse)
    try:
        return if_then_else(test, body, orelse, node.span)
    except Exception as err:
        raise located(err, node.span) from None


def _items(b: Builder, nodes: tuple[S.SExpr, ...]) -> list[Any]:
    out = []
    for item in nodes:
        if type(item) is S.Starred:
            out += as_sequence(evaluate(b, item.value), item.span)
        else:
            out.append(TABLE[type(item)](b, item))
    return out


def as_sequence(value: Any, span: Span | None) -> list[Any]:
    """The items of a Python sequence. Raises a Fault for IR values and endless things."""
    if isinstance(value, Meta):
        value = value.value
    if isinstance(value, Tuple):
        return list(value.fields_)
    if isinstance(value, Expr) or not hasattr(value, "__iter__"):
        raise fault("not-iterable", f"{describe(value)} is no sequence", span)
    if isinstance(value, range) and len(value) > MAX_ITEMS:
        raise located(limit(f"the range has more than {MAX_ITEMS} items"), span)
    return [v.value if isinstance(v, Meta) else v for v in value]


def _tuple(b: Builder, node: S.TupleExpr) -> Any:
    return tuple(_items(b, node.elts))


def _list(b: Builder, node: S.ListExpr) -> Any:
    return _items(b, node.elts)


def _set(b: Builder, node: S.SetExpr) -> Any:
    return tuple(_items(b, node.elts))


def _dict(b: Builder, node: S.DictExpr) -> Any:
    out: dict[Any, Any] = {}
    for key, value in zip(node.keys, node.values_):
        if key is None:
            more = evaluate(b, value)
            if not isinstance(more, dict | Attrs):
                raise fault("invalid-argument", f"{describe(more)} is no dictionary", value.span)
            out.update(more)
        else:
            word = evaluate(b, key)
            if isinstance(word, list | dict):
                raise fault("invalid-argument", f"{describe(word)} cannot be a key", key.span)
            out[word] = evaluate(b, value)
    return out


def _slice(b: Builder, node: S.Slice) -> Any:
    lower = None if node.lower is None else evaluate(b, node.lower)
    upper = None if node.upper is None else evaluate(b, node.upper)
    return SliceValue(lower, upper, None if node.step is None else evaluate(b, node.step))


def _attribute(b: Builder, node: S.Attribute) -> Any:
    base = node.value
    value = TABLE[type(base)](b, base)
    if type(value) is Namespace:
        found = value.table.get(node.attr, MISSING)
        if found is MISSING:
            found = value.lookup(node.attr)
            if found is MISSING:
                raise Fault(value.unknown(node.attr, node.span))
        return found
    from .members import attribute

    try:
        return attribute(b, value, node.attr)
    except Exception as err:
        raise located(err, node.span) from None


def _call(b: Builder, node: S.CallExpr) -> Any:
    value = call_value(b, node)
    return value.value if type(value) is Meta else value


def call_value(b: Builder, node: S.CallExpr) -> Any:
    """The value of a call; a `T.meta_var` comes back as such."""
    func_node = node.func
    func = TABLE[type(func_node)](b, func_node)
    if type(func) is LazyForm:
        return func.evaluate_call(b, node)
    args = []
    for item in node.args:
        if type(item) is S.Starred:
            args += as_sequence(evaluate(b, item.value), item.span)
        else:
            args.append(TABLE[type(item)](b, item))
    kwargs: dict[str, Any] = {}
    for word in node.keywords:
        value = evaluate(b, word.value)
        if word.name is None:
            if not isinstance(value, dict | Attrs):
                raise fault("invalid-argument", f"{describe(value)} is no dictionary", word.span)
            kwargs.update(value)
        else:
            if word.name in kwargs:
                raise fault("invalid-argument", f"the argument `{word.name}` is given twice", word.span)
            kwargs[word.name] = value
    if isinstance(func, Form):
        b.span = node.span
        try:
            if func.building:
                return func.run(b, *args, **kwargs)
            result = func.run(*args, **kwargs)
        except Exception as err:
            raise _call_fault(
                err, func.script_name, func.run, args, kwargs, node.span, func.building
            ) from None
        if type(result) is Call and result.span is None:
            _set_span(result, node.span)
        return result
    from .calling import call_other

    return call_other(b, func, args, kwargs, node)


_set_span: Callable[[Any, Span | None], None] = Expr.__dict__["span"].__set__


def _call_fault(
    err: BaseException, name: str, run: Any, args: Any, kwargs: Any, span: Span | None, building: bool
) -> Exception:
    if isinstance(err, TypeError) and not hasattr(err, "diagnostics"):
        from .calling import wrong_arguments

        text = wrong_arguments(run, args, kwargs, 1 if building else 0)
        if text is not None:
            return fault("wrong-arguments", f"`{name}`: {text[0]}", span, help=text[1])
    return located(err, span, f"`{name}`")


def indices_of(b: Builder, node: S.SExpr) -> list[Any]:
    """The indices of a subscript: values and SliceValues; a captured tuple counts as its items."""
    if type(node) is S.TupleExpr:
        return _items(b, node.elts)
    if type(node) is S.Starred:
        return as_sequence(evaluate(b, node.value), node.span)
    value = TABLE[type(node)](b, node)
    return list(value) if isinstance(value, tuple | list) else [value]


def _subscript(b: Builder, node: S.Subscript) -> Any:
    base = node.value
    if type(base) is S.Name:
        value = b.names.get(base.id, MISSING)
        if type(value) is Cell:
            value = value.buffer  # `x[0]` of a scalar is its element
        elif type(value) is not Var:
            value = _name(b, base)
    else:
        value = TABLE[type(base)](b, base)
    if type(value) is Var and isinstance(value.ty, BufferType):
        return access(b, value, indices_of(b, node.index), node.span)
    index = evaluate(b, node.index)
    try:
        return _subscript_other(b, value, index)
    except Exception as err:
        raise located(err, node.span) from None


def access(b: Builder, buffer: Var, indices: list[Any], span: Span | None) -> Any:
    """`buffer[indices]`: a load, or a region where an index is a slice."""
    for index in indices:
        if type(index) is SliceValue:
            return region(buffer, indices, span)
    try:
        check_indices(buffer, indices, span)
        return BufferLoad(buffer, indices, span)
    except Exception as err:
        raise located(err, span) from None


def check_indices(buffer: Var, indices: list[Any], span: Span | None) -> None:
    """Raise a Fault when an index is no integer expression."""
    for position, index in enumerate(indices):
        if isinstance(index, IterVar):
            indices[position] = index = index.var
        if isinstance(index, Expr):
            ty = index.ty
            if type(ty) is PrimType and ty.dtype.is_integral:
                continue
        elif type(index) is int or isinstance(index, int):
            continue
        elif hasattr(index, "item") and getattr(index, "shape", None) == ():
            indices[position] = index.item()
            continue
        raise fault(
            "index-type", f"index {position} of `{buffer.name}` is {describe(index)}, not an integer", span
        )


def region(buffer: Var, indices: list[Any], span: Span | None) -> Any:
    """The region of a buffer that slices and points name."""
    shape = buffer.ty.shape  # type: ignore[attr-defined]
    if len(indices) != len(shape):
        raise fault(
            "index-count", f"`{buffer.name}` has {len(shape)} dimensions but {len(indices)} indices", span
        )
    ranges = []
    for index, size in zip(indices, shape):
        if type(index) is SliceValue:
            if index.step is not None and not (isinstance(index.step, int | IntImm) and int(index.step) == 1):
                return SteppedRegion(buffer, tuple(indices))
            lower = 0 if index.lower is None else index.lower
            upper = size if index.upper is None else index.upper
            ranges.append(slice_range(lower, upper, span))
        else:
            check_indices(buffer, [index], span)
            ranges.append(point(index))
    try:
        return BufferRegion(buffer, ranges, span)
    except Exception as err:
        raise located(err, span) from None


def slice_range(lower: Any, upper: Any, span: Span | None) -> Range:
    """The range from lower to upper (exclusive)."""
    try:
        return range_of(lower, upper)
    except Exception as err:
        raise located(err, span) from None


def point(index: Any) -> Range:
    """The range of one index; of a vector index the cells it touches."""
    if isinstance(index, IterVar):
        index = index.var
    if isinstance(index, int):
        index = as_expr(index)
    if isinstance(index, Ramp) and isinstance(index.stride, IntImm) and isinstance(index.lanes, IntImm):
        return Range(index.base, index.stride.value * (index.lanes.value - 1) + 1)
    if isinstance(index, Expr):
        ty = index.ty
        return Range(index, ONE if ty is INT32 else IntImm(PrimType(ty.dtype.element), 1))  # type: ignore[attr-defined]
    return Range(index, 1)


def _subscript_other(b: Builder, value: Any, index: Any) -> Any:
    if isinstance(index, SliceValue):
        index = slice(_plain_int(index.lower), _plain_int(index.upper), _plain_int(index.step))
    if isinstance(value, Expr):
        if isinstance(value.ty, TupleType) and isinstance(index, int | IntImm):
            return TupleGetItem(value, int(index))
        what = describe(value)
        if isinstance(value, Var) and not what.startswith("`"):
            what = f"`{value.name}`, {what},"
        raise fault("not-a-buffer", f"{what} cannot be indexed", None)
    if isinstance(index, IntImm):
        index = int(index)
    if isinstance(value, Form):
        return value[index]
    sequence = isinstance(value, tuple | list | dict | str | range | Attrs)
    if sequence or hasattr(value, "script_name") or b.live:
        if sequence and isinstance(index, Expr):
            raise fault("not-constant", "a Python sequence needs a constant index", None)
        return value[index]
    raise fault("not-a-buffer", f"{describe(value)} cannot be indexed", None)


def _plain_int(value: Any) -> Any:
    return int(value) if isinstance(value, IntImm) else value


def _lambda(b: Builder, node: S.Lambda) -> Any:
    from .calling import LambdaValue

    return LambdaValue(b, node)


def _comprehension(b: Builder, node: S.Comprehension) -> Any:
    from .calling import comprehension

    return comprehension(b, node)


def _fstring(b: Builder, node: S.FString) -> Any:
    from .calling import format_string

    return format_string(b, node)


def _starred(b: Builder, node: S.Starred) -> Any:
    raise fault("syntax", "`*` is possible in a call, a display or an index only", node.span)


def as_buffer(value: Any, span: Span | None, what: str) -> Var:
    """The value as a buffer variable. Raises a Fault naming `what` needs it."""
    if isinstance(value, Cell):
        return value.buffer
    if isinstance(value, BufferLoad) and is_buffer(value.buffer) and len(value.indices) == 1:
        return value.buffer
    if not is_buffer(value):
        raise fault("not-a-buffer", f"{what} needs a buffer, not {describe(value)}", span)
    found: Var = value
    return found


TABLE: dict[type, Callable[[Any, Any], Any]] = {
    S.Name: _name,
    S.Constant: _constant,
    S.FString: _fstring,
    S.Attribute: _attribute,
    S.Subscript: _subscript,
    S.Slice: _slice,
    S.CallExpr: _call,
    S.BinaryExpr: _binary,
    S.UnaryExpr: _unary,
    S.BoolExpr: _bool,
    S.CompareExpr: _compare,
    S.IfExpr: _if,
    S.TupleExpr: _tuple,
    S.ListExpr: _list,
    S.SetExpr: _set,
    S.DictExpr: _dict,
    S.Lambda: _lambda,
    S.Starred: _starred,
    S.Comprehension: _comprehension,
}
