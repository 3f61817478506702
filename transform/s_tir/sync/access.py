"""The accesses of memory that the threads of a block share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ....ir import (
    BufferLoad,
    BufferStore,
    BufferType,
    Call,
    Effect,
    Expr,
    IntImm,
    Let,
    Not,
    Op,
    PrimType,
    Ramp,
    Var,
    const,
    find_record,
)
from ....ir.visitor import Visitor, find, substitute
from ....node import Node
from ...common import buffer_type, is_steady, plus
from ...strides import linear_offset

_COLLECTIVE: Final = ("tirx.tvm_load_matrix_sync", "tirx.tvm_store_matrix_sync")
"""Calls in which lanes of a warp exchange what they access."""


class Access:
    """One place in the text that accesses a buffer.

    `index` is in elements of `bits` bits; None where any cell may be accessed.  `guards` are conditions under
    which it happens.  `tile` is the number of rows from the index on, the elements of each, and from one to
    the next.  `loops` and `item` say where it stands in the flow.
    """

    __slots__ = (
        *("atomic", "bits", "collective", "guards", "index"),
        *("item", "late", "loops", "root", "tile", "write"),
    )

    def __init__(
        self, root: Var, index: Expr | None, bits: int, guards: Sequence[Expr], *, write: bool, **more: bool
    ) -> None:
        self.root, self.index, self.bits, self.guards, self.write = root, index, bits, tuple(guards), write
        self.atomic = more.get("atomic", False)
        self.collective = more.get("collective", False)
        self.late = more.get("late", False)  # what a copy in flight writes, which lands at its wait
        self.tile: tuple[int, int, int] | None = None
        self.loops: tuple[Any, ...] = ()
        self.item: Any = None


class Names:
    """What buffers and pointers name, and what names stand for."""

    def __init__(self, scopes: Sequence[str]) -> None:
        self.scopes = scopes
        self.roots: dict[Var, Var] = {}
        self.values: dict[Var, Expr] = {}
        self.opaque: set[Var] = set()
        """Names of values that are not arithmetic on variables."""

    def root(self, var: Var) -> Var:
        """The buffer or pointer whose memory this one names."""
        while var in self.roots:
            var = self.roots[var]
        return var

    def pointed(self, data: Expr) -> Var | None:
        """The buffer or pointer variable that an expression points to; None where that is unknown."""
        if isinstance(data, Var):
            return data
        if isinstance(data, Call) and isinstance(data.op, Op) and data.op.name == "tirx.buffer_data":
            found = data.args[0]
            return found if isinstance(found, Var) else None
        return None

    def shared(self, var: Var) -> bool:
        """Whether the variable names memory of the scopes that count."""
        ty = self.root(var).ty
        scope = getattr(ty, "storage_scope", None)
        return (scope or "global") in self.scopes

    def resolve(self, e: Expr) -> Expr:
        """The expression with names replaced by what they stand for."""
        return substitute(e, self.values) if self.values else e


class Accesses(Visitor):
    """Collects the accesses of a statement or an expression, in order."""

    def __init__(self, names: Names, guards: Sequence[Expr]) -> None:
        self.names = names
        self.found: list[Access] = []
        self.guards = list(guards)

    def add(
        self, var: Var, index: Expr | None, *, write: bool, bits: int | None = None, **more: bool
    ) -> None:
        """Note an access of the memory that the variable names."""
        if self.names.shared(var):
            size = _bits(var) if bits is None else bits
            at = None if index is None else self.names.resolve(index)
            if at is not None and not (is_plain(at) and self.names.opaque.isdisjoint(find(at, Var))):
                at = None
            root = self.names.root(var)
            self.found.append(Access(root, at, size, self.guards, write=write, **more))

    def visit_BufferLoad(self, e: BufferLoad) -> None:
        for i in e.indices:
            self.visit(i)
        self.add(e.buffer, linear_offset(e.buffer, e.indices), write=False)

    def visit_BufferStore(self, stmt: BufferStore) -> None:
        self.visit(stmt.value)
        for i in stmt.indices:
            self.visit(i)
        self.add(stmt.buffer, linear_offset(stmt.buffer, stmt.indices), write=True)

    def visit_Let(self, e: Let) -> None:
        self.visit(e.value)
        self.names.values[e.var] = self.names.resolve(e.value)
        self.visit(e.body)

    def visit_Call(self, call: Call) -> None:
        name = call.op.name if isinstance(call.op, Op) else ""
        if name == "prim.if_then_else":
            self.visit(call.args[0])
            condition = self.names.resolve(call.args[0])
            for case, guard in ((call.args[1], condition), (call.args[2], Not(condition))):
                self.guards.append(guard)
                self.visit(case)
                self.guards.pop()
            return
        rule = _CALLS.get(name)
        if rule is not None:
            rule(self, call)
            return
        rec = find_record(name)
        pure = rec is not None and rec.effect <= Effect.PURE
        for arg in call.args:
            self.argument(arg, pure)

    def argument(self, arg: Node, pure: bool) -> None:
        """An argument of a call: a pointer may be used in any way."""
        place = self.place(arg)
        if place is None:
            self.visit(arg)
        elif not pure:
            self.handed(place, write=True)

    def place(self, arg: Any) -> tuple[Var, Expr | None] | None:
        """The memory that an argument points to, from which element on; None for what is no pointer."""
        if isinstance(arg, Var) and isinstance(arg.ty, PrimType):
            return None
        if isinstance(arg, Var):
            return arg, None
        if isinstance(arg, Call) and isinstance(arg.op, Op):
            if arg.op.name == "tirx.buffer_data":
                return arg.args[0], None  # type: ignore[return-value]
            if arg.op.name == "tirx.address_of" and isinstance(arg.args[0], BufferLoad):
                load = arg.args[0]
                return load.buffer, linear_offset(load.buffer, load.indices)
            if arg.op.name == "tirx.tvm_access_ptr":
                found = self.names.pointed(arg.args[1])
                return None if found is None else (found, arg.args[2])
        return None

    def handed(self, place: tuple[Var, Expr | None], *, write: bool, **more: bool) -> None:
        """A pointer is handed out: every cell may be read, and written."""
        self.add(place[0], None, write=write, **more)


def is_plain(e: Expr) -> bool:
    """Whether the expression is arithmetic on variables, which means the same wherever it stands."""
    calls = [c for c in find(e, Call) if getattr(c.op, "name", "") not in _ARITHMETIC]
    return is_steady(e) and not calls


_ARITHMETIC: Final = ("prim.likely", "prim.if_then_else")


def _bits(var: Var) -> int:
    if isinstance(var.ty, BufferType):
        dtype = buffer_type(var).dtype
        return dtype.bits * dtype.lanes
    return 8


def _atomic(found: Accesses, call: Call) -> None:
    """An atomic operation: its first argument is the address of one element."""
    for i, arg in enumerate(call.args):
        place = found.place(arg)
        if place is None:
            found.visit(arg)
        else:
            found.add(*place, write=True, atomic=i == 0)


def _collective(found: Accesses, call: Call) -> None:
    """The lanes of a warp load or store a fragment: the pointer to memory is the last but two arguments."""
    stores = "store" in call.op.name  # type: ignore[union-attr]
    for arg in call.args:
        place = found.place(arg)
        if place is None:
            found.visit(arg)
            continue
        tile = _tile(call) if arg is call.args[5] else None
        known = len(found.found)
        found.add(
            place[0],
            None if tile is None else place[1],
            write=stores and _is_shared(place[0]),
            collective=True,
        )
        for access in found.found[known:]:
            access.tile = tile


def _tile(call: Call) -> tuple[int, int, int] | None:
    """Rows, elements of a row, and the distance of rows of a fragment in memory; None where not constant."""
    fragment, m, n, k, _, _, stride, layout = call.args
    scope = getattr(fragment.ty, "storage_scope", "")
    rows, columns = {"wmma.matrix_a": (m, k), "wmma.matrix_b": (k, n)}.get(scope, (m, n))
    if not all(isinstance(e, IntImm) for e in (rows, columns, stride)):
        return None
    if getattr(layout, "value", "row_major") == "col_major":
        rows, columns = columns, rows
    return rows.value, columns.value, stride.value  # type: ignore[attr-defined]


def _masked(found: Accesses, call: Call) -> None:
    """A vector access of those lanes for which the last argument holds; the first one is the buffer."""
    stores = call.op.name == "tirx.masked_store"  # type: ignore[union-attr]
    buffer, *rest = call.args
    for arg in rest:
        found.visit(arg)
    found.add(buffer, rest[1 if stores else 0], write=stores)  # type: ignore[arg-type]


def _ldmatrix(found: Accesses, call: Call) -> None:
    """Each lane gives the place of 16 bytes, which other lanes get."""
    *rest, pointer, offset = call.args
    for arg in (*rest, offset):
        if found.place(arg) is None:
            found.visit(arg)
    place = found.place(pointer)
    if place is not None:
        var, base = place
        count = 128 // _bits(var)
        index = offset if base is None else plus(base, offset)
        found.add(var, Ramp(index, const(1, index.dtype), count), write=False, collective=True)


def _is_shared(var: Var) -> bool:
    scope = getattr(var.ty, "storage_scope", "") or "global"
    return scope == "global" or scope.startswith("shared")


def _copy(found: Accesses, call: Call) -> None:
    """An asynchronous copy: dtype, shared pointer and offset, global pointer and offset, bytes, ..."""
    args = call.args
    target, offset, source = args[0], args[1], args[2]
    for arg in args[1:2] + args[3:]:
        found.visit(arg)
    count = args[4] if len(args) > 4 else None
    place, origin = found.place(target), found.place(source)
    if origin is not None:
        found.handed(origin, write=False)
    if place is not None:
        _copied(found, place, offset, count)


def _copied(found: Accesses, place: tuple[Var, Expr | None], offset: Expr, count: Expr | None) -> None:
    var, base = place
    bits = _bits(var)
    if not isinstance(count, IntImm) or (count.value * 8) % bits:
        found.add(var, None, write=True, late=True)
        return
    start = found.names.resolve(offset if base is None else plus(base, offset))
    elements = count.value * 8 // bits
    if elements > 1 and not start.dtype.is_vector:
        start = Ramp(start, const(1, start.dtype), elements)
    found.add(var, start, write=True, late=True)


_CALLS: Final[dict[str, Any]] = {
    **dict.fromkeys(_COLLECTIVE, _collective),
    "tirx.ptx_legacy.ldmatrix": _ldmatrix,
    **dict.fromkeys(("tirx.masked_load", "tirx.masked_store"), _masked),
    "tirx.s_tir.cp_async_raw": _copy,
    **dict.fromkeys(("tirx.cuda.atomic_add", "tirx.cuda.atomic_cas", "tirx.atomic_add"), _atomic),
    **dict.fromkeys(("tirx.buffer_data", "tirx.address_of"), lambda found, call: None),
}
