"""Statements: loops, stores, allocations and the schedulable blocks.

Scoping is flat: the variable of a `Bind`, and the buffer of an `AllocBuffer` or `DeclBuffer`, is
visible in the statements after it in the same sequence (marked `Defines("rest")`).
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Annotated, Any

from ..errors import Diagnostic, DTypeError, IRError, Span
from ..node import IGNORED, NO_ATTRS, Attrs, Defines, Node
from ..target import Target
from .expr import BufferRegion, Expr, IntImm, IterVar, StringImm, Var, _check_access, as_expr
from .types import BOOL, BufferType


class Stmt(Node):
    """Base of all statements."""

    span: Annotated[Span | None, IGNORED] = None


class ForKind(enum.IntEnum):
    """How the iterations of a loop are run (the peer's numbers)."""

    SERIAL = 0
    PARALLEL = 1
    VECTORIZED = 2
    UNROLLED = 3
    THREAD_BINDING = 4


class Bind(Stmt):
    """`var` stands for `value` in the statements after this one."""

    var: Annotated[Var, Defines("rest")]
    value: Expr

    @staticmethod
    def _coerce(var: Any, value: Any) -> tuple[Any, Any]:
        return var, as_expr(value, like=var)


class AssertStmt(Stmt):
    """Raise an error of this kind (a built-in exception's name) unless the condition holds."""

    kind: StringImm
    condition: Expr
    message_parts: tuple[StringImm, ...] = ()

    @staticmethod
    def _coerce(kind: Any, condition: Any, message_parts: Any) -> tuple[Any, ...]:
        parts = [message_parts] if isinstance(message_parts, str | StringImm) else message_parts
        return as_expr(kind), as_expr(condition), tuple([as_expr(p) for p in parts])


class AttrStmt(Stmt):
    """An attribute of `node` that holds in `body` (thread extents, pragmas, hints).

    With the key "thread_extent" the node is an IterVar, whose variable is visible in the body.
    """

    node: Annotated[Any, Defines("body")]
    attr_key: str
    value: Any
    body: Stmt

    @staticmethod
    def _coerce(node: Any, attr_key: Any, value: Any, body: Any) -> tuple[Any, ...]:
        node = node if isinstance(node, Node | Attrs | Target) else as_expr(node)
        value = value if isinstance(value, Node | Attrs | Target | tuple) else as_expr(value)
        return node, str(attr_key), value, body


class BufferStore(Stmt):
    """buffer[indices] = value; the value has the type of the access."""

    buffer: Var
    value: Expr
    indices: tuple[Expr, ...]

    @staticmethod
    def _coerce(buffer: Any, value: Any, indices: Any) -> tuple[Any, ...]:
        buffer, indices = _check_access(buffer, indices)
        return buffer, as_expr(value, like=buffer), indices


class AllocBuffer(Stmt):
    """Memory for a new buffer, alive to the end of the enclosing sequence."""

    buffer: Annotated[Var, Defines("rest")]
    annotations: Attrs = NO_ATTRS

    @staticmethod
    def _coerce(buffer: Any, annotations: Any) -> tuple[Any, Any]:
        return _is_buffer(buffer), _attrs(annotations)


class DeclBuffer(Stmt):
    """A buffer that names memory which exists: `data` points to it."""

    buffer: Annotated[Var, Defines("rest")]
    data: Expr

    @staticmethod
    def _coerce(buffer: Any, data: Any) -> tuple[Any, Any]:
        return _is_buffer(buffer), as_expr(data)


class Evaluate(Stmt):
    """An expression evaluated for what it does."""

    value: Expr

    @staticmethod
    def _coerce(value: Any) -> tuple[Any]:
        return (as_expr(value),)


class For(Stmt):
    """`for loop_var in kind(min, min + extent, step)`: body. A step of 1 is no step."""

    loop_var: Annotated[Var, Defines("body")]
    min: Expr
    extent: Expr
    kind: ForKind
    body: Stmt
    step: Expr | None = None
    thread_binding: IterVar | None = None
    annotations: Attrs = NO_ATTRS

    @staticmethod
    def _coerce(
        loop_var: Any,
        min: Any,
        extent: Any,
        kind: Any,
        body: Any,
        step: Any,
        thread_binding: Any,
        annotations: Any,
    ) -> tuple[Any, ...]:
        kind = ForKind[_KINDS.get(kind, kind).upper()] if isinstance(kind, str) else ForKind(kind)
        step = None if step is None else as_expr(step, like=loop_var)
        if isinstance(step, IntImm) and step.value == 1:
            step = None
        return (
            loop_var,
            as_expr(min, like=loop_var),
            as_expr(extent, like=loop_var),
            kind,
            body,
            step,
            thread_binding,
            _attrs(annotations),
        )


_KINDS = {"unroll": "unrolled", "vectorize": "vectorized"}


class While(Stmt):
    """Repeat the body while the condition holds."""

    condition: Expr
    body: Stmt

    @staticmethod
    def _coerce(condition: Any, body: Any) -> tuple[Any, Any]:
        return _condition(condition), body


class IfThenElse(Stmt):
    """The first case where the condition holds, the second, if any, elsewhere."""

    condition: Expr
    then_case: Stmt
    else_case: Stmt | None = None

    @staticmethod
    def _coerce(condition: Any, then_case: Any, else_case: Any) -> tuple[Any, ...]:
        return _condition(condition), then_case, else_case


class SeqStmt(Stmt):
    """Statements one after another."""

    seq: tuple[Stmt, ...]

    @staticmethod
    def _coerce(seq: Any) -> tuple[Any]:
        return (tuple(seq),)


class Return(Stmt):
    """Leave the function with this value (None: without one)."""

    value: Expr | None = None

    @staticmethod
    def _coerce(value: Any) -> tuple[Any]:
        return (None if value is None else as_expr(value),)


class Break(Stmt):
    """Leave the innermost loop."""


class Continue(Stmt):
    """Go on with the next iteration of the innermost loop."""


class BlockRef(Node):
    """The identity of a block, as the loop variable is that of a loop: it survives rewriting around it."""

    name: Annotated[str, IGNORED]


class MatchBufferRegion(Node):
    """`buffer` names the region `source` of another buffer inside a block."""

    buffer: Annotated[Var, Defines("self", symbols=True)]
    source: BufferRegion
    span: Annotated[Span | None, IGNORED] = None


class SBlock(Stmt):
    """A unit of scheduling: iteration axes, the regions it reads and writes, and a body.

    `init` runs before the body in the first iteration of the reduction axes.  `ref` is the
    block's identity; a new one is made where none is given.
    """

    iter_vars: Annotated[tuple[IterVar, ...], Defines("self")]
    reads: tuple[BufferRegion, ...]
    writes: tuple[BufferRegion, ...]
    name_hint: str
    body: Stmt
    init: Stmt | None = None
    alloc_buffers: Annotated[tuple[Var, ...], Defines("self")] = ()
    match_buffers: Annotated[tuple[MatchBufferRegion, ...], Defines("self")] = ()
    annotations: Attrs = NO_ATTRS
    ref: Annotated[BlockRef | None, IGNORED] = None

    @staticmethod
    def _coerce(
        iter_vars: Any,
        reads: Any,
        writes: Any,
        name_hint: Any,
        body: Any,
        init: Any,
        alloc_buffers: Any,
        match_buffers: Any,
        annotations: Any,
        ref: Any,
    ) -> tuple[Any, ...]:
        if ref is None:
            ref = BlockRef(name_hint)
        return (
            tuple(iter_vars),
            tuple(reads),
            tuple(writes),
            name_hint,
            body,
            init,
            tuple(alloc_buffers),
            tuple(match_buffers),
            _attrs(annotations),
            ref,
        )


class SBlockRealize(Stmt):
    """A block run with these values of its axes, where the predicate holds."""

    iter_values: tuple[Expr, ...]
    predicate: Expr
    block: SBlock

    @staticmethod
    def _coerce(iter_values: Any, predicate: Any, block: Any) -> tuple[Any, ...]:
        values = tuple([as_expr(v) for v in iter_values])
        if len(values) != len(block.iter_vars):
            raise IRError(
                Diagnostic(
                    "block-binding",
                    f"block `{block.name_hint}` has {len(block.iter_vars)} axes but {len(values)} values",
                )
            )
        return values, _condition(predicate), block


def _is_buffer(buffer: Any) -> Var:
    if not isinstance(buffer, Var) or not isinstance(buffer.ty, BufferType):
        raise DTypeError(Diagnostic("not-a-buffer", f"a {type(buffer).__name__} is not a buffer"))
    return buffer


def _condition(value: Any) -> Expr:
    e = as_expr(value)
    if e.ty is not BOOL and not e.dtype.is_bool:
        raise DTypeError(Diagnostic("condition-type", f"a condition must be bool, not `{e.dtype}`"))
    return e


def _attrs(value: Any) -> Attrs:
    return value if type(value) is Attrs else Attrs(value or {})


def seq(stmts: Iterable[Stmt]) -> Stmt:
    """The statements as one: nested sequences flattened, a single one as it is, none as `Evaluate(0)`."""
    flat: list[Stmt] = []
    for s in stmts:
        if isinstance(s, SeqStmt):
            flat.extend(s.seq)
        else:
            flat.append(s)
    if not flat:
        return Evaluate(0)
    return flat[0] if len(flat) == 1 else SeqStmt(flat)
