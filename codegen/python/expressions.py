"""The meaning of expressions: each is compiled to a closure from a frame to its value.

Scalars are Python numbers (bools 0 and 1), vectors tuples of them, buffers `View`s, pointers
`Pointer`s, tuples tuples.  `index` says that an expression is index arithmetic, which must not
overflow.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

from ...dtype import DType
from ...errors import DivisionError
from ...ir import (
    Add,
    And,
    BinaryOp,
    BitwiseNot,
    Broadcast,
    BufferLoad,
    Call,
    Cast,
    Div,
    Expr,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    LShift,
    Mod,
    Mul,
    Not,
    Or,
    PrimType,
    Ramp,
    RShift,
    Select,
    Shuffle,
    StringImm,
    Sub,
    Tuple,
    TupleGetItem,
    Var,
)
from ...ir.fold import eval_binary, eval_cast, eval_unary, round_to
from . import calls
from .faults import broken, division, out_of_bounds, overflow, read_only, uninitialized, unsupported
from .memory import View, lane_count
from .scope import Scope

Env = list[Any]
Closure = Callable[[Env], Any]


def expression(scope: Scope, e: Expr, index: bool = False) -> Closure:
    """The closure of an expression. Raises UnsupportedError for what cannot be run."""
    rule = _RULES.get(type(e))
    if rule is not None:
        return rule(scope, e, index)
    if isinstance(e, BinaryOp):
        return _binary(scope, e, index)
    raise unsupported(e, f"the oracle cannot run an expression of class {type(e).__name__}")


def expressions(scope: Scope, many: Sequence[Expr], index: bool = False) -> list[Closure]:
    """The closures of several expressions."""
    return [expression(scope, e, index) for e in many]


def lanes_of(e: Expr) -> int:
    """The lanes of an expression's value, 1 for a scalar."""
    return lane_count(e.ty.dtype) if isinstance(e.ty, PrimType) else 1


def is_vector(e: Expr) -> bool:
    """Whether the value is a tuple of lanes."""
    return isinstance(e.ty, PrimType) and e.ty.dtype.is_vector


def _constant(value: Any) -> Closure:
    def run(env: Env) -> Any:
        return value

    return run


def _int(scope: Scope, e: IntImm, index: bool) -> Closure:
    return _constant(e.value)


def _float(scope: Scope, e: FloatImm, index: bool) -> Closure:
    return _constant(round_to(e.dtype, e.value))


def _string(scope: Scope, e: StringImm, index: bool) -> Closure:
    return _constant(e.value)


def _var(scope: Scope, e: Var, index: bool) -> Closure:
    return operator.itemgetter(scope.slot(e))


_EXACT: Final[dict[type, Callable[[int, int], int]]] = {
    Add: operator.add,
    Sub: operator.sub,
    Mul: operator.mul,
    LShift: lambda a, b: a << b,
}


def scalar_rule(
    scope: Scope, e: Expr, cls: type, dtype: DType, index: bool
) -> Callable[[Env, Any, Any], Any]:
    """What `cls` does to two scalars of this type, with the checks that the place asks for."""
    rule = functools.partial(eval_binary, cls, dtype)
    exact = _EXACT.get(cls) if index and dtype.is_integral else None

    def plain(env: Env, a: Any, b: Any) -> Any:
        return rule(a, b)

    def shift(env: Env, a: Any, b: Any) -> Any:
        if b < 0:
            raise broken(scope, env, e, "negative-shift", f"a shift by {b}")
        return checked(env, a, b) if exact is not None and b < dtype.bits else rule(a, b)

    def divide(env: Env, a: Any, b: Any) -> Any:
        try:
            return rule(a, b)
        except DivisionError as err:
            division(scope, env, e, err)

    def checked(env: Env, a: Any, b: Any) -> Any:
        assert exact is not None
        value = exact(a, b)
        if dtype.wrap(value) != value:
            overflow(scope, env, e, dtype, value)
        return value

    if cls in (LShift, RShift):
        return shift
    if cls in (Div, Mod, FloorDiv, FloorMod) and dtype.is_integral:
        return divide
    return plain if exact is None else checked


def _binary(scope: Scope, e: BinaryOp, index: bool) -> Closure:
    left, right = expression(scope, e.a, index), expression(scope, e.b, index)
    rule = scalar_rule(scope, e, type(e), e.a.dtype.element, index)

    def scalar(env: Env) -> Any:
        return rule(env, left(env), right(env))

    def vector(env: Env) -> Any:
        return tuple([rule(env, a, b) for a, b in zip(left(env), right(env))])

    return vector if is_vector(e.a) else scalar


def _and(scope: Scope, e: And, index: bool) -> Closure:
    if is_vector(e):
        return _binary(scope, e, index)
    left, right = expression(scope, e.a, index), expression(scope, e.b, index)

    def run(env: Env) -> Any:
        return 1 if left(env) and right(env) else 0

    return run


def _or(scope: Scope, e: Or, index: bool) -> Closure:
    if is_vector(e):
        return _binary(scope, e, index)
    left, right = expression(scope, e.a, index), expression(scope, e.b, index)

    def run(env: Env) -> Any:
        return 1 if left(env) or right(env) else 0

    return run


def _each_lane(value: Closure, rule: Callable[[Any], Any], vector: bool) -> Closure:
    def scalar(env: Env) -> Any:
        return rule(value(env))

    def lanes(env: Env) -> Any:
        return tuple([rule(v) for v in value(env)])

    return lanes if vector else scalar


def _unary(scope: Scope, e: Not | BitwiseNot, index: bool) -> Closure:
    rule = functools.partial(eval_unary, type(e), e.a.dtype.element)
    return _each_lane(expression(scope, e.a, index), rule, is_vector(e))


def _cast(scope: Scope, e: Cast, index: bool) -> Closure:
    value = expression(scope, e.value, index)
    if not isinstance(e.ty, PrimType) or not isinstance(e.value.ty, PrimType):
        return value  # between pointer types; the address stays
    rule = functools.partial(eval_cast, e.value.dtype.element, e.dtype.element)
    return _each_lane(value, rule, is_vector(e))


def _select(scope: Scope, e: Select, index: bool) -> Closure:
    condition = expression(scope, e.condition, index)
    yes, no = expression(scope, e.true_value, index), expression(scope, e.false_value, index)

    def run(env: Env) -> Any:
        choice, a, b = condition(env), yes(env), no(env)
        if type(choice) is tuple:
            return tuple([x if c else y for c, x, y in zip(choice, a, b)])
        return a if choice else b

    return run


def _ramp(scope: Scope, e: Ramp, index: bool) -> Closure:
    base, stride = expression(scope, e.base, index), expression(scope, e.stride, index)
    times = scalar_rule(scope, e, Mul, e.base.dtype, index)
    plus = scalar_rule(scope, e, Add, e.base.dtype, index)
    lanes = range(lanes_of(e))

    def run(env: Env) -> Any:
        start, step = base(env), stride(env)
        return tuple([plus(env, start, times(env, i, step)) for i in lanes])

    return run


def _broadcast(scope: Scope, e: Broadcast, index: bool) -> Closure:
    value, lanes = expression(scope, e.value, index), lanes_of(e)

    def run(env: Env) -> Any:
        return (value(env),) * lanes

    return run


def _shuffle(scope: Scope, e: Shuffle, index: bool) -> Closure:
    vectors = expressions(scope, e.vectors, index)
    indices = expressions(scope, e.indices, True)
    vector = is_vector(e)

    def run(env: Env) -> Any:
        joined: list[Any] = []
        for part in [v(env) for v in vectors]:
            joined += part if type(part) is tuple else (part,)
        picked = [i(env) for i in indices]
        if any(not 0 <= i < len(joined) for i in picked):
            raise broken(scope, env, e, "lanes", f"Shuffle picks lanes {picked} of {len(joined)}")
        lanes = tuple([joined[i] for i in picked])
        return lanes if vector else lanes[0]

    return run


def _load(scope: Scope, e: BufferLoad, index: bool) -> Closure:
    place = cells(scope, e, e.buffer, e.indices)
    slot = scope.slot(e.buffer, e)
    vector = is_vector(e)

    def run(env: Env) -> Any:
        view = env[slot]
        at = place(env, view)
        return read_lanes(scope, env, e, view, at) if vector else read(scope, env, e, view, at)

    return run


def read(scope: Scope, env: Env, node: Any, view: View, at: int) -> Any:
    """The number in one cell. Raises UninitializedError where nothing was written."""
    written = view.written
    if written is not None and written.find(0, at * view.size, (at + 1) * view.size) >= 0:
        uninitialized(scope, env, node, view, at)
    return view.cells[at]


def read_lanes(scope: Scope, env: Env, node: Any, view: View, at: tuple[int, ...]) -> tuple[Any, ...]:
    """The numbers in several cells."""
    return tuple([read(scope, env, node, view, i) for i in at])


def write(scope: Scope, env: Env, node: Any, view: View, at: int, value: Any) -> None:
    """Put a number into one cell. Raises ArgumentValueError where the memory is read-only."""
    if not view.storage.writable:
        read_only(scope, env, node, view)
    view.cells[at] = value
    if view.written is not None:
        view.written[at * view.size : (at + 1) * view.size] = b"\1" * view.size


def cells(scope: Scope, node: Any, buffer: Var, indices: tuple[Expr, ...]) -> Callable[[Env, View], Any]:
    """Where an access goes: the number of its cell, or a tuple of them for a vector."""
    closures = expressions(scope, indices, True)
    count = len(indices)
    many = bool(indices) and is_vector(indices[-1])

    def scalar(env: Env, view: View) -> Any:
        return cell(scope, env, node, view, [i(env) for i in closures])

    def vector(env: Env, view: View) -> Any:
        lead = [i(env) for i in closures]
        last = lead.pop() if many else ()
        rows = [[*lead, i] for i in last] if many else [lead]
        starts = [cell(scope, env, node, view, row) for row in rows]
        return tuple([start + lane for start in starts for lane in range(view.lanes)])

    if count and lane_count(buffer.dtype) == 1 and not many:
        return scalar
    return vector if many or buffer.dtype.is_vector else scalar


def cell(scope: Scope, env: Env, node: Any, view: View, indices: list[int]) -> int:
    """The cell at these indices (the first of a vector element). Raises OutOfBoundsError."""
    at = view.origin
    for i, extent, stride in zip(indices, view.shape, view.strides):
        if not 0 <= i < extent:
            out_of_bounds(scope, env, node, view, indices)
        at += i * stride
    if not 0 <= at <= len(view.cells) - view.lanes:
        out_of_bounds(scope, env, node, view, indices)
    return at


def _let(scope: Scope, e: Let, index: bool) -> Closure:
    value = expression(scope, e.value, index)
    slot = scope.define(e.var)
    body = expression(scope, e.body, index)

    def run(env: Env) -> Any:
        env[slot] = value(env)
        return body(env)

    return run


def _tuple(scope: Scope, e: Tuple, index: bool) -> Closure:
    parts = expressions(scope, e.fields_)

    def run(env: Env) -> Any:
        return tuple([p(env) for p in parts])

    return run


def _get_item(scope: Scope, e: TupleGetItem, index: bool) -> Closure:
    value = expression(scope, e.tuple_value)

    def run(env: Env) -> Any:
        return value(env)[e.index]

    return run


def _call(scope: Scope, e: Call, index: bool) -> Closure:
    return calls.call(scope, e, index)


_RULES: Final[dict[type, Callable[[Scope, Any, bool], Closure]]] = {
    And: _and,
    BitwiseNot: _unary,
    Broadcast: _broadcast,
    BufferLoad: _load,
    Call: _call,
    Cast: _cast,
    FloatImm: _float,
    IntImm: _int,
    Let: _let,
    Not: _unary,
    Or: _or,
    Ramp: _ramp,
    Select: _select,
    Shuffle: _shuffle,
    StringImm: _string,
    Tuple: _tuple,
    TupleGetItem: _get_item,
    Var: _var,
}
