"""Atomic updates of memory, and asking for memory early."""

from __future__ import annotations

from ...dtype import DType
from ...ir import BufferLoad, Call, Expr, For, IntImm, PointerType, Var, walk
from . import arith
from .expr import Expressions, as_ramp
from .rules import operator, rule, short_name
from .types import lane_bytes, memory_type, value_type

PREFETCH = "prefetch"
"""The annotation of a loop that says how many iterations ahead its reads are asked for."""
LINE = 64
"""The bytes that come together."""


@rule("atomic_add", "cuda.atomic_add")
def _atomic_add(m: Expressions, e: Call) -> str:
    dtype = _checked(m, e, e.args[1])
    place, value = m.visit(e.args[0]), m.visit(e.args[1])
    if memory_type(dtype) == value_type(dtype):
        kind = "fadd" if dtype.is_float else "add"
        return m.code.op(f"atomicrmw {kind} ptr {place}, {value_type(dtype)} {value} seq_cst")
    return _retried(m, dtype, place, value)


def _retried(m: Expressions, dtype: DType, place: str, value: str) -> str:
    """An addition of a format that memory keeps in another form: tried until nobody came between."""
    code, t = m.code, memory_type(dtype)
    first = code.op(f"load atomic {t}, ptr {place} monotonic, align {lane_bytes(dtype)}")
    again, done = code.name("again"), code.name("done")
    before = code.block
    code.label(again)
    lines = len(code.lines)
    raw = "%" + code.name("old")
    old = m.from_memory(dtype, raw)
    kind = value_type(dtype)
    added = code.op(f"{'fadd' if dtype.is_float else 'add'} {kind} {old}, {value}")
    new = m.to_memory(dtype, m.rounded(dtype, added))
    pair = code.op(f"cmpxchg ptr {place}, {t} {raw}, {t} {new} seq_cst seq_cst")
    found = code.op(f"extractvalue {{ {t}, i1 }} {pair}, 0")
    code.lines.insert(lines, f"  {raw} = phi {t} [ {first}, %{before} ], [ {found}, %{code.block} ]")
    code.branch(code.op(f"extractvalue {{ {t}, i1 }} {pair}, 1"), done, again)
    code.label(done)
    return old


@rule("cuda.atomic_cas")
def _atomic_cas(m: Expressions, e: Call) -> str:
    dtype = _checked(m, e, e.args[1])
    place, t = m.visit(e.args[0]), memory_type(dtype)
    if dtype.is_float and t == value_type(dtype):
        raise m.refuse(f"`{operator(e)}` of `{dtype}`", e, "compare and swap its bits as an integer")
    old, new = [m.to_memory(dtype, arith.cast(m, a.dtype, dtype, m.visit(a))) for a in e.args[1:]]
    pair = m.code.op(f"cmpxchg ptr {place}, {t} {old}, {t} {new} seq_cst seq_cst")
    return m.from_memory(dtype, m.code.op(f"extractvalue {{ {t}, i1 }} {pair}, 0"))


def _checked(m: Expressions, e: Call, value: Expr) -> DType:
    """The dtype of the cell. Raises CodegenError for what is no address of such a cell."""
    kind = e.args[0].ty
    if not isinstance(kind, PointerType) or not value.dtype.is_scalar or value.dtype.is_bool:
        raise m.refuse(f"`{operator(e)}` of something other than an address and a number", e)
    element = getattr(kind.element_type, "dtype", value.dtype)
    if element is not value.dtype and not element.is_void:
        what = f"`{operator(e)}` of a `{value.dtype}` to a cell of `{element}`"
        raise m.refuse(what, e, f'cast it with T.Cast("{element}", ...)')
    return value.dtype


@rule("prefetch")
def _prefetch(m: Expressions, e: Call) -> str:
    """Arguments: an address, whether it will be written (0), and how long it stays of use, 0 to 3 (3)."""
    options = [arith.constant(a) for a in e.args[1:]]
    if not e.args or not isinstance(e.args[0].ty, PointerType):
        raise m.refuse(f"`{short_name(e)}` of something other than an address", e)
    write = options[0] if options else 0
    locality = options[1] if len(options) > 1 else 3
    if write not in (0, 1) or locality not in (0, 1, 2, 3):
        raise m.refuse("`prefetch` with options other than (0 or 1, 0 to 3)", e)
    prefetch(m, m.visit(e.args[0]), write, locality)
    return "0"


def prefetch(m: Expressions, address: str, write: int = 0, locality: int = 3) -> None:
    """Ask for the memory at an address."""
    name = m.unit.declare("llvm.prefetch.p0", "void (ptr, i32, i32, i32)")
    m.code.do(f"call void {name}(ptr {address}, i32 {write}, i32 {locality}, i32 1)")


def prefetch_ahead(m: Expressions, loop: For, counter: str) -> None:
    """Ask for what the loop's body reads some iterations later, as its annotation says.

    Raises CodegenError where the annotation is no positive number.
    """
    if PREFETCH not in loop.annotations:
        return
    ahead = loop.annotations[PREFETCH]
    count = ahead.value if isinstance(ahead, IntImm) else ahead
    if not isinstance(count, int) or count < 1:
        raise m.refuse(f"the annotation `{PREFETCH}` with a value that is no positive number", loop)
    t = value_type(loop.loop_var.dtype)
    m.values[loop.loop_var] = m.code.op(f"add {t} {counter}, {count}")
    defined = {v for v in walk(loop.body) if isinstance(v, Var) and v not in m.values}
    seen: set[tuple[Var, int]] = set()
    for node in walk(loop.body):
        if not isinstance(node, BufferLoad) or node.buffer not in m.memory or len(node.indices) != 1:
            continue
        index, lanes = node.indices[0], 1
        ramp = as_ramp(index)
        if ramp is not None and arith.constant(ramp[1]) == 1:
            index, lanes = ramp[0], index.dtype.lanes
        parts = set(walk(index))
        key = (node.buffer, id(index))
        steady = not any(isinstance(p, BufferLoad | Call) or p in defined for p in parts)
        if steady and index.dtype.is_scalar and loop.loop_var in parts and key not in seen:
            seen.add(key)
            mem = m.buffer(node.buffer)
            first = m.widen(m.visit(index), index.dtype)
            for line in range(0, lanes, max(1, LINE // (lane_bytes(mem.ty.dtype) * mem.ty.dtype.lanes))):
                place = m.code.op(f"add i64 {first}, {line}") if line else first
                position = m.scaled(place, mem.ty.dtype.lanes)
                prefetch(m, m.address(mem, position, inside=False))
    m.values[loop.loop_var] = counter
