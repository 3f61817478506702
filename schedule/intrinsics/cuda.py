"""Tensor intrinsics of CUDA: the names, and what makes them when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, TypeAlias

from . import mma, mma_small, wmma
from .fragments import INPUTS, OUTPUTS, Element
from .text import Pair

Maker: TypeAlias = Callable[[], Pair]

_SHARED: Final = (("shared", ""), ("shared.dyn", "_dyn"))
_STORED: Final = (("shared", "shared"), ("shared.dyn", "shared_dyn"), ("global", "global"))
_WMMA: Final = (("f16", ("f16", "f32")), ("bf16", ("f32",)), ("i8", ("i32",)))
_SUMS: Final = {
    "f16": ("f16", "f32"),
    "i8": ("i32",),
    **dict.fromkeys(("bf16", "tf32", "e4m3", "e5m2"), ("f32",)),
}
"""What sums the instructions keep of products of a type."""


def makers() -> dict[str, Maker]:
    """Every intrinsic by its name."""
    return {
        name: maker
        for part in (_wmma(), _wmma_int4(), _mma_loads(), _mma(), _mma_small())
        for name, maker in part
    }


def load_name(e: Element, is_b: bool, transposed: bool, scope: str) -> str:
    """The intrinsic that loads an operand for `mma`."""
    return f"mma_ldmatrix_{e.short}_{'b' if is_b else 'a'}{'_trans' * transposed}{dict(_SHARED)[scope]}"


def sync_name(a: Element, c: Element, a_transposed: bool, b_transposed: bool) -> str:
    """The intrinsic that multiplies operands loaded for `mma`."""
    return f"mma_{a.short}{a.short}{c.short}{'_trans_a' * a_transposed}{'_trans_b' * b_transposed}"


def has_sum(a: Element, c: Element) -> bool:
    """Whether `mma` adds products of the one type to the other."""
    return c.short in _SUMS[a.short]


def _wmma() -> Iterator[tuple[str, Maker]]:
    """The names of WMMA on 16 by 16 by 16."""
    shape, outputs = wmma.CUBE, set()
    for short, sums in _WMMA:
        a = INPUTS[short]
        spelled = a.scalar
        for matrix in "ab":
            for transposed, trans in ((False, ""), (True, "_trans")):
                for scope, tail in _SHARED:
                    name = f"wmma_load_{shape}_{spelled}_{matrix}{trans}_shared{tail}"
                    yield name, partial(wmma.load, shape, a.dtype, scope, matrix == "b", transposed)
        for out in sums:
            c = OUTPUTS[out]
            outputs.add(c)
            for transposed, trans in ((False, ""), (True, "_trans")):
                name = f"wmma_sync_{shape}_{spelled}{spelled}{c.scalar}{trans}"
                yield name, partial(wmma.sync, shape, a.dtype, c.dtype, transposed)
    for c in outputs:
        yield f"wmma_fill_{shape}_{c.scalar}", partial(wmma.fill, shape, c.dtype)
        for scope, tail in _STORED:
            yield f"wmma_store_{shape}_{c.scalar}_{tail}", partial(wmma.store, shape, c.dtype, scope)


def _wmma_int4() -> Iterator[tuple[str, Maker]]:
    """The names of WMMA on four-bit integers."""
    shape = wmma.INT4
    for scope, tail in _SHARED:
        yield f"wmma_load_{shape}_s4_a_shared{tail}", partial(wmma.load, shape, "int4", scope, False, False)
        yield (
            f"wmma_load_{shape}_s4_b_trans_shared{tail}",
            partial(wmma.load, shape, "int4", scope, True, True),
        )
    yield f"wmma_sync_{shape}_s4s4s32_trans", partial(wmma.sync, shape, "int4", "int32", True)
    yield f"wmma_fill_{shape}_s32", partial(wmma.fill, shape, "int32")
    for scope, tail in _STORED:
        yield f"wmma_store_{shape}_s32_{tail}", partial(wmma.store, shape, "int32", scope)


def _mma_loads() -> Iterator[tuple[str, Maker]]:
    """The names of `ldmatrix`."""
    for e in INPUTS.values():
        for is_b, transposed in ((False, False), (False, True), (True, False), (True, True)):
            for scope, _ in _SHARED:
                yield load_name(e, is_b, transposed, scope), partial(mma.ldmatrix, e, is_b, transposed, scope)


def _mma() -> Iterator[tuple[str, Maker]]:
    """The names of `mma.sync`, and of what fills and stores its results."""
    for short, sums in _SUMS.items():
        a = INPUTS[short]
        for out in sums:
            for a_transposed in (False, True):
                for b_transposed in (False, True):
                    name = sync_name(a, OUTPUTS[out], a_transposed, b_transposed)
                    yield name, partial(mma.sync, a, OUTPUTS[out], a_transposed, b_transposed)
    for c in OUTPUTS.values():
        yield f"mma_fill_16x16_{c.short}", partial(mma.fill, c)
        for scope, tail in _STORED:
            for simple in ("", "simple_"):
                yield f"mma_store_16x16_{c.short}_{tail}_{simple}", partial(mma.store, c, scope)


def _mma_small() -> Iterator[tuple[str, Maker]]:
    """The names of `mma.sync` on 16 by 8 by 8."""
    shape, tail, half = (16, 8, 8), "m16n8k8", "float16"
    for out in ("f16", "f32"):
        c = OUTPUTS[out]
        yield f"mma_init_{tail}_{out}", partial(mma_small.init, shape, c.dtype)
        yield f"mma_sync_{tail}_f16f16{out}", partial(mma_small.sync, shape, half, c.dtype, False)
        # the peer's name of what stores to shared memory
        yield f"mma_store_{tail}_{out}_global", partial(mma_small.store, shape, c.dtype, "shared.dyn")
    for is_b, name in ((False, "A"), (True, "B")):
        yield (
            f"mma_load_{tail}_f16_{name}_shared_dyn",
            partial(mma_small.load, shape, half, "shared.dyn", is_b, False),
        )


__all__ = ["has_sum", "load_name", "makers", "sync_name"]
