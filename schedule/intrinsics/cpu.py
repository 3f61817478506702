"""Tensor intrinsics of processors: dot and outer products of vector registers.

Those in plain vector code run anywhere, their names say the shape and the element types; those
named after an instruction need it.
"""

from __future__ import annotations

import textwrap
from typing import Any

from ..tensor_intrin import TensorIntrin

DOT = """
@T.prim_func(s_tir=True)
def desc(
    A: T.Buffer(({n},), "{a}", offset_factor=1),
    B: T.Buffer(({n},), "{b}", offset_factor=1),
    C: T.Buffer((1,), "{c}", offset_factor=1),
):
    with T.sblock("root"):
        T.reads(C[0], A[0:{n}], B[0:{n}])
        T.writes(C[0])
        for k in range({n}):
            with T.sblock("update"):
                vk = T.axis.reduce({n}, k)
                C[0] = C[0] + {term}
"""

DOT_IMPL = """
@T.prim_func(s_tir=True)
def impl(
    A: T.Buffer(({n},), "{a}", offset_factor=1),
    B: T.Buffer(({n},), "{b}", offset_factor=1),
    C: T.Buffer((1,), "{c}", offset_factor=1),
):
    with T.sblock("root"):
        T.reads(C[0], A[0:{n}], B[0:{n}])
        T.writes(C[0])
        p: T.let[T.{c}x{n}] = {product}
{total}
"""

OUTER = """
@T.prim_func(s_tir=True)
def desc(
    A: T.Buffer(({m},), "{c}", offset_factor=1),
    B: T.Buffer(({n},), "{c}", offset_factor=1),
    C: T.Buffer(({m}, {n}), "{c}", offset_factor=1),
):
    with T.sblock("root"):
        T.reads(C[0:{m}, 0:{n}], A[0:{m}], B[0:{n}])
        T.writes(C[0:{m}, 0:{n}])
        for i, j in T.grid({m}, {n}):
            with T.sblock("update"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = C[vi, vj] + A[vi] * B[vj]
"""

OUTER_IMPL = """
@T.prim_func(s_tir=True)
def impl(
    A: T.Buffer(({m},), "{c}", offset_factor=1),
    B: T.Buffer(({n},), "{c}", offset_factor=1),
    C: T.Buffer(({m}, {n}), "{c}", offset_factor=1),
):
    with T.sblock("root"):
        T.reads(C[0:{m}, 0:{n}], A[0:{m}], B[0:{n}])
        T.writes(C[0:{m}, 0:{n}])
        for i in range({m}):
            row: T.let[T.{c}x{n}] = T.Broadcast(A[i], {n}) * B[T.Ramp(0, 1, {n})]
            C[i, T.Ramp(0, 1, {n})] = C[i, T.Ramp(0, 1, {n})] + row
"""

LANES = """
@T.prim_func(s_tir=True)
def desc(
    A: T.Buffer((4,), "{a}", offset_factor=1),
    B: T.Buffer(({n}, 4), "{b}", offset_factor=1),
    C: T.Buffer(({n},), "{c}", offset_factor=1),
):
    with T.sblock("root"):
        T.reads(C[0:{n}], A[0:4], B[0:{n}, 0:4])
        T.writes(C[0:{n}])
        for i, k in T.grid({n}, 4):
            with T.sblock("update"):
                vi, vk = T.axis.remap("SR", [i, k])
                C[vi] = C[vi] + T.Cast("{c}", A[vk]) * T.Cast("{c}", B[vi, vk])
"""

LANES_HEAD = """
@T.prim_func(s_tir=True)
def impl(
    A: T.Buffer((4,), "{a}", offset_factor=1),
    B: T.Buffer(({n}, 4), "{b}", offset_factor=1),
    C: T.Buffer(({n},), "{c}", offset_factor=1),
):
    with T.sblock("root"):
        T.reads(C[0:{n}], A[0:4], B[0:{n}, 0:4])
        T.writes(C[0:{n}])
"""

LANES_PLAIN = """
for i in range({n}):
    p: T.let[T.{c}x4] = T.Cast("{c}x4", A[T.Ramp(0, 1, 4)]) * T.Cast("{c}x4", B[i, T.Ramp(0, 1, 4)])
{total}
"""

WIDENED = """
a4: T.let[T.{a}x4] = A[T.Ramp(0, 1, 4)]
a: T.let[T.{a}x{wide}] = T.reinterpret("{a}x{wide}", T.Broadcast(T.reinterpret("int32", a4), {n}))
b: T.let[T.{b}x{wide}] = B[0, T.Ramp(0, 1, {wide})]
"""

SDOT = (
    WIDENED
    + """
C[T.Ramp(0, 1, {n})] = T.call_llvm_pure_intrin("{c}x{n}", "{llvm}", C[T.Ramp(0, 1, {n})], a, b)
"""
)

VNNI = """
a4: T.let[T.uint8x4] = A[T.Ramp(0, 1, 4)]
b: T.let[T.int8x64] = B[0, T.Ramp(0, 1, 64)]
a: T.let[T.int32x16] = T.Broadcast(T.reinterpret("int32", a4), 16)
c: T.let[T.int32x16] = C[T.Ramp(0, 1, 16)]
w: T.let[T.int32x16] = T.reinterpret("int32x16", b)
C[T.Ramp(0, 1, 16)] = T.call_llvm_pure_intrin("int32x16", "llvm.x86.avx512.vpdpbusd.512", c, a, w)
"""

SIGNED_VNNI = """
a4: T.let[T.int8x4] = A[T.Ramp(0, 1, 4)]
b: T.let[T.int8x64] = B[0, T.Ramp(0, 1, 64)]
w: T.let[T.int32x16] = T.reinterpret("int32x16", b)
# the instruction takes one operand as unsigned: 128 is added to it, and 128 * b is taken off again
a: T.let[T.int32x16] = T.Broadcast(T.reinterpret("int32", a4) ^ T.int32(-2139062144), 16)
zero: T.let[T.int32x16] = T.Broadcast(T.int32(0), 16)
half: T.let[T.int32x16] = T.Broadcast(T.int32(-2139062144), 16)
more: T.let[T.int32x16] = T.call_llvm_pure_intrin("int32x16", "llvm.x86.avx512.vpdpbusd.512", zero, half, w)
c: T.let[T.int32x16] = C[T.Ramp(0, 1, 16)] - more
C[T.Ramp(0, 1, 16)] = T.call_llvm_pure_intrin("int32x16", "llvm.x86.avx512.vpdpbusd.512", c, a, w)
"""

AVX512 = (
    WIDENED
    + """
pairs: T.let[T.int16x32] = T.call_llvm_pure_intrin("int16x32", "llvm.x86.avx512.pmaddubs.w.512", a, b)
ones: T.let[T.int16x32] = T.Broadcast(T.int16(1), 32)
sums: T.let[T.int32x16] = T.call_llvm_pure_intrin("int32x16", "llvm.x86.avx512.pmaddw.d.512", pairs, ones)
C[T.Ramp(0, 1, 16)] = C[T.Ramp(0, 1, 16)] + sums
"""
)

NEON = """
a4: T.let[T.int8x4] = A[T.Ramp(0, 1, 4)]
a: T.let[T.int8x8] = T.reinterpret("int8x8", T.Broadcast(T.reinterpret("int32", a4), 2))
b: T.let[T.int8x8] = B[0, T.Ramp(0, 1, 8)]
d: T.let[T.int8x8] = B[2, T.Ramp(0, 1, 8)]
low: T.let[T.int16x8] = T.call_llvm_pure_intrin("int16x8", "llvm.aarch64.neon.smull.v8i16", a, b)
high: T.let[T.int16x8] = T.call_llvm_pure_intrin("int16x8", "llvm.aarch64.neon.smull.v8i16", a, d)
p: T.let[T.int32x4] = T.call_llvm_pure_intrin("int32x4", "llvm.aarch64.neon.saddlp.v4i32.v8i16", low)
q: T.let[T.int32x4] = T.call_llvm_pure_intrin("int32x4", "llvm.aarch64.neon.saddlp.v4i32.v8i16", high)
sums: T.let[T.int32x4] = T.call_llvm_pure_intrin("int32x4", "llvm.aarch64.neon.addp.v4i32", p, q)
C[T.Ramp(0, 1, 4)] = C[T.Ramp(0, 1, 4)] + sums
"""


def _total(n: int, c: str, to: str) -> str:
    """Statements that add the lanes of `p`, in pairs, to an element."""
    terms = [f"T.Shuffle([p], [{k}])" for k in range(n)]
    lines: list[str] = []
    while len(terms) > 2:
        names = [f"s{len(terms)}_{k}" for k in range(len(terms) // 2)]
        for name, a, b in zip(names, terms[::2], terms[1::2]):
            lines.append(f"{name}: T.let[T.{c}] = {a} + {b}")
        terms = names
    return "\n".join([*lines, f"{to} = {to} + ({terms[0]} + {terms[1]})"])


def _function(text: str, **names: Any) -> Any:
    from ...script import parse

    return parse(text.format(**names))


def _register(name: str, desc: str, impl: str, **names: Any) -> None:
    TensorIntrin.register(name, _function(desc, **names), _function(impl, **names), override=True)


def _lanes(name: str, body: str, a: str, b: str, c: str, n: int, llvm: str = "") -> None:
    body = body.replace("{total}", textwrap.indent(_total(4, c, "C[i]"), "    "))
    impl = LANES_HEAD + textwrap.indent(body.strip(), "        ") + "\n"
    _register(name, LANES, impl, a=a, b=b, c=c, n=n, wide=4 * n, llvm=llvm)


def register_all() -> None:
    """Register the intrinsics of this module."""
    for n in (4, 8):
        names = {"n": n, "a": "float32", "b": "float32", "c": "float32"}
        product = f"A[T.Ramp(0, 1, {n})] * B[T.Ramp(0, 1, {n})]"
        term = "A[vk] * B[vk]"
        total = textwrap.indent(_total(n, "float32", "C[0]"), "        ")
        _register(f"dot_{n}_f32", DOT, DOT_IMPL, **names, term=term, product=product, total=total)
        _register(f"outer_{n}x{n}_f32", OUTER, OUTER_IMPL, m=n, n=n, c="float32")
        _lanes(f"dot_{n}x4_u8i8i32", LANES_PLAIN, "uint8", "int8", "int32", n)
        _lanes(f"dot_{n}x4_i8i8i32", LANES_PLAIN, "int8", "int8", "int32", n)
    _lanes("dot_16x4_vnni", VNNI, "uint8", "int8", "int32", 16)
    _lanes("dot_16x4_i8i8i32_vnni", SIGNED_VNNI, "int8", "int8", "int32", 16)
    _lanes("dot_16x4_avx512", AVX512, "uint8", "int8", "int32", 16)
    _lanes("dot_4x4_i8i8s32_neon", NEON, "int8", "int8", "int32", 4)
    sdot, udot = "llvm.aarch64.neon.sdot.v4i32.v16i8", "llvm.aarch64.neon.udot.v4i32.v16i8"
    _lanes("dot_4x4_i8i8s32_sdot", SDOT, "int8", "int8", "int32", 4, sdot)
    _lanes("dot_4x4_u8u8u32_udot", SDOT, "uint8", "uint8", "uint32", 4, udot)
    _lanes("dot_4x4_u8u8i32_hdot", SDOT, "uint8", "uint8", "int32", 4, udot)
