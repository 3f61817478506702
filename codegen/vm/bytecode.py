"""Graph functions to bytecode.

Functions are in the form that the passes towards the virtual machine leave: shapes are constants or what
`vm.builtin.make_shape` gives, memory is allocated explicitly, there are no local functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...dtype import DType
from ...errors import CodegenError, Diagnostic, Span
from ...ir import (
    Call,
    Expr,
    ExternFunc,
    FloatImm,
    GenericConst,
    GlobalVar,
    IntImm,
    IRModule,
    Op,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
)
from ...ir.relax import (
    Binding,
    DataTypeImm,
    Function,
    If,
    MatchCast,
    SeqExpr,
    ShapeExpr,
    VarBinding,
)
from ...node import runs_deep
from ...runtime.vm.bytecode import FUNCTION, REGISTER, Executable, Operand
from .exec_builder import ExecBuilder


@runs_deep
def emit_bytecode(mod: IRModule, builder: ExecBuilder | None = None) -> Executable:
    """The bytecode of a module's graph functions; kernels are functions of the table by their names.

    Raises CodegenError for what no pass has lowered.
    """
    ib = builder or ExecBuilder()
    for gvar, func in mod.functions.items():
        if isinstance(func, Function):
            ib.declare(gvar.name)
    for gvar, func in mod.functions.items():
        if isinstance(func, Function):
            _Emitter(ib, gvar.name).function(func)
    return ib.get()


class _Emitter:
    """Emits one function."""

    def __init__(self, ib: ExecBuilder, name: str) -> None:
        self.ib = ib
        self.name = name
        self.registers: dict[Var, int] = {}
        self.next = 0
        self.span: Span | None = None

    def fresh(self) -> int:
        self.next += 1
        return self.next - 1

    def refuse(self, what: str) -> CodegenError:
        text = f"`{self.name}`: {what} has no bytecode"
        help = ("run the passes of `relax.pipeline` first",)
        return CodegenError(Diagnostic("unsupported-codegen", text, self.span, help=help))

    def function(self, func: Function) -> None:
        names = _unique([p.name for p in func.params])
        with self.ib.function(self.name, len(func.params), names):
            for p in func.params:
                self.registers[p] = self.fresh()
            result = self.sequence(func.body)
            self.ib.emit_ret(self.in_register(result), self.span)

    def sequence(self, seq: SeqExpr) -> Operand:
        """The value of a sequence, whose bindings are emitted."""
        for block in seq.blocks:
            for binding in block.bindings:
                self.binding(binding)
        return self.operand(seq.body)

    def binding(self, binding: Binding) -> None:
        assert isinstance(binding, VarBinding | MatchCast)
        self.span = binding.span or getattr(binding.value, "span", None) or self.span
        value = binding.value
        if isinstance(value, Call) and not _is_null(value):
            self.call(value, binding.var)
        elif isinstance(value, If):
            self.registers[binding.var] = self.choice(value)
        else:
            # Another name needs another register, since either may be killed.
            found = self.operand(value)
            made = isinstance(value, Tuple | TupleGetItem)
            self.registers[binding.var] = (
                found.value if made and found.kind == REGISTER else self.copied(found)
            )

    def copied(self, value: Operand) -> int:
        to = self.fresh()
        self.ib.emit_call("vm.builtin.copy", [value], to, self.span)
        return to

    def in_register(self, value: Operand) -> int:
        return value.value if value.kind == REGISTER else self.copied(value)

    # Values

    def operand(self, e: Expr) -> Operand:
        """An expression as an argument, emitting what makes it."""
        ib = self.ib
        match e:
            case Var():
                if e not in self.registers:
                    raise self.refuse(f"the variable `{e.name}`, which is not bound,")
                return ib.r(self.registers[e])
            case IntImm():
                small = -(1 << 55) <= e.value < 1 << 55
                return ib.c(bool(e.value)) if e.dtype.is_bool else ib.imm(e.value) if small else ib.c(e.value)
            case FloatImm() | StringImm() | DataTypeImm() | GenericConst():
                return ib.c(e.value)
            case ShapeExpr(values=values) if all(isinstance(v, IntImm) for v in values):
                return ib.c(tuple([v.value for v in values]))  # type: ignore[attr-defined]
            case Tuple(fields_=fields):
                return self.emit("vm.builtin.make_tuple", [self.operand(f) for f in fields])
            case TupleGetItem(tuple_value=value, index=index):
                return self.emit("vm.builtin.tuple_getitem", [self.operand(value), ib.imm(int(index))])
            case GlobalVar(name=name) | ExternFunc(global_symbol=name):
                return ib.f(name)
            case Call():
                return ib.void_arg() if _is_null(e) else ib.r(self.call(e, None))
            case If():
                return ib.r(self.choice(e))
            case SeqExpr():
                return self.sequence(e)
        raise self.refuse(f"a {type(e).__name__}")

    def emit(self, name: str, args: list[Operand], var: Var | None = None) -> Operand:
        """A call whose result gets a register."""
        to = self.fresh()
        self.ib.emit_call(name, args, to, self.span)
        if var is not None:
            self.registers[var] = to
        return self.ib.r(to)

    # Calls

    def call(self, call: Call, var: Var | None) -> int:
        """Emit a call; the register of its result, which it is bound to."""
        self.span = call.span or self.span
        op = call.op
        if isinstance(op, Op):
            rule = _RULES.get(op.name)
            if rule is None:
                raise self.refuse(f"the operator `{op.name}`")
            name, args = rule(self, call)
        elif isinstance(op, ExternFunc):
            if call.attrs:
                raise self.refuse(f"the call of `{op.global_symbol}` with attributes")
            name, args = op.global_symbol, self.operands(call.args)
        elif isinstance(op, GlobalVar):
            name, args = op.name, self.operands(call.args)
        else:
            name = "vm.builtin.invoke_closure"
            args = [self.ib.vm_state(), self.operand(op), *self.operands(call.args)]
        if name == "vm.builtin.null_value" and args:
            self.ib.emit_call(name, [], args[0].value, self.span)
            return args[0].value
        if _no_result(call):
            self.ib.emit_call(name, args, None, self.span)
            if var is None or var.name == "_":
                return self.ib.void_arg().value
            self.registers[var] = self.ib.void_arg().value
            return self.registers[var]
        return self.emit(name, args, var).value

    def operands(self, args: Any) -> list[Operand]:
        return [self.operand(a) for a in args]

    def choice(self, e: If) -> int:
        """An if: both branches write the same register."""
        ib = self.ib
        cond = self.emit("vm.builtin.read_if_cond", [self.operand(e.cond)])
        branch = ib.position
        ib.emit_if(cond, 1, self.span)
        to = self.fresh()
        ib.emit_call("vm.builtin.copy", [self.sequence(e.true_branch)], to, self.span)
        jump = ib.position
        ib.emit_goto(1, self.span)
        ib.patch(branch, ib.position)
        ib.emit_call("vm.builtin.copy", [self.sequence(e.false_branch)], to, self.span)
        ib.patch(jump, ib.position)
        return to


def _no_result(call: Call) -> bool:
    from ...ir.types import UNIT

    return call.ty == UNIT and not isinstance(call.op, Var)


def _is_null(e: Expr) -> bool:
    return isinstance(e, Call) and isinstance(e.op, Op) and e.op.name == "relax.null_value"


def _unique(names: list[str]) -> list[str]:
    """The names, a repeated one with a number."""
    found: list[str] = []
    for name in names:
        new, count = name, 1
        while new in found:
            new, count = f"{name}_{count}", count + 1
        found.append(new)
    return found


_Rule = Callable[[_Emitter, Call], tuple[str, list[Operand]]]
_RULES: dict[str, _Rule] = {}


def _rule(*names: str) -> Callable[[_Rule], _Rule]:
    def enter(rule: _Rule) -> _Rule:
        _RULES.update({f"relax.{name}": rule for name in names})
        return rule

    return enter


@_rule("call_builtin_with_ctx")
def _with_machine(emitter: _Emitter, call: Call) -> tuple[str, list[Operand]]:
    func, args = call.args
    return _symbol(func), [emitter.ib.vm_state(), *emitter.operands(args.fields_)]  # type: ignore[attr-defined]


@_rule("call_pure_packed", "call_inplace_packed")
def _packed(emitter: _Emitter, call: Call) -> tuple[str, list[Operand]]:
    func, *args = call.args
    return _symbol(func), emitter.operands(args)


def _symbol(func: Expr) -> str:
    return str(func.global_symbol if isinstance(func, ExternFunc) else func.name)  # type: ignore[attr-defined]


@_rule("vm.alloc_storage")
def _alloc_storage(emitter: _Emitter, call: Call) -> tuple[str, list[Operand]]:
    v = _values(call)
    args = [v["shape"], v["runtime_device_index"], v["dtype"], v["storage_scope"]]
    return "vm.builtin.alloc_storage", [emitter.ib.vm_state(), *[_plain(emitter, a) for a in args]]


@_rule("vm.alloc_tensor")
def _alloc_tensor(emitter: _Emitter, call: Call) -> tuple[str, list[Operand]]:
    v = _values(call)
    args = [v["storage"], v["offset"], v["shape"], v["dtype"], v["runtime_device_ind"]]
    return "vm.builtin.alloc_tensor", [_plain(emitter, a) for a in args]


def _values(call: Call) -> dict[str, Any]:
    from ...ir.relax import op_of

    rec = op_of(call)
    assert rec is not None
    return rec.values(call)


def _plain(emitter: _Emitter, value: Any) -> Operand:
    """An operand, or an attribute as a constant."""
    if isinstance(value, Expr):
        return emitter.operand(value)
    return emitter.ib.imm(value) if type(value) is int else emitter.ib.c(value)


@_rule("vm.kill_object")
def _kill(emitter: _Emitter, call: Call) -> tuple[str, list[Operand]]:
    return "vm.builtin.null_value", [emitter.operand(call.args[0])]


@_rule("vm.call_tir_dyn")
def _call_dyn(emitter: _Emitter, call: Call) -> tuple[str, list[Operand]]:
    func, args = call.args
    return "vm.builtin.call_tir_dyn", [emitter.operand(func), *emitter.operands(args.fields_)]  # type: ignore[attr-defined]


__all__ = ["DType", "FUNCTION", "emit_bytecode"]
