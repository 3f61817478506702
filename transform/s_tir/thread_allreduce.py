"""All-reduces over threads become shuffles of warps and exchanges through shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...dtype import DType
from ...ir import (
    EQ,
    LT,
    Add,
    AllocBuffer,
    And,
    AttrStmt,
    Bind,
    BufferLoad,
    BufferStore,
    BufferType,
    Call,
    Cast,
    CommReducer,
    Evaluate,
    Expr,
    FloorDiv,
    FloorMod,
    For,
    IfThenElse,
    IntImm,
    IterVar,
    PrimFunc,
    PrimType,
    Stmt,
    Var,
    While,
    const,
    seq,
)
from ...ir.operators import if_then_else
from ...ir.visitor import Rewriter, substitute
from ..common import cast_to, is_const, refuse
from ..registry import prim_func_pass
from ..scopes import statements
from ..warps import Axes, digit, warp_mask, warp_size
from .sync import barrier
from .sync.uniform import Uniform

_INT32 = DType("int32")


@prim_func_pass("s_tir.LowerThreadAllreduce")
def lower_thread_allreduce(func: PrimFunc) -> PrimFunc:
    """`T.tvm_thread_allreduce` gives every thread of a group the combined value.

    Where the target has warps and the group fits one, by shuffles; where it is made of whole warps, by
    shuffles and an exchange of the warps' results through shared memory; elsewhere by a tree in shared
    memory.  Every thread of the block must reach the call.  Raises PassError where the extent of an
    axis is not constant.

    before:
        @T.prim_func
        def f(A: T.Buffer((8,), "float32"), B: T.Buffer((1,), "float32")):
            T.func_attr({"target": T.target("cuda")})
            k = T.launch_thread("threadIdx.x", 2)
            r = T.alloc_buffer((1,), scope="local")
            with T.attr(T.comm_reducer(lambda x, y: x + y, [T.float32(0)]), "reduce_scope", 0):
                T.tvm_thread_allreduce(T.uint32(1), A[k], T.bool(True), r[0], k)
            B[0] = r[0]

    after:
        @T.prim_func
        def f(A: T.Buffer((8,), "float32"), B: T.Buffer((1,), "float32")):
            T.func_attr({"target": T.target("cuda")})
            k = T.launch_thread("threadIdx.x", 2)
            r = T.alloc_buffer((1,), scope="local")
            v: T.let = A[k]
            v_1: T.let = v + T.tvm_warp_shuffle_down(T.uint32(3), v, 1, 2, 32)
            v_2: T.let = T.tvm_warp_shuffle(T.uint32(3), v_1, 0, 2, 32)
            r[0] = v_2
            B[0] = r[0]
    """
    return _Lower(func.attrs.get("target"))(func)


class _Lower(Rewriter):
    def __init__(self, target: Any) -> None:
        super().__init__()
        self.warp = warp_size(target)
        self.target = target
        self.axes: Axes = {}
        self.uniform: Uniform | None = None
        self.apart = False
        """Whether not all threads of a block come by here."""

    def visit_AttrStmt(self, stmt: AttrStmt) -> Any:
        axis = stmt.node
        if stmt.attr_key == "thread_extent" and isinstance(axis, IterVar):
            if self.uniform is None or not self.axes:
                self.uniform = Uniform(stmt)
            outside, self.axes = self.axes, {**self.axes, axis.thread_tag: (axis.var, stmt.value)}
            new = self.visit_fields(stmt)
            self.axes = outside
            return new
        if stmt.attr_key == "reduce_scope" and isinstance(axis, CommReducer):
            return seq([self._reduced(axis, s) for s in statements(stmt.body)])
        return self.visit_fields(stmt)

    def visit_IfThenElse(self, stmt: IfThenElse) -> Any:
        return self._under(stmt, stmt.condition)

    def visit_While(self, stmt: While) -> Any:
        return self._under(stmt, stmt.condition)

    def visit_For(self, stmt: For) -> Any:
        return self._under(stmt, stmt.min, stmt.extent)

    def _under(self, stmt: Stmt, *conditions: Expr) -> Any:
        before = self.apart
        if self.uniform is not None and self.axes:
            self.apart = before or not all(self.uniform.same(e) for e in conditions)
        new = self.visit_fields(stmt)
        self.apart = before
        return new

    def _reduced(self, reducer: CommReducer, stmt: Stmt) -> Stmt:
        call = stmt.value if isinstance(stmt, Evaluate) else None
        if not isinstance(call, Call) or getattr(call.op, "name", "") != "tirx.tvm_thread_allreduce":
            return stmt
        if self.apart:
            raise refuse(
                "thread-allreduce",
                "threads reduce together where not all threads of a block come by",
                stmt,
                "let all of them come by, those without a part with the neutral value",
            )
        count = int(call.args[0].value)  # type: ignore[attr-defined]
        values, condition = call.args[1 : count + 1], call.args[count + 1]
        results = call.args[count + 2 : 2 * count + 2]
        group = _Group(self, call, call.args[2 * count + 2 :])
        steps = _Steps(reducer, warp_mask(self.target, self.axes), self.warp)
        named = [
            steps.name(if_then_else(condition, v, e) if not is_const(condition, 1) else v)
            for v, e in zip(values, reducer.identity_element)
        ]
        final = _combine(steps, group, named)
        for r, v in zip(results, final):
            if not isinstance(r, BufferLoad):
                raise refuse("thread-allreduce", "a result of an all-reduce is no element of a buffer", stmt)
            steps.stmts.append(BufferStore(r.buffer, v, r.indices))
        return seq(steps.stmts)


class _Group:
    """The threads that reduce together: how many, and where each stands among them and in the block."""

    def __init__(self, lower: _Lower, call: Call, axes: Sequence[Expr]) -> None:
        known = {var: (tag, extent) for tag, (var, extent) in lower.axes.items()}
        sizes: dict[str, int] = {}
        for tag in ("threadIdx.x", "threadIdx.y", "threadIdx.z"):
            extent = lower.axes.get(tag, (None, const(1, "int32")))[1]
            if not isinstance(extent, IntImm):
                raise refuse(
                    "thread-allreduce",
                    f"threads reduce together, and the extent of `{tag}` is no constant",
                    call,
                    "split the loop so that the threads' part has a constant extent",
                )
            sizes[tag] = extent.value
        reduced = set()
        for axis in axes:
            while isinstance(axis, Cast):
                axis = axis.value
            if is_const(axis, 0):
                continue  # an axis of one thread
            tag = known[axis][0] if isinstance(axis, Var) and axis in known else ""
            if not tag.startswith("threadIdx"):
                raise refuse(
                    "thread-allreduce", "an axis of an all-reduce is no axis of the block's threads", call
                )
            reduced.add(tag)
        self.count = self.others = 1
        self.lane: Expr = const(0, "int32")
        self.number: Expr = const(0, "int32")
        self.leading = True  # the group's threads follow each other in the order of the hardware
        for tag, size in sizes.items():
            if size == 1:
                continue
            var = cast_to(lower.axes[tag][0], PrimType(_INT32))
            if tag in reduced:
                self.leading = self.leading and self.others == 1
                self.lane, self.count = digit(self.lane, var, self.count), self.count * size
            else:
                self.number, self.others = digit(self.number, var, self.others), self.others * size


class _Steps:
    """The statements of one all-reduce, in order."""

    def __init__(self, reducer: CommReducer, mask: Expr, warp: int) -> None:
        self.reducer, self.mask, self.warp = reducer, mask, warp
        self.stmts: list[Stmt] = []

    def name(self, e: Expr, hint: str = "v") -> Var:
        """The value now, under a name."""
        var = Var(hint, e.ty)
        self.stmts.append(Bind(var, e))
        return var

    def combine(self, left: Sequence[Expr], right: Sequence[Expr]) -> list[Expr]:
        """The combined values."""
        r = self.reducer
        mapping: dict[Var, Expr] = {**dict(zip(r.lhs, left)), **dict(zip(r.rhs, right))}
        return [substitute(e, mapping) for e in r.result]

    def shuffle(self, kind: str, value: Expr, lane: int, width: int) -> Expr:
        """The value of another lane."""
        carried = _carrier(value.dtype)
        sent = value if carried is value.dtype else Cast(PrimType(carried), value)
        args = (self.mask, sent, const(lane, "int32"), const(width, "int32"), const(self.warp, "int32"))
        got = Call(f"tirx.tvm_warp_shuffle{kind}", args, sent.ty)
        return got if sent is value else Cast(value.ty, got)

    def shuffled(self, values: Sequence[Expr], width: int) -> list[Expr]:
        """The values of each segment of `width` lanes combined, in every lane of it."""
        offset = 1  # growing, so that a lane always holds what follows it: the order of terms stays
        while offset < width:
            moved = [self.shuffle("_down", v, offset, width) for v in values]
            if len(moved) > 1:
                moved = [self.name(m) for m in moved]
            values = [self.name(v) for v in self.combine(values, moved)]
            offset *= 2
        if width == 1:
            return list(values)
        return [self.name(self.shuffle("", v, 0, width)) for v in values]

    def shared(self, size: int, like: Sequence[Expr]) -> list[Var]:
        """New buffers in shared memory."""
        made = []
        for value in like:
            ty = BufferType(value.dtype, (const(size, "int32"),), storage_scope="shared")
            made.append(Var("red_buf", ty))
            self.stmts.append(AllocBuffer(made[-1]))
        return made


def _carrier(dtype: DType) -> DType:
    """The type in which values of this one go from lane to lane."""
    if dtype.is_bool or (dtype.is_integral and dtype.bits < 32):
        return _INT32
    return DType("float32") if dtype.is_float and dtype.bits < 16 else dtype


def _combine(steps: _Steps, group: _Group, values: Sequence[Expr]) -> Sequence[Expr]:
    """The combined values of the group, the same in each of its threads."""
    warp, count = steps.warp, group.count
    if count == 1:
        return values
    if group.leading and count <= warp and warp % count == 0:
        return steps.shuffled(values, count)
    if group.leading and warp > 1 and count % warp == 0 and count // warp <= warp:
        return _by_warps(steps, group, values)
    return _by_tree(steps, group, values)


def _by_warps(steps: _Steps, group: _Group, values: Sequence[Expr]) -> Sequence[Expr]:
    """Each warp combines its values; all warps of the group then combine the results of the warps."""
    warps, size = group.count // steps.warp, const(steps.warp, "int32")
    values = steps.shuffled(values, steps.warp)
    buffers = steps.shared(warps * group.others, values)
    lane, number = FloorMod(group.lane, size), FloorDiv(group.lane, size)
    first = digit(const(0, "int32"), group.number, warps)
    own = [BufferStore(b, v, [_plus(first, number)]) for b, v in zip(buffers, values)]
    steps.stmts.append(IfThenElse(EQ(lane, const(0, "int32")), seq(own)))
    steps.stmts.append(barrier("shared"))
    width = 1
    while width < warps:
        width *= 2
    place = FloorMod(group.lane, const(width, "int32"))
    loads: list[Expr] = [BufferLoad(b, [_plus(first, place)]) for b in buffers]
    if width > warps:
        inside = LT(place, const(warps, "int32"))
        loads = [if_then_else(inside, v, e) for v, e in zip(loads, steps.reducer.identity_element)]
    return steps.shuffled([steps.name(v) for v in loads], width)


def _by_tree(steps: _Steps, group: _Group, values: Sequence[Expr]) -> Sequence[Expr]:
    """The values meet in shared memory; in each step a thread combines its value with the next one left."""
    count = group.count
    buffers = steps.shared(count * group.others, values)
    first = digit(const(0, "int32"), group.number, count)
    own = [_plus(first, group.lane)]
    steps.stmts += [BufferStore(b, v, own) for b, v in zip(buffers, values)]
    steps.stmts.append(barrier("shared"))
    step = 1
    while step < count:
        next_one = [_plus(own[0], const(step, "int32"))]
        near, far = [BufferLoad(b, own) for b in buffers], [BufferLoad(b, next_one) for b in buffers]
        names = [Var("v", v.ty) for v in near]
        bound = [Bind(n, v) for n, v in zip(names, steps.combine(near, far))]
        stored = [BufferStore(b, n, own) for b, n in zip(buffers, names)]
        in_turn = EQ(FloorMod(group.lane, const(2 * step, "int32")), const(0, "int32"))
        working = And(in_turn, LT(group.lane, const(count - step, "int32")))
        steps.stmts.append(IfThenElse(working, seq([*bound, *stored])))
        steps.stmts.append(barrier("shared"))
        step *= 2
    return [steps.name(BufferLoad(b, [first])) for b in buffers]


def _plus(a: Expr, b: Expr) -> Expr:
    return b if is_const(a, 0) else a if is_const(b, 0) else Add(a, b)
