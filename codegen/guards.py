"""Bounds checks for `build(..., checked=True)`: every index of every access is guarded.

An index `i` becomes the call `codegen.in_bounds(i, extent, buffer name, dimension)`, whose value is `i`
and which back ends turn into a check.  It stays part of the expression through lowering, so an
access that a condition protects is checked only where the condition holds.
"""

from __future__ import annotations

from typing import Any

from ..ir import (
    BufferLoad,
    BufferStore,
    BufferType,
    Call,
    Expr,
    For,
    ForKind,
    IntImm,
    IRModule,
    Op,
    PrimFunc,
    Rewriter,
    StringImm,
    Var,
)
from ..transform.lower import CPU_PIPELINE, Pipeline, check_sizes

IN_BOUNDS = "codegen.in_bounds"


def lower_checked(mod: IRModule, pipeline: Pipeline | None = None) -> IRModule:
    """The module in lowered form with a check at every access of a buffer; vectorized loops are serial.

    The checks come before accesses are flattened, or last where no pass of the `pipeline` does that.

    Raises PassError as `lower` does.
    """
    for func in mod.functions.values():
        if isinstance(func, PrimFunc):
            check_sizes(func)
    passes = list(CPU_PIPELINE if pipeline is None else pipeline)
    names = [getattr(one, "name", "") for one in passes]
    place = names.index("tirx.FlattenBuffer") if "tirx.FlattenBuffer" in names else len(names)
    passes.insert(place, lambda module: module.map_prim_funcs(lambda f: _Guards()(f)))
    for one in passes:
        mod = one(mod)
    return mod


class _Guards(Rewriter):
    def visit_For(self, s: For) -> Any:
        made = self.visit_fields(s)
        return made.replace(kind=ForKind.SERIAL) if made.kind is ForKind.VECTORIZED else made

    def visit_Call(self, e: Call) -> Any:
        if isinstance(e.op, Op) and e.op.name == "tirx.address_of":
            return e  # the address after the last element is no access
        return self.visit_fields(e)

    def visit_BufferLoad(self, e: BufferLoad) -> Any:
        made = self.visit_fields(e)
        return made.replace(indices=_guarded(made.buffer, made.indices))

    def visit_BufferStore(self, s: BufferStore) -> Any:
        made = self.visit_fields(s)
        return made.replace(indices=_guarded(made.buffer, made.indices))


def _guarded(buffer: Var, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
    ty = buffer.ty
    assert isinstance(ty, BufferType)
    out: list[Expr] = []
    for k, (index, extent) in enumerate(zip(indices, ty.shape)):
        constant = isinstance(index, IntImm) and isinstance(extent, IntImm)
        if constant and 0 <= index.value < extent.value:  # type: ignore[attr-defined]
            out.append(index)
        else:
            where = (StringImm(buffer.name), IntImm("int32", k))
            out.append(Call(IN_BOUNDS, (index, extent, *where), index.ty, span=index.span))
    return tuple(out)
