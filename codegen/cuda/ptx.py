"""Rules for instructions that only PTX has: asynchronous copies, `ldmatrix`, `mma.sync`.

Each is a small device function that holds the assembly; the simulator's reference code stands in its place
where `LW_CUDA_SIM` is defined.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ...ir import Call, Expr, PointerType, PrimType, StringImm
from ..c_like import arith
from ..c_like.rules import Rule, into, operator
from ..c_like.stmt import Statements
from ..c_like.text import SUM, Lanes, Term, call, convert, infix

RULES: dict[str, Rule] = {}
rule = into(RULES)


def assembly(m: Statements, name: str, params: str, simulated: str, *body: str) -> str:
    """The name of a device function of assembly; `simulated` is what it does in the simulator."""
    lines = ["#ifdef LW_CUDA_SIM", f"  {simulated};", "#else", *[f"  {line}" for line in body], "#endif"]
    text = "\n".join([f"static __device__ __forceinline__ void {name}({params}) {{", *lines, "}"])
    return m.unit.part(name, text)


def moved(m: Statements, pointer: Expr, offset: Expr, kind: str | None = None) -> Term:
    """A pointer moved by elements, of its own kind or of another cell."""
    base, steps = m.value(pointer), m.index(offset)
    if kind is not None:
        own = pointer.ty.element_type if isinstance(pointer.ty, PointerType) else None
        if m.cell_of(own) != kind:
            base = convert(f"{kind}*", base)
    return base if steps.text == "0" else infix(base, "+", steps, SUM)


def needs(m: Statements, e: Call, arch: int) -> None:
    """Refuse an operator that older devices do not have."""
    have = getattr(m.dialect, "arch", 0)
    if have < arch:
        raise m.refuse(
            f"`{operator(e)}` on `sm_{have}`", e, f"it needs a target of `-arch=sm_{arch}` or newer"
        )


# Asynchronous copies


@rule("s_tir.cp_async_raw")
def _cp_async(m: Statements, e: Call) -> Lanes:
    needs(m, e, 80)
    size = arith.constant(e.args[4])
    if size not in (4, 8, 16):
        raise m.refuse(f"`{operator(e)}` of a number of bytes that is not 4, 8 or 16", e)
    kind = m.unit.cell(e.dtype)
    target, source = moved(m, e.args[0], e.args[1], kind), moved(m, e.args[2], e.args[3], kind)
    how = ".cg.shared.global.L2::128B" if size == 16 else ".ca.shared.global"
    address = "const unsigned int place = (unsigned int)__cvta_generic_to_shared(shared);"
    if len(e.args) == 5:
        text = f'asm volatile("cp.async{how} [%0], [%1], {size};" :: "r"(place), "l"(global) : "memory");'
        params, simulated = (
            "void* shared, const void* global",
            f"lw_sim_cp_async(shared, global, {size}, {size})",
        )
        return [call(assembly(m, f"lw_cp_async_{size}", params, simulated, address, text), target, source)]
    text = (
        f'asm volatile("cp.async{how} [%0], [%1], {size}, %2;" '
        f':: "r"(place), "l"(global), "r"(wanted ? {size} : 0) : "memory");'
    )
    params = "void* shared, const void* global, bool wanted"
    simulated = f"lw_sim_cp_async(shared, global, {size}, wanted ? {size} : 0)"
    name = assembly(m, f"lw_cp_async_{size}_if", params, simulated, address, text)
    return [call(name, target, source, m.value(e.args[5]))]


@rule("ptx.cp_async_commit_group")
def _commit(m: Statements, e: Call) -> Lanes:
    needs(m, e, 80)
    text = 'asm volatile("cp.async.commit_group;" ::: "memory");'
    return [call(assembly(m, "lw_cp_async_commit", "", "lw_sim_cp_async_commit()", text))]


@rule("ptx.cp_async_wait_group")
def _wait(m: Statements, e: Call) -> Lanes:
    needs(m, e, 80)
    count = arith.constant(e.args[0])
    if count is None or count < 0:
        raise m.refuse(f"`{operator(e)}` of a number that is not constant", e)
    text = f'asm volatile("cp.async.wait_group {count};" ::: "memory");'
    return [call(assembly(m, f"lw_cp_async_wait_{count}", "", f"lw_sim_cp_async_wait({count})", text))]


# Barriers that only PTX has


@rule("cuda.warpgroup_sync")
def _warpgroup_sync(m: Statements, e: Call) -> Lanes:
    text = 'asm volatile("bar.sync %0, 128;" :: "r"(number) : "memory");'
    return [call(only_here(m, e, "lw_warpgroup_sync", "int number", text), m.value(e.args[0]))]


@rule("cuda.cluster_sync")
def _cluster_sync(m: Statements, e: Call) -> Lanes:
    needs(m, e, 90)
    text = 'asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");'
    return [call(only_here(m, e, "lw_cluster_sync", "", text))]


def only_here(m: Statements, e: Call, name: str, params: str, text: str) -> str:
    """The name of a device function of assembly that the simulator has no code for."""
    if m.dialect.target.kind == "cuda-sim":
        raise m.refuse(f"`{operator(e)}` in the simulator", e)
    return m.unit.helper(name, "void", params, text)


# Tensor cores


@rule("ptx_legacy.ldmatrix")
def _ldmatrix(m: Statements, e: Call) -> Lanes:
    needs(m, e, 75)
    transposed, number = arith.constant(e.args[0]), arith.constant(e.args[1])
    kind = e.args[2].value if isinstance(e.args[2], StringImm) else ""
    if number not in (1, 2, 4) or transposed is None or kind != ".b16":
        raise m.refuse(f"`{operator(e)}` other than of 1, 2 or 4 matrices of `.b16`", e)
    target, source = moved(m, e.args[3], e.args[4]), moved(m, e.args[5], e.args[6])
    registers = ", ".join([f"%{k}" for k in range(number)])
    outputs = ", ".join([f'"=r"(r[{k}])' for k in range(number)])
    how = f"x{number}{'.trans' if transposed else ''}"
    name = assembly(
        m,
        f"lw_ldmatrix_x{number}{'_trans' if transposed else ''}",
        "void* registers, const void* row",
        f"lw_sim_ldmatrix(registers, row, {number}, {'true' if transposed else 'false'})",
        "unsigned int* r = (unsigned int*)registers;",
        "const unsigned int place = (unsigned int)__cvta_generic_to_shared(row);",
        f'asm volatile("ldmatrix.sync.aligned.m8n8.{how}.shared.b16 {{{registers}}}, [%{number}];" '
        f': {outputs} : "r"(place) : "memory");',
    )
    return [call(name, target, source)]


class _Element(NamedTuple):
    """An element type of `mma`: as PTX spells it, and its bits."""

    ptx: str
    bits: int


_ELEMENTS = {
    "fp16": _Element("f16", 16),
    "bf16": _Element("bf16", 16),
    "tf32": _Element("tf32", 32),
    "fp32": _Element("f32", 32),
    "fp64": _Element("f64", 64),
    "int32": _Element("s32", 32),
    "int8": _Element("s8", 8),
    "uint8": _Element("u8", 8),
    "int4": _Element("s4", 4),
    "uint4": _Element("u4", 4),
    "int1": _Element("b1", 1),
    "uint1": _Element("b1", 1),
    "e4m3": _Element("e4m3", 8),
    "e5m2": _Element("e5m2", 8),
}
_LONG = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64", "float8_e4m3fn": "e4m3"}
_LONG |= {"float8_e5m2": "e5m2"}
_SHAPES = {
    "f16": {"m16n8k8": 75, "m16n8k16": 80},
    "bf16": {"m16n8k8": 80, "m16n8k16": 80},
    "tf32": {"m16n8k4": 80, "m16n8k8": 80},
    "f64": {"m8n8k4": 80},
    **{k: {"m8n8k16": 75, "m16n8k16": 80, "m16n8k32": 80} for k in ("s8", "u8")},
    **{k: {"m8n8k32": 75, "m16n8k32": 80, "m16n8k64": 80} for k in ("s4", "u4")},
    **{k: {"m16n8k32": 89} for k in ("e4m3", "e5m2")},
    "b1": {"m8n8k128": 75, "m16n8k128": 80, "m16n8k256": 80},
}
"""The shapes that an element type has, with the first device that has them."""


@rule("ptx_legacy.mma")
def _mma(m: Statements, e: Call) -> Lanes:
    words = [a.value if isinstance(a, StringImm) else "" for a in e.args[:6]]
    shape, layouts, kinds = words[0], words[1:3], [_LONG.get(w, w) for w in words[3:]]
    elements = [_ELEMENTS.get(k) for k in kinds]
    a, b, c = elements
    known = a is not None and b is not None and c is not None
    arch = _SHAPES.get(a.ptx, {}).get(shape) if known else None  # type: ignore[union-attr]
    if arch is None or layouts != ["row", "col"]:
        raise m.refuse(f"`{operator(e)}` of `{' '.join(words)}`", e)
    needs(m, e, arch)
    assert a is not None and b is not None and c is not None
    for pointer, element in ((e.args[6], a), (e.args[8], b)):
        own = getattr(pointer.ty, "element_type", None)
        if element.bits < 8 and isinstance(own, PrimType) and 0 < own.dtype.bits < 8:
            help = "give pointers to integers of 32 bits that are packed"
            raise m.refuse(f"`{operator(e)}` of elements of a byte each as `{element.ptx}`", e, help)
    saturate = bool(arith.constant(e.args[12]))
    bitwise = e.args[13].value if len(e.args) > 13 and isinstance(e.args[13], StringImm) else ""
    name = _mma_function(m, shape, a, b, c, saturate, bitwise or "xor")
    parts = [moved(m, e.args[k], e.args[k + 1]) for k in (6, 8, 10)]
    return [call(name, parts[2], parts[0], parts[1], parts[2])]


def _mma_function(
    m: Statements, shape: str, a: _Element, b: _Element, c: _Element, saturate: bool, how: str
) -> str:
    """The device function of one form of the instruction: `d = a * b + c`, each a pointer to registers."""
    rows, columns, depth = map(int, re.findall(r"\d+", shape))
    counts = [
        rows * depth * a.bits // 1024,
        columns * depth * b.bits // 1024,
        rows * columns * c.bits // 1024,
    ]
    if a.bits == 64:
        counts = [1, 1, 2]
    name = (
        f"lw_mma_{shape}_{a.ptx}_{b.ptx}_{c.ptx}"
        + ("_sat" if saturate else "")
        + (f"_{how}" if a.bits == 1 else "")
    )
    word = ("unsigned int", "r") if a.bits < 64 else ("double", "d")
    result = {
        "f32": ("float", "f"),
        "f64": ("double", "d"),
        "s32": ("int", "r"),
        "f16": ("unsigned int", "r"),
    }[c.ptx]
    groups, at = [], 0
    for count in (counts[2], *counts):
        groups.append("{" + ", ".join([f"%{at + k}" for k in range(count)]) + "}")
        at += count
    outputs = ", ".join([f'"={result[1]}"(rd[{k}])' for k in range(counts[2])])
    inputs = [f'"{word[1]}"({r}[{k}])' for r, n in (("ra", counts[0]), ("rb", counts[1])) for k in range(n)]
    inputs += [f'"{result[1]}"(rc[{k}])' for k in range(counts[2])]
    satfinite = ".satfinite" if saturate and c.ptx == "s32" else ""
    tail = f".{how}.popc" if a.bits == 1 else ""
    instruction = f"mma.sync.aligned.{shape}.row.col{satfinite}.{c.ptx}.{a.ptx}.{b.ptx}.{c.ptx}{tail}"
    return assembly(
        m,
        name,
        "void* d, const void* a, const void* b, const void* c",
        f'lw_sim_mma("{shape}", "{a.ptx}", "{b.ptx}", "{c.ptx}", d, a, b, c)',
        f"{result[0]}* rd = ({result[0]}*)d;",
        f"const {word[0]} *ra = (const {word[0]}*)a, *rb = (const {word[0]}*)b;",
        f"const {result[0]}* rc = (const {result[0]}*)c;",
        f'asm volatile("{instruction} {", ".join(groups)};"',
        f"  : {outputs}",
        f"  : {', '.join(inputs)});",
    )
