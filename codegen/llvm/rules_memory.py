"""Rules for vectors, predicated access and pointers."""

from __future__ import annotations

from ...dtype import DType
from ...ir import BufferLoad, BufferType, Call, Expr, PointerType, PrimType, Ramp, StringImm, Var
from . import arith
from .core import Memory
from .expr import Expressions, as_ramp
from .masks import is_native, lane_by_lane, unknown
from .rules import operator, rule, short_name
from .types import lane_bytes, memory_element, memory_type, pointers_suffix, value_type, vector, vector_suffix

# Vectors


@rule("vectorlow", "vectorhigh")
def _half_vector(m: Expressions, e: Call) -> str:
    value, t = m.visit(e.args[-1]), m.type(e.args[-1])
    lanes = e.dtype.lanes
    first = 0 if short_name(e) == "vectorlow" else lanes
    mask = ", ".join([f"i32 {first + k}" for k in range(lanes)])
    return m.code.op(f"shufflevector {t} {value}, {t} poison, <{lanes} x i32> <{mask}>")


@rule("vectorcombine")
def _combine(m: Expressions, e: Call) -> str:
    a, b = m.visit(e.args[-2]), m.visit(e.args[-1])
    t, lanes = m.type(e.args[-1]), e.dtype.lanes
    mask = ", ".join([f"i32 {k}" for k in range(lanes)])
    return m.code.op(f"shufflevector {t} {a}, {t} {b}, <{lanes} x i32> <{mask}>")


@rule("get_active_lane_mask")
def _lane_mask(m: Expressions, e: Call) -> str:
    base, limit = m.widen(m.visit(e.args[0]), e.args[0].dtype), m.widen(m.visit(e.args[1]), e.args[1].dtype)
    m.check_vector(e.dtype, e)
    value_type(e.dtype)
    t = vector("i64", e.dtype)
    left = m.code.op(f"sub i64 {limit}, {base}")
    return m.code.op(f"icmp sgt {t} {m.spread(left, 'i64', e.dtype)}, {m.steps('i64', e.dtype)}")


@rule("vscale")
def _vscale(m: Expressions, e: Call) -> str:
    m.check_vector(DType("int8xvscalex1"), e)
    return m.code.op(f"call i32 {m.unit.declare('llvm.vscale.i32', 'i32 ()')}()")


@rule("masked_load")
def _masked_load(m: Expressions, e: Call) -> str:
    buffer, index, mask = _masked_access(m, e, e.args[1:])
    dtype, lanes = e.dtype, e.dtype.lanes
    t, lane = memory_type(dtype), value_type(e.args[-1].dtype)
    if dtype.scalable or (lanes > 1 and not m.context.checked):
        m.check_vector(dtype, e)
        what, kind, place = _masked_place(m, buffer, index, dtype, "load", "gather")
        if not is_native(m, dtype, what):
            bits = m.code.op(f"zext {lane} {mask} to {vector('i8', dtype)}")
            given = f"{kind} {place}, {vector('i8', dtype)} {bits}"
            return m.from_memory(dtype, m.code.op(f"call {t} {lane_by_lane(m, dtype, what)}({given})"))
        name = m.unit.declare(_masked_name(dtype, what), f"{t} ({kind}, i32, {lane}, {t})")
        given = f"{kind} {place}, i32 {lane_bytes(dtype)}, {lane} {mask}, {t} zeroinitializer"
        return m.from_memory(dtype, m.code.op(f"call {t} {name}({given})"))
    cell = memory_element(dtype)
    out = []
    for k, position in enumerate(_positions(m, index)):
        out.append(_guarded_load(m, buffer, cell, position, mask, lane, k))
    return m.from_memory(dtype, m.gathered(out, cell))


def _masked_place(
    m: Expressions, buffer: Memory, index: Expr, dtype: DType, row: str, scattered: str
) -> tuple[str, str, str]:
    """Which kind of access it is, and type and register of the address or the addresses."""
    first = _first_of_row(index)
    if first is not None:
        return row, "ptr", m.address(buffer, m.index(first))
    return scattered, vector("ptr", dtype), m.addresses(buffer, index)


def _masked_name(dtype: DType, what: str) -> str:
    places = "p0" if what in ("load", "store") else pointers_suffix(dtype)
    return f"llvm.masked.{what}.{vector_suffix(dtype)}.{places}"


def _first_of_row(index: Expr) -> Expr | None:
    """The first index where the lanes lie side by side."""
    ramp = as_ramp(index)
    return ramp[0] if ramp is not None and arith.constant(ramp[1]) == 1 else None


def _masked_access(m: Expressions, e: Call, rest: tuple[Expr, ...]) -> tuple[Memory, Expr, str]:
    target = e.args[0]
    if not isinstance(target, Var) or not isinstance(target.ty, BufferType) or target.ty.dtype.is_vector:
        raise m.refuse(f"`{operator(e)}` of something other than a buffer of scalars", e)
    buffer = m.buffer(target, e)
    index = m.flat_index(buffer, tuple(rest[:-1]))
    return buffer, index, m.visit(rest[-1])


def _positions(m: Expressions, index: Expr) -> list[str]:
    value, lanes = m.index(index), index.dtype.lanes
    if lanes == 1:
        return [value]
    return [m.code.op(f"extractelement <{lanes} x i64> {value}, i64 {k}") for k in range(lanes)]


def _lane(m: Expressions, mask: str, kind: str, k: int) -> str:
    return mask if kind == "i1" else m.code.op(f"extractelement {kind} {mask}, i64 {k}")


def _guarded_load(m: Expressions, buffer, cell: str, position: str, mask: str, kind: str, k: int) -> str:  # type: ignore[no-untyped-def]
    code = m.code
    take, done = code.name("take"), code.name("done")
    wanted = _lane(m, mask, kind, k)
    before = code.block
    code.branch(wanted, take, done)
    code.label(take)
    m.check_bounds(buffer, position, 1)
    value = code.op(f"load {cell}, ptr {m.address(buffer, position)}, align {m.natural(buffer.ty.dtype)}")
    after = code.block
    code.label(done)
    zero = "0.0" if cell in ("float", "double") else ("null" if cell == "ptr" else "0")
    return code.op(f"phi {cell} [ {zero}, %{before} ], [ {value}, %{after} ]")


@rule("masked_store")
def _masked_store(m: Expressions, e: Call) -> str:
    buffer, index, mask = _masked_access(m, e, e.args[2:])
    dtype = e.args[1].dtype
    raw = m.to_memory(dtype, m.visit(e.args[1]))
    t, lanes = memory_type(dtype), dtype.lanes
    lane = value_type(e.args[-1].dtype)
    code = m.code
    if dtype.scalable or (lanes > 1 and not m.context.checked):
        m.check_vector(dtype, e)
        what, kind, place = _masked_place(m, buffer, index, dtype, "store", "scatter")
        if not is_native(m, dtype, what):
            bits = code.op(f"zext {lane} {mask} to {vector('i8', dtype)}")
            given = f"{kind} {place}, {vector('i8', dtype)} {bits}, {t} {raw}"
            code.do(f"call void {lane_by_lane(m, dtype, what)}({given})")
            return "0"
        name = m.unit.declare(_masked_name(dtype, what), f"void ({t}, {kind}, i32, {lane})")
        mask = unknown(m, dtype, mask)
        code.do(f"call void {name}({t} {raw}, {kind} {place}, i32 {lane_bytes(dtype)}, {lane} {mask})")
        return "0"
    cell = memory_element(dtype)
    for k, position in enumerate(_positions(m, index)):
        take, done = code.name("take"), code.name("done")
        code.branch(_lane(m, mask, lane, k), take, done)
        code.label(take)
        m.check_bounds(buffer, position, 1)
        value = raw if lanes == 1 else code.op(f"extractelement {t} {raw}, i64 {k}")
        code.do(f"store {cell} {value}, ptr {m.address(buffer, position)}, align {m.natural(dtype)}")
        code.label(done)
    return "0"


@rule("in_bounds")
def _in_bounds(m: Expressions, e: Call) -> str:
    index, extent, name, dimension = e.args
    value = m.visit(index)
    wide, limit = m.widen(value, index.dtype), m.index(extent)
    assert isinstance(name, StringImm)
    site = m.site("bounds", buffer=name.value, dimension=arith.constant(dimension))
    lanes = index.dtype.lanes
    for k in range(lanes):
        one = wide if lanes == 1 else m.code.op(f"extractelement <{lanes} x i64> {wide}, i64 {k}")
        m.require(m.code.op(f"icmp ult i64 {one}, {limit}"), site, one, limit)
    return value


# Pointers


@rule("buffer_data")
def _buffer_data(m: Expressions, e: Call) -> str:
    return m.visit(e.args[0])


@rule("address_of")
def _address_of(m: Expressions, e: Call) -> str:
    load = e.args[0]
    if isinstance(load, Var) and isinstance(load.ty, PrimType):
        t = memory_type(load.dtype)
        place = m.code.stack(f"{t}, align 8", "cell")
        m.code.do(
            f"store {t} {m.to_memory(load.dtype, m.visit(load))}, ptr {place}, align {lane_bytes(load.dtype)}"
        )
        return place
    if isinstance(load, Var):
        return m.visit(load)
    if not isinstance(load, BufferLoad):
        raise m.refuse("`address_of` of something other than an element", e)
    mem = m.buffer(load.buffer, load)
    index = m.flat_index(mem, load.indices)
    if isinstance(index, Ramp):
        index = index.base
    return m.address(mem, m.scaled(m.index(index), mem.ty.dtype.lanes))


@rule("tvm_access_ptr")
def _access_ptr(m: Expressions, e: Call) -> str:
    cell = e.args[0].dtype if isinstance(e.args[0].ty, PrimType) else DType("uint8")
    kind = e.args[0].ty
    if isinstance(kind, PointerType) and isinstance(kind.element_type, PrimType):
        cell = kind.element_type.dtype
    base, offset = m.visit(e.args[1]), m.index(e.args[2])
    size = 1 if cell.is_void else lane_bytes(cell) * cell.lanes
    moved = offset if size == 1 else m.code.op(f"mul nsw i64 {offset}, {size}")
    return m.code.op(f"getelementptr inbounds i8, ptr {base}, i64 {moved}")


@rule("ptr_byte_offset", "handle_add_byte_offset")
def _byte_offset(m: Expressions, e: Call) -> str:
    base, offset = m.visit(e.args[0]), m.index(e.args[1])
    return m.code.op(f"getelementptr i8, ptr {base}, i64 {offset}")


@rule("isnullptr")
def _is_null(m: Expressions, e: Call) -> str:
    return m.code.op(f"icmp eq ptr {m.visit(e.args[0])}, null")
