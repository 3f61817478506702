"""Fixing parameters and sizes of graph functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...errors import Diagnostic, IRError, suggest
from ..expr import Expr, Var
from ..visitor import find, type_vars
from .call_type import unify
from .constant import tensor_constant
from .expr import Function
from .relations import erase_definitions
from .rewrite import GraphRewriter
from .types import as_dim, shape_symbols


class BindError(IRError, RuntimeError):
    """Values that do not fit the function they are bound in."""


def bind_params(func: Function, params: Mapping[Any, Any]) -> Function:
    """The function without these parameters, given by name or variable: values stand for them.

    Values are expressions, arrays or numbers.  Sizes that the type of a value decides are known then.
    Raises BindError for what is no parameter, and for a name that several have.
    """
    values: dict[Var, Expr] = {}
    for key, value in params.items():
        values[_named(key, func.params, "parameter")] = (
            value if isinstance(value, Expr) else tensor_constant(value)
        )
    return bind(func, values)


def bind_symbolic_vars(func: Function, sizes: Mapping[Any, Any]) -> Function:
    """The function in which these sizes, given by name or variable, are numbers or expressions.

    Raises BindError for a size that no parameter has, for a name that several have, for a size that is given
    twice, and for a symbol in an expression that no parameter defines then.
    """
    symbols = list(dict.fromkeys([v for p in func.params for v in type_vars(p.ty)]))
    values: dict[Var, Expr] = {}
    for key, value in sizes.items():
        symbol = _named(key, symbols, "size")
        if symbol in values:
            raise BindError(Diagnostic("invalid-argument", f"the size `{symbol.name}` is given twice"))
        values[symbol] = as_dim(value)
    made = bind(func, values)
    defined = {v for p in made.params for v in (p, *shape_symbols(p.ty))}
    for symbol in [v for value in values.values() for v in find(value, Var)]:
        if symbol not in defined:
            wrong = f"no parameter defines the symbol `{symbol.name}`, which a size is to be made of"
            raise BindError(Diagnostic("undefined-name", wrong))
    return made


def _named(key: Any, variables: Iterable[Var], what: str) -> Var:
    known = list(variables)
    found = [v for v in known if v is key or (isinstance(key, str) and v.name == key)]
    if len(found) != 1:
        name = key.name if isinstance(key, Var) else key
        wrong = f"the function has {f'several {what}s' if found else f'no {what}'} `{name}`"
        names = suggest(str(name), [v.name for v in known])
        raise BindError(Diagnostic("unknown-parameter", wrong, help=names))
    return found[0]


def bind(func: Function, values: Mapping[Var, Expr]) -> Function:
    """The function with parameters and symbols replaced; what remains is derived anew."""
    if not values:
        return func
    made: Function = _Binder(values)(func)
    return made


class _Binder(GraphRewriter):
    def __init__(self, values: Mapping[Var, Expr]) -> None:
        super().__init__()
        self.bound = dict(values)

    def visit_Function(self, func: Function) -> Any:
        """The function without the parameters that are bound."""
        if not self.bound:
            return super().visit_Function(func)
        solved: dict[Var, Any] = {}
        for param in func.params:
            if param in self.bound:
                unify(param.ty, self.bound[param].ty, solved)
        self.vars.update({k: v for k, v in solved.items() if k is not v})
        self.vars.update(self.bound)
        rest = [p for p in func.params if p not in self.bound]
        self.bound = {}
        made = super().visit_Function(func.replace(params=rest))
        return made.replace(ret_ty=erase_definitions(made.body)) if made.body.ty != func.body.ty else made


__all__ = ["BindError", "bind", "bind_params", "bind_symbolic_vars"]
