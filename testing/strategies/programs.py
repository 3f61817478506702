"""Statements, functions and modules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from ...dtype import DType
from ...ir import (
    BufferType,
    Expr,
    GlobalVar,
    IntImm,
    IRModule,
    PointerType,
    PrimFunc,
    PrimType,
    SBlock,
    SBlockRealize,
    Stmt,
    Var,
    walk,
)
from ...node import Attrs
from .draw import Source
from .expressions import draw_expr
from .scalars import EXACT_DTYPES, draw_dtype, draw_name, draw_scalar
from .scope import Scope
from .statements import draw_body

VOID = PrimType("void")


def draw_extent(source: Source, symbols: tuple[Var, ...]) -> Expr:
    """A size of a dimension: a small constant, or a symbol."""
    if symbols and source.chance(3):
        return source.pick(symbols)
    dtype = "int64" if source.chance(8) else "int32"
    return IntImm(PrimType(dtype), source.integer(1, 5))


def draw_buffer(source: Source, symbols: tuple[Var, ...], executable: bool, rank: int | None = None) -> Var:
    """A buffer variable; in programs that run a compact one of a dtype with exact arithmetic."""
    dtype = source.pick(EXACT_DTYPES) if executable else draw_dtype(source)
    rank = source.integer(0 if not executable else 1, 3) if rank is None else rank
    shape = [draw_extent(source, symbols) for _ in range(rank)]
    more: dict[str, Any] = {}
    if not executable and source.chance(6):
        more["strides"] = [draw_extent(source, symbols) for _ in range(rank)]
    if not executable and source.chance(8):
        more["elem_offset"] = draw_extent(source, symbols)
    if not executable and source.chance(8):
        more["offset_factor"] = source.pick((1, 4, 16))
    if not executable and source.chance(8):
        more["storage_scope"] = source.pick(("shared", "local", "shared.dyn", "wmma.matrix_a"))
    if not executable and source.chance(10):
        more["data_alignment"] = source.pick((16, 128, 4))
    return Var(draw_name(source), BufferType(dtype, shape, **more))


def _parameters(source: Source, executable: bool, scalars_only: bool) -> tuple[tuple[Var, ...], Scope]:
    if scalars_only:
        only = tuple(
            Var(draw_name(source), PrimType(draw_dtype(source))) for _ in range(source.integer(0, 2))
        )
        return only, Scope(scalars=only, executable=executable)
    symbols = tuple(
        Var(draw_name(source), PrimType("int64" if source.chance(3) else "int32"))
        for _ in range(source.integer(0, 2))
    )
    buffers = [draw_buffer(source, symbols, executable) for _ in range(source.integer(1, 3))]
    scalars = []
    for _ in range(source.integer(0, 2)):
        dtype = source.pick(EXACT_DTYPES) if executable else draw_dtype(source)
        scalars.append(Var(draw_name(source), PrimType(dtype)))
    pointers = []
    if not executable and source.chance(4):
        element = source.pick((VOID, PrimType("float32"), PrimType("int8")))
        pointers.append(Var(draw_name(source), PointerType(element, source.pick(("global", "shared", "")))))
    params = (*buffers, *scalars, *pointers)
    used = tuple(s for s in symbols if any(_uses(b, s) for b in buffers))
    if not executable and source.chance(4):
        extra = tuple(s for s in symbols if s not in used)
        params, used = (*params, *extra), symbols
    bounds = dict.fromkeys(used, (1, 64)) if executable else {}
    visible = Scope(
        scalars=(*used, *scalars),
        buffers=tuple(buffers),
        pointers=tuple(pointers),
        bounds=bounds,
        executable=executable,
    )
    return params, visible


def _uses(buffer: Var, symbol: Var) -> bool:
    ty = buffer.ty
    assert isinstance(ty, BufferType)
    return any(e is symbol for e in (*ty.shape, *ty.strides, ty.elem_offset))


def draw_function(
    source: Source,
    executable: bool = False,
    name: str | None = None,
    scalars_only: bool = False,
    **scope: Any,
) -> PrimFunc:
    """A function; its name is the attribute global_symbol unless it is private."""
    params, visible = _parameters(source, executable, scalars_only)
    result = _result_type(source, executable)
    body = draw_body(source, replace(visible, **scope), result)
    scheduled = _has_block(body)
    if scheduled:
        body = SBlockRealize((), True, SBlock((), (), (), "root", body))
    attrs: dict[str, Any] = {}
    if name is not None:
        attrs["global_symbol"] = name
    elif not source.chance(4):
        attrs["global_symbol"] = "main" if executable or not source.chance(4) else draw_name(source) or "f"
    if not executable and source.chance(4):
        attrs[source.pick(("tirx.noalias", "custom.attr", "pragma"))] = source.pick(
            (True, 1, "text", 2.5, None, ("a", 1), Attrs({"k": 1}))
        )
    if scheduled:
        attrs["s_tir"] = True
    return PrimFunc(params, body, result, attrs, source.chance(4))


def _has_block(body: Stmt) -> bool:
    return any(isinstance(n, SBlock) for n in walk(body))


def _result_type(source: Source, executable: bool) -> Any:
    if not source.chance(5):
        return VOID
    return PrimType(source.pick(EXACT_DTYPES) if executable else draw_dtype(source))


@st.composite
def prim_funcs(draw: Any, executable: bool = False) -> PrimFunc:
    """Well-formed functions; executable ones can be run on arrays of small integers.

    Symbolic sizes of executable functions must be at least 1.
    """
    return draw_function(Source(draw), executable)


@st.composite
def modules(draw: Any, executable: bool = False) -> IRModule:
    """Modules of one to three functions, with attributes and calls between them."""
    source = Source(draw)
    table: dict[GlobalVar, Any] = {}
    known: list[tuple[GlobalVar, tuple[DType, ...]]] = []
    for k in range(source.integer(1, 3)):
        name = f"f{k}" if executable or not source.chance(3) else f"{draw_name(source)}_{k}"
        plain = not executable and source.chance(3)
        func = draw_function(source, executable, name, plain, functions=tuple(known))
        var = GlobalVar(name, func.ty)
        table[var] = func
        types = [p.ty for p in func.params]
        if plain:
            known.append((var, tuple(t.dtype for t in types if isinstance(t, PrimType))))
    attrs = {"custom": source.pick((1, "x", True))} if source.chance(4) else {}
    return IRModule(table, attrs)


@st.composite
def statements(draw: Any) -> Stmt:
    """Statements without free variables."""
    source = Source(draw)
    buffer = draw_buffer(source, (), False)
    return draw_body(source, Scope(buffers=(buffer,)), VOID)


@st.composite
def expressions(draw: Any, dtype: DType | str | None = None, free: bool = True) -> Expr:
    """Expressions of a dtype (any if None); with `free` they may use variables that nothing defines."""
    source = Source(draw)
    wanted = draw_dtype(source) if dtype is None else DType(dtype)
    scope = Scope()
    if free:
        for _ in range(source.integer(0, 3)):
            scope = scope.with_scalar(Var(draw_name(source), PrimType(draw_dtype(source))))
    return draw_expr(source, scope, wanted, source.integer(0, 4))


__all__ = ["draw_scalar", "expressions", "modules", "prim_funcs", "statements"]
