"""Which variables a graph uses and binds, and what they stand for."""

from __future__ import annotations

from typing import Any

from ...expr import Call, Expr, GlobalVar, Var
from ...function import PrimFunc
from ...types import FuncType, PrimType, TupleType, Type
from ...visitor import Visitor, find, type_vars
from ..expr import (
    Binding,
    BindingBlock,
    DataflowBlock,
    Function,
    MatchCast,
    VarBinding,
)
from ..types import ShapeType, TensorType, shape_symbols


class Variables(Visitor):
    """Variables in order of their first occurrence: those used as values, those bound, those in types."""

    def __init__(self) -> None:
        self.used: dict[Var, None] = {}
        self.bound: dict[Var, None] = {}
        self.all: dict[Var, None] = {}
        self.symbols: dict[Var, None] = {}

    def visit_Var(self, var: Var) -> None:
        """A use."""
        self.used[var] = None
        self.all[var] = None

    def define(self, var: Var) -> None:
        """A definition, with the symbols that its type defines."""
        self.bound[var] = None
        self.all[var] = None
        self.in_type(var.ty)

    def in_type(self, ty: Type, *, defines: bool = True) -> None:
        """Note the symbols of a type; those that stand alone in a defining place are bound."""
        for var in free_type_vars(ty):
            self.symbols[var] = None
            self.all[var] = None
        if defines:
            self.bound.update(dict.fromkeys(shape_symbols(ty)))

    def visit_VarBinding(self, binding: VarBinding) -> None:
        """The value, then the variable."""
        self.visit(binding.value)
        self.bound[binding.var] = None
        self.all[binding.var] = None
        self.in_type(binding.var.ty, defines=False)

    def visit_MatchCast(self, binding: MatchCast) -> None:
        """The value, then the variable and its symbols."""
        self.visit(binding.value)
        self.define(binding.var)

    def visit_Function(self, func: Function) -> None:
        """The parameters, then the body."""
        for param in func.params:
            self.define(param)
        self.visit(func.body)
        self.in_type(func.ret_ty, defines=False)

    def visit_Call(self, call: Call) -> None:
        """The operands, and the types that the caller states."""
        if isinstance(call.op, Expr):
            self.visit(call.op)
        for arg in call.args:
            self.visit(arg)
        self.visit_value(call.attrs)
        for ty in call.ty_args:
            self.in_type(ty, defines=False)

    def visit_PrimFunc(self, func: PrimFunc) -> None:
        """Kernels have variables of their own."""


def _variables(node: Any) -> Variables:
    found = Variables()
    found(node)
    return found


def all_vars(expr: Expr) -> list[Var]:
    """The variables of an expression, symbols in types included, in order of their first occurrence."""
    return list(_variables(expr).all)


def bound_vars(expr: Expr) -> list[Var]:
    """The variables and symbols that the expression itself binds: parameters, bindings, casts."""
    return list(_variables(expr).bound)


def used_vars(expr: Expr) -> list[Var]:
    """The variables whose value the expression uses."""
    return list(_variables(expr).used)


def free_vars(expr: Expr) -> list[Var]:
    """The variables whose value the expression uses and that it does not bind."""
    found = _variables(expr)
    return [v for v in found.used if v not in found.bound]


def all_global_vars(expr: Expr) -> list[GlobalVar]:
    """The functions of the module that an expression names, each once."""
    return list({g.name: g for g in find(expr, GlobalVar)}.values())


def defined_symbolic_vars(func: Function) -> list[Var]:
    """The symbols that a function defines: by its parameters, and by casts in its body."""
    return [v for v in _variables(func).bound if _is_symbol(v)]


def free_symbolic_vars(func: Function) -> list[Var]:
    """The symbols that a function uses and does not define."""
    found = _variables(func)
    return [v for v in found.all if _is_symbol(v) and v not in found.bound]


def _is_symbol(var: Var) -> bool:
    return isinstance(var.ty, PrimType) and var.ty.dtype.is_integral


def free_type_vars(ty: Type) -> list[Var]:
    """The variables in a type that it does not define itself, as the type of a function defines symbols."""
    if isinstance(ty, TupleType):
        found = [v for field in ty.fields_ for v in free_type_vars(field)]
    elif isinstance(ty, FuncType):
        own = set(definable_tir_vars_in_type(ty))
        parts = (*(ty.arg_types or ()), ty.ret_type)
        found = [v for part in parts for v in free_type_vars(part) if v not in own]
    else:
        found = type_vars(ty)
    return list(dict.fromkeys(found))


def tir_vars_in_type(ty: Type) -> list[Var]:
    """The symbols in a type."""
    return [v for v in type_vars(ty) if _is_symbol(v)]


def definable_tir_vars_in_type(ty: Type) -> list[Var]:
    """The symbols that stand alone as a size in a type, which a parameter of that type defines."""
    if isinstance(ty, FuncType):
        return list(dict.fromkeys([v for p in ty.arg_types or () for v in definable_tir_vars_in_type(p)]))
    return shape_symbols(ty)


def collect_non_negative_expressions(ty: Type) -> list[Expr]:
    """The sizes in a type that are no constants, each once; they are never negative."""
    found: dict[Expr, None] = {}
    parts: list[Type] = [ty]
    while parts:
        part = parts.pop(0)
        if isinstance(part, TupleType):
            parts = [*part.fields_, *parts]
        elif isinstance(part, FuncType):
            parts = [*(part.arg_types or ()), part.ret_type, *parts]
        elif isinstance(part, TensorType | ShapeType):
            sizes = part.sizes if isinstance(part, TensorType) else part.values
            found.update({s: None for s in sizes or () if find(s, Var)})
    return list(found)


def udchain(dfb: DataflowBlock) -> dict[Var, list[Var]]:
    """For each variable that a block binds or uses, the variables whose bindings use it, in order."""
    chain: dict[Var, list[Var]] = {}
    for binding in dfb.bindings:
        found = Variables()
        found(binding)
        var = binding.var
        for used in [*found.used, *found.symbols]:
            if used is not var and var not in chain.setdefault(used, []):
                chain[used].append(var)
        chain.setdefault(var, [])
    return chain


def bindings_in(node: Expr) -> list[Binding]:
    """The bindings of an expression in order, at every depth."""
    return [b for block in find(node, BindingBlock) for b in block.bindings]


def name_to_binding(func: Function) -> dict[str, list[Binding]]:
    """The bindings of a function by the name of their variable."""
    found: dict[str, list[Binding]] = {}
    for binding in bindings_in(func):
        found.setdefault(binding.var.name, []).append(binding)
    return found


def get_var2val(func: Function) -> dict[Var, Expr]:
    """What each variable bound in a function stands for."""
    return {b.var: b.value for b in bindings_in(func)}


__all__ = [
    "Variables",
    "all_global_vars",
    "all_vars",
    "bindings_in",
    "bound_vars",
    "collect_non_negative_expressions",
    "definable_tir_vars_in_type",
    "defined_symbolic_vars",
    "free_symbolic_vars",
    "free_vars",
    "get_var2val",
    "name_to_binding",
    "tir_vars_in_type",
    "udchain",
    "used_vars",
]
