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
    Expr,
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
from ..common import buffer_type, named, refuse
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
    return _Flatten(func)(func)


class _Flatten(Rewriter):
    def __init__(self, func: PrimFunc) -> None:
        super().__init__()
        self.flat: dict[Var, Var] = {}
        self.kept = _handed_out(func)
        self.renamed: dict[Var, Var] = {}

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

    def visit_AllocBuffer(self, stmt: AllocBuffer) -> Any:
        return self._introduce(stmt, stmt.buffer)

    def visit_DeclBuffer(self, stmt: DeclBuffer) -> Any:
        data = self.visit(stmt.data)
        return self._introduce(stmt if data is stmt.data else stmt.replace(data=data), stmt.buffer)

    def _introduce(self, stmt: AllocBuffer | DeclBuffer, old: Var) -> Stmt:
        """The statement with a flat buffer, or with an alias after it where the shape is needed."""
        bound, buffer = self._steady(old)
        if old in self.kept:
            same = stmt if buffer is old else stmt.replace(buffer=buffer)
            return seq([*bound, same, self._alias(buffer)])
        new = buffer if _is_flat(buffer) else _flattened(buffer)
        if new is old:
            return stmt
        if new is not buffer:
            self.flat[buffer] = new
        self.vars[old] = new
        return seq([*bound, stmt.replace(buffer=new)])

    def _steady(self, buffer: Var) -> tuple[list[Stmt], Var]:
        """The buffer with sizes that are read from memory bound to names, since memory may change."""
        ty = self.visit(buffer_type(buffer))
        bound: list[Stmt] = []

        def steady(e: Expr) -> Expr:
            more, name = named(e, f"{buffer.name}_size")
            bound.extend(more)
            return name

        shape, strides = [steady(e) for e in ty.shape], [steady(e) for e in ty.strides]
        offset = None if ty.elem_offset is None else steady(ty.elem_offset)
        if not bound and ty is buffer.ty:
            return bound, buffer
        new = Var(buffer.name, ty.replace(shape=shape, strides=strides, elem_offset=offset), buffer.span)
        self.vars[buffer] = new
        self.renamed[buffer] = new
        return bound, new

    def visit_SBlock(self, block: SBlock) -> Any:
        raise refuse(
            "block-left",
            f"block `{block.name_hint}` cannot be flattened",
            block,
            "run s_tir.LowerOpaqueBlock first",
        )

    def visit_BufferLoad(self, load: BufferLoad) -> Any:
        indices = self.visit_tuple(load.indices)
        buffer = self.renamed.get(load.buffer, load.buffer)
        flat = self.flat.get(buffer)
        if flat is not None:
            return BufferLoad(flat, [linear_offset(buffer, indices)], load.span)
        same = indices is load.indices and buffer is load.buffer
        return load if same else load.replace(buffer=buffer, indices=indices)

    def visit_BufferStore(self, store: BufferStore) -> Any:
        value, indices = self.visit(store.value), self.visit_tuple(store.indices)
        buffer = self.renamed.get(store.buffer, store.buffer)
        flat = self.flat.get(buffer)
        if flat is not None:
            return BufferStore(flat, value, [linear_offset(buffer, indices)], store.span)
        same = value is store.value and indices is store.indices and buffer is store.buffer
        return store if same else store.replace(buffer=buffer, value=value, indices=indices)

    def visit_Call(self, call: Call) -> Any:
        buffer = call.args[0] if _is_masked(call) else None
        buffer = self.renamed.get(buffer, buffer) if isinstance(buffer, Var) else None
        flat = self.flat.get(buffer) if buffer is not None else None
        if buffer is None or flat is None:
            return self.visit_fields(call)
        first = 1 if getattr(call.op, "name", "") == "tirx.masked_load" else 2
        args = [self.visit(a) for a in call.args[1:]]
        offset = linear_offset(buffer, args[first - 1 : -1])
        return call.replace(args=(flat, *args[: first - 1], offset, args[-1]))


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
