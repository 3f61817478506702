"""A thread reads from memory of its own only what it wrote."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

from ...ir import (
    AttrStmt,
    Bind,
    BufferLoad,
    BufferStore,
    BufferType,
    Call,
    Expr,
    For,
    IfThenElse,
    IntImm,
    IterVar,
    Not,
    PrimFunc,
    SBlockRealize,
    Var,
)
from ...ir.arith.linear import Linear
from ...ir.visitor import Visitor, find, walk
from ..common import buffer_type, refuse
from ..registry import prim_func_pass
from .on_chip import launches
from .sync.access import is_plain
from .sync.numbers import Unknown, evaluate
from .sync.threads import MOST_CELLS, Threads


@prim_func_pass("s_tir.VerifyPrivateMemory")
def verify_private_memory(func: PrimFunc) -> PrimFunc:
    """Refuses a kernel in which a thread reads from a local buffer what another thread wrote.

    One after the other threads could do that; at once each has the buffer for itself.  Accesses whose
    indices are not arithmetic on loops of constant extents, or whose conditions read memory, are taken to
    be right.

    before:
        @T.prim_func
        def f(A: T.Buffer((8,), "float32")):
            L = T.alloc_buffer((8,), scope="local")
            for t in T.thread_binding(8, thread="threadIdx.x"):
                L[t] = A[t]
                A[t] = L[t]

    after:
        @T.prim_func
        def f(A: T.Buffer((8,), "float32")):
            L = T.alloc_buffer((8,), scope="local")
            for t in T.thread_binding(8, thread="threadIdx.x"):
                L[t] = A[t]
                A[t] = L[t]
    """
    _Kernels()(func)
    return func


class _Kernels(Visitor):
    def _axis(self, stmt: Any) -> None:
        if not launches(stmt):
            self.visit_fields(stmt)
            return
        found = _Accesses(stmt)
        for buffer, accesses in found.accesses.items():
            if buffer not in found.handed:
                _check(buffer, accesses, found.threads)

    visit_For = visit_AttrStmt = _axis


class _Access(NamedTuple):
    node: BufferLoad | BufferStore
    indices: tuple[Expr, ...]
    guards: tuple[Expr, ...]
    loops: tuple[Var, ...]
    sure: bool
    """Whether all of its conditions are among the guards."""


class _Accesses(Visitor):
    """The accesses of local buffers in a kernel."""

    def __init__(self, kernel: Any) -> None:
        axes = {}
        for node in walk(kernel):
            tag = _tag(node)
            if tag.startswith("threadIdx"):
                var, extent = _axis_of(node)
                axes[var] = extent.value if isinstance(extent, IntImm) else MOST_CELLS
        self.threads = Threads(axes)
        self.loops: list[Var] = []
        self.guards: list[Expr] = []
        self.opaque: set[Var] = set()
        """Names of values that may differ from thread to thread."""
        self.accesses: dict[Var, list[_Access]] = {}
        self.handed: set[Var] = set()
        self.visit(kernel)

    def visit_For(self, loop: For) -> None:
        self.visit(loop.min)
        self.visit(loop.extent)
        self.threads.declare(loop)
        plain = isinstance(loop.min, IntImm) and isinstance(loop.extent, IntImm)
        if _tag(loop) or not plain:
            self.visit(loop.body)
            return
        self.loops.append(self.threads.twins.of(loop.loop_var))
        self.visit(loop.body)
        self.loops.pop()

    def visit_Bind(self, stmt: Bind) -> None:
        self.visit(stmt.value)
        self.opaque.add(stmt.var)

    def visit_SBlockRealize(self, realize: SBlockRealize) -> None:
        self._under(realize.predicate, realize.block.body)

    def visit_IfThenElse(self, stmt: IfThenElse) -> None:
        self.visit(stmt.condition)
        self._under(stmt.condition, stmt.then_case)
        if stmt.else_case is not None:
            self._under(Not(stmt.condition), stmt.else_case)

    def _under(self, condition: Expr, *parts: Any) -> None:
        self.guards.append(condition)
        for part in parts:
            self.visit(part)
        self.guards.pop()

    def visit_BufferLoad(self, e: BufferLoad) -> None:
        self.visit_all(e.indices)
        self._note(e)

    def visit_BufferStore(self, stmt: BufferStore) -> None:
        self.visit(stmt.value)
        self.visit_all(stmt.indices)
        self._note(stmt)

    def visit_all(self, parts: Sequence[Expr]) -> None:
        """Visit each."""
        for part in parts:
            self.visit(part)

    def visit_Call(self, call: Call) -> None:
        name = getattr(call.op, "name", "")
        if name == "prim.if_then_else":
            self.visit(call.args[0])
            self._under(call.args[0], call.args[1])
            self._under(Not(call.args[0]), call.args[2])
            return
        if name in ("tirx.tvm_thread_allreduce", "tirx.address_of"):
            self.handed |= {load.buffer for load in find(call, BufferLoad)}
        self.handed |= {a for a in call.args if isinstance(a, Var) and isinstance(a.ty, BufferType)}
        self.visit_all(call.args)

    def _note(self, node: BufferLoad | BufferStore) -> None:
        if buffer_type(node.buffer).storage_scope != "local":
            return
        indices = [self._told(i) for i in node.indices]
        if None in indices or any(v in self.opaque for i in node.indices for v in find(i, Var)):
            self.handed.add(node.buffer)
            return
        told = [self._told(g) for g in self.guards]
        guards = [g for g in told if g is not None]
        access = _Access(node, tuple(indices), tuple(guards), tuple(self.loops), None not in told)
        self.accesses.setdefault(node.buffer, []).append(access)

    def _told(self, e: Expr) -> Any:
        try:
            return self.threads.twins.visit(e)
        except Unknown:
            return None


def _tag(node: Any) -> str:
    """The axis of threads that a statement runs on."""
    if not launches(node):
        return ""
    axis: Any = node.thread_binding if isinstance(node, For) else node.node
    return str(axis.thread_tag)


def _axis_of(node: Any) -> tuple[Var, Expr]:
    if isinstance(node, For):
        return node.loop_var, node.extent
    assert isinstance(node, AttrStmt) and isinstance(node.node, IterVar)
    return node.node.var, node.value


def _check(buffer: Var, accesses: Sequence[_Access], threads: Threads) -> None:
    """Refuse a read of what only other threads wrote."""
    import numpy as np

    try:
        bases, tables = _tables(accesses, threads)
    except Unknown:
        return
    low = [min([int(t[0][d].min(initial=0)) for t in tables]) for d in range(bases)]
    size = [max([int(t[0][d].max(initial=0)) for t in tables]) - low[d] + 1 for d in range(bases)]
    if prod(size) > 1 << 40:
        return
    count = prod(threads.axes.values())
    keys = []
    for cells, thread, _ in tables:
        key = np.zeros_like(thread)
        for d in range(bases):
            key = key * size[d] + (cells[d] - low[d])
        keys.append((key, thread))
    stores = [k for k, a in zip(keys, accesses) if isinstance(a.node, BufferStore)]
    if not stores:
        return
    written = np.unique(np.concatenate([k for k, _ in stores]))
    own = np.unique(np.concatenate([k * count + t for k, t in stores]))
    for (key, thread), access, (_, _, sure) in zip(keys, accesses, tables):
        if isinstance(access.node, BufferStore) or not sure:
            continue
        foreign = np.isin(key, written) & ~np.isin(key * count + thread, own)
        if foreign.any():
            raise refuse(
                "private-memory",
                f"a thread reads from `{buffer.name}`, which is local, what another thread wrote",
                access.node,
                "let the same threads write and read each element, or use shared memory",
            )


def _tables(accesses: Sequence[_Access], threads: Threads) -> tuple[int, list[tuple[list[Any], Any, bool]]]:
    """For each access: the indices less what all have in common, the threads, and whether it surely happens.

    Raises Unknown where the accesses have no such common part.
    """
    known = {*threads.axes, *[v for a in accesses for v in a.loops]}
    first: list[Linear] | None = None
    tables = []
    for access in accesses:
        parts = [_split(threads, i, known) for i in access.indices]
        fixed = [f for _, f in parts]
        first = fixed if first is None else first
        steps = [f.minus(g) for f, g in zip(fixed, first, strict=True)]
        if any(not s.is_const for s in steps):
            raise Unknown
        tables.append(_table(threads, access, [m for m, _ in parts], [s.const for s in steps]))
    return len(accesses[0].indices), tables


def _split(threads: Threads, index: Expr, known: set[Var]) -> tuple[list[tuple[int, Expr]], Linear]:
    form = threads.ana.linear(index)
    mixed: list[tuple[int, Expr]] = []
    fixed = Linear({}, form.const)
    for key, (coeff, term) in form.terms.items():
        used = set(find(term, Var))
        if used & known:
            if not used <= known:
                raise Unknown
            mixed.append((coeff, term))
        else:
            fixed.add_term(key, coeff, term)
    return mixed, fixed


def _table(
    threads: Threads, access: _Access, mixed: Sequence[Sequence[tuple[int, Expr]]], steps: Sequence[int]
) -> tuple[list[Any], Any, bool]:
    import numpy as np

    axes = threads.axes
    spans = [*[(0, n) for n in axes.values()], *[threads.domains[v] for v in access.loops]]
    if prod([n for _, n in spans]) > MOST_CELLS:
        raise Unknown
    values: dict[Var, Any] = {}
    for place, (var, (low, n)) in enumerate(zip([*axes, *access.loops], spans)):
        shape = [n if k == place else 1 for k in range(len(spans))]
        values[var] = np.arange(low, low + n, dtype=np.int64).reshape(shape)
    full = [n for _, n in spans]
    active, sure = np.ones(full, dtype=bool), access.sure
    for guard in access.guards:
        try:
            active = active & np.asarray(evaluate(guard, values)).astype(bool)
        except Unknown:
            sure = sure and is_plain(guard)  # of sizes and blocks: it holds for large sizes
    cells = []
    for terms, step in zip(mixed, steps):
        total: Any = np.full(full, step, dtype=np.int64)
        for coeff, term in terms:
            total = total + coeff * evaluate(term, values)
        cells.append(total[active])
    thread = np.arange(prod(axes.values())).reshape([*axes.values(), *[1] * len(access.loops)])
    return cells, np.broadcast_to(thread, full)[active], sure
