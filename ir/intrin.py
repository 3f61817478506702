"""Functions of the namespace `T` that are no operators: they make nodes, constants or calls.

`HELPERS` maps each name below `T` (dotted for `T.cuda`) to its function.  They fold as script does:
constants with constants only.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from ..errors import Diagnostic, DTypeError, IRError, suggest
from ..node import Attrs
from . import expr as E
from . import operators as o
from .fold import round_to
from .op import Op, find_record, record
from .ops import waiting
from .ops.define import make
from .ops.math import isfinite, isinf
from .stmt import Return
from .types import VOID, PrimType, Type


def min_value(dtype: Any, span: Any = None) -> E.Expr:
    """The smallest finite value of a dtype as a constant."""
    kind = o.dtype_of(dtype)
    return E.const(kind.element.min_value, kind)


def max_value(dtype: Any, span: Any = None) -> E.Expr:
    """The largest finite value of a dtype as a constant."""
    kind = o.dtype_of(dtype)
    return E.const(kind.element.max_value, kind)


def infinity(dtype: Any, span: Any = None) -> E.Expr:
    """The infinity of a float dtype. Raises DTypeError where there is none."""
    kind = o.dtype_of(dtype)
    if not kind.is_float or not math.isinf(round_to(kind.element, math.inf)):
        raise DTypeError(Diagnostic("literal-dtype", f"`{kind}` has no infinity"))
    return E.const(math.inf, kind)


def call_intrin(dtype: Any, func_name: Any, *args: Any, attrs: Any = None, span: Any = None) -> E.Expr:
    """A call of an operator by name or Op, with this result type.

    Raises IRError for a name that is neither registered nor waiting.
    """
    return make(_operator(func_name), args, o.call_type(dtype), Attrs(dict(attrs or {})))


def _operator(name: Any) -> str:
    if isinstance(name, Op):
        return name.name
    if not isinstance(name, str):
        raise IRError(Diagnostic("unknown-operator", f"a {type(name).__name__} does not name an operator"))
    if find_record(name) is None and name.startswith("tir."):  # the spelling of older releases
        rest = name.removeprefix("tir.")
        for prefix in ("tirx.", "prim."):
            if find_record(prefix + rest) is not None:
                return prefix + rest
    rest = name.split(".", 1)[-1]
    if waiting.is_waiting(rest):
        raise waiting.unsupported(rest)
    return record(name).name


def make_call(op: Any, args: Any = (), attrs: Any = None, ret_ty: Any = VOID, span: Any = None) -> E.Expr:
    """`T.Call`: a call of an operator (by name), function or function pointer, nothing folded."""
    callee = Op(op) if isinstance(op, str) else op
    kind = ret_ty if isinstance(ret_ty, Type) else o.call_type("void" if ret_ty is None else ret_ty)
    values = tuple(make("tirx.tvm_tuple", args, VOID).args)
    return E.Call(callee, values, kind, Attrs(dict(attrs or {})))


def let(expr: Any, where: Mapping[Any, Any], span: Any = None) -> E.Expr:
    """`T.Let`: the expression with variables standing for values, the first one outermost."""
    body = E.as_expr(expr)
    for var, value in reversed(list(where.items())):
        body = E.Let(var, E.as_expr(value, like=var), body)
    return body


def ret(value: Any = None, span: Any = None) -> Return:
    """The old spelling of `return`."""
    return Return(None if value is None else E.as_expr(value))


def comm_reducer(combiner: Callable[..., Any], identity: Any) -> E.CommReducer:
    """A commutative reducer from a function of twice as many values as there are identities.

    Raises IRError when the counts do not fit.
    """
    neutral = [E.as_expr(v) for v in (identity if isinstance(identity, list | tuple) else [identity])]
    names = list(inspect.signature(combiner).parameters)
    if len(names) != 2 * len(neutral):
        raise IRError(
            Diagnostic(
                "reducer",
                f"the combiner takes {len(names)} values; with {len(neutral)} identities it is twice as many",
            )
        )
    kinds = [v.ty for v in neutral] * 2
    params = [E.Var(name, kind) for name, kind in zip(names, kinds, strict=True)]
    result = combiner(*params)
    results = result if isinstance(result, list | tuple) else [result]
    if len(results) != len(neutral):
        raise IRError(Diagnostic("reducer", f"the combiner gives {len(results)} values for {len(neutral)}"))
    half = len(neutral)
    return E.CommReducer(params[:half], params[half:], list(results), neutral)


def index_map(
    mapping: Callable[..., Any], *, inverse_index_map: Any = None, index_dtype: str = "int64"
) -> E.IndexMap:
    """An index map from a function of indices to one index or several."""
    inverse = inverse_index_map
    if inverse is not None and not isinstance(inverse, E.IndexMap):
        inverse = index_map(inverse, index_dtype=index_dtype)
    names = list(inspect.signature(mapping).parameters)
    params = [E.Var(name, PrimType(index_dtype)) for name in names]
    result = mapping(*params)
    results = list(result) if isinstance(result, list | tuple) else [result]
    return E.IndexMap(
        params, [E.as_expr(r, like=params[0]) if params else E.as_expr(r) for r in results], inverse
    )


_ITER_TYPES: Final = {
    "DataPar": E.IterVar.DATA_PAR,
    "ThreadIndex": E.IterVar.THREAD_INDEX,
    "CommReduce": E.IterVar.COMM_REDUCE,
    "Ordered": E.IterVar.ORDERED,
    "DimInfo": E.IterVar.OPAQUE,
    "Opaque": E.IterVar.OPAQUE,
}


def iter_var(v: Any, dom: Any, iter_type: Any, thread_tag: str = "") -> E.IterVar:
    """An iteration axis. Raises IRError for an unknown kind."""
    kind = _ITER_TYPES.get(iter_type, iter_type)
    if not isinstance(kind, int):
        raise IRError(
            Diagnostic(
                "axis-kind", f"`{iter_type}` is no kind of axis", help=suggest(str(iter_type), _ITER_TYPES)
            )
        )
    if isinstance(dom, list | tuple):
        dom = E.Range(dom[0], o.sub(dom[1], dom[0], fold="constants"))
    if isinstance(v, str):
        v = E.Var(v, dom.extent.ty if dom is not None else "int32")
    return E.IterVar(dom, v, kind, thread_tag)


def make_range(begin: Any, end: Any = None) -> E.Range:
    """`T.Range(begin, end)`: from begin up to end; with one argument from 0."""
    if end is None:
        begin, end = E.as_expr(0, like=begin), begin
    return E.Range(begin, o.sub(end, begin, fold="constants"))


def llvm_lookup_intrinsic_id(name: str) -> str:
    """The name itself: intrinsics of LLVM are kept by name."""
    return name


def static_assert(x: Any, message: str = "") -> None:
    """Raise IRError unless x is true while the program is built."""
    if not x:
        raise IRError(Diagnostic("static-assert", message or "a static assertion failed"))


def _script(function: Callable[..., Any]) -> Callable[..., Any]:
    return partial(function, fold="constants")


def _bits(function: Callable[..., Any]) -> Callable[..., Any]:
    """The operator on bits; older releases gave the dtype of the result, which the operands tell."""

    def operator(x: Any, y: Any, span: Any = None, dtype: Any = None) -> E.Expr:
        result: E.Expr = function(x, y, span=span, fold="constants")
        return result

    operator.__name__ = function.__name__
    operator.__doc__ = function.__doc__
    return operator


def _reduce(op: str, intrinsic: str, value: Any, *rest: Any, **keywords: Any) -> E.Expr:
    result: E.Expr = record(intrinsic).build(value, op, *rest, **keywords)
    return result


HELPERS: Final[dict[str, Callable[..., Any]]] = {
    **{
        name: _script(getattr(o, name))
        for name in ("truncdiv", "truncmod", "floordiv", "floormod", "ceildiv")
    },
    **{
        name: _bits(getattr(o, name))
        for name in ("shift_left", "shift_right", "bitwise_and", "bitwise_or", "bitwise_xor")
    },
    "add": _script(o.add),
    "subtract": _script(o.sub),
    "multiply": _script(o.mul),
    "div": _script(o.div),
    "indexdiv": _script(o.floordiv),
    "indexmod": _script(o.floormod),
    "min": _script(o.min_),
    "max": _script(o.max_),
    "all": _script(o.all_),
    "any": _script(o.any_),
    "bitwise_not": o.bitwise_not,
    "cast": o.cast,
    "min_value": min_value,
    "max_value": max_value,
    "infinity": infinity,
    "isinf": isinf,
    "isfinite": isfinite,
    "call_intrin": call_intrin,
    "Call": make_call,
    "Let": let,
    "ret": ret,
    "comm_reducer": comm_reducer,
    "index_map": index_map,
    "iter_var": iter_var,
    "Range": make_range,
    "llvm_lookup_intrinsic_id": llvm_lookup_intrinsic_id,
    "static_assert": static_assert,
    **{
        f"cuda.{room}_{op}": partial(_reduce, op, f"tirx.cuda.{room}_reduce")
        for room in ("warp", "cta")
        for op in ("sum", "max", "min")
    },
}
"""Every helper by its name below `T`."""
