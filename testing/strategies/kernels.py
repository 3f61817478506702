"""Kernels of every family that default schedules know, with sizes that are numbers or symbols."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ...ir import PrimFunc
from ...script import parse


class Kernel(NamedTuple):
    """Parameters and temporaries as `NAME extent ...`, and loop nests; sizes are the names n, m, k, c."""

    params: tuple[str, ...]
    nests: tuple[str, ...]
    temporaries: tuple[str, ...] = ()


def nest(name: str, axes: str, *body: str, init: str = "") -> str:
    """A block in its loops: axes as `i=n` (independent) or `k~m` (combined over)."""
    parts = axes.split()
    names = [p[0] for p in parts]
    kinds = "".join(["R" if p[1] == "~" else "S" for p in parts])
    loops = ", ".join(["l" + n for n in names])
    lines = [f"for {loops} in T.grid({', '.join(p[2:] for p in parts)}):"]
    lines += [f'    with T.sblock("{name}"):']
    lines += [f'        {", ".join("v" + n for n in names)} = T.axis.remap("{kinds}", [{loops}])']
    if init:
        lines += ["        with T.init():", *["            " + s for s in init.split("; ")]]
    return "\n".join([*lines, *["        " + line for line in body]])


def total(name: str, axes: str, result: str, term: str) -> str:
    """A sum."""
    return nest(name, axes, f"{result} = {result} + {term}", init=f"{result} = ZD")


def product(name: str, axes: str, result: str, left: str, right: str) -> str:
    """A sum of products."""
    return total(name, axes, result, f"T.Cast(DT, {left}) * T.Cast(DT, {right})")


_BEST = (
    "more: T.let[T.bool] = A[vi, vk] > M[vi]",
    "place: T.let[T.int32] = T.Select(more, vk, P[vi])",
    "value: T.let[ET] = T.Select(more, A[vi, vk], M[vi])",
    "P[vi] = place",
    "M[vi] = value",
)
_PAD = "T.if_then_else(vx >= 1 and vx < n + 1, A[vc, vx - 1], ZS)"

KERNELS: Final[dict[str, Kernel]] = {
    "chain": Kernel(
        ("A n m", "V m", "C n m"),
        (
            nest("B", "i=n j=m", "B[vi, vj] = A[vi, vj] + V[vj]"),
            nest("C", "i=n j=m", "C[vi, vj] = T.max(B[vi, vj], ZS)"),
        ),
        ("B n m",),
    ),
    "in place": Kernel(("A n m",), (nest("A", "i=n j=m", "A[vi, vj] = A[vi, vj] * T.Cast(ST, 2)"),)),
    "in place over neighbours": Kernel(
        ("A n m", "V n m"),
        (
            nest("V", "i=n j=m", "V[vi, vj] = A[n - 1 - vi, vj]"),
            nest("A", "i=n j=m", "A[vi, vj] = V[vi, m - 1 - vj]"),
        ),
    ),
    "two results": Kernel(
        ("A n m", "B n m", "C n m"),
        (nest("B", "i=n j=m", "B[vi, vj] = A[vi, vj] + T.Cast(ST, 1)", "C[vi, vj] = A[vi, vj] * A[vi, vj]"),),
    ),
    "transpose": Kernel(("A n m", "C m n"), (nest("C", "i=m j=n", "C[vi, vj] = A[vj, vi]"),)),
    "batch of transposes": Kernel(
        ("A k n m", "C k m n"), (nest("C", "b=k i=m j=n", "C[vb, vi, vj] = A[vb, vj, vi] + T.Cast(ST, 1)"),)
    ),
    "middle axes exchanged": Kernel(
        ("A n k m c", "C n m k c"), (nest("C", "i=n j=m k=k l=c", "C[vi, vj, vk, vl] = A[vi, vk, vj, vl]"),)
    ),
    "gather": Kernel(
        ("A n m", "P k int32", "C k m"),
        (nest("C", "i=k j=m", "C[vi, vj] = A[T.min(T.max(P[vi], 0), n - 1), vj]"),),
    ),
    "row sums": Kernel(("A n k", "C n dst"), (total("C", "i=n k~k", "C[vi]", "T.Cast(DT, A[vi, vk])"),)),
    "rows of two axes": Kernel(
        ("A n k c", "C n dst"), (total("C", "i=n k~k l~c", "C[vi]", "T.Cast(DT, A[vi, vk, vl])"),)
    ),
    "rows under two axes": Kernel(
        ("A n m k", "C n m dst"), (total("C", "i=n j=m k~k", "C[vi, vj]", "T.Cast(DT, A[vi, vj, vk])"),)
    ),
    "whole sum": Kernel(("A n m", "C 1 dst"), (total("C", "o=1 i~n j~m", "C[vo]", "T.Cast(DT, A[vi, vj])"),)),
    "column sums": Kernel(("A k m", "C m dst"), (total("C", "k~k j=m", "C[vj]", "T.Cast(DT, A[vk, vj])"),)),
    "middle sums": Kernel(
        ("A n k m", "C n m dst"), (total("C", "i=n j=m k~k", "C[vi, vj]", "T.Cast(DT, A[vi, vk, vj])"),)
    ),
    "largest": Kernel(
        ("A n k", "C n"),
        (nest("C", "i=n k~k", "C[vi] = T.max(C[vi], A[vi, vk])", init="C[vi] = T.min_value(ST)"),),
    ),
    "first maximum": Kernel(
        ("A n k", "P n int32"),
        (nest("P", "i=n k~k", *_BEST, init="P[vi] = 0; M[vi] = T.min_value(ST)"),),
        ("M n",),
    ),
    "normalised rows": Kernel(
        ("A n k", "C n k dst"),
        (
            total("S", "i=n k~k", "S[vi]", "T.Cast(DT, A[vi, vk])"),
            total("Q", "i=n k~k", "Q[vi]", "T.Cast(DT, A[vi, vk]) * T.Cast(DT, A[vi, vk])"),
            nest("C", "i=n k=k", "C[vi, vk] = T.Cast(DT, A[vi, vk]) * T.Cast(DT, 3) - S[vi] + Q[vi]"),
        ),
        ("S n dst", "Q n dst"),
    ),
    "two sums": Kernel(
        ("A n k", "B n k", "C n dst", "D n dst"),
        (
            total("C", "i=n k~k", "C[vi]", "T.Cast(DT, A[vi, vk])"),
            total("D", "i=n k~k", "D[vi]", "T.Cast(DT, B[vi, vk])"),
        ),
    ),
    "dependent sums": Kernel(
        ("A n k", "C k dst"),
        (
            total("S", "i=n k~k", "S[vi]", "T.Cast(DT, A[vi, vk])"),
            total("C", "k=k i~n", "C[vk]", "S[vi]"),
        ),
        ("S n dst",),
    ),
    "softmax": Kernel(
        ("A n k", "C n k dst"),
        (
            nest("M", "i=n k~k", "M[vi] = T.max(M[vi], A[vi, vk])", init="M[vi] = T.min_value(ST)"),
            nest("E", "i=n k=k", 'E[vi, vk] = T.exp(T.Cast("float32", A[vi, vk] - M[vi]))'),
            nest("S", "i=n k~k", "S[vi] = S[vi] + E[vi, vk]", init="S[vi] = T.float32(0)"),
            nest("C", "i=n k=k", "C[vi, vk] = T.Cast(DT, E[vi, vk] / S[vi] * T.float32(64))"),
        ),
        ("M n", "E n k float32", "S n float32"),
    ),
    "scan": Kernel(
        ("A k m", "C k m"),
        (
            nest(
                "C",
                "k~k j=m",
                "C[vk, vj] = A[vk, vj] + T.if_then_else(vk > 0, C[T.max(vk - 1, 0), vj], ZS)",
            ),
        ),
    ),
    "product": Kernel(
        ("A n k", "B k m", "C n m dst"), (product("C", "i=n j=m k~k", "C[vi, vj]", "A[vi, vk]", "B[vk, vj]"),)
    ),
    "product and epilogue": Kernel(
        ("A n k", "B k m", "V m dst", "D n m dst"),
        (
            product("C", "i=n j=m k~k", "C[vi, vj]", "A[vi, vk]", "B[vk, vj]"),
            nest("E", "i=n j=m", "E[vi, vj] = C[vi, vj] + V[vj]"),
            nest("D", "i=n j=m", "D[vi, vj] = T.max(E[vi, vj], ZD)"),
        ),
        ("C n m dst", "E n m dst"),
    ),
    "product and its sums": Kernel(
        ("A n k", "B k m", "D n dst"),
        (
            product("C", "i=n j=m k~k", "C[vi, vj]", "A[vi, vk]", "B[vk, vj]"),
            total("D", "i=n j~m", "D[vi]", "C[vi, vj]"),
        ),
        ("C n m dst",),
    ),
    "product of A transposed": Kernel(
        ("A k n", "B k m", "C n m dst"), (product("C", "i=n j=m k~k", "C[vi, vj]", "A[vk, vi]", "B[vk, vj]"),)
    ),
    "product of B transposed": Kernel(
        ("A n k", "B m k", "C n m dst"), (product("C", "i=n j=m k~k", "C[vi, vj]", "A[vi, vk]", "B[vj, vk]"),)
    ),
    "product of both transposed": Kernel(
        ("A k n", "B m k", "C n m dst"), (product("C", "k~k j=m i=n", "C[vi, vj]", "A[vk, vi]", "B[vj, vk]"),)
    ),
    "product with unit axes": Kernel(
        ("A 1 n k 1", "B k m", "C 1 n m 1 dst"),
        (product("C", "o=1 i=n j=m u=1 k~k", "C[vo, vi, vj, vu]", "A[vo, vi, vk, vu]", "B[vk, vj]"),),
    ),
    "batch of products": Kernel(
        ("A c n k", "B c k m", "C c n m dst"),
        (product("C", "b=c i=n j=m k~k", "C[vb, vi, vj]", "A[vb, vi, vk]", "B[vb, vk, vj]"),),
    ),
    "batch of two axes": Kernel(
        ("A 2 c n k", "B 2 c m k", "C 2 c n m dst"),
        (product("C", "a=2 b=c i=n j=m k~k", "C[va, vb, vi, vj]", "A[va, vb, vi, vk]", "B[va, vb, vj, vk]"),),
    ),
    "heads in the middle": Kernel(
        ("A n c k", "B m c k", "C c n m dst"),
        (product("C", "b=c i=n j=m k~k", "C[vb, vi, vj]", "A[vi, vb, vk]", "B[vj, vb, vk]"),),
    ),
    "matrix times vector": Kernel(
        ("A n k", "B k", "C n dst"), (product("C", "i=n k~k", "C[vi]", "A[vi, vk]", "B[vk]"),)
    ),
    "vector times matrix": Kernel(
        ("A k", "B k m", "C m dst"), (product("C", "j=m k~k", "C[vj]", "A[vk]", "B[vk, vj]"),)
    ),
    "inner product": Kernel(("A k", "B k", "C 1 dst"), (product("C", "o=1 k~k", "C[vo]", "A[vk]", "B[vk]"),)),
    "outer product": Kernel(("A n", "B m", "C n m"), (nest("C", "i=n j=m", "C[vi, vj] = A[vi] * B[vj]"),)),
    "attention": Kernel(
        ("Q c n 8", "K c m 8", "V c m 16", "O c n 16 dst"),
        (
            product("S", "b=c i=n j=m k~8", "S[vb, vi, vj]", "Q[vb, vi, vk]", "K[vb, vj, vk]"),
            nest(
                "M",
                "b=c i=n j~m",
                "M[vb, vi] = T.max(M[vb, vi], S[vb, vi, vj])",
                init="M[vb, vi] = T.min_value(DT)",
            ),
            nest("E", "b=c i=n j=m", "E[vb, vi, vj] = S[vb, vi, vj] - M[vb, vi]"),
            total("Z", "b=c i=n j~m", "Z[vb, vi]", "E[vb, vi, vj]"),
            nest("N", "b=c i=n j=m", "N[vb, vi, vj] = E[vb, vi, vj] + Z[vb, vi]"),
            product("O", "b=c i=n d=16 j~m", "O[vb, vi, vd]", "N[vb, vi, vj]", "V[vb, vj, vd]"),
        ),
        ("S c n m dst", "M c n dst", "E c n m dst", "Z c n dst", "N c n m dst"),
    ),
    "convolution in one dimension": Kernel(
        ("A c n+2", "W m c 3", "C m n dst"),
        (product("C", "o=m x=n c~c k~3", "C[vo, vx]", "A[vc, vx + vk]", "W[vo, vc, vk]"),),
    ),
    "padded convolution": Kernel(
        ("A c n", "W m c 3", "C m n dst"),
        (
            nest("P", "c=c x=n+2", f"P[vc, vx] = {_PAD}"),
            product("C", "o=m x=n c~c k~3", "C[vo, vx]", "P[vc, vx + vk]", "W[vo, vc, vk]"),
        ),
        ("P c n+2",),
    ),
    "convolution": Kernel(
        ("A 2 c n+2 n+2", "W m c 3 3", "C 2 m n n dst"),
        (
            product(
                "C",
                "b=2 o=m y=n x=n c~c p~3 q~3",
                "C[vb, vo, vy, vx]",
                "A[vb, vc, vy + vp, vx + vq]",
                "W[vo, vc, vp, vq]",
            ),
        ),
    ),
    "strided convolution": Kernel(
        ("A 1 c n*2+1 n*2+1", "W m c 3 3", "C 1 m n n dst"),
        (
            product(
                "C",
                "b=1 o=m y=n x=n c~c p~3 q~3",
                "C[vb, vo, vy, vx]",
                "A[vb, vc, vy * 2 + vp, vx * 2 + vq]",
                "W[vo, vc, vp, vq]",
            ),
        ),
    ),
    "dilated convolution": Kernel(
        ("A 1 c n+4 n+4", "W m c 3 3", "C 1 m n n dst"),
        (
            product(
                "C",
                "b=1 o=m y=n x=n c~c p~3 q~3",
                "C[vb, vo, vy, vx]",
                "A[vb, vc, vy + vp * 2, vx + vq * 2]",
                "W[vo, vc, vp, vq]",
            ),
        ),
    ),
    "convolution of one place": Kernel(
        ("A 1 k n n", "W m k 1 1", "C 1 m n n dst"),
        (
            product(
                "C",
                "b=1 o=m y=n x=n c~k p~1 q~1",
                "C[vb, vo, vy, vx]",
                "A[vb, vc, vy + vp, vx + vq]",
                "W[vo, vc, vp, vq]",
            ),
        ),
    ),
    "convolution with channels last": Kernel(
        ("A 1 n+2 n+2 c", "W 3 3 c m", "C 1 n n m dst"),
        (
            product(
                "C",
                "b=1 y=n x=n o=m p~3 q~3 c~c",
                "C[vb, vy, vx, vo]",
                "A[vb, vy + vp, vx + vq, vc]",
                "W[vp, vq, vc, vo]",
            ),
        ),
    ),
    "grouped convolution": Kernel(
        ("A 1 2 c n+2 n+2", "W 2 m c 3 3", "C 1 2 m n n dst"),
        (
            product(
                "C",
                "b=1 g=2 o=m y=n x=n c~c p~3 q~3",
                "C[vb, vg, vo, vy, vx]",
                "A[vb, vg, vc, vy + vp, vx + vq]",
                "W[vg, vo, vc, vp, vq]",
            ),
        ),
    ),
    "depthwise convolution": Kernel(
        ("A 1 c n n", "W c 1 3 3", "C 1 c n n dst"),
        (
            nest(
                "P",
                "b=1 c=c y=n+2 x=n+2",
                "P[vb, vc, vy, vx] = T.if_then_else(vy >= 1 and vy < n + 1 and vx >= 1 and vx < n + 1, "
                "A[vb, vc, vy - 1, vx - 1], ZS)",
            ),
            product(
                "C",
                "b=1 c=c y=n x=n p~3 q~3",
                "C[vb, vc, vy, vx]",
                "P[vb, vc, vy + vp, vx + vq]",
                "W[vc, 0, vp, vq]",
            ),
        ),
        ("P 1 c n+2 n+2",),
    ),
    "depthwise with channels last": Kernel(
        ("A 1 n+2 n+2 c", "W 3 3 c", "C 1 n n c dst"),
        (
            product(
                "C",
                "b=1 y=n x=n c=c p~3 q~3",
                "C[vb, vy, vx, vc]",
                "A[vb, vy + vp, vx + vq, vc]",
                "W[vp, vq, vc]",
            ),
        ),
    ),
    "largest in windows": Kernel(
        ("A c n*2+1 n*2+1", "C c n n"),
        (
            nest(
                "C",
                "c=c y=n x=n p~3 q~3",
                "C[vc, vy, vx] = T.max(C[vc, vy, vx], A[vc, vy * 2 + vp, vx * 2 + vq])",
                init="C[vc, vy, vx] = T.min_value(ST)",
            ),
        ),
    ),
    "mean of planes": Kernel(
        ("A n c k k", "C n c dst"),
        (total("C", "i=n c=c p~k q~k", "C[vi, vc]", "T.Cast(DT, A[vi, vc, vp, vq])"),),
    ),
}

KINDS: Final[dict[str, tuple[str, str]]] = {
    "float32": ("float32", "float32"),
    "float64": ("float64", "float64"),
    "float16": ("float16", "float16"),
    "float16 to float32": ("float16", "float32"),
    "int8 to int32": ("int8", "int32"),
    "int32": ("int32", "int32"),
}
"""The types of what kernels read and of what they sum up in."""


def kernel_text(name: str, sizes: Mapping[str, int | None], kind: str = "float32") -> str:
    """The text of a kernel; a size that is None is a symbol."""
    one = KERNELS[name]
    src, dst = KINDS[kind]
    lines = []
    for p in (*one.params, *one.temporaries):
        buffer, *rest = p.split()
        dtype = src
        if rest[-1] in ("dst", "int32", "float32"):
            last = rest.pop()
            dtype = dst if last == "dst" else last
        how = f"T.match_buffer(p_{buffer}" if p in one.params else "T.sblock_alloc_buffer("
        how += ", " if p in one.params else ""
        lines.append(f'{buffer} = {how}({", ".join(rest)},), "{dtype}")')
    body = "\n".join([*lines, *one.nests])
    body = body.replace("ZD", f"T.{dst}(0)").replace("ZS", f"T.{src}(0)")
    body = body.replace("DT", f'"{dst}"').replace("ST", f'"{src}"').replace("ET", f"T.{src}")
    head = ", ".join([f"p_{p.split()[0]}: T.handle" for p in one.params])
    symbols = [f"{n} = T.int32()" for n, v in sizes.items() if v is None]
    body = re.sub(r"\b[nmkc]\b", lambda found: _number(sizes[found[0]], found[0]), body)
    lines = ["    " + line for line in [*symbols, *body.splitlines()]]
    return f"@T.prim_func(s_tir=True)\ndef main({head}):\n" + "\n".join(lines) + "\n"


def _number(size: int | None, symbol: str) -> str:
    return symbol if size is None else str(size)


def kernel(name: str, sizes: Mapping[str, int | None], kind: str = "float32") -> PrimFunc:
    """A kernel of the table. Sizes are n, m, k and c, symbols where they are None."""
    made: Any = parse(kernel_text(name, sizes, kind))
    assert isinstance(made, PrimFunc)
    return made
