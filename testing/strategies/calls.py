"""Calls of every registered operator.

An argument is drawn by what its parameter is called in the operator's signature, so a new operator is
covered without a word here unless its parameter has a name of a new kind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from ...dtype import DType
from ...errors import LoopwrightError
from ...ir import BufferLoad, BufferType, Call, Expr, IntImm, PointerType, PrimType, StringImm, Type, Var
from ...ir.op import Effect, OpRecord, all_records
from .draw import Source
from .scope import Scope

Argument = Callable[[DType], Expr]
FLOAT32, INT32, BOOL = DType("float32"), DType("int32"), DType("bool")
STRINGS = frozenset(
    "func_name name param_name operator storage_scope layout op reg_name fmt source_code dtype_str".split()
)
POINTERS = frozenset(
    "ptr data res_addr addr dst_ptr src_ptr local_ptr shared_ptr global_ptr buffer_ptr pointer handle obj "
    "arr src_addr dst_addr local_addr list_handle scratch dst fragment fragment_a fragment_b fragment_c "
    "fragment_d d".split()
)
CONDITIONS = frozenset("cond pred predicate condition guard mask".split())
COUNTS = frozenset(
    "m n k M N K num width lanes q s bits index offset extent rw_mask lane bar_no local_size ndim".split()
)
UNARY_INT = ("tirx.popcount", "prim.clz")


def draw_call(source: Source, dtype: DType, argument: Argument) -> Expr | None:
    """A pure call whose type is the scalar `dtype`, or None where the drawn operator has none."""
    if source.chance(5):
        name = StringImm(source.pick(("sinf", "my function", "é")))
        attrs = {"k": source.pick((1, "x", True))} if source.chance(3) else {}
        return Call("tirx.call_pure_extern", (name, argument(dtype)), PrimType(dtype), attrs)
    if dtype.is_float:
        rec = source.pick(_real_functions())
        args = [argument(dtype) for _ in rec.params.split(",")]
    elif dtype.is_integral and not dtype.is_bool:
        rec = source.pick([r for r in all_records() if r.name in UNARY_INT])
        args = [argument(dtype)]
    else:
        return None
    try:
        made: Expr = rec.build(*args)
    except (LoopwrightError, TypeError, ValueError):
        return None
    return made if made.ty is PrimType(dtype) else None


def _real_functions() -> list[OpRecord]:
    """The operators that take and give floats of one type."""
    names = ("x", "x, y", "x1, x2", "x, y, z")
    found = [r for r in all_records() if r.numpy is not None and r.params in names]
    return [r for r in found if r.script and r.name not in ("tirx.isnan", "prim.likely", *UNARY_INT)]


def draw_effect(source: Source, scope: Scope, argument: Argument) -> Expr | None:
    """A call of any operator as a statement, or None."""
    rec = source.pick([r for r in all_records() if r.effect is not Effect.CONTROL])
    return draw_record_call(source, rec, scope, argument)


def draw_record_call(source: Source, rec: OpRecord, scope: Scope, argument: Argument) -> Expr:
    """A call of this operator: through its spelling where the arguments suit it, else a bare node."""
    values: list[Any] = []
    keywords: dict[str, Any] = {}
    star = False
    for part in [p.strip() for p in rec.params.split(",")] if rec.params else []:
        word, _, default = part.partition("=")
        if word.startswith("*"):
            star = True
            if word != "*":
                values += [argument(source.pick((INT32, FLOAT32))) for _ in range(source.integer(0, 2))]
        elif default and source.chance(2):
            continue
        elif star or default:
            keywords[word] = draw_argument(source, word, scope, argument)
        else:
            values.append(draw_argument(source, word, scope, argument))
    try:
        made = rec.build(*values, **keywords)
        if isinstance(made, Expr):
            return made
    except (LoopwrightError, TypeError, ValueError, AttributeError, IndexError):
        pass  # not every drawn argument suits; the bare node below is a program too
    plain = [v if isinstance(v, Expr) else StringImm(str(v)) for v in values]
    return Call(rec.name, plain, PrimType(source.pick((DType("void"), INT32, FLOAT32))))


def draw_argument(source: Source, word: str, scope: Scope, argument: Argument) -> Any:
    """A value for the parameter of this name."""
    if word in ("dtype", "return_type", "ptype", "arr_dtype"):
        return str(source.pick((FLOAT32, INT32, DType("int8"))))
    if word in STRINGS:
        return source.pick(("row_major", "add", "shared"))
    if word in CONDITIONS:
        return argument(BOOL)
    if word in COUNTS:
        return IntImm(PrimType(INT32), source.integer(0, 8))
    if word in ("buffer", "buffer_var", "load"):
        return _buffer(source, scope, word)
    if word in POINTERS:
        return _pointer(source, scope)
    return argument(source.pick((INT32, FLOAT32)))


def _pointer(source: Source, scope: Scope) -> Expr:
    if scope.pointers:
        return source.pick(scope.pointers)
    if scope.buffers:
        buffer = source.pick(scope.buffers)
        ty = buffer.ty
        assert isinstance(ty, BufferType)
        kind: Type = PointerType(PrimType(ty.dtype), ty.storage_scope)
        return Call("tirx.buffer_data", (buffer,), kind)
    return Call("tirx.reinterpret", (IntImm(PrimType("uint64"), 0),), PointerType(PrimType("void")))


def _buffer(source: Source, scope: Scope, word: str) -> Expr:
    if not scope.buffers:
        return _pointer(source, scope)
    buffer = source.pick(scope.buffers)
    if word == "load":
        ty = buffer.ty
        assert isinstance(ty, BufferType)
        return BufferLoad(buffer, [IntImm(e.ty, 0) for e in ty.shape])
    return buffer


@st.composite
def calls(draw: Any, record: OpRecord | None = None) -> Expr:
    """Calls of an operator (any if None) on constants, variables and a buffer that nothing defines."""
    from .expressions import draw_leaf

    source = Source(draw)
    free = tuple(Var(name, PrimType(d)) for name, d in (("i", INT32), ("x", FLOAT32), ("c", BOOL)))
    scope = Scope(scalars=free, buffers=(Var("A", BufferType("float32", [4, 4])),))

    def argument(dtype: DType) -> Expr:
        return draw_leaf(source, scope, dtype)

    return draw_record_call(source, record or source.pick(all_records()), scope, argument)
