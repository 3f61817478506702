"""Loops: `range`, `T.serial`, `T.grid`, ... give a LoopFrame, which the `for` statement builds from."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..dtype import DType
from ..errors import Diagnostic, DTypeError
from ..grammar import tree as S
from ..ir import INT32, Expr, For, ForKind, IntImm, IterVar, PrimType, Range, Var
from ..ir.promote import convert, operand
from ..node import NO_ATTRS, Attrs
from .builder import attr_value
from .expr import evaluate
from .extent import distance
from .faults import describe, fault
from .stmt import build_body
from .values import MISSING, Form

if TYPE_CHECKING:
    from .builder import Builder

_FORMS = "range, T.serial, T.parallel, T.vectorized, T.unroll, T.thread_binding, T.grid"
_ZERO = IntImm(INT32, 0)


class Loop:
    """One loop of a frame: its variable's dtype, start, extent and the rest of `For`."""

    __slots__ = ("annotations", "extent", "kind", "min", "step", "tag", "type")

    def __init__(
        self,
        start: Any,
        extent: Any,
        kind: ForKind,
        step: Any = None,
        tag: str = "",
        annotations: Attrs = NO_ATTRS,
        dtype: Any = None,
    ) -> None:
        self.kind = kind
        self.tag = tag
        self.annotations = annotations
        if (
            type(extent) is int
            and start is None
            and step is None
            and dtype is None
            and -(1 << 31) <= extent < 1 << 31
        ):
            # the common case: `range(16)`
            self.type: PrimType = INT32
            self.min: Expr = _ZERO
            self.extent: Expr = IntImm(INT32, extent)
            self.step: Expr | None = None
            return
        start = 0 if start is None else start
        self.type = _loop_type(start, extent, step, dtype)
        made = self.type.dtype
        self.min = _as(start, made)
        self.extent = _as(extent, made)
        self.step = None if step is None or _is_one(step) else _as(step, made)


def _is_one(step: Any) -> bool:
    return isinstance(step, int | IntImm) and int(step) == 1


def _loop_type(start: Any, extent: Any, step: Any, dtype: Any) -> PrimType:
    if dtype is not None:
        return PrimType(DType(str(dtype)))
    from ..ir.promote import result_dtype

    made: DType | None = None
    for value in (extent, start, step):
        if isinstance(value, IterVar):
            value = value.var
        if isinstance(value, Expr):
            own = value.dtype
            if not own.is_integral or own.is_vector:
                raise DTypeError(
                    Diagnostic("loop-dtype", f"a loop cannot count in `{own}`", help=("cast it",))
                )
            made = own if made is None else result_dtype(made, own)
        elif not isinstance(value, int) and value is not None and not hasattr(value, "__index__"):
            raise DTypeError(Diagnostic("loop-dtype", f"{describe(value)} cannot bound a loop"))
    if made is None or made.is_bool:
        small = all(v is None or -(1 << 31) <= int(v) < 1 << 31 for v in (extent, start, step))
        return INT32 if small else PrimType("int64")
    return PrimType(made)


def _as(value: Any, dtype: DType) -> Expr:
    if not isinstance(value, Expr | IterVar) and not isinstance(value, int):
        value = value.__index__()
    return convert(operand(value, like=Var("like", PrimType(dtype))), dtype)


class LoopFrame:
    """What a loop word gives: one loop, or several for `T.grid`."""

    script_name = "a loop"
    __slots__ = ("loops",)

    def __init__(self, loops: list[Loop]) -> None:
        self.loops = loops


def python_range(*args: Any, **words: Any) -> Any:
    """`range(...)`: Python's own of constants, a loop frame of expressions or with loop keywords."""
    if words:
        if len(args) == 3:
            words.setdefault("step", args[2])
        return _serial(*args[:2], **words)
    plain = [int(a) if isinstance(a, IntImm) and a.ty is INT32 else a for a in args]
    if 1 <= len(plain) <= 3 and all(type(a) is int for a in plain):
        return range(*plain)
    if not 1 <= len(args) <= 3:
        raise TypeError(f"range takes 1 to 3 arguments, not {len(args)}")
    if len(args) == 1:
        return LoopFrame([Loop(None, args[0], ForKind.SERIAL)])
    step = args[2] if len(args) == 3 else None
    return LoopFrame([Loop(args[0], distance(args[0], args[1]), ForKind.SERIAL, step)])


def _loop_word(kind: ForKind) -> Callable[..., LoopFrame]:
    def run(
        start: Any,
        stop: Any = None,
        *,
        annotations: Any = None,
        step: Any = None,
        unroll: Any = None,
        dtype: Any = None,
    ) -> LoopFrame:
        notes = {} if annotations is None else dict(annotations)
        if unroll is not None:
            if kind is not ForKind.SERIAL:
                raise TypeError("`unroll` is an argument of T.serial only")
            if unroll is False:
                notes["disable_unroll"] = True
            else:
                notes["pragma_unroll"] = unroll
        attrs = attr_value(notes) if notes else NO_ATTRS
        if stop is None:
            return LoopFrame([Loop(None, start, kind, step, "", attrs, dtype)])
        return LoopFrame([Loop(start, distance(start, stop), kind, step, "", attrs, dtype)])

    return run


def thread_binding(
    start: Any,
    stop: Any = None,
    thread: Any = None,
    *,
    annotations: Any = None,
    step: Any = None,
    dtype: Any = None,
) -> LoopFrame:
    """`T.thread_binding(n, thread="threadIdx.x")`."""
    if thread is None and isinstance(stop, str):
        stop, thread = None, stop
    if not isinstance(thread, str):
        raise DTypeError(
            Diagnostic("thread-tag", 'T.thread_binding needs a thread, such as thread="threadIdx.x"')
        )
    attrs = attr_value(dict(annotations)) if annotations else NO_ATTRS
    kind = ForKind.THREAD_BINDING
    if stop is None:
        return LoopFrame([Loop(None, start, kind, step, thread, attrs, dtype)])
    return LoopFrame([Loop(start, distance(start, stop), kind, step, thread, attrs, dtype)])


def grid(*extents: Any, dtype: Any = None) -> LoopFrame:
    """`T.grid(a, b, ...)`; an extent may be a pair (start, extent)."""
    loops = []
    for extent in extents:
        if isinstance(extent, tuple | list):
            if len(extent) != 2:
                raise DTypeError(
                    Diagnostic("loop-form", "an extent of T.grid is a number or a pair (start, extent)")
                )
            loops.append(Loop(extent[0], extent[1], ForKind.SERIAL, dtype=dtype))
        else:
            loops.append(Loop(None, extent, ForKind.SERIAL, dtype=dtype))
    if not loops:
        raise DTypeError(Diagnostic("loop-form", "T.grid needs at least one extent"))
    return LoopFrame(loops)


_serial = _loop_word(ForKind.SERIAL)

WORDS: dict[str, Form] = {
    "serial": Form("T.serial", _serial),
    "parallel": Form("T.parallel", _loop_word(ForKind.PARALLEL)),
    "vectorized": Form("T.vectorized", _loop_word(ForKind.VECTORIZED)),
    "unroll": Form("T.unroll", _loop_word(ForKind.UNROLLED)),
    "thread_binding": Form("T.thread_binding", thread_binding),
    "grid": Form("T.grid", grid),
}


def build_for(b: Builder, node: S.ForStmt) -> None:
    """Build a `for` statement. Raises a Fault for what is no loop of the language."""
    frame = evaluate(b, node.iter)
    if type(frame) is range:
        frame = _range_frame(frame)
    if type(frame) is not LoopFrame:
        raise fault(
            "loop-form",
            f"{describe(frame)} is no loop",
            node.iter.span,
            notes=(f"loops are: {_FORMS}",),
        )
    loops = frame.loops
    variables = [Var("v", loop.type, node.span) for loop in loops]
    for loop, var in zip(loops, variables):
        b.loop_ranges[var] = Range(loop.min, loop.extent)
    b.open("for")
    b.loop_depth += 1
    try:
        _name_variables(b, node.target, variables)
        build_body(b, node.body)
    finally:
        b.loop_depth -= 1
        body = b.close()
    for loop, var in zip(reversed(loops), reversed(variables)):
        thread = None
        if loop.tag:
            thread = IterVar(None, Var(loop.tag, loop.type), IterVar.THREAD_INDEX, loop.tag)
        body = For(
            var, loop.min, loop.extent, loop.kind, body, loop.step, thread, loop.annotations, node.span
        )
    b.emit(body)


def _range_frame(value: range) -> LoopFrame:
    if value.start == 0 and value.step == 1:
        return LoopFrame([Loop(None, value.stop, ForKind.SERIAL)])
    step = None if value.step == 1 else value.step
    return LoopFrame([Loop(value.start, value.stop - value.start, ForKind.SERIAL, step)])


def _name_variables(b: Builder, target: S.SExpr, variables: list[Var]) -> None:
    from .builder import set_name

    if isinstance(target, S.Name):
        if len(variables) == 1:
            set_name(variables[0], target.id)
            b.define(target.id, variables[0], target.span)
            return
        for number, var in enumerate(variables):
            set_name(var, f"{target.id}_{number}")
        b.define(target.id, tuple(variables), target.span)
        return
    if not isinstance(target, S.TupleExpr | S.ListExpr):
        raise fault("invalid-target", "a loop variable is a name", target.span)
    parts = list(target.elts)
    star = next((i for i, p in enumerate(parts) if isinstance(p, S.Starred)), None)
    if star is None and len(parts) != len(variables):
        raise fault("unpacking", f"{len(parts)} names for {len(variables)} loops", target.span)
    if star is not None and len(parts) - 1 > len(variables):
        raise fault("unpacking", f"{len(parts)} names for {len(variables)} loops", target.span)
    seen: set[str] = set()
    position = 0
    for index, part in enumerate(parts):
        count = len(variables) - len(parts) + 1 if index == star else 1
        group = variables[position : position + count]
        position += count
        inner: Any = part.value if isinstance(part, S.Starred) else part
        if isinstance(inner, S.Name) and inner.id in seen and inner.id != "_":
            raise fault("duplicate-target", f"`{inner.id}` stands twice on the left", inner.span)
        if isinstance(inner, S.Name):
            seen.add(inner.id)
        if index == star and isinstance(inner, S.Name):
            for number, var in enumerate(group):
                set_name(var, f"{inner.id}_{number}")
            b.define(inner.id, tuple(group), inner.span)
        elif isinstance(inner, S.Name) and inner.id == "_":
            set_name(group[0], "_")
            b.scopes[-1].before.setdefault("_", b.names.get("_", MISSING))
            b.names["_"] = group[0]
        else:
            _name_variables(b, inner, group)


__all__ = ["WORDS", "Loop", "LoopFrame", "build_for", "python_range"]
