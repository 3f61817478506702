"""The sizes that a graph function needs at run time, each in a slot of its heap."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...ir import (
    BufferLoad,
    BufferStore,
    BufferType,
    Call,
    Expr,
    IntImm,
    Op,
    PrimFunc,
    PrimType,
    SeqStmt,
    Tuple,
    Var,
    structural_equal,
    structural_hash,
)
from ...ir.relax import (
    Binding,
    Function,
    If,
    MatchCast,
    SeqExpr,
    ShapeExpr,
    ShapeType,
    TensorType,
    VarBinding,
)
from ...ir.types import FuncType, TupleType, Type
from ...ir.visitor import free_vars, substitute

INT64 = PrimType("int64")


class Slots:
    """Sizes by number: symbols, and expressions of them that are computed when their symbols are known."""

    def __init__(self) -> None:
        self.sizes: list[Expr] = []
        self._by_hash: dict[Any, list[int]] = {}

    def find(self, size: Expr) -> int | None:
        """The slot of a size, if it has one."""
        for k in self._by_hash.get(_key(size), ()):
            if self.sizes[k] is size or structural_equal(self.sizes[k], size):
                return k
        return None

    def add(self, size: Expr) -> int:
        """The slot of a size, a new one if it has none."""
        found = self.find(size)
        if found is None:
            found = len(self.sizes)
            self.sizes.append(size)
            self._by_hash.setdefault(_key(size), []).append(found)
        return found

    def computed(self, known: set[Var], done: set[int]) -> list[int]:
        """The slots of expressions that can be computed now and are not `done`."""
        return [
            k
            for k, size in enumerate(self.sizes)
            if k not in done and not isinstance(size, Var) and known.issuperset(free_vars(size))
        ]

    def program(self, chosen: list[int]) -> PrimFunc:
        """A kernel on the heap that computes these slots."""
        heap = Var("H", BufferType("int64", [len(self.sizes)]))
        held = {
            v: BufferLoad(heap, [IntImm(INT64, k)]) for k, v in enumerate(self.sizes) if isinstance(v, Var)
        }
        stores = [
            BufferStore(heap, substitute(self.sizes[k], held), [IntImm(INT64, k)]) for k in reversed(chosen)
        ]
        body = stores[0] if len(stores) == 1 else SeqStmt(stores)
        return PrimFunc([heap], body, attrs={"s_tir": True, "tirx.is_host_func": True})


def _key(size: Expr) -> Any:
    return size if isinstance(size, Var) else structural_hash(size)


def slots_of(func: Function) -> Slots:
    """The sizes that the checks, shapes and scalar arguments of a function need."""
    slots = Slots()
    for param in func.params:
        for size in type_sizes(param.ty):
            _enter(slots, size)
    bound = set(func.params)
    for size in _body_sizes(func.body, bound):
        _enter(slots, size)
    for size in type_sizes(func.ret_ty):
        _enter(slots, size)
    return slots


def _enter(slots: Slots, size: Expr) -> None:
    """Give an expression and its symbols slots."""
    if isinstance(size, IntImm):
        return
    if isinstance(size, Var):
        slots.add(size)
        return
    slots.add(size)
    for var in free_vars(size):
        slots.add(var)


def type_sizes(ty: Type) -> Iterator[Expr]:
    """The sizes in a type, in order."""
    if isinstance(ty, TupleType):
        for field in ty.fields_:
            yield from type_sizes(field)
    elif isinstance(ty, TensorType) and isinstance(ty.shape, ShapeExpr):
        yield from ty.shape.values
    elif isinstance(ty, ShapeType) and not isinstance(ty, FuncType):
        yield from ty.values or ()


def _body_sizes(seq: SeqExpr, bound: set[Var]) -> Iterator[Expr]:
    for block in seq.blocks:
        for binding in block.bindings:
            yield from _binding_sizes(binding, bound)
            bound.add(binding.var)
    yield from value_sizes(seq.body, bound)


def _binding_sizes(binding: Binding, bound: set[Var]) -> Iterator[Expr]:
    if isinstance(binding, MatchCast):
        yield from value_sizes(binding.value, bound)
        yield from type_sizes(binding.ty)
    elif isinstance(binding, VarBinding):
        value = binding.value
        if isinstance(value, If):
            yield from value_sizes(value.cond, bound)
            yield from _body_sizes(value.true_branch, bound)
            yield from _body_sizes(value.false_branch, bound)
        else:
            yield from value_sizes(value, bound)


def value_sizes(value: Any, bound: set[Var]) -> Iterator[Expr]:
    """The sizes and scalar expressions that a bound value uses, besides variables that are bound."""
    if isinstance(value, ShapeExpr):
        yield from value.values
    elif isinstance(value, Tuple):
        for field in value.fields_:
            yield from value_sizes(field, bound)
    elif isinstance(value, Call) and not is_scalar(value):
        for arg in value.args:
            yield from value_sizes(arg, bound)
    elif is_scalar(value) and value not in bound:
        yield value


def is_scalar(value: Any) -> bool:
    """Whether a value is an integer expression of symbols: no constant, and no call that gives a number."""
    if not isinstance(value, Expr) or isinstance(value, IntImm) or value.ty is not INT64:
        return False
    return not isinstance(value, Call) or (
        isinstance(value.op, Op) and not value.op.name.startswith("relax.")
    )


__all__ = ["Slots", "is_scalar", "slots_of", "type_sizes", "value_sizes"]
