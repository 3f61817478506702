"""Tensors inside a function share storages: the plan of its memory."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from ...dtype import DType
from ...errors import Diagnostic, DTypeError
from ...ir import Call, Expr, ExternFunc, GlobalVar, IntImm, IRModule, PrimFunc, Tuple, TupleGetItem, Var
from ...ir.arith import Analyzer
from ...ir.relax import Binding, Function, If, MatchCast, SeqExpr, ShapeExpr, VarBinding, get_op, same_size
from ...ir.relax.rewrite import GraphRewriter, bindings_of
from ...ir.types import UNIT
from ...ir.visitor import free_vars
from ..registry import register_pass
from .size_slots import type_sizes
from .vm_calls import byte_count, called, parts

_ALLOC = "relax.builtin.alloc_tensor"
_VIEWS = (
    "relax.reshape",
    "relax.memory.view",
    "relax.memory.ensure_zero_offset",
    "vm.builtin.reshape",
)
_REACH: Final = 16
"""A storage serves tensors of down to so much less, and grows by at most as much."""
_BOUNDS = ("tir_var_upper_bound", "tirx_var_upper_bound")
_OTHERS = ("tir_var_lower_bound", "tirx_var_lower_bound")


@register_pass("relax.StaticPlanBlockMemory")
def static_plan_block_memory(mod: IRModule) -> IRModule:
    """Tensors that do not leave a function stand on storages, which are used again when nothing reads them.

    Two tensors share a storage when they are of one dtype and not alive at one time; a storage is as large
    as the largest of them.  Sizes of symbols are compared by proof; where the attribute
    `tir_var_upper_bound` of the function bounds all symbols of a size, the storage is as large as the bound.
    Tensors that the function gives back, or hands to functions that may keep them, keep memory of their own.

    before:
        @I.ir_module
        class Module:
            @T.prim_func(private=True)
            def exp(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
                for i in range(4):
                    y[i] = T.exp(x[i])

            @R.function
            def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
                R.func_attr({"relax.force_pure": True})
                cls = Module
                a = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), 0, R.str("global"))
                cls.exp(x, a)
                b = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), 0, R.str("global"))
                cls.exp(a, b)
                return b
    after:
        @I.ir_module
        class Module:
            @T.prim_func(private=True)
            def exp(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
                for i in range(4):
                    y[i] = T.exp(x[i])

            @R.function
            def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
                R.func_attr({"relax.force_pure": True})
                cls = Module
                storage = R.memory.alloc_storage(R.shape([16]), 0, R.str("global"), R.dtype("float32"))
                a = R.memory.alloc_tensor(storage, 0, R.shape([4]), R.dtype("float32"), 0)
                cls.exp(x, a)
                b = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), 0, R.str("global"))
                cls.exp(a, b)
                return b
    """
    return _Placed(mod)(mod)


@dataclass(eq=False)
class Storage:
    """Memory that several tensors stand on, one after the other."""

    size: Expr
    dtype: DType
    scope: str
    device: Any
    var: Var | None = None


@dataclass(eq=False)
class _Token:
    """A tensor to be placed: its size, and where it is used last."""

    call: Call
    size: Expr
    dtype: DType
    scope: str
    device: Any
    last: int
    escapes: bool = False


_Held: TypeAlias = "_Token | tuple[_Held, ...]"
"""The tensor that a variable holds, or those in a tuple."""


def _flat(held: _Held) -> list[_Token]:
    return [t for h in held for t in _flat(h)] if isinstance(held, tuple) else [held]


@dataclass
class _Pool:
    """Storages that nothing reads any more."""

    free: list[Storage] = field(default_factory=list)

    def take(self, token: _Token) -> Storage | None:
        """A storage for a tensor, the one that fits best; a smaller one grows. None where none is near."""
        fit = [s for s in self.free if s.dtype == token.dtype and s.scope == token.scope]
        if not isinstance(token.size, IntImm):
            found = next((s for s in fit if same_size(s.size, token.size)), None)
        else:
            found = self._nearest(fit, token.size.value)
            if found is not None and _value(found) < token.size.value:
                found.size = token.size
        if found is not None:
            self.free.remove(found)
        return found

    @staticmethod
    def _nearest(fit: list[Storage], size: int) -> Storage | None:
        sized = [s for s in fit if isinstance(s.size, IntImm)]
        larger = [s for s in sized if size <= _value(s) <= size * _REACH]
        if larger:
            return min(larger, key=_value)
        smaller = [s for s in sized if size // _REACH <= _value(s) < size]
        return max(smaller, key=_value, default=None)


def _value(storage: Storage) -> int:
    assert isinstance(storage.size, IntImm)
    return storage.size.value


def plan(seq: SeqExpr, kernels: set[str], bounds: dict[Var, int]) -> dict[Var, Storage]:
    """Which storage each tensor that a sequence allocates stands on; tensors that escape are left out."""
    found = _Uses(kernels, bounds)
    bindings = bindings_of(seq)
    for position, binding in enumerate(bindings):
        found.binding(position, binding)
    found.escape(seq.body)
    placed: dict[Var, Storage] = {}
    pool = _Pool()
    ends: dict[int, list[Storage]] = {}
    for position, binding in enumerate(bindings):
        var = getattr(binding, "var", None)
        token = found.allocated.get(var) if isinstance(var, Var) else None
        if token is not None and not token.escapes and isinstance(var, Var):
            chosen = pool.take(token)
            if chosen is None:
                chosen = Storage(token.size, token.dtype, token.scope, token.device)
            placed[var] = chosen
            ends.setdefault(token.last, []).append(chosen)
        pool.free += ends.pop(position, [])
    return placed


class _Uses:
    """Follows tensors through a sequence."""

    def __init__(self, kernels: set[str], bounds: dict[Var, int]) -> None:
        self.kernels = kernels
        self.bounds = bounds
        self.allocated: dict[Var, _Token] = {}
        self.held: dict[Var, _Held] = {}

    def of(self, value: Expr) -> list[_Token]:
        """The tensors that a value holds, or what it is computed of."""
        return [t for v in free_vars(value) for t in _flat(self.held.get(v, ()))]

    def what(self, value: Expr) -> _Held:
        """What a value that is computed of nothing holds, element by element."""
        if isinstance(value, Var):
            return self.held.get(value, ())
        if isinstance(value, Tuple):
            return tuple([self.what(f) for f in value.fields_])
        if isinstance(value, TupleGetItem):
            inner = self.what(value.tuple_value)
            return inner[value.index] if isinstance(inner, tuple) and value.index < len(inner) else inner
        return tuple(self.of(value))

    def escape(self, value: Expr) -> None:
        """What a value holds leaves the sequence."""
        for token in self.of(value):
            token.escapes = True

    def binding(self, position: int, binding: Binding) -> None:
        assert isinstance(binding, VarBinding | MatchCast)
        value = binding.value
        held = self.of(value)
        for token in held:
            token.last = position
        if called(value) == _ALLOC:
            assert isinstance(value, Call)
            token_ = self.token(value, position)
            if token_ is not None:
                self.allocated[binding.var] = token_
                self.held[binding.var] = token_
        elif (
            isinstance(value, Var | Tuple | TupleGetItem)
            or called(value) in _VIEWS
            or isinstance(binding, MatchCast)
        ):
            self.held[binding.var] = self.what(value)
        elif not self.keeps_nothing(value):
            self.escape(value)

    def keeps_nothing(self, value: Expr) -> bool:
        """Whether evaluating hands tensors to kernels only, which read and write them and no more."""
        if not isinstance(value, Call):
            return not isinstance(value, If | Function)
        if called(value) == "relax.vm.call_tir_dyn":
            return True
        if isinstance(value.op, GlobalVar):
            return value.op.name in self.kernels
        return isinstance(value.op, ExternFunc) and value.ty == UNIT

    def token(self, call: Call, position: int) -> _Token | None:
        v = parts(call)
        shape, dtype, scope = v["shape"], v["dtype"].value, v["storage_scope"]
        if not isinstance(shape, ShapeExpr):
            return None
        size = self.bounded(byte_count(shape.values, dtype))
        scope = getattr(scope, "value", scope)
        return _Token(call, size, dtype, scope, v["runtime_device_index"], position)

    def bounded(self, size: Expr) -> Expr:
        """The most that a size can be, where all of its symbols are bounded; else the size."""
        symbols = free_vars(size)
        if not symbols or not all(v in self.bounds for v in symbols):
            return size
        analyzer = Analyzer()
        for v in symbols:
            analyzer.bind_bound(v, 0, self.bounds[v])
        most = analyzer.const_int_bound(size).max
        return IntImm("int64", most) if most < 1 << 62 else size


def bounds_of(func: Function) -> dict[Var, int]:
    """The bounds of symbols that the attributes of a function give, by their names."""
    given: dict[str, int] = {}
    for key in (*_BOUNDS, *_OTHERS):
        for name, value in (func.attrs.get(key) or {}).items():
            if isinstance(value, bool) or not hasattr(value, "__index__"):
                text = f"the attribute `{key}` gives {value!r} for `{name}`, no integer"
                raise DTypeError(Diagnostic("invalid-argument", text, func.span))
            if key in _BOUNDS:
                given[str(getattr(name, "name", name))] = operator.index(value)
    found: dict[Var, int] = {}
    for param in func.params:
        for size in type_sizes(param.ty):
            for var in free_vars(size):
                if var.name in given:
                    found[var] = given[var.name]
    return found


class _Placed(GraphRewriter):
    """Puts the plan into effect."""

    def __init__(self, mod: IRModule) -> None:
        super().__init__(mod)
        self.kernels = {g.name for g, f in mod.functions.items() if isinstance(f, PrimFunc)}
        self.bounds: dict[Var, int] = {}
        self.placed: dict[Var, Storage] = {}

    def visit_Function(self, func: Function) -> Any:
        outer, self.bounds = self.bounds, bounds_of(func)
        made = super().visit_Function(func)
        self.bounds = outer
        return made

    def visit_SeqExpr(self, seq: SeqExpr) -> Any:
        self.placed.update(plan(seq, self.kernels, self.bounds))
        return super().visit_SeqExpr(seq)

    def visit_VarBinding(self, binding: VarBinding) -> None:
        storage = self.placed.get(binding.var)
        if storage is None:
            super().visit_VarBinding(binding)
            return
        call = binding.value
        assert isinstance(call, Call)
        v = parts(call)
        if storage.var is None:
            made = get_op("relax.memory.alloc_storage")(
                ShapeExpr([storage.size]), storage.device, storage.scope, storage.dtype, span=call.span
            )
            storage.var = self.builder.emit(made, "storage")
        tensor = get_op("relax.memory.alloc_tensor")(
            storage.var, 0, self.visit(v["shape"]), v["dtype"], v["runtime_device_index"], span=call.span
        )
        self.rebind(binding, tensor)


__all__ = ["Storage", "bounds_of", "plan"]
