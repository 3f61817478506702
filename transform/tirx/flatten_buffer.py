"""Every access gets one index."""

from __future__ import annotations

from typing import Any

from ...ir import (
    AllocBuffer,
    BufferLoad,
    BufferStore,
    BufferType,
    Call,
    DeclBuffer,
    Op,
    PointerType,
    PrimFunc,
    PrimType,
    SBlock,
    Stmt,
    Var,
    seq,
)
from ...ir.visitor import Rewriter, walk
from ..common import buffer_type, refuse
from ..registry import prim_func_pass
from ..strides import linear_offset, reach

_POINTER_USES = ("tirx.buffer_data", "tirx.masked_load", "tirx.masked_store")


@prim_func_pass("tirx.FlattenBuffer")
def flatten_buffer(func: PrimFunc) -> PrimFunc:
    """Accesses compute one offset from strides and offset; buffers inside have one dimension.

    Parameters keep their types; where they are accessed, a flat alias of their memory is declared
    first.  A buffer that is handed to a function as a whole keeps its shape and gets an alias too.

    before:
        @T.prim_func
        def f(A: T.Buffer((4, 8), "float32")):
            B = T.alloc_buffer((4, 8))
            for i, j in T.grid(4, 8):
                B[i, j] = A[i, j]

    after:
        @T.prim_func
        def f(A: T.Buffer((4, 8), "float32")):
            A_1 = T.decl_buffer((32,), data=A.data)
            B = T.alloc_buffer((32,))
            for i, j in T.grid(4, 8):
                B[i * 8 + j] = A_1[i * 8 + j]
    """
    return _Flatten(func)(func)  # type: ignore[no-any-return]


class _Flatten(Rewriter):
    def __init__(self, func: PrimFunc) -> None:
        super().__init__()
        self.flat: dict[Var, Var] = {}
        self.kept = _handed_out(func)

    def visit_PrimFunc(self, func: PrimFunc) -> Any:
        accessed = {n.buffer for n in walk(func.body) if isinstance(n, BufferLoad | BufferStore)}
        accessed |= {n.args[0] for n in walk(func.body) if _is_masked(n) and isinstance(n.args[0], Var)}  # type: ignore[attr-defined]
        aliases: list[Stmt] = []
        for p in func.params:
            if isinstance(p.ty, BufferType) and p in accessed:
                aliases.append(self._alias(p))
        body = self.visit(func.body)
        return func if body is func.body and not aliases else func.replace(body=seq([*aliases, body]))

    def _alias(self, buffer: Var) -> Stmt:
        flat = self.flat[buffer] = _flattened(buffer)
        ty = buffer_type(buffer)
        data = Call("tirx.buffer_data", (buffer,), PointerType(PrimType(ty.dtype), ty.storage_scope))
        return DeclBuffer(flat, data)

    def _new(self, buffer: Var) -> Var:
        """The buffer to allocate or declare instead of this one."""
        if _is_flat(buffer):
            return buffer
        flat = self.flat[buffer] = self.vars[buffer] = _flattened(buffer)  # type: ignore[assignment]
        return flat

    def visit_AllocBuffer(self, stmt: AllocBuffer) -> Any:
        if stmt.buffer in self.kept:
            return seq([stmt, self._alias(stmt.buffer)])
        new = self._new(stmt.buffer)
        return stmt if new is stmt.buffer else stmt.replace(buffer=new)

    def visit_DeclBuffer(self, stmt: DeclBuffer) -> Any:
        data = self.visit(stmt.data)
        if stmt.buffer in self.kept:
            same = stmt if data is stmt.data else stmt.replace(data=data)
            return seq([same, self._alias(stmt.buffer)])
        new = self._new(stmt.buffer)
        return stmt if new is stmt.buffer and data is stmt.data else stmt.replace(buffer=new, data=data)

    def visit_SBlock(self, block: SBlock) -> Any:
        raise refuse(
            "block-left",
            f"block `{block.name_hint}` cannot be flattened",
            block,
            "run s_tir.LowerOpaqueBlock first",
        )

    def visit_BufferLoad(self, load: BufferLoad) -> Any:
        indices = self.visit_tuple(load.indices)
        flat = self.flat.get(load.buffer)
        if flat is None:
            return load if indices is load.indices else load.replace(indices=indices)
        return BufferLoad(flat, [linear_offset(load.buffer, indices)], load.span)

    def visit_BufferStore(self, store: BufferStore) -> Any:
        value, indices = self.visit(store.value), self.visit_tuple(store.indices)
        flat = self.flat.get(store.buffer)
        if flat is None:
            same = value is store.value and indices is store.indices
            return store if same else store.replace(value=value, indices=indices)
        return BufferStore(flat, value, [linear_offset(store.buffer, indices)], store.span)

    def visit_Call(self, call: Call) -> Any:
        if not _is_masked(call) or call.args[0] not in self.flat:
            return self.visit_fields(call)
        first = 1 if getattr(call.op, "name", "") == "tirx.masked_load" else 2
        buffer = call.args[0]
        assert isinstance(buffer, Var)
        args = [self.visit(a) for a in call.args[1:]]
        offset = linear_offset(buffer, args[first - 1 : -1])
        return call.replace(args=(self.flat[buffer], *args[: first - 1], offset, args[-1]))


def _is_masked(node: Any) -> bool:
    return (
        isinstance(node, Call)
        and isinstance(node.op, Op)
        and node.op.name in ("tirx.masked_load", "tirx.masked_store")
    )


def _is_flat(buffer: Var) -> bool:
    ty = buffer_type(buffer)
    return len(ty.shape) == 1 and not ty.strides and ty.elem_offset is None


def _flattened(buffer: Var) -> Var:
    ty = buffer_type(buffer)
    new = ty.replace(shape=(reach(buffer),), strides=(), elem_offset=None, offset_factor=1)
    return Var(buffer.name, new, buffer.span)


def _handed_out(func: PrimFunc) -> set[Var]:
    """Buffers that are an argument of a call as a whole, not through their pointer."""
    found: set[Var] = set()
    for node in walk(func.body):
        if not isinstance(node, Call):
            continue
        name = node.op.name if isinstance(node.op, Op) else ""
        if name in _POINTER_USES:
            continue
        found.update(a for a in node.args if isinstance(a, Var) and isinstance(a.ty, BufferType))
    return found
