"""`BlockBuilder`: functions made binding by binding, in normal form, collected in a module.

bb = BlockBuilder()
with bb.function("main", [x]):
    with bb.dataflow():
        y = bb.emit(R.add(x, x))
        z = bb.emit_output(R.exp(y))
    bb.emit_func_output(z)
mod = bb.get()
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn

from ...errors import Diagnostic, IRError, noun
from ...node import NO_ATTRS, runs_deep
from ..expr import Call, Expr, GlobalVar, Tuple, TupleGetItem, Var
from ..function import BaseFunc, ExternFunc, IRModule
from ..op import Op
from ..types import TupleType, Type
from ..visitor import substitute
from .expr import (
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
from .function_table import FunctionTable, Names, settle_names
from .normal_form import is_atom
from .op import RelaxOp, as_argument, as_number, get_op, op_of
from .relations import erase_definitions
from .sizes import substitute_sizes
from .te_call import Key, TeCall, Unkeyed, te_call, tensors_in
from .types import TensorType


@dataclass(slots=True)
class Scope:
    """A SeqExpr in the making: its finished blocks, and the bindings of the open one."""

    blocks: list[BindingBlock] = field(default_factory=list)
    bindings: list[Binding] = field(default_factory=list)
    dataflow: bool = False

    def open(self, dataflow: bool) -> None:
        """Finish the open block; what follows stands in a new one."""
        if self.bindings:
            self.blocks.append((DataflowBlock if self.dataflow else BindingBlock)(self.bindings))
            self.bindings = []
        self.dataflow = dataflow

    def seq(self, body: Expr) -> SeqExpr:
        """The whole, with this value."""
        self.open(False)
        return SeqExpr(self.blocks, body)


@dataclass(slots=True)
class _Header:
    """What is known of the function in the making."""

    name: str
    params: Sequence[Var] | None
    attrs: Mapping[str, Any]
    pure: bool
    private: bool
    gvar: GlobalVar | None = None


_ACTIVE = threading.local()


class BuilderError(IRError, RuntimeError):
    """A builder was told something out of order."""

    default_code = "graph-builder"


def _misuse(text: str, *help: str) -> NoReturn:
    raise BuilderError(Diagnostic("graph-builder", text, help=help))


class BlockBuilder:
    """Makes functions; values are named, in normal form, as they are emitted."""

    def __init__(self, mod: IRModule | None = None) -> None:
        self.table = FunctionTable(IRModule({}) if mod is None else mod)
        self.names = Names()
        self._scopes: list[Scope] = []
        self._header: _Header | None = None
        self._values: dict[Var, Expr] = {}
        self._kernels: dict[Any, tuple[Expr, TeCall, dict[Var, int]]] = {}

    def start_from(self, mod: IRModule) -> FunctionTable:
        """Let this be the module that functions are added to; its functions, changed in place."""
        self.table = FunctionTable(mod)
        self._kernels.clear()
        return self.table

    @staticmethod
    def current() -> BlockBuilder | None:
        """The builder whose function is being made in this thread, or None."""
        stack: list[BlockBuilder] = getattr(_ACTIVE, "builders", [])
        return stack[-1] if stack else None

    # scopes

    @contextmanager
    def function(
        self,
        name: str,
        params: Var | Sequence[Var] | None = None,
        attrs: Mapping[str, Any] | None = None,
        pure: bool = True,
        private: bool = False,
    ) -> Iterator[None]:
        """A function of the module is made inside; `emit_func_output` ends it.

        Unless it is private its attribute `global_symbol` is its name.
        Raises BuilderError when it is not ended, and inside of another function.
        """
        if self._header is not None:
            _misuse(f"`{name}` begins inside of `{self._header.name}`", "emit an inner function as a value")
        header = self._header = _Header(name, _vars(params), dict(attrs or {}), pure, private)
        outer, self._scopes = self._scopes, [Scope()]
        try:
            with self._active():
                yield
        finally:
            self._scopes, self._header = outer, None
        if header.gvar is None:
            _misuse(f"the function `{name}` has no result", "end it: `bb.emit_func_output(value)`")

    @contextmanager
    def dataflow(self) -> Iterator[None]:
        """The bindings made inside form a dataflow block; `emit_output` makes what is seen after it."""
        scope = self._scope()
        if scope.dataflow:
            _misuse("a dataflow block begins inside of another")
        scope.open(True)
        with self._active():
            yield
        scope.open(False)

    @contextmanager
    def testing_scope(self, def_vars: Sequence[Var] = ()) -> Iterator[None]:
        """A dataflow block outside of any function; what is made in it can be looked up, then is dropped."""
        self.begin_scope(def_vars)
        with self.dataflow():
            yield
        self.end_scope()

    def begin_scope(self, params: Sequence[Var] | None = None) -> None:
        """Begin a sequence of bindings that is no function's."""
        self._scopes.append(Scope())

    def end_scope(self) -> tuple[BindingBlock, ...]:
        """End the innermost sequence; its blocks."""
        scope = self._scope()
        self._scopes.pop()
        scope.open(False)
        return tuple(scope.blocks)

    @contextmanager
    def _active(self) -> Iterator[None]:
        stack = _ACTIVE.__dict__.setdefault("builders", [])
        stack.append(self)
        try:
            yield
        finally:
            stack.pop()

    def _scope(self) -> Scope:
        if not self._scopes:
            _misuse(
                "there is no function to put a binding into",
                "begin one: `with bb.function(name, params):`",
            )
        return self._scopes[-1]

    def open_block(self, dataflow: bool) -> None:
        """What is emitted from here on stands in a new block; one without bindings leaves no trace."""
        self._scope().open(dataflow)

    def current_block_is_dataflow(self) -> bool:
        """Whether the open block is a dataflow block."""
        return self._scope().dataflow

    # bindings

    @runs_deep
    def emit(self, expr: Any, name_hint: str = "") -> Var:
        """The new variable that stands for the value: `lv` in a dataflow block, else `gv`."""
        return self._bind(self._normal(as_argument(expr)), name_hint)

    @runs_deep
    def emit_output(self, output: Any, name_hint: str = "") -> Var:
        """As `emit`, for a variable that is seen after the dataflow block."""
        if not self._scope().dataflow:
            _misuse("an output is emitted outside of a dataflow block", "use `bb.emit`")
        return self._bind(self._normal(as_argument(output)), name_hint or "gv", Var)

    def match_cast(self, value: Any, ty: Type, name_hint: str = "") -> Var:
        """The value, known to be of this type from here on; new symbols in the type get its sizes."""
        atom = self._atom(as_argument(value))
        var = self._new_var(ty, name_hint)
        self.emit_normalized(MatchCast(var, atom, ty))
        return var

    def emit_normalized(self, binding: Binding) -> None:
        """Append a binding as it is; its value is in normal form."""
        self._scope().bindings.append(binding)
        if isinstance(binding, VarBinding | MatchCast):
            self._values[binding.var] = binding.value

    def lookup_binding(self, var: Var) -> Expr | None:
        """What a variable of this builder stands for; None for a parameter."""
        return self._values.get(var)

    @property
    def values(self) -> Mapping[Var, Expr]:
        """What each variable of this builder stands for, parameters apart."""
        return self._values

    def get_unique_name(self, name_prefix: str) -> str:
        """A name for a variable that was not given out before."""
        return self.names.unique(name_prefix)

    def _new_var(self, ty: Type, name_hint: str, kind: type[Var] | None = None) -> Var:
        dataflow = self._scope().dataflow
        if kind is None:
            kind = DataflowVar if dataflow else Var
        return kind(self.names.unique(name_hint or ("lv" if dataflow else "gv")), ty)

    def _bind(self, value: Expr, name_hint: str = "", kind: type[Var] | None = None) -> Var:
        var = self._new_var(value.ty, name_hint, kind)
        self.emit_normalized(VarBinding(var, value))
        return var

    # normal form

    @runs_deep
    def normalize(self, expr: Any) -> Expr:
        """The expression in normal form: what may not be an argument is bound to a variable before.

        An expression in normal form comes back as it is.
        """
        return self._normal(as_argument(expr))

    def _normal(self, e: Expr) -> Expr:
        if isinstance(e, Call):
            if is_atom(e):
                return e
            op = e.op if isinstance(e.op, Op | GlobalVar | ExternFunc) else self._atom(e.op)
            args = self._atoms(e.args)
            return e if op is e.op and args is e.args else e.replace(op=op, args=args)
        if isinstance(e, Tuple):
            fields = self._atoms(e.fields_)
            return e if fields is e.fields_ else Tuple(fields)
        if isinstance(e, TupleGetItem):
            value = self._atom(e.tuple_value)
            return e if value is e.tuple_value else TupleGetItem(value, e.index)
        if isinstance(e, If):
            parts = self._atom(e.cond), self._inner(e.true_branch), self._inner(e.false_branch)
            same = parts[0] is e.cond and parts[1] is e.true_branch and parts[2] is e.false_branch
            return e if same else If(*parts)
        if isinstance(e, Function):
            body = self._inner(e.body)
            return e if body is e.body else e.replace(body=body)
        return self._spliced(e) if isinstance(e, SeqExpr) else e

    def atom(self, expr: Expr) -> Expr:
        """What stands for the expression as an argument: itself, or the variable that it is bound to."""
        return self._atom(expr)

    def _atoms(self, values: tuple[Expr, ...]) -> tuple[Expr, ...]:
        for value in values:
            if not is_atom(value):
                return tuple([self._atom(v) for v in values])
        return values

    def _atom(self, e: Expr) -> Expr:
        if is_atom(e):
            return e
        value = self._normal(e)
        return value if is_atom(value) else self._bind(value)

    def _inner(self, seq: SeqExpr) -> SeqExpr:
        """A body of its own scope."""
        self._scopes.append(Scope())
        try:
            body = self._atom(self._spliced(seq))
            made = self._scope().seq(body)
        finally:
            self._scopes.pop()
        return seq if same_seq(made, seq) else made

    def _spliced(self, seq: SeqExpr) -> Expr:
        """The value of a sequence whose bindings go into the open scope."""
        scope = self._scope()
        if scope.dataflow:
            for binding in [b for block in seq.blocks for b in block.bindings]:
                self._splice(binding)
            return self._normal(seq.body)
        for block in seq.blocks:
            scope.open(isinstance(block, DataflowBlock))
            for binding in block.bindings:
                self._splice(binding)
        scope.open(False)
        return self._normal(seq.body)

    def _splice(self, binding: Any) -> None:
        if isinstance(binding, MatchCast):
            value = self._atom(binding.value)
        else:
            value = self._normal(binding.value)
        self.emit_normalized(binding if value is binding.value else binding.replace(value=value))

    # kernels

    def call_te(
        self,
        func: Callable[..., Any],
        *args: Any,
        primfunc_name_hint: str | None = None,
        primfunc_attrs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> Call:
        """The call of a new kernel of the module, which computes `func(*args, **kwargs)`.

        The function gets te tensors for tensors, lists for tuples and shapes, scalars as they are, and
        gives a te tensor or several.  Raises DTypeError when the shape of a tensor is not known.
        """
        made = te_call(func, self._given(args), self._given(kwargs), primfunc_attrs or {})
        gvar = self.add_func(made.func, primfunc_name_hint or _function_name(func))
        return _kernel_call("relax.call_tir", gvar, made.args, made.out_ty)

    def call_te_with_grad(
        self,
        func: Callable[..., Any],
        *args: Any,
        te_grad_name: str,
        te_grad_kwargs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> Call:
        """As `call_te`; the gradient is computed by the tensor expression registered under a name."""
        call = self.call_te(func, *args, **kwargs)
        record = get_op("relax.call_tir_with_grad")
        return record(*call.args, call.ty_args[0], te_grad_name=te_grad_name, te_grad_kwargs=te_grad_kwargs)

    def emit_te(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Var:
        """Emit what `call_te` gives."""
        return self.emit(self.call_te(func, *args, **kwargs))

    @runs_deep
    def call_kernel(self, call: Call) -> Call:
        """An operator's call as the call of the kernel that its record's `te` describes.

        Equal operators on operands of equal types share a kernel, which is made once.  The result's type
        is that of the call where it states shapes.
        """
        rec = op_of(call)
        if rec is None or rec.te is None:
            name = getattr(call.op, "name", "the function called")
            raise IRError(Diagnostic("unsupported-operator", f"`{name}` has no tensor expression"))
        call = self._normal(call)  # type: ignore[assignment]
        if rec.numbers:
            call = call.replace(args=tuple([as_number(a) for a in call.args]))
        key = Key()
        try:
            mark = call.op, key.of(call.args), key.of(call.attrs)
        except Unkeyed:
            return self._made(rec, call)[0]
        found = self._kernels.get(mark)
        if found is None:
            made, kernel = self._made(rec, call)
            self._kernels[mark] = made.args[0], kernel, key.symbols
            return made
        gvar, kernel, symbols = found
        renamed = dict(zip(symbols, key.symbols))
        operands, attrs = rec.split(call)
        tensors = tensors_in([*operands, *attrs.values()])
        scalars = [substitute(e, renamed) for e in kernel.args[len(tensors) :]]
        out_ty = _best(call.ty, substitute_sizes(kernel.out_ty, renamed))
        return _kernel_call("relax.call_tir", gvar, [*tensors, *scalars], out_ty, call.span)

    def _made(self, rec: RelaxOp, call: Call) -> tuple[Call, TeCall]:
        operands, attrs = rec.split(call)
        assert rec.te is not None
        kernel = te_call(rec.te, operands, attrs, {})
        gvar = self.add_func(kernel.func, rec.kernel or rec.name.rpartition(".")[2])
        out_ty = _best(call.ty, kernel.out_ty)
        return _kernel_call("relax.call_tir", gvar, kernel.args, out_ty, call.span), kernel

    def _given(self, values: Any) -> Any:
        """Arguments of a te function; graph expressions among them in normal form."""
        if isinstance(values, Expr):
            return self._atom(values)
        if isinstance(values, list | tuple):
            return [self._given(v) for v in values]
        if isinstance(values, dict):
            return {k: self._given(v) for k, v in values.items()}
        return values

    # functions

    def emit_func_output(self, output: Any, params: Var | Sequence[Var] | None = None) -> GlobalVar:
        """End the function with this result; its name in the module.

        The result's type keeps what the parameters define; sizes known only inside are forgotten.
        """
        header, scope = self._header, self._scope()
        if header is None or header.gvar is not None:
            _misuse("there is no function to end", "begin one: `with bb.function(name, params):`")
        if scope.dataflow:
            _misuse(f"the dataflow block of `{header.name}` is not ended")
        given = _vars(params)
        if given is not None and header.params is not None:
            _misuse(f"the parameters of `{header.name}` are given twice")
        variables = header.params if given is None else given
        if variables is None:
            _misuse(f"the parameters of `{header.name}` are not given", "a function without any has `[]`")
        seq = scope.seq(self._result(as_argument(output)))
        name = self.table.names.unique(header.name)
        attrs = dict(header.attrs) if header.private else {"global_symbol": header.name, **header.attrs}
        func = Function(variables, seq, erase_definitions(seq), header.pure, attrs)
        header.gvar = self.table.put(func, name)
        return header.gvar

    def _result(self, value: Expr) -> Expr:
        value = self._normal(value)
        return value if is_atom(value) else self._bind(value)

    def add_func(self, func: BaseFunc, func_name: str) -> GlobalVar:
        """The name of the function in the module: that of an equal one, or a new one."""
        return self.table.add(func, func_name)

    def update_func(self, gv: GlobalVar, updated_func: BaseFunc) -> None:
        """Let a name of the module mean another function."""
        self.table.update(gv, updated_func)

    def get(self) -> IRModule:
        """The module as it is now."""
        return self.table.module()

    def finalize(self) -> IRModule:
        """The module as it is now; public functions have their own names, private ones give way."""
        return settle_names(self.get())


def _vars(params: Any) -> tuple[Var, ...] | None:
    """The parameters as given: None, one, several, a tuple of them."""
    if params is None:
        return None
    found = params.fields_ if isinstance(params, Tuple) else params
    made: tuple[Any, ...] = tuple(found) if isinstance(found, list | tuple) else (found,)
    for param in made:
        if not isinstance(param, Var):
            _misuse(f"a parameter of a function is a variable, not {noun(param)}")
    return made


def same_seq(a: SeqExpr, b: SeqExpr) -> bool:
    """Whether two sequences hold the same objects, so that one serves as well as the other."""
    if a.body is not b.body or len(a.blocks) != len(b.blocks):
        return False
    return all(_same_block(x, y) for x, y in zip(a.blocks, b.blocks))


def _same_block(a: BindingBlock, b: BindingBlock) -> bool:
    if type(a) is not type(b) or len(a.bindings) != len(b.bindings):
        return False
    return all(x is y for x, y in zip(a.bindings, b.bindings))


def _function_name(func: Any) -> str:
    name = getattr(func, "__name__", "")
    return name if name.isidentifier() else "te_func"


def _kernel_call(op: str, gvar: Expr, args: Sequence[Expr], out_ty: Type, span: Any = None) -> Call:
    return Call(Op(op), (gvar, Tuple(args)), out_ty, NO_ATTRS, (out_ty,), span)


def _best(stated: Type, computed: Type) -> Type:
    """The stated type of a result where it has shapes, else the computed one."""
    fields = stated.fields_ if isinstance(stated, TupleType) else (stated,)
    known = all(isinstance(ty, TensorType) and ty.shape is not None and ty.dtype is not None for ty in fields)
    return stated if known and isinstance(stated, TupleType) == isinstance(computed, TupleType) else computed


__all__ = ["BlockBuilder", "BuilderError", "Scope", "same_seq"]
