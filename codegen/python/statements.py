"""The meaning of statements: each is compiled to a closure that gives None, or how control leaves it."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any, Final

from ...ir import (
    AllocBuffer,
    AssertStmt,
    AttrStmt,
    Bind,
    Break,
    BufferStore,
    BufferType,
    Call,
    Continue,
    DeclBuffer,
    Evaluate,
    Expr,
    For,
    IfThenElse,
    IterVar,
    MatchBufferRegion,
    Op,
    Return,
    SBlock,
    SBlockRealize,
    SeqStmt,
    Stmt,
    Var,
    While,
)
from .expressions import (
    Closure,
    Env,
    cell,
    cells,
    expression,
    expressions,
    is_vector,
    write,
)
from .faults import broken, out_of_bounds, overflow, unsupported
from .memory import Pointer, Storage, View, lane_count
from .scope import Scope


class Leave:
    """How control leaves a statement other than at its end."""

    __slots__ = ("value", "what")

    def __init__(self, what: str, value: Any = None) -> None:
        self.what = what
        self.value = value


_BREAK: Final = Leave("break")
_CONTINUE: Final = Leave("continue")
_THREAD_RETURN: Final = Leave("thread_return")

Action = Callable[[Env], "Leave | None"]


def statement(scope: Scope, s: Stmt) -> Action:
    """The closure of a statement. Raises UnsupportedError for what cannot be run."""
    rule = _RULES.get(type(s))
    if rule is None:
        raise unsupported(s, f"the oracle cannot run a statement of class {type(s).__name__}")
    return rule(scope, s)


def _seq(scope: Scope, s: SeqStmt) -> Action:
    actions = [statement(scope, part) for part in s.seq]

    def run(env: Env) -> Leave | None:
        for action in actions:
            left = action(env)
            if left is not None:
                return left
        return None

    return run


def _bind(scope: Scope, s: Bind) -> Action:
    value = expression(scope, s.value)
    slot = scope.define(s.var)

    def run(env: Env) -> None:
        env[slot] = value(env)

    return run


def _store(scope: Scope, s: BufferStore) -> Action:
    value = expression(scope, s.value)
    place = cells(scope, s, s.buffer, s.indices)
    slot = scope.slot(s.buffer, s)
    vector = is_vector(s.value)

    def run(env: Env) -> None:
        view = env[slot]
        new = value(env)
        at = place(env, view)
        if vector:
            for i, v in zip(at, new):
                write(scope, env, s, view, i, v)
        else:
            write(scope, env, s, view, at, new)

    return run


def _evaluate(scope: Scope, s: Evaluate) -> Action:
    leave = _LEAVES.get(s.value.op.name) if isinstance(s.value, Call) and isinstance(s.value.op, Op) else None
    if leave is not None:
        return lambda env: leave
    value = expression(scope, s.value)

    def run(env: Env) -> None:
        value(env)

    return run


_LEAVES: Final = {
    "tirx.break_loop": _BREAK,
    "tirx.continue_loop": _CONTINUE,
    "tirx.thread_return": _THREAD_RETURN,
}


def _loop(scope: Scope, s: For) -> Action:
    start, extent = expression(scope, s.min, True), expression(scope, s.extent, True)
    step = expression(scope, s.step, True) if s.step is not None else None
    slots = [scope.define(s.loop_var)]
    if s.thread_binding is not None:
        slots.append(scope.define(s.thread_binding.var))
    body = statement(scope, s.body)
    dtype = s.loop_var.dtype

    def run(env: Env) -> Leave | None:
        first, count = start(env), extent(env)
        end = first + count
        if count > 0 and dtype.wrap(end) != end:
            overflow(scope, env, s, dtype, end)
        stride = 1 if step is None else step(env)
        if stride <= 0:
            message = f"the step of loop `{s.loop_var.name}` is {stride}; it must be positive"
            raise broken(scope, env, s, "loop-step", message)
        return _iterate(env, range(first, end, stride), slots, body)

    return run


def _iterate(env: Env, values: range, slots: list[int], body: Action) -> Leave | None:
    for value in values:
        for slot in slots:
            env[slot] = value
        left = body(env)
        if left is None or left is _CONTINUE or left is _THREAD_RETURN:
            continue
        if left is _BREAK:
            break
        return left
    return None


def _while(scope: Scope, s: While) -> Action:
    condition, body = expression(scope, s.condition), statement(scope, s.body)

    def run(env: Env) -> Leave | None:
        while condition(env):
            left = body(env)
            if left is None or left is _CONTINUE:
                continue
            return None if left is _BREAK else left
        return None

    return run


def _if(scope: Scope, s: IfThenElse) -> Action:
    condition, then_case = expression(scope, s.condition), statement(scope, s.then_case)
    else_case = statement(scope, s.else_case) if s.else_case is not None else None

    def run(env: Env) -> Leave | None:
        if condition(env):
            return then_case(env)
        return else_case(env) if else_case is not None else None

    return run


def _assert(scope: Scope, s: AssertStmt) -> Action:
    condition = expression(scope, s.condition)
    kind = getattr(builtins, s.kind.value, None)
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        kind = RuntimeError
    text = "".join([part.value for part in s.message_parts])

    def run(env: Env) -> None:
        if not condition(env):
            raise kind(text)

    return run


def _return(scope: Scope, s: Return) -> Action:
    if s.value is None:
        return lambda env: Leave("return")
    value = expression(scope, s.value)

    def run(env: Env) -> Leave | None:
        return Leave("return", value(env))

    return run


def _break(scope: Scope, s: Break) -> Action:
    return lambda env: _BREAK


def _continue(scope: Scope, s: Continue) -> Action:
    return lambda env: _CONTINUE


def _attr(scope: Scope, s: AttrStmt) -> Action:
    if s.attr_key not in ("thread_extent", "virtual_thread"):
        return statement(scope, s.body)
    extent = expression(scope, s.value, True)
    var = s.node.var if isinstance(s.node, IterVar) else s.node
    slots = [scope.define(var)]
    body = statement(scope, s.body)

    def run(env: Env) -> Leave | None:
        return _iterate(env, range(extent(env)), slots, body)

    return run


def new_buffer(scope: Scope, var: Var, node: Any) -> Callable[[Env], View]:
    """Memory for a buffer of this variable's type, none of it written."""
    ty = var.ty
    assert isinstance(ty, BufferType)
    shape, strides = expressions(scope, ty.shape, True), expressions(scope, ty.strides, True)
    item = lane_count(ty.dtype) * ty.dtype.numpy().itemsize

    def run(env: Env) -> View:
        dims = tuple([n(env) for n in shape])
        steps = tuple([n(env) for n in strides])
        if any(n < 0 for n in dims):
            raise broken(scope, env, node, "negative-extent", f"`{var.name}` is allocated with shape {dims}")
        size = item
        if steps:
            size += item * sum((n - 1) * s for n, s in zip(dims, steps))
        for n in () if steps else dims:
            size *= n
        return View(var, Pointer(Storage.allocate(max(size, 0), var.name), 0), dims, steps)

    return run


def _alloc(scope: Scope, s: AllocBuffer) -> Action:
    make = new_buffer(scope, s.buffer, s)
    slot = scope.define(s.buffer)

    def run(env: Env) -> None:
        env[slot] = make(env)

    return run


def _decl(scope: Scope, s: DeclBuffer) -> Action:
    data = expression(scope, s.data)
    make = view_at(scope, s.buffer, s)
    slot = scope.define(s.buffer)

    def run(env: Env) -> None:
        env[slot] = make(env, data(env))

    return run


def view_at(scope: Scope, var: Var, node: Any) -> Callable[[Env, Pointer | None], View]:
    """The buffer of this variable's type whose data pointer is the given one."""
    ty = var.ty
    assert isinstance(ty, BufferType)
    shape, strides = expressions(scope, ty.shape, True), expressions(scope, ty.strides, True)
    offset = expression(scope, ty.elem_offset, True) if ty.elem_offset is not None else None

    def run(env: Env, data: Pointer | None) -> View:
        if data is None:
            raise broken(scope, env, node, "null-pointer", f"`{var.name}` is declared at the null pointer")
        dims = tuple([n(env) for n in shape])
        steps = tuple([n(env) for n in strides])
        try:
            return View(var, data, dims, steps, 0 if offset is None else offset(env))
        except ValueError as err:
            raise broken(scope, env, node, "misaligned", f"`{var.name}` of `{ty.dtype}`: {err}") from None

    return run


def _match(scope: Scope, match: MatchBufferRegion) -> Action:
    region, var = match.source, match.buffer
    ty = var.ty
    assert isinstance(ty, BufferType)
    source = scope.slot(region.buffer, match)
    starts = expressions(scope, tuple([r.min for r in region.region]), True)
    extents = expressions(scope, tuple([r.extent for r in region.region]), True)
    kept = len(ty.shape)
    slot = scope.define(var)
    shape = Symbols(scope, ty.shape, f"the shape of `{var.name}`")
    strides = Symbols(scope, ty.strides, f"the strides of `{var.name}`")
    offset = Symbols(
        scope, () if ty.elem_offset is None else (ty.elem_offset,), f"the offset of `{var.name}`"
    )
    sizes = [symbols.finish() for symbols in (shape, strides, offset)]

    def run(env: Env) -> None:
        whole = env[source]
        low, size = [f(env) for f in starts], [f(env) for f in extents]
        if any(s < 0 or i < 0 or i + s > n for i, s, n in zip(low, size, whole.shape)):
            out_of_bounds(scope, env, match, whole, [i + s - 1 for i, s in zip(low, size)])
        if any(n != 1 for n in size[: len(size) - kept]):
            raise broken(scope, env, match, "match-buffer", f"`{var.name}` leaves out a dimension of {size}")
        start = cell(scope, env, match, whole, low) if all(size) else whole.origin
        view = whole.part(var, start, tuple(size[len(size) - kept :]))
        given = (
            view.shape,
            [s // view.lanes for s in view.strides] if ty.strides else [],
            [(start - view.data.offset // view.size) // view.lanes] if ty.elem_offset is not None else [],
        )
        for symbols, numbers in zip(sizes, given):
            symbols.bind(env, numbers, match)
        for symbols, numbers in zip(sizes, given):
            found = symbols.mismatch(env, numbers)
            if found is not None:
                message = f"{symbols.what} has {found[1]} at {found[0]}, the region {found[2]}"
                raise broken(scope, env, match, "match-buffer", message)
        env[slot] = view

    return run


class Symbols:
    """Sizes that must equal given numbers; a variable not defined before stands for the number it meets."""

    __slots__ = ("_checks", "_new", "_scope", "sizes", "what")

    def __init__(self, scope: Scope, sizes: tuple[Expr, ...], what: str) -> None:
        self.what = what
        self._scope = scope
        self.sizes = sizes
        self._new: list[tuple[int, int, Var]] = []
        self._checks: list[tuple[int, Closure]] = []
        for i, size in enumerate(sizes):
            if isinstance(size, Var) and not scope.knows(size):
                self._new.append((i, scope.define(size), size))

    def finish(self) -> Symbols:
        """Compile the sizes that are computed, now that all variables are defined."""
        defined = [i for i, _, _ in self._new]
        self._checks = [
            (i, expression(self._scope, size, True)) for i, size in enumerate(self.sizes) if i not in defined
        ]
        return self

    def bind(self, env: Env, given: Sequence[int], node: Any) -> None:
        """Give the new variables their numbers."""
        for i, slot, var in self._new:
            if var.dtype.wrap(given[i]) != given[i]:
                overflow(self._scope, env, node, var.dtype, given[i])
            env[slot] = given[i]

    def mismatch(self, env: Env, given: Sequence[int]) -> tuple[int, int, int] | None:
        """The first place where the expected and the given number differ, with both."""
        for i, size in self._checks:
            wanted = size(env)
            if wanted != given[i]:
                return i, wanted, given[i]
        return None


def _realize(scope: Scope, s: SBlockRealize) -> Action:
    values, predicate = expressions(scope, s.iter_values, True), expression(scope, s.predicate, True)
    slots = [scope.define(axis.var) for axis in s.block.iter_vars]
    starts = [expression(scope, axis.dom.min, True) if axis.dom else None for axis in s.block.iter_vars]
    extents = [expression(scope, axis.dom.extent, True) if axis.dom else None for axis in s.block.iter_vars]
    kinds = [axis.iter_type for axis in s.block.iter_vars]
    block = _block(scope, s.block)

    def run(env: Env) -> Leave | None:
        bound = [v(env) for v in values]
        if not predicate(env):
            return None
        first = True
        for axis, slot, value, low, count, kind in zip(
            s.block.iter_vars, slots, bound, starts, extents, kinds
        ):
            env[slot] = value
            if low is None or count is None:
                continue
            least = low(env)
            if not least <= value < least + count(env):
                message = f"axis `{axis.var.name}` of block `{s.block.name_hint}` has the value {value}"
                raise broken(scope, env, s, "axis-range", f"{message}, outside its range")
            if kind == IterVar.COMM_REDUCE and value != least:
                first = False
        return block(env, first)

    return run


def _block(scope: Scope, s: SBlock) -> Callable[[Env, bool], Leave | None]:
    allocs = [(new_buffer(scope, b, s), scope.define(b)) for b in s.alloc_buffers]
    matches = [_match(scope, m) for m in s.match_buffers]
    init = statement(scope, s.init) if s.init is not None else None
    body = statement(scope, s.body)

    def run(env: Env, first: bool) -> Leave | None:
        for make, slot in allocs:
            env[slot] = make(env)
        for match in matches:
            match(env)
        if init is not None and first:
            left = init(env)
            if left is not None:
                return left
        return body(env)

    return run


def _bare_block(scope: Scope, s: SBlock) -> Action:
    if s.iter_vars:
        raise unsupported(s, f"block `{s.name_hint}` has axes but is not realized")
    block = _block(scope, s)

    def run(env: Env) -> Leave | None:
        return block(env, True)

    return run


_RULES: Final[dict[type, Callable[[Scope, Any], Action]]] = {
    AllocBuffer: _alloc,
    AssertStmt: _assert,
    AttrStmt: _attr,
    Bind: _bind,
    Break: _break,
    BufferStore: _store,
    Continue: _continue,
    DeclBuffer: _decl,
    Evaluate: _evaluate,
    For: _loop,
    IfThenElse: _if,
    Return: _return,
    SBlock: _bare_block,
    SBlockRealize: _realize,
    SeqStmt: _seq,
    While: _while,
}
