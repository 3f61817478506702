"""What a program under construction may refer to."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ...dtype import DType
from ...ir import BufferType, Expr, GlobalVar, IntImm, Var


@dataclass(frozen=True, slots=True)
class Scope:
    """Names in scope at one place of a program, and what may stand there.

    `bounds` holds, for integer variables whose values are known, the lowest and highest one.
    `executable` asks for programs that run without an error.
    """

    scalars: tuple[Var, ...] = ()
    buffers: tuple[Var, ...] = ()
    pointers: tuple[Var, ...] = ()
    functions: tuple[tuple[GlobalVar, tuple[DType, ...]], ...] = ()
    bounds: dict[Var, tuple[int, int]] = field(default_factory=dict)
    readonly: frozenset[Var] = frozenset()
    in_loop: bool = False
    in_vector: bool = False
    executable: bool = False
    depth: int = 0

    def with_scalar(self, var: Var, low: int | None = None, high: int | None = None) -> Scope:
        """This scope and one more scalar, perhaps with known bounds."""
        bounds = self.bounds if low is None or high is None else {**self.bounds, var: (low, high)}
        return replace(self, scalars=(*self.scalars, var), bounds=bounds)

    def with_buffer(self, buffer: Var) -> Scope:
        """This scope and one more buffer."""
        return replace(self, buffers=(*self.buffers, buffer))

    def deeper(self, **changes: object) -> Scope:
        """The scope inside one more statement."""
        return replace(self, depth=self.depth + 1, **changes)  # type: ignore[arg-type]

    def scalars_of(self, dtype: DType) -> list[Var]:
        """The scalars of this dtype."""
        return [v for v in self.scalars if v.ty.dtype is dtype]  # type: ignore[attr-defined]

    def buffers_of(self, dtype: DType) -> list[Var]:
        """The buffers whose elements have this dtype."""
        return [b for b in self.buffers if b.dtype is dtype]

    def index_vars(self, extent: Expr) -> list[Var]:
        """Integer variables that are known to be valid indices below this extent."""
        if not isinstance(extent, IntImm):
            return []
        return [
            v
            for v, (low, high) in self.bounds.items()
            if low >= 0 and high < extent.value and v.ty is extent.ty
        ]


def buffer_type(buffer: Var) -> BufferType:
    """The type of a buffer variable."""
    assert isinstance(buffer.ty, BufferType)
    return buffer.ty
