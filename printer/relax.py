"""Graph functions: their signature, blocks of bindings, branches, functions inside."""

from __future__ import annotations

from ..grammar.tree import (
    AnnAssign,
    Assign,
    Blank,
    CallExpr,
    Constant,
    ExprStmt,
    FunctionDef,
    IfStmt,
    Keyword,
    Name,
    Param,
    ReturnStmt,
    SExpr,
    SStmt,
    WithItem,
    WithStmt,
)
from ..ir import Call, Expr, Op, PrimType, Tuple, TupleGetItem, TupleType, Type, Var, structural_equal
from ..ir.relax import (
    Binding,
    BindingBlock,
    DataflowBlock,
    DataflowVar,
    Function,
    If,
    MatchCast,
    SeqExpr,
    VarBinding,
)
from ..ir.visitor import type_vars
from ..node import Node
from .core import Printer, keyword, string
from .relax_exprs import as_operand, operand
from .relax_scope import GraphScope
from .relax_types import R, is_graph_type
from .values import attrs_value

_STATED = ("relax.call_tir", "relax.call_dps_packed")
"""Operators whose calls say the type of the result themselves."""


def symbols(p: Printer, func: Function) -> list[Var]:
    """The symbols that the signature of a function brings, in order."""
    given = {id(v) for v in func.params}
    found: dict[int, Var] = {}
    for ty in (*[v.ty for v in func.params], func.ret_ty):
        for v in type_vars(ty):
            if isinstance(v.ty, PrimType) and id(v) not in given and id(v) not in p.vars:
                found.setdefault(id(v), v)
    return list(found.values())


def show_graph_function(
    p: Printer, func: Function, name: str, type_vars: list[str], *, symbol: str | None = None
) -> FunctionDef:
    """The definition of a function of the module; the names of its TypeVars are added to `type_vars`.

    `symbol` is its name in the module where that is not legal.
    """
    words: list[Keyword] = []
    if symbol is not None:
        words.append(keyword("name", string(symbol)))
    if not func.is_pure:
        words.append(keyword("pure", Constant(False)))
    if "global_symbol" not in func.attrs:
        words.append(keyword("private", Constant(True)))
    p.enter(func)
    own = [p.define_type_var(v).id for v in symbols(p, func)]
    type_vars += sorted(own)
    return _definition(p, func, name, words, tuple(own), name if symbol is None else symbol)


def _definition(
    p: Printer, func: Function, name: str, words: list[Keyword], own: tuple[str, ...], symbol: str | None
) -> FunctionDef:
    """The definition of a function whose scope is open and whose symbols have names; closes the scope."""
    outside, p.graph = p.graph, GraphScope(p.frame, func, p.graph)
    p.graph.quotes = not p.options.pep695
    names = [p.define(v) for v in func.params]
    params = tuple([_param(p, v, n) for v, n in zip(func.params, names)])
    returns = p.expr(func.ret_ty)
    p.graph.quotes = False
    attrs = dict(func.attrs)
    if attrs.get("global_symbol", "") == symbol:
        del attrs["global_symbol"]
    first = [ExprStmt(CallExpr(R(p, "func_attr"), (attrs_value(p, attrs),)))] if attrs else []
    show_sequence(p, func.body)
    p.emit(ReturnStmt(operand(p, func.body.body)))
    body = (*first, *p.graph.declared, *p.leave())
    p.graph = outside
    head = R(p, "function")
    decorator: SExpr = CallExpr(head, (), tuple(words)) if words else head
    made = FunctionDef(name, params, body, (decorator,), returns, own if p.options.pep695 else ())
    if p.origins is not None:
        p.origins.append((func, (made,)))
    return made


def _param(p: Printer, var: Var, name: Name) -> Param:
    made = Param(name.id, p.expr(var.ty))
    if p.origins is not None:
        p.origins.append((var, (made,)))
    return made


# Bindings


def show_sequence(p: Printer, seq: SeqExpr) -> None:
    """The blocks of a sequence, in the scope that is open."""
    for block in seq.blocks:
        show_block(p, block)


def show_block(p: Printer, block: BindingBlock) -> None:
    """The bindings of a block; the names of a dataflow block stay in use behind it."""
    if not isinstance(block, DataflowBlock):
        for binding in block.bindings:
            show_binding(p, binding, Var)
        return
    stmts, p.frame.stmts = p.frame.stmts, []
    for binding in block.bindings:
        show_binding(p, binding, DataflowVar)
    given = [p.var(b.var) for b in block.bindings if not isinstance(b.var, DataflowVar)]
    p.emit(ExprStmt(CallExpr(R(p, "output"), tuple(given))))
    made = WithStmt((WithItem(CallExpr(R(p, "dataflow"))),), tuple(p.frame.stmts))
    p.frame.stmts = [*stmts, made]
    if p.origins is not None:
        p.origins.append((block, (made,)))


def show_binding(p: Printer, binding: Binding, kind: type[Var] = Var) -> None:
    """One binding; `kind` is the class of the variables that a bare statement makes here."""
    start = len(p.frame.stmts)
    if isinstance(binding, MatchCast):
        ty = p.expr(binding.ty)
        shown = CallExpr(R(p, "match_cast"), (operand(p, binding.value), ty))
        wanted = None if _hides(p, binding.var.ty, binding.ty) else p.expr(binding.var.ty)
        _assign(p, p.define(binding.var), wanted, shown)
    else:
        assert isinstance(binding, VarBinding)
        _show_var_binding(p, binding.var, binding.value, kind)
    if p.origins is not None:
        p.origins.append((binding, tuple(p.frame.stmts[start:])))


def _show_var_binding(p: Printer, var: Var, bound: Expr, kind: type[Var]) -> None:
    if isinstance(bound, Function):
        _show_nested(p, var, bound)
    elif isinstance(bound, If):
        _show_if(p, p.define(var), var.ty, bound)
    elif type(var) is kind and is_unit(var.ty) and is_unit(bound.ty) and not _is_used(p, var):
        p.emit(ExprStmt(operand(p, bound)))
    else:
        shown = _bound(p, bound, var.ty)
        annotation = None if _says_type(p, var, bound) else p.expr(var.ty)
        _assign(p, p.define(var), annotation, shown)


def _assign(p: Printer, name: Name, annotation: SExpr | None, shown: SExpr) -> None:
    p.emit(Assign((name,), shown) if annotation is None else AnnAssign(name, annotation, shown))


def _is_used(p: Printer, var: Var) -> bool:
    assert p.graph is not None
    return p.graph.is_used(var)


def is_unit(ty: Type) -> bool:
    """Whether this is the type of no value."""
    return isinstance(ty, TupleType) and not ty.fields_


def _says_type(p: Printer, var: Var, bound: Expr) -> bool:
    """Whether the binding needs no annotation: the value states its type, or types are not to be shown."""
    by_op = isinstance(bound, Call) and isinstance(bound.op, Op)
    if by_op and bound.op.name in _STATED:  # type: ignore[attr-defined]
        return structural_equal(var.ty, bound.ty)
    return (by_op or isinstance(bound, Var | Tuple | TupleGetItem)) and _hides(p, var.ty, bound.ty)


def _hides(p: Printer, ty: Type, derived: Type) -> bool:
    return not p.options.all_ty and structural_equal(ty, derived)


def _bound(p: Printer, value: Expr, ty: Type) -> SExpr:
    """What a name is bound to; beside an annotation as another type a number would be a tensor."""
    return operand(p, value) if ty is value.ty else as_operand(p, value)


def _show_if(p: Printer, name: Name, ty: Type, node: If) -> None:
    annotation = p.expr(ty)
    cond = as_operand(p, node.cond)
    branches = []
    for branch in (node.true_branch, node.false_branch):
        p.enter(branch)
        show_sequence(p, branch)
        if isinstance(branch.body, If):
            _show_if(p, name, ty, branch.body)
        else:
            p.emit(AnnAssign(name, annotation, _bound(p, branch.body, ty)))
        branches.append(p.leave())
    p.emit(IfStmt(cond, branches[0], branches[1]))


def _show_nested(p: Printer, var: Var, func: Function) -> None:
    if p.options.header == "tvm":
        _show_header(p, func)
    own = [(v, p.reserve(p.name_beside(v.name, p.function_names))) for v in symbols(p, func)]
    name = p.define(var).id
    names = sorted([n for _, n in own])
    if own and not p.options.pep695:
        p.type_vars_inside = True
        for n in names:
            p.emit(Assign((Name(n),), CallExpr(Name("TypeVar"), (string(n),))))
    words = [] if func.is_pure else [keyword("pure", Constant(False))]
    p.enter(func)
    for v, n in own:  # behind the function the names stay in use, though they mean nothing any more
        p.bind(v, Name(n))
    p.emit(_definition(p, func, name, words, tuple(names), None))
    p.emit(Blank())


def _show_header(p: Printer, func: Function) -> None:
    """The comment lines that the peer writes in front of a function inside of a function, too."""
    from .script import import_lines

    p.under(p.options.relax_prefix, "function")
    for line in import_lines(p, bool(symbols(p, func))):
        p.emit(line)


# Pieces


def is_graph(node: Node) -> bool:
    """Whether a piece of a program belongs to the graph dialect."""
    if isinstance(node, Call) and isinstance(node.op, Op) and node.op.name.startswith("relax."):
        return True
    return isinstance(node, Binding | BindingBlock) or is_graph_type(getattr(node, "ty", node))


def show_piece(p: Printer, node: Node) -> list[SStmt]:
    """A piece of a graph by itself; the free variables of statements are declared in front.

    Those of an expression are declared when `verbose_expr` asks for it.
    """
    scope = p.graph = GraphScope(p.frame, node)
    if isinstance(node, Type):
        p.emit(ExprStmt(p.expr(node)))
    elif isinstance(node, Expr):
        _show_value(p, node)
    elif isinstance(node, BindingBlock):
        show_block(p, node)
    elif isinstance(node, Binding):
        show_binding(p, node)
    alone = len(p.frame.stmts) == 1 and isinstance(p.frame.stmts[0], ExprStmt)
    declared = () if alone and not p.options.verbose_expr else scope.declared
    return [*declared, *p.frame.stmts]


def _branch(p: Printer, branch: SeqExpr) -> tuple[SStmt, ...]:
    """A branch of a piece, which declares what only it uses."""
    outside = p.graph
    scope = p.graph = GraphScope(p.enter(branch), branch, outside)
    _show_value(p, branch)
    p.graph = outside
    return (*scope.declared, *p.leave())


def _show_value(p: Printer, e: Expr) -> None:
    """An expression as the end of a scope: its bindings and branches are statements before."""
    if isinstance(e, SeqExpr):
        show_sequence(p, e)
        _show_value(p, e.body)
    elif isinstance(e, If):
        cond = as_operand(p, e.cond)
        p.emit(IfStmt(cond, _branch(p, e.true_branch), _branch(p, e.false_branch)))
    else:
        p.emit(ExprStmt(operand(p, e)))
