"""Masked access on machines that have none of its kind: small functions that go from lane to lane.

LLVM would write out a branch for each lane, which takes it long and makes long code.
"""

from __future__ import annotations

from ...dtype import DType
from .core import Emitter
from .types import memory_element, memory_type, vector, vector_suffix

FEW = 8
"""So many lanes may be written out."""


def is_native(m: Emitter, dtype: DType, what: str) -> bool:
    """Whether the machine can load, store, gather or scatter cells of this type under a mask."""
    names = set(m.context.machine.named_features)
    if dtype.scalable or dtype.lanes <= FEW or "sve" in names:
        return True
    if memory_element(dtype) in ("i8", "i16"):
        return "avx512bw" in names and what in ("load", "store") and dtype.lanes <= 64
    return ("avx512f" if what == "scatter" else "avx2") in names


def unknown(m: Emitter, dtype: DType, mask: str) -> str:
    """The mask for a store, kept from LLVM where it would make too much of it.

    For x86 it turns the masked store of truncated numbers whose mask is known to have one lane into the
    store of that number before truncation, which overwrites its neighbours.
    """
    names = set(m.context.machine.named_features)
    if memory_element(dtype) not in ("i8", "i16", "i32") or "avx512f" not in names or dtype.lanes > 64:
        return mask
    kind, bits = vector("i1", dtype), f"i{dtype.lanes}"
    word = m.code.op(f"bitcast {kind} {mask} to {bits}")
    if dtype.lanes < 64:
        word = m.code.op(f"zext {bits} {word} to i64")
    word = m.code.op(f'call i64 asm "", "=r,0"(i64 {word})')
    if dtype.lanes < 64:
        word = m.code.op(f"trunc i64 {word} to {bits}")
    return m.code.op(f"bitcast {bits} {word} to {kind}")


def lane_by_lane(m: Emitter, dtype: DType, what: str) -> str:
    """The unit's function for a load or store below one address, or a gather or scatter of many.

    It takes the address or addresses, the mask as bytes and, to store, the value.
    """
    name = f"lw.masked.{what}.{vector_suffix(dtype)}"
    if name in m.unit.helpers:
        return f"@{name}"
    t, cell, lanes = memory_type(dtype), memory_element(dtype), dtype.lanes
    many, stores = what in ("gather", "scatter"), what in ("store", "scatter")
    place = vector("ptr", lanes) if many else "ptr"
    params = f"{place} %p, <{lanes} x i8> %m" + (f", {t} %v" if stores else "")
    lines = [
        f"define internal {'void' if stores else t} @{name}({params}) noinline nounwind {{",
        f"entry:\n  %mask = alloca <{lanes} x i8>\n  store <{lanes} x i8> %m, ptr %mask",
        f"  %values = alloca {t}\n  store {t} {'%v' if stores else 'zeroinitializer'}, ptr %values",
    ]
    if many:
        lines.append(f"  %places = alloca {place}\n  store {place} %p, ptr %places")
    lines += [
        "  br label %loop\nloop:\n  %k = phi i64 [ 0, %entry ], [ %next, %join ]",
        "  %bit = getelementptr i8, ptr %mask, i64 %k\n  %byte = load i8, ptr %bit",
        "  %on = icmp ne i8 %byte, 0\n  br i1 %on, label %take, label %join",
        f"take:\n  %mine = getelementptr {cell}, ptr %values, i64 %k",
    ]
    if many:
        lines.append("  %slot = getelementptr ptr, ptr %places, i64 %k\n  %far = load ptr, ptr %slot")
    else:
        lines.append(f"  %far = getelementptr {cell}, ptr %p, i64 %k")
    source, target = ("%mine", "%far") if stores else ("%far", "%mine")
    align = f", align {m.natural(dtype)}"
    lines += [
        f"  %x = load {cell}, ptr {source}{align}\n  store {cell} %x, ptr {target}{align}",
        "  br label %join\njoin:\n  %next = add nuw nsw i64 %k, 1",
        f"  %more = icmp ult i64 %next, {lanes}\n  br i1 %more, label %loop, label %done",
        "done:\n  ret void\n}" if stores else f"done:\n  %r = load {t}, ptr %values\n  ret {t} %r\n}}",
    ]
    return m.unit.helper(name, "\n".join(lines))
