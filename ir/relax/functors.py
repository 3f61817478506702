"""Visitors and mutators with the peer's method names: `visit_call_`, `visit_var_binding_`, ...

They are the house's `Visitor` and `GraphRewriter` under other names, for code that was written for the peer.

    @mutator
    class Swap(PyExprMutator):
        def visit_call_(self, call):
            call = self.visit_expr_post_order(call)
            return get_op("relax.subtract")(*call.args) if call.op.name == "relax.add" else call
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..expr import Call, Expr, Var
from ..function import IRModule, PrimFunc
from ..types import Type
from ..visitor import Visitor
from .block_builder import BlockBuilder
from .expr import Binding, BindingBlock, DataflowVar, Function, MatchCast, SeqExpr, VarBinding
from .rewrite import GraphRewriter

C = TypeVar("C")

_METHODS = {
    "GenericConst": "visit_generic_const_",
    "Tuple": "visit_tuple_",
    "Var": "visit_var_",
    "DataflowVar": "visit_dataflow_var_",
    "ShapeExpr": "visit_shape_expr_",
    "ExternFunc": "visit_extern_func_",
    "GlobalVar": "visit_global_var_",
    "Function": "visit_function_",
    "Call": "visit_call_",
    "SeqExpr": "visit_seq_expr_",
    "If": "visit_if_",
    "Op": "visit_op_",
    "TupleGetItem": "visit_tuple_getitem_",
    "StringImm": "visit_string_imm_",
    "DataTypeImm": "visit_data_type_imm_",
    "VarBinding": "visit_var_binding_",
    "MatchCast": "visit_match_cast_",
    "BindingBlock": "visit_binding_block_",
    "DataflowBlock": "visit_dataflow_block_",
}
"""The method for each class of node."""
_LIKE = {"DataflowVar": "visit_Var", "DataflowBlock": "visit_BindingBlock"}
"""What a class does unless told otherwise: the same as its base class."""


def _named(cls: type[C]) -> type[C]:
    """Give a class the methods by node class, which call those by the peer's names."""
    for node, name in _METHODS.items():
        default = getattr(cls, f"visit_{node}", None) or getattr(cls, _LIKE.get(node, ""), None)
        if not hasattr(cls, name):
            setattr(cls, name, default or _inside)
        setattr(cls, f"visit_{node}", _by_name(name))
    cls._table = type(cls._table)(cls, cls._table.make)  # type: ignore[attr-defined]
    return cls


def _inside(self: Any, node: Any) -> Any:
    return self.visit_fields(node)


def _by_name(name: str) -> Callable[[Any, Any], Any]:
    def visit(self: Any, node: Any) -> Any:
        return getattr(self, name)(node)

    return visit


@_named
class PyExprVisitor(Visitor):
    """Looks at the expressions of a graph: values, operands, bindings; not at types.

    `visit_expr(e)` goes to the method of an expression's class; the methods that a subclass does not
    define go on with what is inside.
    """

    def visit_expr(self, expr: Expr) -> Any:
        """Visit an expression by the method for its class."""
        return self.visit(expr)

    def visit_binding(self, binding: Binding) -> Any:
        """Visit a binding by the method for its class."""
        return self.visit(binding)

    def visit_binding_block(self, block: BindingBlock) -> Any:
        """Visit a block by the method for its class."""
        return self.visit(block)

    def visit_var_def(self, var: Var) -> Any:
        """Visit the variable that a binding or a function defines."""
        return self.visit_dataflow_var_def_(var) if isinstance(var, DataflowVar) else self.visit_var_def_(var)

    def visit_var_def_(self, var: Var) -> Any:
        """A variable is defined."""

    def visit_dataflow_var_def_(self, var: Var) -> Any:
        """A dataflow variable is defined."""

    def define(self, var: Var) -> None:
        self.visit_var_def(var)

    def visit_PrimFunc(self, func: PrimFunc) -> None:
        """Kernels are no part of a graph."""

    def visit_Type(self, ty: Type) -> None:
        """Types are not visited."""

    def visit_call_(self, call: Call) -> Any:
        """What is called, then the arguments."""
        self.visit(call.op)
        for arg in call.args:
            self.visit(arg)

    def visit_function_(self, func: Function) -> Any:
        """The parameters' definitions, then the body."""
        for param in func.params:
            self.visit_var_def(param)
        self.visit(func.body)

    def visit_var_binding_(self, binding: VarBinding) -> Any:
        """The value, then the definition."""
        self.visit(binding.value)
        self.visit_var_def(binding.var)

    def visit_match_cast_(self, binding: MatchCast) -> Any:
        """The value, then the definition."""
        self.visit(binding.value)
        self.visit_var_def(binding.var)


@_named
class PyExprMutator(GraphRewriter):
    """Changes graphs: see `rewrite.GraphRewriter`; methods have the peer's names.

    `visit_expr_post_order(e)` is the expression with its operands visited; `builder_` takes new bindings
    and functions.
    """

    def __init__(self, mod: IRModule | None = None) -> None:
        super().__init__(mod)

    @property
    def builder_(self) -> BlockBuilder:
        """The builder that the new bindings go to."""
        return self.builder

    def visit_expr(self, expr: Expr) -> Any:
        """The new expression, by the method for its class."""
        return self.visit(expr)

    def visit_binding(self, binding: Binding) -> Any:
        """Emit the new binding, by the method for its class."""
        return self.visit(binding)

    def visit_binding_block(self, block: BindingBlock) -> Any:
        """Emit the new bindings of a block, by the method for its class."""
        return self.visit(block)

    def visit_var_def(self, var: Var) -> Var:
        """The variable that takes the place of a parameter."""
        made: Var = (
            self.visit_dataflow_var_def_(var) if isinstance(var, DataflowVar) else self.visit_var_def_(var)
        )
        return made

    def visit_var_def_(self, var: Var) -> Var:
        """The variable, renewed where its type changes."""
        return super().define(var)

    def visit_dataflow_var_def_(self, var: Var) -> Var:
        """The variable, renewed where its type changes."""
        return super().define(var)

    def define(self, var: Var) -> Var:
        return self.visit_var_def(var)

    def visit_expr_post_order(self, expr: Expr) -> Any:
        """The expression with what is inside visited, whatever this class does with its kind."""
        for base in type(expr).__mro__:
            name = _METHODS.get(base.__name__)
            if name is not None:
                return getattr(PyExprMutator, name)(self, expr)
        return self.visit_fields(expr)

    def set_var_remap(self, old_var: Var, new_var: Var) -> None:
        """Let a variable be replaced by another where it is used."""
        self.vars[old_var] = new_var

    def get_var_remap(self, var: Var) -> Any:
        """What a variable is replaced by; itself where it is not."""
        return self.vars.get(var, var)

    def visit_with_new_scope(self, expr: Expr) -> Any:
        """A body in a scope of its own: what is emitted inside stays inside."""
        return self.visit(expr if isinstance(expr, SeqExpr) else SeqExpr((), expr))

    def lookup_binding(self, var: Var) -> Expr | None:
        """What a variable stands for in the new program; None for parameters."""
        return self.lookup(var)

    def with_type(self, var: Var, ty: Type) -> Var:
        """A variable like this one, of this type; the variable itself where it has it."""
        return var if var.ty == ty else type(var)(var.name, ty, var.span)


def visitor(cls: type[C]) -> type[C]:
    """Decorator of a subclass of PyExprVisitor: the class itself."""
    return cls


def mutator(cls: type[C]) -> type[C]:
    """Decorator of a subclass of PyExprMutator: the class itself."""
    return cls


__all__ = ["PyExprMutator", "PyExprVisitor", "mutator", "visitor"]
