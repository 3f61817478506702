"""Rules for vectors, predicated access and pointers."""

from __future__ import annotations

from ...dtype import DType
from ...ir import BufferLoad, BufferType, Call, Expr, PointerType, PrimType, Var
from . import arith, formats
from .core import Memory
from .rules import operator, rule, short_name
from .rules_math import from_bits, to_bits
from .stmt import Statements
from .text import (
    ATOM,
    BITS,
    CHOICE,
    EQUAL,
    ORDER,
    PRODUCT,
    SUM,
    UNARY,
    Lanes,
    Term,
    call,
    choose,
    convert,
    infix,
)
from .types import integer, real, short

# Vectors


@rule("vectorlow", "vectorhigh")
def _half_vector(m: Statements, e: Call) -> Lanes:
    lanes = m.lanes(e.args[-1])
    half = len(lanes) // 2
    return lanes[:half] if short_name(e) == "vectorlow" else lanes[half:]


@rule("vectorcombine")
def _combine(m: Statements, e: Call) -> Lanes:
    return m.lanes(e.args[-2]) + m.lanes(e.args[-1])


@rule("get_active_lane_mask")
def _lane_mask(m: Statements, e: Call) -> Lanes:
    m.type(e.dtype)
    wide = DType("int64")
    base, limit = [arith.cast(m, a.dtype, wide, m.value(a)) for a in e.args]
    left = m.named(m.type(wide), "left", infix(limit, "-", base, SUM))
    return [infix(left, ">", Term(str(k)), ORDER) for k in range(e.dtype.lanes)]


@rule("masked_load")
def _masked_load(m: Statements, e: Call) -> Lanes:
    mem, places, mask = _masked(m, e, e.args[1:])
    element = e.dtype.element
    zero = real(m.unit, element, 0.0) if element.is_float else integer(m.unit, element, 0)
    out = []
    for place, wanted in zip(places, mask):
        cell = mem.cell(place)
        value = choose(wanted, formats.from_cell(m.unit, element, cell), zero)
        out.append(m.named(m.type(element), "masked", value))
    return out


@rule("masked_store")
def _masked_store(m: Statements, e: Call) -> Lanes:
    mem, places, mask = _masked(m, e, e.args[2:])
    source, element = e.args[1].dtype.element, mem.ty.dtype.element
    values = [arith.cast(m, source, element, x) for x in m.lanes(e.args[1])]
    for place, wanted, value in zip(places, mask, values):
        cell = formats.to_cell(m.unit, element, value)
        m.put(f"if ({wanted.text}) {mem.cell(place).text} = {cell.text};")
    return []


def _masked(m: Statements, e: Call, rest: tuple[Expr, ...]) -> tuple[Memory, Lanes, Lanes]:
    """The buffer, the cell of each lane, and the mask."""
    target = e.args[0]
    if not isinstance(target, Var) or not isinstance(target.ty, BufferType) or target.ty.dtype.is_vector:
        raise m.refuse(f"`{operator(e)}` of something other than a buffer of scalars", e)
    mem = m.buffer(target, e)
    index = m.flat_index(mem, rest[:-1])
    mask = m.lanes(rest[-1])
    return mem, m.places(mem, index), mask


# Pointers


@rule("buffer_data")
def _buffer_data(m: Statements, e: Call) -> Lanes:
    return m.visit(e.args[0])


@rule("address_of")
def _address_of(m: Statements, e: Call) -> Lanes:
    load = e.args[0]
    if isinstance(load, Var):
        if isinstance(load.ty, BufferType):
            return m.visit(load)
        kind, name = m.type(load.dtype), m.names.fresh(load.name)
        m.put(f"{kind} {name} = {m.value(load).text};")
        return [Term(f"&{name}", UNARY)]
    if not isinstance(load, BufferLoad):
        raise m.refuse("`address_of` of something other than an element", e)
    return [m.address(load)]


@rule("tvm_access_ptr")
def _access_ptr(m: Statements, e: Call) -> Lanes:
    base, offset = m.value(e.args[1]), m.index(e.args[2])
    kind = e.args[0].ty
    element = kind.element_type if isinstance(kind, PointerType) else kind
    source = e.args[1].ty
    own = source.element_type if isinstance(source, PointerType) else PrimType(e.args[1].dtype)
    if m.cell_of(own) != m.cell_of(element):
        base = convert(m.dialect.pointer(m.cell_of(element), _scope(e.args[1].ty)), base)
    lanes = element.dtype.lanes if isinstance(element, PrimType) else 1
    if lanes > 1:
        offset = infix(offset, "*", Term(str(lanes)), PRODUCT)
    return [base if offset.text == "0" else infix(base, "+", offset, SUM)]


def _scope(ty: object) -> str:
    if isinstance(ty, PointerType | BufferType):
        return ty.storage_scope or "global"
    return "global"


@rule("ptr_byte_offset", "handle_add_byte_offset")
def _byte_offset(m: Statements, e: Call) -> Lanes:
    base, offset = m.value(e.args[0]), m.index(e.args[1])
    assert isinstance(e.ty, PointerType)
    scope = _scope(e.args[0].ty)
    byte = m.dialect.pointer(m.type(DType("uint8")), scope)
    moved = convert(byte, base) if offset.text == "0" else infix(convert(byte, base), "+", offset, SUM)
    return [convert(m.dialect.pointer(m.cell_of(e.ty.element_type), scope), moved)]


@rule("isnullptr")
def _is_null(m: Statements, e: Call) -> Lanes:
    return [infix(m.value(e.args[0]), "==", Term("0"), EQUAL)]


@rule("s_tir.ldg32")
def _ldg32(m: Statements, e: Call) -> Lanes:
    """A guarded load: the element is read only where the guard holds."""
    guard, load = m.value(e.args[1]), e.args[2]
    place = m.index(e.args[3])
    inner, lanes = m.captured(load)
    kind = e.args[0].ty
    assert isinstance(kind, PointerType)
    element = kind.element_type.dtype if isinstance(kind.element_type, PrimType) else load.dtype
    cell = formats.to_cell(m.unit, element, arith.cast(m, load.dtype, element, lanes[0]))
    m.branch(guard, inner, f"{m.value(e.args[0]).at(ATOM)}[{place.text}] = {cell.text};")
    return []


@rule("atomic_add", "cuda.atomic_add")
def _atomic_add(m: Statements, e: Call) -> Lanes:
    dtype = atomic_cell(m, e)
    place, value = m.value(e.args[0]), m.value(e.args[1])
    found = m.dialect.atomic_add(m, dtype, place, value)
    return [found if found is not None else call(_retried(m, e, dtype, add=True), place, value)]


@rule("cuda.atomic_cas")
def _atomic_cas(m: Statements, e: Call) -> Lanes:
    dtype = atomic_cell(m, e)
    if dtype.is_float and dtype.bits >= 32:
        what = f"`{operator(e)}` of `{dtype}`"
        raise m.refuse(what, e, "compare and swap its bits as an integer")
    place = m.value(e.args[0])
    old, new = [arith.cast(m, a.dtype, dtype, m.value(a)) for a in e.args[1:]]
    found = m.dialect.atomic_cas(m, dtype, place, old, new)
    return [found if found is not None else call(_retried(m, e, dtype, add=False), place, old, new)]


def _retried(m: Statements, e: Call, dtype: DType, add: bool) -> str:
    """The helper that changes a cell by swapping the word around it until nobody came between."""
    scope = _scope(e.args[0].ty)
    word = DType("uint64" if dtype.bits == 64 else "uint32")
    t, w, cell = m.type(dtype), m.type(word), m.unit.cell(dtype)
    words, address = m.dialect.pointer(w, scope), m.type(DType("uint64"))
    narrow = m.type(DType.of(1, max(dtype.bits, 8)))

    def swap(old: Term, new: Term) -> str:
        found = m.dialect.atomic_cas(m, word, Term("word"), old, new)
        assert found is not None
        return found.text

    before = Term(f"({narrow})(seen >> shift)", UNARY)
    value = from_bits(m, dtype, before)
    if add:
        result = (
            m.rounded(dtype, Term("before + value", SUM)) if dtype.is_float else Term("before + value", SUM)
        )
        total = m.exact(result._replace(modular=not dtype.is_float), dtype)
    else:
        total = Term("before == old ? value : before", CHOICE)
    new = to_bits(m, dtype, total)
    mask = (1 << max(dtype.bits, 8)) - 1
    changed = Term(f"(seen & ~(({w}){mask:#x} << shift)) | (({w}){new.at(UNARY)} << shift)", BITS)
    return m.unit.helper(
        f"lw_atomic_{'add' if add else 'cas'}_{short(dtype)}{m.dialect.near(scope)}",
        t,
        f"{m.dialect.pointer(cell, scope)} p, " + (f"{t} value" if add else f"{t} old, {t} value"),
        f"{words} word = ({words})(({address})p & ~({address}){word.bits // 8 - 1});",
        f"const int shift = (int)(({address})p & {word.bits // 8 - 1}) * 8;",
        f"{w} seen = {swap(Term('0'), Term('0'))};",
        "for (;;) {",
        f"  const {t} before = {value.text};",
        f"  const {w} now = {swap(Term('seen'), changed)};",
        "  if (now == seen) return before;",
        "  seen = now;",
        "}",
    )


def atomic_cell(m: Statements, e: Call) -> DType:
    """The dtype of the cell. Raises CodegenError for what is no address of such a cell."""
    kind, value = e.args[0].ty, e.args[1]
    if not isinstance(kind, PointerType) or not value.dtype.is_scalar or value.dtype.is_bool:
        raise m.refuse(f"`{operator(e)}` of something other than an address and a number", e)
    element = getattr(kind.element_type, "dtype", value.dtype)
    if element is not value.dtype and not element.is_void:
        what = f"`{operator(e)}` of a `{value.dtype}` to a cell of `{element}`"
        raise m.refuse(what, e, f'cast it with T.Cast("{element}", ...)')
    return value.dtype
