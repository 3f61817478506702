"""Statements as surface trees."""

from __future__ import annotations

from typing import Any

from ..grammar.tree import (
    AnnAssign,
    AssertStatement,
    Assign,
    CallExpr,
    DictExpr,
    ExprStmt,
    ForStmt,
    IfStmt,
    Keyword,
    ListExpr,
    Name,
    ReturnStmt,
    SExpr,
    Slice,
    Subscript,
    TupleExpr,
    WhileStmt,
    WithItem,
    WithStmt,
)
from ..ir import (
    AllocBuffer,
    AssertStmt,
    AttrStmt,
    Bind,
    Break,
    BufferStore,
    Call,
    Continue,
    DeclBuffer,
    Evaluate,
    Expr,
    FloatImm,
    For,
    ForKind,
    IfThenElse,
    IntImm,
    IterVar,
    Let,
    Mul,
    Ramp,
    Return,
    SeqStmt,
    Stmt,
    StringImm,
    Var,
    While,
    free_vars,
    walk,
)
from .buffers import buffer_call, buffer_type, data_owner, define_parts, same_index, view_arguments
from .core import Printer, keyword, shows_stmt, string
from .exprs import index, is_scalar_index, range_end
from .values import attrs_value, value

_LOOPS = {
    ForKind.SERIAL: "serial",
    ForKind.PARALLEL: "parallel",
    ForKind.VECTORIZED: "vectorized",
    ForKind.UNROLLED: "unroll",
    ForKind.THREAD_BINDING: "thread_binding",
}


@shows_stmt(SeqStmt)
def _show_seq(p: Printer, s: SeqStmt) -> None:
    stmts = s.seq
    i, count = 0, len(stmts)
    while i < count:
        here = stmts[i]
        if type(here) is AllocBuffer and i + 1 < count and show_scalar(p, here, stmts[i + 1]):
            i += 2
            continue
        p.stmt(here)
        i += 1


def show_scalar(p: Printer, alloc: AllocBuffer, store: Stmt) -> bool:
    """`x: T.int32 = e` where the two statements are just that; otherwise nothing and False."""
    if type(store) is not BufferStore or store.buffer is not alloc.buffer or not is_scalar(alloc):
        return False
    buffer = alloc.buffer
    if not is_scalar_index(store.indices) or _uses(store.value, buffer):
        return False
    shown = p.expr(store.value)
    name = p.define(buffer)
    p.scalars.add(id(buffer))
    made = AnnAssign(name, p.T(str(buffer_type(buffer).dtype)), shown)
    p.emit(made)
    if p.origins is not None:
        p.origins += [(alloc, (made,)), (store, (made,))]
    return True


def is_scalar(alloc: AllocBuffer) -> bool:
    """Whether the allocation is that of `x: T.dtype = e`: one local cell, all else default."""
    ty = buffer_type(alloc.buffer)
    return (
        ty.storage_scope == "local"
        and len(ty.shape) == 1
        and type(ty.shape[0]) is IntImm
        and ty.shape[0].value == 1
        and ty.shape[0].dtype == "int32"
        and not ty.strides
        and ty.elem_offset is None
        and ty.data_alignment == 64
        and ty.offset_factor == 1
        and ty.layout is None
        and not ty.allocated_addr
        and not alloc.annotations
        and not ty.dtype.is_handle
    )


def _uses(e: Expr, var: Var) -> bool:
    return any(v is var for v in free_vars(e))


@shows_stmt(Bind)
def _show_bind(p: Printer, s: Bind) -> None:
    shown = p.expr(s.value)
    annotation = Subscript(p.T("let"), p.expr(s.var.ty))
    p.emit(AnnAssign(p.define(s.var), annotation, shown))


@shows_stmt(AllocBuffer)
def _show_alloc(p: Printer, s: AllocBuffer) -> None:
    scope = buffer_type(s.buffer).storage_scope
    what = {"local": "alloc_local", "shared": "alloc_shared"}.get(scope, "alloc_buffer")
    made = buffer_call(p, what, s.buffer, annotations=s.annotations)
    if what != "alloc_buffer":
        made = made.replace(keywords=tuple([k for k in made.keywords if k.name != "scope"]))
    define_buffer(p, s.buffer, made)


def define_buffer(p: Printer, buffer: Var, made: SExpr) -> None:
    """`name = made`, the symbols of the buffer's type defined along with it."""
    name = p.define(buffer)
    define_parts(p, buffer, name)
    p.emit(Assign((name,), made))


@shows_stmt(DeclBuffer)
def _show_decl(p: Printer, s: DeclBuffer) -> None:
    owner = data_owner(s.data)
    if owner is not None:
        args = view_arguments(p, s.buffer, owner)
        if args is not None:
            data: Any = p.expr(s.data)
            define_buffer(p, s.buffer, CallExpr(data.replace(attr="view"), args))
            return
    define_buffer(p, s.buffer, buffer_call(p, "decl_buffer", s.buffer, data=p.expr(s.data)))


@shows_stmt(BufferStore)
def _show_store(p: Printer, s: BufferStore) -> None:
    if id(s.buffer) in p.scalars and is_scalar_index(s.indices):
        target = p.var(s.buffer)
        p.emit(Assign((target,), p.expr(s.value)))
        return
    buffer = p.expr(s.buffer)
    shown = p.expr(s.value)
    parts = [p.expr(i) for i in s.indices[:-1]]
    if s.indices:
        last = s.indices[-1]
        part = ramp_slice(p, last) if type(last) is Ramp else None
        parts.append(p.expr(last) if part is None else part)
    p.emit(Assign((Subscript(buffer, index(tuple(parts))),), shown))


def ramp_slice(p: Printer, e: Ramp) -> SExpr | None:
    """`base:base + lanes * stride:stride` for a constant stride other than 0 and a plain base, else None."""
    stride, lanes = e.stride, e.lanes
    if type(stride) is not IntImm or stride.value == 0:
        return None
    base = e.base
    if any(isinstance(n, Let | FloatImm | StringImm) for n in walk(base)):
        return None  # the reader would not see that both ends hold the same expression
    if type(lanes) is IntImm:
        if lanes.dtype != "int32":
            return None
        length = stride.value * lanes.value
        if not base.dtype.min_value <= length <= base.dtype.max_value:
            return None
        end = range_end(p, base, IntImm(base.ty, length))
    else:
        scaled = lanes if stride.value == 1 else Mul(lanes, stride)
        end = range_end(p, base, scaled)
    return Slice(p.expr(base), end, None if stride.value == 1 else p.expr(stride))


@shows_stmt(Evaluate)
def _show_evaluate(p: Printer, s: Evaluate) -> None:
    shown = p.expr(s.value)
    if type(s.value) is not Call or type(shown) is not CallExpr:
        shown = p.call("evaluate", (shown,))
    p.emit(ExprStmt(shown))


@shows_stmt(AssertStmt)
def _show_assert(p: Printer, s: AssertStmt) -> None:
    condition = p.expr(s.condition)
    parts = ListExpr(tuple([p.expr(m) for m in s.message_parts]))
    p.emit(AssertStatement(condition, TupleExpr((p.expr(s.kind), parts))))


@shows_stmt(Return)
def _show_return(p: Printer, s: Return) -> None:
    p.emit(ReturnStmt(None if s.value is None else p.expr(s.value)))


@shows_stmt(Break)
def _show_break(p: Printer, s: Break) -> None:
    p.emit(ExprStmt(p.call("Break", ())))


@shows_stmt(Continue)
def _show_continue(p: Printer, s: Continue) -> None:
    p.emit(ExprStmt(p.call("Continue", ())))


@shows_stmt(While)
def _show_while(p: Printer, s: While) -> None:
    condition = p.expr(s.condition)
    p.emit(WhileStmt(condition, p.body(s.body, s.body)))


@shows_stmt(IfThenElse)
def _show_if(p: Printer, s: IfThenElse) -> None:
    condition = p.expr(s.condition)
    then = p.body(s.then_case, s.then_case)
    orelse = () if s.else_case is None else p.body(s.else_case, s.else_case)
    p.emit(IfStmt(condition, then, orelse))


# Loops


@shows_stmt(For)
def _show_for(p: Printer, s: For) -> None:
    chain = grid_chain(s) if p.options.syntax_sugar else [s]
    if len(chain) > 1:
        domain: SExpr = p.call("grid", [p.expr(loop.extent) for loop in chain])
    else:
        domain = loop_domain(p, s)
    p.enter(chain[-1].body)
    names = tuple([p.define(loop.loop_var) for loop in chain])
    for loop in chain:
        p.loops[id(loop.loop_var)] = loop
    if p.origins is not None:
        p.origins += [(loop.loop_var, (name,)) for loop, name in zip(chain, names)]
    p.rest(chain[-1].body)
    body = p.leave()
    for loop in chain:
        p.loops.pop(id(loop.loop_var), None)
    made = ForStmt(names[0] if len(names) == 1 else TupleExpr(names), domain, body)
    if p.origins is not None:
        p.origins += [(loop, (made,)) for loop in chain[1:]]
    p.emit(made)


def grid_chain(s: For) -> list[For]:
    """The nested loops that one `T.grid` says, from the outermost; only `s` where there is no grid."""
    chain = [s]
    if not _in_grid(s):
        return chain
    outer = {id(s.loop_var)}
    inner = s.body
    while type(inner) is For and _in_grid(inner):
        if type(inner.extent) is not IntImm and any(id(v) in outer for v in free_vars(inner.extent)):
            break
        chain.append(inner)
        outer.add(id(inner.loop_var))
        inner = inner.body
    return chain


def _in_grid(s: For) -> bool:
    return (
        s.kind is ForKind.SERIAL
        and type(s.min) is IntImm
        and s.min.value == 0
        and s.step is None
        and not s.annotations
        and s.thread_binding is None
        and s.loop_var.ty is s.extent.ty
        and s.min.ty is s.extent.ty
    )


def loop_domain(p: Printer, s: For) -> SExpr:
    """`range(...)` or `T.kind(...)` for one loop."""
    plain = s.loop_var.ty is s.extent.ty and not s.annotations and s.kind is ForKind.SERIAL
    args: tuple[SExpr, ...]
    if type(s.min) is IntImm and s.min.value == 0 and not (plain and s.step is not None):
        args = (p.expr(s.extent),)
    else:
        args = (p.expr(s.min), range_end(p, s.min, s.extent))
    if plain:
        return CallExpr(Name("range"), args if s.step is None else (*args, p.expr(s.step)))
    words: list[Keyword] = []
    if s.kind is ForKind.THREAD_BINDING and s.thread_binding is not None:
        words.append(keyword("thread", string(s.thread_binding.thread_tag)))
    unroll = _unroll(s)
    if unroll is not None:
        words.append(keyword("unroll", value(p, unroll)))
    elif s.annotations:
        words.append(keyword("annotations", attrs_value(p, s.annotations)))
    if s.step is not None:
        words.append(keyword("step", p.expr(s.step)))
    if s.loop_var.ty is not s.extent.ty:
        words.append(keyword("dtype", string(str(s.loop_var.dtype))))
    return p.call(_LOOPS[s.kind], args, words)


def _unroll(s: For) -> Any:
    """What `unroll=` says when the loop's only annotation is its, else None."""
    if s.kind is not ForKind.SERIAL or len(s.annotations) != 1:
        return None
    found = s.annotations.get("pragma_unroll")
    if found is True or (type(found) is int and found >= 0):
        return found
    return False if s.annotations.get("disable_unroll") is True else None


# Attributes


@shows_stmt(AttrStmt)
def _show_attr(p: Printer, s: AttrStmt) -> None:
    sole = p.sole
    if isinstance(s.node, IterVar) and is_launch(s):
        show_launch(p, s, sole)
        return
    body = s.body
    if _is_zero(s.node):
        keys, values = [s.attr_key], [s.value]
        while type(body) is AttrStmt and _is_zero(body.node) and body.attr_key not in keys:
            keys.append(body.attr_key)
            values.append(body.value)
            body = body.body
        shown = p.call(
            "attr", (DictExpr(tuple([string(k) for k in keys]), tuple([attr(p, v) for v in values])),)
        )
    else:
        shown = p.call("attr", (attr(p, s.node), string(s.attr_key), attr(p, s.value)))
    scoped(p, shown, None, body, sole)


def attr(p: Printer, item: Any) -> SExpr:
    """The node or value of an attribute statement: expressions as such, other data as attributes."""
    return p.expr(item) if isinstance(item, Expr) else value(p, item)


def _is_zero(node: Any) -> bool:
    return type(node) is IntImm and node.value == 0 and node.dtype == "int32"


def scoped(p: Printer, shown: SExpr, name: Name | None, body: Stmt, sole: bool) -> None:
    """A construct with a body: a line of its own where it is all of its scope, else a `with`."""
    if sole:
        p.emit(ExprStmt(shown) if name is None else Assign((name,), shown))
        p.rest(body)
        return
    inner = p.body(body, body)
    p.emit(WithStmt((WithItem(shown, name),), inner))


def is_launch(s: AttrStmt) -> bool:
    """Whether the statement is what `T.launch_thread` makes."""
    axis, extent = s.node, s.value
    if s.attr_key != ("virtual_thread" if axis.thread_tag.startswith("vthread") else "thread_extent"):
        return False
    if axis.iter_type != IterVar.THREAD_INDEX or not axis.thread_tag or not isinstance(extent, Expr):
        return False
    dom = axis.dom
    if dom is None or not (type(dom.min) is IntImm and dom.min.value == 0 and dom.min.ty is extent.ty):
        return False
    return axis.var.ty is extent.ty and same_index(dom.extent, extent)


def show_launch(p: Printer, s: AttrStmt, sole: bool) -> None:
    """`name = T.launch_thread("tag", extent)`; a variable launched several times is made first."""
    axis = s.node
    var = axis.var
    extent = p.expr(s.value)
    if id(var) not in p.vars and p.launches(var) > 1:
        frame = p.place(var)
        shown = p.define(var, frame)
        words = [] if var.dtype == "int32" else [keyword("dtype", string(str(var.dtype)))]
        frame.stmts.append(Assign((shown,), p.call("env_thread", (string(axis.thread_tag),), words)))
    if id(var) in p.vars:
        scoped(p, p.call("launch_thread", (p.var(var), extent)), None, s.body, sole)
        return
    shown_call = p.call("launch_thread", (string(axis.thread_tag), extent))
    if sole:
        scoped(p, shown_call, p.define(var), s.body, sole)
        return
    p.enter(s.body)
    name = p.define(var)
    p.rest(s.body)
    inner = p.leave()
    p.emit(WithStmt((WithItem(shown_call, name),), inner))
