"""Statements over a scope; every form the language has.

A generator takes the scope before it and gives its statements with the scope after them, since
bindings and allocations are visible to the end of their sequence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...dtype import DType
from ...ir import (
    LT,
    Add,
    AllocBuffer,
    AssertStmt,
    AttrStmt,
    Bind,
    Break,
    BufferLoad,
    BufferStore,
    BufferType,
    Call,
    Continue,
    DeclBuffer,
    Evaluate,
    Expr,
    For,
    ForKind,
    FuncType,
    IfThenElse,
    IntImm,
    IterVar,
    Max,
    Min,
    PointerType,
    PrimType,
    Range,
    Return,
    Stmt,
    StringImm,
    Type,
    Var,
    While,
    const,
    seq,
)
from ...node import Attrs
from .blocks import draw_block
from .calls import draw_effect
from .draw import Source
from .expressions import BOOL, INT32, draw_expr, draw_index, draw_indices
from .scalars import EXACT_DTYPES, draw_dtype, draw_name
from .scope import Scope, buffer_type

Made = tuple[list[Stmt], Scope]
Rule = Callable[[Source, Scope], Made | None]
MAX_DEPTH = 3


def draw_body(source: Source, scope: Scope, result: Type) -> Stmt:
    """The body of a function; a result type that is not void gives a Return at the end."""
    statements, scope = draw_sequence(source, scope, 4)
    if isinstance(result, PrimType) and not result.dtype.is_void:
        statements.append(Return(draw_expr(source, scope, result.dtype, 1)))
    return seq(statements)


def draw_sequence(source: Source, scope: Scope, most: int) -> Made:
    """One to `most` statements."""
    statements: list[Stmt] = []
    rules = EXACT_RULES if scope.executable else RULES
    for _ in range(source.integer(1, most)):
        rule = _jump if scope.in_loop and source.chance(5) else source.pick(rules)
        made = rule(source, scope) or _store(source, scope)
        if made is None:
            continue
        new, scope = made
        statements += new
    if not statements:
        statements.append(Evaluate(0))
    return statements, scope


def nested(source: Source, scope: Scope, **changes: Any) -> Stmt:
    """The body of a compound statement."""
    inner = scope.deeper(**changes)
    if inner.depth >= MAX_DEPTH:
        made = _store(source, inner)
        return seq(made[0]) if made else Evaluate(0)
    return seq(draw_sequence(source, inner, 2)[0])


def _store(source: Source, scope: Scope) -> Made | None:
    buffers = [b for b in scope.buffers if b not in scope.readonly]
    if not buffers:
        return None
    buffer = source.pick(buffers)
    indices = draw_indices(source, scope, buffer)
    dtype = buffer.dtype
    value: Expr
    if scope.executable:
        value = _bounded_value(source, scope, dtype)
    else:
        if indices and dtype.is_scalar and indices[-1].dtype.is_scalar and source.chance(10):
            indices[-1], dtype = _ramp(source, scope, indices[-1], dtype)
        value = draw_expr(source, scope, dtype, source.integer(0, 3))
    return [BufferStore(buffer, value, indices)], scope


def _bounded_value(source: Source, scope: Scope, dtype: DType) -> Expr:
    """A value whose computation is exact: floats stay small integers."""
    if dtype.is_integral:
        return draw_expr(source, scope, dtype, source.integer(0, 3))
    value = draw_expr(source, scope, dtype, source.integer(0, 2 if dtype.bits >= 32 else 1))
    return Max(Min(value, const(4.0, dtype)), const(-4.0, dtype))


def _ramp(source: Source, scope: Scope, base: Expr, dtype: DType) -> tuple[Expr, DType]:
    from ...ir import Ramp

    lanes = source.pick((2, 4, 8))
    return Ramp(base, const(source.integer(1, 2), base.dtype), lanes), dtype.with_lanes(lanes)


def _loop(source: Source, scope: Scope) -> Made:
    dtype = INT32 if not source.chance(6) else DType("int64")
    var = Var(draw_name(source), PrimType(dtype))
    extent = source.integer(1, 4)
    low = source.integer(0, 2) if source.chance(3) else 0
    kinds = [ForKind.SERIAL, ForKind.SERIAL, ForKind.UNROLLED, ForKind.VECTORIZED, ForKind.PARALLEL]
    kind = ForKind.SERIAL if scope.in_vector else source.pick(kinds)
    step = None
    if kind is ForKind.SERIAL and source.chance(6):
        step = const(source.integer(2, 3), dtype)
    annotations = Attrs()
    if source.chance(6):
        annotations = Attrs({source.pick(("pragma", "software_pipeline", "k")): source.pick((1, "x", True))})
    inner = scope.with_scalar(var, low, low + extent - 1)
    if kind is not ForKind.SERIAL and scope.executable:
        body = _independent_body(source, inner, var)
    else:
        in_loop = kind is ForKind.SERIAL
        body = nested(source, inner, in_loop=in_loop, in_vector=inner.in_vector or kind is ForKind.VECTORIZED)
    extents: Expr = const(extent, dtype)
    if not scope.executable and source.chance(4):
        extents = draw_expr(source, scope, dtype, 1)
    return [For(var, const(low, dtype), extents, kind, body, step, None, annotations)], scope


def _independent_body(source: Source, scope: Scope, var: Var) -> Stmt:
    """A store to a cell of its own in each iteration, reading only what no iteration writes."""
    _, high = scope.bounds[var]
    for buffer in scope.buffers:
        shape = buffer_type(buffer).shape
        last = shape[-1] if shape else None
        if (
            isinstance(last, IntImm)
            and last.value > high
            and last.ty is var.ty
            and buffer not in scope.readonly
        ):
            others = tuple(b for b in scope.buffers if b is not buffer)
            fixed = replace(scope, scalars=scope.scalars, buffers=others)
            indices = [draw_index(source, replace(fixed, bounds={}), e) for e in shape[:-1]]
            return BufferStore(buffer, _bounded_value(source, fixed, buffer.dtype), [*indices, var])
    return Evaluate(var)


def _thread_loop(source: Source, scope: Scope) -> Made:
    var = Var(draw_name(source), PrimType(INT32))
    extent = source.integer(1, 4)
    tag = source.pick(("threadIdx.x", "blockIdx.x", "threadIdx.y", "vthread"))
    axis = IterVar(None, Var("", PrimType(INT32)), IterVar.THREAD_INDEX, tag)
    body = nested(source, scope.with_scalar(var, 0, extent - 1), in_loop=False)
    return [For(var, 0, extent, ForKind.THREAD_BINDING, body, None, axis)], scope


def _while(source: Source, scope: Scope) -> Made:
    if not scope.executable:
        condition = draw_expr(source, scope, BOOL, 2)
        return [While(condition, nested(source, scope, in_loop=True))], scope
    counter = Var(draw_name(source), BufferType("int32", [1], storage_scope="local"))
    here = BufferLoad(counter, [0])
    body = seq([BufferStore(counter, Add(here, const(1, INT32)), [0]), nested(source, scope, in_loop=True)])
    loop = While(LT(here, const(source.integer(0, 3), INT32)), body)
    return [AllocBuffer(counter), BufferStore(counter, const(0, INT32), [0]), loop], scope


def _if(source: Source, scope: Scope) -> Made:
    condition = draw_expr(source, scope, BOOL, 2)
    other = nested(source, scope) if source.chance(2) else None
    return [IfThenElse(condition, nested(source, scope), other)], scope


def _bind(source: Source, scope: Scope) -> Made:
    dtype = source.pick(EXACT_DTYPES) if scope.executable else draw_dtype(source)
    var = Var(draw_name(source), PrimType(dtype))
    return [Bind(var, draw_expr(source, scope, dtype, 2))], scope.with_scalar(var)


def _alloc(source: Source, scope: Scope) -> Made:
    from .programs import draw_buffer

    buffer = draw_buffer(source, (), scope.executable)
    if scope.executable:
        return [AllocBuffer(buffer), _fill(source, scope, buffer)], scope.with_buffer(buffer)
    annotations = {"k": source.pick((1, True, "x"))} if source.chance(5) else {}
    return [AllocBuffer(buffer, annotations)], scope.with_buffer(buffer)


def _fill(source: Source, scope: Scope, buffer: Var) -> Stmt:
    """Loops that write every cell, so that nothing is read before it is written."""
    shape = buffer_type(buffer).shape
    loops = [Var(f"f{k}", e.ty) for k, e in enumerate(shape)]
    body: Stmt = BufferStore(buffer, const(source.integer(0, 4), buffer.dtype), loops)
    for var, extent in zip(reversed(loops), reversed(shape)):
        body = For(var, const(0, var.dtype), extent, ForKind.SERIAL, body)
    return body


def _scalar_variable(source: Source, scope: Scope) -> Made:
    dtype = source.pick(EXACT_DTYPES) if scope.executable else draw_dtype(source, vectors=False)
    buffer = Var(draw_name(source), BufferType(dtype, [1], storage_scope="local"))
    value = _bounded_value(source, scope, dtype) if scope.executable else draw_expr(source, scope, dtype, 2)
    return [AllocBuffer(buffer), BufferStore(buffer, value, [0])], scope.with_buffer(buffer)


def _decl(source: Source, scope: Scope) -> Made | None:
    from .programs import draw_buffer

    if not scope.buffers:
        return None
    origin = source.pick(scope.buffers)
    ty = buffer_type(origin)
    data = Call("tirx.buffer_data", (origin,), PointerType(PrimType(ty.dtype), ty.storage_scope))
    buffer = draw_buffer(source, (), False)
    shape = buffer_type(buffer).shape
    view = Var(buffer.name, BufferType(ty.dtype, shape, storage_scope=ty.storage_scope))
    return [DeclBuffer(view, data)], scope.with_buffer(view)


def _assert(source: Source, scope: Scope) -> Made:
    condition = const(True, BOOL) if scope.executable else draw_expr(source, scope, BOOL, 2)
    kind = source.pick(("AssertionError", "ValueError", "TypeError"))
    parts = [StringImm(t) for t in source.some(("first", 'quo"te', "new\nline", "", "é"), 1, 2)]
    return [AssertStmt(StringImm(kind), condition, parts)], scope


def _attr(source: Source, scope: Scope) -> Made:
    key = source.pick(("pragma_unroll", "custom.key", "buffer_bind_scope"))
    value: Any = source.pick((const(1, INT32), StringImm("text"), const(True, BOOL)))
    return [AttrStmt(const(0, INT32), key, value, nested(source, scope))], scope


def _launch(source: Source, scope: Scope) -> Made:
    var = Var(draw_name(source), PrimType(INT32))
    tag = source.pick(("threadIdx.x", "blockIdx.y", "threadIdx.z"))
    extent = source.integer(1, 4)
    axis = IterVar(Range(0, extent), var, IterVar.THREAD_INDEX, tag)
    body = nested(source, scope.with_scalar(var, 0, extent - 1), in_loop=False)
    return [AttrStmt(axis, "thread_extent", const(extent, INT32), body)], scope


def _jump(source: Source, scope: Scope) -> Made | None:
    if not scope.in_loop:
        return None
    if source.chance(2):
        name = source.pick(("tirx.break_loop", "tirx.continue_loop"))
        jump: Stmt = Evaluate(Call(name, (), PrimType("void")))
    else:
        jump = source.pick((Break, Continue))()
    return [IfThenElse(draw_expr(source, scope, BOOL, 1), jump)], scope


def _evaluate(source: Source, scope: Scope) -> Made:
    def argument(wanted: DType) -> Expr:
        return draw_expr(source, scope, wanted, 1)

    call = draw_effect(source, scope, argument)
    return [Evaluate(call if call is not None else draw_expr(source, scope, INT32, 2))], scope


def _call_function(source: Source, scope: Scope) -> Made | None:
    if not scope.functions:
        return None
    name, types = source.pick(scope.functions)
    result = name.ty.ret_type if isinstance(name.ty, FuncType) else PrimType("void")
    return [Evaluate(Call(name, [draw_expr(source, scope, t, 1) for t in types], result))], scope


def _block(source: Source, scope: Scope) -> Made:
    return [draw_block(source, scope, nested)], scope


RULES: tuple[Rule, ...] = (
    _store,
    _loop,
    _if,
    _block,
    _block,
    _bind,
    _alloc,
    _scalar_variable,
    _evaluate,
    _decl,
    _while,
    _thread_loop,
    _assert,
    _attr,
    _launch,
    _call_function,
)
EXACT_RULES: tuple[Rule, ...] = (
    _store,
    _store,
    _loop,
    _loop,
    _if,
    _block,
    _bind,
    _alloc,
    _scalar_variable,
    _while,
    _assert,
)
__all__ = ["draw_body", "draw_sequence", "nested"]
