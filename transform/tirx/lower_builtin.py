"""Packed calls put their arguments on a stack; memory of devices comes from the runtime."""

from __future__ import annotations

from typing import Any

from ...ir import (
    HANDLE,
    INT32,
    INT64,
    AllocBuffer,
    AttrStmt,
    Bind,
    Break,
    BufferLoad,
    BufferStore,
    BufferType,
    Call,
    Cast,
    Continue,
    DeclBuffer,
    Evaluate,
    Expr,
    For,
    ForKind,
    IfThenElse,
    IntImm,
    Op,
    PointerType,
    PrimFunc,
    PrimType,
    Return,
    SeqStmt,
    Stmt,
    StringImm,
    Var,
    While,
    const,
    seq,
)
from ...ir.visitor import Rewriter
from ...runtime.device import KINDS
from ...target import Target
from ..common import buffer_type, cast_to, refuse
from ..registry import prim_func_pass
from ..scopes import statements
from ..strides import element_count
from .ffi_fields import CPU, Field, Kind, cell_of, descriptor_dtype, get, null, put, put_cell

_CALLS = {
    "tirx.tvm_call_packed": "tirx.tvm_call_packed_lowered",
    "tirx.tvm_call_cpacked": "tirx.tvm_call_cpacked_lowered",
}


@prim_func_pass("tirx.LowerTVMBuiltin")
def lower_tvm_builtin(func: PrimFunc) -> PrimFunc:
    """Packed calls of host functions get cells and tensor descriptors on the stack.

    Buffers allocated on another device become memory that the runtime gives and takes back; those of
    the CPU stay what they are, since a back end for it allocates itself.  The attributes
    `device_type` and `device_id`, which say where that is, go.  Functions of devices stay as they are.

    before:
        @T.prim_func
        def f(n: T.int32):
            T.func_attr({"target": T.target("llvm")})
            T.call_packed("report", n)

    after:
        @T.prim_func
        def f(n: T.int32):
            T.func_attr({"target": T.target("llvm")})
            stack_ffi_any: T.let[T.handle] = T.tvm_stack_alloca("tvm_ffi_any", 2)
            T.tvm_struct_set(stack_ffi_any, 0, 13, 1)
            T.tvm_struct_set(stack_ffi_any, 0, 14, 0)
            T.tvm_struct_set(stack_ffi_any, 0, 15, T.Cast("int64", n))
            T.tvm_struct_set(stack_ffi_any, 1, 13, 0)
            T.tvm_struct_set(stack_ffi_any, 1, 14, 0)
            T.tvm_struct_set(stack_ffi_any, 1, 15, T.int64(0))
            T.call_packed_lowered("report", stack_ffi_any, 0, 1)
    """
    target = func.attrs.get("target")
    host = isinstance(target, Target) and target.device_kind == "cpu"
    if not host and not func.attrs.get("tirx.is_host_func"):
        return func
    return _Lower(KINDS[target.device_kind] if isinstance(target, Target) else None)(func)


class _Stack:
    """The room that the calls of one frame need, each kind as much as its largest call."""

    def __init__(self) -> None:
        self.cells = Var("stack_ffi_any", "handle")
        self.arrays = Var("stack_array", "handle")
        self.most = {"tvm_ffi_any": 0, "array": 0, "shape": 0}
        self.now = dict(self.most)
        self._shapes: Var | None = None

    @property
    def shapes(self) -> Var:
        """The buffer of extents; its size is put in when the frame is complete."""
        if self._shapes is None:
            self._shapes = Var("stack_shape", BufferType("int64", [const(0, "int64")]))
        return self._shapes

    def take(self, kind: str, count: int) -> int:
        """Room for more items: the number of the first."""
        first = self.now[kind]
        self.now[kind] += count
        self.most[kind] = max(self.most[kind], self.now[kind])
        return first

    def frame(self, body: Stmt) -> Stmt:
        """The body with the room allocated in front."""
        made: list[Stmt] = []
        for kind, var in (("tvm_ffi_any", self.cells), ("array", self.arrays)):
            if self.most[kind]:
                made.append(Bind(var, _room(kind, self.most[kind])))
        count = self.most["shape"]
        if count:
            sized = Var("stack_shape", BufferType("int64", [const(count, "int64")]))
            made.append(DeclBuffer(sized, _room("shape", count)))
            body = _Renamed(self.shapes, sized)(body)
        return seq([*made, body]) if made else body


def _room(kind: str, count: int) -> Call:
    ty = PointerType(INT64, "global") if kind == "shape" else HANDLE
    return Call("tirx.tvm_stack_alloca", (StringImm(kind), const(count, "int32")), ty)


class _Renamed(Rewriter):
    def __init__(self, old: Var, new: Var) -> None:
        self.vars = {old: new}


class _Lower(Rewriter):
    def __init__(self, device_type: int | None) -> None:
        super().__init__()
        self.device_type = device_type
        self.device_id: Expr | None = None
        self.stack = _Stack()
        self.before: list[Stmt] = []
        self.frees: list[Stmt] = []
        self.inner = 0
        """How many of the allocations stand outside the innermost loop."""

    def visit_PrimFunc(self, func: PrimFunc) -> Any:
        body = self.frame(func.body)
        return func if body is func.body else func.replace(body=body)

    def frame(self, body: Stmt) -> Stmt:
        """A body that has a stack of its own."""
        outside, self.stack = self.stack, _Stack()
        made = self.stack.frame(self.body(body))
        self.stack = outside
        return made

    def body(self, body: Stmt) -> Stmt:
        """The statements of a scope; what they need stands before them, what is allocated ends with it."""
        old = statements(body)
        made: list[Stmt] = []
        keep = len(self.frees)
        for stmt in old:
            outside, self.before = self.before, []
            self.stack.now = dict.fromkeys(self.stack.now, 0)
            new = self.visit(stmt)
            made += [*self.before, *statements(new)]
            self.before = outside
        if len(self.frees) > keep:
            if not made or not isinstance(made[-1], Return | Break | Continue):
                made += reversed(self.frees[keep:])
            del self.frees[keep:]
        if len(made) == len(old) and all(a is b for a, b in zip(made, old)):
            return body
        return seq(made)

    def visit_SeqStmt(self, stmt: SeqStmt) -> Any:
        return self.body(stmt)

    def visit_For(self, loop: For) -> Any:
        low, extent = self.visit(loop.min), self.visit(loop.extent)
        outside, self.inner = self.inner, len(self.frees)
        body = self.frame(loop.body) if loop.kind is ForKind.PARALLEL else self.body(loop.body)
        self.inner = outside
        if low is loop.min and extent is loop.extent and body is loop.body:
            return loop
        return loop.replace(min=low, extent=extent, body=body)

    def visit_While(self, loop: While) -> Any:
        waiting, self.before = self.before, []
        self.visit(loop.condition)
        if self.before:
            raise refuse(
                "packed-in-condition",
                "a packed call stands in the condition of `while`",
                loop,
                "store its value in a buffer before the loop and at its end",
            )
        self.before = waiting
        outside, self.inner = self.inner, len(self.frees)
        body = self.body(loop.body)
        self.inner = outside
        return loop if body is loop.body else loop.replace(body=body)

    def visit_IfThenElse(self, stmt: IfThenElse) -> Any:
        cond, then = self.visit(stmt.condition), self.body(stmt.then_case)
        other = None if stmt.else_case is None else self.body(stmt.else_case)
        if cond is stmt.condition and then is stmt.then_case and other is stmt.else_case:
            return stmt
        return stmt.replace(condition=cond, then_case=then, else_case=other)

    def visit_AttrStmt(self, stmt: AttrStmt) -> Any:
        before = self.device_type, self.device_id
        if stmt.attr_key == "device_type" and isinstance(stmt.value, IntImm):
            self.device_type = stmt.value.value
        elif stmt.attr_key == "device_id":
            self.device_id = stmt.value
        else:
            body = self.body(stmt.body)
            return stmt if body is stmt.body else stmt.replace(body=body)
        body = self.body(stmt.body)
        self.device_type, self.device_id = before
        return body

    def visit_Return(self, stmt: Return) -> Any:
        new = self.visit_fields(stmt)
        return seq([*reversed(self.frees), new]) if self.frees else new

    def _jump(self, stmt: Stmt) -> Any:
        inside = self.frees[self.inner :]
        return seq([*reversed(inside), stmt]) if inside else stmt

    visit_Break = visit_Continue = _jump

    # memory

    def visit_AllocBuffer(self, stmt: AllocBuffer) -> Any:
        ty = buffer_type(stmt.buffer)
        if ty.storage_scope != "global" or self.device_type == CPU:
            return stmt
        name = stmt.buffer.name
        if self.device_type is None or self.device_id is None:
            lacking = "type" if self.device_type is None else "number"
            raise refuse(
                "device-not-known",
                f"the {lacking} of the device that `{name}` is allocated on is not known",
                stmt,
                f"set the attribute `device_{'type' if lacking == 'type' else 'id'}` around it",
            )
        bits = ty.dtype.bits * ty.dtype.lanes
        size = cast_to(element_count(ty), PrimType("uint64")) * const(-(-bits // 8), "uint64")
        where = (const(self.device_type, "int32"), self.device_id)
        kind = (const(ty.dtype.code, "int32"), const(ty.dtype.bits, "int32"))
        data = Var(f"{name}_data", PointerType(PrimType(ty.dtype), ty.storage_scope))
        found = Call("tirx.TVMBackendAllocWorkspace", (*where, size, *kind), data.ty)
        failed = Evaluate(Call("tirx.tvm_throw_last_error", (), "void"))
        self.frees.append(Evaluate(Call("tirx.TVMBackendFreeWorkspace", (*where, data), INT32)))
        return seq(
            [
                Bind(data, found),
                IfThenElse(Call("tirx.isnullptr", (data,), "bool"), failed),
                DeclBuffer(stmt.buffer, data, stmt.span),
            ]
        )

    # calls

    def visit_Evaluate(self, stmt: Evaluate) -> Any:
        value = stmt.value
        if isinstance(value, Call) and isinstance(value.op, Op) and value.op.name in _CALLS:
            return Evaluate(self.packed(value), stmt.span)
        return self.visit_fields(stmt)

    def _choice(self, e: Expr) -> Any:
        """An operator that may leave an operand out: calls in it cannot move in front of the statement."""
        count = len(self.before)
        new = self.visit_fields(e)
        if len(self.before) > count:
            raise refuse(
                "packed-in-condition",
                "a packed call stands where it may not be evaluated",
                e,
                "bind its value to a name first",
            )
        return new

    visit_And = visit_Or = _choice

    def visit_Call(self, call: Call) -> Any:
        name = call.op.name if isinstance(call.op, Op) else ""
        if name == "prim.if_then_else":
            return self._choice(call)
        if name in _CALLS:
            return self.result(call)
        if name == "tirx.tvm_stack_make_shape":
            return self.shape(call)
        if name == "tirx.tvm_stack_make_array":
            return self.array(call)
        return self.visit_fields(call)

    def result(self, call: Call) -> Expr:
        """The value of a call inside an expression, bound to a name before the next call."""
        lowered = self.packed(call)
        self.before.append(Evaluate(lowered))
        end = lowered.args[3]
        assert isinstance(end, IntImm)
        ty = call.ty
        if isinstance(ty, PointerType):
            value: Expr = get(self.stack.cells, end.value, Field.VALUE, ty)
        else:
            held = get(
                self.stack.cells, end.value, Field.VALUE, "float64" if call.dtype.is_float else "int64"
            )
            value = held if held.ty is ty else Cast(ty, held)
        var = Var("packed_result", ty)
        self.before.append(Bind(var, value))
        return var

    def packed(self, call: Call) -> Call:
        """The call with its arguments in cells."""
        name, *given = call.args
        args = [self.visit(a) if not isinstance(a, StringImm) else a for a in given]
        first = self.stack.take("tvm_ffi_any", len(args) + 1)
        cells = self.stack.cells
        for k, arg in enumerate(args):
            self.before += put_cell(cells, first + k, *_cell(arg, given[k]))
        end = first + len(args)
        self.before += put_cell(cells, end, Kind.NONE, const(0, "int64"))
        assert isinstance(call.op, Op)
        lowered = (name, cells, const(first, "int32"), const(end, "int32"))
        return Call(_CALLS[call.op.name], lowered, call.ty, span=call.span)

    def shape(self, call: Call) -> Expr:
        """Extents on the stack: the address of the first."""
        args = [cast_to(self.visit(a), INT64) for a in call.args]
        first = self.stack.take("shape", len(args))
        shapes = self.stack.shapes
        for k, value in enumerate(args):
            self.before.append(BufferStore(shapes, value, [const(first + k, "int32")]))
        if not args:
            return null()
        place = BufferLoad(shapes, [const(first, "int32")])
        return Call("tirx.address_of", (place,), PointerType(INT64, "global"))

    def array(self, call: Call) -> Expr:
        """A tensor descriptor on the stack: its address."""
        data, shape, strides, ndim, element, offset = [self.visit(a) for a in call.args]
        index = self.stack.take("array", 1)
        arrays = self.stack.arrays
        dtype = element.dtype
        bytes_of = const(-(-dtype.bits * dtype.lanes // 8), "uint64")
        byte_offset = cast_to(offset, PrimType("uint64"))
        if not isinstance(byte_offset, IntImm) or byte_offset.value:
            byte_offset = byte_offset * bytes_of
        if self.device_type is None:
            raise refuse("device-not-known", "the device of a tensor argument is not known", call)
        fields = (
            (Field.TENSOR_DATA, data),
            (Field.TENSOR_SHAPE, shape),
            (Field.TENSOR_STRIDES, strides if isinstance(strides.ty, PointerType) else null()),
            (Field.TENSOR_NDIM, ndim),
            *descriptor_dtype(dtype),
            (Field.TENSOR_BYTE_OFFSET, byte_offset),
            (Field.TENSOR_DEVICE_ID, const(0, "int32") if self.device_id is None else self.device_id),
            (Field.TENSOR_DEVICE_TYPE, const(self.device_type, "int32")),
        )
        self.before += [put(arrays, index, field, value) for field, value in fields]
        return get(arrays, index, Field.TENSOR_ADDRESS, "handle")


def _cell(arg: Expr, given: Expr) -> tuple[Kind, Expr]:
    if isinstance(arg, StringImm):
        return Kind.STRING, Call("tirx.reinterpret", (arg,), HANDLE)
    if isinstance(given, Call) and isinstance(given.op, Op) and given.op.name == "tirx.tvm_stack_make_array":
        return Kind.TENSOR_POINTER, arg
    return cell_of(arg)
