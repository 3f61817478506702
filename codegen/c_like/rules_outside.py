"""Rules for what is not the program's own: functions of the language, printing."""

from __future__ import annotations

from ...dtype import DType
from ...ir import BufferType, Call, PointerType, StringImm, Var
from . import arith, formats
from .expr import quoted
from .rules import operator, rule
from .stmt import Statements
from .text import ATOM, Lanes, Term, call, convert
from .types import FLOAT64


@rule("call_extern", "call_pure_extern")
def _call_extern(m: Statements, e: Call) -> Lanes:
    head = e.args[0]
    if not isinstance(head, StringImm):
        raise m.refuse(f"`{operator(e)}` without a name", e)
    args = [x for a in e.args[1:] for x in m.lanes(a)]
    return [call(head.value, *args)]


@rule("print")
def _print(m: Statements, e: Call) -> Lanes:
    """One printf: text as it is, values apart by spaces, vectors and small buffers in brackets."""
    parts: list[str] = []
    values: Lanes = []
    for a in e.args:
        if isinstance(a, StringImm):
            parts.append(a.value.replace("%", "%%"))
            continue
        if isinstance(a, Var) and isinstance(a.ty, BufferType):
            parts.append(_buffer(m, a, e, values))
        elif isinstance(a.ty, PointerType):
            parts.append("%p")
            values.append(m.value(a))
        else:
            texts = [_value(m, a.dtype.element, x, values) for x in m.lanes(a)]
            parts.append(texts[0] if len(texts) == 1 else f"[{' '.join(texts)}]")
    return [printf(" ".join(parts) + "\n", values)]


def printf(text: str, values: Lanes) -> Term:
    """The call that prints."""
    return call("printf", Term(quoted(text)), *values)


def _value(m: Statements, dtype: DType, value: Term, values: Lanes) -> str:
    """How printf shows a value, which is added to the others."""
    if dtype.is_float:
        values.append(arith.cast(m, dtype, FLOAT64, value) if m.dialect.print_double else value)
        return "%g"
    if dtype.bits == 64 and not dtype.is_bool:
        kind = DType("int64" if dtype.is_int else "uint64")
        values.append(convert(m.type(kind), value))
        return m.dialect.print_long + ("d" if dtype.is_int else "u")
    kind = DType("uint32" if dtype.is_uint else "int32")
    values.append(convert(m.type(kind), value))
    return "%u" if dtype.is_uint else "%d"


def _buffer(m: Statements, buffer: Var, e: Call, values: Lanes) -> str:
    """The cells of a buffer of constant size."""
    mem = m.buffer(buffer, e)
    count = mem.ty.dtype.lanes
    for n in mem.ty.shape:
        known = arith.constant(n)
        count = count * known if known is not None else 1 << 30
    if count > 32:
        raise m.refuse(
            f"printing `{buffer.name}`, which has more than 32 elements", e, "print single elements"
        )
    element = mem.ty.dtype.element
    texts = []
    for k in range(count):
        cell = formats.from_cell(m.unit, element, Term(f"{mem.pointer.at(ATOM)}[{k}]"))
        texts.append(_value(m, element, cell, values))
    return f"[{' '.join(texts)}]"


@rule("cuda.printf")
def _printf(m: Statements, e: Call) -> Lanes:
    if not isinstance(e.args[0], StringImm):
        raise m.refuse(f"`{operator(e)}` without a format", e)
    return [printf(e.args[0].value, [x for a in e.args[1:] for x in m.lanes(a)])]


@rule("cuda.func_call")
def _func_call(m: Statements, e: Call) -> Lanes:
    name, source = e.args[0], e.args[-1]
    if not isinstance(name, StringImm) or not isinstance(source, StringImm):
        raise m.refuse(f"`{operator(e)}` without name and source", e)
    m.unit.part(f"source of {name.value}: {source.value}", source.value.strip())
    return [call(name.value, *[x for a in e.args[1:-1] for x in m.lanes(a)])]
