"""What a rule sees of a block: its axes, the loops that bind them, what it reads and writes."""

from __future__ import annotations

from typing import NamedTuple

from ...ir import BufferLoad, BufferStore, Expr, For, ForKind, IntImm, IterVar, SBlock, Var, walk
from ...ir.analysis.blocks import affine_binding_reason, complete_or_reduction_reason, is_spatial
from ...ir.stmt import SBlockRealize
from ..handles import SBlockRV
from ..schedule import Schedule


class Facts(NamedTuple):
    """A block with the loops around it, outer ones first; each loop binds one axis (`axis_of`)."""

    rv: SBlockRV
    realize: SBlockRealize
    loops: tuple[For, ...]

    @property
    def block(self) -> SBlock:
        """The block itself."""
        return self.realize.block

    @property
    def spatial(self) -> tuple[IterVar, ...]:
        """The axes whose iterations are independent."""
        return tuple([v for v in self.block.iter_vars if is_spatial(v)])

    @property
    def reduced(self) -> tuple[IterVar, ...]:
        """The other axes."""
        return tuple([v for v in self.block.iter_vars if not is_spatial(v)])

    @property
    def is_reduction(self) -> bool:
        """Whether it has an initialiser and axes that it combines over."""
        return self.block.init is not None and bool(self.reduced)

    @property
    def store(self) -> BufferStore | None:
        """The body, where it is one store."""
        body = self.block.body
        return body if isinstance(body, BufferStore) else None

    def loop_of(self, axis: Var) -> For | None:
        """The loop that alone binds this axis; None where the binding is more than a loop's variable."""
        for iv, value in zip(self.block.iter_vars, self.realize.iter_values):
            if iv.var is axis:
                found = [n for n in self.loops if n.loop_var is value]
                return found[0] if found else None
        return None

    def size(self, axis: Var) -> int | None:
        """How far the axis runs; None where that is known at run time only."""
        dom = next(v.dom for v in self.block.iter_vars if v.var is axis)
        return None if dom is None else extent(dom.extent)

    def axis_of(self, loop_var: Var) -> Var | None:
        """The axis whose value this loop's variable alone is; None where there is no such axis."""
        for iv, value in zip(self.block.iter_vars, self.realize.iter_values):
            if value is loop_var:
                return iv.var
        return None

    def accesses(self) -> list[BufferLoad | BufferStore]:
        """Every read and write of the body."""
        return [n for n in walk(self.block.body) if isinstance(n, BufferLoad | BufferStore)]

    def loads(self) -> list[BufferLoad]:
        """Every read of the body, its own result included."""
        return [n for n in walk(self.block.body) if isinstance(n, BufferLoad)]


def facts(sch: Schedule, rv: SBlockRV) -> Facts:
    """The block with this handle as it stands now."""
    state = sch.state
    return Facts(rv, state.realize(rv), tuple(state.loops(rv)))


def is_plain(sch: Schedule, found: Facts) -> bool:
    """Whether primitives can take the block apart: bound affinely, complete or a reduction, serial loops."""
    scope = sch.state.scope_around(found.rv)
    return (
        affine_binding_reason(found.realize, found.loops) is None
        and complete_or_reduction_reason(scope, found.rv.target) is None
        and all(isinstance(n.min, IntImm) and n.min.value == 0 for n in found.loops)
    )


def is_untouched(found: Facts) -> bool:
    """Whether no rule has chosen loops for the block: each is serial and alone binds an axis."""
    return all(n.kind is ForKind.SERIAL and found.axis_of(n.loop_var) is not None for n in found.loops)


def extent(e: Expr) -> int | None:
    """The number, where it is one."""
    return e.value if isinstance(e, IntImm) else None


def extents(loops: tuple[For, ...]) -> list[int | None]:
    """The extents of loops; None for those known at run time only."""
    return [extent(n.extent) for n in loops]


def uses(e: Expr, var: Var) -> bool:
    """Whether the expression mentions the variable."""
    return any(n is var for n in walk(e))


__all__ = ["Facts", "extent", "extents", "facts", "is_plain", "is_untouched", "uses"]
