"""Functions and modules.

Symbols that the shapes of buffer parameters define are introduced where they first stand: those
of dtype int64 as `n = TypeVar("n")` before the definition, others quoted (`"n"`) and declared at the top
of the body.  A stride or offset symbol of one buffer alone needs no declaration: it is spelled
`A.strides[0]`, `A.elem_offset`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..grammar.tree import (
    Assign,
    Attribute,
    Blank,
    CallExpr,
    ClassDef,
    Constant,
    DictExpr,
    ExprStmt,
    FunctionDef,
    Keyword,
    KeywordStmt,
    ListExpr,
    Name,
    Param,
    SExpr,
    SStmt,
    Subscript,
    TupleExpr,
)
from ..ir import (
    VOID,
    AnyType,
    BaseFunc,
    BufferType,
    DummyGlobalInfo,
    Expr,
    ExternFunc,
    GlobalInfo,
    IRModule,
    PrimFunc,
    Var,
    VDevice,
    free_vars,
)
from ..ir.relax import Function
from ..ir.visitor import type_vars
from ..node import Attrs
from ..target import Target
from .blocks import show_function_body
from .buffers import buffer_type, default_offset_dtype
from .core import Printer, keyword, shows, string
from .layout import layout
from .names import RESERVED, Names, identifier, legal_name
from .relax import show_graph_function, symbols
from .relax_scope import GraphScope
from .values import attrs_value, value


class Signature:
    """Shows the parameters of one function and introduces the symbols in their types."""

    def __init__(self, p: Printer, func: PrimFunc) -> None:
        self.p = p
        self.given = {id(v) for v in func.params}
        self.known: set[int] = set()
        self.counts = symbol_counts(func)
        self.declared: list[list[Var]] = []

    def param(self, var: Var) -> Param:
        """One parameter with its annotation."""
        p = self.p
        if not isinstance(var.ty, BufferType):
            name = self.name_of(var)
            self.known.add(id(var))
            made = Param(name, p.expr(var.ty))
        else:
            self.declared.append([])
            for symbol in symbols_of(var.ty):
                self.introduce(symbol, var.ty)
            shown = p.define(var)
            made = Param(shown.id, self.annotation(var, shown))
            self.known.add(id(var))
        if p.origins is not None:
            p.origins.append((var, (made,)))
        return made

    def name_of(self, var: Var) -> str:
        """The name of a parameter or symbol, given at its first occurrence."""
        shown = self.p.vars.get(id(var))
        if not isinstance(shown, Name):
            if id(var) in self.given or self.p.options.show_object_address:
                shown = self.p.define(var)
            else:
                shown = self.p.define_as(var, self.p.symbol_name(var.name))
        return shown.id

    def introduce(self, symbol: Var, ty: BufferType) -> None:
        """Name a new symbol unless it will be spelled as a part of its buffer."""
        if id(symbol) in self.p.vars or self.is_part(symbol, ty):
            return
        self.name_of(symbol)
        if id(symbol) not in self.given and not is_type_symbol(symbol):
            self.declared[-1].append(symbol)

    def is_part(self, symbol: Var, ty: BufferType) -> bool:
        """Whether the symbol is a stride or the offset of this buffer and the signature has it only there."""
        if id(symbol) in self.given or self.counts[id(symbol)] != 1 or symbol.dtype != "int32":
            return False
        if symbol is ty.elem_offset:
            return default_offset_dtype(ty) == "int32"
        return any(symbol is s for s in ty.strides)

    def annotation(self, buffer: Var, name: Name) -> SExpr:
        """`T.Buffer(shape, dtype, ...)`"""
        p, ty = self.p, buffer_type(buffer)
        args: tuple[SExpr, ...] = (
            TupleExpr(tuple([self.entry(d) for d in ty.shape])),
            string(str(ty.dtype)),
        )
        words: list[Keyword] = []
        if ty.strides:
            steps = [
                self.stride(ty, s, Subscript(Attribute(name, "strides"), Constant(i)))
                for i, s in enumerate(ty.strides)
            ]
            words.append(keyword("strides", TupleExpr(tuple(steps))))
        factor = ty.offset_factor != 1
        offset = ty.elem_offset
        if offset is not None:
            if isinstance(offset, Var) and id(offset) in self.given:
                words.append(keyword("elem_offset", Name(self.name_of(offset))))
            elif isinstance(offset, Var) and id(offset) not in p.vars:
                p.bind(offset, Attribute(name, "elem_offset"))
                factor = True
            else:
                words.append(keyword("elem_offset", self.entry(offset)))
        elif factor:
            words.append(keyword("elem_offset", Constant(0)))  # a factor alone would mean a symbol
        if ty.storage_scope != "global":
            words.append(keyword("scope", string(ty.storage_scope)))
        if ty.data_alignment != 64:
            words.append(keyword("align", Constant(ty.data_alignment)))
        if factor:
            words.append(keyword("offset_factor", Constant(ty.offset_factor)))
        if ty.layout is not None:
            words.append(keyword("layout", p.expr(ty.layout)))
        if ty.allocated_addr:
            words.append(keyword("allocated_addr", ListExpr(p.exprs(ty.allocated_addr))))
        return p.call("Buffer", args, words)

    def stride(self, ty: BufferType, stride: Expr, part: SExpr) -> SExpr:
        """A stride; a symbol of this buffer alone is quoted and spelled as `part` from here on."""
        p = self.p
        if isinstance(stride, Var) and id(stride) in self.given:
            return Name(self.name_of(stride))
        if isinstance(stride, Var) and id(stride) not in p.vars:
            quoted = string(p.quoted(stride))
            p.bind(stride, part)
            return quoted
        return self.entry(stride)

    def entry(self, e: Expr) -> SExpr:
        """A dimension, stride or offset: quoted where it introduces a symbol or computes with a TypeVar."""
        p = self.p
        used = [e] if isinstance(e, Var) else free_vars(e)
        if not used:
            return p.expr(e)
        new = [
            v for v in used if id(v) not in self.known and not (is_type_symbol(v) and id(v) not in self.given)
        ]
        typed = any(is_type_symbol(v) and id(v) not in self.given for v in used)
        self.known.update([id(v) for v in used])
        for v in new:
            self.name_of(v)
        shown = p.expr(e)
        if new or (typed and not isinstance(e, Var) and not p.options.pep695):
            return string(str(layout(shown)))
        return shown

    def declarations(self) -> Iterable[SStmt]:
        """`n, m = T.int32(), T.int32()` for the symbols that each parameter introduced."""
        for group in self.declared:
            if group:
                names = [Name(self.name_of(v)) for v in group]
                made = [self.p.declaration(v.ty) for v in group]
                if len(group) == 1:
                    yield Assign((names[0],), made[0])
                else:
                    yield Assign((TupleExpr(tuple(names)),), TupleExpr(tuple(made)))


def is_type_symbol(var: Var) -> bool:
    """Whether a symbol of a signature prints as a TypeVar."""
    return bool(var.dtype == "int64")


def symbols_of(ty: BufferType) -> list[Var]:
    """The variables in a buffer's type, in order, each once."""
    found: dict[int, Var] = {}
    for e in (*ty.shape, *ty.strides, *(() if ty.elem_offset is None else (ty.elem_offset,))):
        for v in [e] if isinstance(e, Var) else free_vars(e):
            found.setdefault(id(v), v)
    return list(found.values())


def symbol_counts(func: PrimFunc) -> dict[int, int]:
    """How often each variable stands as or in a part of the parameters' types."""
    counts: dict[int, int] = {}
    for param in func.params:
        if isinstance(param.ty, BufferType):
            ty = param.ty
            for e in (*ty.shape, *ty.strides, *(() if ty.elem_offset is None else (ty.elem_offset,))):
                for v in [e] if isinstance(e, Var) else free_vars(e):
                    counts[id(v)] = counts.get(id(v), 0) + 1
    return counts


def type_symbols(func: PrimFunc) -> list[Var]:
    """The symbols of a function that print as TypeVars."""
    given = {id(v) for v in func.params}
    found: dict[int, Var] = {}
    for param in func.params:
        if isinstance(param.ty, BufferType):
            for v in symbols_of(param.ty):
                if is_type_symbol(v) and id(v) not in given:
                    found.setdefault(id(v), v)
    return list(found.values())


def _type_symbols(p: Printer, func: BaseFunc) -> list[Var]:
    if isinstance(func, PrimFunc):
        return type_symbols(func)
    return symbols(p, func) if isinstance(func, Function) else type_vars(func.ty)


def plan_type_names(p: Printer, funcs: Iterable[BaseFunc]) -> None:
    """Note the names that the TypeVars of these functions will get."""
    for func in funcs:
        taken = Names()
        for symbol in _type_symbols(p, func):
            name = taken.fresh(symbol.name)
            while name in p.names or name in p.function_names:
                name = taken.fresh(symbol.name)
            p.type_names.add(name)


def type_var_lines(p: Printer, names: Iterable[str]) -> list[SStmt]:
    """`n = TypeVar("n")` for each name, in the order of their first use; one serves all functions."""
    if p.options.pep695:
        return []
    return [Assign((Name(n),), CallExpr(Name("TypeVar"), (string(n),))) for n in dict.fromkeys(names)]


def show_prim_func(
    p: Printer, func: PrimFunc, name: str, type_vars: list[str], *, symbol: str | None = None
) -> FunctionDef:
    """The definition of a function under this name; the names of its TypeVars are added to `type_vars`.

    `symbol` is its name in the module where that is not legal.
    """
    p.enter_function(func.body)
    own = tuple([p.define_type_var(symbol).id for symbol in type_symbols(func)])
    type_vars += sorted(own)
    signature = Signature(p, func)
    params = tuple([signature.param(v) for v in func.params])
    returns = None if func.ret_type is VOID else p.expr(func.ret_type)
    for line in signature.declarations():
        p.emit(line)
    attrs = dict(func.attrs)
    words = []
    if symbol is not None:
        words.append(keyword("name", string(symbol)))
    if "global_symbol" not in attrs:
        words.append(keyword("private", Constant(True)))
    elif attrs["global_symbol"] == (name if symbol is None else symbol):
        del attrs["global_symbol"]
    for attr, word in (("s_tir", "s_tir"), ("persistent", "persistent")):
        if attrs.get(attr) is True:
            del attrs[attr]
            words.append(keyword(word, Constant(True)))
    if attrs:
        p.emit(ExprStmt(p.call("func_attr", (attrs_value(p, attrs),))))
    show_function_body(p, func.body)
    body = p.leave()
    head = p.T("prim_func")
    decorator: SExpr = CallExpr(head, (), tuple(words)) if words else head
    made = FunctionDef(name, params, body, (decorator,), returns, own if p.options.pep695 else ())
    if p.origins is not None:
        p.origins.append((func, (made,)))
    return made


def show_function(p: Printer, func: PrimFunc | Function) -> list[SStmt]:
    """A function by itself."""
    found = func.attrs.get("global_symbol")
    name = found if isinstance(found, str) and found else (p.options.name or "main")
    if not legal_name(name):
        name = identifier(name) if identifier(name) not in RESERVED else identifier(name) + "_1"
    names: list[str] = []
    made = _definition(p, func, name, names)
    return [*type_var_lines(p, names), made]


def show_module(p: Printer, mod: IRModule) -> list[SStmt]:
    """A module as a class."""
    p.module = mod
    p.module_name = p.names.fresh(p.options.name or "Module")
    body: list[SStmt] = []
    if mod.attrs:
        body.append(ExprStmt(CallExpr(p.I("module_attrs"), (attrs_value(p, mod.attrs),))))
    if mod.global_infos:
        keys = sorted(mod.global_infos)
        infos = [ListExpr(p.exprs(mod.global_infos[k])) for k in keys]
        shown = DictExpr(tuple([string(k) for k in keys]), tuple(infos))
        body.append(ExprStmt(CallExpr(p.I("module_global_infos"), (shown,))))
    type_names: list[str] = []
    table = sorted(((g.name, f) for g, f in mod.functions.items()), key=_place)
    names = [unique(identifier(symbol), p.function_names) for symbol, _ in table]
    plan_type_names(p, mod.functions.values())
    for name, (symbol, func) in zip(names, table):
        defined = isinstance(func, PrimFunc | Function)
        if body and isinstance(body[-1], FunctionDef):
            body.append(Blank())
        if defined:
            body.append(_definition(p, func, name, type_names, None if name == symbol else symbol))
        else:
            body.append(show_extern(p, symbol, func, name, type_names))
    made = ClassDef(p.module_name, (), tuple(body) or (KeywordStmt("pass"),), (p.I("ir_module"),))
    if p.origins is not None:
        p.origins.append((mod, (made,)))
    return [*type_var_lines(p, type_names), made]


def _place(item: tuple[str, BaseFunc]) -> tuple[bool, int, str]:
    """Where a function stands in its module: kernels, external ones, graphs, each by name; `main` last."""
    name, func = item
    kind = 0 if isinstance(func, PrimFunc) else 2 if isinstance(func, Function) else 1
    return name == "main", kind, name


def _definition(
    p: Printer, func: BaseFunc, name: str, type_vars: list[str], symbol: str | None = None
) -> FunctionDef:
    if isinstance(func, Function):
        return show_graph_function(p, func, name, type_vars, symbol=symbol)
    assert isinstance(func, PrimFunc)
    if p.module is None:
        plan_type_names(p, [func])
    return show_prim_func(p, func, name, type_vars, symbol=symbol)


def unique(name: str, used: set[str]) -> str:
    """A legal name for a function that no other of the module has."""
    made, number = name, 0
    while made in used or made in RESERVED:
        number += 1
        made = f"{name}_{number}"
    used.add(made)
    return made


def show_extern(p: Printer, symbol: str, func: BaseFunc, name: str, names: list[str]) -> SStmt:
    """`name = R.ExternFunc("symbol")`; functions of other kinds raise UnsupportedError.

    The names of TypeVars in its type are added to `names`.
    """
    p.enter(func)
    p.graph = GraphScope(p.frame, func)
    names += sorted([p.define(v).id for v in type_vars(func.ty)])
    shown = p.expr(func)
    p.graph = None
    p.leave()
    if name != symbol and isinstance(shown, CallExpr):
        shown = shown.replace(keywords=(*shown.keywords, keyword("name", string(symbol))))
    return Assign((Name(name),), shown)


@shows(ExternFunc)
def _show_extern_func(p: Printer, f: ExternFunc) -> SExpr:
    words = []
    attrs = Attrs(f.attrs)
    if attrs.get("global_symbol") == f.global_symbol:
        attrs = attrs.without("global_symbol")
    if attrs:
        words.append(keyword("attrs", attrs_value(p, attrs)))
    args: tuple[SExpr, ...] = (string(f.global_symbol),)
    if not isinstance(f.ty, AnyType):
        args = (*args, p.expr(f.ty))
    return CallExpr(p.under(p.options.relax_prefix, "ExternFunc"), args, tuple(words))


@shows(VDevice)
def _show_vdevice(p: Printer, d: VDevice) -> SExpr:
    target: Any = d.target
    shown = value(p, target.export() if isinstance(target, Target) else target)
    return CallExpr(p.I("vdevice"), (shown, Constant(d.vdevice_id), string(d.memory_scope)))


@shows(DummyGlobalInfo)
def _show_dummy(p: Printer, d: GlobalInfo) -> SExpr:
    return CallExpr(p.I("dummy_global_info"))
