"""What a well-formed graph function is.

Each variable is defined once in the module and used only where it is visible: a `DataflowVar` in its
block, what a branch binds in the branch.  Sizes mention symbols that parameters or casts define.  Values
are in normal form.  Dataflow blocks hold neither effects nor branches, pure functions no effects.  Types
that are recorded agree with those that the operators derive; the result fits the declared type; what is
called exists and takes the arguments.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...errors import DTypeError, suggest
from ..expr import Call, Expr, GlobalVar, Var
from ..function import BaseFunc, ExternFunc, IRModule, PrimFunc
from ..op import Op
from ..relax.analysis import is_impure_call
from ..relax.call_type import retyped
from ..relax.expr import (
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
from ..relax.normal_form import is_atom, is_graph_call
from ..relax.op import find_op, is_null_value
from ..relax.relations import same_size
from ..relax.subtype import BaseCheckResult, is_base_of, type_base_check
from ..relax.types import ShapeType, TensorType, shape_symbols
from ..text import text
from ..types import AnyType, BufferType, FuncType, PrimType, TupleType, Type
from ..visitor import function_symbols
from .well_formed import Checker

CODES = (
    "branch-type",
    "dataflow-block",
    "dataflow-variable",
    "impure-call",
    "normal-form",
    "unknown-operator",
)
"""The codes of findings that only graphs have."""

_KERNELS = ("relax.call_tir", "relax.call_tir_inplace", "relax.call_tir_with_grad")
_NEVER = BaseCheckResult.FAIL_L0


class GraphChecker(Checker):
    """Checks modules that hold graph functions, and such functions alone."""

    def __init__(self, program: IRModule | BaseFunc) -> None:
        super().__init__(program)
        self.pure = False  # whether effects are refused here
        self.flow: DataflowBlock | None = None

    def visit_IRModule(self, mod: IRModule) -> None:
        super().visit_IRModule(mod)
        for func in mod.functions.values():
            if isinstance(func, Function):
                self.visit(func)

    # functions

    def visit_Function(self, func: Function) -> None:
        mark, pure, flow = len(self.trail), self.pure, self.flow
        self.pure = func.is_pure and not func.attrs.get("relax.force_pure", False)
        self.flow = None
        self._parameters(func)
        self.visit(func.ret_ty)
        self.visit_value(func.attrs)
        self.visit(func.body)
        if type_base_check(func.ret_ty, func.body.ty) is _NEVER:
            wrong = f"the function returns {_type(func.ret_ty)}, but its result is {_type(func.body.ty)}"
            self.report("return-type", wrong, func.body)
        self.pure, self.flow = pure, flow
        self.leave(mark)

    def _parameters(self, func: Function) -> None:
        known: set[int] = set()
        for param in func.params:
            if id(param) in known:
                self.report("duplicate-parameter", f"the parameter `{param.name}` occurs twice", param)
            elif isinstance(param, DataflowVar):
                self.report(
                    "dataflow-variable", f"the parameter `{param.name}` is a dataflow variable", param
                )
            known.add(id(param))
        unique = tuple({id(p): p for p in func.params}.values())
        for param in unique:
            if isinstance(param.ty, PrimType):
                self.define(param)
        for param in unique:
            self._symbols(shape_symbols(param.ty))
        for param in unique:
            if not isinstance(param.ty, PrimType):
                self.define(param)

    def _symbols(self, symbols: Iterable[Var]) -> None:
        """Define the symbols that are not visible yet."""
        for symbol in symbols:
            if isinstance(symbol.ty, PrimType) and id(symbol) not in self.visible:
                self.add(symbol)

    def visit_FuncType(self, ty: FuncType) -> None:
        mark = len(self.trail)
        for symbol in function_symbols(ty):  # its own, which the function itself defines, too
            if id(symbol) not in self.visible:
                self.visible[id(symbol)] = len(self.trail)
                self.trail.append(symbol)
        self.visit_fields(ty)
        self.leave(mark)

    def visit_TensorType(self, ty: TensorType) -> None:
        self.visit_fields(ty)
        if isinstance(ty.shape, Expr) and not is_atom(ty.shape):
            self.report("normal-form", "the shape of a tensor is written by its sizes, or a variable", ty)

    # sequences

    def visit_SeqExpr(self, seq: SeqExpr) -> None:
        mark = len(self.trail)
        for block in seq.blocks:
            self.visit(block)
        self._atom(seq.body, seq, "the value of a body")
        self.visit(seq.body)
        self.leave(mark)

    def visit_BindingBlock(self, block: BindingBlock) -> None:
        for binding in block.bindings:
            if isinstance(binding.var, DataflowVar):
                name = binding.var.name
                wrong = f"the dataflow variable `{name}` is bound outside of a dataflow block"
                self.report("dataflow-variable", wrong, binding)
            self.visit(binding)

    def visit_DataflowBlock(self, block: DataflowBlock) -> None:
        outside, self.flow = self.flow, block
        for binding in block.bindings:
            self.visit(binding)
        self.flow = outside
        for binding in block.bindings:
            var = binding.var
            if isinstance(var, DataflowVar):
                self.visible.pop(id(var), None)

    def visit_Var(self, var: Var) -> None:
        if isinstance(var, DataflowVar) and id(var) in self.defined and id(var) not in self.visible:
            text = f"the dataflow variable `{var.name}` is used outside of its block"
            self.report("dataflow-variable", text, var, *self.first(var), help=_OUTPUT, use=True)
        else:
            super().visit_Var(var)

    def visit_VarBinding(self, binding: VarBinding) -> None:
        var, value = binding.var, binding.value
        if isinstance(value, Function):  # it may call itself
            self.define(var)
            self.visit(value)
        else:
            self._normal(value, binding)
            self.visit(value)
            self.define(var)
        if isinstance(value, If):
            self._branches(binding, value)
        elif type_base_check(var.ty, value.ty) is _NEVER:
            wrong = f"`{var.name}` has the type {_type(var.ty)}, but its value is {_type(value.ty)}"
            self.report("type-mismatch", wrong, binding)

    def visit_MatchCast(self, binding: MatchCast) -> None:
        self._atom(binding.value, binding, "the value of a match_cast")
        self.visit(binding.value)
        self._symbols(shape_symbols(binding.ty))
        self.visit(binding.ty)
        if type_base_check(binding.ty, binding.value.ty) is _NEVER:
            wrong = f"a value of type {_type(binding.value.ty)} never has the type {_type(binding.ty)}"
            self.report("type-mismatch", wrong, binding)
        if not is_base_of(binding.var.ty, binding.ty):
            wrong = (
                f"`{binding.var.name}` has the type {_type(binding.var.ty)}, cast to is {_type(binding.ty)}"
            )
            self.report("type-mismatch", wrong, binding)
        self.define(binding.var)

    def _normal(self, value: Expr, binding: Binding) -> None:
        """Report a value whose parts are no arguments of the normal form."""
        if isinstance(value, SeqExpr):
            self.report("normal-form", "a sequence is the body of a function or branch only", binding)
        for part in _parts(value):
            self._atom(part, binding, f"a part of the value of `{binding.var.name}`")

    def _atom(self, value: Expr, node: Binding | SeqExpr, what: str) -> None:
        if not is_atom(value):
            wrong = f"{what} is a {type(value).__name__}, which must be bound to a variable before"
            self.report("normal-form", wrong, node, help='the pass "relax.Normalize" does so')

    # branches

    def visit_If(self, node: If) -> None:
        if self.flow is not None:
            self.report("dataflow-block", "a condition cannot stand in a dataflow block", node)
        self.visit(node.cond)
        if not _is_condition(node.cond.ty):
            self.report("condition-type", f"a condition is a bool, not {_type(node.cond.ty)}", node)
        self.scoped(node.true_branch, node.false_branch)

    def _branches(self, binding: VarBinding, value: If) -> None:
        for branch, which in ((value.true_branch, "true"), (value.false_branch, "false")):
            if type_base_check(binding.var.ty, branch.ty) is _NEVER:
                wrong = (
                    f"`{binding.var.name}` has the type {_type(binding.var.ty)}, "
                    f"but the {which} branch gives {_type(branch.ty)}"
                )
                self.report("branch-type", wrong, binding)

    # calls

    def visit_Call(self, call: Call) -> None:
        if not is_graph_call(call):
            super().visit_Call(call)
            return
        self._callee(call)
        for arg in call.args:
            self.visit(arg)
        self.visit_value(call.attrs)
        self.visit_value(call.ty_args)
        self._derived(call)
        if isinstance(call.op, Op) and call.op.name in _KERNELS:
            self._kernel(call)
        if (self.pure or self.flow is not None) and is_impure_call(call, self._itself(call)):
            where = "a dataflow block" if self.flow is not None else "a pure function"
            wrong = f"`{_callee_name(call)}` may have effects, and {where} has none"
            self.report("impure-call", wrong, call, help=_IMPURE)

    def visit_GlobalVar(self, name: GlobalVar) -> None:
        """A reference to a function of the module."""
        if isinstance(self.program, IRModule) and name.name not in self.funcs:
            near = suggest(name.name, self.funcs)
            wrong = f"the module has no function `{name.name}`"
            self.report("unknown-function", wrong, name, help=near[0] if near else None)

    def _itself(self, call: Call) -> Expr | None:
        """The function called where it is one of this module whose recorded type says nothing."""
        if isinstance(call.op, GlobalVar) and not isinstance(call.op.ty, FuncType):
            func = self.funcs.get(call.op.name)
            if isinstance(func, Function) and func.is_pure:
                return call.op
        return None

    def _callee(self, call: Call) -> None:
        op = call.op
        if isinstance(op, Op):
            if find_op(op.name) is None and not is_null_value(call):
                self.report("unknown-operator", f"there is no operator `{op.name}`", call)
            return
        self.visit(op)
        func = self.funcs.get(op.name) if isinstance(op, GlobalVar) else None
        if isinstance(func, Function | PrimFunc) and len(func.params) != len(call.args):
            wrong = f"`{_callee_name(call)}` takes {len(func.params)} arguments, not {len(call.args)}"
            self.report("argument-count", wrong, call)

    def _derived(self, call: Call) -> None:
        """Report a recorded type that says more than the operands do, or another thing."""
        try:
            derived = retyped(call).ty
        except DTypeError as err:
            for one in err.diagnostics:
                self.report(one.code, one.message, call)
            return
        if not is_base_of(call.ty, derived):
            wrong = f"the type {_type(call.ty)} is recorded for a call that gives {_type(derived)}"
            self.report("type-mismatch", wrong, call, help="derive it again: `relax.retyped(call)`")

    def _kernel(self, call: Call) -> None:
        """Report arguments and results that a kernel does not take."""
        func = self.funcs.get(call.args[0].name) if isinstance(call.args[0], GlobalVar) else None
        if not isinstance(func, PrimFunc):
            return
        given = [arg.ty for arg in call.args[1].fields_]  # type: ignore[attr-defined]
        made = list(call.ty.fields_) if isinstance(call.ty, TupleType) else [call.ty]
        reused = call.attrs.get("inplace_indices", ())
        given += [ty for i, ty in enumerate(made) if i >= len(reused) or reused[i] == -1]
        if len(given) != len(func.params):
            wrong = f"`{_callee_name(call)}` takes {len(func.params)} tensors and scalars, not {len(given)}"
            self.report("argument-count", wrong, call, help="results are counted, too")
            return
        for param, ty in zip(func.params, given):
            if not _kernel_takes(param.ty, ty):
                wrong = f"the parameter `{param.name}` of `{_callee_name(call)}` does not take {_type(ty)}"
                self.report("argument-type", wrong, call)


_OUTPUT = "give it out of the block: bind an ordinary variable"
_IMPURE = "declare the function with `pure=False`, and end the dataflow block before the call"


def _parts(value: Expr) -> list[Expr]:
    """The parts of a value that must be arguments of the normal form."""
    if isinstance(value, Call) and is_graph_call(value):
        callee = [] if isinstance(value.op, Op | BaseFunc) else [value.op]
        return [*callee, *value.args]
    found = [getattr(value, name) for name in ("tuple_value", "cond") if hasattr(value, name)]
    return [*found, *getattr(value, "fields_", ())]


def _callee_name(call: Call) -> str:
    op = call.op
    if isinstance(op, Op):
        inner = call.args[0] if op.name in _KERNELS and call.args else None
        return inner.name if isinstance(inner, GlobalVar) else op.name.replace("relax.", "R.", 1)
    return op.global_symbol if isinstance(op, ExternFunc) else getattr(op, "name", "the function")


def _kernel_takes(param: Type, given: Type) -> bool:
    """Whether a parameter of a kernel may get a value of this type, as far as both are known."""
    if isinstance(given, AnyType | ShapeType):
        return True
    if not isinstance(param, BufferType):
        return not isinstance(param, PrimType) or not isinstance(given, PrimType) or param is given
    if not isinstance(given, TensorType):
        return False
    if given.dtype is not None and given.dtype != param.dtype:
        return False
    if given.ndim >= 0 and given.ndim != len(param.shape):
        return False
    constant = [(p, s) for p, s in zip(param.shape, given.sizes or ()) if not (_open(p) or _open(s))]
    return all(same_size(p, s) for p, s in constant)


def _open(size: Expr) -> bool:
    return not hasattr(size, "value")


def _is_condition(ty: Type) -> bool:
    if isinstance(ty, PrimType):
        return ty.dtype.is_bool
    if isinstance(ty, TensorType):
        return ty.ndim in (-1, 0) and (ty.dtype is None or ty.dtype.is_bool)
    return isinstance(ty, AnyType)


def _type(ty: Type) -> str:
    return f"`{text(ty)}`"


__all__ = ["CODES", "GraphChecker"]
