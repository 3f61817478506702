"""Schedulable blocks: axes, regions, allocations, the implicit root."""

from __future__ import annotations

from ..errors import Diagnostic, UnsupportedError
from ..grammar.tree import (
    Assign,
    Comment,
    Constant,
    ExprStmt,
    ListExpr,
    SExpr,
    TupleExpr,
    WithItem,
    WithStmt,
)
from ..ir import (
    Expr,
    For,
    IntImm,
    IterVar,
    MatchBufferRegion,
    Range,
    SBlock,
    SBlockRealize,
    SeqStmt,
    Stmt,
    Var,
    walk,
)
from .buffers import buffer_call, define_parts, same_index
from .core import Printer, keyword, shows_stmt, string
from .exprs import range_end
from .stmts import define_buffer
from .values import attrs_value

_AXES = {
    IterVar.DATA_PAR: "spatial",
    IterVar.COMM_REDUCE: "reduce",
    IterVar.ORDERED: "scan",
    IterVar.OPAQUE: "opaque",
}
_REMAP = {IterVar.DATA_PAR: "S", IterVar.COMM_REDUCE: "R"}


@shows_stmt(SBlockRealize)
def _show_realize(p: Printer, s: SBlockRealize) -> None:
    p.enter(s.block)  # the values of the axes and the predicate belong to the scope around the block
    show_axes(p, s.block.iter_vars, s.iter_values)
    if not is_true(s.predicate):
        p.emit(ExprStmt(p.call("where", (p.expr(s.predicate),))))
    emit_block(p, s.block, ())


@shows_stmt(SBlock)
def _show_block(p: Printer, s: SBlock) -> None:
    p.enter(s)
    for axis in s.iter_vars:
        p.emit(Assign((p.define(axis.var),), show_axis(p, axis, None)))
    emit_block(p, s, (keyword("no_realize", Constant(True)),))


def emit_block(p: Printer, block: SBlock, words: tuple[object, ...]) -> None:
    """Fill the scope that is open with the rest of the block, close it, and append the `with`."""
    p.emit(ExprStmt(p.call("reads", p.exprs(block.reads))))
    p.emit(ExprStmt(p.call("writes", p.exprs(block.writes))))
    if block.annotations:
        p.emit(ExprStmt(p.call("sblock_attr", (attrs_value(p, block.annotations),))))
    contents(p, block)
    inner = p.leave()
    head = p.call("sblock", (string(block.name_hint),), words)  # type: ignore[arg-type]
    made = WithStmt((WithItem(head),), inner)
    p.emit(made)
    if p.origins is not None:
        p.origins.append((block, (made,)))


def contents(p: Printer, block: SBlock) -> None:
    """Allocations, matches, init and body, in the scope that is open."""
    for buffer in block.alloc_buffers:
        define_buffer(p, buffer, buffer_call(p, "sblock_alloc_buffer", buffer))
    for match in block.match_buffers:
        _show_match(p, match)
    if block.init is not None:
        init = p.body(block.init, block.init)
        p.emit(WithStmt((WithItem(p.call("init", ())),), init))
    p.rest(block.body)


@shows_stmt(MatchBufferRegion)
def _show_match(p: Printer, m: MatchBufferRegion) -> None:
    made = buffer_call(p, "match_buffer", m.buffer, before=(p.expr(m.source),))
    name = p.define(m.buffer)
    define_parts(p, m.buffer, name)
    stmt = Assign((name,), made)
    p.emit(stmt)
    if p.origins is not None:
        p.origins.append((m, (stmt,)))


def is_true(e: Expr) -> bool:
    """Whether this is the constant true."""
    return type(e) is IntImm and e.value == 1 and e.dtype.is_bool


# Axes


def show_axes(p: Printer, axes: tuple[IterVar, ...], values: tuple[Expr, ...]) -> None:
    """The axes with their values; runs of two or more that follow loops become one `remap`."""
    i, count = 0, len(axes)
    while i < count:
        end = i
        if p.options.syntax_sugar:
            while end < count and follows_loop(p, axes[end], values[end]):
                end += 1
        if end - i < 2:
            shown = show_axis(p, axes[i], values[i])
            p.emit(Assign((p.define(axes[i].var),), shown))
            i += 1
            continue
        kinds = "".join([_REMAP[a.iter_type] for a in axes[i:end]])
        bound = ListExpr(p.exprs(values[i:end]))
        names = TupleExpr(tuple([p.define(a.var) for a in axes[i:end]]))
        p.emit(Assign((names,), p.call("axis.remap", (string(kinds), bound))))
        i = end


def follows_loop(p: Printer, axis: IterVar, value: Expr) -> bool:
    """Whether the axis is what `remap` makes of the loop variable `value`."""
    if not isinstance(value, Var) or axis.iter_type not in _REMAP or axis.thread_tag or axis.dom is None:
        return False
    loop: For | None = p.loops.get(id(value))
    if loop is None or loop.step is not None or axis.var.ty is not loop.loop_var.ty:
        return False
    return same_index(axis.dom.min, loop.min) and same_index(axis.dom.extent, loop.extent)


def show_axis(p: Printer, axis: IterVar, value: Expr | None) -> SExpr:
    """`T.axis.kind(dom, value)`. Raises UnsupportedError for an axis that a block cannot have."""
    kind = _AXES.get(axis.iter_type)
    if kind is None or axis.thread_tag or axis.dom is None:
        raise UnsupportedError(
            Diagnostic("unsupported", f"script has no spelling for the axis `{axis.var.name}` of a block")
        )
    args = [domain(p, axis.dom)]
    if value is not None:
        args.append(p.expr(value))
    words = []
    if axis.var.ty is not axis.dom.extent.ty:
        words.append(keyword("dtype", string(str(axis.var.dtype))))
    return p.call(f"axis.{kind}", args, words)


def domain(p: Printer, dom: Range) -> SExpr:
    """The extent where the range begins at 0, else `(begin, end)`."""
    if type(dom.min) is IntImm and dom.min.value == 0 and dom.min.ty is dom.extent.ty:
        return p.expr(dom.extent)
    return TupleExpr((p.expr(dom.min), range_end(p, dom.min, dom.extent)))


# The root


def show_function_body(p: Printer, body: Stmt) -> None:
    """A function's body, the root block as a comment where the reader would add it again."""
    if type(body) is SBlockRealize and p.options.syntax_sugar and is_implicit_root(body):
        p.emit(Comment(f'# with {p.options.tir_prefix}.sblock("root"):'))
        contents(p, body.block)
        return
    p.rest(body)


def is_implicit_root(s: SBlockRealize) -> bool:
    """Whether a reader adds this very block around its contents."""
    block = s.block
    if block.name_hint != "root" or block.iter_vars or block.annotations or block.init is not None:
        return False
    if block.reads or block.writes or block.match_buffers or not is_true(s.predicate):
        return False
    if block.alloc_buffers:
        return True
    body = block.body
    if type(body) is SBlockRealize and not body.block.iter_vars:
        return False
    return _holds_block(body)


def _holds_block(body: Stmt) -> bool:
    """Whether there is a block inside (the walk ends at the first)."""
    inner: Stmt = body
    while type(inner) is For:
        inner = inner.body
    if isinstance(inner, SBlock | SBlockRealize):
        return True
    if type(inner) is SeqStmt and any(isinstance(s, SBlock | SBlockRealize) for s in inner.seq):
        return True
    return any(isinstance(n, SBlock) for n in walk(inner, outer_first=True))
