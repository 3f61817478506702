"""Unrolled loops are written out."""

from __future__ import annotations

from typing import Any

from ...ir import AttrStmt, BufferLoad, BufferStore, For, ForKind, IntImm, PrimFunc, Var, const, seq
from ...ir.arith import Analyzer
from ...ir.visitor import Rewriter, walk
from ..common import buffer_type, is_steady, plus, refuse
from ..context import PassContext
from ..loops import copy_body, jumps_out, size_of
from ..registry import prim_func_pass
from .hints import LATER

_KEY = "tirx.UnrollLoop"


@prim_func_pass(_KEY)
def unroll_loop(func: PrimFunc, explicit: bool = True) -> PrimFunc:
    """Loops of kind unrolled are replaced by one copy of the body an iteration.

    One becomes a serial loop where its extent is not constant, and where it is left or continued early
    (which means the same only in a loop).  One whose copies would exceed the limit `max_nodes` of the
    setting `tirx.UnrollLoop` raises PassError.  The other options unroll serial loops as well:
    `auto_max_extent` those of few iterations, `auto_max_step` those that make few stores in all,
    `unroll_local_access` those that walk through local memory; `auto_max_depth` limits how many of
    such loops may stand in each other.  Without `explicit_unroll`, or `explicit`, they are only marked as
    unrolled.
    The attributes `pragma_auto_unroll_max_step` and `pragma_unroll_explicit` set the options of
    their names for a part of a program.

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
    return _Unroll(explicit)(func)


class _Unroll(Rewriter):
    def __init__(self, explicit: bool) -> None:
        super().__init__()
        context = PassContext.current()
        self.max_nodes: int = context.option(_KEY, "max_nodes")
        self.explicit: bool = explicit and context.option(_KEY, "explicit_unroll")
        self.auto_steps: int = context.option(_KEY, "auto_max_step")
        self.auto_depth: int = context.option(_KEY, "auto_max_depth")
        self.auto_extent: int = context.option(_KEY, "auto_max_extent")
        self.local: bool = context.option(_KEY, "unroll_local_access")
        self.ana = Analyzer()
        self.stores = 0
        """How many stores the statements so far make, those of unrolled loops for each iteration."""
        self.depth = 0
        """How many unrolled loops stand in each other below the statements so far."""
        self.plain = False
        """Whether a loop that stays one was among them."""

    def visit_AttrStmt(self, stmt: AttrStmt) -> Any:
        if stmt.attr_key not in LATER or not isinstance(stmt.value, IntImm):
            return self.visit_fields(stmt)
        before = self.auto_steps, self.explicit
        if stmt.attr_key == "pragma_auto_unroll_max_step":
            self.auto_steps = stmt.value.value
        else:
            self.explicit = bool(stmt.value.value)
        body = self.visit(stmt.body)
        self.auto_steps, self.explicit = before
        return body

    def visit_BufferStore(self, stmt: BufferStore) -> Any:
        self.stores += 1
        return stmt

    def visit_For(self, loop: For) -> Any:
        outside = self.stores, self.depth, self.plain
        self.stores, self.depth, self.plain = 0, 0, False
        loop = self.visit_fields(loop)
        count = self._count(loop)
        wanted = loop.kind is ForKind.UNROLLED or self._few(loop, count)
        if wanted and (count is None or not self._possible(loop) or not self._fits(loop, count)):
            wanted = False
            loop = loop.replace(kind=ForKind.SERIAL)
        stores, depth, plain = outside
        if wanted and count is not None:
            self.stores *= count
            self.depth += 1
        else:
            self.plain = True
        self.stores += stores
        self.depth = max(self.depth, depth)
        self.plain = self.plain or plain
        if not wanted or count is None:
            return loop
        if not self.explicit and not count == self.auto_extent == 1:
            return loop.replace(kind=ForKind.UNROLLED) if loop.kind is ForKind.SERIAL else loop
        copies = []
        for k in range(count):
            value = plus(loop.min, const(k, loop.loop_var.dtype))
            copies.append(copy_body(loop.body, loop.loop_var, value, fresh=k > 0))
        return seq(copies)

    def _count(self, loop: For) -> int | None:
        extent = loop.extent
        if loop.kind not in (ForKind.SERIAL, ForKind.UNROLLED):
            return None
        if not isinstance(extent, IntImm) and (self.auto_steps or self.auto_extent or self.local):
            extent = self.ana.simplify(extent)
        return extent.value if isinstance(extent, IntImm) else None

    def _possible(self, loop: For) -> bool:
        return loop.step is None and is_steady(loop.min) and not jumps_out(loop.body)

    def _fits(self, loop: For, count: int) -> bool:
        """Whether the copies stay below the limit. Raises PassError where the program asks for more."""
        size = size_of(loop.body)
        if count <= 1 or count * size <= self.max_nodes:
            return True
        if loop.kind is ForKind.UNROLLED and self.explicit:
            raise refuse(
                "unroll-limit",
                f"the loop `{loop.loop_var.name}` would be {count} copies of {size} nodes, "
                f"more than {self.max_nodes}",
                loop,
                "split it and unroll the inner loop only",
                'or raise the limit: `PassContext(config={"tirx.UnrollLoop": {"max_nodes": ...}})`',
            )
        return False

    def _few(self, loop: For, count: int | None) -> bool:
        """Whether the options ask to write out this serial loop."""
        if count is None or loop.kind is not ForKind.SERIAL:
            return False
        if self.local and _walks_local_memory(loop):
            return True
        if self.plain or self.depth > self.auto_depth:
            return count == self.auto_extent == 1
        return count <= self.auto_extent or 0 < count * max(self.stores, 1) <= self.auto_steps


def _walks_local_memory(loop: For) -> bool:
    """Whether an access of local memory depends on the loop variable."""
    for node in walk(loop.body):
        if isinstance(node, BufferLoad | BufferStore):
            if buffer_type(node.buffer).storage_scope == "local" and _uses(node.indices, loop.loop_var):
                return True
    return False


def _uses(indices: tuple[Any, ...], var: Var) -> bool:
    return any(n is var for i in indices for n in walk(i))
