"""The checks and bindings at the start of a packed function."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import (
    EQ,
    GE,
    INT64,
    And,
    AssertStmt,
    Bind,
    BufferLoad,
    BufferType,
    Call,
    Cast,
    DeclBuffer,
    Expr,
    IntImm,
    Not,
    Or,
    PointerType,
    PrimType,
    Select,
    Stmt,
    StringImm,
    Var,
    const,
)
from ...ir.text import text
from ...runtime.device import KINDS
from ..common import buffer_type, cast_to
from ..strides import strides_of
from .ffi_fields import OBJECT_HEADER, Field, Kind, descriptor_dtype, get


class Arguments:
    """Takes the parameters of a function from cells.

    What is bound comes first, then the checks that need the values of symbols, then the buffers, so
    a symbol may be used in the type of a parameter before the one whose extent it is.
    """

    def __init__(self, name: str, params: Sequence[Var], cells: Var, count: Var, device: str) -> None:
        self.params, self.cells, self.device = params, cells, device
        self.text = f"{name}({', '.join([f'{p.name}: {_type_text(p)}' for p in params])})"
        self.bindings: list[Stmt] = []
        self.checks: list[Stmt] = []
        self.buffers: list[Stmt] = []
        self.bound: set[Expr] = {p for p in params if isinstance(p.ty, PrimType)}
        self.first_device: Expr | None = None
        expected = len(params)
        self._require(
            self.bindings,
            "TypeError",
            EQ(count, const(expected, "int32")),
            "Expected ",
            str(expected),
            " arguments",
            end="`",
        )
        if params:
            absent = Call("tirx.isnullptr", (cells,), "bool")
            self._require(self.bindings, "TypeError", Not(absent), "args pointer is NULL", end="`")

    def statements(self) -> list[Stmt]:
        """The start of the function."""
        for index, p in enumerate(self.params):
            self._take(index, p)
        return [*self.bindings, *self.checks, *self.buffers]

    def _require(
        self, where: list[Stmt], kind: str, condition: Expr, *start: str, end: str, wanted: str | None = None
    ) -> None:
        parts = [*start, " when calling:\n  `", self.text, end, *([] if wanted is None else [wanted])]
        where.append(AssertStmt(StringImm(kind), condition, [StringImm(p) for p in parts]))

    def _expect(
        self, index: int, condition: Expr, problem: str, wanted: str, kind: str = "ValueError"
    ) -> None:
        start = (f"{problem} on argument #", str(index))
        self._require(self.checks, kind, condition, *start, end="`,\n  expected ", wanted=wanted)

    def _take(self, index: int, p: Var) -> None:
        kind = Var(f"{p.name}_type_index", "int32")
        self.bindings.append(Bind(kind, get(self.cells, index, Field.KIND, "int32")))
        allowed, wanted = _kinds(p)
        condition: Expr | None = None
        for one in allowed:
            compare = GE if one is Kind.OBJECT else EQ
            test = compare(kind, const(one, "int32"))
            condition = test if condition is None else Or(condition, test)
        assert condition is not None
        start = ("Mismatched type on argument #", str(index))
        self._require(self.bindings, "TypeError", condition, *start, end="`,\n  expected ", wanted=wanted)
        if isinstance(p.ty, BufferType):
            self._tensor(index, p, kind)
        else:
            self.bindings.append(Bind(p, self._scalar(index, p, kind)))

    def _scalar(self, index: int, p: Var, kind: Var) -> Expr:
        if isinstance(p.ty, PointerType):
            return get(self.cells, index, Field.VALUE, p.ty)
        whole = _converted(get(self.cells, index, Field.VALUE, "int64"), p)
        if not p.dtype.is_float:
            return whole
        real = _converted(get(self.cells, index, Field.VALUE, "float64"), p)
        return Select(EQ(kind, const(Kind.FLOAT, "int32")), real, whole)

    def _tensor(self, index: int, p: Var, kind: Var) -> None:
        ty = buffer_type(p)
        place = get(self.cells, index, Field.VALUE, "handle")
        moved = Call("tirx.handle_add_byte_offset", (place, const(OBJECT_HEADER, "int32")), "handle")
        tensor = Var(f"{p.name}_handle", "handle")
        is_object = EQ(kind, const(Kind.TENSOR, "int32"))
        self.bindings.append(Bind(tensor, Call("prim.if_then_else", (is_object, moved, place), "handle")))
        present = Not(Call("tirx.isnullptr", (tensor,), "bool"))
        wanted = f"a tensor that is not None for `{p.name}`"
        start = ("Mismatched type on argument #", str(index))
        self._require(self.bindings, "TypeError", present, *start, end="`,\n  expected ", wanted=wanted)
        rank = const(len(ty.shape), "int32")
        ndim = EQ(get(tensor, 0, Field.TENSOR_NDIM, "int32"), rank)
        self._require(
            self.bindings,
            "ValueError",
            ndim,
            "Mismatched rank on argument #",
            str(index),
            end="`,\n  expected ",
            wanted=f"{len(ty.shape)} dimensions of `{p.name}`",
        )
        for field, value in descriptor_dtype(ty.dtype):
            found = get(tensor, 0, field, value.ty)
            self._expect(
                index, EQ(found, value), "Mismatched dtype", f"{ty.dtype} of `{p.name}`", "TypeError"
            )
        self._device(index, p, tensor)
        self._sizes(index, p, tensor)
        self._memory(index, p, tensor)

    def _device(self, index: int, p: Var, tensor: Var) -> None:
        found = get(tensor, 0, Field.TENSOR_DEVICE_TYPE, "int32")
        code = const(KINDS[self.device], "int32")
        self._expect(index, EQ(found, code), "Mismatched device", f"`{p.name}` on {self.device}")
        number = Var(f"{p.name}_device_id", "int32")
        self.bindings.append(Bind(number, get(tensor, 0, Field.TENSOR_DEVICE_ID, "int32")))
        if self.first_device is None:
            self.first_device = number
        else:
            same = EQ(number, self.first_device)
            self._expect(index, same, "Mismatched device", f"`{p.name}` on the device of the others")

    def _sizes(self, index: int, p: Var, tensor: Var) -> None:
        """Bind what symbols stand by themselves, and check everything else."""
        ty = buffer_type(p)
        if ty.shape:
            extents = self._vector(f"{p.name}_shape", tensor, Field.TENSOR_SHAPE, len(ty.shape))
            for k, extent in enumerate(ty.shape):
                self._match(index, extent, extents[k], f"`{p.name}.shape[{k}]`")
        offset = get(tensor, 0, Field.TENSOR_BYTE_OFFSET, "uint64")
        bytes_of = -(-ty.dtype.bits * ty.dtype.lanes // 8)
        if ty.elem_offset is None:
            self._expect(index, EQ(offset, const(0, "uint64")), "Mismatched offset", f"none of `{p.name}`")
        else:
            elements = Cast(INT64, offset) // const(bytes_of, "int64")
            self._match(index, ty.elem_offset, elements, f"the offset of `{p.name}`")
        self._strides(index, p, tensor)

    def _strides(self, index: int, p: Var, tensor: Var) -> None:
        ty = buffer_type(p)
        if not ty.shape:
            return
        pointer = get(tensor, 0, Field.TENSOR_STRIDES, PointerType(INT64, "global"))
        absent = Call("tirx.isnullptr", (pointer,), "bool")
        steps = self._vector(f"{p.name}_strides", tensor, Field.TENSOR_STRIDES, len(ty.shape))
        if ty.strides:
            self._expect(index, Not(absent), "Mismatched strides", f"strides of `{p.name}`")
            for k, step in enumerate(ty.strides):
                self._match(index, step, steps[k], f"`{p.name}.strides[{k}]`")
            return
        compact: Expr = const(True, "bool")
        for k, step in enumerate(strides_of(p)):
            unit = EQ(cast_to(ty.shape[k], INT64), const(1, "int64"))
            compact = And(compact, Or(unit, EQ(steps[k], cast_to(step, INT64))))
        self._expect(index, Or(absent, compact), "Mismatched strides", f"`{p.name}` to be compact")

    def _vector(self, name: str, tensor: Var, field: Field, count: int) -> list[Expr]:
        """The items of an int64 array of the descriptor."""
        pointer = PointerType(INT64, "global")
        items = Var(name, BufferType(INT64.dtype, [const(count, "int64")]))
        self.bindings.append(DeclBuffer(items, get(tensor, 0, field, pointer)))
        return [BufferLoad(items, [const(k, "int32")]) for k in range(count)]

    def _match(self, index: int, wanted: Expr, found: Expr, what: str) -> None:
        if isinstance(wanted, Var) and wanted not in self.bound:
            self.bound.add(wanted)
            self.bindings.append(Bind(wanted, _converted(found, wanted)))
            if wanted.ty is INT64:
                return
        implied = str(wanted.value) if isinstance(wanted, IntImm) else "what the other arguments imply"
        condition = EQ(found, cast_to(wanted, INT64))
        self._expect(index, condition, "Mismatched size", f"{what} to be {implied}")

    def _memory(self, index: int, p: Var, tensor: Var) -> None:
        ty = buffer_type(p)
        pointer = PointerType(PrimType(ty.dtype), ty.storage_scope)
        data = get(tensor, 0, Field.TENSOR_DATA, pointer)
        empty: Expr = const(False, "bool")
        for extent in ty.shape:
            empty = Or(empty, EQ(cast_to(extent, INT64), const(0, "int64")))
        present = Or(empty, Not(Call("tirx.isnullptr", (data,), "bool")))
        self._expect(index, present, "Missing memory", f"memory of `{p.name}`")
        self.buffers.append(DeclBuffer(p, data))


def _converted(value: Expr, like: Expr) -> Expr:
    return value if value.ty is like.ty else Cast(like.ty, value)


def _kinds(p: Var) -> tuple[tuple[Kind, ...], str]:
    if isinstance(p.ty, BufferType):
        return (Kind.TENSOR, Kind.TENSOR_POINTER), "Tensor"
    if isinstance(p.ty, PointerType):
        return (Kind.NONE, Kind.POINTER, Kind.TENSOR_POINTER, Kind.OBJECT), "pointer"
    if p.dtype.is_bool:
        return (Kind.BOOL, Kind.INT), "boolean"
    if p.dtype.is_float:
        return (Kind.FLOAT, Kind.INT, Kind.BOOL), "float"
    return (Kind.INT, Kind.BOOL), "int"


def _type_text(p: Var) -> str:
    if isinstance(p.ty, BufferType):
        extents = ", ".join([text(e) for e in p.ty.shape])
        return f"Tensor([{extents}], {p.ty.dtype})"
    return "handle" if isinstance(p.ty, PointerType) else str(p.dtype)
