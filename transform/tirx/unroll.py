"""Unrolled loops are written out."""

from __future__ import annotations

from typing import Any

from ...ir import BufferStore, For, ForKind, IntImm, PrimFunc, const, seq
from ...ir.visitor import Rewriter, walk
from ..common import is_steady, plus
from ..context import PassContext
from ..loops import copy_body, jumps_out, size_of
from ..registry import prim_func_pass

MAX_NODES = 20_000
"""How many nodes writing out one loop may give; a longer one stays a loop."""


@prim_func_pass("tirx.UnrollLoop")
def unroll_loop(func: PrimFunc) -> PrimFunc:
    """Loops of kind unrolled are replaced by one copy of the body an iteration.

    One stays a serial loop where its extent is not constant, where it is left or continued early
    (which means the same only in a loop), and where the copies would exceed the limit `max_nodes`
    of the setting `tirx.UnrollLoop`.  Its `auto_max_step` and `auto_max_extent` unroll serial
    loops of few steps as well.

    before:
        @T.prim_func
        def f(A: T.Buffer((8,), "int32")):
            for i in T.unroll(2):
                A[i + 1] = i

    after:
        @T.prim_func
        def f(A: T.Buffer((8,), "int32")):
            A[T.Add(0, 1)] = 0
            A[T.Add(1, 1)] = 1
    """
    return _Unroll()(func)


class _Unroll(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        options = PassContext.current().get("tirx.UnrollLoop")
        self.max_nodes = int(options.get("max_nodes", MAX_NODES))
        self.explicit = bool(options.get("explicit_unroll", True))
        self.auto_step = int(options.get("auto_max_step", 0))
        self.auto_extent = int(options.get("auto_max_extent", 0))

    def visit_For(self, loop: For) -> Any:
        loop = self.visit_fields(loop)
        wanted = loop.kind is ForKind.UNROLLED and self.explicit
        if loop.kind is ForKind.SERIAL and isinstance(loop.extent, IntImm):
            wanted = self._few(loop, loop.extent.value)
        if loop.kind is not ForKind.UNROLLED and not wanted:
            return loop
        if (
            not wanted
            or not isinstance(loop.extent, IntImm)
            or loop.step is not None
            or not is_steady(loop.min)
        ):
            return loop.replace(kind=ForKind.SERIAL)
        if jumps_out(loop.body):
            return loop.replace(kind=ForKind.SERIAL)
        count = loop.extent.value
        if count > 1 and count * size_of(loop.body) > self.max_nodes:
            return loop.replace(kind=ForKind.SERIAL)
        copies = []
        for k in range(count):
            value = plus(loop.min, const(k, loop.loop_var.dtype))
            copies.append(copy_body(loop.body, loop.loop_var, value, fresh=k > 0))
        return seq(copies)

    def _few(self, loop: For, extent: int) -> bool:
        """Whether the settings ask to write out this serial loop."""
        if extent <= self.auto_extent:
            return True
        return self.auto_step > 0 and extent * max(_steps(loop), 1) <= self.auto_step


def _steps(loop: For) -> int:
    """How many stores one iteration makes."""
    return sum([1 for n in walk(loop.body) if isinstance(n, BufferStore)])
