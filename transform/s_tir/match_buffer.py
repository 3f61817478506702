"""Views of a region become accesses of the buffer that they view."""

from __future__ import annotations

from typing import Any

from ...ir import (
    BufferLoad,
    BufferRegion,
    BufferStore,
    Call,
    Expr,
    MatchBufferRegion,
    Op,
    PointerType,
    PrimFunc,
    PrimType,
    Range,
    SBlock,
    Stmt,
    Var,
    const,
    seq,
)
from ...ir.arith import Analyzer
from ...ir.text import text
from ...ir.visitor import Rewriter, symbol_vars
from ..common import buffer_type, cast_to, named, plus, refuse, widened
from ..registry import prim_func_pass
from ..strides import linear_offset, strides_of


@prim_func_pass("s_tir.LowerMatchBuffer")
def lower_match_buffer(func: PrimFunc) -> PrimFunc:
    """A view made by `T.match_buffer` of a region is replaced by its source, indices shifted.

    Symbols for the strides and the offset of a view stand for those of its region.

    before:
        @T.prim_func(s_tir=True)
        def f(A: T.Buffer((16, 16), "float32")):
            for i in range(4):
                with T.sblock("b"):
                    T.reads()
                    T.writes(A[i * 4:i * 4 + 4, 0:16])
                    B = T.match_buffer(A[i * 4:i * 4 + 4, 0:16], (4, 16))
                    B[1, 2] = T.float32(1)

    after:
        @T.prim_func(s_tir=True)
        def f(A: T.Buffer((16, 16), "float32")):
            for i in range(4):
                with T.sblock("b"):
                    T.reads()
                    T.writes(A[i * 4:i * 4 + 4, 0:16])
                    A[i * 4 + 1, 2] = T.float32(1)
    """
    return _Views()(func)


class _Views(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        self.ana = Analyzer()
        self.views: dict[Var, BufferRegion] = {}
        self.known: set[Var] = set()

    def define(self, var: Var) -> Var:
        self.known.add(var)
        self.known.update(symbol_vars(var))
        return super().define(var)

    def visit_SBlock(self, block: SBlock) -> Any:
        if not block.match_buffers:
            return self.visit_fields(block)
        bound: list[Stmt] = []
        for match in block.match_buffers:
            source = self.visit(match.source)
            self._check(match, source)
            ranges = []
            for r in source.region:
                more, low = named(r.min, f"{match.buffer.name}_start")
                bound += more
                ranges.append(Range(low, r.extent))
            if bound:
                source = BufferRegion(source.buffer, ranges, source.span)
            self.views[match.buffer] = source
            bound += self._symbols(match, source)
        new = self.visit_fields(block.replace(match_buffers=()))
        if not bound:
            return new
        # the initialiser runs in the block too, so it sees the names as well
        init = None if new.init is None else seq([*bound, new.init])
        return new.replace(body=seq([*bound, new.body]), init=init)

    def _check(self, match: MatchBufferRegion, source: BufferRegion) -> None:
        view = buffer_type(match.buffer)
        lead = len(source.region) - len(view.shape)
        if view.dtype is not source.buffer.dtype:
            raise refuse(
                "match-buffer",
                f"the view `{match.buffer.name}` has dtype `{view.dtype}`, "
                f"`{source.buffer.name}` has `{source.buffer.dtype}`",
                match,
            )
        if lead < 0:
            raise refuse(
                "match-buffer",
                f"the view `{match.buffer.name}` of `{source.buffer.name}` has more dimensions than that",
                match,
            )
        for r in source.region[:lead]:
            if not self.ana.can_prove_equal(r.extent, const(1, r.extent.dtype)):
                raise refuse(
                    "match-buffer",
                    f"the view `{match.buffer.name}` leaves out a dimension of `{source.buffer.name}` "
                    "that is longer than 1",
                    match,
                )

    def _symbols(self, match: MatchBufferRegion, source: BufferRegion) -> list[Stmt]:
        """Give what the view's type names for the first time its value: strides, offset and sizes.

        The result binds those that are read from memory.  Raises PassError where the type says
        something else than the region.
        """
        view = buffer_type(match.buffer)
        lead = len(source.region) - len(view.shape)
        pairs: list[tuple[Expr, Expr]] = []
        pairs += zip(view.strides, strides_of(source.buffer)[lead:])
        if view.elem_offset is not None:
            pairs.append((view.elem_offset, linear_offset(source.buffer, [r.min for r in source.region])))
        pairs += zip(view.shape, [r.extent for r in source.region[lead:]])
        bound: list[Stmt] = []
        for wanted, value in pairs:
            if isinstance(wanted, Var) and wanted not in self.known and wanted not in self.vars:
                more, name = named(value, wanted.name)
                bound += more
                self.vars[wanted] = cast_to(name, wanted.ty)
            elif not self._agree(self.visit(wanted), value):
                raise refuse(
                    "match-buffer",
                    f"the view `{match.buffer.name}` has `{text(wanted)}` in its type where the region of "
                    f"`{source.buffer.name}` has `{text(value)}`",
                    match,
                )
        return bound

    def _agree(self, wanted: Expr, value: Expr) -> bool:
        return wanted is value or self.ana.can_prove_equal(*widened(wanted, value))

    def _indices(self, view: Var, indices: tuple[Expr, ...]) -> tuple[Var, list[Expr]]:
        source = self.views[view]
        lead = len(source.region) - len(indices)
        head = [r.min for r in source.region[:lead]]
        return source.buffer, head + [plus(r.min, i) for i, r in zip(indices, source.region[lead:])]

    def visit_BufferLoad(self, load: BufferLoad) -> Any:
        if load.buffer not in self.views:
            return self.visit_fields(load)
        buffer, indices = self._indices(load.buffer, self.visit_tuple(load.indices))
        return BufferLoad(buffer, indices, load.span)

    def visit_BufferStore(self, store: BufferStore) -> Any:
        if store.buffer not in self.views:
            return self.visit_fields(store)
        buffer, indices = self._indices(store.buffer, self.visit_tuple(store.indices))
        return BufferStore(buffer, self.visit(store.value), indices, store.span)

    def visit_BufferRegion(self, region: BufferRegion) -> Any:
        if region.buffer not in self.views:
            return self.visit_fields(region)
        buffer, mins = self._indices(region.buffer, tuple([self.visit(r.min) for r in region.region]))
        lead = len(mins) - len(region.region)
        extents = [const(1, m.dtype) for m in mins[:lead]] + [self.visit(r.extent) for r in region.region]
        return BufferRegion(buffer, [Range(*widened(m, e)) for m, e in zip(mins, extents)], region.span)

    def visit_Call(self, call: Call) -> Any:
        name = call.op.name if isinstance(call.op, Op) else ""
        if name == "tirx.buffer_data" and call.args and call.args[0] in self.views:
            return self._pointer(call)
        if name in ("tirx.masked_load", "tirx.masked_store") and call.args[0] in self.views:
            return self._masked(call, 1 if name == "tirx.masked_load" else 2)
        return self.visit_fields(call)

    def _pointer(self, call: Call) -> Expr:
        view = call.args[0]
        assert isinstance(view, Var)
        source = self.views[view]
        if buffer_type(view).elem_offset is not None:
            # pointers to such a view are offset by its users
            return Call(call.op, (source.buffer,), call.ty, call.attrs, call.ty_args, call.span)
        ty = buffer_type(source.buffer)
        pointer = PointerType(PrimType(ty.dtype), ty.storage_scope)
        first = BufferLoad(source.buffer, [r.min for r in source.region])
        return Call("tirx.address_of", (first,), pointer, span=call.span)

    def _masked(self, call: Call, first: int) -> Expr:
        view = call.args[0]
        assert isinstance(view, Var)
        rank = len(buffer_type(view).shape)
        args = [self.visit(a) for a in call.args[1:]]
        indices = args[first - 1 : first - 1 + rank]
        buffer, moved = self._indices(view, tuple(indices))
        new = [buffer, *args[: first - 1], *moved, *args[first - 1 + rank :]]
        return call.replace(args=new)

    def visit_Var(self, var: Var) -> Any:
        if var in self.views:
            raise refuse(
                "view-use",
                f"the view `{var.name}` is used in a way that cannot be turned into its source",
                var,
            )
        return super().visit_Var(var)
