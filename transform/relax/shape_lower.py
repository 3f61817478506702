"""Symbolic shapes become slots of a heap that a function fills from its arguments."""

from __future__ import annotations

from typing import Any

from ...ir import Call, Expr, GlobalVar, IntImm, IRModule, PrimType, StringImm, Tuple, TupleGetItem, Var
from ...ir.relax import (
    DataTypeImm,
    Function,
    MatchCast,
    SeqExpr,
    ShapeExpr,
    ShapeType,
    TensorType,
    VarBinding,
    null_value,
)
from ...ir.relax.rewrite import GraphRewriter
from ...ir.relax.subtype import is_base_of
from ...ir.text import text
from ...ir.types import AnyType, FuncType, StringType, TupleType, Type
from ...ir.visitor import free_vars
from ..common import refuse
from ..registry import register_pass
from .size_slots import INT64, Slots, is_scalar, slots_of
from .vm_calls import number, packed, with_machine

EQUAL, STORE, SKIP, SAME = 0, 1, 2, 3
"""What `vm.builtin.match_shape` does with a size: see runtime/vm/checks.py."""
LITERAL, LOAD = 0, 1
"""Where `vm.builtin.make_shape` has a size from."""


@register_pass("relax.VMShapeLower")
def vm_shape_lower(mod: IRModule, emit_err_ctx: bool = True) -> IRModule:
    """Parameters, casts and results are checked, and shapes made, by functions of the virtual machine.

    A function begins with a heap of sizes: `match_shape` compares and keeps sizes, a kernel `shape_func`
    computes expressions of them, `make_shape` makes shapes.  `emit_err_ctx`: checks get a text for errors.

    with: emit_err_ctx=False
    before:
        @R.function
        def main(x: R.Tensor(("n",), dtype="float32")) -> R.Shape(["n"]):
            R.func_attr({"relax.force_pure": True})
            n = T.int64()
            return R.shape([n])
    after:
        @R.function
        def main(x: R.Tensor(("n",), dtype="float32")) -> R.Shape(["n"]):
            R.func_attr({"relax.force_pure": True})
            n = T.int64()
            shape_heap = R.call_builtin_with_ctx(
                "vm.builtin.alloc_shape_heap", (1,), ty_args=(R.Tensor(dtype="int64", ndim=1),)
            )
            R.call_packed(
                "vm.builtin.check_tensor_info", x, 1, R.dtype("float32"), R.str(""), ty_args=(R.Tuple(),)
            )
            R.call_packed("vm.builtin.match_shape", x, shape_heap, 1, 1, 0, R.str(""), ty_args=(R.Tuple(),))
            gv = R.call_packed("vm.builtin.make_shape", shape_heap, 1, 1, 0, ty_args=(R.Shape(ndim=1),))
            return gv
    """
    return _Lower(mod, emit_err_ctx)(mod)


class _Context:
    """What a check says when it fails."""

    def __init__(self, head: str, ty: Type, wanted: bool) -> None:
        self.head, self.ty, self.wanted = head, ty, wanted

    def text(self, ty: Type) -> StringImm:
        """The text of three lines for the check of a part of this type."""
        if not self.wanted:
            return StringImm("")
        values = ty.sizes if isinstance(ty, TensorType) else ty.values if isinstance(ty, ShapeType) else ()
        sizes = "; ".join([str(s.value) if isinstance(s, IntImm) else text(s) for s in values or ()])
        return StringImm(f"{self.head}\n{text(self.ty)}\n{sizes}")


class _Lower(GraphRewriter):
    def __init__(self, mod: IRModule, contexts: bool) -> None:
        super().__init__(mod)
        self.contexts = contexts
        self.slots: Slots | None = None
        self.heap: Expr = null_value()
        self.known: set[Var] = set()
        self.done: set[int] = set()
        self.bound: set[Var] = set()
        self.todo: list[tuple[Expr, tuple[Expr, ...], StringImm]] = []

    def visit_Function(self, func: Function) -> Any:
        if self.slots is not None:
            raise refuse(
                "nested-function", "a local function must be lifted first", func, "run `relax.LambdaLift`"
            )
        self.slots = slots_of(func)
        self.known, self.done, self.bound, self.todo = set(), set(), set(func.params), []
        name = str(func.attrs.get("global_symbol", "a private function"))
        self.builder.begin_scope()
        try:
            self.builder.open_block(False)
            self.prologue(func, name)
            for block in func.body.blocks:
                self.builder.open_block(False)
                self.visit(block)
            self.builder.open_block(False)
            body = self.result(func.body)
            self.epilogue(func, body, name)
        finally:
            blocks = self.builder.end_scope()
            self.slots = None
        return func.replace(body=SeqExpr(blocks, body, func.body.span))

    def effect(self, call: Call) -> None:
        """Emit a call whose result nobody wants."""
        self.builder.emit(call, "_")

    def prologue(self, func: Function, name: str) -> None:
        """The heap, and the checks of the parameters."""
        assert self.slots is not None
        count = len(self.slots.sizes)
        if count:
            ty = TensorType(None, "int64", ndim=1)
            made = with_machine("vm.builtin.alloc_shape_heap", number(count), ty=ty)
        self.heap = self.builder.emit(made if count else null_value(), "shape_heap")
        for k, p in enumerate(func.params):
            context = _Context(f"{name}: parameter {k + 1} ({p.name})", p.ty, self.contexts)
            self.check(p, p.ty, context, True)
        self.match()

    def epilogue(self, func: Function, body: Expr, name: str) -> None:
        """The check of the result, where its type is not the declared one anyway."""
        if is_base_of(func.ret_ty, func.body.ty):
            return
        self.check(
            body, func.ret_ty, _Context(f"{name}: the returned value", func.ret_ty, self.contexts), False
        )
        self.match()

    # Checks

    def check(self, value: Expr, ty: Type, context: _Context, always: bool) -> None:
        """Check the kind of a value, and note its sizes for `match`."""
        if isinstance(ty, TensorType):
            said = context.text(ty)
            if always or not is_base_of(TensorType(None, ty.dtype, ndim=ty.ndim), value.ty):
                dtype = () if ty.dtype is None else (DataTypeImm(ty.dtype),)
                self.effect(packed("vm.builtin.check_tensor_info", value, number(ty.ndim), *dtype, said))
            if isinstance(ty.shape, ShapeExpr):
                self.todo.append((value, ty.shape.values, said))
        elif isinstance(ty, ShapeType):
            said = context.text(ty)
            if always or not is_base_of(ShapeType(ndim=ty.ndim), value.ty):
                self.effect(packed("vm.builtin.check_shape_info", value, number(ty.ndim), said))
            if ty.values is not None:
                self.todo.append((value, ty.values, said))
        elif isinstance(ty, TupleType):
            if always or not isinstance(value.ty, TupleType):
                size = number(len(ty.fields_))
                self.effect(packed("vm.builtin.check_tuple_info", value, size, context.text(ty)))
            for k, field in enumerate(ty.fields_):
                part = value.fields_[k] if isinstance(value, Tuple) else None
                if always or part is not None or not is_base_of(field, _field(value.ty, k)):
                    one = self.builder.emit(_item(value, k, field)) if part is None else part
                    self.check(one, field, context, always)
        elif isinstance(ty, PrimType):
            self.check_scalar(value, ty, context, always)
        elif isinstance(ty, FuncType) and (always or not isinstance(value.ty, FuncType)):
            self.effect(packed("vm.builtin.check_func_info", value, context.text(ty)))
        elif isinstance(ty, StringType) and (always or not isinstance(value.ty, StringType)):
            self.effect(packed("vm.builtin.check_string_info", value, context.text(ty)))

    def check_scalar(self, value: Expr, ty: PrimType, context: _Context, always: bool) -> None:
        """Check a number; one that sizes mention goes to its slot."""
        said = context.text(ty)
        if always or value.ty != ty:
            self.effect(packed("vm.builtin.check_prim_value_info", value, DataTypeImm(ty.dtype), said))
        if isinstance(value, Var):
            self.keep(value, said)

    def keep(self, var: Var, said: StringImm) -> None:
        """Put a bound number into its slot, if it has one."""
        assert self.slots is not None
        slot = self.slots.find(var)
        if slot is not None and var not in self.known:
            self.effect(
                packed("vm.builtin.match_prim_value", var, self.heap, number(STORE), number(slot), said)
            )
            self.known.add(var)

    def match(self) -> None:
        """Compare the noted sizes; those that need others first come again when these are computed."""
        todo, self.todo = self.todo, []
        again = [one for one in todo if self.match_one(*one, first=True)]
        self.compute()
        for one in again:
            if self.match_one(*one, first=False):
                value, sizes, _ = one
                loose = [v.name for s in sizes for v in free_vars(s) if v not in self.known]
                text_ = f"the size `{loose[0]}` of `{getattr(value, 'name', 'a value')}` cannot be told"
                raise refuse("unbound-size", text_, value, "let it be a size by itself somewhere")

    def match_one(self, value: Expr, sizes: tuple[Expr, ...], said: StringImm, *, first: bool) -> bool:
        """Emit one `match_shape`; whether sizes are left that could not be compared."""
        codes: list[Expr] = []
        left = False
        for size in sizes:
            code, what = self.code(size, first)
            left |= code == SKIP and first or (code == SKIP and self.slot_left(size))
            codes += [number(code), number(what)]
        count = number(len(sizes))
        self.effect(packed("vm.builtin.match_shape", value, self.heap, count, *codes, said))
        return left

    def slot_left(self, size: Expr) -> bool:
        """Whether a size is still unknown."""
        assert self.slots is not None
        return not isinstance(size, IntImm | Var) and self.slots.find(size) not in self.done

    def code(self, size: Expr, first: bool) -> tuple[int, int]:
        """How a size is matched: in the first round, or again."""
        assert self.slots is not None
        if isinstance(size, IntImm):
            return (EQUAL, size.value) if first else (SKIP, 0)
        slot = self.slots.find(size)
        assert slot is not None
        if isinstance(size, Var):
            if size not in self.known:
                self.known.add(size)
                return STORE, slot
            return (SAME, slot) if first else (SKIP, 0)
        return (SAME, slot) if slot in self.done else (SKIP, 0)

    def compute(self) -> None:
        """Compute the expressions whose symbols are known now."""
        assert self.slots is not None
        chosen = self.slots.computed(self.known, self.done)
        if chosen:
            gvar = self.builder.add_func(self.slots.program(chosen), "shape_func")
            self.effect(Call(gvar, [self.heap], TupleType(())))
            self.done.update(chosen)

    # Bindings

    def visit_SeqExpr(self, seq: SeqExpr) -> Any:
        """A branch: what it finds out is not known behind it."""
        kept = set(self.known), set(self.done), set(self.bound)
        made = super().visit_SeqExpr(seq)
        self.known, self.done, self.bound = kept
        return made

    def visit_VarBinding(self, binding: VarBinding) -> None:
        super().visit_VarBinding(binding)
        self.bound.add(binding.var)
        if binding.var.ty is INT64:
            var = self.vars.get(binding.var, binding.var)
            assert self.slots is not None and isinstance(var, Var)
            slot = self.slots.find(binding.var)
            if slot is not None:
                said = StringImm("")
                self.effect(
                    packed("vm.builtin.match_prim_value", var, self.heap, number(STORE), number(slot), said)
                )
                self.known.add(binding.var)
                self.compute()

    def visit_MatchCast(self, binding: MatchCast) -> None:
        value = self.builder.atom(self.visit(binding.value))
        place = "" if binding.span is None else f" at {binding.span}"
        context = _Context(f"`{binding.var.name}` of match_cast{place}", binding.ty, self.contexts)
        self.check(value, binding.ty, context, False)
        self.match()
        self.builder.emit_normalized(binding.replace(value=value))
        self.bound.add(binding.var)

    # Shapes and numbers

    def visit_ShapeExpr(self, shape: ShapeExpr) -> Any:
        if all(isinstance(v, IntImm) for v in shape.values):
            return shape
        assert self.slots is not None
        codes: list[Expr] = []
        for size in shape.values:
            slot = None if isinstance(size, IntImm) else self.ready(size, shape)
            codes += [number(LOAD), number(slot)] if slot is not None else [number(LITERAL), size]
        count = number(len(shape.values))
        ty = ShapeType(ndim=len(shape.values))
        return packed("vm.builtin.make_shape", self.heap, count, *codes, ty=ty)

    def ready(self, size: Expr, node: Expr) -> int:
        """The slot of a size. Raises PassError where it is not known yet."""
        assert self.slots is not None
        slot = self.slots.find(size)
        known = size in self.known if isinstance(size, Var) else slot in self.done
        if slot is None or not known:
            raise refuse("unbound-size", f"the size `{text(size)}` is not known here", node)
        return slot

    def visit_Call(self, call: Call) -> Any:
        """A call of the graph dialect; arithmetic on numbers is one number."""
        if is_scalar(call):
            return self.scalar(call)
        if isinstance(call.op, GlobalVar):  # kernels take buffers, to which no type of a tensor is compared
            args = self.visit_tuple(call.args)
            return call if args is call.args else call.replace(args=args)
        return super().visit_Call(call)

    def visit_tuple(self, items: tuple[Any, ...]) -> tuple[Any, ...]:
        made = [self.scalar(i) if is_scalar(i) else self.visit(i) for i in items]
        return items if all(a is b for a, b in zip(made, items)) else tuple(made)

    def scalar(self, value: Expr) -> Expr:
        """A number: a variable that is bound, or the value of a slot."""
        if isinstance(value, Var) and value in self.bound:
            return self.vars.get(value, value)
        slot = self.ready(value, value)
        return packed("vm.builtin.make_prim_value", self.heap, number(LOAD), number(slot), ty=INT64)

    def visit_TensorType(self, ty: TensorType) -> Any:
        """Types keep their symbols."""
        return ty

    def visit_ShapeType(self, ty: ShapeType) -> Any:
        """Types keep their symbols."""
        return ty


def _field(ty: Type, k: int) -> Type:
    return ty.fields_[k] if isinstance(ty, TupleType) and k < len(ty.fields_) else AnyType()


def _item(value: Expr, k: int, ty: Type) -> Expr:
    if isinstance(value.ty, TupleType):
        return TupleGetItem(value, k)
    return packed("vm.builtin.tuple_getitem", value, number(k), ty=ty)
